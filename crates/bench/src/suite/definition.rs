//! What a test declares of itself, and the parameters that all tests share.

use std::fmt::Write as _;

use crate::params::{Kind, ParamDef, ParamError, Params};

/// A figure that a test adds to the [`STANDARD_METRICS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricDef {
    /// The name; `{…}` stands for a parameter's value, as in `iops_qd{depth}`.
    pub key: &'static str,
    pub unit: &'static str,
    pub doc: &'static str,
    /// Names of the same of something else: of writes instead of reads, of the drive in another state.
    pub likewise: &'static [&'static str],
    /// Which end is the good one for who uses the drive, where the unit does not say it.
    pub(super) better: Option<Better>,
    /// Figures of the same run between which the true value lies, or that of another figure which hangs on the same.
    pub(super) between: Option<[&'static str; 2]>,
}

impl MetricDef {
    /// The name, and those that mean likewise.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.key).chain(self.likewise.iter().copied())
    }

    /// Whether a figure of this name is one of these.
    #[must_use]
    pub fn names(&self, figure: &str) -> bool {
        self.keys().any(|key| stands_for(key, figure))
    }

    /// What it is, and which figures are likewise.
    #[must_use]
    pub fn meaning(&self) -> String {
        let likewise = if self.likewise.is_empty() { "" } else { "; likewise " };
        format!("{}{likewise}{}", self.doc, self.likewise.join(", "))
    }

    /// The same, with names of other figures that mean likewise.
    pub(crate) const fn likewise(self, keys: &'static [&'static str]) -> MetricDef {
        MetricDef { likewise: keys, ..self }
    }

    /// The same, of which more is better.
    pub(crate) const fn higher(self) -> MetricDef {
        MetricDef { better: Some(Better::Higher), ..self }
    }

    /// The same, of which less is better.
    pub(crate) const fn lower(self) -> MetricDef {
        MetricDef { better: Some(Better::Lower), ..self }
    }

    /// The same, which is known no better than these two figures lie apart.
    pub(crate) const fn between(self, figures: [&'static str; 2]) -> MetricDef {
        MetricDef { between: Some(figures), ..self }
    }

    /// Which end is the good one; `None` where neither is.
    pub(super) fn good_end(&self) -> Option<Better> {
        self.better.or(Better::by_unit(self.unit))
    }
}

/// Whether a declared name stands for this figure: `iops_qd{depth}` does for `iops_qd32`, and not for `iops_qdeep`.
#[must_use]
pub fn stands_for(name: &str, figure: &str) -> bool {
    let Some((before, (placeholder, after))) =
        name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return name == figure;
    };
    let Some(rest) = figure.strip_prefix(before) else { return false };
    let mut splits = rest.char_indices().map(|(at, c)| rest.split_at(at + c.len_utf8()));
    splits.any(|(value, rest)| can_be(placeholder, value) && stands_for(after, rest))
}

/// What stands for a parameter in a declared name, and what can stand there in a figure's.
const PLACEHOLDERS: &[(&str, IsValue)] = &[
    ("depth", is_number),
    ("percent", is_number),
    ("n", is_number),
    ("seconds", is_number),
    ("size", |value| value.strip_suffix(['b', 'k', 'm']).is_some_and(is_number)),
    ("op", |value| OPS.contains(&value)),
    ("mode", |value| ["slc", "mlc", "tlc", "qlc"].contains(&value)),
    ("mix", |value| ["desktop", "boot", "workstation", "database", "streaming"].contains(&value)),
    ("part", |value| STANDARD_METRICS.iter().any(|metric| metric.key.strip_prefix("waf_") == Some(value))),
    ("of", is_of_latency),
    ("state", is_state),
];

type IsValue = fn(&str) -> bool;

const OPS: [&str; 2] = ["read", "write"];

fn can_be(placeholder: &str, value: &str) -> bool {
    PLACEHOLDERS.iter().any(|(name, is_one)| *name == placeholder && is_one(value))
}

fn is_number(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())
}

