//! `ssdlab replay`: a block trace on a drive.

use std::cell::RefCell;
use std::str::FromStr as _;

use ssdlab_bench::host::{Arrival, Host, Job as HostJob};
use ssdlab_bench::{BenchError, HostError, Lab as _, Monitor};
use ssdlab_core::Nanos;
use ssdlab_device::{Counters, Device};
use ssdlab_report::results_json;
use ssdlab_workload::trace::{
    Fit, Format, Placement, PlacementReport, PlacementSpec, TraceError, TraceReader, TraceSummary, open,
};
use ssdlab_workload::{Command, Source};

use crate::args::{PlacementArg, PrefillArg, ReplayArgs};
use crate::commands::test::text;
use crate::failure::Failure;
use crate::lab::SimulatedDrive;
use crate::output::print;
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};
use crate::replay_outcome::{ReplayMeter, Replayed, outcome};
use crate::review_of::review_of;
use crate::trace_error::trace_failure;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// At the recorded times, this many times as fast.
    Times(f64),
    /// As soon as the queue has room.
    AsSoonAsPossible,
}

/// Share of the progress that filling the drive takes.
const PREFILL_SHARE: f64 = 0.3;
const PREFILL_BLOCK_BYTES: u64 = 128 << 10;
const PREFILL_QUEUE_DEPTH: u32 = 32;

pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let speed = parse_speed(&args.speed)?;
    let format = args.format.as_deref().map(Format::from_str).transpose().map_err(|e| trace_failure(&e))?;
    let drive = SimulatedDrive::new(&args.device, args.seed)?;
    // The whole trace is read before anything runs: a fault in its last line must not cost an hour.
    let mut reader = open(&args.trace, format).map_err(|e| trace_failure(&e))?;
    let summary = TraceSummary::read(&mut reader).map_err(|e| trace_failure(&e))?;
    if summary.requests == 0 {
        return Err(Failure::bad_input(format!("{} holds no request to a drive", args.trace.display()))
            .help("a trace needs at least one read, write, trim or flush"));
    }
    let format = reader.format();

    stop_on_ctrl_c()?;
    let mut device = drive.fresh(args.seed).map_err(Failure::run)?;
    let bar = Bar::new();
    let report = |done: f64| bar.set(done);
    let monitor = Monitor::new(&report, &CANCEL);
    let replayed = replay(args, speed, format, summary, &mut device, &monitor)?;
    drop(bar);

    let outcome = outcome(args, speed, format, drive.device(), &replayed);
    if args.json {
        let review = review_of(std::slice::from_ref(&drive), vec![outcome], Vec::new(), args.seed, false);
        return print(&results_json(&review).map_err(|e| Failure::run(e.to_string()))?);
    }
    print(&text(&outcome))
}

fn parse_speed(speed: &str) -> Result<Speed, Failure> {
    let times = |text: &str| text.parse().ok().filter(|v| (1e-6..=1e6).contains(v)).map(Speed::Times);
    match speed {
        "recorded" => Some(Speed::Times(1.0)),
        "asap" => Some(Speed::AsSoonAsPossible),
        other => other.strip_prefix(['×', 'x']).and_then(times),
    }
    .ok_or_else(|| {
        Failure::bad_input(format!("`{speed}` is not a speed"))
            .help("use recorded, asap, or a factor from 0.000001 to 1000000 as in x2 or x0.5")
    })
}

fn replay<D: Device>(
    args: &ReplayArgs,
    speed: Speed,
    format: Format,
    summary: TraceSummary,
    device: &mut D,
    monitor: &Monitor<'_>,
) -> Result<Replayed, Failure> {
    let capacity = device.info().capacity_bytes;
    let fit = match args.placement {
        PlacementArg::Wrap => Fit::Wrap,
        PlacementArg::Scale => Fit::Scale,
    };
    let placement = Placement::new(PlacementSpec { fit, ..Default::default() }, &summary, capacity);
    let commands = Commands {
        reader: open(&args.trace, Some(format)).map_err(|e| trace_failure(&e))?,
        placement,
        pending: None,
        error: None,
    };
    let commands = RefCell::new(commands);

    let mut host = Host::new(device, monitor);
    if args.prefill == PrefillArg::Drive {
        monitor.step(0.0, PREFILL_SHARE);
        host.fill(0, capacity, PREFILL_BLOCK_BYTES, PREFILL_QUEUE_DEPTH, &mut ()).map_err(failed)?;
        monitor.step(PREFILL_SHARE, 1.0);
    }
    let before = host.device().counters();
    let mut meter = ReplayMeter::default();
    let mut lag = None;
    match speed {
        Speed::Times(factor) => {
            let scaled = |at: Nanos| (at as f64 / factor) as Nanos;
            let arrivals = std::iter::from_fn(|| commands.borrow_mut().next())
                .map(|(at, command)| Arrival { at: if factor == 1.0 { at } else { scaled(at) }, command });
            let hint = Some(scaled(summary.duration));
            let done =
                host.replay(arrivals, args.queue_depth, hint, &mut meter).map_err(|e: HostError| failed(e.into()))?;
            lag = Some((done.lag, done.delayed));
        }
        Speed::AsSoonAsPossible => {
            let job = HostJob::new(InOrder(&commands), args.queue_depth).for_bytes(summary.bytes().saturating_mul(2));
            host.run(&mut [job], &mut meter).map_err(|e| failed(e.into()))?;
        }
    }
    let counters: Counters = host.device().counters().since(&before);
    host.check_books().map_err(failed)?;
    let commands = commands.into_inner();
    if let Some(error) = commands.error {
        // It was sound a moment ago.
        return Err(trace_failure(&error));
    }
    meter.all.check_causes().map_err(|e| failed(BenchError::Books(e)))?;
    let placed: PlacementReport = commands.placement.report().clone();
    Ok(Replayed { summary, placed, counters, meter, lag })
}

fn failed(error: BenchError) -> Failure {
    if error.is_cancelled() {
        Failure::run("stopped before the trace had ended")
    } else {
        Failure::run(format!("the replay failed: {error}"))
    }
}

/// The commands of a trace, placed on the drive, with their times.
struct Commands<R> {
    reader: TraceReader<R>,
    placement: Placement,
    /// The second half of a request that was split at the end of the drive.
    pending: Option<(Nanos, Command)>,
    error: Option<TraceError>,
}

impl<R: std::io::Read> Commands<R> {
    fn next(&mut self) -> Option<(Nanos, Command)> {
        if let Some(second) = self.pending.take() {
            return Some(second);
        }
        match self.reader.next()? {
            Ok(record) => {
                let placed = self.placement.place(&record);
                self.pending = placed.second.map(|command| (record.at, command));
                Some((record.at, placed.first))
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

/// The same without their times.
struct InOrder<'a, R>(&'a RefCell<Commands<R>>);

impl<R: std::io::Read> Source for InOrder<'_, R> {
    fn next(&mut self) -> Option<Command> {
        self.0.borrow_mut().next().map(|(_, command)| command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_names_or_factors() {
        assert_eq!(parse_speed("recorded").unwrap(), Speed::Times(1.0));
        assert_eq!(parse_speed("asap").unwrap(), Speed::AsSoonAsPossible);
        assert_eq!(parse_speed("×2.5").unwrap(), Speed::Times(2.5));
        assert_eq!(parse_speed("x0.5").unwrap(), Speed::Times(0.5));
        for wrong in ["x", "x0", "x-1", "xnan", "2", "fast", "x1e9"] {
            assert!(parse_speed(wrong).is_err(), "{wrong}");
        }
    }
}
