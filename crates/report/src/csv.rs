//! The series behind the charts, and where the time went, as CSV (RFC 4180, line feeds).

use ssdlab_bench::{Chart, Outcome};
use ssdlab_core::CAUSES;

use crate::number;
use crate::review::Review;

/// The points of a chart in long form: one row a point, with the series it belongs to. The header carries the units.
///
/// ```text
/// series,Queue depth,IOPS (IOPS)
/// random read,1,9712.5
/// ```
#[must_use]
pub fn chart_csv(chart: &Chart) -> String {
    let mut out = format!("series,{},{}\n", field(&heading(&chart.x, "x")), field(&heading(&chart.y, "y")));
    for series in &chart.series {
        for &[x, y] in &series.points {
            let x = match chart.x.categories.get(x as usize) {
                Some(name) => field(name),
                None => x.to_string(),
            };
            out.push_str(&format!("{},{x},{y}\n", field(&series.name)));
        }
    }
    out
}

fn heading(axis: &ssdlab_bench::Axis, otherwise: &str) -> String {
    let label = if axis.label.is_empty() { otherwise } else { &axis.label };
    if axis.unit.is_empty() { label.to_owned() } else { format!("{label} ({})", axis.unit) }
}

/// Every breakdown of a review: one row for each kind of I/O and cause, causes without time left out.
#[must_use]
pub fn time_csv(review: &Review) -> String {
    let mut out = String::from("device,test,variant,label,ios,latency_mean_us,cause,mean_us,share_percent\n");
    for outcome in &review.outcomes {
        for share in &outcome.time_shares {
            let whole: f64 = share.mean_us.values().sum();
            for cause in CAUSES {
                let Some(&us) = share.mean_us.get(cause.key()).filter(|us| **us > 0.0) else {
                    continue;
                };
                let Outcome { device, test, variant, .. } = outcome;
                let names: Vec<String> = [device, test, variant, &share.label].map(|s| field(s)).into();
                out.push_str(&format!(
                    "{},{},{},{},{us},{}\n",
                    names.join(","),
                    share.ios,
                    share.latency_mean_us,
                    cause.key(),
                    number::trimmed(us / whole * 100.0, 4),
                ));
            }
        }
    }
    out
}

/// Quotes a field where it needs it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        assert_eq!(field("4 KiB random write, QD32"), "\"4 KiB random write, QD32\"");
        assert_eq!(field("the \"old\" one"), "\"the \"\"old\"\" one\"");
        assert_eq!(field("plain"), "plain");
    }
}
