//! Files that one command writes, and that must not take each other's place.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::failure::Failure;

/// Sees before anything runs that what is written goes to places of its own: files, each with what asks for it, none of them in the
/// folder of a page (`out`).
///
/// # Errors
/// The first of them that takes another's place.
pub fn check_apart(files: &[(&str, Option<&Path>)], out: Option<&Path>) -> Result<(), Failure> {
    let given: Vec<_> = files.iter().filter_map(|&(asks, path)| Some((asks, path?, place_of(path?)))).collect();
    for (k, (asks, path, place)) in given.iter().enumerate() {
        let refused = |what: &str| {
            Err(Failure::bad_input(format!("{asks} {} is {what}", path.display()))
                .help("choose another name or folder"))
        };
        if out.is_some_and(|out| place.starts_with(place_of(out))) {
            return refused("in the folder of --out");
        }
        if let Some((other, ..)) = given[..k].iter().find(|other| other.2 == *place) {
            return refused(&format!("the file of {other} as well"));
        }
    }
    Ok(())
}

/// Sees before anything runs that a file could be written to this path, by one beside it that goes at once. One that is there
/// already is of a run that was killed, or that writes it now, and shows the same.
///
/// # Errors
/// Those of the system.
pub fn try_to_write(path: &Path) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".partial-{}", std::process::id()));
    match fs::File::create_new(&beside) {
        Ok(_) => fs::remove_file(&beside),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(&beside)?.is_file() => {
            fs::File::options().write(true).open(&beside).map(drop)
        }
        Err(e) => Err(e),
    }
}

/// Where a path leads, as far as it exists.
pub fn place_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.canonicalize().unwrap_or_else(|_| match (absolute.parent(), absolute.file_name()) {
        (Some(folder), Some(name)) => place_of(folder).join(name),
        _ => absolute,
    })
}
