//! The table of options: name, value, meaning, and what to do with it. Parser, help and errors all read this.

use ssdlab_core::SECTOR_BYTES;

use super::engine::engine;
use super::job::{Amount, ExitWhat, Job, MAX_CLONES, MAX_IN_FLIGHT, Unified, Verify};
use super::units::{self, TimeUnit};
use super::values;

/// Whether an option has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionUse {
    Supported,
    /// Accepted and named in a notice.
    Ignored,
    /// An error that says why.
    Refused,
}

/// One option, for help texts and documentation.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// The form of its value; empty for a switch.
    pub value: &'static str,
    /// The default, in words.
    pub default: &'static str,
    pub help: &'static str,
    pub usage: OptionUse,
}

/// Sets an option in a job; the error says what would be right.
pub(super) type Apply = fn(&mut Job, Option<&str>) -> Result<(), String>;

struct Entry {
    info: OptionInfo,
    apply: Apply,
}

macro_rules! options {
    ($($name:literal $([$($alias:literal),+])? $value:literal, $default:literal, $help:literal => $apply:expr;)*) => {
        &[$(Entry {
            info: OptionInfo {
                name: $name, aliases: &[$($($alias),+)?], value: $value, default: $default, help: $help,
                usage: OptionUse::Supported,
            },
            apply: $apply,
        }),*]
    };
}

fn need(value: Option<&str>) -> Result<&str, String> {
    value.filter(|v| !v.is_empty()).ok_or_else(|| "needs a value, written as option=value".into())
}

fn count(job: &Job, value: Option<&str>, min: u64, max: u64) -> Result<u64, String> {
    units::integer(need(value)?, job.kb_base, min, max)
}

/// A number of which, as in fio, 0 is the same as none.
fn count_if_any(job: &Job, value: Option<&str>, max: u64) -> Result<Option<u64>, String> {
    Ok(Some(count(job, value, 0, max)?).filter(|&n| n > 0))
}

fn block(job: &Job, text: &str) -> Result<u64, String> {
    let n = units::bytes(text, job.kb_base)?;
    whole_sectors(n, text)
}

/// A size of which, as in fio, 0 is the same as none.
fn block_or_none(job: &Job, text: &str) -> Result<u64, String> {
    match units::bytes(text, job.kb_base)? {
        0 => Ok(0),
        n => whole_sectors(n, text),
    }
}

fn whole_sectors(n: u64, text: &str) -> Result<u64, String> {
    if n == 0 || !n.is_multiple_of(SECTOR_BYTES) {
        let hint = if units::has_reversed_suffix(text) { " (fio reads `kib` as 1000; write `k` for 1024)" } else { "" };
        return Err(format!("`{text}` is {n} bytes; it must be a multiple of 512 greater than zero{hint}"));
    }
    Ok(n)
}

fn percent(value: Option<&str>) -> Result<u32, String> {
    let text = need(value)?;
    match text.trim_end_matches('%').parse::<u32>() {
        Ok(p) if p <= 100 => Ok(p),
        _ => Err(format!("`{text}` must be 0 to 100")),
    }
}

fn seconds(value: Option<&str>) -> Result<u64, String> {
    units::time(need(value)?, TimeUnit::Second)
}

/// What is given is a rate, or no limit.
fn rates(job: &Job, value: Option<&str>) -> Result<[Option<Option<u64>>; 3], String> {
    // fio: 0 is no limit.
    values::triple(need(value)?, |t| units::bytes(t, job.kb_base).map(|n| Some(n).filter(|&n| n > 0)))
}

