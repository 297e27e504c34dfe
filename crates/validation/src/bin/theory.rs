//! Every table of theory that the simulator must meet, beside what its drives do.
//!
//! - `cargo run --release -p ssdlab-validation --bin theory > docs/theory.md` writes the page (minutes; progress on
//!   stderr);
//! - `… --bin theory -- --check` writes nothing;
//! - `… --bin theory -- POINT…` measures points of one's own: `greedy:op=15,b=1024`, `hot-cold:op=7,r=95,f=5`,
//!   `trim:op=12,q=0.4`, `d-choices:op=20,d=5`, `reads:depth=10`, `open:rho=0.95`. See `theory/point.rs` for the rest.
//!
//! Fails if anything is out of tolerance, or if a drive's books do not balance.

use std::process::ExitCode;

use ssdlab_validation::theory::point::{KINDS, Point};
use ssdlab_validation::theory::tables;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = arguments.iter().any(|a| a == "--check");
    let points: Vec<&String> = arguments.iter().filter(|a| *a != "--check").collect();
    let page = if points.is_empty() {
        tables::page()
    } else {
        let parsed: Result<Vec<Point>, String> = points.iter().map(|p| Point::parse(p)).collect();
        match parsed {
            Ok(points) => tables::of_points(&points),
            Err(what) => {
                eprintln!("error: {what}");
                eprintln!("\nusage: theory [--check] [KIND:KEY=VALUE,…]…");
                for (_, name, keys) in KINDS {
                    eprintln!("  {name:<18} {keys}");
                }
                return ExitCode::from(2);
            }
        }
    };
    if !check {
        print!("{}", page.text);
    }
    for miss in &page.misses {
        eprintln!("missed: {miss}");
    }
    if page.misses.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
