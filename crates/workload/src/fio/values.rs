//! fio's compound values: up to three by operation, splits, distributions.

use ssdlab_core::Nanos;

use super::job::{RandomDistribution, Rw, SteadyMetric, SteadyState};
use super::units::{self, TimeUnit};
use crate::pattern::{Zone, ZoneExtent};

/// Values for reads, writes and trims: `a` for all three, `a,b` with `b` for writes and trims, `a,b,c`. An empty
/// place leaves what was.
pub(super) fn triple<T: Clone>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<[Option<T>; 3], String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let one = |part: &str| {
        if part.is_empty() { Ok(None) } else { parse(part).map(Some) }
    };
    match parts[..] {
        [a] => one(a).map(|a| [a.clone(), a.clone(), a]),
        [a, b] => Ok([one(a)?, one(b)?, one(b)?]),
        [a, b, c] => Ok([one(a)?, one(b)?, one(c)?]),
        _ => Err(format!("`{text}` has more than three values; at most one each for reads, writes and trims")),
    }
}

/// Copies what is given over what was.
pub(super) fn overlay<T>(target: &mut [T; 3], given: [Option<T>; 3]) {
    for (t, g) in target.iter_mut().zip(given) {
        if let Some(g) = g {
            *t = g;
        }
    }
}

/// A range such as `4k-64k` or `4k:64k`, smaller end first whichever way it is written.
pub(super) fn range(text: &str, kb_base: u64) -> Result<(u64, u64), String> {
    let (a, b) = text
        .split_once(['-', ':'])
        .ok_or_else(|| format!("`{text}` is not a range; write the smallest and the largest size, such as 4k-64k"))?;
    let (a, b) = (units::bytes(a, kb_base)?, units::bytes(b, kb_base)?);
    Ok((a.min(b), a.max(b)))
}

/// A size, or the smallest and the largest of a range of them.
pub(super) fn size_or_range(text: &str, kb_base: u64) -> Result<(u64, u64), String> {
    match text.split_once(['-', ':']).filter(|(first, _)| !first.trim().is_empty()) {
        Some(_) => range(text, kb_base),
        None => units::bytes(text, kb_base).map(|n| (n, n)),
    }
}

/// Fills percentages that were left out with equal parts of what is missing from 100, as fio does.
fn fill_up(percents: &[Option<u32>], what: &str) -> Result<Vec<u32>, String> {
    let given: u64 = percents.iter().flatten().map(|&p| u64::from(p)).sum();
    if given > 100 {
        return Err(format!("the percentages of {what} add up to {given}; 100 is the limit"));
    }
    let missing = percents.iter().filter(|p| p.is_none()).count() as u64;
    if given < 100 && missing > 100 - given {
        let left = 100 - given;
        return Err(format!(
            "{missing} of {what} have no percentage and share the {left} per cent that are left: at most {left} can, in whole per cent"
        ));
    }
    let share = (100 - given).checked_div(missing).unwrap_or(0);
    // What integer division leaves over goes to the first ones.
    let mut rest = (100 - given).checked_rem(missing).unwrap_or(0);
    Ok(percents
        .iter()
        .map(|p| {
            p.unwrap_or_else(|| {
                let extra = u64::from(rest > 0);
                rest -= extra;
                (share + extra) as u32
            })
        })
        .collect())
}

fn percent(text: &str) -> Result<Option<u32>, String> {
    match text.trim().trim_end_matches('%') {
        "" => Ok(None),
        digits => match digits.parse::<u32>() {
            Ok(p) if p <= 100 => Ok(Some(p)),
            _ => Err(format!("`{text}` must be a percentage from 0 to 100")),
        },
    }
}

/// A percentage of a list that is to make 100. As fio's code has it, 0 is the same as none.
fn share(text: &str) -> Result<Option<u32>, String> {
    Ok(percent(text)?.filter(|&p| p > 0))
}

/// The entries of a list. As in fio, a colon may end it.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix(':').unwrap_or(text).split(':')
}

