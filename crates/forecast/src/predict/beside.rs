//! Predictions beside what was published: a table, and how many figures were met.

use std::collections::BTreeMap;

use ssdlab_bench::suite::find_test;
use ssdlab_catalog::claims::{self, Check, Claim};
use ssdlab_report::figure_text;

use super::folder::slug;
use super::{Predicted, Prediction, by_slug, is_figure};

/// Around the table of a page.
const TABLE_BEGINS: &str = "<!-- What `ssdlab predict` prints";
const TABLE_ENDS: &str = "<!-- End of what `make predictions` writes. -->";

/// Predictions beside the figures of `claims`, as a Markdown table: every predicted figure has a row for each figure or bound
/// that was published of it, met or missed, and one if none was. What was said not to be there has a row once it was published.
#[must_use]
pub fn beside_figures(predictions: &[Prediction], claims: &[Claim]) -> String {
    if predictions.is_empty() {
        return "No prediction has been made yet.\n".to_owned();
    }
    let mut text = String::from(
        "| drive | figure | predicted | band | published | off by | within the band | hangs on |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let claims = &by_slug(claims);
    // A figure that a drive is asked about twice is one figure.
    let (mut first, mut again) = (Judged::default(), Judged::default());
    let known = crate::figures::predicted();
    for (k, prediction) in predictions.iter().enumerate() {
        let name = name_among(predictions, k);
        let judged = if made_before(predictions, k) == 0 { &mut first } else { &mut again };
        for figure in &prediction.figures {
            let predicted = figure_text(figure.value, &figure.unit);
            let published = published(prediction, (&figure.test, &figure.settings, &figure.metric), claims);
            let mut rows: Vec<String> =
                published.iter().map(|published| judged.cells(prediction, Some(figure), published)).collect();
            if rows.is_empty() {
                rows.push("– | – | –".to_owned());
            }
            let number = |v: f64| figure_text(v, &figure.unit);
            let band =
                figure.band.map_or("–".to_owned(), |[low, high]| format!("{} to {}", number(low), number(high)));
            let hangs_on: Vec<String> = figure.hangs_on.iter().map(|key| format!("`{key}`")).collect();
            for row in rows {
                let hangs_on = hangs_on.join(", ");
                text.push_str(&format!("| {name} | {} | {predicted} | {band} | {row} | {hangs_on} |\n", figure.title));
            }
        }
        for title in prediction.without.keys() {
            let Some(figure) = known.iter().find(|figure| figure.title == *title) else { continue };
            for published in published(prediction, (figure.test.name, &figure.settings, &figure.metric), claims) {
                let row = judged.cells(prediction, None, &published);
                text.push_str(&format!("| {name} | {title} | none | – | {row} |  |\n"));
            }
        }
    }
    text.push_str(&beside_nothing(predictions, claims));
    text.push_str(&first.told(""));
    text.push_str(&again.told(" of a later prediction of the same drive"));
    text.push_str(&of_few_estimates(predictions));
    text
}

/// Whose bands are of some estimates only, or leave out some values, which the table does not show.
fn of_few_estimates(predictions: &[Prediction]) -> String {
    let mut drives: Vec<(&[String], Vec<String>)> = Vec::new();
    for (k, prediction) in predictions.iter().enumerate().filter(|(_, p)| !p.varied_keys.is_empty()) {
        let name = name_among(predictions, k);
        match drives.iter_mut().find(|(keys, _)| *keys == prediction.varied_keys.as_slice()) {
            Some((_, names)) => names.push(name),
            None => drives.push((&prediction.varied_keys, vec![name])),
        }
    }
    let told = |(keys, names): &(&[String], Vec<String>)| {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let (keys, names) = (keys.join(", "), names.join(", "));
        format!("\nBands of {names}: of {keys} alone; they are too narrow by what all other estimates would add.\n")
    };
    let mut text: String = drives.iter().map(told).collect();
    for (k, prediction) in predictions.iter().enumerate().filter(|(_, p)| !p.not_tried.is_empty()) {
        let name = name_among(predictions, k);
        let mut left_out: Vec<String> =
            prediction.not_tried.iter().map(|l| format!("`{}` = {}", l.key, l.value)).collect();
        left_out.sort();
        left_out.dedup();
        text.push_str(&format!("\nBands of {name}: without {}, which could not be tried.\n", left_out.join(", ")));
    }
    text
}

/// What was published of drives that were predicted, but says nothing of what was: it must not be taken for met.
fn beside_nothing(predictions: &[Prediction], claims: &[Claim]) -> String {
    let known = crate::figures::predicted();
    let has = |prediction: &Prediction, claim: &Claim| {
        let claim = std::slice::from_ref(claim);
        let figures = prediction.figures.iter().map(|f| (f.test.as_str(), &f.settings, f.metric.as_str()));
        let without = known.iter().filter(|f| prediction.without.contains_key(&f.title));
        let without = without.map(|f| (f.test.name, &f.settings, f.metric.as_str()));
        figures.chain(without).any(|figure| !published(prediction, figure, claim).is_empty())
    };
    let mut text = String::new();
    for (k, prediction) in predictions.iter().enumerate() {
        let drive = slug(&prediction.device);
        let of_it = || predictions.iter().filter(|p| slug(&p.device) == drive);
        // Once of each drive, whatever predictions there are of it.
        if predictions[..k].iter().any(|p| slug(&p.device) == drive) {
            continue;
        }
        let others: Vec<String> = claims
            .iter()
            .filter(|claim| is_figure(claim) && claim.concerns(&drive) && !of_it().any(|p| has(p, claim)))
            .map(|claim| format!("{}, {}", claim.quantity, claim.published))
            .collect();
        if !others.is_empty() {
            text.push_str(&format!("\nPublished of {drive}, but beside nothing predicted: {}.\n", others.join("; ")));
        }
    }
    text
}

/// How many predictions of the same drive were made before: of quick ones only quick ones count, and of whole ones whole ones, so
/// that who has tried it in small has not predicted it yet.
fn made_before(predictions: &[Prediction], k: usize) -> usize {
    let this = &predictions[k];
    let is_another_of_it = |p: &&Prediction| p.quick == this.quick && slug(&p.device) == slug(&this.device);
    predictions[..k].iter().filter(is_another_of_it).count()
}

/// A drive that was predicted before has a number behind its name.
fn name_among(predictions: &[Prediction], k: usize) -> String {
    let prediction = &predictions[k];
    let name = match made_before(predictions, k) {
        0 => prediction.device.clone(),
        before => format!("{} ({})", prediction.device, before + 1),
    };
    if prediction.quick { format!("{name}, quick") } else { name }
}

/// What was published of a predicted figure.
#[derive(PartialEq)]
enum Published {
    Value(f64, String),
    /// Lowest and highest value that make the published words true.
    Bounds([Option<f64>; 2], String),
}

/// How many published figures were met.
#[derive(Default)]
struct Judged {
    within: usize,
    outside: usize,
    no_band: usize,
    said_not_to_be: usize,
    bounds_met: usize,
    bounds_missed: usize,
}

impl Judged {
    /// A published figure, how far off the predicted one is (if it was not said not to be there), and whether the band has it;
    /// of bounds, whether the predicted figure lies within them.
    fn cells(&mut self, prediction: &Prediction, figure: Option<&Predicted>, published: &Published) -> String {
        let (value, unit) = match published {
            Published::Value(value, unit) => (*value, unit),
            Published::Bounds(bounds, unit) => return self.cells_of_bounds(prediction, figure, *bounds, unit),
        };
        let shown = figure_text(value, unit);
        let Some(figure) = figure else {
            if prediction.quick {
                return format!("{shown} | – | not judged");
            }
            self.said_not_to_be += 1;
            return format!("{shown} | – | **no**");
        };
        let off = format!("{:+.0} %", (figure.value / value - 1.0) * 100.0);
        // As everywhere, a shortened run meets and misses nothing.
        let word = match figure.band.filter(|_| !prediction.quick) {
            _ if prediction.quick => "not judged",
            None => {
                self.no_band += 1;
                "no band"
            }
            Some([low, high]) if (low..=high).contains(&value) => {
                self.within += 1;
                "yes"
            }
            Some(_) => {
                self.outside += 1;
                "**no**"
            }
        };
        format!("{shown} | {off} | {word}")
    }

    fn cells_of_bounds(
        &mut self,
        prediction: &Prediction,
        figure: Option<&Predicted>,
        [low, high]: [Option<f64>; 2],
        unit: &str,
    ) -> String {
        let text = |value: f64| figure_text(value, unit);
        let shown = match (low.map(text), high.map(text)) {
            (Some(low), Some(high)) if low == high => format!("exactly {low}"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("at least {low}"),
            (None, high) => format!("at most {}", high.unwrap_or_default()),
        };
        let is_met = |value: f64| low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high);
        let word = match figure {
            _ if prediction.quick => "not judged",
            Some(figure) if is_met(figure.value) => {
                self.bounds_met += 1;
                "bound met"
            }
            _ => {
                self.bounds_missed += 1;
                "**bound missed**"
            }
        };
        format!("{shown} | – | {word}")
    }

    /// `of`: what is said of the predictions behind each sentence's subject.
    fn told(&self, of: &str) -> String {
        let Judged { within, outside, no_band, said_not_to_be, bounds_met, bounds_missed } = *self;
        let bounds = match bounds_met + bounds_missed {
            0 => String::new(),
            all => format!("\nBounds met by the figures{of}: {bounds_met} of {all} that were published.\n"),
        };
        let all = within + outside + no_band + said_not_to_be;
        if all == 0 {
            return bounds;
        }
        let mut text = format!("\nWithin the band{of}: {within} of {all} published figures");
        if no_band > 0 {
            text.push_str(&format!("; {no_band} of them had no band"));
        }
        if said_not_to_be > 0 {
            text.push_str(&format!("; {said_not_to_be} of them, it was predicted, would not be there"));
        }
        text.push_str(".\n");
        text + &bounds
    }
}

/// A page with `table` between its markers; `None` of a page without them.
#[must_use]
pub fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_at_checked(page.find(TABLE_BEGINS)?)?;
    let marker = rest.find("-->")? + "-->".len();
    let end = rest.find(TABLE_ENDS)?;
    Some(format!("{before}{}\n\n{table}\n{}", &rest[..marker], &rest[end..]))
}

