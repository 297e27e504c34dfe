//! `ssdlab image`: what an image holds.

use std::path::Path;

use serde_json::json;
use ssdlab_contents::{DriveState, Image, ImageContents, ImageError, PAGE_BYTES};

use crate::attach_args::{ImageArgs, ImageWhat};
use crate::failure::Failure;
use crate::output::{print, print_json, table};

pub fn run(args: &ImageArgs) -> Result<(), Failure> {
    match &args.what {
        ImageWhat::Info { image, json } => info(image, *json),
        ImageWhat::Erase { image } => erase(image),
        ImageWhat::Check { image } => {
            let contents = read(image)?;
            let torn = match contents.torn_bytes {
                0 => String::new(),
                bytes => format!("; the last {bytes} bytes were cut short, which the next attach drops"),
            };
            if !contents.headers_match && contents.header.clean {
                return Err(Failure::run(format!(
                    "{}: one of its two headers is damaged; the other one and {} records are whole",
                    image.display(),
                    contents.records
                ))
                .help("an image that is attached once more is closed with two whole headers"));
            }
            // What a process that was killed may leave.
            let headers = if contents.headers_match { "" } else { "; one of its two headers was cut short" };
            let whole = format!("{} records, every checksum of them matches{headers}{torn}", contents.records);
            print(&format!("{}: {whole}\n", image.display()))
        }
    }
}

fn erase(path: &Path) -> Result<(), Failure> {
    let wrong = |e: ImageError| Failure::bad_input(format!("{}: {e}", path.display()));
    let (mut image, contents) = Image::open(path).map_err(wrong)?;
    if let Err(e) = image.erase(None) {
        if contents.header.clean {
            drop(image.close());
        }
        return Err(wrong(e));
    }
    let key = if image.is_encrypted() { ", and its media key changed" } else { "" };
    let drive = if contents.state.is_some() {
        "; an erase that the drive has is carried out when it is attached next"
    } else {
        ""
    };
    // One whose process was killed is still to be told so.
    if contents.header.clean {
        image.close().map_err(wrong)?;
    }
    print(&format!("{}: erased{key}{drive}\n", path.display()))
}

fn read(image: &Path) -> Result<ImageContents, Failure> {
    Image::inspect(image).map_err(|e| Failure::bad_input(format!("{}: {e}", image.display())))
}

const CIPHER: &str = "AES-256-XTS";
const KEPT: &str = "bytes; which pages were written, trimmed or destroyed by a cut";
const DRIVE_KEPT: &str = "the drive: flash with wear, map, journal, bad blocks, counters";
const LOCKS_KEPT: &str = "its passwords and locked ranges, of which this file protects nothing";
const NOT_KEPT: &str = "energy drawn, warmth";
const DRIVE_NOT_KEPT: &str =
    "map, wear and counters of the drive: it is attached as a new one, written once in address order";

fn info(image: &Path, as_json: bool) -> Result<(), Failure> {
    let contents = read(image)?;
    let written = contents.store.written().filter(|written| written.1 != 0).count() * PAGE_BYTES;
    let stored = contents.store.stored_pages() * PAGE_BYTES as u64;
    let unreadable = contents.store.lost().len();
    let header = &contents.header;
    let end = if header.clean { "closed in good order" } else { "open, or its process was killed" };
    let state = contents.state.as_ref();
    let key_changes = header.key.as_ref().map(|key| key.changes);
    let changed: Option<u64> = state.map(|state| state.since.iter().map(|change| change.pages.len() as u64).sum());
    let (keeps, does_not_keep) = match state {
        Some(_) => (format!("{KEPT}; {DRIVE_KEPT}"), NOT_KEPT),
        None => (KEPT.to_owned(), DRIVE_NOT_KEPT),
    };
    let keeps = if contents.reserved.is_empty() { keeps } else { format!("{keeps}; {LOCKS_KEPT}") };
    if as_json {
        return print_json(&json!({
            "image": image.to_string_lossy(), "version": header.version, "device": header.device, "capacity_bytes": header.capacity_bytes,
            "written_bytes": written, "stored_bytes": stored, "unreadable_pages": unreadable,
            "file_bytes": contents.end + contents.torn_bytes, "torn_bytes": contents.torn_bytes, "clean": header.clean,
            "encryption": key_changes.map(|changes| json!({ "cipher": CIPHER, "key_changes": changes })),
            "erased_since": state.map(|state| state.erased),
            "drive_state_bytes": state.map(DriveState::stored_bytes), "pages_changed_since": changed,
            "keeps": keeps, "does_not_keep": does_not_keep,
        }));
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    print(&table(&[
        row("device", header.device.clone()),
        row("version", header.version.to_string()),
        row("capacity", format!("{} bytes", header.capacity_bytes)),
        row("written", format!("{written} bytes, {stored} of them not zero")),
        row("unreadable", format!("{unreadable} pages")),
        row("file", format!("{} bytes", contents.end + contents.torn_bytes)),
        row("state", end.to_owned()),
        row(
            "encryption",
            match key_changes {
                Some(changes) => format!("{CIPHER}; the key stands in the file; changes of it so far: {changes}"),
                None => "none".to_owned(),
            },
        ),
        row(
            "drive",
            match (state, changed) {
                (Some(state), Some(changed)) => {
                    let erased = if state.erased { "to be erased; " } else { "" };
                    format!("{} bytes; {erased}{changed} pages changed since it was saved", state.stored_bytes())
                }
                _ => "was never saved".to_owned(),
            },
        ),
        row("keeps", keeps),
        row("does not keep", does_not_keep.to_owned()),
    ]))
}
