//! From the DEVICE of the command line to a drive that can be built.

use std::fs;
use std::path::{Path, PathBuf};

use ssdlab_core::{input, nearest};
use ssdlab_device::name_of_model;
use ssdlab_keys::SpecError;
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Model};

use crate::diagnostic::Diagnostic;
use crate::disk::disk_names;
use crate::embedded::{ADAPTERS, ARRAYS, DIES, DISKS, DRIVES, find};
use crate::keys::{SpecRow, of_spare};
use crate::kind::{DIE, DRIVE};
use crate::load::{Loaded, SourceText, load, other_kind};

/// A drive that was found, read and checked.
#[derive(Clone, Debug)]
pub struct Drive {
    /// Catalog name, or the path it was read from.
    pub name: String,
    pub spec: DriveSpec,
    pub die: Die,
    /// Every value of the drive file, with its source.
    pub rows: Vec<SpecRow>,
    /// The drive of the catalog that its file changes; its own name if there is none, or it is of the catalog itself.
    drawn_as: String,
    source: SourceText,
    /// See [`Drive::capacity_follows()`].
    pub(crate) capacity_follows: bool,
}

impl Drive {
    /// Its name, and as which model it is drawn: a file of one's own that changes a drive of the catalog describes that
    /// specimen with these changes, so that nothing but the changes makes a difference.
    #[must_use]
    pub fn model(&self) -> Model<'_> {
        Model { name: &self.name, drawn_as: &self.drawn_as }
    }

    /// Shows at which line of the drive file a value lies that could not be built. A capacity that follows from the spare area is
    /// in no file.
    #[must_use]
    pub fn explain(&self, error: &SpecError) -> Diagnostic {
        match error.key.as_str() {
            "capacity_bytes" if self.capacity_follows => Diagnostic::new(of_spare(error.clone()).to_string()),
            _ => self.source.spec_error(error),
        }
    }

    /// Whether its capacity is none of its file, but follows from the spare area that was asked for: see [`of_spare`].
    #[must_use]
    pub fn capacity_follows(&self) -> bool {
        self.capacity_follows
    }
}

/// A die type that was found, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Die {
    /// Catalog name, or the path it was read from.
    pub name: String,
    pub spec: DieSpec,
    /// Every value of the die file, with its source.
    pub rows: Vec<SpecRow>,
}

/// Names of the drives of the catalog, in alphabetical order.
pub fn drive_names() -> impl Iterator<Item = &'static str> + Clone {
    DRIVES.iter().map(|f| f.name)
}

/// Names of the arrays of the catalog, in alphabetical order.
pub fn array_names() -> impl Iterator<Item = &'static str> + Clone {
    ARRAYS.iter().map(|f| f.name)
}

/// Names of the die types of the catalog, in alphabetical order.
pub fn die_names() -> impl Iterator<Item = &'static str> + Clone {
    DIES.iter().map(|f| f.name)
}

/// Finds and reads a drive: a name of the catalog, or the path of a `.toml` file.
///
/// # Errors
/// If there is no such drive (with the nearest names), if the name is that of a real device or of a file that is
/// not a drive file, or if the drive file or its die file cannot be read or built. Real devices are not opened.
pub fn resolve(device: &str) -> Result<Drive, Diagnostic> {
    let (file, text, folder) = locate(device)?;
    drive_of(device, &file, &text, folder.as_deref())
}

