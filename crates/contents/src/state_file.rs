//! A drive without its bytes in a file: what [`ssdlab_device::Plug::save`] gave, compressed, with a checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | version |
//! | 4 | CRC-32 of all that follows |
//! | 8 | capacity of the drive in bytes |
//! | | the state, compressed (zlib) |

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use ssdlab_core::input::open_regular;
use thiserror::Error;

use crate::image::{DriveState, ImageError};

const MAGIC: &[u8; 8] = b"SSDLABST";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
/// Names that are tried for the file that takes the place of another.
const MOST_BESIDE: u32 = 1000;

/// Why a file cannot be used.
#[derive(Debug, Error)]
pub enum StateFileError {
    #[error("it is there already, and no saved drive: it is not overwritten")]
    Foreign,
    #[error("there is no such folder")]
    NoFolder,
    #[error("not a saved drive")]
    NoState,
    #[error("a saved drive of version {found}; this program knows version {VERSION}")]
    Version { found: u32 },
    #[error("damaged: its checksum does not match")]
    Damaged,
    #[error("a drive of {found} bytes, not {wanted}")]
    Capacity { found: u64, wanted: u64 },
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Whether a saved drive is there, which [`write_state_file`] would replace.
///
/// # Errors
/// If something else is there, or there is no such folder.
pub fn check_state_file(path: &Path) -> Result<bool, StateFileError> {
    match open_regular(path) {
        Ok(mut file) => {
            let mut magic = [0; 8];
            if file.read_exact(&mut magic).is_err() || &magic != MAGIC {
                return Err(StateFileError::Foreign);
            }
            Ok(true)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(StateFileError::NoFolder),
            _ => Ok(false),
        },
        Err(e) => Err(e.into()),
    }
}

/// Writes the state of a drive. Another saved drive of that name is replaced once the file is whole.
///
/// # Errors
/// If the file is there and something else, or cannot be written.
pub fn write_state_file(path: &Path, capacity_bytes: u64, saved: &[u8]) -> Result<(), StateFileError> {
    check_state_file(path)?;
    let mut rest = capacity_bytes.to_le_bytes().to_vec();
    rest.extend_from_slice(&DriveState::compress(saved));
    let (name, mut file) = create_beside(path)?;
    let mut write = || {
        file.write_all(MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        file.write_all(&crc32fast::hash(&rest).to_le_bytes())?;
        file.write_all(&rest)?;
        file.sync_data()?;
        std::fs::rename(&name, path)
    };
    let written = write();
    if written.is_err() {
        drop(std::fs::remove_file(&name));
    }
    Ok(written?)
}

/// A new file beside `path`, for what is to take its place.
fn create_beside(path: &Path) -> io::Result<(OsString, File)> {
    let mut number = 0;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        // What is there under this name already is not ours: one that was killed has left it, or one of another container writes
        // it. Both may have our process number.
        match File::create_new(&name) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && number < MOST_BESIDE => number += 1,
            file => return Ok((name, file?)),
        }
    }
}

/// Reads the state of a drive of this capacity.
///
/// # Errors
/// If the file is no saved drive, of another version or capacity, or damaged; or cannot be read.
pub fn read_state_file(path: &Path, capacity_bytes: u64) -> Result<Vec<u8>, StateFileError> {
    let mut file = open_regular(path)?;
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Err(StateFileError::NoState),
        read => read?,
    }
    let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    if &header[..8] != MAGIC {
        return Err(StateFileError::NoState);
    }
    if number(8) != VERSION {
        return Err(StateFileError::Version { found: number(8) });
    }
    let found = u64::from_le_bytes(header[16..].try_into().expect("eight bytes"));
    // What is longer than the state of any such drive is not read to its end.
    let most = DriveState::most_bytes(capacity_bytes.div_ceil(ssdlab_core::UNIT_BYTES));
    let mut compressed = Vec::new();
    file.take(most + 1).read_to_end(&mut compressed)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[16..]);
    hasher.update(&compressed);
    if hasher.finalize() != number(12) {
        return Err(StateFileError::Damaged);
    }
    if found != capacity_bytes {
        return Err(StateFileError::Capacity { found, wanted: capacity_bytes });
    }
    match DriveState::of(compressed).saved(capacity_bytes.div_ceil(ssdlab_core::UNIT_BYTES)) {
        Err(ImageError::Io(e)) => Err(e.into()),
        saved => saved.map_err(|_| StateFileError::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_drive_comes_back_and_nothing_else_is_read_or_overwritten() {
        let folder = std::env::temp_dir().join(format!("ssdlab-state-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("drive.state");
        let saved: Vec<u8> = (0..2000_u32).map(|k| (k * k / 7) as u8).collect();
        write_state_file(&path, 1 << 20, &saved).unwrap();
        write_state_file(&path, 1 << 20, &saved).unwrap();
        assert_eq!(read_state_file(&path, 1 << 20).unwrap(), saved);
        assert!(matches!(read_state_file(&path, 1 << 21), Err(StateFileError::Capacity { found: 0x10_0000, .. })));
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(13) {
            let mut spoiled = bytes.clone();
            spoiled[at] ^= 4;
            std::fs::write(&path, &spoiled).unwrap();
            assert!(read_state_file(&path, 1 << 20).is_err(), "byte {at}");
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(read_state_file(&path, 1 << 20).is_err(), "{at} bytes");
        }
        assert!(matches!(read_state_file(&folder, 1 << 20), Err(StateFileError::Io(_))));
        assert!(matches!(write_state_file(&folder, 1 << 20, &saved), Err(StateFileError::Io(_))));
        assert!(std::fs::read_dir(&folder).unwrap().count() == 1, "nothing is left beside it");
        // What a process of our number has left when it was killed.
        let left = ["", "-1"].map(|end| folder.join(format!("drive.state.partial-{}{end}", std::process::id())));
        left.iter().for_each(|left| std::fs::write(left, "half").unwrap());
        std::fs::remove_file(&path).unwrap();
        write_state_file(&path, 1 << 20, &saved).unwrap();
        assert_eq!(read_state_file(&path, 1 << 20).unwrap(), saved);
        assert!(left.iter().all(|left| std::fs::read(left).unwrap() == b"half"));
        std::fs::write(&path, "a letter").unwrap();
        assert!(matches!(write_state_file(&path, 1 << 20, &saved), Err(StateFileError::Foreign)));
        assert!(matches!(read_state_file(&path, 1 << 20), Err(StateFileError::NoState)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
