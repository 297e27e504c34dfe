//! The `ssdlab` command, as a library: [`command`] runs a command line. The program calls it, and so does the Python
//! package, which builds the same devices ([`lab`]), reviews ([`review_of`]) and messages ([`failure`]).
//!
//! Exit codes: 0 done; 1 done, but something failed or was stopped; 2 nothing ran, because the input was wrong (a
//! device, test, file or option).

pub mod apart;
pub mod args;
mod attach_args;
pub mod commands;
pub mod failure;
pub mod figures;
mod finished;
pub mod folder;
pub mod lab;
mod memory;
mod output;
pub mod plan;
mod progress;
mod real;
pub mod review_of;
pub mod saved;
mod seed;
pub mod side_by_side;
mod specification;
mod tested;
pub mod timeline;
pub mod trace_error;

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Args, Command};
use crate::failure::Failure;

/// A limit on the size of files ends in an error of the write, which names the file, and not in the end of the process.
pub fn take_limits_as_errors() {
    #[cfg(unix)]
    // Without it the process ends as it would have.
    drop(signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default()));
}

/// Runs the command line `words`, of which the first is the name of the program, and returns its exit code.
pub fn command(words: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(e) => return args::refused(&e),
    };
    let result = match args.command {
        Command::Review(args) => commands::review::run(&args),
        Command::Test(args) => commands::test::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Claims(args) => commands::claims::run(&args),
        Command::Sensitivity(args) => commands::sensitivity::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Attach(args) => commands::attach::run(&args),
        Command::Ctl(args) => commands::ctl::run(&args),
        Command::Image(args) => commands::image::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Torture(args) => commands::torture::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Show(args) => commands::show::run(&args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { command } => commands::manual::man(command.as_deref()),
    };
    match result {
        Ok(()) => 0,
        Err(Failure::ReaderGone) => 0,
        Err(Failure::Command(code)) => code,
        Err(failure) => {
            output::complain(&failure.to_string());
            failure.exit_code()
        }
    }
}
