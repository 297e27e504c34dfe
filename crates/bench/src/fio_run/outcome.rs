//! A job file's entries as the page and `results.json` show them: one result for each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use ssdlab_core::{Fnv1a, Histogram, Op, format_duration};
use ssdlab_workload::fio::{Job, JobFile, Rw};
use ssdlab_workload::pattern::BlockSizes;

use super::meter::EntryMeter;
use super::plan::commands_a_second;
use super::report::{RunFacts, says_of_a_job, says_of_delays};
use super::{FioOptions, Prefill, Unfinished};
use crate::explain;
use crate::host::SlowestSeen;
use crate::outcome::{Axis, Mark, Outcome};
use crate::suite::figures::{chart, put, put_counters, put_latencies, series};
use crate::suite::tail::tail_chart;
use crate::suite::words::amount;

/// What stands as the test of a job.
pub const TEST: &str = "run";

pub const LEADS: &[&str] = &["iops", "bandwidth", "latency_p99"];

/// Rates that a job file asks for: figures of the file, of which none is better.
pub const ASKED: [&str; 2] = ["asked_bandwidth", "asked_iops"];

/// The parameter, beside a job's options, of what was written before the first job: `read` (what jobs read), `drive` or `none`.
pub const PREFILL: &str = "prefill";
/// That of how long the drive then rested.
pub const REST: &str = "rest_seconds";
/// That which tells the other jobs of its file from those of another: a digest, or `none` if there are none.
pub const OTHER_JOBS: &str = "other_jobs_digest";

/// Entries that a page shows; a file can have thousands of clones. fio's report has all of them.
const MOST_SHOWN: usize = 24;
/// What a page says of a job that reads what it has written when all is.
const VERIFIED: &str = "IOPS and bandwidth are those of the job without the reads that verify what it has written, and without their time; latencies of reads are those of verification, too.";
/// Of a job of which a part of what it does moves no data.
const TRIMS: &str = "Bandwidth is that of the reads and writes alone; IOPS count the trims, too.";
/// The same of one that rests now and then.
const PAUSES: &str = "The job pauses (thinktime): its rates are not the highest that the drive can do.";
const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];

/// `seen`: what the drive did while the slowest request waited; it stands with the entry that the request is of.
pub(super) fn outcomes(
    file: &JobFile,
    entries: &[EntryMeter],
    facts: &RunFacts,
    options: FioOptions,
    seen: Option<&SlowestSeen>,
) -> Vec<Outcome> {
    let names = names(file, entries);
    let shown = entries.iter().zip(names).filter(|(entry, _)| entry.has_run()).take(MOST_SHOWN);
    let of = |entry: &EntryMeter| seen.filter(|seen| entry.all.slowest().contains(&seen.request));
    let with_seen = |outcome, entry| Outcome { slowest_seen: of(entry).cloned().map(Box::new), ..outcome };
    shown.map(|(entry, name)| with_seen(outcome(file, entry, name, (facts, options, entries.len())), entry)).collect()
}

/// The entries that a stop has cut short or kept from beginning.
pub(super) fn unfinished(file: &JobFile, entries: &[EntryMeter]) -> Vec<Unfinished> {
    let why = |entry: &EntryMeter| match cut_short(entry) {
        _ if !entry.has_run() => Some("it did not begin before the run was stopped".to_owned()),
        cut => cut.map(|how| format!("it was {how}")),
    };
    let names = names(file, entries);
    entries.iter().zip(names).filter_map(|(e, entry)| Some(Unfinished { entry, why: why(e)? })).collect()
}

/// How a stop has cut an entry short, if it has.
fn cut_short(entry: &EntryMeter) -> Option<String> {
    match entry {
        EntryMeter { is_cut: true, .. } => Some(format!("stopped after {}", format_duration(entry.runtime()))),
        EntryMeter { lacks_some: true, .. } => Some("stopped before all of its jobs had begun".to_owned()),
        _ => None,
    }
}

