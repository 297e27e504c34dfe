//! The charts that a reader sees without opening all figures: two beside each other, each once.

use super::tables;
use super::test::{is_flat, write_panel};
use crate::compare::TestGroup;
use crate::name;
use crate::random_writes;
use crate::review::Review;
use crate::svg::{Figure, Layout};
use crate::text::escape;

/// A test group and a panel of it, by place.
pub(crate) type Choice = (usize, usize);

/// Test, what its variant holds, and chart.
const CHARTS: [(&str, &str, &str); 13] = [
    (random_writes::TEST, "25 %", "iops-whole-log"),
    (random_writes::TEST, "2013", "latency-percentiles"),
    (random_writes::TEST, "2013", "stalls"),
    ("qd-scaling", "", "random"),
    ("qd-scaling", "", "sequential"),
    ("mixed-random", "", "bandwidth-by-mix"),
    ("mixed-sequential", "", "bandwidth-by-mix"),
    ("hdtach", "", "rate-by-position"),
    ("slc-cache", "", "rate-by-position"),
    ("trim", "", "write-by-position"),
    ("fileserver", "", "iops-by-load"),
    ("heavy", "", "waiting-through-trace"),
    ("disk-inspection", "", "rate-by-position"),
];

/// Those of [`CHARTS`] that the review has and that show more than a straight line; at most a panel of one figure each.
pub(crate) fn choose(groups: &[TestGroup]) -> Vec<Choice> {
    let mut chosen: Vec<Choice> = Vec::new();
    for (test, variant, chart) in CHARTS {
        let group = groups.iter().position(|g| g.first().test == test && g.first().variant.contains(variant));
        let Some(at) = group else { continue };
        // HD Tach and the disk inspection draw the same curve.
        if test == "disk-inspection" && chosen.iter().any(|&(g, _)| groups[g].first().test == "hdtach") {
            continue;
        }
        let panel = groups[at].panels.iter().position(|p| p.chart_id == chart);
        if let Some(panel) =
            panel.filter(|&p| groups[at].panels[p].figures.iter().any(|f| !is_flat(f) && !f.is_empty()))
        {
            chosen.push((at, panel));
        }
    }
    chosen
}

pub(crate) fn write(out: &mut String, review: &Review, groups: &[TestGroup], chosen: &[Choice]) {
    if chosen.is_empty() {
        return;
    }
    out.push_str("<section id=\"charts\" aria-labelledby=\"charts-h\">\n<h2 id=\"charts-h\">Charts</h2>\n");
    if review.devices.len() > 1 {
        // The script makes switches of them.
        out.push_str("<ul class=\"drives\" aria-label=\"Drives shown\">\n");
        for (i, device) in review.devices.iter().enumerate() {
            let name = escape(&name::pretty(&device.facts.name));
            out.push_str(&format!("<li class=\"c{}\" data-drive=\"{name}\">{name}</li>\n", i % 8));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("<div class=\"pair three\">\n");
    for &(group, panel) in chosen {
        let panel = &groups[group].panels[panel];
        if let [figure] = panel.figures.as_slice() {
            // A chart that only some of the drives have names them.
            let title = groups[group].title();
            let all: Vec<&str> = review.devices.iter().map(|d| d.facts.name.as_str()).collect();
            let subject =
                if figure.subject == all.join(" and ") { title } else { format!("{title}: {}", figure.subject) };
            let figure = &Figure { subject, ..figure.clone() };
            super::test::open_figure(out, figure, Layout::Half, &figure.title);
            let pictures = ["svg", "png"].map(|ending| format!("charts/{}.{ending}", figure.stem));
            tables::data(out, figure, &[panel.csv.as_slice(), &pictures].concat());
            out.push_str("</figure>\n");
        } else {
            out.push_str("</div>\n");
            write_panel(out, panel);
            out.push_str("<div class=\"pair three\">\n");
        }
    }
    out.push_str("</div>\n</section>\n");
}
