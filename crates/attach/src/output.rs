//! Bytes on their way to a client.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

/// Pieces that one system call writes.
const MOST_PIECES: usize = 64;

/// See the module's own page.
#[derive(Default)]
pub struct Output {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that were sent.
    sent: usize,
    bytes: u64,
}

impl Output {
    /// Puts a piece in line.
    pub fn push(&mut self, piece: Vec<u8>) {
        if !piece.is_empty() {
            self.bytes += piece.len() as u64;
            self.pieces.push_back(piece);
        }
    }

    /// Bytes that were not sent yet.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All pieces in a row, for tests.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        let all: Vec<Vec<u8>> = std::mem::take(&mut self.pieces).into();
        self.bytes = 0;
        all.concat().split_off(std::mem::take(&mut self.sent))
    }

    /// Sends what a socket takes in one go. Returns how much.
    ///
    /// # Errors
    /// The socket's.
    pub fn write(&mut self, to: &mut impl Write) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); MOST_PIECES];
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            let from = if count == 0 { self.sent } else { 0 };
            *slice = IoSlice::new(&piece[from..]);
            count += 1;
        }
        let bytes = to.write_vectored(&slices[..count])?;
        self.written(bytes);
        Ok(bytes)
    }

    fn written(&mut self, mut bytes: usize) {
        self.bytes -= bytes as u64;
        while let Some(first) = self.pieces.front() {
            let left = first.len() - self.sent;
            if bytes < left {
                self.sent += bytes;
                return;
            }
            bytes -= left;
            self.sent = 0;
            self.pieces.pop_front();
        }
    }
}
