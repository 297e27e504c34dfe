//! A job file as data.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use ssdlab_core::Nanos;

use super::engine::{Engine, EngineKind};
use super::error::JobFileError;
use crate::pattern::{BlockSizes, Distribution, Strided, Walk, Zone};

/// Clones of all jobs of a file together; fio's own limit.
pub const MAX_CLONES: u64 = 4096;
/// Commands that all jobs of a file together keep in flight.
pub const MAX_IN_FLIGHT: u64 = 1 << 20;

/// Bytes, or per cent of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Bytes(u64),
    Percent(u32),
}

/// fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rw {
    Read,
    Write,
    Trim,
    ReadWrite,
    RandRead,
    RandWrite,
    RandTrim,
    RandRw,
    TrimWrite,
    RandTrimWrite,
}

impl Rw {
    /// fio's own word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::Trim => "trim",
            Rw::ReadWrite => "rw",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::RandTrim => "randtrim",
            Rw::RandRw => "randrw",
            Rw::TrimWrite => "trimwrite",
            Rw::RandTrimWrite => "randtrimwrite",
        }
    }

    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandRw | Rw::RandTrimWrite)
    }

    /// Whether it has reads.
    #[must_use]
    pub fn reads(self) -> bool {
        matches!(self, Rw::Read | Rw::RandRead | Rw::ReadWrite | Rw::RandRw)
    }

    /// Whether it has writes.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead | Rw::Trim | Rw::RandTrim)
    }

    /// Whether it has trims.
    #[must_use]
    pub fn trims(self) -> bool {
        matches!(self, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite)
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
}

/// `verify`: what was written is read again, and compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    /// The checksum or pattern asked for. The contents of a simulated drive are told apart by a tag for each 4 KiB,
    /// which every read is compared with; those of a real one by what each sector says of its run and place. What the
    /// other bytes are makes no difference.
    pub method: String,
}

/// Which jobs end with the one that has ended: `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitWhat {
    /// Those of its reporting group.
    Group,
    /// Those that run at the same time.
    Stonewall,
    /// All, and nothing begins any more.
    All,
}

/// What `steadystate` watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyMetric {
    Iops,
    Bandwidth,
}

/// `steadystate`: the job ends when its rate has settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    pub metric: SteadyMetric,
    /// The slope over the window, and not the largest deviation from its mean, must stay below the limit.
    pub slope: bool,
    pub limit: f64,
    /// The limit is in per cent of the mean.
    pub percent: bool,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Reads, writes and trims apart.
    #[default]
    None,
    /// Together, as `mixed`.
    Mixed,
    /// Both.
    Both,
}

/// fio's logs of a job; names are what stands before `_bw.1.log` and its like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    pub bandwidth: Option<String>,
    pub iops: Option<String>,
    /// Latencies of each command, or their means; completion latencies as well.
    pub latency: Option<String>,
    /// Means over so much time; zero: every command.
    pub average: Nanos,
    /// The largest value of each period, and not the mean.
    pub largest: bool,
    /// With the offset of each command.
    pub offsets: bool,
}

/// fio's `random_distribution`.
#[derive(Clone, Debug, PartialEq)]
pub enum RandomDistribution {
    Random,
    Zipf {
        theta: f64,
        center: Option<f64>,
    },
    Pareto {
        h: f64,
        center: Option<f64>,
    },
    /// For reads, writes and trims.
    Zoned([Vec<Zone>; 3]),
}

impl RandomDistribution {
    /// How a pattern draws its blocks; `uniform`: where all are as likely.
    #[must_use]
    pub fn to_pattern(&self, uniform: Distribution) -> Distribution {
        match self {
            RandomDistribution::Random => uniform,
            &RandomDistribution::Zipf { theta, center } => Distribution::Zipf { theta, center },
            &RandomDistribution::Pareto { h, center } => Distribution::Pareto { h, center },
            RandomDistribution::Zoned(zones) => Distribution::Zoned(zones.clone()),
        }
    }
}

