//! A gate on speed that noise cannot move: instructions executed by the six hot paths, counted by callgrind, against
//! the counts in `baseline.tsv` beside this file, and as the tests build them, in which overflow is checked and nothing has to be
//! compiled for it, against those in `tested.tsv`.
//!
//! `make instructions` and `make instructions-tested` compare, and fails if a path needs more than [`TOLERANCE_PERCENT`] more (or
//! less: then the baseline is out of date, and the gate would sleep through the loss of what was gained).
//! `make instructions-update` writes the baseline anew. Both need `valgrind`.
//!
//! Counts belong to a compiler. With another one than the baseline's, they are shown but judged only against
//! [`OTHER_COMPILER_PERCENT`], which no change of code generation should reach and no rotten hot path should pass.

mod paths;

use std::process::{Command, ExitCode};

const TOLERANCE_PERCENT: f64 = 3.0;
const OTHER_COMPILER_PERCENT: f64 = 25.0;
const BASELINE: &str = if cfg!(debug_assertions) {
    concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/tested.tsv")
} else {
    concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/baseline.tsv")
};

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => measure_all().and_then(|measured| compare(&measured)),
        ["--update"] => measure_all().and_then(|measured| update(&measured)),
        ["--run", name] => paths::run(name),
        _ => Err("usage: instructions [--update]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Instructions of a path, and how many host commands they were for.
struct Measured {
    name: &'static str,
    instructions: u64,
    commands: u64,
}

fn measure_all() -> Result<Vec<Measured>, String> {
    paths::PATHS.iter().map(|&(name, commands)| measure(name, commands)).collect()
}

fn measure(name: &'static str, commands: u64) -> Result<Measured, String> {
    eprintln!("counting {name} …");
    let program = std::env::current_exe().map_err(|e| format!("this program does not know where it is: {e}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*measured_part*", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--run", name])
        .output()
        .map_err(|e| format!("valgrind could not be started ({e}); install it: apt-get install valgrind"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // "==1== Collected : 123456789"
    let count = said.lines().find_map(|l| l.split_once("Collected :")).and_then(|(_, n)| n.trim().parse().ok());
    match count {
        Some(instructions) if output.status.success() && instructions > 0 => {
            Ok(Measured { name, instructions, commands })
        }
        _ => Err(format!("{name} under valgrind gave no count ({}):\n{said}", output.status)),
    }
}

/// The compiler and the processor architecture, on which counts depend.
fn compiler() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|e| format!("rustc could not be started: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let field = |key: &str| said.lines().find_map(|l| l.strip_prefix(key)).unwrap_or("unknown").trim().to_owned();
    Ok(format!("rustc {} {}", field("release:"), field("host:")))
}

fn update(measured: &[Measured]) -> Result<(), String> {
    let mut text = format!("compiler\t{}\n", compiler()?);
    for m in measured {
        text += &format!("{}\t{}\n", m.name, m.instructions);
        println!("{:<28} {:>14} instructions, {:>8.0} a command", m.name, m.instructions, per_command(m));
    }
    std::fs::write(BASELINE, text).map_err(|e| format!("{BASELINE}: {e}"))?;
    println!("written to {BASELINE}");
    Ok(())
}

fn per_command(m: &Measured) -> f64 {
    m.instructions as f64 / m.commands as f64
}

fn compare(measured: &[Measured]) -> Result<(), String> {
    let text = std::fs::read_to_string(BASELINE)
        .map_err(|e| format!("{BASELINE}: {e}; write it with `make instructions-update`"))?;
    let baseline = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix('\t'));
    let (ours, theirs) = (compiler()?, baseline("compiler").unwrap_or("unknown compiler"));
    let tolerance = if ours == theirs { TOLERANCE_PERCENT } else { OTHER_COMPILER_PERCENT };
    if ours != theirs {
        println!(
            "The baseline was counted with {theirs}, this is {ours}: the tolerance is {tolerance} %, not {TOLERANCE_PERCENT} %."
        );
    }
    let mut failed = Vec::new();
    for m in measured {
        let Some(expected) = baseline(m.name).and_then(|n| n.parse::<u64>().ok()) else {
            return Err(format!("{BASELINE} has no count for {}; `make instructions-update` adds it", m.name));
        };
        let change = (m.instructions as f64 / expected as f64 - 1.0) * 100.0;
        println!(
            "{:<28} {:>14} instructions, {:>8.0} a command, {change:+6.2} % against the baseline",
            m.name,
            m.instructions,
            per_command(m)
        );
        if change.abs() > tolerance {
            failed.push(format!("{} {change:+.2} %", m.name));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "beyond {tolerance} % of the baseline: {}. Find out why (`valgrind --tool=callgrind` on this program with `--run \
         NAME`), or, if it is meant or better, `make instructions-update`",
        failed.join(", ")
    ))
}
