//! What the parts of the device did while the slowest request waited.

use serde::{Deserialize, Serialize};
use ssdlab_core::{MILLISECOND, Nanos};
use ssdlab_device::{Completion, Device, Timeline};

use crate::error::BenchError;

/// Stretches that each kind of part keeps: those of some tenths of a second of a busy drive.
const STRETCHES: usize = 1 << 16;
/// So many times, each request that is slower than all before is taken; from then on one that is slower by a fiftieth, as latencies
/// that grow with every request would otherwise cost a look at every stretch for each of them.
const EVERY_ONE: u32 = 500;
/// What went on before the request was sent: so much of its latency, and no less than the time.
const BEFORE: u64 = 4;
const LEAST_BEFORE: Nanos = MILLISECOND;

/// The slowest request of a run, and what the parts of the device did from shortly before it was sent until it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowestSeen {
    pub request: Completion,
    /// What the timeline begins at: earlier than the request, if parts were watched then.
    pub from: Nanos,
    pub timeline: Timeline,
    /// The latency of a slower one that is not shown: only where thousands followed each other, each slower than the one before.
    pub slower: Option<Nanos>,
}

/// Keeps the slowest request of those that it is told of. A host has one of its own ([`super::Host::watch_slowest`]).
#[derive(Debug)]
pub struct Watch {
    /// Nothing is known of what parts did before.
    began: Nanos,
    slowest: Nanos,
    taken: u32,
    seen: Option<SlowestSeen>,
}

impl Watch {
    /// Has the device note what its parts do from `now` on; `None` if it cannot.
    #[must_use]
    pub fn begin(device: &mut dyn Device, now: Nanos) -> Option<Self> {
        device.recorder()?.record(STRETCHES);
        Some(Watch { began: now, slowest: 0, taken: 0, seen: None })
    }

    /// What was seen up to now, if any request has ended. Those that end from now on are looked at anew; what parts did before is
    /// still known then.
    #[must_use]
    pub fn begin_anew(&mut self) -> Option<SlowestSeen> {
        let anew = Watch { began: self.began, slowest: 0, taken: 0, seen: None };
        std::mem::replace(self, anew).into_seen()
    }

    /// A request has ended just now.
    #[inline]
    pub fn ended(&mut self, c: &Completion, device: &mut dyn Device) {
        if c.latency() > self.slowest {
            self.take(c, device);
        }
    }

    #[cold]
    fn take(&mut self, c: &Completion, device: &mut dyn Device) {
        self.slowest = c.latency();
        let kept = self.seen.as_ref().map_or(0, |seen| seen.request.latency());
        if self.taken >= EVERY_ONE && self.slowest - kept < kept / 50 {
            return;
        }
        self.taken += 1;
        let from =
            c.submitted.saturating_sub((c.latency() / BEFORE).max(LEAST_BEFORE)).max(self.began.min(c.submitted));
        if let Some(recorder) = device.recorder() {
            let timeline = recorder.recorded_since(from);
            self.seen = Some(SlowestSeen { request: *c, from, timeline, slower: None });
        }
    }

    /// What was seen, if any request has ended.
    #[must_use]
    pub fn into_seen(self) -> Option<SlowestSeen> {
        let Watch { slowest, seen, .. } = self;
        seen.map(|seen| SlowestSeen { slower: (slowest > seen.request.latency()).then_some(slowest), ..seen })
    }
}

/// Why there is no timeline of a device.
pub(crate) fn cannot_tell(name: &str) -> BenchError {
    BenchError::Unsuitable(format!(
        "{name} has no timeline: only simulated drives, disks and sets of them tell what their parts do"
    ))
}
