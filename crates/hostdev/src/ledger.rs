//! Which sectors were written in this run, and whether what is read of them is what was written.

use std::ops::Range;

use ssdlab_core::SECTOR_BYTES;

use crate::ring::Sent;
use crate::stamp::{self, Sector};

/// One bit a sector: a drive of 1 TB takes 256 MB of addresses, of which the system gives memory to what was written.
#[derive(Debug)]
pub(crate) struct Ledger {
    run: u64,
    written: Vec<u64>,
    writes: u64,
    wrong: Option<String>,
}

impl Ledger {
    pub(crate) fn new(run: u64, capacity_bytes: u64) -> Ledger {
        let words = capacity_bytes.div_ceil(SECTOR_BYTES * 64);
        Ledger { run, written: vec![0; words as usize], writes: 0, wrong: None }
    }

    /// What is about to be written to these sectors says so.
    pub(crate) fn stamp(&mut self, bytes: &mut [u8], offset_bytes: u64) {
        self.writes += 1;
        stamp::stamp(bytes, self.run, offset_bytes / SECTOR_BYTES, self.writes);
    }

    /// A write has ended well.
    pub(crate) fn written(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.each_word(offset_bytes, length_bytes, |word, bits| *word |= bits);
    }

    /// Nothing is known any more of what these sectors hold: trimmed, or a write that went wrong, or one that has begun.
    pub(crate) fn forget(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.each_word(offset_bytes, length_bytes, |word, bits| *word &= !bits);
    }

    /// Looks at what was read, and keeps what is wrong.
    pub(crate) fn check(&mut self, bytes: &[u8], read: &Sent) {
        if self.wrong.is_none() {
            self.wrong = self.wrong_of(bytes, read);
        }
    }

    /// The first thing that is wrong with what was read. A sector that says nothing of this run is wrong if this run had written it,
    /// and was not writing it meanwhile.
    pub(crate) fn wrong_of(&self, bytes: &[u8], read: &Sent) -> Option<String> {
        let first = read.request.offset_bytes / SECTOR_BYTES;
        stamp::read(bytes, self.run, first).zip(first..).find_map(|(says, sector)| match says {
            Sector::Of(other) => Some(format!("sector {sector} returned what was written to sector {other}")),
            Sector::Foreign if !read.overtaken && self.holds(sector) => {
                Some(format!("sector {sector} did not return what was written to it"))
            }
            Sector::Own | Sector::Foreign => None,
        })
    }

    /// # Errors
    /// The first sector that returned something else than was written.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        self.wrong.clone().map_or(Ok(()), Err)
    }

    fn holds(&self, sector: u64) -> bool {
        self.written[(sector / 64) as usize] >> (sector % 64) & 1 != 0
    }

    fn each_word(&mut self, offset_bytes: u64, length_bytes: u64, mut change: impl FnMut(&mut u64, u64)) {
        let Range { start, end } = offset_bytes / SECTOR_BYTES..(offset_bytes + length_bytes) / SECTOR_BYTES;
        let mut at = start;
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let count = (64 - bit).min(end - at);
            change(&mut self.written[word as usize], u64::MAX >> (64 - count) << bit);
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_device::Request;

    use super::*;

    const RUN: u64 = 0xABCD;

    fn read(offset: u64) -> Sent {
        Sent { request: Request::read(1, offset, 512), at: 0, overtaken: false }
    }

    fn ledger() -> Ledger {
        Ledger::new(RUN, 1 << 20)
    }

    fn stamped(ledger: &mut Ledger, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        ledger.stamp(&mut bytes, offset);
        bytes
    }

    #[test]
    fn what_was_written_must_come_back() {
        let mut ledger = ledger();
        // Over the edge of a word of bits.
        let bytes = stamped(&mut ledger, 31 * 1024, 64 * 512);
        ledger.check(&vec![0; 64 * 512], &read(31 * 1024));
        assert_eq!(ledger.verdict(), Ok(()), "nothing has been written yet");
        ledger.written(31 * 1024, 64 * 512);
        ledger.check(&bytes, &read(31 * 1024));
        ledger.check(&[0; 512], &read(30 * 1024));
        ledger.check(&[0; 512], &read(31 * 1024 + 64 * 512));
        assert_eq!(ledger.verdict(), Ok(()));
        for sector in 62..126 {
            let mut own = ledger_with(31 * 1024, 64 * 512);
            own.check(&[0; 512], &read(sector * 512));
            assert_eq!(own.verdict(), Err(format!("sector {sector} did not return what was written to it")));
        }
    }

    fn ledger_with(offset: u64, length: u64) -> Ledger {
        let mut ledger = ledger();
        ledger.written(offset, length);
        ledger
    }

    #[test]
    fn what_belongs_elsewhere_is_wrong_wherever_it_comes_back() {
        let mut ledger = ledger();
        let bytes = stamped(&mut ledger, 4096, 512);
        ledger.check(&bytes, &read(8192));
        assert_eq!(ledger.verdict(), Err("sector 16 returned what was written to sector 8".to_owned()));
    }

    #[test]
    fn a_read_that_a_write_overtook_may_bring_either() {
        let mut ledger = ledger_with(0, 4096);
        ledger.check(&[0; 512], &Sent { overtaken: true, ..read(512) });
        assert_eq!(ledger.verdict(), Ok(()));
        ledger.check(&[0; 512], &read(512));
        assert!(ledger.verdict().is_err());
    }

    #[test]
    fn what_was_trimmed_may_return_anything() {
        let mut ledger = ledger_with(0, 65_536);
        ledger.forget(4096, 4096);
        ledger.check(&[0; 4096], &read(4096));
        assert_eq!(ledger.verdict(), Ok(()));
        ledger.check(&[0; 512], &read(8192));
        assert!(ledger.verdict().is_err());
    }
}