static SUPPORTED: &[Entry] = options! {
    "name" "text", "the section's name", "Name of the job in reports."
        => |j, v| { j.name = need(v)?.to_owned(); Ok(()) };
    "description" "text", "none", "Text for reports."
        => |j, v| { j.description = Some(need(v)?.to_owned()); Ok(()) };
    "rw" ["readwrite"] "pattern[:offset or count]", "read",
        "read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite or randtrimwrite. In sequence, :OFFSET is \
         added to the place after each block (negative: backwards); at random, :N blocks follow each random place (with 0 \
         there is none: they go on in sequence from the start)."
        => |j, v| {
            let text = need(v)?;
            let (name, modifier) = match text.split_once(':') {
                Some((name, modifier)) => (name, Some(modifier)),
                None => (text, None),
            };
            j.rw = values::rw(name)?;
            (j.rw_step, j.rw_run) = (0, 1);
            match modifier {
                None => {}
                Some(modifier) if j.rw.is_random() => {
                    j.rw_run = units::integer(modifier, j.kb_base, 0, u64::MAX)?;
                }
                Some(modifier) => j.rw_step = units::signed_bytes(modifier, j.kb_base)?,
            }
            Ok(())
        };
    "rw_sequencer" "sequential or identical", "sequential",
        "Where the blocks behind a random place lie, with rw=randread:N: one behind the other, or all there."
        => |j, v| {
            j.rw_same_place = match need(v)? {
                "sequential" => false,
                "identical" => true,
                other => return Err(format!("`{other}` must be sequential or identical")),
            };
            Ok(())
        };
    "bs" ["blocksize"] "bytes[,bytes[,bytes]]", "4k", "Block size of reads, writes and trims. A block that is trimmed and then written has that of trims for both: a notice says so where that of writes is another."
        => |j, v| {
            let given = values::triple(need(v)?, |t| block(j, t))?;
            values::overlay(&mut j.block_sizes, given);
            Ok(())
        };
    "bsrange" ["blocksize_range"] "min-max[,…]", "none", "Every multiple of min up to max, equally likely; of a max that is none, max as well, less likely. Rules over bs."
        => |j, v| {
            let given = values::triple(need(v)?, |t| {
                let (min, max) = values::range(t, j.kb_base)?;
                Ok(Some((whole_sectors(min, t)?, whole_sectors(max, t)?)))
            })?;
            values::overlay(&mut j.block_range, given);
            Ok(())
        };
    "bssplit" "bytes/percent:…[,…]", "none", "Weighted mix of block sizes, each rounded down to a multiple of the smallest; rules over bs and bsrange. Sizes without a percentage, or with 0, share what is left of 100."
        => |j, v| {
            let given = values::triple(need(v)?, |t| {
                let split = values::bssplit(t, j.kb_base)?;
                split.iter().try_for_each(|s| whole_sectors(s.0, t).map(|_| ()))?;
                Ok(Some(split))
            })?;
            values::overlay(&mut j.block_split, given);
            Ok(())
        };
    "blockalign" ["ba"] "bytes[,…]", "the smallest block size", "Random offsets are multiples of this; blocks may then come twice (norandommap)."
        => |j, v| {
            let given = values::triple(need(v)?, |t| block(j, t).map(Some))?;
            values::overlay(&mut j.block_align, given);
            Ok(())
        };
    "size" "bytes or %", "the whole drive", "Length of the span that the job works on, and how much it does there."
        => |j, v| { j.size = Some(units::amount(need(v)?, j.kb_base)?); Ok(()) };
    "offset" ["fileoffset"] "bytes or %", "0", "Where the span begins."
        => |j, v| { j.offset = units::amount(need(v)?, j.kb_base)?; Ok(()) };
    "filesize" "bytes or min-max", "size", "Length of the file that the job works in, from the drive's first byte on. It works in all of it from offset on; a size in bytes is then how much it sends. Of a range it is the smallest, where fio draws one: a notice says so."
        => |j, v| {
            let (smallest, largest) = values::size_or_range(need(v)?, j.kb_base)?;
            (j.filesize, j.filesize_is_range) = (Some(Amount::Bytes(smallest)), smallest < largest);
            Ok(())
        };
    "nrfiles" ["nr_files"] "1", "1", "More files would be as many streams, and are refused, unless a filename rules over it, as in fio."
        => |j, v| { j.files = count(j, v, 0, u64::MAX)?; Ok(()) };
    "create_only" "0", "0", "1 would send nothing, and is refused."
        => |_, v| match units::boolean(v)? {
            false => Ok(()),
            true => Err("fio would lay out its files and send nothing else; leave it out".into()),
        };
    "number_ios" "count", "no limit", "The job ends after so many commands in each loop, ramp_time included, unless it is time_based; a block that is trimmed and then written counts once. 0 is no limit."
        => |j, v| { j.number_ios = count_if_any(j, v, u64::MAX)?; Ok(()) };
    "zonemode" "none or strided", "none", "strided: zones of zonesize, with gaps of zoneskip between them, up to the end of the drive (of filesize), and then from the first one again."
        => |j, v| {
            j.strided = match need(v)? {
                "none" => false,
                "strided" => true,
                "zbd" => return Err("zoned drives are not simulated; use none or strided".into()),
                other => return Err(format!("`{other}` must be none or strided")),
            };
            Ok(())
        };
    "zonesize" "bytes", "none", "Bytes transferred in a zone before the next one begins. A last block that lies over the end of its zone is sent as it is."
        => |j, v| { j.zone_bytes = block_or_none(j, need(v)?)?; Ok(()) };
    "zonerange" "bytes", "zonesize", "Length of a zone."
        => |j, v| { j.zone_range = block_or_none(j, need(v)?)?; Ok(()) };
    "zoneskip" "bytes", "0", "Gap between two zones."
        => |j, v| { j.zone_skip = units::bytes(need(v)?, j.kb_base)?; Ok(()) };
    "offset_increment" "bytes or %", "0", "Clone n of the job begins n times this further on."
        => |j, v| { j.offset_increment = units::amount(need(v)?, j.kb_base)?; Ok(()) };
    "io_size" ["io_limit"] "bytes or %", "size", "How much to transfer; more than size goes round again, where trims of trimwrite count as well; with verify and do_verify=0 it does not, unless loops is above 1. 0 is as much as size."
        => |j, v| {
            let amount = units::amount(need(v)?, j.kb_base)?;
            // fio: 0 is "as much as size".
            j.io_size = Some(amount).filter(|a| !matches!(a, Amount::Bytes(0) | Amount::Percent(0)));
            Ok(())
        };
    "iodepth" "count", "1", "Commands in flight, of an asynchronous engine."
        => |j, v| { j.iodepth = count(j, v, 1, MAX_IN_FLIGHT)? as u32; Ok(()) };
    "iodepth_low" "count", "iodepth",
        "Once the queue is full, it empties to so many commands before it is filled again; 0, and more than iodepth, is iodepth."
        => |j, v| { j.iodepth_low = count_if_any(j, v, MAX_IN_FLIGHT)?.map(|n| n as u32); Ok(()) };
    "iodepth_batch_complete_min" ["iodepth_batch_complete"] "count", "1",
        "Once the queue is full, so many commands complete before others are sent."
        => |j, v| { j.complete_min = count(j, v, 0, MAX_IN_FLIGHT)? as u32; Ok(()) };
    "ioengine" "engine", "psync",
        "Synchronous engines (psync) keep one command in flight, asynchronous ones (libaio, io_uring) iodepth."
        => |j, v| { j.engine = engine(need(v)?)?; Ok(()) };
    "numjobs" "count", "1", "Clones of the job, running at the same time."
        => |j, v| { j.numjobs = count(j, v, 1, MAX_CLONES)? as u32; Ok(()) };
    "runtime" ["timeout"] "time", "no limit", "The job ends after this time (seconds unless a unit is given)."
        => |j, v| { j.runtime = Some(seconds(v)?).filter(|&t| t > 0); Ok(()) };
    "time_based" "", "off", "Go on until runtime has passed, however often that goes over the span."
        => |j, v| { j.time_based = units::boolean(v)?; Ok(()) };
    "ramp_time" "time", "0", "Time before measuring begins (seconds unless a unit is given)."
        => |j, v| { j.ramp_time = seconds(v)?; Ok(()) };
    "rwmixread" "percent", "50", "Share of reads in a mixed pattern."
        => |j, v| { j.read_percent = percent(v)?; Ok(()) };
    "rwmixwrite" "percent", "50", "Share of writes in a mixed pattern."
        => |j, v| { j.read_percent = 100 - percent(v)?; Ok(()) };
    "random_distribution" "distribution", "random",
        "random, zipf:theta, pareto:h, zoned:access/size:… (per cent) or zoned_abs:access/bytes:…"
        => |j, v| { j.distribution = values::distribution(need(v)?, j.kb_base)?; Ok(()) };
    "percentage_random" "percent[,percent[,percent]]", "100",
        "Of a random pattern, the share of the commands that go to a random place; the others go on in sequence."
        => |j, v| {
            let given = values::triple(need(v)?, |t| percent(Some(t)))?;
            values::overlay(&mut j.random_percent, given);
            Ok(())
        };
    "norandommap" "", "off", "Draw random blocks with replacement instead of covering each once."
        => |j, v| { j.norandommap = units::boolean(v)?; Ok(()) };
    "randseed" "number", "the run's seed", "Seed of the job's random numbers; passes then differ, as with randrepeat=0."
        => |j, v| { j.randseed = Some(count(j, v, 0, u64::MAX)?); Ok(()) };
    "randrepeat" ["allrandrepeat"] "0 or 1", "1", "Each pass of loops or io_size over a random map sends the same blocks in the same order; 0: in another one, as with time_based or randseed. Runs are always repeatable."
        => |j, v| { j.randrepeat = units::boolean(v)?; Ok(()) };
    "rate_iops" "count[,count[,count]]", "no limit", "Commands of the smallest block size a second at most: larger ones take more of it."
        => |j, v| { let given = rates(j, v)?; values::overlay(&mut j.rate_iops, given); Ok(()) };
    "rate" "bytes[,bytes[,bytes]]", "no limit", "Bytes a second at most."
        => |j, v| { let given = rates(j, v)?; values::overlay(&mut j.rate_bytes, given); Ok(()) };
    "rate_process" "linear or poisson", "linear",
        "poisson: commands come at random times, as many as the rate holds of the smallest block size, and catch up when the drive is late."
        => |j, v| {
            j.poisson = match need(v)? {
                "linear" => false,
                "poisson" => true,
                other => return Err(format!("`{other}` must be linear or poisson")),
            };
            Ok(())
        };
    "flow" "weight", "none", "The job's share of the commands of all jobs with the same flow_id is its share of their weights; 0 is none."
        => |j, v| { j.flow = count_if_any(j, v, 1000)?.map(|n| n as u32); Ok(()) };
    "flow_id" "number", "0", "Which jobs share a flow."
        => |j, v| { j.flow_id = count(j, v, 0, u64::MAX)?; Ok(()) };
    "latency_target" "time", "none",
        "Finds the largest depth, up to iodepth, at which enough commands stay below it (microseconds unless a unit is given)."
        => |j, v| { j.latency_target = units::time(need(v)?, TimeUnit::Microsecond)?; Ok(()) };
    "latency_window" "time", "none", "How long each depth is tried (microseconds unless a unit is given)."
        => |j, v| { j.latency_window = units::time(need(v)?, TimeUnit::Microsecond)?; Ok(()) };
    "latency_percentile" "percent", "100", "Share of the commands that must stay below latency_target."
        => |j, v| { j.latency_percentile = values::percentage(need(v)?)?; Ok(()) };
    "latency_run" "0 or 1", "0", "Go on at the depth that was found, instead of ending there."
        => |j, v| { j.latency_run = units::boolean(v)?; Ok(()) };
    "steadystate" ["ss"] "iops, iops_slope, bw or bw_slope:limit[%]", "none",
        "The job ends when its rate has settled: largest deviation from the mean, or slope a second, below the limit. Jobs of one entry (group_reporting) must agree on it."
        => |j, v| { j.steady_state = Some(values::steady_state(need(v)?, j.kb_base)?); Ok(()) };
    "steadystate_duration" ["ss_dur"] "time", "none", "Over how long it must have settled (seconds unless a unit is given)."
        => |j, v| { j.steady_duration = seconds(v)?; Ok(()) };
    "steadystate_ramp_time" ["ss_ramp"] "time", "0", "Before it is looked at (seconds unless a unit is given)."
        => |j, v| { j.steady_ramp = seconds(v)?; Ok(()) };
    "exitall" "", "off", "When any job of the file ends, others do (that job's exit_what), whichever section has this option, and whatever value."
        // As in fio, where 0 switches it on as well.
        => |j, v| { units::boolean(v)?; j.exit_all = true; Ok(()) };
    "exit_what" "group, stonewall or all", "group",
        "Which: those of its reporting group, those that run at the same time, or all, also those that have not begun."
        => |j, v| {
            j.exit_what = match need(v)? {
                "group" => ExitWhat::Group,
                "stonewall" => ExitWhat::Stonewall,
                "all" => ExitWhat::All,
                other => return Err(format!("`{other}` must be group, stonewall or all")),
            };
            Ok(())
        };
    "io_submit_mode" "inline or offload", "inline", "offload: threads send, so that a synchronous engine keeps iodepth."
        => |j, v| {
            j.offload = match need(v)? {
                "inline" => false,
                "offload" => true,
                other => return Err(format!("`{other}` must be inline or offload")),
            };
            Ok(())
        };
    "wait_for" "job", "none", "Start when every clone of this job has ended."
        => |j, v| { j.wait_for = Some(need(v)?.to_owned()); Ok(()) };
    "verify" "method", "none",
        "Read what was written when all is, and compare: by a tag for each 4 KiB, whatever the method, null too; none and 0 read nothing. Reads are always compared."
        => |j, v| {
            j.verify = match need(v)? {
                "0" | "none" => None,
                method => Some(Verify { method: values::verify_method(method)? }),
            };
            Ok(())
        };
    "do_verify" "0 or 1", "1", "Whether verify reads what the job has written."
        => |j, v| { j.do_verify = units::boolean(v)?; Ok(()) };
    "verify_only" "", "off", "Write nothing; read what would have been written."
        => |j, v| { j.verify_only = units::boolean(v)?; Ok(()) };
    "verify_backlog" "count", "0", "Read what was written after every so many blocks; 0: when all is written."
        => |j, v| { j.verify_backlog = count(j, v, 0, 1 << 20)?; Ok(()) };
    "verify_backlog_batch" "count", "verify_backlog", "Read so many blocks each time."
        => |j, v| { j.verify_backlog_batch = count(j, v, 0, 1 << 20)?; Ok(()) };
    "percentile_list" "percent:percent:…", "1 to 99.99", "Percentiles in the report, at most 20."
        => |j, v| { j.percentiles = Some(values::percentiles(need(v)?)?); Ok(()) };
    "clat_percentiles" "0 or 1", "1", "Percentiles of completion latencies in the report."
        => |j, v| { j.clat_percentiles = units::boolean(v)?; Ok(()) };
    "lat_percentiles" "0 or 1", "0", "Percentiles of whole latencies in the report, which are the same: sending takes no time."
        => |j, v| { j.lat_percentiles = units::boolean(v)?; Ok(()) };
    "unified_rw_reporting" "none, mixed or both", "none", "Report reads, writes and trims together, as mixed."
        => |j, v| {
            j.unified = match need(v)? {
                "none" | "0" => Unified::None,
                "mixed" | "1" => Unified::Mixed,
                "both" | "2" => Unified::Both,
                other => return Err(format!("`{other}` must be none, mixed or both")),
            };
            Ok(())
        };
    "write_bw_log" "name", "none", "Write NAME_bw.N.log; without a name, the job's. Lines of a period are in KiB/s; as in fio, those of a command are in 1000 bytes a second."
        => |j, v| { j.logs.bandwidth = Some(values::log_name(v)?); Ok(()) };
    "write_iops_log" "name", "none", "Write NAME_iops.N.log."
        => |j, v| { j.logs.iops = Some(values::log_name(v)?); Ok(()) };
    "write_lat_log" "name", "none", "Write NAME_lat.N.log, NAME_clat.N.log and NAME_slat.N.log."
        => |j, v| { j.logs.latency = Some(values::log_name(v)?); Ok(()) };
    "log_avg_msec" "time", "0", "Means over so much time in the logs (milliseconds unless a unit is given); 0: every command."
        => |j, v| { j.logs.average = units::time(need(v)?, TimeUnit::Millisecond)?; Ok(()) };
    "log_window_value" ["log_max_value"] "avg or max", "avg", "max: the largest value of each period in the logs, and not the mean; also 1, and 0 for avg."
        => |j, v| {
            j.logs.largest = match need(v)? {
                "avg" | "0" => false,
                "max" | "1" => true,
                "both" => return Err("a line of both values is not written; use avg or max".into()),
                other => return Err(format!("`{other}` must be avg or max")),
            };
            Ok(())
        };
    "log_offset" "0 or 1", "0", "Offsets in the logs, where every command has a line."
        => |j, v| { j.logs.offsets = units::boolean(v)?; Ok(()) };
    "per_job_logs" "0 or 1", "1", "Logs of each clone by itself."
        => |j, v| { j.per_job_logs = units::boolean(v)?; Ok(()) };
    "thinktime" "time", "0", "Pause after completed commands (microseconds unless a unit is given)."
        => |j, v| { j.thinktime = units::time(need(v)?, TimeUnit::Microsecond)?; Ok(()) };
    "thinktime_blocks" "count", "1", "Completed commands between two pauses; 0 is 1."
        => |j, v| { j.thinktime_blocks = count(j, v, 0, u64::MAX)?.max(1); Ok(()) };
    "rate_ignore_thinktime" "0 or 1", "0", "Rates go on from where they were when a pause is over, and do not catch up what it took."
        => |j, v| { j.rate_ignore_thinktime = units::boolean(v)?; Ok(()) };
    "fsync" "count", "0", "Flush after every so many writes, if anything comes after them but the last reading back; 0 never."
        => |j, v| { j.fsync = count(j, v, 0, u64::MAX)?; Ok(()) };
    "fdatasync" "count", "0", "As fsync: a drive sees no difference."
        => |j, v| { j.fdatasync = count(j, v, 0, u64::MAX)?; Ok(()) };
    "end_fsync" "0 or 1", "0", "Flush at the end of each pass, before what was written is read back."
        => |j, v| { j.end_fsync = units::boolean(v)?; Ok(()) };
    "fsync_on_close" "0 or 1", "0", "As end_fsync: a job closes its file then."
        => |j, v| { j.fsync_on_close = units::boolean(v)?; Ok(()) };
    "writefua" "0 or 1", "0", "With ioengine=sg: send every write with force unit access."
        => |j, v| { j.write_fua = units::boolean(v)?; Ok(()) };
    "sync" "0, 1, none, sync or dsync", "0", "Send every write with force unit access."
        => |j, v| {
            j.sync = match v {
                Some("none") => false,
                Some("sync" | "dsync") => true,
                _ => units::boolean(v)?,
            };
            Ok(())
        };
    "stonewall" ["wait_for_previous"] "", "off", "Wait for all jobs before this one; begins a reporting group."
        => |j, v| { j.stonewall = units::boolean(v)?; Ok(()) };
    "group_reporting" "", "off", "Report the jobs of a group as one."
        => |j, v| { j.group_reporting = units::boolean(v)?; Ok(()) };
    "new_group" "", "off", "Begin a reporting group."
        => |j, v| { j.new_group = units::boolean(v)?; Ok(()) };
    "loops" "count", "1", "Passes over the span; 0 is 1."
        => |j, v| { j.loops = count(j, v, 0, u64::MAX)?.max(1); Ok(()) };
    "startdelay" "time or time-time", "0", "Wait before the first command (seconds unless a unit is given); of a range, each clone draws its own time."
        => |j, v| { (j.startdelay, j.longest_startdelay) = values::times(need(v)?, TimeUnit::Second)?; Ok(()) };
    "buffer_compress_percentage" "percent", "0", "How far the data of writes can be compressed, for drives that do it. Unless it is 0, it rules over buffer_pattern and zero_buffers."
        => |j, v| { j.compress_percent = percent(v)?; Ok(()) };
    "buffer_pattern" "pattern", "none", "The same bytes over and over: data that can be compressed to nothing."
        => |j, v| { need(v)?; j.buffer_pattern = true; Ok(()) };
    "zero_buffers" "", "off", "Zeroes: data that can be compressed to nothing."
        => |j, v| { j.zero_buffers = units::boolean(v)?; Ok(()) };
    "kb_base" "1000 or 1024", "1024", "What k means: 1024, with kib 1000 (fio's default), or the reverse."
        => |j, v| {
            j.kb_base = match need(v)? {
                "1000" => 1000,
                "1024" => 1024,
                other => return Err(format!("`{other}` must be 1000 or 1024")),
            };
            Ok(())
        };
};

