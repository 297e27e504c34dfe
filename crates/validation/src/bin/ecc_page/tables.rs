//! Codes: BCH in closed form, LDPC as counted, and the limits beside them.

use std::fmt::Write;

use ssdlab_ecc::bch::Bch;
use ssdlab_ecc::channel::{Sensing, capacity_limit, finite_length_limit};
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::ldpc::table::{self, curve};

pub fn text() -> String {
    let mut page = String::from(INTRO);
    bch(&mut page);
    page.push_str(LDPC);
    for code in LdpcCode::ALL {
        limits(&mut page, code);
    }
    page.push_str(COUNTS);
    for row in table::rows() {
        let (point, counts) = (row.point, row.counts);
        let (low, high) = counts.interval();
        // Points that served only to count iterations stay in the file.
        if counts.errors == 0 && counts.frames < 50_000 || counts.failure() > 0.9 {
            continue;
        }
        let _ = writeln!(
            page,
            "| {} | {} | {:.5} | {} | {} | {:.2e} | {low:.1e} – {high:.1e} | {:.2} |",
            point.code.name(),
            point.sensing.reads(),
            point.rber,
            counts.frames,
            counts.errors,
            counts.failure(),
            counts.mean_iterations()
        );
    }
    page.push_str(REFERENCE);
    reference(&mut page);
    page
}

fn bch(page: &mut String) {
    for (bytes, t) in [(512, 8), (512, 15), (512, 24), (1024, 24), (1024, 40), (1024, 60), (1024, 72), (2048, 72)] {
        let code = Bch::new(bytes, t).expect("a code of the table");
        let _ = write!(page, "| {bytes} B, t = {t} | {} | {:.4} |", code.codeword_bits(), code.rate());
        for rber in [1e-4, 1e-3, 2e-3, 3e-3, 5e-3] {
            let _ = write!(page, " {:.2} |", code.log10_failure(rber));
        }
        let _ = writeln!(page, " {:.3e} | {:.3e} |", code.rber_limit(1e-15), code.rber_limit(1e-17));
    }
}

/// The raw bit error rate at which a curve reaches a failure rate.
fn reaches(code: LdpcCode, sensing: Sensing, log10: f64) -> f64 {
    let (mut low, mut high) = (1e-5f64, 0.1f64);
    for _ in 0..60 {
        let middle = libm::sqrt(low * high);
        if curve(code, sensing).log10_failure(middle) < log10 { low = middle } else { high = middle }
    }
    low
}

fn limits(page: &mut String, code: LdpcCode) {
    for sensing in Sensing::ALL {
        let _ = write!(page, "| {}, rate {:.4} | {} |", code.name(), code.rate(), sensing.reads());
        let counted = curve(code, sensing).counted_down_to();
        for log10 in [-2.0, -3.0, -6.0, -11.0] {
            let rber = reaches(code, sensing, log10);
            let _ = write!(page, " {rber:.5}{} |", if rber < counted { " *" } else { "" });
        }
        let bound = finite_length_limit(code.codeword_bits(), code.rate(), 1e-3);
        let bound = if sensing == Sensing::Hard { format!("{bound:.5}") } else { "–".to_owned() };
        let _ = writeln!(page, " {bound} | {:.5} |", capacity_limit(code.rate(), sensing));
    }
}

fn reference(page: &mut String) {
    for theirs in table::INDEPENDENT {
        let ours = libm::pow(10.0, curve(LdpcCode::CcsdsC2, theirs.sensing).log10_failure(theirs.rber));
        let _ =
            writeln!(page, "| {} | {} | {:.2e} | {ours:.2e} |", theirs.sensing.reads(), theirs.rber, theirs.failure());
    }
}

const INTRO: &str = "\
# Errors and their correction

How many bits a flash read gets wrong, what it takes to correct them, and when that fails. This page is written by
`make ecc` (`crates/validation/src/bin/ecc_page`) from the formulas and the decoder table of `crates/ecc`; the figures that a
simulated drive uses are the same.

![Codeword failure rate against raw bit error rate: BCH in closed form, LDPC as counted, and the capacity limits to their right](error-correction.svg)

## BCH

A codeword of k data bits that corrects t errors costs m·t parity bits, with 2^m - 1 at least k + m·t. Errors within a
codeword are independent, so a codeword fails with the binomial tail beyond t (`bch.rs`, exact to eight digits in the
logarithm). UBER is failures per data bit read, as in JESD218. Hetzler's published example, 15 bits in 512 bytes at UBER
1e-15, comes out at 3.354e-4.

| code | n | rate | log10 of failures at 1e-4 | 1e-3 | 2e-3 | 3e-3 | 5e-3 | RBER at UBER 1e-15 | 1e-17 |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
";

const LDPC: &str = "
## LDPC

Two quasi-cyclic codes are built and decoded (`ldpc/`): the C2 code of CCSDS 131.0-B, which protects 894 bytes, and
`qc-2k`, four block rows of 40 circulants of 456 bits, chosen column by column to close no cycle of four and few of six
edges. The channel is Gaussian: one read gives bits; three or seven reads at evenly spaced references, at the spacing
that carries the most information, give two or three bits a cell, each with its log-likelihood ratio rounded to eighths
of a nat. The decoder is layered normalised min-sum in 16-bit integers, 30 iterations at most, and stops when every
check holds.

Raw bit error rate at which one codeword in 10^2, 10^3, 10^6 and 10^11 fails, the bound for any hard-decision code of
that length at 1e-3 (normal approximation), and the capacity limit. Figures with * lie below the counted region.

| code | reads | 1e-2 | 1e-3 | 1e-6 | 1e-11 | bound at 1e-3 | capacity |
|---|---:|---:|---:|---:|---:|---:|---:|
";

const COUNTS: &str = "
**Below the counted region** the waterfall goes on with the slope of the last counted decade, in log10 against log10,
down to a failure rate of 1e-12. From there on an error floor is assumed that falls with the fifth power of the raw bit
error rate. Both are estimates: nobody can count a failure rate of 1e-11 on a workstation, and no production code's
table is public. An exponent of five stands for a smallest harmful pattern of five wrong bits.

### Counted frames

`crates/ecc/data/ldpc.csv` holds all points with the command that made them; a test decodes fresh frames at several
points and one point frame by frame. Confidence is 95 % (Wilson). No decoded word was a wrong codeword unless the file's
column `undetected` says so.

| code | reads | RBER | frames | errors | failure rate | confidence | mean iterations |
|---|---:|---:|---:|---:|---:|---:|---:|
";

const REFERENCE: &str = "
### Against an independent decoder

The C2 code decoded by another program: floating-point messages, one row after another. Ours works on a whole block row
at once, as controllers do, with integers.

| reads | RBER | independent | ours |
|---:|---:|---:|---:|
";
