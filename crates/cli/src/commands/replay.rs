use crate::args::ReplayArgs;
use crate::failure::Failure;
pub fn run(_: &ReplayArgs) -> Result<(), Failure> {
    Err(Failure::run("x"))
}
