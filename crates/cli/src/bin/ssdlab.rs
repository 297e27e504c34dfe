//! The `ssdlab` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ssdlab_cli::command(std::env::args_os()))
}