/// `p99`, and of one operation `p99_read`.
fn is_of_latency(value: &str) -> bool {
    let of_op = OPS.iter().find_map(|op| value.strip_suffix(op)?.strip_suffix('_'));
    let of = of_op.unwrap_or(value);
    STANDARD_METRICS.iter().any(|metric| metric.key.strip_prefix("latency_") == Some(of))
}

/// Ends of the names of figures that were measured once more (`joint=interval`), and what they then depend on: what was not
/// published of the traces.
pub const INTERVAL_ENDS: [(&str, &str); 3] =
    [("_small_deep", BY_DEPTH), ("_large_deep", BY_DEPTH), ("_idle_kept", "how long its pauses were in playback")];
const BY_DEPTH: &str = "how sizes go with depths";

/// In which the drive was, with which choice of what its trace leaves open, or both: `full`, `small_deep`, `full_small_deep`.
fn is_state(value: &str) -> bool {
    let is_drive = |value: &str| ["empty", "used", "full"].contains(&value);
    let before = INTERVAL_ENDS.iter().find_map(|(end, _)| format!("_{value}").strip_suffix(end).map(str::to_owned));
    match before {
        Some(before) => before.is_empty() || before.strip_prefix('_').is_some_and(is_drive),
        None => is_drive(value),
    }
}

/// A set of settings under which a test was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    /// Whether a review runs it, or only an explicit request.
    pub in_review: bool,
}

/// A test of the suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestDef {
    /// As on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub params: &'static [ParamDef],
    /// Figures of its own, beside the standard ones.
    pub metrics: &'static [MetricDef],
    pub variants: &'static [Variant],
    /// How long it takes beside the others, for the order of work and the progress bar.
    pub weight: f64,
    /// Its figures that tell most, best first, where what tells most of any test would not come first.
    pub leads: &'static [&'static str],
    /// It goes over the addresses in sequence, again and again: what it covered is how far it came.
    pub in_sequence: bool,
    /// Its figures are others the longer it runs.
    pub hangs_on_time: bool,
    /// It shows nothing of a drive without power figures.
    pub needs_power_figures: bool,
    /// What it counts and times is of the drive's size: a quick run has the drive whole.
    pub on_whole_drive: bool,
    /// It sends single sectors of 512 bytes, or from odd ones of these on, whatever its parameters say: nothing for larger sectors.
    pub sends_single_sectors: bool,
    /// The device of the catalog that it measures others by.
    pub reference: Option<&'static str>,
}

/// What few tests differ in; the names are each test's own.
pub(crate) const PLAIN: TestDef = TestDef {
    name: "",
    title: "",
    summary: "",
    params: &[],
    metrics: &[],
    variants: AS_IT_IS,
    weight: 1.0,
    leads: &[],
    in_sequence: false,
    hangs_on_time: false,
    needs_power_figures: false,
    on_whole_drive: false,
    sends_single_sectors: false,
    reference: None,
};

