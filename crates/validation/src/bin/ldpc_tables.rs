//! Decodes the tables that drives use, `crates/ecc/data/ldpc.csv`.
//!
//! `cargo run --release -p ssdlab-validation --bin ldpc_tables [-- --errors N --frames N] > table.csv` (progress on
//! stderr). The counts depend on the two options alone, not on the number of threads.

use std::process::ExitCode;

use ssdlab_ecc::channel::Sensing;
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::ldpc::table::{Counts, MAX_ITERATIONS, Point};
use ssdlab_validation::ldpc::frames;

/// Raw bit error rates of a curve, in millionths, from failure to certainty.
fn grid(code: LdpcCode, sensing: Sensing) -> &'static [u32] {
    match (code, sensing) {
        (LdpcCode::CcsdsC2, Sensing::Hard) => &[
            15_000, 12_000, 10_000, 9000, 8500, 8000, 7500, 7000, 6500, 6000, 5500, 5000, 4000, 3000, 2000, 1000, 300,
            100,
        ],
        (LdpcCode::CcsdsC2, Sensing::Soft3) => &[
            25_000, 22_000, 20_000, 19_000, 18_000, 17_000, 16_500, 16_000, 15_500, 15_000, 14_000, 12_000, 8000, 4000,
            1000,
        ],
        (LdpcCode::CcsdsC2, Sensing::Soft7) => &[
            28_000, 25_000, 23_000, 22_000, 21_000, 20_000, 19_500, 19_000, 18_500, 18_000, 17_000, 14_000, 8000, 4000,
            1000,
        ],
        (LdpcCode::Qc2k, Sensing::Hard) => &[
            12_000, 10_000, 9000, 8000, 7500, 7000, 6750, 6500, 6250, 6000, 5750, 5500, 5250, 5000, 4000, 3000, 2000,
            1000, 300, 100,
        ],
        (LdpcCode::Qc2k, Sensing::Soft3) => &[
            22_000, 19_000, 17_000, 16_000, 15_500, 15_000, 14_500, 14_000, 13_500, 13_000, 12_500, 12_000, 8000, 4000,
            1000,
        ],
        (LdpcCode::Qc2k, Sensing::Soft7) => &[
            24_000, 21_000, 19_500, 19_000, 18_500, 18_000, 17_500, 17_000, 16_500, 16_000, 15_500, 15_000, 14_000,
            8000, 4000, 1000,
        ],
    }
}

fn main() -> ExitCode {
    let Some((errors, frames)) = options() else {
        eprintln!("usage: ldpc_tables [--errors N] [--frames N]   (whole numbers above zero)");
        return ExitCode::from(2);
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    print!("{}", header(errors, frames));
    for code in LdpcCode::ALL {
        for sensing in Sensing::ALL {
            let mut counted = true;
            for millionths in grid(code, sensing) {
                let point = Point { code, sensing, rber: f64::from(*millionths) / 1e6 };
                // Below the first point without an error only the iterations are of interest.
                let limit = if counted { frames } else { frames::BATCH_FRAMES };
                let counts: Counts = frames::count(&point, errors, limit, threads);
                counted &= counts.errors > 0;
                println!("{}", line(&point, &counts));
                eprintln!(
                    "{} {:?} {:.5}: {} of {} frames in error, {:.2} iterations",
                    code.name(),
                    sensing,
                    point.rber,
                    counts.errors,
                    counts.frames,
                    counts.mean_iterations()
                );
            }
        }
    }
    ExitCode::SUCCESS
}

fn options() -> Option<(u64, u64)> {
    let (mut errors, mut frames) = (100, 100_000);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next()?.parse().ok().filter(|&n: &u64| n > 0)?;
        match arg.as_str() {
            "--errors" => errors = value,
            "--frames" => frames = value,
            _ => return None,
        }
    }
    Some((errors, frames))
}

/// The first lines of a table.
fn header(errors: u64, frames: u64) -> String {
    format!(
        "# Frames of LDPC codes, decoded by `ssdlab-validation`'s decoder on its Gaussian-threshold channel.\n\
         # cargo run --release -p ssdlab-validation --bin ldpc_tables -- --errors {errors} --frames {frames}\n\
         # Layered normalised min-sum (3/4) in 16-bit integers, LLRs in eighths of a nat, at most {MAX_ITERATIONS}\n\
         # iterations; all-zero codewords. failure_low and failure_high: 95 % confidence (Wilson).\n\
         code,reads,rber,frames,errors,undetected,failure,failure_low,failure_high,mean_iterations\n"
    )
}

/// A point as a line of the table, without the line's end.
fn line(point: &Point, counts: &Counts) -> String {
    let (low, high) = counts.interval();
    format!(
        "{},{},{:.6},{},{},{},{:.3e},{low:.3e},{high:.3e},{:.3}",
        point.code.name(),
        point.sensing.reads(),
        point.rber,
        counts.frames,
        counts.errors,
        counts.undetected,
        counts.failure(),
        counts.mean_iterations()
    )
}
