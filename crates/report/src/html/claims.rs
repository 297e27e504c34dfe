//! Published figures beside ours.

use ssdlab_bench::ClaimKind;

use crate::number;
use crate::review::{ClaimRow, ClaimState, Review, Tally};
use crate::text::escape;

fn class(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Met => "met",
        ClaimState::Missed => "missed",
        ClaimState::Qualitative | ClaimState::NotRun => "other",
    }
}

fn ours(claim: &ClaimRow) -> String {
    match claim.ours {
        Some(value) => number::value(value, &claim.unit),
        None if claim.ours_text.is_empty() => "–".to_owned(),
        None => claim.ours_text.clone(),
    }
}

/// The whole section: what was measured; then, apart from it, what a parameter was chosen for, what the test has by its
/// method, and what the drive file says.
pub(crate) fn write(out: &mut String, review: &Review) {
    if review.claims.is_empty() {
        return;
    }
    out.push_str("<section id=\"claims\" aria-labelledby=\"claims-h\">\n<h2 id=\"claims-h\">Published figures</h2>\n");
    let rows = sorted(review);
    for kind in ClaimKind::ALL {
        let (heading, meaning) = (kind.heading(), kind.meaning());
        let of_kind: Vec<&ClaimRow> = rows.iter().copied().filter(|c| c.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let Tally { met, missed, open } = review.tally(kind);
        let summary = format!("{heading}: {met} met, {missed} missed, {open} without a result");
        if kind == ClaimKind::Measured {
            out.push_str(&format!("<h3>{summary}</h3>\n<p>{meaning} The margin says by how much ours could change before it would be missed.</p>\n"));
            table(out, &of_kind, heading, true);
        } else {
            out.push_str(&format!("<details><summary>{summary}</summary>\n<p>{meaning}</p>\n"));
            table(out, &of_kind, heading, false);
            out.push_str("</details>\n");
        }
    }
    out.push_str("</section>\n");
}

/// Missed, met, not shown, not run; within these by device and in the order of the catalog.
fn sorted(review: &Review) -> Vec<&ClaimRow> {
    let place = |name: &str| review.devices.iter().position(|d| d.facts.name == name).unwrap_or(usize::MAX);
    let mut rows: Vec<&ClaimRow> = review.claims.iter().collect();
    rows.sort_by(|a, b| (a.state, place(&a.device), &a.device).cmp(&(b.state, place(&b.device), &b.device)));
    rows
}

fn table(out: &mut String, rows: &[&ClaimRow], label: &str, with_margin: bool) {
    out.push_str(&format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">"));
    out.push_str("<table class=\"claims cards\"><thead><tr><th scope=\"col\">State</th><th scope=\"col\">Drive</th>");
    out.push_str("<th scope=\"col\">Figure</th><th scope=\"col\" class=\"n\">Published</th>");
    out.push_str("<th scope=\"col\" class=\"n\">Here</th>");
    if with_margin {
        out.push_str("<th scope=\"col\" class=\"n\">Allowed</th><th scope=\"col\" class=\"n\">Margin</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for claim in rows {
        out.push_str(&format!(
            "<tr><td><span class=\"tag {}\">{}</span></td><td>{}</td><td class=\"words\">{}{}</td>\
             <td class=\"{}\" data-l=\"published\">{}</td><td class=\"{}\" data-l=\"here\">{}</td>",
            class(claim.state),
            claim.state.word(),
            escape(&claim.device),
            escape(&claim.quantity),
            background(claim),
            cell(&claim.published_with_unit()),
            escape(&claim.published_with_unit()),
            cell(&ours(claim)),
            escape(&ours(claim)),
        ));
        if with_margin {
            for (label, text) in [("allowed", &claim.tolerance), ("margin", &claim.margin)] {
                let label = if text.is_empty() { String::new() } else { format!(" data-l=\"{label}\"") };
                out.push_str(&format!("<td class=\"{}\"{label}>{}</td>", cell(text), escape(text)));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Figures stay on a line; findings in words may break.
fn cell(text: &str) -> &'static str {
    if text.chars().count() > 18 { "n prose" } else { "n" }
}

/// Reason, source and identifier, below the quantity.
fn background(claim: &ClaimRow) -> String {
    let reason = if claim.reason.is_empty() { String::new() } else { format!("<br>{}", escape(&claim.reason)) };
    let reason =
        if claim.repeated { format!("{reason}<br>Says what another figure says; not counted.") } else { reason };
    format!("{reason}<br><cite>{} · {}</cite>", escape(&claim.source), escape(&claim.id))
}
