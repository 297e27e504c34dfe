//! `ssdlab run`: a fio job file on a drive.

use crate::args::RunArgs;
use crate::failure::Failure;

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    Err(Failure::run(format!("{}: job files cannot be run yet", args.job.display())))
}
