//! Replays a block trace on a device: what a real host once sent, at the recorded times or as fast as it goes.
//!
//! | file | what |
//! |---|---|
//! | `speed` | when requests are sent |
//! | `commands` | the requests of the file, placed on the drive |
//! | `rate` | requests over time, in as many points as a chart can show |
//! | `outcome` | the figures |
//! | `text` | the same for people |
//!
//! The file is read twice: once to its end before anything runs, so that a fault in its last line costs nothing, and
//! once during the replay, both times as far as it reached at the beginning. It is never in memory as a whole. What is
//! sent is counted against what was read: a replay in which a request is missing is an error.
//!
//! **The drive.** It is new, and by default written once in sequence, all of it, and then left alone for
//! [`PREFILL_REST`]: reads of a trace must find data, or they would cost no flash.
//!
//! **Times.** At recorded (or scaled) speed the loop is open: requests are sent when they arrive, or, if all of the
//! host's tags are taken, as soon after as one is free. That wait is the replay lag; on a real drive, what the host was late
//! by is lag, too. Latencies count from the
//! sending, responses from the arrival: percentiles as the host saw them are those of the responses. Idle time costs
//! nothing but a look at the clock each simulated second.
//!
//! **How long.** A replay may last [`MAX_DURATION`] of simulated time, however long the trace was recorded: one that is
//! longer can be replayed faster, or as soon as possible. One whose times alone say that it would last longer is refused
//! before anything runs; one on a drive that is too slow ends in an error.

mod commands;
mod outcome;
mod rate;
mod speed;
mod text;

pub use outcome::{LEADS, TEST, TRACE_DIGEST};
pub use speed::{Speed, SpeedError};

pub use ssdlab_core::MAX_DURATION;

use std::cell::RefCell;
use std::path::Path;

use ssdlab_core::{Histogram, Nanos, Op, UNIT_BYTES, format_duration};
use ssdlab_device::{Counters, Refusal};
use ssdlab_workload::trace::{
    Format, Placement, PlacementReport, PlacementSpec, SourceReader, Stamps, TraceError, TraceSource, TraceSummary,
};
use thiserror::Error;

use crate::error::{BenchError, HostError};
use crate::host::{Arrival, Host, Job, SlowestSeen, cannot_be_saved, cannot_tell};
use crate::lab::{Begins, Lab, PoweredOn};
use crate::measure::Measurement;
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use commands::{Commands, InOrder};
use rate::RateOverTime;

/// Share of the progress that filling takes.
const PREFILL_SHARE: f64 = 0.3;

/// What to replay, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplaySpec {
    pub trace: TraceSource,
    /// Recognised from the file if `None`.
    pub format: Option<Format>,
    pub speed: Speed,
    /// The host's tags: requests in flight at most. 1 to [`ReplaySpec::MOST_QUEUE_DEPTH`].
    pub queue_depth: u32,
    /// The sectors are the drive's, whatever stands here.
    pub placement: PlacementSpec,
    /// Whether the whole drive is written in sequence first.
    pub prefill: bool,
    /// How long the drive rests before; `None`: for [`PREFILL_REST`] after it was written, else not at all.
    pub rest: Option<Nanos>,
    /// Of the specimen; a replay itself draws no random numbers.
    pub seed: u64,
    /// Whether the drive is shut down at the end, for [`Replayed::kept`].
    pub keep: bool,
    /// Whether its parts are watched, for [`Replayed::slowest_seen`].
    pub timeline: bool,
}

impl ReplaySpec {
    /// Tags that a host has at most: more than any drive takes, and few enough to be held.
    pub const MOST_QUEUE_DEPTH: u32 = 65_536;

    /// A replay at recorded speed with 32 tags, wrapped onto a drive that was filled.
    #[must_use]
    pub fn new(trace: &Path) -> Self {
        ReplaySpec {
            trace: trace.into(),
            format: None,
            speed: Speed::RECORDED,
            queue_depth: 32,
            placement: PlacementSpec::default(),
            prefill: true,
            rest: None,
            seed: 1,
            keep: false,
            timeline: false,
        }
    }
}

