//! Where the time went, in figures and in words.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ssdlab_core::{Breakdown, CAUSES, Cause, Nanos, Op, format_duration, to_us};
use ssdlab_device::Completion;

use crate::measure::{Measurement, OpStats, TailPart};
use crate::outcome::{SlowIo, Table, TimeShare};

/// A sentence names causes until they explain this share of the latency, in per cent …
const EXPLAINED_PERCENT: u64 = 95;
/// … or until there are so many.
const CAUSES_NAMED: usize = 4;

/// What the request was doing while this cause held it: follows a duration.
fn phrase(cause: Cause) -> &'static str {
    match cause {
        Cause::Link => "on the host link",
        Cause::Queue => "waiting in the queue",
        Cause::NotQueued => "before or behind a FLUSH or TRIM that goes alone",
        Cause::Controller => "in the controller",
        Cause::Buffer => "waiting for room in the write buffer",
        Cause::Bus => "on the flash bus",
        Cause::Read => "reading flash",
        Cause::Program => "programming flash",
        Cause::Erase => "behind erases",
        Cause::GarbageCollection => "behind garbage collection",
        Cause::Fold => "behind cache folding",
        Cause::Metadata => "on map and journal traffic",
        Cause::EccRetry => "in ECC retries",
        Cause::Merge => "behind block merges",
        Cause::Seek => "seeking",
        Cause::Rotation => "waiting for the platter",
        Cause::Transfer => "on media transfer",
        Cause::Destage => "behind cached writes",
        Cause::AdapterCache => "waiting for room in the adapter's cache",
        Cause::AdapterFlush => "behind a flush of the adapter's cache",
        Cause::Heat => "held back by a drive that is too hot",
    }
}

/// Says where a latency went: `8.40 ms: 7.10 ms behind garbage collection, 1.20 ms in the controller, and 0.10 ms
/// elsewhere`. The largest causes are named, equal ones in the order of [`CAUSES`].
#[must_use]
pub fn sentence(latency: Nanos, breakdown: &Breakdown) -> String {
    sentence_of_start(latency, breakdown, 0)
}

/// As [`sentence`], of a request that had to wait so long for a device whose power had just come back. Whatever the device
/// calls that wait, it has served nothing in it.
#[must_use]
pub fn sentence_of_start(latency: Nanos, breakdown: &Breakdown, starting: Nanos) -> String {
    let total = breakdown.sum().max(starting);
    let after = after_start(breakdown, starting);
    let causes = CAUSES.iter().map(|&c| (phrase(c), after.get(c)));
    let start = ("until the device was ready after its power came back", starting);
    let mut parts: Vec<(&str, Nanos)> = std::iter::once(start).chain(causes).filter(|&(_, t)| t > 0).collect();
    parts.sort_by_key(|&(_, t)| std::cmp::Reverse(t));
    let mut words = Vec::new();
    let mut explained = 0;
    for (phrase, time) in parts {
        if words.len() == CAUSES_NAMED || explained * 100 >= total * EXPLAINED_PERCENT {
            break;
        }
        explained += time;
        words.push(format!("{} {phrase}", format_duration(time)));
    }
    if explained < total {
        words.push(format!("{} elsewhere", format_duration(total - explained)));
    }
    let list = match words.split_last() {
        None if latency == 0 => return "no time".to_owned(),
        None => return format!("{}: the device does not say where", format_duration(latency)),
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    };
    format!("{}: {list}", format_duration(total))
}

/// What is left of a request's time once that is taken off which its device needed to be ready. A command that waits for that is
/// down as one that waits for the processor, for a slot or on the link.
#[must_use]
pub fn after_start(breakdown: &Breakdown, starting: Nanos) -> Breakdown {
    let (mut left, mut after) = (starting, *breakdown);
    for cause in [Cause::Controller, Cause::Queue, Cause::Link].into_iter().chain(CAUSES) {
        let taken = after.get(cause).min(left);
        after.nanos[cause as usize] -= taken;
        left -= taken;
    }
    after
}

/// The cause that took the largest part, and its share in per cent; `None` where nothing is known.
#[must_use]
pub fn main_cause(breakdown: &Breakdown) -> Option<(Cause, f64)> {
    let total = breakdown.sum();
    let main = largest(|a, b| breakdown.get(a).cmp(&breakdown.get(b)))?;
    (total > 0).then(|| (main, 100.0 * breakdown.get(main) as f64 / total as f64))
}

/// The cause that took the largest part of a slow request; `None` where nothing is known.
#[must_use]
pub fn main_cause_of(io: &SlowIo) -> Option<Cause> {
    let part = |c: Cause| io.causes_us.get(c.key()).copied().unwrap_or(0.0);
    largest(|a, b| part(a).total_cmp(&part(b))).filter(|&c| part(c) > 0.0)
}

