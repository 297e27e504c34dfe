//! What the parts of the device did while the slowest request waited.

use serde::{Deserialize, Serialize};
use ssdlab_core::{MILLISECOND, Nanos};
use ssdlab_device::{Completion, Device, Timeline, Work};

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
    /// How long of it the device was not ready yet, its power having come back.
    #[serde(default)]
    pub starting: Nanos,
}

impl SlowestSeen {
    /// Whether it can be what a device did: everything that says so begins before it ends, in order. For who reads it from others.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<(), String> {
        if self.from > self.request.submitted {
            return Err("the slowest request was sent before its timeline begins".to_owned());
        }
        check_command(&self.request).map_err(|why| format!("the slowest request {why}"))?;
        if self.starting > self.request.latency() {
            return Err("the slowest request waited longer for its device to be ready than in all".to_owned());
        }
        for track in &self.timeline.tracks {
            let wrong = |why: &str| Err(format!("work of {} {why}", track.part));
            if track.stretches.iter().any(|s| s.from > s.to) {
                return wrong("ends before it begins");
            }
            if track.stretches.windows(2).any(|pair| pair[0].from > pair[1].from) {
                return wrong("is in no order");
            }
            for stretch in &track.stretches {
                if let Work::Command { command, .. } = &stretch.work
                    && let Err(why) = check_command(command)
                {
                    return wrong(why);
                }
            }
        }
        Ok(())
    }
}

/// No request takes as long: two years.
const LONGEST: Nanos = 1 << 56;

fn check_command(c: &Completion) -> Result<(), &'static str> {
    let Some(latency) = c.completed.checked_sub(c.submitted) else { return Err("ends before it was sent") };
    if latency > LONGEST {
        return Err("takes years");
    }
    let parts = c.breakdown.nanos.iter().try_fold(0, |sum: Nanos, &part| sum.checked_add(part));
    if parts.is_none_or(|parts| parts > latency) {
        return Err("has more time in parts than in all");
    }
    Ok(())
}

/// Keeps the slowest request of those that it is told of. A host has one of its own ([`super::Host::watch_slowest`]).
#[derive(Debug)]
pub struct Watch {
    /// Nothing is known of what parts did before.
    began: Nanos,
    slowest: Nanos,
    taken: u32,
    seen: Option<SlowestSeen>,
    /// When the device was ready after its power had come back last.
    ready: Nanos,
}

impl Watch {
    /// Has the device note what its parts do from `now` on; `None` if it cannot.
    #[must_use]
    pub fn begin(device: &mut dyn Device, now: Nanos) -> Option<Self> {
        device.recorder()?.record(STRETCHES);
        Some(Watch { began: now, slowest: 0, taken: 0, seen: None, ready: 0 })
    }

    /// What was seen up to now, if any request has ended. Those that end from now on are looked at anew; what parts did before is
    /// still known then.
    #[must_use]
    pub fn begin_anew(&mut self) -> Option<SlowestSeen> {
        let anew = Watch { slowest: 0, taken: 0, seen: None, ..*self };
        std::mem::replace(self, anew).into_seen()
    }

    /// The power has come back: the device is ready at `ready`, and requests that come earlier wait until then.
    pub fn starts_until(&mut self, ready: Nanos) {
        self.ready = ready;
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
            let starting = self.ready.min(c.completed).saturating_sub(c.submitted);
            let timeline = recorder.recorded_since(from);
            self.seen = Some(SlowestSeen { request: *c, from, timeline, slower: None, starting });
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

#[cfg(test)]
mod tests {
    use ssdlab_core::{Breakdown, Cause, Op};
    use ssdlab_device::{Status, Stretch, Track};

    use super::*;

    #[test]
    fn what_others_say_is_looked_at() {
        let mut breakdown = Breakdown::default();
        breakdown.add(Cause::Erase, 50);
        let (op, status) = (Op::Write, Status::Ok);
        let request = Completion {
            tag: 1,
            op,
            status,
            offset_bytes: 0,
            length_bytes: 512,
            submitted: 100,
            completed: 150,
            breakdown,
        };
        let command = |command: Completion| Work::Command { command, has_ended: true };
        let stretch = |from, to| Stretch { from, to, work: command(request) };
        let track =
            Track { stretches: vec![stretch(90, 120), stretch(90, 110), stretch(100, 150)], ..Track::new("commands") };
        let timeline = Timeline { tracks: vec![track], complete_from: Nanos::MAX };
        let seen = SlowestSeen { request, from: 90, timeline, slower: None, starting: 0 };
        assert_eq!(seen.check(), Ok(()));
        let refused = |change: fn(&mut SlowestSeen)| {
            let mut other = seen.clone();
            change(&mut other);
            other.check().expect_err("it cannot be")
        };
        assert!(refused(|seen| seen.from = 101).contains("before its timeline begins"));
        assert!(refused(|seen| seen.starting = 51).contains("longer for its device to be ready than in all"));
        assert!(refused(|seen| seen.request.completed = 99).contains("the slowest request ends before it was sent"));
        assert!(refused(|seen| seen.request.completed = Nanos::MAX).contains("takes years"));
        assert!(refused(|seen| seen.request.breakdown.nanos[3] += 1).contains("more time in parts than in all"));
        assert!(refused(|seen| seen.request.breakdown.nanos[3] = Nanos::MAX).contains("more time in parts"));
        assert!(
            refused(|seen| seen.timeline.tracks[0].stretches[1].to = 0)
                .contains("work of commands ends before it begins")
        );
        assert!(refused(|seen| seen.timeline.tracks[0].stretches.swap(0, 2)).contains("is in no order"));
        let of_command = |seen: &mut SlowestSeen| {
            let Work::Command { command, .. } = &mut seen.timeline.tracks[0].stretches[1].work else { unreachable!() };
            command.submitted = 151;
        };
        assert!(refused(of_command).contains("work of commands ends before it was sent"));
    }
}