/// Finds a drive: its file as messages name it, the file's text, and the folder of the files that it names.
pub(crate) fn locate(device: &str) -> Result<(String, String, Option<PathBuf>), Diagnostic> {
    if let Some(file) = find(DRIVES, device) {
        return Ok((file.path.to_owned(), file.text.to_owned(), None));
    }
    if device.ends_with(".toml") {
        let text = read_file(device, "drive")?;
        return Ok((device.to_owned(), text, Path::new(device).parent().map(Path::to_owned)));
    }
    if Path::new(device).exists() {
        return Err(refuse_real_device(device));
    }
    let mut error = if device.contains('/') {
        Diagnostic::new(format!("{device}: there is no such file"))
            .help("give the path of a drive file that ends in .toml, or a name that `ssdlab list devices` shows")
    } else {
        Diagnostic::new(format!("there is no drive `{}`", input::printable(device, &[])))
    };
    let close = nearest(device, drive_names().chain(disk_names()).chain(array_names()));
    if !close.is_empty() {
        error = error.help(format!("did you mean {}?", close.join(" or ")));
    } else if find(DIES, device).is_some() {
        error = error.help(format!("`{device}` is a die type; name a drive that is built of it"));
    }
    if !device.contains('/') {
        error = error
            .help("`ssdlab list devices` shows every drive of the catalog; a drive file of your own must end in .toml");
    }
    Err(error)
}

/// Reads a drive from the text of a drive file; `file` is its name in messages.
///
/// # Errors
/// As [`resolve`]. A die file that it names is looked for beside `file`.
pub fn parse_drive(file: &str, text: &str) -> Result<Drive, Diagnostic> {
    drive_of(file, file, text, Path::new(file).parent())
}

/// Reads a die type from the text of a die file; `file` is its name in messages.
///
/// # Errors
/// If it cannot be read or built.
pub fn parse_die(file: &str, text: &str) -> Result<Die, Diagnostic> {
    read_die(file, file, text)
}

/// Whether the catalog has something of this name.
#[must_use]
pub fn is_of_catalog(name: &str) -> bool {
    [DRIVES, DISKS, ARRAYS, ADAPTERS].into_iter().any(|files| find(files, name).is_some())
}

fn refuse_real_device(device: &str) -> Diagnostic {
    let kind = fs::metadata(device).map_or("there", |there| input::kind_of_file(there.file_type()));
    Diagnostic::new(format!(
        "{device} is {kind}, and this takes simulated drives alone (it was not opened, nothing was written)"
    ))
    .help(
        "give a drive of the catalog (`ssdlab list devices`), or a drive file that ends in .toml; real devices can be tested \
         with review, test, run and replay",
    )
}

pub(crate) fn read_file(path: &str, word: &str) -> Result<String, Diagnostic> {
    input::read_text(Path::new(path)).map_err(|e| {
        Diagnostic::new(format!("cannot read the {word} file {path}: {e}"))
            .help("give the path of a readable .toml file, which is UTF-8 text of at most 4 MiB")
    })
}

/// Reads a drive that [`locate`] has found.
pub(crate) fn drive_of(name: &str, file: &str, text: &str, folder: Option<&Path>) -> Result<Drive, Diagnostic> {
    let mut loaded: Loaded<DriveSpec> = load(&DRIVE, file, text)?;
    check_translation(&loaded)?;
    let die = find_die(&loaded, folder)?;
    loaded.spec.validate(&die.spec).map_err(|e| loaded.source.spec_error(&e))?;
    if let Some(description) = loaded.description_of_changes(name) {
        loaded.spec.description = description;
    }
    // The catalog's own are drawn by their names, wherever a copy of their files lies.
    let base = loaded.base.filter(|_| find(DRIVES, name_of_model(name)).is_none());
    let drawn_as = base.unwrap_or_else(|| name_of_model(name).to_owned());
    Ok(Drive {
        name: name.to_owned(),
        spec: loaded.spec,
        die,
        rows: loaded.rows,
        drawn_as,
        source: loaded.source,
        capacity_follows: false,
    })
}

/// The one key of `[mapping]` that drives with log blocks have, too.
pub(crate) const RESERVED_BLOCKS: &str = "mapping.reserved_blocks_per_1000";

