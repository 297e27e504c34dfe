//! Memory that a drive reads and writes by itself.

/// What requests past the page cache may ask of memory at most.
const ALIGNMENT: usize = 4096;

/// Bytes at an address that a drive can use. They stay where they are while the buffer is moved.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    pub(crate) fn new(len: usize) -> Buffer {
        let memory = vec![0; len + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Buffer { memory, start, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self, len: usize) -> &[u8] {
        &self.memory[self.start..self.start + len]
    }

    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        &mut self.memory[self.start..self.start + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_whole_and_stays_where_it_is() {
        for len in [512, 4096, 1 << 20] {
            let mut buffer = Buffer::new(len);
            assert_eq!((buffer.len(), buffer.bytes_mut(len).len()), (len, len));
            let place = buffer.bytes_mut(len).as_ptr();
            assert_eq!(place as usize % ALIGNMENT, 0);
            let mut moved = Box::new(buffer);
            assert_eq!(moved.bytes_mut(len).as_ptr(), place);
        }
    }
}
