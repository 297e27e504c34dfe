//! What is done to files, one step after the other. Tests end the process before any of them, or in the middle of a write.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result, Seek, SeekFrom, Write};
use std::path::Path;

use super::format::FIRST_RECORD;

/// A new file, for reading and writing.
pub fn create_new(path: &Path) -> Result<File> {
    kill::step()?;
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

pub fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> Result<()> {
    file.seek(SeekFrom::Start(at))?;
    if let Err(killed) = kill::step() {
        file.write_all(&bytes[..kill::written(bytes.len())])?;
        return Err(killed);
    }
    file.write_all(bytes)
}

pub fn cut_off(file: &File, bytes: u64) -> Result<()> {
    kill::step()?;
    file.set_len(bytes)
}

pub fn sync(file: &File) -> Result<()> {
    kill::step()?;
    // Only a crash of the machine could tell, and it takes tests long.
    if cfg!(test) { Ok(()) } else { file.sync_data() }
}

/// A file takes the place of another, for good.
pub fn replace(new: &Path, old: &Path) -> Result<()> {
    kill::step()?;
    std::fs::rename(new, old)?;
    kill::step()?;
    // Elsewhere a folder cannot be opened as a file.
    if cfg!(unix) && !cfg!(test) {
        let folder = old.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Overwrites the headers of an image that is not needed any more, where the key stands: what has not been reached of it by now
/// is noise.
pub fn forget_key(file: &mut File) -> Result<()> {
    write_at(file, 0, &[0; FIRST_RECORD as usize])?;
    sync(file)
}

/// Removes an image that was never finished, if there is one.
pub fn remove_unfinished(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Ok(mut file) => forget_key(&mut file)?,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    }
    kill::step()?;
    std::fs::remove_file(path)
}

#[cfg(not(test))]
mod kill {
    #[inline]
    pub fn step() -> std::io::Result<()> {
        Ok(())
    }

    pub fn written(_: usize) -> usize {
        0
    }
}

/// A process that ends after so many steps.
#[cfg(test)]
pub mod kill {
    use std::cell::Cell;
    use std::io::{Error, Result};

    thread_local! {
        /// Steps until the end, and how many eighths of the write that is cut short are still done.
        static LEFT: Cell<Option<(u32, usize)>> = const { Cell::new(None) };
    }

    /// From now on; `None`: never.
    pub fn after(steps: Option<u32>, eighths: usize) {
        LEFT.set(steps.map(|steps| (steps, eighths)));
    }

    pub fn step() -> Result<()> {
        match LEFT.get() {
            None => Ok(()),
            Some((0, _)) => Err(Error::other("killed")),
            Some((steps, eighths)) => {
                LEFT.set(Some((steps - 1, eighths)));
                Ok(())
            }
        }
    }

    /// Bytes of a write that were written before the end, which leaves nothing for what comes after.
    pub fn written(bytes: usize) -> usize {
        let eighths = LEFT.get().map_or(0, |left| left.1);
        LEFT.set(LEFT.get().map(|left| (left.0, 0)));
        bytes * eighths / 8
    }
}