/// Why a trace was not replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The file; nothing has run.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing has run.
    #[error("{file}: holds no request to a drive; a trace has at least one read, write, trim or flush")]
    NoRequest { file: String },
    /// Nothing has run.
    #[error(
        "{file}: the replay would last {}; at most {} are possible. Are the time stamps in the unit that the format \
         uses? Else choose a higher speed, or `asap`",
        format_duration(*duration),
        format_duration(MAX_DURATION)
    )]
    TooLong { file: String, duration: Nanos },
    /// Found at the end.
    #[error("{file}: was changed while it was replayed")]
    Changed { file: String },
    #[error(transparent)]
    Bench(#[from] BenchError),
}

impl From<HostError> for ReplayError {
    fn from(e: HostError) -> Self {
        ReplayError::Bench(e.into())
    }
}

/// Everything that came of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub spec: ReplaySpec,
    pub device: String,
    pub capacity_bytes: u64,
    /// How it was before.
    pub begins: Begins,
    /// Days that it had lain without power.
    pub stored_days: u32,
    /// How long it rested before.
    pub rested: Nanos,
    pub format: Format,
    /// What the file holds.
    pub summary: TraceSummary,
    /// What was adjusted.
    pub placement: PlacementReport,
    pub measurement: Measurement,
    /// How long after their arrival requests were sent, and how many waited for a tag; `None` if sent as soon as possible.
    pub lag: Option<Lag>,
    /// What the device counted during the replay.
    pub counters: Counters,
    /// Something was added to the file while it was replayed; that was not.
    pub grew: bool,
    /// What the drive keeps without power, if that was asked for.
    pub kept: Option<Vec<u8>>,
    /// What its parts did while the slowest request waited, if that was asked for.
    pub slowest_seen: Option<SlowestSeen>,
    rate: RateOverTime,
}

/// How far a replay fell behind.
#[derive(Clone, Debug)]
pub struct Lag {
    pub distribution: Histogram,
    pub delayed: u64,
    /// From arrival to completion, by operation: lag and latency together, as the host saw them.
    pub response: Vec<(Op, Histogram)>,
}

impl Lag {
    /// Of all operations together.
    #[must_use]
    pub fn responses(&self) -> Histogram {
        let mut all = Histogram::new();
        for (_, responses) in &self.response {
            all.merge(responses);
        }
        all
    }
}

impl Replayed {
    /// The replay as the outcome of a test named `replay`.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        outcome::outcome(self)
    }

    /// A summary for people.
    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }
}

/// Replays the trace on a new device of `lab`.
///
/// # Errors
/// [`ReplayError`]; what is wrong with the trace is found before anything runs.
pub fn replay_file(spec: &ReplaySpec, lab: &dyn Lab, monitor: &Monitor<'_>) -> Result<Replayed, ReplayError> {
    let file = spec.trace.name();
    let bytes = spec.trace.length_bytes()?;
    let mut reader = spec.trace.open_up_to(bytes, spec.format)?;
    let summary = summary(&mut reader, monitor)?;
    let format = reader.format();
    if summary.requests == 0 {
        return Err(ReplayError::NoRequest { file });
    }
    let duration = spec.speed.scaled(summary.duration);
    if duration > MAX_DURATION {
        return Err(ReplayError::TooLong { file, duration });
    }
    let PoweredOn { mut device, ready } = lab.fresh(spec.seed).map_err(BenchError::Device)?;
    if summary.trims > 0 && !device.info().supports_trim {
        let problem = format!("the trace trims, but {} does not support TRIM", lab.name());
        return Err(BenchError::Unsuitable(problem).into());
    }
    let capacity_bytes = device.info().capacity_bytes;
    if capacity_bytes < UNIT_BYTES {
        let name = lab.name();
        let problem = format!("{name} has {capacity_bytes} bytes; a trace is replayed on {UNIT_BYTES} at least");
        return Err(BenchError::Unsuitable(problem).into());
    }
    let writes = (spec.prefill || summary.writes > 0).then_some(Op::Write);
    if device.info().read_only
        && let Some(op) = writes.or((summary.trims > 0).then_some(Op::Trim))
    {
        return Err(HostError::Refused(Refusal::ReadOnly { op }).into());
    }
    let placement = PlacementSpec { sector_bytes: device.info().sector_bytes, ..spec.placement };
    let placement = Placement::new(placement, &summary, capacity_bytes);
    let mut host = Host::resuming(&mut *device, monitor, ready);
    if spec.keep && !host.can_be_put_away() {
        return Err(cannot_be_saved(lab.name()).into());
    }
    if spec.timeline && !host.can_be_watched() {
        return Err(cannot_tell(lab.name()).into());
    }
    monitor.step(0.0, PREFILL_SHARE);
    let whole = [(0, capacity_bytes)];
    let rested = host.prefill(if spec.prefill { &whole } else { &[] }, spec.rest, |_| ())?;
    monitor.step(if spec.prefill { PREFILL_SHARE } else { 0.0 }, 1.0);
    let commands =
        RefCell::new(Commands::new(spec.trace.open_up_to(bytes, Some(format))?, placement, summary.requests));
    let before = host.counters();
    host.limit_time();
    if spec.timeline {
        host.watch_slowest();
    }
    let mut meters = (Measurement::default(), RateOverTime::new(duration));
    let sent = send(spec.speed, spec.queue_depth, &summary, &commands, &mut host, &mut meters);
    let second = commands.into_inner().finish();
    if let Some(fault) = second.fault {
        // It was sound a moment ago: somebody is writing to it.
        return Err(fault.into());
    }
    let lag = sent?;
    // The commands take no note of lines that are no requests, nor of stamps.
    if second.has_more || second.seen != (TraceSummary { stamps: Stamps::default(), skipped: 0, ..summary.clone() }) {
        return Err(ReplayError::Changed { file });
    }
    // One that is no more there has been read, all of it.
    let grew = spec.trace.length_bytes().is_ok_and(|now| now > bytes);
    let placement = second.placement;
    host.check_books()?;
    let counters = host.counters().since(&before);
    let slowest_seen = host.slowest_seen();
    let kept = spec.keep.then(|| host.put_away()).transpose()?;
    let (measurement, rate) = meters;
    measurement.check_causes().map_err(BenchError::Books)?;
    check_counts(&summary, &placement, &measurement)?;
    let device = lab.name().to_owned();
    let (spec, begins, stored_days) = (spec.clone(), lab.begins(), lab.stored_days());
    Ok(Replayed {
        spec,
        device,
        capacity_bytes,
        begins,
        stored_days,
        rested,
        format,
        summary,
        placement,
        measurement,
        lag,
        counters,
        grew,
        kept,
        slowest_seen,
        rate,
    })
}