/// Names of the entries; those of clones are numbered.
fn names(file: &JobFile, entries: &[EntryMeter]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut unique = |name: &str| {
        let numbered = (2..).map(|n| format!("{name} ({n})"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.expect("there are more numbers than entries");
        taken.insert(free.clone());
        free
    };
    entries.iter().map(|entry| unique(&file.jobs[entry.job].name)).collect()
}

fn outcome(
    file: &JobFile,
    entry: &EntryMeter,
    name: String,
    (facts, options, entries): (&RunFacts, FioOptions, usize),
) -> Outcome {
    let m = &entry.all;
    let mut out = Outcome {
        test: TEST.to_owned(),
        title: format!("Job {name} of {}", file_name(file)),
        variant: name,
        device: facts.device.clone(),
        method: method(file, entry, facts, options),
        params: params(file, entry.job, facts, options),
        tables: explain::tail_tables("job", m),
        time_shares: explain::time_shares("job", m),
        slowest: explain::slowest(m),
        notes: file.notices_on(facts.capacity_bytes),
        shortened: cut_short(entry).map(|how| format!("{how}.")),
        ..Outcome::default()
    };
    // What is verified afterwards is another load than the job's.
    let rates = entry.rates_without_verification();
    // A flush is none of the commands that fio counts.
    let commands: u64 = OPS.into_iter().map(|op| m.op(op).latency.count()).sum();
    // What took no time has no rate.
    if m.elapsed() > 0 {
        let iops = commands as f64 * 1e9 / m.elapsed() as f64;
        put(&mut out, "iops", rates.map_or(iops, |r| r.0), "IOPS");
        let [moves, trims] =
            [&[Op::Read, Op::Write][..], &[Op::Trim]].map(|ops| ops.iter().any(|&op| m.op(op).bytes > 0));
        // What is trimmed is not moved.
        if moves || !trims {
            put(&mut out, "bandwidth", rates.map_or_else(|| m.mb_per_s(), |r| r.1 / 1e6), "MB/s");
        }
        out.notes.extend((moves && trims).then(|| TRIMS.to_owned()));
    }
    if rates.is_some() {
        out.notes.push(VERIFIED.to_owned());
    }
    put_asked(&mut out, file, entry);
    out.notes.extend(says_of_a_job(file, entry).into_iter().chain(says_of_delays(file, entry)));
    if entry.jobs.iter().any(|&(job, _)| file.jobs[job].thinktime > 0 && !only_verifies(&file.jobs[job])) {
        out.notes.push(PAUSES.to_owned());
    }
    // Of clones that began one after the other fio's rates are by the longest of them, these by the time they took together.
    put(&mut out, "duration", m.elapsed() as f64 / 1e9, "s");
    let mut of_all = Histogram::new();
    OPS.into_iter().for_each(|op| of_all.merge(&m.op(op).latency));
    put_latencies(&mut out, &of_all, "");
    for (op, stats) in m.ops() {
        put_latencies(&mut out, &stats.latency, &format!("_{}", op.name()));
    }
    match entry.counted() {
        Some((counters, counted_for)) if entries == 1 => put_counters(&mut out, &counters, counted_for),
        Some((counters, _)) => {
            let told = |waf| format!("Write amplification of the drive while this entry was measured: {waf:.3}.");
            out.notes.extend(counters.waf().map(told));
        }
        None => {}
    }
    if entries > MOST_SHOWN {
        out.notes.push(format!("The first {MOST_SHOWN} of {entries} entries are shown; fio's report has all of them."));
    }
    let lines: Vec<(&str, &Histogram)> = m.ops().map(|(op, stats)| (op.name(), &stats.latency)).collect();
    let done: Vec<Op> = OPS.into_iter().filter(|&op| m.op(op).latency.count() > 0).collect();
    if !done.is_empty() {
        out.charts.push(chart(
            "iops-over-time",
            "Requests over time",
            &format!("One dot every {} s: the mean of that time.", entry.window() as f64 / 1e9),
            Mark::Scatter,
            Axis::linear("time", "s"),
            Axis { min: Some(0.0), ..Axis::linear("completed", "IOPS") },
            done.iter().map(|&op| series(op.name(), entry.iops_over_time(op))).collect(),
        ));
    }
    // The axis is logarithmic: what never takes time has no line.
    let lines: Vec<_> = lines.into_iter().filter(|(_, h)| h.max() > 0).collect();
    if !lines.is_empty() {
        out.charts.push(tail_chart(&lines));
    }
    out
}

/// What the clones of all jobs of an entry together are limited to, if each job has a limit.
fn put_asked(out: &mut Outcome, file: &JobFile, entry: &EntryMeter) {
    let does = |op: Op| entry.all.op(op).latency.count() > 0 && !entry.only_verifies(&[op]);
    if !OPS.into_iter().any(does) {
        return;
    }
    let sum = |of: fn(&Job) -> Option<f64>| {
        let of_job = |&(index, clones): &(usize, u32)| {
            let limit = of(&file.jobs[index]).filter(|_| !only_verifies(&file.jobs[index]));
            limit.map(|limit| f64::from(clones) * limit)
        };
        entry.jobs.iter().map(of_job).sum::<Option<f64>>()
    };
    let [bandwidth, commands] = ASKED;
    if let Some(bytes) = sum(asked_bytes) {
        put(out, bandwidth, bytes / 1e6, "MB/s");
    }
    if let Some(iops) = sum(asked_commands) {
        put(out, commands, iops, "IOPS");
    }
}

/// Whether a job reads in place of writing, which has no rate and no pauses.
fn only_verifies(job: &Job) -> bool {
    job.verify_only && job.rw.writes()
}

/// Which of a job's commands are reads, writes and trims: parts of one.
fn mix(job: &Job) -> [f64; 3] {
    let reads = f64::from(job.read_percent) / 100.0;
    match job.rw {
        Rw::Read | Rw::RandRead => [1.0, 0.0, 0.0],
        Rw::Write | Rw::RandWrite => [0.0, 1.0, 0.0],
        Rw::Trim | Rw::RandTrim => [0.0, 0.0, 1.0],
        Rw::ReadWrite | Rw::RandRw => [reads, 1.0 - reads, 0.0],
        Rw::TrimWrite | Rw::RandTrimWrite => [0.0, 0.5, 0.5],
    }
}

/// The size of a job's blocks, if they have one.
fn one_size(sizes: &BlockSizes) -> Option<f64> {
    (sizes.min_bytes() == sizes.max_bytes()).then(|| sizes.min_bytes() as f64)
}

/// Commands a second that a clone of the job sends at most. The mix rules: what is slowest for its share holds back the others.
/// `None`: there is no limit, or none of commands, as they are of several sizes.
fn asked_commands(job: &Job) -> Option<f64> {
    let (rates, sizes, mix) = (job.byte_rates(), job.sizes(), mix(job));
    let limit = |op: usize| {
        let rate = rates[op].filter(|_| mix[op] > 0.0)?;
        let commands = if job.poisson {
            Some(commands_a_second(rate, sizes[op].min_bytes()))
        } else {
            one_size(&sizes[op]).map(|size| rate as f64 / size)
        };
        Some(commands.map(|commands| commands / mix[op]))
    };
    let limits = (0..3).filter_map(limit).collect::<Option<Vec<f64>>>()?;
    limits.into_iter().reduce(f64::min)
}

/// The same in bytes a second. What is trimmed is not moved.
fn asked_bytes(job: &Job) -> Option<f64> {
    let (sizes, mix) = (job.sizes(), mix(job));
    let moves: Vec<usize> = (0..3).filter(|&op| mix[op] > 0.0).collect();
    match moves[..] {
        _ if job.rw.trims() => None,
        [op] if !job.poisson => job.byte_rates()[op].map(|rate| rate as f64),
        _ => {
            let of = |op: usize| one_size(&sizes[op]).map(|size| size * mix[op]);
            let mean = moves.into_iter().map(of).sum::<Option<f64>>()?;
            asked_commands(job).map(|commands| commands * mean)
        }
    }
}

/// The file's name without its folders, which mean nothing on another machine.
fn file_name(file: &JobFile) -> &str {
    file.file.rsplit(['/', '\\']).next().unwrap_or(&file.file)
}

/// The options of a job, and what else decides on its figures.
fn params(file: &JobFile, job: usize, facts: &RunFacts, options: FioOptions) -> BTreeMap<String, serde_json::Value> {
    let prefill = match options.prefill {
        _ if facts.prefilled_bytes == 0 => "none",
        Prefill::Read => "read",
        Prefill::Drive => "drive",
        Prefill::Nothing => "none",
    };
    let of_run = [
        (PREFILL, json!(prefill)),
        (REST, json!(facts.rested as f64 / 1e9)),
        (OTHER_JOBS, json!(other_jobs(file, job).map_or("none".to_owned(), |d| format!("{:016x}", d.value())))),
    ];
    let own = file.jobs[job].given.iter().map(|(key, value)| (key.clone(), json!(value)));
    own.chain(of_run.map(|(key, value)| (key.to_owned(), value))).collect()
}

/// Options that say something to people, or name a file of ours.
const OF_REPORTS: [&str; 4] = ["description", "write_bw_log", "write_iops_log", "write_lat_log"];

/// Of the other jobs of a file, in their order around this one: their names, those of their options that have an effect, and whether
/// the jobs of the file end with one another, which any section can say.
fn other_jobs(file: &JobFile, job: usize) -> Option<Fnv1a> {
    let without: BTreeSet<&str> = file.ignored().chain(OF_REPORTS).collect();
    let mut digest = Fnv1a::default();
    // No option and no name has a line feed.
    let mut line = |text: &str| [text, "\n"].into_iter().for_each(|part| digest.add(part.as_bytes()));
    line(if file.ends_others() { "exitall" } else { "" });
    for (i, other) in file.jobs.iter().enumerate() {
        line("");
        if i != job {
            line(&other.name);
            let options = other.given.iter().filter(|(key, _)| !without.contains(key.as_str()));
            options.for_each(|(key, value)| line(&format!("{key}={value}")));
        }
    }
    (file.jobs.len() > 1).then_some(digest)
}

fn method(file: &JobFile, entry: &EntryMeter, facts: &RunFacts, options: FioOptions) -> String {
    let rested = format_duration(facts.rested);
    let and_rested = if facts.rested > 0 { format!(", and it rested for {rested}") } else { String::new() };
    let written = format!("{} were written in sequence{and_rested}", amount(facts.prefilled_bytes));
    let it_was = facts.begins.it_was();
    let drive = match options.prefill {
        _ if facts.prefilled_bytes == 0 && facts.rested > 0 => {
            format!("{} It rested for {rested}.", facts.begins.unwritten())
        }
        _ if facts.prefilled_bytes == 0 => facts.begins.unwritten().to_owned(),
        Prefill::Read => format!("{it_was}; what the jobs read was laid out first: {written}."),
        Prefill::Drive | Prefill::Nothing => format!("{it_was}; {written}."),
    };
    let clones = match (entry.jobs.len(), entry.clones) {
        (1, 1) => String::new(),
        (1, clones) => format!(", {clones} clones together"),
        (jobs, _) => format!(", {jobs} jobs together, of which the first has the options shown"),
    };
    format!("{drive} Then {} was run as fio runs it; this is one of its entries{clones}.", file_name(file))
}