impl TestDef {
    /// All parameters that it takes: its own first, then those of every test that it does not declare itself.
    pub fn all_params(&self) -> impl Iterator<Item = &'static ParamDef> {
        let is_own = |common: &ParamDef| self.params.iter().any(|own| own.key == common.key);
        self.params.iter().chain(COMMON_PARAMS.iter().filter(move |common| !is_own(common)))
    }

    /// The parameters of a run with these settings, in full or as a quick run has it.
    ///
    /// # Errors
    /// A key that it does not take, or a value that does not parse or is out of range.
    pub fn resolve(&self, settings: &[(String, String)], quick: bool) -> Result<Params, ParamError> {
        self.resolve_for(settings, quick, false)
    }

    /// The same; with `whole_times`, a quick run shortens numbers of requests and no time.
    pub(crate) fn resolve_for(
        &self,
        settings: &[(String, String)],
        quick: bool,
        whole_times: bool,
    ) -> Result<Params, ParamError> {
        let params = Params::resolve(self.name, self.all_params().copied().collect(), settings, quick, whole_times)?;
        for (key, text) in settings {
            if let Some(twice) = twice_in_list(text).filter(|_| self.takes_list(key)) {
                return Err(params.value_error(key, text, &format!("{twice} stands twice; name each value once")));
            }
        }
        Ok(params)
    }

    fn takes_list(&self, key: &str) -> bool {
        self.all_params().any(|param| param.key == key && matches!(param.kind, Kind::List { .. }))
    }

    /// Whether runs with these settings are the same: what one says, the other may leave to the test. Settings that the test does
    /// not take are the same only as themselves.
    #[must_use]
    pub fn is_one_run(&self, a: &[(String, String)], b: &[(String, String)]) -> bool {
        let resolved = |settings| self.resolve(settings, false).ok().map(|params| params.to_json());
        a == b || resolved(a).is_some_and(|a| resolved(b) == Some(a))
    }

    /// What it does to a drive before it measures, whatever the drive holds, for a sentence: `fills first`. `None` where the drive is
    /// measured as it is, or where a parameter says what is filled.
    pub(super) fn prepares(&self) -> Option<&'static str> {
        PREPARE.iter().find(|(_, tests)| tests.contains(&self.name)).map(|(what, _)| *what)
    }

    /// All figures that it may have: its own first.
    pub fn all_metrics(&self) -> impl Iterator<Item = &'static MetricDef> {
        let of_stalls = if LOOK_FOR_STALLS.contains(&self.name) { STALL_METRICS } else { &[] };
        self.metrics.iter().chain(STANDARD_METRICS).chain(of_stalls)
    }

    /// What is declared of a figure of this name.
    #[must_use]
    pub fn metric(&self, figure: &str) -> Option<&'static MetricDef> {
        self.all_metrics().find(|m| m.names(figure))
    }
}

/// The first number of a list that stands there before.
fn twice_in_list(text: &str) -> Option<u64> {
    let numbers: Vec<u64> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    (1..numbers.len()).map(|i| (numbers[i], &numbers[..i])).find(|(n, before)| before.contains(n)).map(|(n, _)| n)
}

/// Which end of a figure is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    Higher,
    Lower,
}

impl Better {
    /// Of a figure in this unit, where its declaration says nothing else.
    pub(super) fn by_unit(unit: &str) -> Option<Better> {
        match unit {
            "IOPS" | "MB/s" | "points" => Some(Better::Higher),
            // Not joules: in a given time, who does less draws less.
            "us" | "ms" | "W" | "mW" | "J/GB" => Some(Better::Lower),
            _ => None,
        }
    }
}

/// The one way in which a test without variants runs in a review.
pub(crate) const AS_IT_IS: &[Variant] = &[Variant { name: "", settings: &[], in_review: true }];

/// Metric names that mean the same in every test.
pub const STANDARD_METRICS: &[MetricDef] = &[
    metric("iops", "IOPS", "completed requests a second, over the measured time"),
    metric("bandwidth", "MB/s", "decimal megabytes a second, over the measured time"),
    metric("latency_mean", "us", "mean latency, exact"),
    metric("latency_p50", "us", "median latency; percentiles are exact to 1.6 %, never averaged"),
    metric("latency_p90", "us", "latency that 90 % of requests do not exceed"),
    metric("latency_p99", "us", "latency that 99 % of requests do not exceed"),
    metric("latency_p99_9", "us", "latency that 99.9 % of requests do not exceed"),
    metric("latency_p99_99", "us", "latency that 99.99 % of requests do not exceed"),
    metric("latency_max", "us", "the slowest request, exact"),
    metric("waf", "ratio", "flash bytes programmed over host bytes written, in the measured run").lower(),
    metric(
        "waf_host",
        "ratio",
        "of these, what was programmed for the host: less than 1 where data are overwritten in the buffer, or compressed",
    ).lower(),
    metric(
        "waf_gc",
        "ratio",
        "of these, what garbage collection moved, and what came out of bad blocks; absent if nothing",
    ).lower(),
    metric("waf_fold", "ratio", "of these, what was folded out of an SLC cache, likewise").lower(),
    metric("waf_metadata", "ratio", "of these, journal, checkpoints and map pages, likewise").lower(),
    metric("waf_safety", "ratio", "of these, copies and parity of older pages of a word line, likewise").lower(),
    metric("iops_min", "IOPS", "the slowest second"),
    metric("iops_max", "IOPS", "the fastest second"),
    metric("energy", "J", "energy drawn in the measured run, where the drive file gives power figures"),
    metric("power_mean", "W", "mean power in the measured run, where the drive file gives power figures"),
    metric(
        "power_max",
        "W",
        "the second of the highest power, likewise; absent where the run is not measured by seconds",
    ),
    metric("temperature_max", "°C", "the warmest second, where the drive file has [heat]; likewise"),
    metric("held_for_heat", "%", "for what share of the measured run commands were held back by a hot drive, likewise").lower(),
];

