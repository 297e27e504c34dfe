//! The table of options: name, value, meaning, and what to do with it. Parser, help and errors all read this.

use ssdlab_core::SECTOR_BYTES;

use super::engine::engine;
use super::job::{Amount, Job, MAX_CLONES, MAX_IN_FLIGHT};
use super::units::{self, TimeUnit};
use super::values;
use crate::pattern::BlockSizes;

/// Whether an option has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionUse {
    Supported,
    /// Accepted and named in a notice.
    Ignored,
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

fn block(job: &Job, text: &str) -> Result<u64, String> {
    let n = units::bytes(text, job.kb_base)?;
    whole_sectors(n, text)
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

fn rates(job: &Job, value: Option<&str>) -> Result<[Option<u64>; 3], String> {
    // fio: 0 is no limit.
    let given = values::triple(need(value)?, |t| units::bytes(t, job.kb_base))?;
    Ok(given.map(|r| r.filter(|&n| n > 0)))
}

static SUPPORTED: &[Entry] = options! {
    "name" "text", "the section's name", "Name of the job in reports."
        => |j, v| { j.name = need(v)?.to_owned(); Ok(()) };
    "description" "text", "none", "Text for reports."
        => |j, v| { j.description = Some(need(v)?.to_owned()); Ok(()) };
    "rw" ["readwrite"] "pattern", "read",
        "read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite or randtrimwrite."
        => |j, v| { j.rw = values::rw(need(v)?)?; Ok(()) };
    "bs" ["blocksize"] "bytes[,bytes[,bytes]]", "4k", "Block size of reads, writes and trims."
        => |j, v| {
            let given = values::triple(need(v)?, |t| block(j, t).map(BlockSizes::Fixed))?;
            values::overlay(&mut j.block_sizes, given);
            Ok(())
        };
    "bsrange" ["blocksize_range"] "min-max[,…]", "none", "Every multiple of min up to max, equally likely."
        => |j, v| {
            let given = values::triple(need(v)?, |t| {
                let (min, max) = values::range(t, j.kb_base)?;
                Ok(BlockSizes::Range { min: whole_sectors(min, t)?, max: whole_sectors(max, t)? })
            })?;
            values::overlay(&mut j.block_sizes, given);
            Ok(())
        };
    "bssplit" "bytes/percent:…[,…]", "none", "Weighted mix of block sizes; rules over bs."
        => |j, v| {
            let given = values::triple(need(v)?, |t| {
                let split = values::bssplit(t, j.kb_base)?;
                split.iter().try_for_each(|s| whole_sectors(s.0, t).map(|_| ()))?;
                Ok(Some(split))
            })?;
            values::overlay(&mut j.block_split, given);
            Ok(())
        };
    "blockalign" ["ba"] "bytes[,…]", "the smallest block size", "Random offsets are multiples of this."
        => |j, v| {
            let given = values::triple(need(v)?, |t| block(j, t).map(Some))?;
            values::overlay(&mut j.block_align, given);
            Ok(())
        };
    "size" "bytes or %", "the whole drive", "Length of the span that the job works on, and how much it does there."
        => |j, v| { j.size = Some(units::amount(need(v)?, j.kb_base)?); Ok(()) };
    "offset" "bytes or %", "0", "Where the span begins."
        => |j, v| { j.offset = units::amount(need(v)?, j.kb_base)?; Ok(()) };
    "offset_increment" "bytes or %", "0", "Clone n of the job begins n times this further on."
        => |j, v| { j.offset_increment = units::amount(need(v)?, j.kb_base)?; Ok(()) };
    "io_size" ["io_limit"] "bytes or %", "size", "How much to transfer; more than size goes round again."
        => |j, v| {
            let amount = units::amount(need(v)?, j.kb_base)?;
            // fio: 0 is "as much as size".
            j.io_size = (amount != Amount::Bytes(0)).then_some(amount);
            Ok(())
        };
    "iodepth" "count", "1", "Commands in flight, of an asynchronous engine."
        => |j, v| { j.iodepth = count(j, v, 1, MAX_IN_FLIGHT)? as u32; Ok(()) };
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
    "norandommap" "", "off", "Draw random blocks with replacement instead of covering each once."
        => |j, v| { j.norandommap = units::boolean(v)?; Ok(()) };
    "randseed" "number", "the run's seed", "Seed of the job's random numbers."
        => |j, v| { j.randseed = Some(count(j, v, 0, u64::MAX)?); Ok(()) };
    "randrepeat" ["allrandrepeat"] "0 or 1", "1", "Accepted; runs are always repeatable."
        => |j, v| { j.randrepeat = units::boolean(v)?; Ok(()) };
    "rate_iops" "count[,count[,count]]", "no limit", "Commands a second at most."
        => |j, v| { j.rate_iops = rates(j, v)?; Ok(()) };
    "rate" "bytes[,bytes[,bytes]]", "no limit", "Bytes a second at most."
        => |j, v| { j.rate_bytes = rates(j, v)?; Ok(()) };
    "thinktime" "time", "0", "Pause after completed commands (microseconds unless a unit is given)."
        => |j, v| { j.thinktime = units::time(need(v)?, TimeUnit::Microsecond)?; Ok(()) };
    "thinktime_blocks" "count", "1", "Completed commands between two pauses."
        => |j, v| { j.thinktime_blocks = count(j, v, 1, u64::MAX)?; Ok(()) };
    "fsync" "count", "0", "Flush after every so many writes; 0 never."
        => |j, v| { j.fsync = count(j, v, 0, u64::MAX)?; Ok(()) };
    "fdatasync" "count", "0", "As fsync: a drive sees no difference."
        => |j, v| { j.fdatasync = count(j, v, 0, u64::MAX)?; Ok(()) };
    "end_fsync" "0 or 1", "0", "Flush when the job ends."
        => |j, v| { j.end_fsync = units::boolean(v)?; Ok(()) };
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
    "loops" "count", "1", "Passes over the span."
        => |j, v| { j.loops = count(j, v, 1, u64::MAX)?; Ok(()) };
    "startdelay" "time", "0", "Wait before the first command (seconds unless a unit is given)."
        => |j, v| { j.startdelay = seconds(v)?; Ok(()) };
    "buffer_compress_percentage" "percent", "0", "How far the data of writes can be compressed, for drives that do it."
        => |j, v| { j.compress_percent = percent(v)?; Ok(()) };
    "buffer_pattern" "pattern", "none", "The same bytes over and over: data that can be compressed to nothing."
        => |j, v| { need(v)?; j.compress_percent = 100; Ok(()) };
    "zero_buffers" "", "off", "Zeroes: data that can be compressed to nothing."
        => |j, v| {
            if units::boolean(v)? {
                j.compress_percent = 100;
            }
            Ok(())
        };
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

/// Options of the host's software, of files, buffers, processors and logs.
#[rustfmt::skip]
static IGNORED: &[(&str, &str)] = &[
    ("allow_file_create", "files"), ("allow_mounted_write", "files"), ("atomic", "host"), ("buffer_compress_chunk", "data"),
    ("buffered", "host"), ("bwavgtime", "logs"),
    ("clat_percentiles", "report"), ("clocksource", "host"), ("continue_on_error", "host"), ("cpumask", "host"),
    ("cpus_allowed", "host"), ("cpus_allowed_policy", "host"), ("create_fsync", "files"), ("create_on_open", "files"),
    ("create_serialize", "files"), ("dedupe_percentage", "data"), ("direct", "host"), ("directory", "files"),
    ("disable_bw", "report"), ("disable_bw_measurement", "report"), ("disable_clat", "report"), ("disable_lat", "report"),
    ("disable_slat", "report"), ("disk_util", "report"), ("fadvise_hint", "host"), ("fallocate", "files"),
    ("filename", "files"), ("filename_format", "files"), ("fixedbufs", "host"), ("force_async", "host"),
    ("gtod_cpu", "host"), ("gtod_reduce", "host"), ("hipri", "host"), ("invalidate", "host"),
    ("iodepth_batch", "host"), ("iodepth_batch_complete", "host"), ("iodepth_batch_complete_max", "host"),
    ("iodepth_batch_complete_min", "host"), ("iodepth_batch_submit", "host"), ("iodepth_low", "host"),
    ("iomem", "host"), ("iomem_align", "host"), ("iopsavgtime", "logs"),
    ("lat_percentiles", "report"), ("lockmem", "host"), ("log_avg_msec", "logs"), ("log_entries", "logs"),
    ("log_hist_coarseness", "logs"), ("log_hist_msec", "logs"), ("log_max_value", "logs"), ("log_offset", "logs"),
    ("log_unix_epoch", "logs"), ("mem", "host"), ("mem_align", "host"), ("nice", "host"), ("nonvectored", "host"),
    ("numa_cpu_nodes", "host"), ("numa_mem_policy", "host"), ("openfiles", "files"), ("overwrite", "files"),
    ("per_job_logs", "logs"), ("percentile_list", "report"), ("prio", "host"), ("prioclass", "host"),
    ("random_generator", "host"), ("refill_buffers", "data"), ("registerfiles", "host"), ("scramble_buffers", "data"),
    ("slat_percentiles", "report"), ("softrandommap", "host"), ("sqthread_poll", "host"), ("sqthread_poll_cpu", "host"),
    ("thread", "host"), ("unified_rw_reporting", "report"), ("unit_base", "report"), ("unlink", "files"),
    ("userspace_reap", "host"), ("write_bw_log", "logs"), ("write_hist_log", "logs"), ("write_iops_log", "logs"),
    ("write_lat_log", "logs"),
];

fn ignored_info(&(name, class): &(&'static str, &'static str)) -> OptionInfo {
    let help = match class {
        "files" => "A simulated drive holds no files.",
        "data" => "Data are taken to be new with every write, and never found twice.",
        "logs" => "Series are written by ssdlab itself.",
        "report" => "Reports always hold these figures.",
        _ => "Concerns the host's software, which is not simulated.",
    };
    OptionInfo { name, aliases: &[], value: "any", default: "", help, usage: OptionUse::Ignored }
}

/// Every option that a job file may contain: first those with an effect, then those that are ignored.
pub fn option_table() -> impl Iterator<Item = OptionInfo> {
    SUPPORTED.iter().map(|e| e.info).chain(IGNORED.iter().map(ignored_info))
}

/// What a name in a job file stands for.
pub(super) enum Found {
    /// The table name, and how to set it.
    Supported(&'static str, Apply),
    Ignored(&'static str),
    /// With the nearest known name.
    Unknown(Option<&'static str>),
}

pub(super) fn find(name: &str) -> Found {
    let entry = SUPPORTED.iter().find(|e| e.info.name == name || e.info.aliases.contains(&name));
    if let Some(entry) = entry {
        return Found::Supported(entry.info.name, entry.apply);
    }
    match IGNORED.iter().find(|(n, _)| *n == name) {
        Some((n, _)) => Found::Ignored(n),
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
