//! A review from what the bench measured, with the claims about its drives.

use ssdlab_bench::Outcome;
use ssdlab_catalog::claims::{self, Claim};
use ssdlab_report::{ClaimRow, ClaimState, Review};

use crate::lab::Tested;

/// Everything that a report shows.
pub fn review_of<D: Tested>(
    drives: &[D],
    outcomes: Vec<Outcome>,
    claims: Vec<ClaimRow>,
    seed: u64,
    quick: bool,
) -> Review {
    Review {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        quick,
        devices: drives.iter().map(|d| d.reviewed().clone()).collect(),
        outcomes,
        left_out: Vec::new(),
        claims,
    }
}

/// What of the figures `published` is about these drives, beside the outcomes. Comparisons with drives that are not among
/// them are left out.
pub fn claims_about<D: Tested>(drives: &[D], outcomes: &[Outcome], published: Vec<Claim>) -> Vec<ClaimRow> {
    let names: Vec<&str> = drives.iter().map(|d| d.reviewed().facts.name.as_str()).collect();
    let within = |claim: &Claim| claim.devices.is_empty() && claim.drives().iter().all(|d| names.contains(d));
    let claims: Vec<Claim> = published.into_iter().filter(|claim| !claim.devices.is_empty() || within(claim)).collect();
    claims::evaluate(&claims, &names, outcomes).into_iter().map(report_row).collect()
}

fn report_row(row: claims::ClaimRow) -> ClaimRow {
    // The report prints the unit by itself, where there is a number.
    let numeric = row.published_value.is_some();
    let margin = row.margin();
    // Another unit than the check's stays, and nothing follows it.
    let is_whole = |bare: &&str| numeric && !bare.ends_with(char::is_alphabetic);
    let bare = row.published.strip_suffix(&row.unit).filter(is_whole).map(|bare| bare.trim_end().to_owned());
    let published_says_unit = numeric && bare.is_none();
    let published = bare.unwrap_or(row.published);
    ClaimRow {
        id: row.id,
        kind: row.kind,
        repeated: row.repeats.is_some(),
        device: row.device,
        quantity: row.quantity,
        published,
        published_says_unit,
        published_value: row.published_value,
        unit: if numeric { row.unit } else { String::new() },
        ours: row.ours.filter(|_| numeric),
        ours_text: if numeric { String::new() } else { row.ours_text },
        tolerance: row.tolerance,
        margin,
        state: match row.state {
            claims::ClaimState::Met => ClaimState::Met,
            claims::ClaimState::Missed => ClaimState::Missed,
            claims::ClaimState::NotRun => ClaimState::NotRun,
            claims::ClaimState::NotSimulated | claims::ClaimState::Inconclusive => ClaimState::Qualitative,
        },
        source: row.source,
        reason: row.reason,
        headline: row.headline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_figure_has_one_unit() {
        let row = |published: &str, unit: &str| {
            let metric = if unit == "us" { "latency_mean" } else { "bandwidth" };
            let file = format!(
                "[[claim]]\nid = \"A\"\ndevices = [\"x25-m-80gb\"]\nquantity = \"q\"\npublished = \"{published}\"\nsource = \"s\"\n\
                 check.value = {{ test = \"random-read\", metric = \"{metric}\", value = 40.0, unit = \"{unit}\", tolerance_percent = 5.0 }}\n"
            );
            let claims = claims::own("figures.toml", &file).unwrap_or_else(|e| panic!("{e}"));
            let row = claims::evaluate(&claims, &["x25-m-80gb"], &[]).remove(0);
            let row = report_row(row);
            (row.published, row.published_says_unit)
        };
        assert_eq!(row("40 MB/s", "MB/s"), ("40".to_owned(), false));
        assert_eq!(row("0.040 ms", "us"), ("0.040 ms".to_owned(), true));
        assert_eq!(row("40.8 MB/s (of 1,048,576 bytes)", "MB/s"), ("40.8 MB/s (of 1,048,576 bytes)".to_owned(), true));
    }
}
