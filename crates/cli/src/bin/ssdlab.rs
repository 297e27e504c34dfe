//! The `ssdlab` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ssdlab_cli::take_limits_as_errors();
    ExitCode::from(ssdlab_cli::command(std::env::args_os()))
}
