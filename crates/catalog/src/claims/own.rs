//! Published figures of one's own, beside those of the catalog.

use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::suite::{charts_of, find_test, gives_verdict};
use ssdlab_core::{CAUSES, Cause, nearest};

use super::check::{Check, Figure, Order, RangeCheck};
use super::facts::{drive_with_facts, is_fact, is_key};
use super::{Claim, NeededRun, all, parse, settings};
use crate::diagnostic::Diagnostic;

const MANUAL: &str = "docs/published-figures.md";

/// Reads figures of one's own from the text of a file, which has the form of those in `catalog/claims`; `file` is its name
/// in messages. What no test could show is refused here, and not after hours of tests.
///
/// # Errors
/// If it is no such file, has no figure, or one that cannot be checked.
pub fn own(file: &str, text: &str) -> Result<Vec<Claim>, Diagnostic> {
    let claims = parse(file, text)
        .map_err(|e| if e.help.is_empty() { e.help(format!("{MANUAL} shows what such files look like")) } else { e })?;
    if claims.is_empty() {
        return Err(Diagnostic::new(format!("{file} has no figure"))
            .help(format!("give a [[claim]] for each; {MANUAL} shows what they look like")));
    }
    let of_catalog = all();
    for (k, claim) in claims.iter().enumerate() {
        let refuse = |what: &str, help: &str| {
            Err(Diagnostic::new(format!("{file}: figure {}: {what}", claim.id)).help(help.to_owned()))
        };
        if claims[..k].iter().any(|earlier| earlier.id == claim.id) {
            return refuse("another has this id", "give each figure an id of its own");
        }
        if of_catalog.iter().any(|known| known.id == claim.id) {
            return refuse("a figure of the catalog has this id", "give it another id");
        }
        if let Some(id) = &claim.repeats
            && !claims.iter().chain(&of_catalog).any(|other| claim.can_repeat(other))
        {
            let what = format!("there is no figure {id} about the same drives that it could repeat");
            return refuse(&what, "leave `repeats` out");
        }
        claim
            .can_be_checked()
            .map_err(|e| Diagnostic { what: format!("{file}: figure {}: {}", claim.id, e.what), ..e })?;
    }
    Ok(claims)
}

impl Claim {
    /// Whether it can say the same as `other`, which then counts for both: `repeats` names it, and it is about the same drives.
    #[must_use]
    pub fn can_repeat(&self, other: &Claim) -> bool {
        self.repeats.as_ref() == Some(&other.id) && other.repeats.is_none() && self.drives().is_subset(&other.drives())
    }

