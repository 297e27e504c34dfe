//! What has been read and is kept, and reading on.
//!
//! Each segment holds one contiguous run of sectors. A read that is not held takes over the segment that has not been
//! used for longest. After it the disk reads on into the same segment, with nobody asking, until it has read so far
//! ahead or the arm is needed elsewhere, and further where reads are answered by what was read ahead. What has been read ahead is not followed sector by sector: from where and since
//! when the heads read is known, so how far they are can be told whenever somebody asks.

use ssdlab_core::Nanos;

/// Reading on after a read: the arm follows the tracks.
#[derive(Clone, Copy, Debug)]
pub struct ReadOn {
    /// A sector that has begun to pass, or is about to, and when.
    pub sector: u32,
    pub at: Nanos,
    /// The first sector that is not read ahead.
    pub limit: u32,
    /// When the read before it ended.
    pub began: Nanos,
    /// The first sector that had not been read when somebody last asked, and when that was.
    pub reached: u32,
    pub followed: Nanos,
}

/// See the module's own page. Segments are numbered.
#[derive(Clone, Debug)]
pub struct ReadCache {
    start: Vec<u32>,
    end: Vec<u32>,
    /// A ring of all segments, from the one used last to the one not used for longest.
    newer: Vec<u16>,
    older: Vec<u16>,
    last_used: u16,
    sectors: u32,
    /// The segment that was filled last: into which the disk reads on.
    current: usize,
}

impl ReadCache {
    pub fn new(segments: u32, sectors: u32) -> ReadCache {
        let n = segments as u16;
        ReadCache {
            start: vec![0; n.into()],
            end: vec![0; n.into()],
            newer: (0..n).map(|i| if i == 0 { n - 1 } else { i - 1 }).collect(),
            older: (0..n).map(|i| if i + 1 == n { 0 } else { i + 1 }).collect(),
            last_used: 0,
            sectors,
            current: 0,
        }
    }

    /// A segment is used: it becomes the last used one.
    #[inline]
    fn touch(&mut self, segment: usize) {
        let (this, last) = (segment as u16, self.last_used);
        let oldest = self.newer[usize::from(last)];
        if this == last {
            return;
        }
        if this != oldest {
            let (newer, older) = (self.newer[segment], self.older[segment]);
            self.older[usize::from(newer)] = older;
            self.newer[usize::from(older)] = newer;
            self.newer[segment] = oldest;
            self.older[usize::from(oldest)] = this;
            self.older[segment] = last;
            self.newer[usize::from(last)] = this;
        }
        // The oldest one already stands before the last used one.
        self.last_used = this;
    }

    /// Whether all sectors are held; counts as a use.
    #[inline]
    pub fn holds(&mut self, from: u32, to: u32) -> bool {
        let holds = |(&start, &end): (&u32, &u32)| (start <= from) & (to <= end);
        // Without a way out, so that several are compared at once. Mostly none does.
        let any = self.start.iter().zip(&self.end).fold(false, |any, segment| any | holds(segment));
        if !any {
            return false;
        }
        if let Some(found) = self.start.iter().zip(&self.end).position(holds) {
            self.touch(found);
        }
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
            let oldest = usize::from(self.newer[usize::from(self.last_used)]);
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

    /// Nothing is held any more.
    pub fn clear(&mut self) {
        self.start.fill(0);
        self.end.fill(0);
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
                (self.start[segment], self.end[segment]) = (0, 0);
                current |= segment == self.current;
            }
        }
        current
    }
}
