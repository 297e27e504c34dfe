//! `ssdlab list`: what there is.

use ssdlab_catalog::{die, die_names, drive_names, resolve};

use crate::args::{ListArgs, ListWhat};
use crate::failure::Failure;
use crate::output::{print, table};

pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let rows = match args.what {
        ListWhat::Devices => devices()?,
        ListWhat::Nand => dies()?,
    };
    print(&table(&rows))
}

fn devices() -> Result<Vec<Vec<String>>, Failure> {
    drive_names()
        .map(|name| {
            let drive = resolve(name)?;
            Ok(vec![
                name.to_owned(),
                format!("{:.1} GB", drive.spec.capacity_bytes as f64 / 1e9),
                drive.spec.description,
            ])
        })
        .collect()
}

fn dies() -> Result<Vec<Vec<String>>, Failure> {
    die_names()
        .map(|name| {
            let die = die(name)?;
            let g = &die.spec.geometry;
            Ok(vec![name.to_owned(), format!("{} x {} KiB", g.planes, g.page_bytes / 1024), die.spec.description])
        })
        .collect()
}
