//! The figures of a run under fio's JSON names, and beside them what only a simulated drive can tell.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use ssdlab_core::{CAUSES, Histogram, MICROSECOND, MILLISECOND, Nanos, Op, SECOND, format_duration, rank};
use ssdlab_device::Counters;
use ssdlab_workload::fio::{Job, JobFile, Rw, Unified};

use super::logs::DIRECTIONS;
use super::meter::{BINS_1000, BINS_MS, EntryMeter, Spread};
use super::steady::{SteadyReport, Watch};
use crate::error::BenchError;
use crate::explain;
use crate::lab::Begins;
use crate::measure::OpStats;
use crate::outcome::SlowIo;
use crate::suite::figures::share_written;

/// fio's default list of percentiles.
pub(super) const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// A report as fio gives it. Times of day are zero, so that the same run gives the same bytes; figures of the host's
/// processor are zero, as there is none.
#[derive(Clone, Debug, Serialize)]
pub struct FioReport {
    #[serde(rename = "fio version")]
    pub version: String,
    pub timestamp: u64,
    pub timestamp_ms: u64,
    pub time: String,
    /// Options of the `[global]` sections that hold for every job.
    #[serde(rename = "global options")]
    pub global_options: BTreeMap<String, String>,
    pub jobs: Vec<JobReport>,
    pub disk_util: Vec<()>,
    /// What fio does not know.
    pub ssdlab: RunDetails,
}

/// What is known of the run as a whole.
#[derive(Clone, Debug)]
pub struct RunFacts {
    pub device: String,
    pub capacity_bytes: u64,
    pub seed: u64,
    /// How the device was before that.
    pub begins: Begins,
    /// Written in sequence before the first job.
    pub prefilled_bytes: u64,
    /// How long it rested then.
    pub rested: Nanos,
    /// What the device counted during the jobs.
    pub counters: Counters,
    /// The same from when the first of them was measured, which is at the end of its ramp.
    pub measured: Option<Counters>,
}

impl RunFacts {
    /// What a reader must know of a run that has not written a simulated drive once at random: it says nothing of what the drive
    /// does when its spare area is used up.
    pub(super) fn says_of_a_state_that_is_not_steady(&self, file: &JobFile, entries: &[EntryMeter]) -> Option<String> {
        let at_random = |&(job, _): &(usize, u32)| matches!(file.jobs[job].rw, Rw::RandWrite | Rw::RandRw);
        // A group is told as one.
        let (random, others): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.jobs.iter().any(at_random));
        let in_sequence: u64 = others.iter().map(|entry| entry.all.op(Op::Write).bytes).sum();
        let written = self.counters.host.write_bytes.saturating_sub(in_sequence);
        let new = self.begins == Begins::New && self.counters.flash.is_some() && !random.is_empty();
        if !new || written == 0 || written >= self.capacity_bytes {
            return None;
        }
        let share = share_written(written, self.capacity_bytes);
        let takes = "which takes one to two drive writes (steady-state and consistency are tests of it)";
        let filled = self.prefilled_bytes + in_sequence >= self.capacity_bytes;
        Some(match (filled, in_sequence > 0) {
            (true, _) => format!(
                "the drive was filled in sequence, and the jobs have written {share} of it at random: these are not figures of a \
                 steady state, {takes}"
            ),
            (false, true) => format!(
                "the jobs have written {share} of the drive at random: these are figures of a fresh one, not of a steady state, \
                 {takes}"
            ),
            (false, false) => format!(
                "the jobs have written {share} of the drive: these are figures of a fresh one, not of a steady state, {takes}"
            ),
        })
    }
}

/// Beside fio's fields, of the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct RunDetails {
    pub version: String,
    pub job_file: String,
    pub device: String,
    pub capacity_bytes: u64,
    pub seed: u64,
    #[serde(skip)]
    pub begins: Begins,
    /// That it had lain without power; it is among the notices as well.
    #[serde(skip)]
    pub stored: Option<String>,
    /// Written in sequence before the first job.
    pub prefilled_bytes: u64,
    /// Bytes programmed into flash over bytes written by the jobs, while they ran; null if they wrote nothing.
    pub waf: Option<f64>,
    /// The same while those ran that came last of all that wrote ([`FioReport::last_together`]).
    #[serde(skip)]
    pub last_waf: Option<f64>,
    /// What the user should know of the job file, and of a drive that was fresh.
    pub notices: Vec<String>,
}

