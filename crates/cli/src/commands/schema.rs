//! `ssdlab schema`: what drive, die, disk and adapter files and plans can say, as JSON Schema.

use ssdlab_catalog::documentation::File;
use ssdlab_sweep::plan_schema;

use crate::args::{SchemaArgs, SchemaFile};
use crate::failure::Failure;
use crate::output::print_json;

pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let file = match args.file {
        SchemaFile::Drive => File::Drive,
        SchemaFile::Die => File::Die,
        SchemaFile::Disk => File::Disk,
        SchemaFile::Adapter => File::Adapter,
        SchemaFile::Plan => return print_json(&plan_schema()),
    };
    print_json(&file.schema())
}
