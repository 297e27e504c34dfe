//! The requests of a stand-in, one after the other, in constant memory.

use ssdlab_core::{MICROSECOND, Nanos, Rng};

use super::classes::Class;
use super::depths::{DEEP, Path};
use super::places::Places;
use super::plan::{Joint, Plan};
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
    joint: Joint,
    /// Of 1,000 requests in a shallow queue, how many are chosen the other way than those in a deep one, so that both
    /// together have the sizes of the trace.
    shallow_per_1000: u64,
    /// Whether the last request was sent into a deep queue.
    was_deep: bool,
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
            joint: plan.joint,
            shallow_per_1000: {
                let deep = plan.depths.deep_share();
                (1000.0 * deep / (1.0 - deep).max(deep)) as u64
            },
            was_deep: false,
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
    fn class(&mut self, depth: u32) -> usize {
        let ended = self.classes[self.burst].requests == 0 || self.class_rng.below(BURST_REQUESTS) == 0;
        if self.joint == Joint::Independent {
            if ended {
                self.burst = self.any_class();
            }
            return self.burst;
        }
        let deep = depth >= DEEP;
        if ended || deep != self.was_deep {
            self.was_deep = deep;
            self.burst = self.class_for(deep);
        }
        self.burst
    }

    /// A class, drawn by what is left of each.
    #[inline]
    fn any_class(&mut self) -> usize {
        let mut draw = self.class_rng.below(self.left);
        for (i, class) in self.classes.iter().enumerate() {
            if draw < class.requests {
                return i;
            }
            draw -= class.requests;
        }
        self.burst
    }

    /// Two classes are drawn; a deep queue takes the smaller or the larger, a shallow one as often the other, so that the
    /// sizes of all together stay those of the trace.
    fn class_for(&mut self, deep: bool) -> usize {
        let (one, other) = (self.any_class(), self.any_class());
        if !deep && self.class_rng.below(1000) >= self.shallow_per_1000 {
            return one;
        }
        let (small, large) = if self.classes[one].length_bytes <= self.classes[other].length_bytes {
            (one, other)
        } else {
            (other, one)
        };
        if deep == (self.joint == Joint::SmallDeep) { small } else { large }
    }

    #[inline]
    fn command(&mut self, depth: u32) -> Command {
        let index = self.class(depth);
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
        let (depth, rested) = self.path.next();
        debug_assert!(depth > 0, "fewer depths than requests");
        let command = self.command(depth);
        self.left -= 1;
        let pause = if rested { self.pause() } else { 0 };
        Some(Step { command, depth, pause })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}