    /// Whether tests and figures that the check names are there, with these parameters and in this unit, and whether drives
    /// could miss it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn can_be_checked(&self) -> Result<(), Diagnostic> {
        if self.drives().is_empty() {
            return Err(Diagnostic::new("it is about no device").help("name one in `devices`"));
        }
        if let Some(twice) = self.devices.iter().enumerate().find(|(k, device)| self.devices[..*k].contains(device)) {
            return Err(Diagnostic::new(format!("it names {} twice", twice.1)).help("name each device once"));
        }
        self.calibrates.iter().try_for_each(|key| is_key(key))?;
        for NeededRun { test, settings, .. } in self.runs() {
            let job = PlanJob {
                lab: 0,
                test: find_test(&test)?,
                variant: String::new(),
                settings: settings.into_iter().collect(),
            };
            job.check(false)?;
        }
        match &self.check {
            Check::Value(check) => {
                is_figure(&check.test, &check.metric, Some(&check.unit))?;
                is_number(check.value)?;
                if check.value <= 0.0 {
                    return Err(Diagnostic::new(format!("nothing is within some per cent of {}", check.value))
                        .help("give check.range with at_most instead"));
                }
                match check.tolerance_percent {
                    tolerance if tolerance > 0.0 && tolerance.is_finite() => Ok(()),
                    tolerance => Err(Diagnostic::new(format!("a tolerance of {tolerance} %"))
                        .help("give a tolerance_percent above 0")),
                }
            }
            Check::Range(check) => {
                is_figure(&check.test, &check.metric, Some(&check.unit))?;
                is_range(check)
            }
            Check::Order(order) => is_order(order),
            Check::Ranking(ranking) => {
                is_figure(&ranking.test, &ranking.metric, None)?;
                ranking.published.values().copied().try_for_each(is_number)?;
                let mut values = ranking.published.values();
                let first = values.next();
                if values.all(|value| Some(value) == first) {
                    return Err(nothing_misses_it("give two or more drives in `published`, with different figures"));
                }
                match ranking.wrong_pairs_at_most_percent {
                    share if (0.0..100.0).contains(&share) => Ok(()),
                    share => Err(Diagnostic::new(format!("{share} % of the pairs may stand in the wrong order"))
                        .help("give wrong_pairs_at_most_percent from 0 to below 100")),
                }
            }
            Check::Reports(check) if check.metrics.is_empty() => {
                Err(nothing_misses_it("name one or more figures in `metrics`"))
            }
            Check::Reports(check) => {
                check.metrics.iter().try_for_each(|metric| is_figure(&check.test, metric, None).map(|_| ()))
            }
            Check::MainCause(check) => match check.causes.as_slice() {
                [] => Err(Diagnostic::new("it names no cause").help("give one or more in `causes`")),
                causes => causes.iter().try_for_each(|cause| is_cause(cause)),
            },
            Check::Method(check) if check.params.is_empty() => {
                Err(nothing_misses_it("give one or more parameters in `params`"))
            }
            Check::Method(check) => check.params.keys().try_for_each(|key| is_parameter(&check.test, key)),
            Check::Fact(facts) if facts.is_empty() => Err(nothing_misses_it("give one or more facts")),
            Check::Fact(facts) => {
                facts.keys().try_for_each(|key| is_fact(key))?;
                // Whether there is such a device is asked where it is needed.
                let others = self.devices.iter().filter(|name| crate::device(name).is_ok());
                others.into_iter().try_for_each(|name| drive_with_facts(name).map(|_| ()))
            }
            Check::Verdict(check) if !gives_verdict(&check.test) => {
                Err(Diagnostic::new(format!("{} comes to no verdict", check.test))
                    .help("check one of its figures, with check.value or check.range"))
            }
            Check::Verdict(_) | Check::NotSimulated(_) => Ok(()),
        }
    }
}

fn nothing_misses_it(help: &str) -> Diagnostic {
    Diagnostic::new("nothing could miss it").help(help.to_owned())
}

fn is_order(order: &Order) -> Result<(), Diagnostic> {
    let [higher, lower] = [unit_of(&order.higher)?, unit_of(&order.lower)?];
    if higher != lower {
        return Err(Diagnostic::new(format!("{higher} cannot be compared with {lower}"))
            .help("give figures of one unit in `higher` and `lower`"));
    }
    is_number(order.ratio_above)?;
    if order.ratio_above <= 0.0 {
        return Err(nothing_misses_it("give a ratio_above of more than 0; 1 stands for any figure that is higher"));
    }
    if is_one_figure(&order.higher, &order.lower)? {
        return Err(Diagnostic::new("it compares a figure with itself").help("name two in `higher` and `lower`"));
    }
    Ok(())
}

/// Whether two sides of an order are the same figure of the same run, whatever either leaves to the test.
fn is_one_figure(a: &Figure, b: &Figure) -> Result<bool, Diagnostic> {
    let [of_a, of_b] = [a, b].map(|side| settings(&side.params).into_iter().collect::<Vec<_>>());
    let is_one_run = a.device == b.device && a.test == b.test && find_test(&a.test)?.is_one_run(&of_a, &of_b);
    Ok(is_one_run && a.band == b.band && (a.band.is_some() || a.metric == b.metric))
}