/// One job: the options of its section over those of the global sections before it. Arrays are for reads, writes
/// and trims, in this order. What a [`super::JobSource`] does not do itself is said at the field.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub name: String,
    pub description: Option<String>,
    pub rw: Rw,
    /// `bs`.
    pub block_sizes: [u64; 3],
    /// `bsrange`, smallest and largest; where present it rules over `bs`.
    pub block_range: [Option<(u64, u64)>; 3],
    /// `bssplit`; where present it rules over both.
    pub block_split: [Option<Vec<(u64, u32)>>; 3],
    pub block_align: [Option<u64>; 3],
    pub size: Option<Amount>,
    pub offset: Amount,
    pub offset_increment: Amount,
    pub io_size: Option<Amount>,
    pub engine: Engine,
    /// As given; [`Job::depth`] is what the runner keeps in flight.
    pub iodepth: u32,
    /// As given, unless it was 0; [`Job::low`] is what the runner goes by.
    pub iodepth_low: Option<u32>,
    pub complete_min: u32,
    /// For the runner: clones of the job, each with a source of its own.
    pub numjobs: u32,
    /// For the runner: the job ends after this time even if its bytes are not done.
    pub runtime: Option<Nanos>,
    /// The source never ends; the runner stops it at `runtime`.
    pub time_based: bool,
    /// For the runner: time at the beginning that is not measured (`runtime` begins after it).
    pub ramp_time: Nanos,
    pub read_percent: u32,
    pub distribution: RandomDistribution,
    pub norandommap: bool,
    pub randseed: Option<u64>,
    /// As given; [`Job::repeats_passes`] is what passes go by. Runs are always repeatable.
    pub randrepeat: bool,
    /// For the runner: at most so many commands a second.
    pub rate_iops: [Option<u64>; 3],
    /// For the runner: at most so many bytes a second.
    pub rate_bytes: [Option<u64>; 3],
    /// For the runner: pause after `thinktime_blocks` commands have completed.
    pub thinktime: Nanos,
    pub thinktime_blocks: u64,
    /// For the runner: rates do not catch up what a pause took.
    pub rate_ignore_thinktime: bool,
    /// A flush after every so many writes; 0 never.
    pub fsync: u64,
    pub fdatasync: u64,
    /// A flush at the end of each pass, in whatever way it ends; see [`Job::flushes_at_end`].
    pub end_fsync: bool,
    /// The same when its file is closed, which is then.
    pub fsync_on_close: bool,
    /// `ioengine=sg` sends every write with force unit access.
    pub write_fua: bool,
    /// `sync`: every write is sent with force unit access.
    pub sync: bool,
    /// `rw=read:OFFSET`: added to the place after each block, in sequence.
    pub rw_step: i64,
    /// `rw=randread:N`: blocks from each random place; 0: there is no such place, all go on in sequence.
    pub rw_run: u64,
    /// `rw_sequencer=identical`: these lie at one place.
    pub rw_same_place: bool,
    /// For reads, writes and trims.
    pub random_percent: [u32; 3],
    pub strided: bool,
    pub zone_bytes: u64,
    pub zone_range: u64,
    pub zone_skip: u64,
    /// Length of the file that the job works on; the span is no longer.
    pub filesize: Option<Amount>,
    /// It is the smallest of a range.
    pub filesize_is_range: bool,
    /// `nrfiles`.
    pub files: u64,
    /// The job ends after so many commands.
    pub number_ios: Option<u64>,
    pub verify: Option<Verify>,
    /// Whether what was written is read when the job has written all.
    pub do_verify: bool,
    /// Nothing is written: what would have been is read.
    pub verify_only: bool,
    /// Verify after so many blocks, and so many of them.
    pub verify_backlog: u64,
    pub verify_backlog_batch: u64,
    /// For the runner: the share of the commands of all jobs with the same `flow_id`.
    pub flow: Option<u32>,
    pub flow_id: u64,
    /// For the runner: commands of `rate_iops` or `rate` arrive at random.
    pub poisson: bool,
    /// For the runner: find the largest depth at which so many per cent of the commands stay below the target.
    pub latency_target: Nanos,
    pub latency_window: Nanos,
    pub latency_percentile: f64,
    pub latency_run: bool,
    /// For the runner.
    pub steady_state: Option<SteadyState>,
    pub steady_duration: Nanos,
    pub steady_ramp: Nanos,
    /// Given in any section, it holds of all: see [`JobFile::ends_others`].
    pub exit_all: bool,
    /// For the runner: which jobs end with this one then.
    pub exit_what: ExitWhat,
    /// `io_submit_mode=offload`: threads send, so that a synchronous engine keeps `iodepth` in flight.
    pub offload: bool,
    /// For the runner: start when all clones of this job have ended.
    pub wait_for: Option<String>,
    /// For the report: which, and whether those of completion latencies, and of latencies from submission on, are told.
    pub percentiles: Option<Vec<f64>>,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
    pub unified: Unified,
    pub logs: Logs,
    /// Each clone has log files of its own.
    pub per_job_logs: bool,
    /// As given; [`Job::compressibility`] is what the runner goes by.
    pub compress_percent: u32,
    pub buffer_pattern: bool,
    pub zero_buffers: bool,
    /// For the runner: start when every job before has ended. See [`JobFile::stages`].
    pub stonewall: bool,
    /// For the report. See [`JobFile::group_ids`].
    pub group_reporting: bool,
    pub new_group: bool,
    /// Passes over the span.
    pub loops: u64,
    /// For the runner: wait before the first command, for a time that each clone draws between these two.
    pub startdelay: Nanos,
    pub longest_startdelay: Nanos,
    /// What `k` means: 1024 or 1000.
    pub kb_base: u64,
    /// Every option that was given, in the global sections or in the job's own, as it was written; those that are
    /// ignored too. A switch without a value is empty. For reports.
    pub given: BTreeMap<String, String>,
    /// The section's header.
    pub(super) spot: Spot,
    /// Where the options that were given stand, by table name.
    pub(super) spots: BTreeMap<&'static str, Spot>,
}

