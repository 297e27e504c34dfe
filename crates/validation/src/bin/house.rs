//! How the workspace is built, in `docs/architecture.md`.
//!
//! - `cargo run -p ssdlab-validation --bin house` writes the drawing and the table of the page, between its markers;
//! - `… --bin house -- --check` writes nothing, and fails if the page is out of date.
//!
//! Both fail if a crate reaches what it may not, or if files import each other in a circle.

use std::path::Path;
use std::process::ExitCode;

use ssdlab_validation::house::manifests::Crates;
use ssdlab_validation::house::{PAGE, REGENERATE, imports, page, workspace};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: house [--check]");
            return ExitCode::from(2);
        }
    };
    match run(&workspace(), check) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            faults.iter().for_each(|fault| eprintln!("error: {fault}"));
            ExitCode::FAILURE
        }
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run(workspace: &Path, check: bool) -> Result<Vec<String>, String> {
    let crates = Crates::read(workspace)?;
    let path = workspace.join(PAGE);
    let told = |e: std::io::Error| format!("{}: {e}", path.display());
    let old = std::fs::read_to_string(&path).map_err(told)?;
    let new = page::written(&old, &crates).map_err(|e| format!("{PAGE}: {e}"))?;
    let mut faults = crates.trespasses();
    if !check {
        std::fs::write(&path, new).map_err(told)?;
    } else if new != old {
        faults.push(format!("{PAGE} is out of date: run `{REGENERATE}`"));
    }
    let circles = imports::circles(workspace)?;
    faults.extend(circles.iter().map(|(place, circle)| format!("{place}: a circle of imports: {circle}")));
    Ok(faults)
}