/// A job, or the clones of a group.
#[derive(Clone, Debug, Serialize)]
pub struct JobReport {
    pub jobname: String,
    pub groupid: u32,
    /// That of its first job: see [`JobFile::turns`].
    #[serde(skip)]
    turn: u32,
    /// From when on it was measured, and when it had ended.
    #[serde(skip)]
    measured: (Nanos, Nanos),
    pub job_start: u64,
    pub error: u32,
    pub eta: u32,
    /// Seconds, rounded up.
    pub elapsed: u64,
    /// Every option that was given, and those that readers of fio's JSON rely on.
    #[serde(rename = "job options")]
    pub options: BTreeMap<String, String>,
    /// Reads, writes and trims together, if `unified_rw_reporting` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Direction>,
    /// Absent if they are reported together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Direction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Direction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<Direction>,
    pub sync: Sync,
    /// Milliseconds of the longest clone.
    pub job_runtime: u64,
    pub usr_cpu: f64,
    pub sys_cpu: f64,
    pub ctx: u64,
    pub majf: u64,
    pub minf: u64,
    /// Per cent of the submissions that made so many commands in flight.
    pub iodepth_level: Table,
    pub iodepth_submit: Table,
    pub iodepth_complete: Table,
    /// Per cent of the reads, writes and trims.
    pub latency_ns: Table,
    pub latency_us: Table,
    pub latency_ms: Table,
    /// With `latency_target` the depth that its search has come to, which is also told where that has not ended. Of a group, these
    /// four are those of its last job.
    pub latency_depth: u32,
    /// Nanoseconds, as in fio; but the window is in microseconds.
    pub latency_target: u64,
    pub latency_percentile: f64,
    pub latency_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steadystate: Option<SteadyReport>,
    /// Of the job, if it has one.
    #[serde(rename = "desc", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What fio does not know.
    pub ssdlab: JobDetails,
    #[serde(skip)]
    pub(super) header: Header,
}

/// What only the text layout shows.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// Clones in this entry.
    pub(super) clones: u32,
    /// Commands that each keeps in flight, at most.
    pub(super) depth: u32,
    /// Smallest and largest block of reads, writes and trims.
    pub(super) blocks: [(u64, u64); 3],
    /// Commands: reads, writes and trims.
    pub(super) ios: [u64; 3],
}

/// Beside fio's fields, of an entry.
#[derive(Clone, Debug, Serialize)]
pub struct JobDetails {
    /// The slowest commands, slowest first, with their causes.
    pub slowest: Vec<SlowIo>,
}

/// Per cent by label, in fio's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(String, f64)>);

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Reads, writes or trims.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Direction {
    pub io_bytes: u64,
    pub io_kbytes: u64,
    pub bw_bytes: u64,
    /// KiB/s.
    pub bw: u64,
    pub iops: f64,
    /// Milliseconds.
    pub runtime: u64,
    pub total_ios: u64,
    pub short_ios: u64,
    pub drop_ios: u64,
    /// Always empty: sending takes no time.
    pub slat_ns: Latency,
    pub clat_ns: Latency,
    pub lat_ns: Latency,
    /// KiB/s, of samples of 500 ms.
    pub bw_min: u64,
    pub bw_max: u64,
    /// What `bw_mean` is of the bandwidth of this entry's group, which is its bytes over its longest time; in per cent, 100 at most.
    pub bw_agg: f64,
    pub bw_mean: f64,
    pub bw_dev: f64,
    pub bw_samples: u64,
    pub iops_min: u64,
    pub iops_max: u64,
    pub iops_mean: f64,
    pub iops_stddev: f64,
    pub iops_samples: u64,
    /// What fio does not know.
    pub ssdlab: TimeShares,
    /// The shortest and the longest time of a clone: rates are by the longest, and not by the milliseconds that are printed.
    #[serde(skip)]
    pub(super) times: (Nanos, Nanos),
}

