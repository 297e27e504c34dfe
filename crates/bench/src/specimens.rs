//! Several drives of one model: what differs between them, and the band that they make.
//!
//! Specimens share the host's commands and differ in what is drawn once for each drive: factory bad blocks, and whatever
//! else the device draws from its seed.

use ssdlab_core::Rng;

use crate::outcome::{Chart, Mark, Metric, Outcome, SHARE_BELOW, Series, Table};
use crate::suite::tail::latency_at;

/// How the keys of figures end that are the lowest and the highest of all specimens.
pub const BAND_ENDINGS: [&str; 2] = ["_lowest", "_highest"];

/// How the id of a chart ends that is the band of another.
const BAND_CHART: &str = "-band";

/// Whether a chart of this id is a band: its latency curves go as far as those of all specimens, and none of them to the slowest
/// request.
#[must_use]
pub fn is_band(chart_id: &str) -> bool {
    chart_id.ends_with(BAND_CHART)
}

/// Places of a band of latency curves.
const SHARES_PER_DECADE: f64 = 20.0;

/// The device seed of specimen `number`, counted from 0; the first has `seed` itself.
#[must_use]
pub fn device_seed(seed: u64, number: u32) -> u64 {
    if number == 0 { seed } else { Rng::new(seed).stream(&format!("specimen {number}")).next_u64() }
}

/// The first specimen's outcome, with the band of all: for each metric that all have, `…_lowest` and `…_highest`; a table
/// of these with the median; and for each line or scatter whose points all share their places, and for latency
/// percentiles, a chart of the lowest, the median and the highest. `None` without outcomes.
#[must_use]
pub fn band(outcomes: &[Outcome]) -> Option<Outcome> {
    let first = outcomes.first()?;
    let mut out = first.clone();
    if outcomes.len() == 1 {
        return Some(out);
    }
    let mut rows = Vec::new();
    for (key, metric) in &first.metrics {
        let values: Option<Vec<f64>> = outcomes.iter().map(|o| o.metrics.get(key).map(|m| m.value)).collect();
        let Some(values) = values else { continue };
        let [low, middle, high] = spread(values);
        for (ending, value) in BAND_ENDINGS.into_iter().zip([low, high]) {
            out.metrics.insert(format!("{key}{ending}"), Metric::new(value, &metric.unit));
        }
        rows.push([vec![key.clone()], [low, middle, high].map(text).to_vec(), vec![metric.unit.clone()]].concat());
    }
    out.metrics.insert("specimens".to_owned(), Metric::new(outcomes.len() as f64, "count"));
    let columns = ["figure", "lowest", "median", "highest", "unit"].map(str::to_owned).to_vec();
    out.tables.push(Table {
        title: format!("{} specimens", outcomes.len()),
        caption: "Drives of one model under the same commands.".to_owned(),
        columns,
        rows,
    });
    out.charts =
        first.charts.iter().flat_map(|chart| [Some(chart.clone()), band_of(chart, outcomes)]).flatten().collect();
    out.notes.push(format!(
        "{} drives of this model were tested. Where a figure or chart says nothing else, it is the first one's.",
        outcomes.len()
    ));
    out.notes.extend(differences(outcomes));
    Some(out)
}

/// Lowest, median and highest. Of an even number, the median is the mean of the two in the middle.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let [lower, upper] = [(values.len() - 1) / 2, values.len() / 2].map(|middle| values[middle]);
    // Halves first: so equal ones stay what they are, however large.
    let median = if lower == upper { lower } else { lower / 2.0 + upper / 2.0 };
    [values[0], median, values[values.len() - 1]]
}

