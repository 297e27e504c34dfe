//! The key figure of each test, the verdicts, and what a user would have noticed.

use ssdlab_bench::Outcome;
use ssdlab_bench::suite::{Better, FELT_FIGURES, better_end};

use crate::compare::TestGroup;
use crate::felt;
use crate::figures::{figure_of, in_no_order, keys_of, stands};
use crate::random_writes;
use crate::review::{LeftOut, Review, ReviewedDevice};
use crate::text::{escape, prose};
use crate::{name, number};

/// What was made for a yes or no, and what a user would have noticed: beside each other if there are both.
pub(crate) fn write(out: &mut String, review: &Review, groups: &[TestGroup]) {
    let (mut decided, mut noticed) = (String::new(), String::new());
    verdicts(&mut decided, groups);
    felt_like(&mut noticed, review, groups);
    out.push_str("<section id=\"verdicts\" aria-label=\"Verdicts\">\n");
    if decided.is_empty() || noticed.is_empty() {
        out.push_str(&decided);
        out.push_str(&noticed);
    } else {
        out.push_str(&format!("<div class=\"two\">\n<div>\n{decided}</div>\n<div>\n{noticed}</div>\n</div>\n"));
    }
    out.push_str("</section>\n");
}

fn verdicts(out: &mut String, groups: &[TestGroup]) {
    let found: Vec<_> =
        groups.iter().flat_map(|g| g.outcomes.iter().filter_map(move |o| Some((g, o, o.verdict.as_ref()?)))).collect();
    if found.is_empty() {
        return;
    }
    out.push_str("<h2>Verdicts</h2>\n<ul class=\"verdicts\">\n");
    for (group, outcome, verdict) in found {
        let (class, word) = (super::verdict_class(verdict), verdict.word());
        out.push_str(&format!(
            "<li><span class=\"tag {class}\">{word}</span> <a href=\"#{}\">{}</a>, {}: {}</li>\n",
            group.anchor,
            escape(&group.title()),
            escape(&outcome.device),
            prose(&verdict.sentence)
        ));
    }
    out.push_str("</ul>\n");
}