impl Job {
    /// A job with fio's defaults.
    pub(super) fn defaults(file: &str) -> Self {
        Job {
            name: String::new(),
            description: None,
            rw: Rw::Read,
            block_sizes: [4096; 3],
            block_range: [None; 3],
            block_split: [const { None }; 3],
            block_align: [None; 3],
            size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            io_size: None,
            engine: Engine::DEFAULT,
            iodepth: 1,
            iodepth_low: None,
            complete_min: 1,
            numjobs: 1,
            runtime: None,
            time_based: false,
            ramp_time: 0,
            read_percent: 50,
            distribution: RandomDistribution::Random,
            norandommap: false,
            randseed: None,
            randrepeat: true,
            rate_iops: [None; 3],
            rate_bytes: [None; 3],
            thinktime: 0,
            thinktime_blocks: 1,
            rate_ignore_thinktime: false,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            fsync_on_close: false,
            write_fua: false,
            sync: false,
            rw_step: 0,
            rw_run: 1,
            rw_same_place: false,
            random_percent: [100; 3],
            strided: false,
            zone_bytes: 0,
            zone_range: 0,
            zone_skip: 0,
            filesize: None,
            filesize_is_range: false,
            files: 1,
            number_ios: None,
            verify: None,
            do_verify: true,
            verify_only: false,
            verify_backlog: 0,
            verify_backlog_batch: 0,
            flow: None,
            flow_id: 0,
            poisson: false,
            latency_target: 0,
            latency_window: 0,
            latency_percentile: 100.0,
            latency_run: false,
            steady_state: None,
            steady_duration: 0,
            steady_ramp: 0,
            exit_all: false,
            exit_what: ExitWhat::Group,
            offload: false,
            wait_for: None,
            percentiles: None,
            clat_percentiles: true,
            lat_percentiles: false,
            unified: Unified::None,
            logs: Logs::default(),
            per_job_logs: true,
            compress_percent: 0,
            buffer_pattern: false,
            zero_buffers: false,
            stonewall: false,
            group_reporting: false,
            new_group: false,
            loops: 1,
            startdelay: 0,
            longest_startdelay: 0,
            kb_base: 1024,
            given: BTreeMap::new(),
            spot: Spot { file: Arc::from(file), line: 0 },
            spots: BTreeMap::new(),
        }
    }

    /// For the runner: commands in flight.
    #[must_use]
    pub fn depth(&self) -> u32 {
        if self.is_capped() { 1 } else { self.iodepth }
    }

    /// For the runner: a queue that is full empties to so many commands before it is filled again. Completions are reaped
    /// `complete_min` at a time until no more than `iodepth_low` are left.
    #[must_use]
    pub fn low(&self) -> u32 {
        let depth = self.depth();
        let at_once = self.complete_min.clamp(1, depth);
        // As in fio, more than there is room for is all of it.
        let above = depth.saturating_sub(self.iodepth_low.unwrap_or(depth));
        depth.saturating_sub(above.div_ceil(at_once).max(1) * at_once)
    }

