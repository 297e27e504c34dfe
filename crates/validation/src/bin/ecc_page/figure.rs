//! The failure rate of every code against the raw bit error rate, as an SVG.

use std::fmt::Write;

use ssdlab_ecc::bch::Bch;
use ssdlab_ecc::channel::{Sensing, capacity_limit};
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::ldpc::table::{self, curve};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 868.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 420.0;
/// log10 of the raw bit error rate at the edges.
const X: (f64, f64) = (-3.3, -1.4);
/// log10 of the failure rate at the lower edge.
const DEEPEST: f64 = -16.0;

fn x(log10: f64) -> f64 {
    LEFT + (log10 - X.0) / (X.1 - X.0) * (RIGHT - LEFT)
}

fn y(log10: f64) -> f64 {
    TOP + log10 / DEEPEST * (BOTTOM - TOP)
}

pub fn svg() -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    axes(&mut out);
    for t in [24, 40, 60, 72] {
        let code = Bch::new(1024, t).expect("a code of the figure");
        let points = steps(X.0).map(|lx| (lx, code.log10_failure(libm::pow(10.0, lx))));
        line(&mut out, points, "#888888", "");
        label(&mut out, code.rber_limit(1e-9 / f64::from(code.data_bits())), 9.0, &format!("t={t}"));
    }
    for (code, colours) in
        [(LdpcCode::CcsdsC2, ["#f4a582", "#d6604d", "#b2182b"]), (LdpcCode::Qc2k, ["#92c5de", "#4393c3", "#2166ac"])]
    {
        for (sensing, colour) in Sensing::ALL.into_iter().zip(colours) {
            ldpc(&mut out, code, sensing, colour);
        }
    }
    legend(&mut out);
    out.push_str("</svg>\n");
    out
}

fn steps(from: f64) -> impl Iterator<Item = f64> {
    (0..=400).map(move |i| from + (X.1 - from) * f64::from(i) / 400.0)
}

fn axes(out: &mut String) {
    for decade in (0..=16).step_by(2) {
        let at = y(-f64::from(decade));
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#dddddd\"/>");
        let _ =
            writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e-{decade}</text>", LEFT - 6.0, at + 4.0);
    }
    for rber in [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03] {
        let at = x(libm::log10(rber));
        let _ = writeln!(out, "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#dddddd\"/>");
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{rber}</text>", BOTTOM + 18.0);
    }
    let middle = (LEFT + RIGHT) / 2.0;
    let _ =
        writeln!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">raw bit error rate</text>", BOTTOM + 38.0);
    let (tx, ty) = (16.0, (TOP + BOTTOM) / 2.0);
    let _ = writeln!(
        out,
        "<text x=\"{tx}\" y=\"{ty}\" text-anchor=\"middle\" transform=\"rotate(-90 {tx} {ty})\">codewords that fail</text>"
    );
}

fn line(out: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str, dash: &str) {
    let mut path = String::new();
    for (lx, ly) in points.filter(|&(_, ly)| ly >= DEEPEST) {
        let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { 'M' } else { 'L' }, x(lx), y(ly));
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-dasharray=\"{dash}\"/>"
    );
}

/// A word left of the curve that crosses 1e-`decade` at `rber`.
fn label(out: &mut String, rber: f64, decade: f64, text: &str) {
    let (lx, ly) = (x(libm::log10(rber)) - 6.0, y(-decade));
    let _ = writeln!(out, "<text x=\"{lx:.1}\" y=\"{ly:.1}\" text-anchor=\"end\" fill=\"#666666\">{text}</text>");
}

/// Counted points with their intervals, the curve through them, its extrapolation dashed, the capacity limit.
fn ldpc(out: &mut String, code: LdpcCode, sensing: Sensing, colour: &str) {
    let curve = curve(code, sensing);
    let counted = libm::log10(curve.counted_down_to());
    let at = |lx: f64| (lx, curve.log10_failure(libm::pow(10.0, lx)));
    line(out, steps(counted).map(at), colour, "");
    line(out, steps(X.0).filter(|&lx| lx <= counted).map(at), colour, "4 4");
    let rows = table::rows().iter().filter(|r| r.point.code == code && r.point.sensing == sensing);
    for row in rows.filter(|r| r.counts.errors >= table::ENOUGH_ERRORS && r.counts.failure() < 0.9) {
        let (low, high) = row.counts.interval();
        let px = x(libm::log10(row.point.rber));
        let (y0, y1) = (y(libm::log10(low)), y(libm::log10(high)));
        let _ = writeln!(out, "<path d=\"M{px:.1} {y0:.1}V{y1:.1}\" stroke=\"{colour}\" stroke-width=\"3\"/>");
    }
    let limit = x(libm::log10(capacity_limit(code.rate(), sensing)));
    let _ = writeln!(
        out,
        "<path d=\"M{limit:.1} {TOP}V{}\" stroke=\"{colour}\" stroke-width=\"2\"/>\
         <text x=\"{limit:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{colour}\">{}</text>",
        TOP + 14.0,
        TOP - 6.0,
        sensing.reads()
    );
}

fn legend(out: &mut String) {
    for (i, (colour, text)) in [
        ("#888888", "BCH, 1 KiB, closed form"),
        ("#d6604d", "LDPC ccsds-c2, rate 0.875: 1, 3, 7 reads"),
        ("#4393c3", "LDPC qc-2k, rate 0.90: 1, 3, 7 reads"),
        ("#333333", "dashed: extrapolated; bars: 95 % confidence; ticks on top: capacity"),
    ]
    .into_iter()
    .enumerate()
    {
        let (lx, ly) = (LEFT + 10.0 + 380.0 * (i % 2) as f64, BOTTOM + 66.0 + 20.0 * (i / 2) as f64);
        let _ = writeln!(out, "<path d=\"M{lx} {}h18\" stroke=\"{colour}\" stroke-width=\"3\"/>", ly - 4.0);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{ly}\">{text}</text>", lx + 24.0);
    }
}
