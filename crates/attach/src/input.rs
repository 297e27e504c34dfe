//! Bytes that have come and were not yet understood.

/// What is read at once.
const STEP: usize = 128 << 10;

/// See the module's own page.
#[derive(Default)]
pub struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// Room for more bytes; [`Input::filled`] says how many came.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.bytes.len() - self.end < STEP / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let length = self.bytes.len().max(self.end + STEP);
            self.bytes.resize(length, 0);
        }
        &mut self.bytes[self.end..]
    }

    pub fn filled(&mut self, bytes: usize) {
        self.end += bytes;
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end);
    }

    /// The next so many bytes, if they are there.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.bytes().first_chunk::<N>()?;
        self.consume(N);
        Some(bytes)
    }
}