    /// For the runner: the rate of reads, writes and trims in bytes a second. One that is given in commands is that of so many of
    /// the smallest block size.
    #[must_use]
    pub fn byte_rates(&self) -> [Option<u64>; 3] {
        let sizes = self.sizes();
        std::array::from_fn(|op| {
            let of_commands = |iops: u64| iops.saturating_mul(sizes[op].min_bytes());
            self.rate_bytes[op].or_else(|| self.rate_iops[op].map(of_commands))
        })
    }

    /// For the runner: how far the data of writes can be compressed, in per cent. As in fio, a share that is given rules over what
    /// buffers are filled with, in whatever order they stand.
    #[must_use]
    pub fn compressibility(&self) -> u32 {
        match self.compress_percent {
            0 if self.buffer_pattern || self.zero_buffers => 100,
            percent => percent,
        }
    }

    /// What `steadystate` asks for: as in fio, jobs that are reported together must agree on it.
    fn steadiness(&self) -> Option<(SteadyState, Nanos, Nanos)> {
        self.steady_state.map(|criterion| (criterion, self.steady_duration, self.steady_ramp))
    }

    /// Whether a flush ends each of its passes, before what it has written is read back. The source sends it; where the runner
    /// ends a pass, the runner does.
    #[must_use]
    pub fn flushes_at_end(&self) -> bool {
        (self.end_fsync || self.fsync_on_close) && self.rw.writes() && !self.verify_only
    }

    /// Whether a synchronous engine keeps it from what `iodepth` asks for.
    fn is_capped(&self) -> bool {
        self.engine.kind == EngineKind::Synchronous && self.iodepth > 1 && !self.offload
    }

    /// Whether blocks of a random pattern that go on in sequence can come to the end of the span, where fio ends the pass.
    fn may_run_into_the_end(&self) -> bool {
        // A block that is trimmed and then written counts twice.
        let of_one_block = if self.rw.trims() && self.rw.writes() { 2 } else { 1 };
        let runs = self.rw_run > of_one_block && !self.rw_same_place;
        let goes_on = runs || self.random_shares().iter().any(|percent| (1..100).contains(percent));
        self.rw.is_random() && goes_on && !self.strided && !self.time_based
    }

    /// Whether blocks that are trimmed and then written have another size than is asked for of writes.
    fn writes_in_the_size_of_trims(&self) -> bool {
        let [_, writes, trims] = self.sizes();
        self.rw.trims() && self.rw.writes() && writes != trims
    }

    /// Per cent of reads, writes and trims that are at random. What the job does not do leaves no order.
    fn random_shares(&self) -> [u32; 3] {
        let uses = self.mix().uses();
        std::array::from_fn(|op| if self.rw.is_random() && uses[op] { self.random_percent[op] } else { 100 })
    }

    /// How the pattern leaves its order, if it does; from the start of its span its file has `room_bytes`.
    pub(super) fn walk(&self, room_bytes: u64) -> Option<Walk> {
        let walk = Walk {
            step_bytes: self.rw_step,
            ends_with_span: false,
            run: self.rw_run,
            same_place: self.rw_same_place,
            random_percent: self.random_shares(),
            strided: self.strided.then_some(Strided {
                zone_bytes: self.zone_bytes,
                range_bytes: if self.zone_range > 0 { self.zone_range } else { self.zone_bytes },
                skip_bytes: self.zone_skip,
                room_bytes,
            }),
        };
        let plain = Walk { same_place: self.rw_same_place, ..Walk::default() };
        (walk != plain).then_some(walk)
    }

    /// Whether it does.
    pub(super) fn leaves_order(&self) -> bool {
        self.walk(0).is_some()
    }

    /// Whether each pass over the span is the first one again. As in fio, a seed of its own rules over `randrepeat`, and a job
    /// that goes on for its time clears its map alone.
    #[must_use]
    pub fn repeats_passes(&self) -> bool {
        self.randrepeat && self.randseed.is_none() && !self.time_based
    }