/// What the first specimen, which verdict and text are of, does not tell of the others.
fn differences(outcomes: &[Outcome]) -> Vec<String> {
    let first = &outcomes[0];
    let mut notes = Vec::new();
    // By their numbers, counted from 1.
    let numbers = |is: &dyn Fn(&Outcome) -> bool| -> Vec<String> {
        outcomes.iter().enumerate().filter(|(_, o)| is(o)).map(|(i, _)| (i + 1).to_string()).collect()
    };
    let unsettled = numbers(&|o| !o.has_settled());
    if !unsettled.is_empty() && unsettled.len() < outcomes.len() {
        notes.push(format!(
            "Of {} specimens, not all had settled: those that had not are number {}.",
            outcomes.len(),
            unsettled.join(", ")
        ));
    }
    let pass = |o: &Outcome| o.verdict.as_ref().map(|verdict| verdict.pass);
    let others = numbers(&|o| pass(o) != pass(first));
    if !others.is_empty() {
        let told = |o: &Outcome| o.verdict.as_ref().map_or("none", crate::outcome::Verdict::word);
        let verdicts: Vec<&str> = outcomes.iter().map(told).collect();
        notes.push(format!("The verdict is that of the first specimen; in order they are: {}.", verdicts.join(", ")));
    }
    if outcomes.iter().all(|o| o.metrics == first.metrics) {
        notes.push("All specimens are alike: nothing that is drawn for each drive moves these figures.".to_owned());
    }
    notes
}

/// Four digits: enough to compare, not more than a table needs.
fn text(value: f64) -> String {
    let digits = if value == 0.0 { 0.0 } else { 3.0 - libm::floor(libm::log10(value.abs())) };
    format!("{value:.*}", digits.clamp(0.0, 6.0) as usize)
}

/// The band of a chart that every outcome has with the same places.
fn band_of(chart: &Chart, outcomes: &[Outcome]) -> Option<Chart> {
    if !matches!(chart.mark, Mark::Line | Mark::Scatter) {
        return None;
    }
    let of_all: Vec<&Chart> =
        outcomes.iter().map(|o| o.charts.iter().find(|c| c.id == chart.id)).collect::<Option<_>>()?;
    let mut series = Vec::new();
    for place in 0..chart.series.len() {
        let lines: Vec<&Series> = of_all.iter().map(|c| c.series.get(place)).collect::<Option<_>>()?;
        let of_shares = chart.x.unit == SHARE_BELOW;
        let lines = if of_shares { at_common_shares(&lines) } else { lines.into_iter().cloned().collect() };
        let own = &lines[0];
        let places = |s: &Series| s.points.iter().map(|p| p[0].to_bits()).collect::<Vec<_>>();
        if !lines.iter().all(|line| places(line) == places(own)) {
            return None;
        }
        let spreads: Vec<[f64; 3]> =
            (0..own.points.len()).map(|i| spread(lines.iter().map(|line| line.points[i][1]).collect())).collect();
        for (end, word) in ["lowest", "median", "highest"].into_iter().enumerate() {
            let points = own.points.iter().zip(&spreads).map(|(p, s)| [p[0], s[end]]).collect();
            let name = [own.name.as_str(), word].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
            series.push(Series { name, points });
        }
    }
    Some(Chart {
        id: format!("{}{BAND_CHART}", chart.id),
        title: format!("{}, {} specimens", chart.title, outcomes.len()),
        caption: "At each place the lowest, the median and the highest of all specimens.".to_owned(),
        mark: Mark::Line,
        overlay_drives: false,
        series,
        ..chart.clone()
    })
}