/// Of equal causes the first in report order.
fn largest(compare: impl Fn(Cause, Cause) -> Ordering) -> Option<Cause> {
    CAUSES.iter().copied().rev().max_by(|&a, &b| compare(a, b))
}

/// Microseconds by cause key, without the causes that took no time.
fn causes_us(breakdown: &Breakdown, requests: u64) -> BTreeMap<String, f64> {
    CAUSES
        .iter()
        .map(|&c| (c, breakdown.get(c)))
        .filter(|&(_, t)| t > 0)
        .map(|(c, t)| (c.key().to_owned(), t as f64 / 1e3 / requests as f64))
        .collect()
}

/// A request with its causes; `started` is the start of the measured run.
#[must_use]
pub fn slow_io(c: &Completion, started: Nanos) -> SlowIo {
    SlowIo {
        run: None,
        at_s: c.submitted.saturating_sub(started) as f64 / 1e9,
        op: c.op.name().to_owned(),
        offset_bytes: c.offset_bytes,
        length_bytes: c.length_bytes,
        latency_us: to_us(c.latency()),
        causes_us: causes_us(&c.breakdown, 1),
        sentence: sentence(c.latency(), &c.breakdown),
    }
}

/// The slowest requests of a measurement, slowest first.
#[must_use]
pub fn slowest(m: &Measurement) -> Vec<SlowIo> {
    m.slowest().iter().map(|c| slow_io(c, m.began())).collect()
}

/// Where the average request's time went: one share for each operation that occurred, if the device tells. The operation's name joins
/// the label only where there are several.
#[must_use]
pub fn time_shares(label: &str, m: &Measurement) -> Vec<TimeShare> {
    let several = m.ops().count() > 1;
    let name = |op: Op| if several { format!("{label}: {}", op.name()) } else { label.to_owned() };
    m.ops()
        .filter(|(_, stats)| stats.breakdown().sum() > 0)
        .map(|(op, stats)| {
            let ios = stats.latency.count();
            TimeShare {
                label: name(op),
                ios,
                latency_mean_us: stats.latency.mean() / 1e3,
                mean_us: causes_us(&stats.breakdown(), ios),
            }
        })
        .collect()
}

/// What the titles of these tables begin with.
pub const TAIL_BY_CAUSE: &str = "What the latencies consist of";
/// Where a table divides the requests, in per cent of them.
const PARTS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];
/// A slowest request within this share of the median: there is no tail to explain.
const NO_TAIL: f64 = 0.02;

/// For each operation whose latencies differ, a table of where the time of its faster and its slower requests went.
#[must_use]
pub fn tail_tables(label: &str, m: &Measurement) -> Vec<Table> {
    let several = m.ops().count() > 1;
    let table = |(op, stats): (Op, &OpStats)| {
        let median = stats.latency.percentile(50.0) as f64;
        if stats.breakdown().sum() == 0 || stats.latency.max() as f64 <= (1.0 + NO_TAIL) * median {
            return None;
        }
        let name = if several { format!("{label}: {}", op.name()) } else { label.to_owned() };
        Some(Table {
            title: format!("{TAIL_BY_CAUSE}, {name}"),
            caption: "Requests by rank of their latency, to the 1.6 % that a histogram tells apart; the last column is the mean of each part.".to_owned(),
            columns: ["part", "requests", "latency", "mean, and where it went"].map(str::to_owned).to_vec(),
            rows: tail_rows(&stats.causes.parts(&stats.latency, &PARTS)),
        })
    };
    m.ops().filter_map(table).collect()
}

fn tail_rows(parts: &[TailPart]) -> Vec<Vec<String>> {
    parts.iter().enumerate().map(|(i, part)| tail_row(part, i + 1 == parts.len())).collect()
}

