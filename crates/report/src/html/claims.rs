//! Published figures beside ours.

use crate::number;
use crate::review::{ClaimRow, ClaimState, Review};
use crate::text::escape;

fn class(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Met => "met",
        ClaimState::Missed => "missed",
        ClaimState::Qualitative | ClaimState::NotRun => "other",
    }
}

fn published(claim: &ClaimRow) -> String {
    let unit = number::unit(&claim.unit);
    if unit.is_empty() || unit == "-" { claim.published.clone() } else { format!("{} {unit}", claim.published) }
}

fn ours(claim: &ClaimRow) -> String {
    match claim.ours {
        Some(value) => number::value(value, &claim.unit),
        None if claim.ours_text.is_empty() => "–".to_owned(),
        None => claim.ours_text.clone(),
    }
}

fn deviation(claim: &ClaimRow) -> String {
    claim.deviation_percent().map_or_else(String::new, |d| {
        let sign = if d >= 0.05 { "+" } else { "" };
        format!("{sign}{} %", number::trimmed(d, 1)).replace('-', "−")
    })
}

/// The rows that belong into the summary: the maker's own figures.
pub(crate) fn headline(out: &mut String, review: &Review) {
    let rows: Vec<&ClaimRow> = sorted(review).into_iter().filter(|c| c.headline).collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("<h3>Against the specification</h3>\n");
    table(out, &rows, "Key figures against the specification", false);
}

/// The whole section.
pub(crate) fn write(out: &mut String, review: &Review) {
    if review.claims.is_empty() {
        return;
    }
    out.push_str("<section id=\"claims\" aria-labelledby=\"claims-h\">\n<h2 id=\"claims-h\">Published figures</h2>\n");
    out.push_str("<p>What others published about these drives, beside what was measured here. Missed figures come ");
    out.push_str("first, with the reason where it is known.</p>\n");
    table(out, &sorted(review), "Published figures beside ours", true);
    out.push_str("</section>\n");
}

/// Missed, met, qualitative, not run; within these by device and in the order of the catalog.
fn sorted(review: &Review) -> Vec<&ClaimRow> {
    let place = |name: &str| review.devices.iter().position(|d| d.facts.name == name).unwrap_or(usize::MAX);
    let mut rows: Vec<&ClaimRow> = review.claims.iter().collect();
    rows.sort_by(|a, b| (a.state, place(&a.device), &a.device).cmp(&(b.state, place(&b.device), &b.device)));
    rows
}

fn table(out: &mut String, rows: &[&ClaimRow], label: &str, full: bool) {
    out.push_str(&format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">"));
    out.push_str("<table class=\"claims cards\"><thead><tr><th scope=\"col\">State</th><th scope=\"col\">Drive</th>");
    out.push_str("<th scope=\"col\">Quantity</th><th scope=\"col\" class=\"n\">Published</th>");
    out.push_str("<th scope=\"col\" class=\"n\">Here</th><th scope=\"col\" class=\"n\">Deviation</th>");
    out.push_str(if full { "<th scope=\"col\" class=\"n\">Allowed</th>" } else { "" });
    out.push_str("</tr></thead><tbody>\n");
    for claim in rows {
        out.push_str(&format!(
            "<tr><td><span class=\"tag {}\">{}</span></td><td>{}</td><td class=\"words\">{}{}</td>\
             <td class=\"{}\" data-l=\"published\">{}</td><td class=\"{}\" data-l=\"here\">{}</td><td class=\"n\">{}</td>",
            class(claim.state),
            claim.state.word(),
            escape(&claim.device),
            escape(&claim.quantity),
            if full { background(claim) } else { String::new() },
            cell(&published(claim)),
            escape(&published(claim)),
            cell(&ours(claim)),
            escape(&ours(claim)),
            deviation(claim),
        ));
        if full {
            let label = if claim.tolerance.is_empty() { "" } else { " data-l=\"allowed\"" };
            out.push_str(&format!("<td class=\"n\"{label}>{}</td>", escape(&claim.tolerance)));
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
    format!("{reason}<br><cite>{} · {}</cite>", escape(&claim.source), escape(&claim.id))
}