    /// The block sizes of reads, writes and trims: `bssplit` rules over `bsrange`, and that over `bs`, in whatever order they
    /// are given. As in fio, sizes of a split are rounded down to multiples of its smallest.
    #[must_use]
    pub fn sizes(&self) -> [BlockSizes; 3] {
        let rounded = |split: &[(u64, u32)]| {
            let smallest = split.iter().map(|s| s.0).min().unwrap_or(1).max(1);
            BlockSizes::Split(split.iter().map(|&(bytes, percent)| (bytes - bytes % smallest, percent)).collect())
        };
        std::array::from_fn(|op| match (&self.block_split[op], self.block_range[op]) {
            (Some(split), _) => rounded(split),
            (None, Some((min, max))) => BlockSizes::Range { min, max },
            (None, None) => BlockSizes::Fixed(self.block_sizes[op]),
        })
    }
}

/// A parsed job file.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// As named to the parser.
    pub file: String,
    /// In the order of the file; at least one.
    pub jobs: Vec<Job>,
    pub(super) ignored: BTreeSet<&'static str>,
    /// Those of them that would name a stream, which is of account to a drive that keeps streams apart.
    pub(super) of_streams: BTreeSet<&'static str>,
    pub(super) warnings: Vec<String>,
    /// Values of the variables that occur.
    pub(super) variables: BTreeMap<String, String>,
    /// Those that any line has, also of options that are ignored and of sections that reach no job.
    pub(super) variables_named: BTreeSet<String>,
}

