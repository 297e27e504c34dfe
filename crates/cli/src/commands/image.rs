//! `ssdlab image`: what an image holds.

use std::path::Path;

use serde_json::json;
use ssdlab_contents::{IMAGE_VERSION, Image, ImageContents, PAGE_BYTES};

use crate::attach_args::{ImageArgs, ImageWhat};
use crate::failure::Failure;
use crate::output::{print, print_json, table};

pub fn run(args: &ImageArgs) -> Result<(), Failure> {
    match &args.what {
        ImageWhat::Info { image, json } => info(image, *json),
        ImageWhat::Check { image } => {
            let contents = read(image)?;
            let torn = match contents.torn_bytes {
                0 => String::new(),
                bytes => format!("; the last {bytes} bytes were cut short, which the next attach drops"),
            };
            print(&format!("{}: {} records, every checksum matches{torn}\n", image.display(), contents.records))
        }
    }
}

fn read(image: &Path) -> Result<ImageContents, Failure> {
    Image::inspect(image).map_err(|e| Failure::bad_input(format!("{}: {e}", image.display())))
}

const KEPT: &str = "bytes; which pages were written, trimmed or destroyed by a cut";
const NOT_KEPT: &str =
    "map, wear and counters of the drive: it is attached as a new one, written once in address order";

fn info(image: &Path, as_json: bool) -> Result<(), Failure> {
    let contents = read(image)?;
    let written = contents.store.written().count() * PAGE_BYTES;
    let stored = contents.store.stored_pages() * PAGE_BYTES as u64;
    let unreadable = contents.store.lost().len();
    let header = &contents.header;
    let end = if header.clean { "closed in good order" } else { "open, or its process was killed" };
    if as_json {
        return print_json(&json!({
            "image": image, "version": IMAGE_VERSION, "device": header.device, "capacity_bytes": header.capacity_bytes,
            "written_bytes": written, "stored_bytes": stored, "unreadable_pages": unreadable,
            "file_bytes": contents.end + contents.torn_bytes, "torn_bytes": contents.torn_bytes, "clean": header.clean,
            "keeps": KEPT, "does_not_keep": NOT_KEPT,
        }));
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    print(&table(&[
        row("device", header.device.clone()),
        row("version", IMAGE_VERSION.to_string()),
        row("capacity", format!("{} bytes", header.capacity_bytes)),
        row("written", format!("{written} bytes, {stored} of them not zero")),
        row("unreadable", format!("{unreadable} pages")),
        row("file", format!("{} bytes", contents.end + contents.torn_bytes)),
        row("state", end.to_owned()),
        row("keeps", KEPT.to_owned()),
        row("does not keep", NOT_KEPT.to_owned()),
    ]))
}
