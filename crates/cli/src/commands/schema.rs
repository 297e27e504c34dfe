//! `ssdlab schema`: what drive and die files can say, as JSON Schema.

use ssdlab_catalog::documentation::File;

use crate::args::{SchemaArgs, SchemaFile};
use crate::failure::Failure;
use crate::output::print_json;

pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let file = match args.file {
        SchemaFile::Drive => File::Drive,
        SchemaFile::Die => File::Die,
    };
    print_json(&file.schema())
}