impl JobFile {
    /// Whether a line has this variable.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables_named.contains(name)
    }

    /// What the user should be told: one line for all options that were ignored, another for those that name streams, one for
    /// each doubtful number. There may be more to tell once the drive is known: [`JobFile::notices_on`].
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        let others: BTreeSet<_> = self.ignored.difference(&self.of_streams).copied().collect();
        for (options, why) in [(&others, "they do not concern the drive"), (&self.of_streams, "jobs name no streams")] {
            if !options.is_empty() {
                let list = options.iter().copied().collect::<Vec<_>>().join(", ");
                notices.push(format!("{}: ignored, as {why}: {list}", self.file));
            }
        }
        for (name, value) in &self.variables {
            notices.push(format!("{}: ${{{name}}} is `{value}`", self.file));
        }
        if let Some(verify) = self.jobs.iter().find_map(|j| j.verify.as_ref()) {
            notices.push(format!(
                "{}: verify={}: every read is compared with what was written last, by a tag for each 4 KiB; the bytes \
                 themselves are not simulated. A real drive must return sectors that say that they are of this run and their \
                 place; older versions of them, and their other bytes, are not told apart",
                self.file, verify.method
            ));
        }
        let capped: Vec<&Job> = self.jobs.iter().filter(|j| j.is_capped()).collect();
        if let Some(first) = capped.first() {
            let others = if capped.len() > 1 { format!(" and {} more", capped.len() - 1) } else { String::new() };
            notices.push(format!(
                "{}: job `{}`{others}: both iodepth > 1 and a synchronous I/O engine ({}) are selected; the queue depth is \
                 capped at 1, as in fio. ioengine=libaio keeps {} commands in flight",
                self.file, first.name, first.engine.name, first.iodepth
            ));
        }
        let first = |is: fn(&Job) -> bool| self.jobs.iter().find(|job| is(job)).map(|job| &job.name);
        if let Some(name) = first(|job| job.filesize_is_range) {
            notices.push(format!(
                "{}: job `{name}`: of a range of filesize, the smallest is taken; fio draws one",
                self.file
            ));
        }
        if let Some(name) = first(Job::writes_in_the_size_of_trims) {
            notices.push(format!(
                "{}: job `{name}`: each block is written as it was trimmed, in the block size of trims; fio goes through the \
                 span with each in its own",
                self.file
            ));
        }
        if let Some(name) = first(Job::may_run_into_the_end) {
            notices.push(format!(
                "{}: job `{name}`: blocks that go on in sequence behind a random place go on at the start of the span where \
                 they meet its end; fio ends the pass there, and may send much less",
                self.file
            ));
        }
        notices.extend(self.warnings.iter().cloned());
        notices
    }

    /// The same, for a drive of `capacity_bytes`.
    #[must_use]
    pub fn notices_on(&self, capacity_bytes: u64) -> Vec<String> {
        let mut notices = self.notices();
        if let Some(job) = self.jobs.iter().find(|j| j.writes_passes_again(capacity_bytes)) {
            notices.push(format!(
                "{}: job `{}`: each pass writes the same blocks in the same order, as in fio, so that what it overwrites lies \
                 together in flash and a drive hardly collects garbage; randrepeat=0 gives each pass an order of its own",
                self.file, job.name
            ));
        }
        notices
    }

    /// What holds of all jobs together.
    pub(super) fn check(&self) -> Result<(), JobFileError> {
        for (i, job) in self.jobs.iter().enumerate() {
            if let Some(name) = &job.wait_for
                && !self.jobs[..i].iter().any(|before| before.name == *name)
            {
                let problem = format!("there is no job `{name}` before this one to wait for");
                return Err(job.error("wait_for", problem));
            }
        }
        let groups = self.group_ids();
        for (pair, group) in self.jobs.windows(2).zip(groups.windows(2)) {
            let (before, job) = (&pair[0], &pair[1]);
            let is_one_entry = job.group_reporting && group[0] == group[1];
            if is_one_entry && before.steadiness() != job.steadiness() {
                let with = if job.steady_state.is_some() { job } else { before };
                let problem = format!(
                    "steadystate must be the same in all jobs that group_reporting makes one entry of, and `{}` and `{}` differ: \
                     give both the same, or the second one a new_group",
                    before.name, job.name
                );
                return Err(with.error("steadystate", problem));
            }
        }
        let (mut clones, mut in_flight) = (0, 0);
        for job in &self.jobs {
            clones += u64::from(job.numjobs);
            if clones > MAX_CLONES {
                let problem = format!("with its clones, the file has {clones} jobs; at most {MAX_CLONES} are possible");
                return Err(job.error("numjobs", problem));
            }
            in_flight += u64::from(job.numjobs) * u64::from(job.depth());
            if in_flight > MAX_IN_FLIGHT {
                let problem = format!(
                    "with its {} clones at iodepth {}, the file's jobs keep {in_flight} commands in flight; at most \
                     {MAX_IN_FLIGHT} are possible",
                    job.numjobs, job.iodepth
                );
                return Err(job.error("iodepth", problem));
            }
        }
        Ok(())
    }

    /// For the runner: whether other jobs end with the first that ends. As in fio, one `exitall` holds of all.
    #[must_use]
    pub fn ends_others(&self) -> bool {
        self.jobs.iter().any(|job| job.exit_all)
    }

    /// Options that were given and have no effect, in alphabetical order.
    pub fn ignored(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.ignored.iter().copied()
    }

    /// Jobs that run at the same time, as index ranges into [`JobFile::jobs`]: `stonewall` begins a new range.
    #[must_use]
    pub fn stages(&self) -> Vec<Range<usize>> {
        let starts: Vec<usize> = (0..self.jobs.len()).filter(|&i| i == 0 || self.jobs[i].stonewall).collect();
        let ends = starts.iter().skip(1).copied().chain([self.jobs.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Which jobs came one after the other: of each job the number of its turn. That of a job with `wait_for` is the one after
    /// the job that it waits for; a stage begins a new one.
    #[must_use]
    pub fn turns(&self) -> Vec<u32> {
        let mut turns: Vec<u32> = Vec::with_capacity(self.jobs.len());
        for stage in self.stages() {
            let first = turns.iter().max().map_or(0, |last| last + 1);
            for index in stage.clone() {
                let waits_for =
                    |name: &String| (stage.start..index).rev().find(|&before| self.jobs[before].name == *name);
                let before = self.jobs[index].wait_for.as_ref().and_then(waits_for);
                turns.push(before.map_or(first, |before| turns[before] + 1));
            }
        }
        turns
    }

    /// All that the jobs are, as a text that is the same wherever the file lies, and whatever lines and comments stand between
    /// its options.
    #[must_use]
    pub fn identity(&self) -> String {
        let mut jobs = self.jobs.clone();
        for job in &mut jobs {
            job.spot = Spot { file: Arc::from(""), line: 0 };
            job.spots.clear();
        }
        format!("{jobs:?}")
    }

    /// fio's `groupid` of each job: `stonewall` and `new_group` begin a new one.
    #[must_use]
    pub fn group_ids(&self) -> Vec<u32> {
        let mut id = 0;
        let mut next = |(i, job): (usize, &Job)| {
            id += u32::from(i > 0 && (job.stonewall || job.new_group));
            id
        };
        self.jobs.iter().enumerate().map(&mut next).collect()
    }
}
