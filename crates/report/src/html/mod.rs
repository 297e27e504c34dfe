//! The page: one file, no requests, complete without its script.

mod claims;
mod first_screen;
mod selected;
mod specification;
mod summary;
mod sweep;
mod tables;
mod test;

use crate::compare::{self, TestGroup};
use crate::review::{Reality, Review};
use crate::svg::{self, Skin};
use crate::text::{escape, listed};
use crate::{ReportError, name};

pub use sweep::sweep_html;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of a review as it is written to `index.html`.
///
/// # Errors
/// If the review does not pass [`Review::validate`].
pub fn index_html(review: &Review) -> Result<String, ReportError> {
    review.validate()?;
    Ok(page(review, &compare::groups(review)))
}

/// The class of a verdict's tag.
fn verdict_class(verdict: &ssdlab_bench::Verdict) -> &'static str {
    match verdict.pass {
        Some(true) => "met",
        Some(false) => "missed",
        None => "other",
    }
}

/// The names of the drives as a heading.
pub(crate) fn drives(review: &Review) -> String {
    let names: Vec<String> = review.devices.iter().map(|d| name::pretty(&d.facts.name)).collect();
    listed(&names)
}

pub(crate) fn page(review: &Review, groups: &[TestGroup]) -> String {
    let title = format!("{}: SSD review by ssdlab", drives(review));
    document(&title, &review.version, "Skip to the review", |out| {
        masthead(out, review);
        out.push_str("<main id=\"main\">\n");
        summary::unfinished(out, review);
        let concludes = first_screen::write(out, review, groups);
        let chosen = selected::choose(groups);
        selected::write(out, review, groups, &chosen);
        summary::write(out, review, groups);
        summary::left_out(out, review);
        all_figures(out, review, groups, &chosen, !concludes);
        out.push_str("</main>\n");
        footer(out, review);
    })
}

/// Everything else, closed until a reader opens it or follows a link into it; open where there is nothing else. The name for such
/// links is inside: without a script, browsers open what is around a name, and not what bears it.
fn all_figures(out: &mut String, review: &Review, groups: &[TestGroup], chosen: &[selected::Choice], open: bool) {
    let open = if open { " open" } else { "" };
    out.push_str(&format!("<details class=\"all\"{open}><summary>All figures: "));
    let charts = groups.iter().map(TestGroup::pictures).sum();
    let (tests, charts) = (counted(groups.len(), "test"), counted(charts, "chart"));
    out.push_str(&format!(
        "{tests}, {charts}, every parameter</summary>\n<div class=\"columns\" id=\"all-figures\">\n"
    ));
    contents(out, review, groups);
    out.push_str("<div>\n");
    summary::key_figures(out, review, groups);
    for (i, group) in groups.iter().enumerate() {
        test::write(out, review, group, &|panel| chosen.contains(&(i, panel)));
    }
    claims::write(out, review);
    specification::write(out, review);
    out.push_str("</div>\n</div>\n</details>\n");
}

/// `1 test`, `2 tests`.
fn counted(n: usize, of: &str) -> String {
    format!("{n} {of}{}", if n == 1 { "" } else { "s" })
}

/// A page of the house: one file with its styles and its script; `body` writes what is between.
fn document(title: &str, version: &str, skip: &str, body: impl FnOnce(&mut String)) -> String {
    let mut out = String::with_capacity(1 << 20);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.push_str(&format!("<meta name=\"generator\" content=\"ssdlab {}\">\n", escape(version)));
    // An empty icon of its own: the browser asks nobody for one.
    out.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    out.push_str(&format!("<title>{}</title>\n<style>\n", escape(title)));
    let (light, dark) = (svg::properties(false), svg::properties(true));
    // Paper is white, whatever the screen is.
    out.push_str(&format!(":root{{{light}}}\n@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"));
    out.push_str(&format!(
        "@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
    ));
    out.push_str(&svg::rules(Skin::Page));
    out.push_str(STYLE);
    out.push_str(&format!("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">{}</a>\n", escape(skip)));
    out.push_str(&format!(
        "<svg class=\"chart defs\" width=\"0\" height=\"0\" aria-hidden=\"true\" focusable=\"false\">{}</svg>\n",
        svg::hatch_definitions()
    ));
    body(&mut out);
    out.push_str(&format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

/// The line at the top, with the switch of light and dark; opens the masthead.
fn brand(out: &mut String, name: &str) {
    out.push_str(&format!("<header class=\"masthead\">\n<div class=\"brand\"><span>{name}</span>"));
    out.push_str("<button type=\"button\" id=\"theme\" hidden>Dark</button></div>\n");
}

fn masthead(out: &mut String, review: &Review) {
    let length = match (review.quick, review.is_shortened()) {
        (true, _) => "quick run",
        (false, true) => "shortened run",
        (false, false) => "full length",
    };
    let (version, seed) = (escape(&review.version), review.seed);
    let drives = match review.reality() {
        Reality::Simulated => "simulated drives",
        Reality::Real => "real drives",
        Reality::Both => "simulated and real drives",
    };
    brand(out, &format!("ssdlab review <small>{drives} · {version} · seed {seed} · {length}</small>"));
    out.push_str("</header>\n");
}

fn contents(out: &mut String, review: &Review, groups: &[TestGroup]) {
    out.push_str("<nav class=\"toc\" aria-label=\"Contents\"><details open><summary>Contents</summary><ol>\n");
    let mut link = |id: &str, text: &str| {
        out.push_str(&format!("<li><a href=\"#{id}\">{}</a></li>\n", escape(text)));
    };
    link("key-figures", "Key figures");
    for group in groups {
        link(&group.anchor, &group.title());
    }
    if !review.claims.is_empty() {
        link("claims", "Published figures");
    }
    if review.devices.iter().any(|d| !d.specification.is_empty()) {
        link("specification", "Specification");
    }
    out.push_str("</ol></details></nav>\n");
}

fn footer(out: &mut String, review: &Review) {
    out.push_str("<footer><p>");
    let names = review.real_names();
    let real = escape(&listed(&names));
    let (was, its) = if names.len() == 1 { ("was", "its") } else { ("were", "their") };
    out.push_str(&match review.reality() {
        Reality::Simulated => "Every figure on this page was measured on a simulated drive. The same drive file, seed and \
                               version give the same bytes. "
            .to_owned(),
        Reality::Real => format!("Measured on {real}, in real time: figures differ from run to run. "),
        Reality::Both => format!(
            "{real} {was} measured in real time, and {its} figures differ from run to run; those of simulated drives are the \
             same bytes for the same drive file, seed and version. "
        ),
    });
    out.push_str("Figures: <a href=\"results.json\">results.json</a>. Series behind the ");
    out.push_str("charts: <code>series/</code>. Charts as SVG and PNG: <code>charts/</code>.</p>");
    out.push_str(&format!("<p>ssdlab {}, seed {}</p></footer>\n", escape(&review.version), review.seed));
}
