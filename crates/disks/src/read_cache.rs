//! What has been read and is kept, and reading on.
//!
//! Each segment holds one contiguous run of sectors. A read that is not held takes over the segment that has not been
//! used for longest. After it the disk reads on into the same segment, with nobody asking, until it has read so far
//! ahead or the arm is needed elsewhere. What has been read ahead is not followed sector by sector: from where and since
//! when the heads read is known, so how far they are can be told whenever somebody asks.

use ssdlab_core::Nanos;

/// Reading on after a read: the arm follows the tracks.
#[derive(Clone, Copy, Debug)]
pub struct ReadOn {
    /// A sector that has begun to pass, and when.
    pub sector: u32,
    pub at: Nanos,
    /// The first sector that is not read ahead.
    pub limit: u32,
    /// When the read before it ended, and when `limit` is reached.
    pub began: Nanos,
    pub ends: Nanos,
}

/// See the module's own page. Segments are numbered.
#[derive(Clone, Debug)]
pub struct ReadCache {
    start: Vec<u32>,
    end: Vec<u32>,
    used: Vec<u64>,
    uses: u64,
    sectors: u32,
    /// The segment that was filled last: into which the disk reads on.
    current: usize,
}

impl ReadCache {
    pub fn new(segments: u32, sectors: u32) -> ReadCache {
        let n = segments as usize;
        ReadCache { start: vec![0; n], end: vec![0; n], used: vec![0; n], uses: 0, sectors, current: 0 }
    }

    fn touch(&mut self, segment: usize) {
        self.uses += 1;
        self.used[segment] = self.uses;
    }

    /// Whether all sectors are held; counts as a use.
    #[inline]
    pub fn holds(&mut self, from: u32, to: u32) -> bool {
        let mut found = usize::MAX;
        for segment in 0..self.start.len() {
            if self.start[segment] <= from && to <= self.end[segment] {
                found = segment;
            }
        }
        if found == usize::MAX {
            return false;
        }
        self.touch(found);
        true
    }

    /// Sectors have been read for the host: into the current segment if they continue it, else into the one not used for
    /// longest.
    #[inline]
    pub fn fill(&mut self, from: u32, to: u32) {
        let current = self.current;
        if self.start[current] < self.end[current] && self.start[current] <= from && from <= self.end[current] {
            self.grow(to);
        } else {
            let mut oldest = 0;
            for segment in 1..self.used.len() {
                if self.used[segment] < self.used[oldest] {
                    oldest = segment;
                }
            }
            self.current = oldest;
            self.start[oldest] = from.max(to.saturating_sub(self.sectors));
            self.end[oldest] = to;
        }
        self.touch(self.current);
    }

    /// The current segment holds what has been read up to `to`; the oldest gives way.
    #[inline]
    pub fn grow(&mut self, to: u32) {
        let current = self.current;
        self.end[current] = self.end[current].max(to);
        self.start[current] = self.start[current].max(self.end[current].saturating_sub(self.sectors));
    }

    /// Where the current segment begins.
    pub fn current_start(&self) -> u32 {
        self.start[self.current]
    }

    /// Sectors are overwritten: segments that hold any of them are given up. Whether the current one is among them.
    #[inline]
    pub fn forget(&mut self, from: u32, to: u32) -> bool {
        let mut current = false;
        for segment in 0..self.start.len() {
            if self.start[segment] < to && from < self.end[segment] {
                (self.start[segment], self.end[segment], self.used[segment]) = (0, 0, 0);
                current |= segment == self.current;
            }
        }
        current
    }
}