/// The reason of those of [`IGNORED`] that would name a stream.
const STREAMS: &str = "streams";

/// Options that are accepted and have no effect, with their other names and the reason.
#[rustfmt::skip]
static IGNORED: &[(&str, &[&str], &str)] = &[
    ("allow_file_create", &[], "files"),
    ("allow_mounted_write", &[], "files"),
    ("atomic", &[], "host"),
    ("block_error_percentiles", &[], "errors"),
    ("buffer_compress_chunk", &[], "data"),
    ("buffered", &[], "host"),
    ("busy_poll", &[], "client"),
    ("bwavgtime", &[], "logs"),
    ("cdb_len", &[], "host"),
    ("cgroup", &[], "host"),
    ("cgroup_nodelete", &[], "host"),
    ("cgroup_weight", &[], "host"),
    ("clientname", &[], "client"),
    ("clocksource", &[], "host"),
    ("clustername", &[], "client"),
    ("cmd_type", &[], "host"),
    ("cmdprio", &[], "priority"),
    ("cmdprio_bssplit", &[], "priority"),
    ("cmdprio_class", &[], "priority"),
    ("cmdprio_hint", &[], "priority"),
    ("cmdprio_percentage", &[], "priority"),
    ("comm", &[], "host"),
    ("conf", &[], "client"),
    ("continue_on_error", &[], "errors"),
    ("cpumask", &[], "host"),
    ("cpus_allowed", &[], "host"),
    ("cpus_allowed_policy", &[], "host"),
    ("create_fsync", &[], "files"),
    ("create_on_open", &[], "files"),
    ("create_serialize", &[], "files"),
    ("dedupe_global", &[], "data"),
    ("dedupe_mode", &[], "data"),
    ("dedupe_percentage", &[], "data"),
    ("dedupe_working_set_percentage", &[], "data"),
    ("direct", &[], "host"),
    ("directory", &[], "files"),
    ("disable_bw_measurement", &["disable_bw"], "report"),
    ("disable_clat", &[], "report"),
    ("disable_lat", &[], "report"),
    ("disable_slat", &[], "report"),
    ("disk_util", &[], "files"),
    ("error_dump", &[], "errors"),
    ("exec_postrun", &[], "host"),
    ("exec_prerun", &[], "host"),
    ("exitall_on_error", &[], "errors"),
    ("experimental_verify", &[], "verify"),
    ("fadvise_hint", &[], "host"),
    ("fallocate", &[], "files"),
    ("file_append", &[], "files"),
    ("file_service_type", &[], "files"),
    ("filename", &[], "files"),
    ("filename_format", &[], "files"),
    ("filetype", &[], "files"),
    ("fill_device", &["fill_fs"], "files"),
    ("fixedbufs", &[], "host"),
    ("flow_sleep", &[], "host"),
    ("flow_watermark", &[], "host"),
    ("force_async", &[], "host"),
    ("gid", &[], "host"),
    ("gtod_cpu", &[], "host"),
    ("gtod_reduce", &[], "host"),
    ("hipri", &[], "host"),
    ("hipri_percentage", &[], "host"),
    ("hostname", &[], "client"),
    ("hugepage-size", &[], "host"),
    ("ignore_error", &[], "errors"),
    ("initiator", &[], "client"),
    ("invalidate", &[], "host"),
    ("iodepth_batch", &["iodepth_batch_submit"], "host"),
    ("iodepth_batch_complete_max", &[], "host"),
    ("iopsavgtime", &[], "logs"),
    ("ioscheduler", &[], "host"),
    ("job_start_clock_id", &[], "host"),
    ("libaio_vectored", &[], "host"),
    ("libblkio_driver", &[], "client"),
    ("libblkio_force_enable_completion_eventfd", &[], "client"),
    ("libblkio_num_entries", &[], "client"),
    ("libblkio_path", &[], "client"),
    ("libblkio_pre_connect_props", &[], "client"),
    ("libblkio_pre_start_props", &[], "client"),
    ("libblkio_queue_size", &[], "client"),
    ("libblkio_vectored", &[], "client"),
    ("libblkio_wait_mode", &[], "client"),
    ("libblkio_write_zeroes_on_trim", &[], "client"),
    ("lockfile", &[], "files"),
    ("lockmem", &[], "host"),
    ("log_alternate_epoch", &[], "logs"),
    ("log_alternate_epoch_clock_id", &[], "logs"),
    ("log_compression", &[], "logs"),
    ("log_compression_cpus", &[], "logs"),
    ("log_entries", &[], "logs"),
    ("log_hist_coarseness", &[], "logs"),
    ("log_hist_msec", &[], "logs"),
    ("log_issue_time", &[], "logs"),
    ("log_prio", &[], "priority"),
    ("log_store_compressed", &[], "logs"),
    ("log_unix_epoch", &[], "logs"),
    ("max_latency", &[], "errors"),
    ("md_per_io_size", &[], "host"),
    ("mem", &["iomem"], "host"),
    ("mem_align", &["iomem_align"], "host"),
    ("nice", &[], "host"),
    ("no_completion_thread", &[], "host"),
    ("nonvectored", &[], "host"),
    ("nowait", &[], "host"),
    ("numa_cpu_nodes", &[], "host"),
    ("numa_mem_policy", &[], "host"),
    ("opendir", &[], "files"),
    ("openfiles", &[], "files"),
    ("overwrite", &[], "files"),
    ("pool", &[], "client"),
    ("port", &[], "client"),
    ("pre_read", &[], "host"),
    ("prio", &[], "host"),
    ("prio_hint", &[], "priority"),
    ("prioclass", &[], "host"),
    ("priohint", &[], "priority"),
    ("random_generator", &[], "data"),
    ("rate_cycle", &["ratecycle"], "errors"),
    ("rate_iops_min", &[], "errors"),
    ("rate_min", &["ratemin"], "errors"),
    ("rbd_encryption_format", &[], "host"),
    ("rbd_encryption_passphrase", &[], "host"),
    ("rbdname", &[], "client"),
    ("refill_buffers", &[], "data"),
    ("registerfiles", &[], "host"),
    ("scramble_buffers", &[], "data"),
    ("serialize_overlap", &[], "host"),
    ("significant_figures", &[], "report"),
    ("slat_percentiles", &[], "sending"),
    ("softrandommap", &[], "data"),
    ("sqthread_poll", &[], "host"),
    ("sqthread_poll_cpu", &[], "host"),
    ("stats", &[], "report"),
    ("stream_id", &[], STREAMS),
    ("sync_file_range", &[], "host"),
    ("thinkcycles", &[], "host"),
    ("thinktime_spin", &[], "host"),
    ("thp", &[], "host"),
    ("thread", &["threads"], "host"),
    ("uid", &[], "host"),
    ("uncached", &[], "host"),
    ("unique_filename", &[], "files"),
    ("unit_base", &[], "report"),
    ("unlink", &[], "files"),
    ("unlink_each_loop", &[], "files"),
    ("uri", &[], "client"),
    ("userspace_reap", &[], "host"),
    ("verify_async", &[], "verify"),
    ("verify_async_cpus", &[], "verify"),
    ("verify_dump", &[], "verify"),
    ("verify_fatal", &[], "verify"),
    ("verify_header_seed", &[], "verify"),
    ("verify_interval", &["header_interval"], "verify"),
    ("verify_mode", &[], "verify"),
    ("verify_offset", &[], "verify"),
    ("verify_pattern", &[], "verify"),
    ("verify_pattern_interval", &[], "verify"),
    ("verify_policy", &[], "verify"),
    ("verify_state_load", &[], "verify"),
    ("verify_state_save", &[], "verify"),
    ("verify_table", &[], "verify"),
    ("verify_write_sequence", &[], "verify"),
    ("verifysort", &[], "verify"),
    ("verifysort_nr", &[], "verify"),
    ("write_barrier", &[], "host"),
    ("write_hint", &[], STREAMS),
    ("write_hist_log", &[], "logs"),
    ("xnvme_admin", &[], "client"),
    ("xnvme_async", &[], "client"),
    ("xnvme_be", &[], "client"),
    ("xnvme_dev_nsid", &[], "client"),
    ("xnvme_dev_subnqn", &[], "client"),
    ("xnvme_iovec", &[], "client"),
    ("xnvme_mem", &[], "client"),
    ("xnvme_sync", &[], "client"),
];