/// Tests that prepare a drive whatever it holds, by what they do.
const PREPARE: &[(&str, &[&str])] = &[
    (
        "fills first",
        &[
            "consistency",
            "steady-state",
            "mixed-random",
            "mixed-sequential",
            "disk-inspection",
            "fragmented-read",
            "endurance",
            "fileserver",
            "analyzedisk",
            "storagemark-desktop",
            "storagemark-boot",
            "storagemark-workstation",
            "storagemark-database",
            "storagemark-streaming",
            "worn-in",
            "power",
        ],
    ),
    ("fills before its reads", &["qd-scaling"]),
    ("fills in part first", &["old-data"]),
    ("erases first, if it can be erased", &["hdtach", "trim", "slc-cache", "destroyer", "heavy", "light"]),
];

/// The tests that look for stalls.
const LOOK_FOR_STALLS: &[&str] = &[
    "random-read",
    "random-write",
    "sequential-read",
    "sequential-write",
    "consistency",
    "fileserver",
    "analyzedisk",
    "storagemark-desktop",
    "storagemark-boot",
    "storagemark-workstation",
    "storagemark-database",
    "storagemark-streaming",
];

/// Metric names of the tests that look for stalls; AnalyzeDisk has them with `_read` and `_write`.
pub const STALL_METRICS: &[MetricDef] = &[
    metric("stall_longest", "us", "the longest gap without a completion").likewise(&["stall_longest_{op}"]),
    metric("longest_gap_share", "%", "that gap, of the measured time").lower().likewise(&["longest_gap_share_{op}"]),
    metric("stall_share", "%", "share of the measured time that lay in gaps longer than 0.1 s")
        .lower()
        .likewise(&["stall_share_{op}"]),
    metric(
        "seconds_over_100ms",
        "%",
        "what it felt like: share of the seconds in which a request had been waiting for longer than 0.1 s",
    )
    .lower()
    .likewise(&["seconds_over_100ms_{op}"]),
    metric("seconds_over_500ms", "%", "the same for 0.5 s").lower().likewise(&["seconds_over_500ms_{op}"]),
    metric("seconds_over_1s", "%", "the same for 1 s").lower().likewise(&["seconds_over_1s_{op}"]),
];

/// Parameters of the host that every test takes.
pub const COMMON_PARAMS: &[ParamDef] = &[
    bytes(
        "max_transfer_bytes",
        "1MiB",
        512,
        32 << 20,
        "largest command that the host sends; larger requests are split. 1 MiB is what Windows' storahci does; an ATA \
         command can carry 32 MiB",
    ),
    integer(
        "settle_seconds",
        "10",
        "s",
        0,
        1_000_000,
        "rest between preparing the drive and measuring it, in which it may tidy up. Not published: the time it takes to \
         start the next program",
    )
    .beside_method(),
    number(
        "think_us",
        "0",
        "us",
        0.0,
        1e9,
        "the host's own time between a completion and the next request of the same place in the queue. Not published; \
         0 measures the drive alone",
    ),
    COMPRESSIBILITY,
    choice(
        "link_power",
        "active",
        LINK_POLICIES,
        "how the host treats the link of an idle drive: leaves it up, as the desktop computers of the reviews did, or lets it \
         sleep, which delays the next request (docs/power.md)",
    ),
];

