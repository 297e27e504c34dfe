//! Every table of theory that the simulator must meet, beside what its drives do, as the page `docs/theory.md`.
//!
//! `cargo run --release -p ssdlab-device --example theory > docs/theory.md` (about ten minutes; progress on stderr).
//! Fails if anything is out of tolerance. With `--check` it writes no page.

mod formulas;
mod measure;
mod rig;
mod tables;

fn main() -> std::process::ExitCode {
    let check = std::env::args().nth(1).is_some_and(|a| a == "--check");
    let page = tables::page();
    if !check {
        print!("{}", page.text);
    }
    for miss in &page.misses {
        eprintln!("{miss}");
    }
    if page.misses.is_empty() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