/// Options that would change what a drive is sent, and that are not understood, with their other names and the reason.
#[rustfmt::skip]
static REFUSED: &[(&str, &[&str], &str)] = &[
    ("apptag", &[], "protection information is not simulated"),
    ("apptag_mask", &[], "protection information is not simulated"),
    ("arguments", &[], "belongs to ioengine=exec, which does not work on a block device"),
    ("bindname", &[], "belongs to ioengine=rdma, which does not work on a block device"),
    ("brick", &[], "belongs to ioengine=gfapi, which does not work on a block device"),
    ("bs_is_seq_rand", &[], "sizes of blocks go by reads and writes here, not by whether an access follows on the last one"),
    ("bs_unaligned", &["blocksize_unaligned"], "a drive takes whole sectors of 512 bytes"),
    ("chunk_size", &[], "belongs to ioengine=libhdfs, which does not work on a block device"),
    ("cont", &[], "belongs to ioengine=dfs, which does not work on a block device"),
    ("cpuchunks", &[], "belongs to ioengine=cpuio, which does not work on a block device"),
    ("cpuload", &[], "belongs to ioengine=cpuio, which does not work on a block device"),
    ("cpumode", &[], "belongs to ioengine=cpuio, which does not work on a block device"),
    ("cuda_io", &[], "belongs to ioengine=libcufile, which does not work on a block device"),
    ("dataplacement", &[], "data placement is not simulated"),
    ("deac", &[], "write zeroes is not sent"),
    ("donorname", &[], "belongs to ioengine=e4defrag, which does not work on a block device"),
    ("dp_scheme", &[], "data placement is not simulated"),
    ("dp_type", &[], "data placement is not simulated"),
    ("end_syncfs", &[], "there is no file system; use end_fsync"),
    ("exit_on_io_done", &[], "belongs to ioengine=cpuio, which does not work on a block device"),
    ("fdp", &[], "data placement is not simulated"),
    ("fdp_pli", &[], "data placement is not simulated"),
    ("fdp_pli_select", &[], "data placement is not simulated"),
    ("gpu_dev_id", &[], "belongs to ioengine=libcufile, which does not work on a block device"),
    ("gpu_dev_ids", &[], "belongs to ioengine=libcufile, which does not work on a block device"),
    ("grace_time", &[], "belongs to ioengine=exec, which does not work on a block device"),
    ("hdfs_use_direct", &[], "belongs to ioengine=libhdfs, which does not work on a block device"),
    ("hdfsdirectory", &[], "belongs to ioengine=libhdfs, which does not work on a block device"),
    ("http_host", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_mode", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_object_mode", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_pass", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_key", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_keyid", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_region", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_security_token", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_sse_customer_algorithm", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_sse_customer_key", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_s3_storage_class", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_swift_auth_token", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_user", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("http_verbose", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("https", &[], "belongs to ioengine=http, which does not work on a block device"),
    ("ignore_zone_limits", &[], "zoned drives are not simulated"),
    ("inplace", &[], "belongs to ioengine=e4defrag, which does not work on a block device"),
    ("interface", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("job_max_open_zones", &[], "zoned drives are not simulated"),
    ("listen", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("max_open_zones", &[], "zoned drives are not simulated"),
    ("merge_blktrace_file", &[], "use `ssdlab replay`"),
    ("merge_blktrace_iters", &[], "use `ssdlab replay`"),
    ("merge_blktrace_scalars", &[], "use `ssdlab replay`"),
    ("mss", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("namenode", &[], "belongs to ioengine=libhdfs, which does not work on a block device"),
    ("nfs_url", &[], "belongs to ioengine=nfs, which does not work on a block device"),
    ("nodelay", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("num_range", &[], "trims of several ranges are not sent; use bs"),
    ("object_class", &[], "belongs to ioengine=dfs, which does not work on a block device"),
    ("offset_align", &[], "give the offset itself"),
    ("percentage_sequential", &[], "fio does not know it any more"),
    ("pi_act", &[], "protection information is not simulated"),
    ("pi_chk", &[], "protection information is not simulated"),
    ("pingpong", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("plid_select", &[], "data placement is not simulated"),
    ("plids", &[], "data placement is not simulated"),
    ("profile", &[], "fio's profiles are not known; write their jobs as sections"),
    ("program", &[], "belongs to ioengine=exec, which does not work on a block device"),
    ("protocol", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("ramp_size", &[], "use ramp_time"),
    ("random_sequence_stride", &[], "belongs to random_distribution=sequence, which is not supported"),
    ("read_beyond_wp", &[], "zoned drives are not simulated"),
    ("read_iolog", &[], "use `ssdlab replay`"),
    ("read_iolog_chunked", &[], "use `ssdlab replay`"),
    ("read_mode", &[], "SCSI commands other than READ and WRITE are not sent"),
    ("readfua", &[], "reads past a drive's cache are not simulated"),
    ("recover_zbd_write_error", &[], "zoned drives are not simulated"),
    ("replay_align", &[], "use `ssdlab replay`"),
    ("replay_no_stall", &[], "use `ssdlab replay`"),
    ("replay_redirect", &[], "use `ssdlab replay`"),
    ("replay_scale", &[], "use `ssdlab replay`"),
    ("replay_skip", &[], "use `ssdlab replay`"),
    ("replay_time_scale", &[], "use `ssdlab replay`"),
    ("rocm_io", &[], "belongs to ioengine=libhipfile, which does not work on a block device"),
    ("rwmixcycle", &[], "fio does not know it any more"),
    ("sg_write_mode", &[], "SCSI commands other than READ and WRITE are not sent"),
    ("single-instance", &[], "belongs to ioengine=gfapi, which does not work on a block device"),
    ("single_instance", &[], "belongs to ioengine=libhdfs, which does not work on a block device"),
    ("skip_bad", &[], "belongs to ioengine=mtd, which does not work on a block device"),
    ("spr_cs", &[], "use rw=randwrite over the whole drive"),
    ("spr_num_regions", &[], "use rw=randwrite over the whole drive"),
    ("spr_op", &[], "use rw=randwrite over the whole drive"),
    ("sprandom", &[], "use rw=randwrite over the whole drive"),
    ("stat_type", &[], "belongs to ioengine=filestat, which does not work on a block device"),
    ("std_redirect", &[], "belongs to ioengine=exec, which does not work on a block device"),
    ("steadystate_check_interval", &["ss_interval"], "steadystate looks at every second"),
    ("svcl", &[], "belongs to ioengine=dfs, which does not work on a block device"),
    ("thinktime_blocks_type", &[], "think time follows completed commands"),
    ("thinktime_iotime", &[], "use thinktime_blocks"),
    ("touch_objects", &[], "belongs to ioengine=rados, which does not work on a block device"),
    ("trim_backlog", &[], "use rw=trimwrite"),
    ("trim_backlog_batch", &[], "use rw=trimwrite"),
    ("trim_percentage", &[], "use rw=trimwrite"),
    ("trim_verify_zero", &[], "use rw=trimwrite"),
    ("ttl", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("verb", &[], "belongs to ioengine=rdma, which does not work on a block device"),
    ("verify_bytchk", &[], "SCSI commands other than READ and WRITE are not sent"),
    ("volume", &[], "belongs to ioengine=gfapi, which does not work on a block device"),
    ("window_size", &[], "belongs to ioengine=net, which does not work on a block device"),
    ("write_iolog", &[], "the commands of a run are not written down"),
    ("write_mode", &[], "other commands than reads, writes and trims are not sent"),
    ("write_zone_remainder", &[], "zoned drives are not simulated"),
    ("zone_reset_frequency", &[], "zoned drives are not simulated"),
    ("zone_reset_threshold", &[], "zoned drives are not simulated"),
    ("zonecapacity", &[], "zoned drives are not simulated"),
];

fn ignored_info(&(name, aliases, class): &(&'static str, &'static [&'static str], &'static str)) -> OptionInfo {
    let help = match class {
        "client" => "Says where a device is found; the drive is that of the command line.",
        "data" => "Data are taken to be new with every write, and never found twice; random numbers are ssdlab's own.",
        "errors" => "A run ends at the first error, and never for being slow.",
        "files" => "A simulated drive holds no files.",
        "logs" => {
            "Logs hold the times of the simulation, uncompressed; what is told of bandwidth and IOPS is sampled every 500 ms, whatever log_avg_msec says."
        }
        "priority" => "All commands have the same priority.",
        "report" => "Reports always hold these figures.",
        STREAMS => {
            "Jobs name no streams: all of their writes are of the first, on a drive that keeps streams apart, too."
        }
        "sending" => "Sending takes no time: there are no latencies of submission.",
        "verify" => "Every read is compared, by a tag for each 4 KiB; a difference ends the run.",
        _ => "Concerns the host's software, which is not simulated.",
    };
    OptionInfo { name, aliases, value: "any", default: "", help, usage: OptionUse::Ignored }
}

fn refused_info(&(name, aliases, help): &(&'static str, &'static [&'static str], &'static str)) -> OptionInfo {
    OptionInfo { name, aliases, value: "any", default: "", help, usage: OptionUse::Refused }
}

/// Every option that fio 3.42 of August 2026 knows, but for those of its profiles: first those with an effect, then those that
/// are ignored, then those that are refused.
pub fn option_table() -> impl Iterator<Item = OptionInfo> {
    let supported = SUPPORTED.iter().map(|e| e.info);
    supported.chain(IGNORED.iter().map(ignored_info)).chain(REFUSED.iter().map(refused_info))
}

/// What a name in a job file stands for.
pub(super) enum Found {
    /// The table name, and how to set it.
    Supported(&'static str, Apply),
    Ignored {
        name: &'static str,
        names_stream: bool,
    },
    /// With the reason.
    Refused(&'static str),
    /// With the nearest known name.
    Unknown(Option<&'static str>),
}

pub(super) fn find(name: &str) -> Found {
    let entry = SUPPORTED.iter().find(|e| e.info.name == name || e.info.aliases.contains(&name));
    if let Some(entry) = entry {
        return Found::Supported(entry.info.name, entry.apply);
    }
    let is = |o: &&(&'static str, &'static [&'static str], &'static str)| o.0 == name || o.1.contains(&name);
    if let Some(ignored) = IGNORED.iter().find(is) {
        return Found::Ignored { name: ignored.0, names_stream: ignored.2 == STREAMS };
    }
    match REFUSED.iter().find(is) {
        Some(refused) => Found::Refused(refused.2),
        None => {
            let names = option_table().flat_map(|o| std::iter::once(o.name).chain(o.aliases.iter().copied()));
            Found::Unknown(ssdlab_core::nearest(name, names).first().copied())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once_in_the_table() {
        let mut names: Vec<&str> =
            option_table().flat_map(|o| std::iter::once(o.name).chain(o.aliases.iter().copied())).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