/// The unit of a side of an order: of a band that of a share.
fn unit_of(figure: &Figure) -> Result<&'static str, Diagnostic> {
    let Some(band) = &figure.band else { return is_figure(&figure.test, &figure.metric, None) };
    if !charts_of(&figure.test).any(|id| id == band.chart) {
        let known: Vec<&str> = charts_of(&figure.test).collect();
        return Err(Diagnostic::new(format!("{} draws no chart `{}`", figure.test, band.chart))
            .help(format!("there are {}", known.join(", "))));
    }
    [band.from, band.to].into_iter().try_for_each(is_number)?;
    if band.from > band.to {
        return Err(Diagnostic::new(format!("nothing lies from {} to {}", band.from, band.to))
            .help("give the lower bound in `from`"));
    }
    Ok("%")
}

/// The unit of a test's figure of this name, which is `unit` if one is given.
fn is_figure(test: &str, metric: &str, unit: Option<&str>) -> Result<&'static str, Diagnostic> {
    let Some(known) = find_test(test)?.metric(metric) else {
        return Err(Diagnostic::new(format!("{test} has no figure `{metric}`"))
            .help("`ssdlab list tests --json` names those of each test"));
    };
    match unit {
        Some(unit) if unit != known.unit => {
            Err(Diagnostic::new(format!("{test} gives {metric} in {}, not in {unit:?}", known.unit))
                .help(format!("convert the value, and say unit = {:?}", known.unit)))
        }
        _ => Ok(known.unit),
    }
}

fn is_cause(key: &str) -> Result<(), Diagnostic> {
    if CAUSES.iter().any(|cause| cause.key() == key) {
        return Ok(());
    }
    let known = CAUSES.map(Cause::key).join(", ");
    Err(Diagnostic::new(format!("there is no cause `{key}`")).help(format!("there are {known}")))
}

/// Whether a test has a parameter of this name. Any value can have been published.
fn is_parameter(test: &str, key: &str) -> Result<(), Diagnostic> {
    let def = find_test(test)?;
    if def.all_params().any(|param| param.key == key) {
        return Ok(());
    }
    let close = nearest(key, def.all_params().map(|param| param.key));
    let known = || def.all_params().map(|param| param.key).collect::<Vec<_>>().join(", ");
    Err(Diagnostic::new(format!("{test} has no parameter `{key}`")).help(if close.is_empty() {
        format!("there are {}", known())
    } else {
        format!("did you mean `{}`?", close.join("` or `"))
    }))
}

fn is_number(value: f64) -> Result<(), Diagnostic> {
    if value.is_finite() { Ok(()) } else { Err(Diagnostic::new(format!("{value} is no number that a drive can show"))) }
}