/// Latency curves of several drives at the same shares, as far as all of them reach.
fn at_common_shares(lines: &[&Series]) -> Vec<Series> {
    let reach = lines.iter().map(|line| line.points.last().map_or(0.0, |p| p[0])).fold(f64::INFINITY, f64::min);
    let steps = (0..).map(|i| libm::pow(10.0, f64::from(i) / SHARES_PER_DECADE));
    let places: Vec<f64> = steps.take_while(|&x| x < reach).chain((reach >= 1.0).then_some(reach)).collect();
    let at = |line: &Series| places.iter().filter_map(|&x| Some([x, latency_at(&line.points, x)?])).collect();
    lines.iter().map(|line| Series { name: line.name.clone(), points: at(line) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelSpec;
    use crate::monitor::Monitor;
    use crate::outcome::{NotSteady, Unsettled, Verdict};
    use crate::suite::tail::TAIL_CHART;
    use crate::suite::{find_test, run_test};

    fn outcome(read_us: u64) -> Outcome {
        let spec = ModelSpec { read: read_us * 1000, ..ModelSpec::default() };
        let settings = [("seconds", "3"), ("queue_depth", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        run_test(find_test("random-read").unwrap(), &spec, &settings, 1, false, &Monitor::silent()).unwrap()
    }

    #[test]
    fn the_band_holds_every_specimen_and_leaves_the_first_as_it_is() {
        let all = [outcome(100), outcome(80), outcome(125)];
        let out = band(&all).unwrap();
        let value = |key: &str| out.metrics[key].value;
        assert_eq!([value("iops_lowest"), value("iops"), value("iops_highest")], [8_000.0, 10_000.0, 12_500.0]);
        assert_eq!(value("specimens"), 3.0);
        let row = out.tables.last().unwrap().rows.iter().find(|row| row[0] == "iops").unwrap();
        assert_eq!(row[1..4], ["8000", "10000", "12500"]);
        let chart = out.charts.iter().find(|c| c.id == "rate-over-time-band").expect("every second is one of each");
        let ends: Vec<f64> = chart.series.iter().map(|s| s.points[1][1]).collect();
        assert!(chart.series.len() == 3 && ends.is_sorted() && ends[0] < ends[2], "{ends:?}");
        // Latency curves of drives that answered different numbers of requests have a band, as far as all reach.
        let chart = out.charts.iter().find(|c| c.id == "latency-percentiles-band").expect("latencies have a band");
        assert!(is_band(&chart.id) && !is_band(TAIL_CHART));
        let at = |place: usize| chart.series.iter().map(|s| s.points[place][1]).collect::<Vec<_>>();
        let reach = chart.series[0].points.last().unwrap()[0];
        assert_eq!((at(0), reach), (vec![80.0, 100.0, 125.0], 24_000.0));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle() {
        assert_eq!(spread(vec![4.0, 1.0, 3.0, 2.0]), [1.0, 2.5, 4.0]);
        assert_eq!(spread(vec![3.0, 1.0, 2.0])[1], 2.0);
        assert_eq!(spread(vec![0.3, 0.3])[1], 0.3);
    }

    #[test]
    fn specimens_that_differ_in_what_only_the_first_is_asked_for_are_told_of() {
        let notes = |change: &dyn Fn(&mut Outcome)| {
            let mut all = [outcome(100), outcome(100), outcome(100)];
            change(&mut all[1]);
            band(&all).unwrap().notes.join(" ")
        };
        let alike = "nothing that is drawn for each drive moves these figures";
        assert!(notes(&|_| ()).contains(alike));
        let faster = notes(&|o| _ = o.metrics.insert("iops".to_owned(), Metric::new(1.0, "IOPS")));
        assert!(!faster.contains(alike) && !faster.contains("specimens, not"), "{faster}");
        let drifting = notes(&|o| o.not_steady.push(NotSteady::new(Unsettled::Drifts, "they drift".to_owned())));
        assert!(drifting.contains("those that had not are number 2."), "{drifting}");
        let failed = notes(&|o| o.verdict = Some(Verdict { pass: Some(false), sentence: String::new() }));
        assert!(failed.contains("in order they are: none, fail, none."), "{failed}");
    }

    #[test]
    fn one_specimen_is_the_drive_itself() {
        assert_eq!(band(&[outcome(100)]).unwrap(), outcome(100));
        assert_eq!(device_seed(5, 0), 5);
        assert_ne!(device_seed(5, 1), device_seed(5, 2));
    }
}