/// What drives that compress make use of. Incompressible, as the reviews' data are; a test whose program writes others
/// declares the parameter itself.
const COMPRESSIBILITY: ParamDef = number(
    "compressibility_percent",
    "0",
    "%",
    0.0,
    100.0,
    "by how much the data written can be compressed; 0: not at all, as the reviews' data. Drives that do not compress are \
     the same with all (docs/compression.md)",
);

/// The names of [`LinkPolicy::NAMED`].
const LINK_POLICIES: &[&str] = &["active", "hipm", "dipm", "hipm+dipm", "hipm+dipm+devsleep"];

pub(crate) const fn metric(key: &'static str, unit: &'static str, doc: &'static str) -> MetricDef {
    MetricDef { key, unit, doc, likewise: &[], better: None, between: None }
}

pub(crate) const fn integer(
    key: &'static str,
    default: &'static str,
    unit: &'static str,
    min: u64,
    max: u64,
    doc: &'static str,
) -> ParamDef {
    ParamDef { key, default, unit, doc, kind: Kind::Integer { min, max }, quick_divisor: 1, of_method: true }
}

/// What `--quick` divides drives, spans and times by.
pub const QUICK_DIVISOR: u64 = 8;

/// A duration that `--quick` shortens with the drive.
pub(crate) const fn seconds(key: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    let kind = Kind::Integer { min: 1, max: 10_000_000 };
    ParamDef { key, default, unit: "s", doc, kind, quick_divisor: QUICK_DIVISOR, of_method: false }
}

pub(crate) const fn bytes(key: &'static str, default: &'static str, min: u64, max: u64, doc: &'static str) -> ParamDef {
    let kind = Kind::Bytes { min, max, multiple: 512 };
    ParamDef { key, default, unit: "B", doc, kind, quick_divisor: 1, of_method: true }
}

/// A request size, up to 1 GiB.
pub(crate) const fn block(key: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    bytes(key, default, 512, 1 << 30, doc)
}

/// An address range.
pub(crate) const fn span(key: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    bytes(key, default, 4096, 1 << 60, doc).beside_method()
}

/// For tests over the whole drive: 0 stands for it.
pub(crate) const WHOLE_SPAN: ParamDef =
    bytes("span_bytes", "0", 0, 1 << 60, "the test stays within the first so many bytes of the drive; 0: all of it")
        .beside_method();

pub(crate) const fn depth(key: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    integer(key, default, "", 1, 65_536, doc)
}

pub(crate) const fn depths(key: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    ParamDef {
        key,
        default,
        unit: "",
        doc,
        kind: Kind::List { min: 1, max: 65_536 },
        quick_divisor: 1,
        of_method: true,
    }
}

pub(crate) const fn number(
    key: &'static str,
    default: &'static str,
    unit: &'static str,
    min: f64,
    max: f64,
    doc: &'static str,
) -> ParamDef {
    ParamDef { key, default, unit, doc, kind: Kind::Number { min, max }, quick_divisor: 1, of_method: true }
}

/// Which addresses are how likely.
pub(crate) const fn distribution(key: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    ParamDef { key, default, unit: "", doc, kind: Kind::Distribution, quick_divisor: 1, of_method: true }
}

pub(crate) const fn choice(
    key: &'static str,
    default: &'static str,
    choices: &'static [&'static str],
    doc: &'static str,
) -> ParamDef {
    ParamDef { key, default, unit: "", doc, kind: Kind::Choice(choices), quick_divisor: 1, of_method: true }
}

impl ParamDef {
    /// The same, of which another value makes no other test: see [`ParamDef::of_method`].
    pub(crate) const fn beside_method(self) -> ParamDef {
        ParamDef { of_method: false, ..self }
    }
}

impl Variant {
    /// For [`crate::suite::run_test`].
    #[must_use]
    pub fn settings(&self) -> Vec<(String, String)> {
        self.settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect()
    }
}

