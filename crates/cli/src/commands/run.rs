use crate::args::RunArgs;
use crate::failure::Failure;
pub fn run(_: &RunArgs) -> Result<(), Failure> { Err(Failure::run("x")) }
