//! The `ssdlab` command.
//!
//! Exit codes: 0 done; 1 done, but something failed or was stopped; 2 nothing ran, because the input was wrong (a
//! device, test, file or option).

mod args;
mod attach_args;
mod commands;
mod failure;
mod finished;
mod folder;
mod lab;
mod output;
mod plan;
mod progress;
mod review_of;
mod specification;
mod trace_error;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
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
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Command(code)) => ExitCode::from(code),
        Err(failure) => {
            output::complain(&failure.to_string());
            failure.exit_code()
        }
    }
}