/// Requests between two looks at the monitor.
const LOOK_EVERY: u64 = 1 << 16;

/// Reads the trace to its end.
fn summary(reader: &mut SourceReader, monitor: &Monitor<'_>) -> Result<TraceSummary, ReplayError> {
    let mut summary = TraceSummary::default();
    for record in reader.by_ref() {
        summary.add(&record?);
        if summary.requests.is_multiple_of(LOOK_EVERY) && !monitor.go_on(0.0) {
            return Err(HostError::Cancelled.into());
        }
    }
    summary.close(reader);
    Ok(summary)
}

/// Sends the commands, and returns the lag if they have times.
fn send<R: std::io::Read>(
    speed: Speed,
    queue_depth: u32,
    summary: &TraceSummary,
    commands: &RefCell<Commands<R>>,
    host: &mut Host<'_>,
    meters: &mut (Measurement, RateOverTime),
) -> Result<Option<Lag>, HostError> {
    if speed == Speed::AsSoonAsPossible {
        let monitor = host.monitor();
        let progress = |requests: u64| monitor.go_on(requests as f64 / summary.requests as f64);
        host.run(&mut [Job::new(InOrder::new(commands, &progress), queue_depth)], meters)?;
        return Ok(None);
    }
    let arrivals = std::iter::from_fn(|| commands.borrow_mut().next())
        .map(|(at, command)| Arrival { at: speed.scaled(at), command });
    let done = host.replay(arrivals, queue_depth, Some(speed.scaled(summary.duration)), meters)?;
    Ok(Some(Lag { distribution: done.lag, delayed: done.delayed, response: done.response }))
}

/// What was sent and completed is what the file holds.
fn check_counts(summary: &TraceSummary, placed: &PlacementReport, m: &Measurement) -> Result<(), BenchError> {
    let completed = m.requests();
    let whole = placed.requests == summary.requests
        && placed.bytes == summary.bytes()
        && completed == placed.commands
        && m.bytes() == placed.placed_bytes;
    if whole {
        return Ok(());
    }
    Err(BenchError::Books(format!(
        "the trace holds {} requests of {} bytes; {} of {} bytes were placed as {} commands of {} bytes, and {completed} \
         commands of {} bytes completed",
        summary.requests,
        summary.bytes(),
        placed.requests,
        placed.bytes,
        placed.commands,
        placed.placed_bytes,
        m.bytes(),
    )))
}