fn is_range(check: &RangeCheck) -> Result<(), Diagnostic> {
    let help = "give at_least, at_most, or both";
    match (check.at_least, check.at_most) {
        (None, None) => Err(nothing_misses_it(help)),
        (Some(low), Some(high)) if low > high => {
            Err(Diagnostic::new(format!("nothing is at least {low} and at most {high}")).help(help))
        }
        (low, high) => low.into_iter().chain(high).try_for_each(is_number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(check: &str) -> String {
        format!(
            "[[claim]]\nid = \"mine-1\"\ndevices = [\"mine.toml\"]\nquantity = \"sequential read\"\n\
             published = \"500 MB/s\"\nsource = \"data sheet\"\n{check}\n"
        )
    }

    const VALUE: &str = "check.value = { test = \"sequential-read\", metric = \"bandwidth\", value = 500.0, unit = \"MB/s\", tolerance_percent = 10 }";

    fn refused(text: &str) -> String {
        own("f.toml", text).expect_err("it cannot be checked").to_string()
    }

    #[test]
    fn a_figure_of_ones_own_is_read() {
        let claims = own("f.toml", &file(VALUE)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(claims.len(), 1);
        assert!(claims[0].concerns("mine.toml"));
    }

    #[test]
    fn what_no_test_could_show_is_refused_before_any_runs() {
        for (from, to, told) in [
            ("sequential-read\"", "sequentialread\"", "there is no test `sequentialread`"),
            ("\"bandwidth\"", "\"band_width\"", "sequential-read has no figure `band_width`"),
            ("\"bandwidth\"", "\"stall_share_of\"", "sequential-read has no figure `stall_share_of`"),
            ("\"MB/s\"", "\"GB/s\"", "gives bandwidth in MB/s, not in \"GB/s\""),
            ("500.0", "nan", "NaN is no number"),
            ("500.0", "0.0", "nothing is within some per cent of 0"),
            ("500.0", "-5.0", "nothing is within some per cent of -5"),
            ("percent = 10", "percent = 0", "a tolerance of 0 %"),
            ("metric =", "params = { queue_depht = 4 }, metric =", "has no parameter `queue_depht`"),
            ("metric =", "params = { queue_depth = 0 }, metric =", "queue_depth=0 does not fit"),
        ] {
            let text = file(&VALUE.replace(from, to));
            assert_ne!(text, file(VALUE), "{from}");
            let error = refused(&text);
            assert!(error.contains("f.toml: figure mine-1: ") && error.contains(told), "{error}");
        }
        let range = |bounds: &str| {
            file(&format!("check.range = {{ test = \"power\", metric = \"power_max\", unit = \"W\"{bounds} }}"))
        };
        assert!(refused(&range("")).contains("nothing could miss it"));
        assert!(refused(&range(", at_least = 4.0, at_most = 3.0")).contains("nothing is at least 4 and at most 3"));
        own("f.toml", &range(", at_most = 3.0")).unwrap_or_else(|e| panic!("{e}"));
        for (check, told) in [
            ("main-cause = { test = \"consistency\", causes = [\"gc\"] }", "there is no cause `gc`"),
            ("main-cause = { test = \"consistency\", causes = [] }", "it names no cause"),
            ("method = { test = \"power\", params = { secnds = 60 } }", "power has no parameter `secnds`"),
            ("fact = { \"die.nominal_gb\" = 16 }", "no drive has a fact `die.nominal_gb`"),
            ("verdict = { test = \"power\", pass = true }", "power comes to no verdict"),
            (&order("power", "metric = \"power_max\"", "latency_mean", 1.0), "W cannot be compared with us"),
            (&order("consistency", &band("iops-tial", 1.0), "waf", 1.0), "consistency draws no chart `iops-tial`"),
            (&order("consistency", &band("iops-tail-log", 9.0), "waf", 1.0), "nothing lies from 9 to 5"),
            (&order("consistency", &band("iops-tail-log", 1.0), "waf", 1.0), "% cannot be compared with ratio"),
        ] {
            let error = refused(&file(&format!("check.{check}")));
            assert!(error.contains("f.toml: figure mine-1: ") && error.contains(told), "{error}");
        }
        let of_disk = file("check.fact = { capacity_bytes = 1 }").replace("mine.toml", "spinpoint-f1-1tb");
        assert!(refused(&of_disk).contains("spinpoint-f1-1tb is no single SSD, and facts are of those"));
    }

    /// An order of a figure of a test over one of random-read.
    fn order(test: &str, higher: &str, lower: &str, ratio_above: f64) -> String {
        format!(
            "order = {{ higher = {{ device = \"a.toml\", test = \"{test}\", {higher} }}, lower = {{ device = \"a.toml\", \
             test = \"random-read\", metric = \"{lower}\" }}, ratio_above = {ratio_above:?} }}"
        )
    }

    fn band(chart: &str, from: f64) -> String {
        format!("band = {{ chart = \"{chart}\", from = {from:?}, to = 5.0 }}")
    }

    #[test]
    fn what_no_drive_could_miss_is_refused() {
        let nothing = "nothing could miss it";
        let ranking = |published: &str| {
            format!(
                "ranking = {{ test = \"random-read\", metric = \"iops\", wrong_pairs_at_most_percent = 10, published = {{ {published} }} }}"
            )
        };
        for (check, told) in [
            (&*ranking(""), nothing),
            (&ranking("a = 1.0"), nothing),
            (&ranking("a = 1.0, b = 1.0"), nothing),
            (&order("random-read", "metric = \"iops_max\"", "iops", -3.0), nothing),
            (&order("random-read", "metric = \"iops_max\"", "iops", 0.0), nothing),
            (&order("random-read", "metric = \"iops\"", "iops", 0.5), "it compares a figure with itself"),
            (
                &order("random-read", "metric = \"iops\", params = { queue_depth = 32.0 }", "iops", 0.5),
                "it compares a figure with itself",
            ),
            ("method = { test = \"power\", params = {} }", nothing),
            ("reports = { test = \"power\", metrics = [] }", nothing),
            ("fact = {}", nothing),
        ] {
            let error = refused(&file(&format!("check.{check}")));
            assert!(error.contains("f.toml: figure mine-1: ") && error.contains(told), "{error}");
        }
        for check in [
            ranking("a = 1.0, b = 2.0"),
            order("random-read", "metric = \"iops_max\"", "iops", 0.5),
            order("random-read", "metric = \"iops\", params = { queue_depth = 1 }", "iops", 0.5),
        ] {
            own("f.toml", &file(&format!("check.{check}"))).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn what_a_figure_repeats_or_calibrates_is_there_and_a_device_counts_once() {
        let with = |head: &str| file(VALUE).replacen("id = ", &format!("{head}\nid = "), 1);
        assert!(refused(&with("calibrates = [\"no.such.key\"]")).contains("no file has a key `no.such.key`"));
        for key in ["gc.policy", "die.timing.read_us", "seek.average_read_ms", "link.command_us"] {
            own("f.toml", &with(&format!("calibrates = [\"{key}\"]"))).unwrap_or_else(|e| panic!("{e}"));
        }
        let told = "there is no figure M005 about the same drives that it could repeat";
        assert!(refused(&with("repeats = \"M005\"")).contains(told));
        let other = file(VALUE).replace("mine-1", "mine-2").replace("\"mine.toml\"", "\"mine.toml\", \"its.toml\"");
        own("f.toml", &format!("{other}{}", with("repeats = \"mine-2\""))).unwrap_or_else(|e| panic!("{e}"));
        let twice = file(VALUE).replace("\"mine.toml\"", "\"mine.toml\", \"mine.toml\"");
        assert!(refused(&twice).contains("figure mine-1: it names mine.toml twice"));
        let two_paths = own("f.toml", &twice.replacen("mine.toml", "./mine.toml", 1)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(two_paths[0].clone().renamed(|_| "mine.toml".to_owned()).devices, ["mine.toml"]);
    }

    #[test]
    fn an_id_stands_for_one_figure() {
        let two = format!("{}{}", file(VALUE), file(VALUE));
        assert!(refused(&two).contains("figure mine-1: another has this id"));
        let taken = file(VALUE).replace("mine-1", "M005");
        assert!(refused(&taken).contains("figure M005: a figure of the catalog has this id"));
        assert!(refused("claim = []").contains("f.toml has no figure"));
        let nothing = file(VALUE).replace("\"mine.toml\"", "");
        assert!(refused(&nothing).contains("it is about no device"));
    }

    #[test]
    fn the_file_in_the_docs_can_be_used() {
        let docs = include_str!("../../../../docs/published-figures.md");
        let file = docs.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it shows one");
        let claims = own("docs", file).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(claims.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["sheet-1", "sheet-2"]);
    }

    #[test]
    fn every_figure_of_the_catalog_can_be_checked() {
        for claim in all() {
            claim.can_be_checked().unwrap_or_else(|e| panic!("{}: {e}", claim.id));
        }
    }
}
