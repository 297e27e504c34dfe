//! The requests of a stand-in, one after the other, in constant memory.

use ssdlab_core::{MICROSECOND, Nanos, Rng};

use super::Plan;
use super::classes::Class;
use super::depths::Path;
use super::places::Places;
use crate::pattern::Command;

/// Requests of one class that follow each other on average: programs work on one thing at a time. An estimate.
const BURST_REQUESTS: u64 = 16;
/// Pauses before the cap: log-uniform between these. An estimate.
const SHORTEST_PAUSE: Nanos = 100 * MICROSECOND;
const LONGEST_OVER_SHORTEST: f64 = 10_000.0;

/// A request, and when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub command: Command,
    /// Requests in flight once this one has been sent: the host waits until that is so.
    pub depth: u32,
    /// Idle time before it, with nothing in flight.
    pub pause: Nanos,
}

/// The requests of a [`Plan`].
#[derive(Clone, Debug)]
pub struct Stream {
    left: u64,
    classes: Vec<Class>,
    /// The class of the present burst.
    burst: usize,
    class_rng: Rng,
    path: Path,
    places: Places,
    pauses_left: u64,
    idle_cap: Nanos,
    pause_rng: Rng,
}

impl Plan {
    /// The requests, in an order and at places that `rng` decides on. No pause is longer than `idle_cap`.
    #[must_use]
    pub fn stream(&self, idle_cap: Nanos, rng: &Rng) -> Stream {
        Stream::new(self, idle_cap, rng)
    }
}

impl Stream {
    fn new(plan: &Plan, idle_cap: Nanos, rng: &Rng) -> Self {
        Stream {
            left: plan.requests,
            classes: plan.classes.clone(),
            burst: 0,
            class_rng: rng.stream("class"),
            path: Path::new(&plan.depths, rng.stream("depth")),
            places: Places::new(plan.footprint_bytes, rng.stream("place")),
            pauses_left: plan.pauses,
            idle_cap,
            pause_rng: rng.stream("pause"),
        }
    }

    /// Requests still to come.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The class of the next request: mostly that of the last, so that requests come in bursts. A new burst's class is
    /// drawn by what is left of each, so that all classes last to the end.
    #[inline]
    fn class(&mut self) -> usize {
        let ended = self.classes[self.burst].requests == 0 || self.class_rng.below(BURST_REQUESTS) == 0;
        if ended {
            let mut draw = self.class_rng.below(self.left);
            for (i, class) in self.classes.iter().enumerate() {
                if draw < class.requests {
                    self.burst = i;
                    break;
                }
                draw -= class.requests;
            }
        }
        self.burst
    }

    #[inline]
    fn command(&mut self) -> Command {
        let index = self.class();
        let class = &mut self.classes[index];
        let (op, length_bytes) = (class.op, class.length_bytes);
        let wanted = class.sequential > 0 && self.class_rng.below(class.requests) < class.sequential;
        let sequel = if wanted { self.places.sequel(op, length_bytes) } else { None };
        class.requests -= 1;
        let offset_bytes = match sequel {
            Some(at) => {
                class.sequential -= 1;
                at
            }
            None => self.places.elsewhere(op, length_bytes),
        };
        // Sequential requests that found no sequel are made up for; what is left must fit into the requests left.
        if class.sequential > class.requests {
            let owed = class.sequential - class.requests;
            class.sequential -= owed;
            self.pass_on(owed);
        }
        self.places.went(op, offset_bytes, length_bytes);
        Command { op, offset_bytes, length_bytes, fua: false }
    }

    /// Lets another class be sequential instead: the one that has the most requests to spare.
    #[cold]
    fn pass_on(&mut self, owed: u64) {
        if let Some(other) = self.classes.iter_mut().max_by_key(|c| c.requests - c.sequential.min(c.requests)) {
            other.sequential = (other.sequential + owed).min(other.requests);
        }
    }

    #[inline]
    fn pause(&mut self) -> Nanos {
        // This hill has begun; it is one of those that the pauses are for.
        let hills = self.path.starts_left() + 1;
        if self.pauses_left == 0 || self.pause_rng.below(hills) >= self.pauses_left {
            return 0;
        }
        self.pauses_left -= 1;
        let length = SHORTEST_PAUSE as f64 * libm::pow(LONGEST_OVER_SHORTEST, self.pause_rng.unit());
        (length as Nanos).min(self.idle_cap)
    }
}

impl Iterator for Stream {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        if self.left == 0 {
            return None;
        }
        let command = self.command();
        self.left -= 1;
        let (depth, rested) = self.path.next();
        debug_assert!(depth > 0, "fewer depths than requests");
        let pause = if rested { self.pause() } else { 0 };
        Some(Step { command, depth, pause })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}