/// Whether a test with these settings is the same run.
fn are_the_same(test: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> bool {
    let list = |settings: &BTreeMap<String, String>| settings.clone().into_iter().collect::<Vec<_>>();
    // A prediction of long ago may name a test that is no more.
    find_test(test).map_or(a == b, |test| test.is_one_run(&list(a), &list(b)))
}

/// The published figures that are measured by the same test in the same run: `figure` is test, settings and metric.
fn published(
    prediction: &Prediction,
    (test, settings, metric): (&str, &BTreeMap<String, String>, &str),
    claims: &[Claim],
) -> Vec<Published> {
    let drive = slug(&prediction.device);
    let mut all: Vec<Published> = Vec::new();
    for claim in claims {
        let (of, said) = match &claim.check {
            Check::Value(check) => (&check.metric, Published::Value(check.value, check.unit.clone())),
            Check::Range(check) => {
                (&check.metric, Published::Bounds([check.at_least, check.at_most], check.unit.clone()))
            }
            _ => continue,
        };
        if of != metric {
            continue;
        }
        let same_run = claims::needed(std::slice::from_ref(claim), &[&drive])
            .iter()
            .any(|run| run.test == test && are_the_same(test, &run.settings, settings));
        // Two who print the same say it once.
        if same_run && !all.contains(&said) {
            all.push(said);
        }
    }
    all
}