/// Where the time of the average command went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TimeShares {
    /// Mean microseconds by cause; sums to the mean latency. Causes that took no time are left out.
    pub time_us: BTreeMap<String, f64>,
}

/// Flushes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sync {
    pub total_ios: u64,
    pub lat_ns: Latency,
    /// What fio does not know.
    pub ssdlab: TimeShares,
}

/// A distribution in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Latency {
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub stddev: f64,
    #[serde(rename = "N")]
    pub count: u64,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "percentile_map")]
    pub percentile: Option<Vec<(f64, u64)>>,
    /// Commands by latency, each with the middle of its bin, in rising order.
    #[serde(skip)]
    pub bins: Vec<(u64, u64)>,
    /// The same where they are told, which is in `json+` alone.
    #[serde(rename = "bins", skip_serializing_if = "Vec::is_empty", serialize_with = "bin_map")]
    told_bins: Vec<(u64, u64)>,
}

fn bin_map<S: Serializer>(bins: &[(u64, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(bins.iter().copied())
}

fn percentile_map<S: Serializer>(list: &Option<Vec<(f64, u64)>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(list.iter().flatten().map(|(p, v)| (format!("{p:.6}"), v)))
}

impl FioReport {
    /// # Errors
    /// [`BenchError::Books`] if a device left time without a cause.
    pub(super) fn new(
        file: &JobFile,
        entries: &[EntryMeter],
        watches: &[Watch],
        facts: &RunFacts,
    ) -> Result<Self, BenchError> {
        for entry in entries {
            entry.all.check_causes().map_err(BenchError::Books)?;
        }
        let turns = file.turns();
        let mut jobs: Vec<JobReport> = entries.iter().map(|e| JobReport::new(file, e, turns[e.job])).collect();
        let wrote = last_together(&jobs, |job| job.header.ios[1..].iter().any(|&ios| ios > 0));
        let last_counted = EntryMeter::run_of_all(wrote.into_iter().map(|i| &entries[i])).and_then(|run| run.counted());
        for watch in watches {
            jobs[watch.entry].steadystate = Some(watch.report());
        }
        share_bandwidth(&mut jobs);
        let version = env!("CARGO_PKG_VERSION");
        Ok(FioReport {
            version: format!("ssdlab-{version}"),
            timestamp: 0,
            timestamp_ms: 0,
            time: "Thu Jan  1 00:00:00 1970".to_owned(),
            global_options: common_options(file),
            jobs,
            disk_util: Vec::new(),
            ssdlab: RunDetails {
                version: version.to_owned(),
                job_file: file.file.clone(),
                device: facts.device.clone(),
                capacity_bytes: facts.capacity_bytes,
                seed: facts.seed,
                begins: facts.begins,
                stored: None,
                prefilled_bytes: facts.prefilled_bytes,
                waf: facts.measured.as_ref().and_then(Counters::waf),
                last_waf: last_counted.and_then(|(counters, _)| counters.waf()),
                notices: file.notices_on(facts.capacity_bytes).into_iter().chain(says_of_jobs(file, entries)).collect(),
            },
        })
    }

    /// Of the jobs that `did` something: those of the last turn, and of earlier ones those that had not ended when it began.
    pub fn last_together(&self, did: impl Fn(&JobReport) -> bool) -> Vec<&JobReport> {
        last_together(&self.jobs, did).into_iter().map(|i| &self.jobs[i]).collect()
    }

    /// A job that never began has no figures; zeros would be taken for some. `why` names those.
    pub(super) fn leave_out_what_never_began(&mut self, entries: &[EntryMeter], why: &str) {
        let mut entries = entries.iter();
        self.jobs.retain(|_| entries.next().is_some_and(EntryMeter::has_run));
        self.ssdlab.notices.push(why.to_owned());
    }

    /// fio's `json+`: JSON with every bin of the latencies.
    ///
    /// # Errors
    /// As [`FioReport::to_json`].
    pub fn to_json_plus(&self) -> Result<String, serde_json::Error> {
        let mut report = self.clone();
        for job in &mut report.jobs {
            let directions = [&mut job.mixed, &mut job.read, &mut job.write, &mut job.trim];
            for direction in directions.into_iter().flatten() {
                for latency in [&mut direction.slat_ns, &mut direction.clat_ns, &mut direction.lat_ns] {
                    latency.told_bins.clone_from(&latency.bins);
                }
            }
        }
        report.to_json()
    }

    /// fio's JSON, with a line feed at the end. The same run gives the same bytes.
    ///
    /// # Errors
    /// If serialisation fails, which it does not for a report that the bench made.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

/// Indices of those that [`FioReport::last_together`] gives.
fn last_together(jobs: &[JobReport], did: impl Fn(&JobReport) -> bool) -> Vec<usize> {
    let mut found: Vec<usize> = (0..jobs.len()).filter(|&i| did(&jobs[i])).collect();
    let last = found.iter().map(|&i| jobs[i].turn).max();
    let is_last = |i: usize| Some(jobs[i].turn) == last;
    let began = found.iter().filter(|&&i| is_last(i)).map(|&i| jobs[i].measured.0).min().unwrap_or_default();
    found.retain(|&i| is_last(i) || jobs[i].measured.1 > began);
    found
}

/// What a reader must know of a job of which nothing was measured, and of a search for a depth that has not come to one, or of which the
/// figures are.
pub(super) fn says_of_a_job(file: &JobFile, entry: &EntryMeter) -> Option<String> {
    let job = &file.jobs[entry.job];
    let name = &job.name;
    if entry.has_run() && entry.counted().is_none() {
        let mend = if job.time_based { "" } else { ". Give it time_based=1 and a runtime, or a shorter ramp" };
        return Some(format!(
            "{name}: it was over before its ramp_time, {}, had passed: nothing of it was measured{mend}",
            format_duration(job.ramp_time)
        ));
    }
    if entry.all.requests() > 0 && entry.all.elapsed() == 0 {
        return Some(format!(
            "{name}: it took no simulated time, so that it has no rates: where there are some, 0 stands for them"
        ));
    }
    if let Some((of, depth)) = entry.still_searched {
        let name = &file.jobs[of].name;
        return Some(format!(
            "{name}: the search of latency_target had not ended when the job did: its depth, {depth}, is the one that was being tried"
        ));
    }
    if let Some(of) = entry.missed_target {
        let Job { name, latency_percentile: percent, latency_target, .. } = &file.jobs[of];
        let target = format_duration(*latency_target);
        return Some(format!(
            "{name}: latency_target is missed: not even at depth 1 do {percent} % of the commands take at most {target}"
        ));
    }
    // Those of a job that searches no depth, or goes on when it has found it, are in the figures whole.
    let has_one_window = |of: &Job| of.latency_target > 0 && !of.latency_run;
    let all_have = entry.jobs.iter().all(|&(of, _)| has_one_window(&file.jobs[of]));
    (entry.searched_depth.is_some() && entry.clones > 1 && all_have).then(|| {
        format!(
            "{name}: its figures are those of a window of each clone at the depth that it has found; these need not be the same time"
        )
    })
}

/// Of an entry whose rate had commands due while its queue was full: their wait is in none of its latencies.
pub(super) fn says_of_delays(file: &JobFile, entry: &EntryMeter) -> Option<String> {
    (entry.delayed > 0).then(|| {
        format!(
            "{}: {} commands were due while the queue was full, and the longest waited {}: latencies count from when a command is \
             sent, as in fio",
            file.jobs[entry.job].name,
            entry.delayed,
            format_duration(entry.longest_delay)
        )
    })
}

/// What a reader must know of all entries.
pub(super) fn says_of_jobs<'a>(file: &'a JobFile, entries: &'a [EntryMeter]) -> impl Iterator<Item = String> + 'a {
    entries.iter().flat_map(|entry| says_of_a_job(file, entry).into_iter().chain(says_of_delays(file, entry)))
}

/// Which percentiles an entry's report has, by `percentile_list`, `clat_percentiles` and `lat_percentiles`.
#[derive(Clone, Copy)]
struct Percentiles<'a> {
    clat: Option<&'a [f64]>,
    lat: Option<&'a [f64]>,
}

impl<'a> Percentiles<'a> {
    fn of(job: &'a Job) -> Self {
        let list = job.percentiles.as_deref().unwrap_or(&PERCENTILES);
        Percentiles { clat: job.clat_percentiles.then_some(list), lat: job.lat_percentiles.then_some(list) }
    }
}

/// Options that every job of the file has with the same value: a reader may lay them over each job's own.
fn common_options(file: &JobFile) -> BTreeMap<String, String> {
    let Some((first, others)) = file.jobs.split_first() else { return BTreeMap::new() };
    let everywhere = |(key, value): &(&String, &String)| others.iter().all(|j| j.given.get(*key) == Some(value));
    let global = |(key, _): &(&String, &String)| others.is_empty() || *key != "name";
    first.given.iter().filter(everywhere).filter(global).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Bytes a second of entries of a group together: of the longest time of one of them, as in fio.
pub(super) fn together<'a>(directions: impl Iterator<Item = &'a Direction> + Clone) -> u64 {
    let bytes: u64 = directions.clone().map(|d| d.io_bytes).sum();
    let nanos = directions.map(|d| d.times.1).max().unwrap_or(0);
    (u128::from(bytes) * u128::from(SECOND) / u128::from(nanos.max(1))) as u64
}

/// `bw_agg`, as fio has it: what the mean of the samples is of the bandwidth of the group, which is by its longest time.
fn share_bandwidth(jobs: &mut [JobReport]) {
    type Pick = fn(&mut JobReport) -> Option<&mut Direction>;
    let picks: [Pick; 4] = [|j| j.mixed.as_mut(), |j| j.read.as_mut(), |j| j.write.as_mut(), |j| j.trim.as_mut()];
    for pick in picks {
        let mut groups: BTreeMap<u32, Vec<&mut Direction>> = BTreeMap::new();
        for job in jobs.iter_mut() {
            let group = job.groupid;
            groups.entry(group).or_default().extend(pick(job).filter(|d| d.total_ios > 0));
        }
        for mut group in groups.into_values() {
            let all = together(group.iter().map(|d| &**d)) as f64 / 1024.0;
            for direction in &mut group {
                // Of less than 1 KiB/s fio has no share.
                direction.bw_agg = if all > 1.0 { (direction.bw_mean * 100.0 / all).min(100.0) } else { 100.0 };
            }
        }
    }
}

impl JobReport {
    fn new(file: &JobFile, entry: &EntryMeter, turn: u32) -> Self {
        let job = &file.jobs[entry.job];
        // As in fio, whose search a group tells of.
        let last = &file.jobs[entry.last_job()];
        let runtime = entry.runtime();
        let mut options = job.given.clone();
        // Readers such as fio-plot look these up, given or not.
        for (key, value) in [
            ("name", job.name.clone()),
            ("rw", job.rw.as_str().to_owned()),
            ("bs", block_size(job)),
            ("iodepth", job.iodepth.to_string()),
            ("numjobs", job.numjobs.to_string()),
        ] {
            options.entry(key.to_owned()).or_insert(value);
        }
        let percentiles = Percentiles::of(job);
        let apart = job.unified != Unified::Mixed;
        let requests: u64 = [Op::Read, Op::Write, Op::Trim].iter().map(|&op| entry.all.op(op).latency.count()).sum();
        let submissions: u64 = entry.depths.iter().sum();
        let all_in = |bin: &str| {
            let share = |label: &str| if label == bin && submissions > 0 { 100.0 } else { 0.0 };
            Table(REAP_LABELS.iter().map(|l| ((*l).to_owned(), share(l))).collect())
        };
        JobReport {
            description: options.get("description").cloned(),
            jobname: job.name.clone(),
            groupid: entry.group,
            turn,
            measured: (entry.all.began(), entry.all.began() + entry.all.elapsed()),
            job_start: 0,
            error: 0,
            eta: 0,
            elapsed: runtime.div_ceil(SECOND),
            options,
            mixed: (job.unified != Unified::None).then(|| Direction::new(entry, &DIRECTIONS, percentiles)),
            read: apart.then(|| Direction::new(entry, &[Op::Read], percentiles)),
            write: apart.then(|| Direction::new(entry, &[Op::Write], percentiles)),
            trim: apart.then(|| Direction::new(entry, &[Op::Trim], percentiles)),
            sync: Sync::new(entry.all.op(Op::Flush), percentiles),
            job_runtime: runtime / MILLISECOND,
            usr_cpu: 0.0,
            sys_cpu: 0.0,
            ctx: 0,
            majf: 0,
            minf: 0,
            iodepth_level: shares(&DEPTH_LABELS, &entry.depths, submissions),
            // Commands are sent one by one.
            iodepth_submit: all_in("4"),
            iodepth_complete: shares(&REAP_LABELS, &entry.reaps, entry.reaps.iter().sum()),
            latency_ns: bins(&BINS_1000, &entry.bins.ns, requests),
            latency_us: bins(&BINS_1000, &entry.bins.us, requests),
            latency_ms: bins(&BINS_MS, &entry.bins.ms, requests),
            latency_depth: entry.searched_depth.map_or_else(|| last.depth(), |(_, depth)| depth),
            latency_target: last.latency_target,
            latency_percentile: last.latency_percentile,
            latency_window: last.latency_window / MICROSECOND,
            steadystate: None,
            ssdlab: JobDetails { slowest: explain::slowest(&entry.all) },
            header: Header {
                clones: entry.clones,
                depth: entry.depth,
                blocks: job.sizes().map(|s| (s.min_bytes(), s.max_bytes())),
                ios: DIRECTIONS.map(|op| entry.all.op(op).latency.count()),
            },
        }
    }

    /// Those that are there, with their names.
    pub fn directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> + '_ {
        let all = [("mixed", &self.mixed), ("read", &self.read), ("write", &self.write), ("trim", &self.trim)];
        all.into_iter().filter_map(|(word, d)| Some((word, d.as_ref()?)))
    }

    /// Reads, unless they are reported together with writes.
    ///
    /// # Panics
    /// If they are.
    #[must_use]
    pub fn reads(&self) -> &Direction {
        self.read.as_ref().expect("reads are reported apart")
    }

    /// As [`JobReport::reads`].
    ///
    /// # Panics
    /// As [`JobReport::reads`].
    #[must_use]
    pub fn writes(&self) -> &Direction {
        self.write.as_ref().expect("writes are reported apart")
    }
}

/// `bs` as fio would be given it: one size, or those of reads, writes and trims.
fn block_size(job: &Job) -> String {
    let sizes = job.sizes().map(|s| match (s.min_bytes(), s.max_bytes()) {
        (min, max) if min == max => min.to_string(),
        (min, max) => format!("{min}-{max}"),
    });
    let used = match job.rw {
        Rw::Read | Rw::RandRead => &sizes[..1],
        Rw::Write | Rw::RandWrite => &sizes[1..2],
        Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite => &sizes[2..],
        Rw::ReadWrite | Rw::RandRw => &sizes[..2],
    };
    if used.iter().all(|s| *s == used[0]) { used[0].clone() } else { used.join(",") }
}

const DEPTH_LABELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const REAP_LABELS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

fn shares(labels: &[&str], counts: &[u64], total: u64) -> Table {
    let share = |&count: &u64| if total == 0 { 0.0 } else { count as f64 * 100.0 / total as f64 };
    Table(labels.iter().zip(counts).map(|(l, c)| ((*l).to_owned(), share(c))).collect())
}

fn bins(limits: &[u64], counts: &[u64], total: u64) -> Table {
    let mut labels: Vec<String> = limits.iter().map(u64::to_string).collect();
    if counts.len() > limits.len() {
        labels.push(format!(">={}", limits[limits.len() - 1]));
    }
    shares(&labels.iter().map(String::as_str).collect::<Vec<_>>(), counts, total)
}

fn per_second(n: u64, time: Nanos) -> f64 {
    if time == 0 { 0.0 } else { n as f64 * 1e9 / time as f64 }
}

impl Direction {
    fn new(entry: &EntryMeter, ops: &[Op], percentiles: Percentiles<'_>) -> Self {
        let mut stats = OpStats::default();
        for &op in ops {
            stats.merge(entry.all.op(op));
        }
        let stats = &stats;
        let count = stats.latency.count();
        if count == 0 {
            return Direction::default();
        }
        let times = entry.times_of(ops);
        let runtime = times.1;
        let (bw, iops): (Spread, Spread) = entry.samples(ops);
        let kib = |bytes: f64| bytes / 1024.0;
        let bw_bytes = per_second(stats.bytes, runtime);
        Direction {
            io_bytes: stats.bytes,
            io_kbytes: stats.bytes / 1024,
            bw_bytes: bw_bytes as u64,
            bw: kib(bw_bytes) as u64,
            iops: per_second(count, runtime),
            runtime: runtime / MILLISECOND,
            total_ios: count,
            short_ios: 0,
            drop_ios: 0,
            slat_ns: Latency::default(),
            clat_ns: Latency::new(&stats.latency, percentiles.clat),
            lat_ns: Latency::new(&stats.latency, percentiles.lat),
            bw_min: kib(bw.min) as u64,
            bw_max: kib(bw.max) as u64,
            bw_agg: 100.0,
            bw_mean: kib(bw.mean),
            bw_dev: kib(bw.stddev),
            bw_samples: bw.samples,
            iops_min: iops.min as u64,
            iops_max: iops.max as u64,
            iops_mean: iops.mean,
            iops_stddev: iops.stddev,
            iops_samples: iops.samples,
            ssdlab: TimeShares::new(stats),
            times,
        }
    }
}

impl Sync {
    fn new(stats: &OpStats, percentiles: Percentiles<'_>) -> Self {
        let any = stats.latency.count() > 0;
        Sync {
            total_ios: stats.latency.count(),
            lat_ns: Latency::new(&stats.latency, percentiles.clat.or(percentiles.lat).filter(|_| any)),
            ssdlab: TimeShares::new(stats),
        }
    }
}

impl TimeShares {
    fn new(stats: &OpStats) -> Self {
        let count = stats.latency.count().max(1) as f64;
        let breakdown = stats.breakdown();
        let times = CAUSES.iter().map(|&c| (c.key().to_owned(), breakdown.get(c) as f64 / 1e3 / count));
        TimeShares { time_us: times.filter(|(_, t)| *t > 0.0).collect() }
    }
}

impl Latency {
    fn new(h: &Histogram, percentiles: Option<&[f64]>) -> Self {
        Latency {
            min: h.min(),
            max: h.max(),
            mean: h.mean(),
            // Of a sample, as fio has it.
            stddev: h.stddev() * libm::sqrt(h.count() as f64 / h.count().saturating_sub(1).max(1) as f64),
            count: h.count(),
            percentile: percentiles.map(|list| list.iter().map(|&p| (p, h.percentile_of_fio(p))).collect()),
            bins: h.middles().collect(),
            told_bins: Vec::new(),
        }
    }

    /// The latency that `percent` of the commands do not exceed, by its bin as [`Latency::percentile`] has it, whatever
    /// list was asked for; `None` without commands.
    #[must_use]
    pub fn at_percent(&self, percent: f64) -> Option<u64> {
        let rank = rank(percent, self.count);
        let mut seen = 0;
        self.bins.iter().find_map(|&(ns, count)| {
            seen += count;
            (seen >= rank).then_some(ns)
        })
    }
}