/// `4k/60:64k/40`; a percentage that is left out gets an equal part of the rest.
pub(super) fn bssplit(text: &str, kb_base: u64) -> Result<Vec<(u64, u32)>, String> {
    let mut sizes = Vec::new();
    let mut percents = Vec::new();
    for entry in entries(text) {
        if entry.is_empty() {
            return Err(format!("`{text}` has two colons with nothing between them"));
        }
        let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
        sizes.push(units::bytes(size, kb_base)?);
        percents.push(share(percent)?);
    }
    let percents = fill_up(&percents, "the block sizes")?;
    let sum: u32 = percents.iter().sum();
    if sum != 100 {
        return Err(format!("the percentages of the block sizes add up to {sum}; they must make 100"));
    }
    Ok(sizes.into_iter().zip(percents).collect())
}

/// Zones of one operation: `access/size:access/size`, where size is per cent or bytes.
fn zones(text: &str, absolute: bool, kb_base: u64) -> Result<Vec<Zone>, String> {
    let (mut access, mut extents) = (Vec::new(), Vec::new());
    for entry in entries(text) {
        let (accesses, size) = entry.split_once('/').ok_or_else(|| {
            format!("`{entry}` is not a zone; write per cent of the accesses, a slash and the size, such as 60/10")
        })?;
        access.push(percent(accesses)?);
        extents.push(size);
    }
    let access = fill_up(&access, "the accesses")?;
    let sum: u32 = access.iter().sum();
    if sum != 100 {
        return Err(format!("the percentages of the accesses add up to {sum}; they must make 100"));
    }
    let extents: Vec<ZoneExtent> = if absolute {
        extents.into_iter().map(|e| units::bytes(e, kb_base).map(ZoneExtent::Bytes)).collect::<Result<_, _>>()?
    } else {
        let percents: Vec<_> = extents.into_iter().map(share).collect::<Result<_, _>>()?;
        fill_up(&percents, "the zone sizes")?.into_iter().map(ZoneExtent::Percent).collect()
    };
    Ok(access.into_iter().zip(extents).map(|(access_percent, extent)| Zone { access_percent, extent }).collect())
}

/// A number with decimals that fio would read as a parameter of a distribution.
fn decimal(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(v),
        _ => Err(format!("`{text}` is not a number")),
    }
}

/// `theta` or `theta:center`.
fn parameters(text: Option<&str>, default: f64) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else {
        return Ok((default, None));
    };
    let (value, center) = match text.split_once([':', '/']) {
        Some((value, center)) => (value, Some(decimal(center)?)),
        None => (text, None),
    };
    if let Some(c) = center
        && !(0.0..=1.0).contains(&c)
    {
        return Err(format!("the centre `{c}` must be 0 to 1"));
    }
    Ok((decimal(value)?, center))
}

/// `random_distribution`.
pub(super) fn distribution(text: &str, kb_base: u64) -> Result<RandomDistribution, String> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name.trim(), Some(rest)),
        None => (text.trim(), None),
    };
    let zoned = |absolute| {
        let text = rest.ok_or_else(|| format!("`{name}` needs its zones, such as {name}:60/10:30/20:10/70"))?;
        let given = triple(text, |t| zones(t, absolute, kb_base))?;
        let first = given.iter().flatten().next().cloned().ok_or_else(|| format!("`{name}` needs its zones"))?;
        Ok(RandomDistribution::Zoned(given.map(|z| z.unwrap_or_else(|| first.clone()))))
    };
    match name {
        "random" => match rest {
            None => Ok(RandomDistribution::Random),
            Some(_) => Err("`random` takes no parameter".into()),
        },
        "zipf" => {
            let (theta, center) = parameters(rest, 1.1)?;
            if theta <= 0.0 || theta == 1.0 {
                return Err(format!("zipf theta `{theta}` must be greater than 0 and not 1"));
            }
            Ok(RandomDistribution::Zipf { theta, center })
        }
        "pareto" => {
            let (h, center) = parameters(rest, 0.2)?;
            if h <= 0.0 || h >= 1.0 {
                return Err(format!("pareto h `{h}` must lie between 0 and 1"));
            }
            Ok(RandomDistribution::Pareto { h, center })
        }
        "zoned" => zoned(false),
        "zoned_abs" => zoned(true),
        _ => Err(format!(
            "`{name}` is not supported; use random, zipf:theta, pareto:h, zoned:access/size:… or zoned_abs:access/bytes:…"
        )),
    }
}