fn felt_like(out: &mut String, review: &Review, groups: &[TestGroup]) {
    let (noticed, others) = felt::felt(review, groups);
    if noticed.is_empty() && others.calm == 0 {
        return;
    }
    out.push_str("<h2>What it felt like</h2>\n");
    if !noticed.is_empty() {
        out.push_str(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What it felt like\"><table class=\"metrics\">\n\
             <thead><tr><th scope=\"col\">Test</th><th scope=\"col\">Drive</th><th scope=\"col\" class=\"n\">Longest gap</th>",
        );
        for (_, name) in FELT_FIGURES {
            out.push_str(&format!("<th scope=\"col\" class=\"n\">Seconds {name}</th>"));
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &noticed {
            out.push_str(&format!(
                "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td>{}</td><td class=\"n\">{}</td>",
                row.anchor,
                escape(&row.test),
                escape(&row.device),
                escape(&row.longest)
            ));
            for share in &row.shares {
                out.push_str(&format!("<td class=\"n\">{}</td>", escape(share)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str(
            "</tbody></table></div>\n<p class=\"under\">Share of the seconds in which a request had been waiting for longer. \
             A gap is time without a completion.</p>\n",
        );
    }
    let sentence = others.sentence(noticed.len());
    if !sentence.is_empty() {
        out.push_str(&format!("<p class=\"under\">{sentence}</p>\n"));
    }
}

/// Says of a review that lacks tests that it does.
pub(crate) fn unfinished(out: &mut String, review: &Review) {
    let missing: Vec<&LeftOut> = review.left_out.iter().filter(|test| test.unfinished).collect();
    if missing.is_empty() {
        return;
    }
    let of = |test: &&LeftOut| format!("{} of {}", test.run(), name::pretty(&test.device));
    let mut named: Vec<String> = missing.iter().map(of).collect();
    named.dedup();
    let (count, more) = (super::counted(missing.len(), "test"), if named.len() > MISSING_NAMED { ", …" } else { "" });
    named.truncate(MISSING_NAMED);
    // A job that is stopped has the figures of what it did.
    let is_below =
        |o: &Outcome, test: &LeftOut| (&o.device, &o.test, &o.variant) == (&test.device, &test.test, &test.variant);
    let below = match missing.iter().filter(|test| review.outcomes.iter().any(|o| is_below(o, test))).count() {
        0 => "What is below is of the others.",
        n if n == missing.len() => "What is below is of what ran.",
        _ => "What is below is of the others, and of these as far as they ran.",
    };
    out.push_str(&format!(
        "<p class=\"notes\"><strong>This review is not whole.</strong> {count} did not finish: {}{more}. \
         {below}</p>\n",
        escape(&named.join(", "))
    ));
}

/// Tests that are named among those that did not finish; all of them stand below, each with its reason.
const MISSING_NAMED: usize = 8;

/// Tests that a device of the review has no figures of, and why.
pub(crate) fn left_out(out: &mut String, review: &Review) {
    if review.left_out.is_empty() {
        return;
    }
    let mut devices: Vec<String> = Vec::new();
    for left_out in &review.left_out {
        let name = name::pretty(&left_out.device);
        if !devices.contains(&name) {
            devices.push(name);
        }
    }
    let tests = super::counted(review.left_out.len(), "test");
    out.push_str(&format!(
        "<details class=\"left-out\"><summary>Left out: {tests} of {}</summary>\n<ul>\n",
        escape(&devices.join(", "))
    ));
    for left_out in &review.left_out {
        let (run, device) = (left_out.run(), name::pretty(&left_out.device));
        out.push_str(&format!("<li>{} of {}: {}</li>\n", escape(&run), escape(&device), escape(&left_out.why)));
    }
    out.push_str("</ul></details>\n");
}

pub(crate) fn key_figures(out: &mut String, review: &Review, groups: &[TestGroup]) {
    if groups.is_empty() {
        return;
    }
    out.push_str(
        "<h2 id=\"key-figures\">Key figures</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Key figures\">",
    );
    out.push_str("<table class=\"key cards\"><thead><tr><th scope=\"col\">Test</th><th scope=\"col\">Figure</th>");
    for device in &review.devices {
        out.push_str(&format!("<th scope=\"col\" class=\"n\">{}</th>", escape(&device.facts.name)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for group in groups {
        let no_order = in_no_order(review, &group.outcomes);
        for (key, label) in keys_of(&group.outcomes) {
            let label = no_order.map_or_else(|| label.clone(), |why| format!("{label} ({why})"));
            let outcome = |name: &str| group.outcomes.iter().find(|o| o.device == name).copied();
            let metric = |name: &str| outcome(name)?.metrics.get(key);
            let all: Vec<_> = review.devices.iter().map(|d| metric(&d.facts.name)).collect();
            // Beside those that have not settled, a bar is as long as it would be beside what they have come to so far.
            let so_far = |d: &ReviewedDevice| random_writes::so_far(outcome(&d.facts.name)?, key);
            let most = review.devices.iter().filter_map(so_far).fold(0.0, f64::max);
            let lower = all.iter().flatten().any(|m| better_end(key, &m.unit) == Some(Better::Lower))
                && review.devices.len() > 1;
            out.push_str(&format!(
                "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td class=\"words\">{}</td>",
                group.anchor,
                escape(&group.title()),
                escape(&if lower { format!("{label} (lower is better)") } else { label })
            ));
            for (device, m) in review.devices.iter().zip(all) {
                let name = escape(&device.facts.name);
                let text = escape(&figure_of(outcome(&device.facts.name), key));
                match m {
                    Some(m) => {
                        // A bar behind the figure, where there is something to compare it with and a longer one is better.
                        let share = if most > 0.0 { (m.value / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
                        let bar = if review.devices.len() > 1 {
                            format!(" style=\"--w:{}%\"", number::trimmed(share, 1))
                        } else {
                            String::new()
                        };
                        let settled = outcome(&device.facts.name).is_none_or(|outcome| stands(outcome, key));
                        let bar = if settled && !lower && no_order.is_none() { bar } else { String::new() };
                        out.push_str(&format!("<td class=\"n bar\" data-l=\"{name}\"{bar}>{text}</td>"));
                    }
                    None => {
                        out.push_str(&format!("<td class=\"n\" data-l=\"{name}\">{text}</td>"));
                    }
                }
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody></table></div>\n");
}