/// `is_last`: of few requests, the slowest are no part of a thousandth or less.
fn tail_row(part: &TailPart, is_last: bool) -> Vec<String> {
    let name = match (part.from_percent, part.to_percent) {
        (0.0, to) => format!("fastest {to} %"),
        // Two places are what the parts have.
        (from, _) if is_last => format!("slowest {} %", (10_000.0 - from * 100.0).round() / 100.0),
        (from, to) => format!("{from} to {to} %"),
    };
    let [low, high] = [part.low, part.high].map(format_duration);
    let latency = if low == high { low } else { format!("{low} to {high}") };
    vec![name, part.requests.to_string(), latency, sentence(part.high, &part.mean)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::{MICROSECOND, MILLISECOND};

    fn parts(of: &[(Cause, Nanos)]) -> Breakdown {
        let mut b = Breakdown::default();
        of.iter().for_each(|&(c, t)| b.add(c, t));
        b
    }

    #[test]
    fn the_largest_causes_are_named_first_and_the_small_rest_is_summed() {
        let b = parts(&[
            (Cause::Controller, 20 * MICROSECOND),
            (Cause::Link, 10 * MICROSECOND),
            (Cause::GarbageCollection, 7 * MILLISECOND),
            (Cause::Buffer, MILLISECOND),
        ]);
        assert_eq!(
            sentence(b.sum(), &b),
            "8.03 ms: 7.00 ms behind garbage collection, 1.00 ms waiting for room in the write buffer and 30.0 us \
             elsewhere"
        );
    }

    #[test]
    fn the_last_part_is_named_for_the_slowest_and_not_for_those_that_there_are_too_few_of() {
        let part = |from_percent, to_percent, requests| TailPart {
            from_percent,
            to_percent,
            requests,
            low: MICROSECOND,
            high: MILLISECOND,
            mean: parts(&[(Cause::Read, MICROSECOND)]),
        };
        let names = |parts: &[TailPart]| tail_rows(parts).into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        let few = [part(0.0, 50.0, 50), part(99.0, 99.9, 18), part(99.9, 99.99, 2)];
        assert_eq!(names(&few), ["fastest 50 %", "99 to 99.9 %", "slowest 0.1 %"]);
        let many = [part(0.0, 50.0, 50), part(99.99, 100.0, 2)];
        assert_eq!(names(&many), ["fastest 50 %", "slowest 0.01 %"]);
        assert_eq!(names(&few[..1]), ["fastest 50 %"]);
    }

    #[test]
    fn a_single_cause_needs_no_list_and_none_is_admitted() {
        let read = parts(&[(Cause::Read, 50 * MICROSECOND)]);
        assert_eq!(sentence(50 * MICROSECOND, &read), "50.0 us: 50.0 us reading flash");
        let unknown = Breakdown::default();
        assert_eq!(sentence(50 * MICROSECOND, &unknown), "50.0 us: the device does not say where");
        assert_eq!(sentence(0, &unknown), "no time", "there is nothing to say");
    }

    #[test]
    fn a_start_is_told_as_what_it_is_and_is_no_part_of_the_controller() {
        let b = parts(&[
            (Cause::Controller, 254 * MILLISECOND),
            (Cause::Link, 6 * MILLISECOND),
            (Cause::Read, 40 * MILLISECOND),
        ]);
        assert_eq!(
            sentence_of_start(b.sum(), &b, 255 * MILLISECOND),
            "300.00 ms: 255.00 ms until the device was ready after its power came back, 40.00 ms reading flash and \
             5.00 ms elsewhere"
        );
        assert_eq!(after_start(&b, 255 * MILLISECOND).sum(), 45 * MILLISECOND);
        let silent = sentence_of_start(MILLISECOND, &Breakdown::default(), MILLISECOND);
        assert_eq!(silent, "1.00 ms: 1.00 ms until the device was ready after its power came back");
    }

    #[test]
    fn of_equal_causes_the_first_in_report_order_is_the_main_one() {
        let equal = parts(&[(Cause::Erase, MICROSECOND), (Cause::Buffer, MICROSECOND), (Cause::Link, 10)]);
        assert_eq!(main_cause(&equal).map(|(cause, _)| cause), Some(Cause::Buffer));
        let io = |breakdown: Breakdown| SlowIo {
            run: None,
            at_s: 0.0,
            op: "read".to_owned(),
            offset_bytes: 0,
            length_bytes: 4096,
            latency_us: 2.01,
            causes_us: causes_us(&breakdown, 1),
            sentence: String::new(),
        };
        assert_eq!(main_cause_of(&io(equal)), Some(Cause::Buffer));
        let unknown = Breakdown::default();
        assert_eq!((main_cause(&unknown), main_cause_of(&io(unknown))), (None, None));
    }

    #[test]
    fn at_most_four_causes_are_named_and_nothing_is_lost() {
        let all: Vec<_> = CAUSES.iter().map(|&c| (c, 100 * MICROSECOND)).collect();
        let all = parts(&all);
        let s = sentence(all.sum(), &all);
        assert_eq!(
            s,
            "2.10 ms: 100.0 us on the host link, 100.0 us waiting in the queue, 100.0 us before or behind a FLUSH or TRIM \
             that goes alone, 100.0 us in the controller and 1.70 ms elsewhere"
        );
    }
}
