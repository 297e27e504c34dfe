//! `ssdlab schema`: what drive, die, disk and adapter files can say, as JSON Schema.

use ssdlab_catalog::documentation::File;

use crate::args::{SchemaArgs, SchemaFile};
use crate::failure::Failure;
use crate::output::print_json;

pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let file = match args.file {
        SchemaFile::Drive => File::Drive,
        SchemaFile::Die => File::Die,
        SchemaFile::Disk => File::Disk,
        SchemaFile::Adapter => File::Adapter,
    };
    print_json(&file.schema())
}