impl RandomDistribution {
    /// Reads `random`, `zipf:1.1`, `pareto:0.2`, `zoned:80/20:20/80` and the rest of what fio's option takes.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        distribution(text, 1024)
    }
}

/// A time, or the shortest and the longest of a range of them.
pub(super) fn times(text: &str, default: TimeUnit) -> Result<(Nanos, Nanos), String> {
    let (shortest, longest) = match text.split_once('-').filter(|(shortest, _)| !shortest.trim().is_empty()) {
        Some((shortest, longest)) => (units::time(shortest, default)?, units::time(longest, default)?),
        None => {
            let time = units::time(text, default)?;
            (time, time)
        }
    };
    if shortest > longest {
        return Err(format!("`{text}` must be a time, or a shorter and a longer one, such as 1-2"));
    }
    Ok((shortest, longest))
}

/// A percentage with decimals, above 0.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
    match decimal(text.trim().trim_end_matches('%'))? {
        p if p > 0.0 && p <= 100.0 => Ok(p),
        _ => Err(format!("`{text}` must be more than 0 and at most 100")),
    }
}

/// Most percentiles of a list; fio's own limit.
const MAX_PERCENTILES: usize = 20;

/// `percentile_list`, in rising order.
pub(super) fn percentiles(text: &str) -> Result<Vec<f64>, String> {
    let mut list = text.split(':').map(percentage).collect::<Result<Vec<_>, _>>()?;
    if list.len() > MAX_PERCENTILES {
        return Err(format!("has {} percentiles; at most {MAX_PERCENTILES} are possible", list.len()));
    }
    list.sort_by(f64::total_cmp);
    list.dedup();
    Ok(list)
}

/// `steadystate`: `iops:5%`, `bw_slope:0.3%`, `iops:100`.
pub(super) fn steady_state(text: &str, kb_base: u64) -> Result<SteadyState, String> {
    let (what, limit) = text.split_once(':').ok_or_else(|| format!("`{text}` needs a limit, such as iops:5%"))?;
    let (metric, slope) = match what.trim() {
        "iops" => (SteadyMetric::Iops, false),
        "iops_slope" => (SteadyMetric::Iops, true),
        "bw" => (SteadyMetric::Bandwidth, false),
        "bw_slope" => (SteadyMetric::Bandwidth, true),
        other => return Err(format!("`{other}` must be iops, iops_slope, bw or bw_slope")),
    };
    let limit = limit.trim();
    let (limit, percent) = match limit.strip_suffix('%') {
        Some(percent) => (decimal(percent)?, true),
        None if metric == SteadyMetric::Bandwidth => (units::bytes(limit, kb_base)? as f64, false),
        None => (decimal(limit)?, false),
    };
    if limit <= 0.0 {
        return Err(format!("`{text}`: the limit must be more than 0"));
    }
    Ok(SteadyState { metric, slope, limit, percent })
}

const VERIFY_METHODS: &[&str] = &[
    "md5",
    "crc16",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc64",
    "crc7",
    "xxhash",
    "sha512",
    "sha256",
    "sha1",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "meta",
    "pattern",
    "pattern_hdr",
    "null",
];

/// `verify`.
pub(super) fn verify_method(text: &str) -> Result<String, String> {
    if VERIFY_METHODS.contains(&text) {
        return Ok(text.to_owned());
    }
    let nearest = ssdlab_core::nearest(text, VERIFY_METHODS.iter().copied());
    Err(match nearest.first() {
        Some(close) => format!("there is no method `{text}`; did you mean `{close}`?"),
        None => format!("there is no method `{text}`; use {}", VERIFY_METHODS.join(", ")),
    })
}

/// What a log file's name begins with; empty for the job's name.
pub(super) fn log_name(text: Option<&str>) -> Result<String, String> {
    let name = text.unwrap_or_default();
    if name.contains(['/', '\\', '\0']) || name == ".." {
        return Err(format!("`{name}` must be a name without folders; `--log-dir DIR` says where logs are written"));
    }
    Ok(name.to_owned())
}