/// A drive has a map of pages, told by `[mapping]` and `[gc]`, or log blocks.
fn check_translation(drive: &Loaded<DriveSpec>) -> Result<(), Diagnostic> {
    let has = |section: &str| drive.rows.iter().any(|row| row.key.split_once('.').is_some_and(|(s, _)| s == section));
    let blocks = drive.spec.log_blocks.is_some();
    for section in ["mapping", "gc"] {
        let reserve_only = section == "mapping"
            && drive.rows.iter().all(|row| !row.key.starts_with("mapping.") || row.key == RESERVED_BLOCKS);
        if has(section) == blocks && !(blocks && reserve_only) {
            let what = if blocks {
                format!("[{section}] has no effect on a drive with [log_blocks]")
            } else {
                format!("missing section `[{section}]`")
            };
            let of_base = |section: &str| drive.base.is_some() && !drive.source.has(section);
            return Err(Diagnostic::new(what).at(drive.source.value_place(section)).help(if !blocks {
                "add it, or [log_blocks] for a drive that translates by blocks; docs/drive-files.md explains both"
            } else if of_base("log_blocks") {
                "leave one of them out; what the base has, by without = [\"log_blocks\"]"
            } else if of_base(section) {
                "leave one of them out; what the base has, by without = [\"mapping\", \"gc\"]"
            } else {
                "leave one of them out"
            }));
        }
    }
    Ok(())
}

/// The die type that a drive file names: of the catalog, or a file beside the drive file.
fn find_die(drive: &Loaded<DriveSpec>, folder: Option<&Path>) -> Result<Die, Diagnostic> {
    let name = drive.spec.flash.die.as_str();
    if find(DIES, name).is_some() {
        return die(name);
    }
    let missing = |what: String| Diagnostic::new(what).at(drive.source.value_place("flash.die"));
    if name.ends_with(".toml") {
        let path = folder.unwrap_or(Path::new("")).join(name);
        if !path.exists() {
            return Err(missing(format!("flash.die: there is no file {}", path.display()))
                .help("give a path relative to the drive file, or a name that `ssdlab list nand` shows"));
        }
        let path = path.display().to_string();
        let text = read_file(&path, "die")?;
        if let Some(other) = toml::from_str(&text).ok().and_then(|table| other_kind(&table, &DIE)) {
            let error = missing(format!("flash.die: {path} describes {}, not a die type", other.one()));
            return Err(error.help("give the path of a die file, or a name that `ssdlab list nand` shows"));
        }
        return read_die(&path, &path, &text);
    }
    Err(missing_die(missing(format!("flash.die: there is no die type `{name}`")), name))
}

/// Adds what there is to an error about a die type that there is not.
pub(crate) fn missing_die(mut error: Diagnostic, name: &str) -> Diagnostic {
    let close = nearest(name, die_names());
    if !close.is_empty() {
        error = error.help(format!("did you mean {}?", close.join(" or ")));
    }
    error.help(format!(
        "the catalog has {}; a die file of your own must end in .toml",
        die_names().collect::<Vec<_>>().join(", ")
    ))
}

/// Reads a die type of the catalog.
///
/// # Errors
/// If there is none of that name, with the nearest names.
pub fn die(name: &str) -> Result<Die, Diagnostic> {
    match find(DIES, name) {
        Some(file) => read_die(name, file.path, file.text),
        None => {
            let mut error = Diagnostic::new(format!("there is no die type `{name}`"));
            let close = nearest(name, die_names());
            if !close.is_empty() {
                error = error.help(format!("did you mean {}?", close.join(" or ")));
            }
            Err(error.help("`ssdlab list nand` shows every die type of the catalog"))
        }
    }
}

pub(crate) fn read_die(name: &str, file: &str, text: &str) -> Result<Die, Diagnostic> {
    let loaded: Loaded<DieSpec> = load(&DIE, file, text)?;
    loaded.spec.validate().map_err(|e| loaded.source.spec_error(&e))?;
    let description = loaded.description_of_changes(name);
    let mut spec = loaded.spec;
    if let Some(description) = description {
        spec.description = description;
    }
    Ok(Die { name: name.to_owned(), spec, rows: loaded.rows })
}
