//! Writes `docs/error-correction.md` and the figure beside it: `cargo run --release -p ssdlab-validation --bin
//! ecc_page -- docs`. Everything is computed from the formulas of `ssdlab-ecc` and its stored table; seconds.

mod figure;
mod life;
mod tables;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: ecc_page FOLDER   (where error-correction.md and error-correction.svg go)");
        return ExitCode::from(2);
    };
    let page = [tables::text(), life::text()].concat();
    for (name, text) in [("error-correction.md", page), ("error-correction.svg", figure::svg())] {
        let path = Path::new(&folder).join(name);
        if let Err(e) = std::fs::write(&path, text) {
            eprintln!("{}: {e}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