/// `rw`.
pub(super) fn rw(text: &str) -> Result<Rw, String> {
    match text {
        "read" => Ok(Rw::Read),
        "write" => Ok(Rw::Write),
        "trim" => Ok(Rw::Trim),
        "randread" => Ok(Rw::RandRead),
        "randwrite" => Ok(Rw::RandWrite),
        "randtrim" => Ok(Rw::RandTrim),
        "rw" | "readwrite" => Ok(Rw::ReadWrite),
        "randrw" => Ok(Rw::RandRw),
        "trimwrite" => Ok(Rw::TrimWrite),
        "randtrimwrite" => Ok(Rw::RandTrimWrite),
        _ => Err(format!(
            "`{text}` is not supported; use read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite or \
             randtrimwrite"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_operation_follow_fio() {
        let parse = |t: &str| triple(t, |p| units::bytes(p, 1024));
        assert_eq!(parse("4k"), Ok([Some(4096), Some(4096), Some(4096)]));
        assert_eq!(parse("8k,32k"), Ok([Some(8192), Some(32768), Some(32768)]));
        assert_eq!(parse("8k,32k,"), Ok([Some(8192), Some(32768), None]));
        assert_eq!(parse(",8k"), Ok([None, Some(8192), Some(8192)]));
        assert!(parse("1,2,3,4").is_err());
    }

    #[test]
    fn splits_share_what_is_left_among_those_without_a_percentage() {
        assert_eq!(bssplit("4k/10:64k/50:32k/40", 1024), Ok(vec![(4096, 10), (65536, 50), (32768, 40)]));
        assert_eq!(bssplit("4k/50:1k/:32k/", 1024), Ok(vec![(4096, 50), (1024, 25), (32768, 25)]));
        assert_eq!(bssplit("1k:2k:4k", 1024), Ok(vec![(1024, 34), (2048, 33), (4096, 33)]));
        assert_eq!(
            bssplit("4k/0:8k/50:64k/", 1024),
            Ok(vec![(4096, 25), (8192, 50), (65536, 25)]),
            "0 is none, as in fio"
        );
        assert_eq!(bssplit("4k/50:8k/50:", 1024), Ok(vec![(4096, 50), (8192, 50)]), "a colon at the end");
        assert!(bssplit("4k/50::8k/50", 1024).is_err_and(|e| e.contains("nothing between them")));
        assert!(bssplit("4k/60:8k/60", 1024).is_err());
        assert!(bssplit("4k/60:8k/30", 1024).is_err());
        let sizes = |count: u32| (1..=count).map(|size| format!("{size}k/")).collect::<Vec<_>>().join(":");
        assert!(bssplit(&sizes(100), 1024).is_ok_and(|sizes| sizes.iter().all(|size| size.1 == 1)));
        let e = bssplit(&sizes(101), 1024).unwrap_err();
        assert!(e.contains("101 of the block sizes have no percentage") && e.contains("at most 100 can"), "{e}");
    }

    #[test]
    fn distributions_are_understood_and_bad_ones_refused() {
        assert_eq!(distribution("zipf:1.2", 1024), Ok(RandomDistribution::Zipf { theta: 1.2, center: None }));
        assert_eq!(
            distribution("zipf:1.2:0.25", 1024),
            Ok(RandomDistribution::Zipf { theta: 1.2, center: Some(0.25) })
        );
        assert_eq!(distribution("pareto", 1024), Ok(RandomDistribution::Pareto { h: 0.2, center: None }));
        let Ok(RandomDistribution::Zoned(zones)) = distribution("zoned:60/10:30/20:8/30:2/40", 1024) else { panic!() };
        assert_eq!(zones[1][3], Zone { access_percent: 2, extent: ZoneExtent::Percent(40) });
        let Ok(RandomDistribution::Zoned(zones)) = distribution("zoned_abs:60/20G:40/1t", 1024) else { panic!() };
        assert_eq!(zones[0][0].extent, ZoneExtent::Bytes(20 << 30));
        let Ok(RandomDistribution::Zoned(zones)) = distribution("zoned:0/0:100/60:", 1024) else { panic!() };
        let zone = |access_percent, size| Zone { access_percent, extent: ZoneExtent::Percent(size) };
        assert_eq!(zones[0], [zone(0, 40), zone(100, 60)], "no accesses are none, no size is what is left");
        for bad in ["zipf:1.0", "zipf:nan", "zipf:x", "pareto:1", "zoned", "zoned:60", "zoned:60/10:30/20", "normal:5"]
        {
            assert!(distribution(bad, 1024).is_err(), "{bad}");
        }
    }
}
