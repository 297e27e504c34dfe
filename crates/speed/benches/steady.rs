//! A drive in steady state, and what its host writes cost.

use ssdlab_core::{Nanos, Rng};
use ssdlab_device::{Completion, Device, Request};

const QUEUE_DEPTH: u64 = 32;

/// A drive under uniform random writes from a closed loop of 32.
pub struct Steady<D> {
    pub drive: D,
    rng: Rng,
    pub pages: u64,
    now: Nanos,
    done: Vec<Completion>,
}

impl<D: Device> Steady<D> {
    /// Filled in sequence.
    pub fn new(drive: D) -> Self {
        let pages = drive.info().capacity_bytes / 4096;
        let mut s = Steady { drive, rng: Rng::new(5), pages, now: 0, done: Vec::new() };
        let requests = pages / 32;
        let fill = |k: u64| Request::write(k, k * 131_072, 131_072);
        let mut next = QUEUE_DEPTH;
        (0..QUEUE_DEPTH).for_each(|k| s.drive.submit(0, fill(k)).expect("it lies within the drive"));
        let mut ended = 0;
        while ended < requests {
            s.now = s.drive.advance_to_completion(Nanos::MAX - 1, &mut s.done);
            for _ in s.done.drain(..) {
                ended += 1;
                if next < requests {
                    s.drive.submit(s.now, fill(next)).expect("it lies within the drive");
                    next += 1;
                }
            }
        }
        for _ in 0..QUEUE_DEPTH {
            s.submit();
        }
        s
    }

    #[inline(always)]
    fn submit(&mut self) {
        let offset_bytes = self.rng.below(self.pages) * 4096;
        self.drive.submit(self.now, Request::write(0, offset_bytes, 4096)).expect("it lies within the drive");
    }

    #[inline(never)]
    pub fn writes(&mut self, n: u64) {
        let mut ended = 0;
        while ended < n {
            self.now = self.drive.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            ended += self.done.len() as u64;
            for _ in 0..self.done.len() {
                self.submit();
            }
            self.done.clear();
        }
    }
}