/// Every test with its parameters and figures, as Markdown.
#[must_use]
pub fn reference(tests: &[&TestDef]) -> String {
    let mut out = String::from("# Tests\n\n");
    for test in tests {
        // Writing to a String cannot fail.
        let _ = write!(out, "## `{}`: {}\n\n{}\n\n", test.name, test.title, test.summary);
        params_table(&mut out, test.params);
        metrics_table(&mut out, test.metrics);
        let named: Vec<String> = test
            .variants
            .iter()
            .filter(|v| !v.name.is_empty())
            .map(|v| {
                let settings: Vec<String> = v.settings.iter().map(|(k, v)| format!("`{k}={v}`")).collect();
                let when = if v.in_review { "" } else { ", on request" };
                format!("- {} ({}{when})\n", v.name, settings.join(" "))
            })
            .collect();
        if !named.is_empty() {
            let _ = write!(out, "Variants:\n\n{}\n", named.concat());
        }
    }
    out.push_str("## Parameters of every test\n\n");
    params_table(&mut out, COMMON_PARAMS);
    out.push_str("## Figures of every test\n\n");
    metrics_table(&mut out, STANDARD_METRICS);
    out.push_str("## Figures of tests that look for stalls\n\n");
    metrics_table(&mut out, STALL_METRICS);
    out
}

fn params_table(out: &mut String, params: &[ParamDef]) {
    if params.is_empty() {
        return;
    }
    out.push_str("| parameter | default | unit | meaning |\n|---|---|---|---|\n");
    for p in params {
        let choices = match p.kind {
            Kind::Choice(c) => format!(" One of {}.", c.join(", ")),
            _ => String::new(),
        };
        let _ = writeln!(out, "| `{}` | {} | {} | {}.{choices} |", p.key, p.default, p.unit, p.doc);
    }
    out.push('\n');
}

fn metrics_table(out: &mut String, metrics: &[MetricDef]) {
    if metrics.is_empty() {
        return;
    }
    out.push_str("| figure | unit | meaning |\n|---|---|---|\n");
    for m in metrics {
        let _ = writeln!(out, "| `{}` | {} | {} |", m.key, m.unit, m.meaning());
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{TESTS, find_test};

    #[test]
    fn what_can_stand_in_a_declared_name_is_known() {
        for key in TESTS.iter().flat_map(|test| test.all_metrics()).flat_map(MetricDef::keys) {
            for placeholder in key.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default()) {
                assert!(PLACEHOLDERS.iter().any(|(name, _)| *name == placeholder), "{key}");
            }
        }
        assert!(LOOK_FOR_STALLS.iter().all(|name| find_test(name).is_ok()));
    }

    #[test]
    fn a_declared_name_stands_for_what_a_run_can_have_in_its_place_and_nothing_else() {
        let has = |test: &str, figure: &str| find_test(test).unwrap().metric(figure).is_some();
        for (test, figure) in [
            ("fileserver", "iops_qd32"),
            ("atto", "write_512b"),
            ("worn-in", "desktop_latency_worn"),
            ("power-cut", "at_rest_lost_mlc"),
            ("slc-cache", "recovered_trim_60s"),
            ("heavy", "bandwidth_full"),
            ("heavy", "bandwidth_small_deep"),
            ("heavy", "bandwidth_full_idle_kept"),
            ("heavy", "latency_p99_9_full"),
            ("heavy", "waf_gc_idle_kept"),
            ("heavy", "held_for_heat_full"),
            ("heavy", "latency_mean_read_full_large_deep"),
            ("analyzedisk", "stall_share_write"),
        ] {
            assert!(has(test, figure), "{figure}");
        }
        for (test, figure) in [
            ("fileserver", "iops_qdeep"),
            ("atto", "write_4kb"),
            ("atto", "stall_share"),
            ("worn-in", "office_latency_worn"),
            ("power-cut", "at_rest_lost_plc"),
            ("heavy", "bandwidth_fulll"),
            ("heavy", "bandwidth_"),
            ("heavy", "bandwidth_full_full"),
            ("heavy", "latency_p98_full"),
            ("heavy", "bandwidth_{state}"),
            ("analyzedisk", "stall_share_ü"),
        ] {
            assert!(!has(test, figure), "{figure}");
        }
    }
}
