//! What is done to files, one step after the other. Tests end the process before any of them, or in the middle of a write.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;

use ssdlab_core::input::open_regular;

use super::ImageError;
use super::format::{FIRST_RECORD, HEADER_BYTES, Header, MAGIC, may_be_records};

/// A new file, for reading and writing.
pub fn create_new(path: &Path) -> Result<File> {
    kill::step()?;
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// A file that is to take the place of another gets its permissions, before anything of that other is in it.
pub fn permit_as(file: &File, other: &File) -> Result<()> {
    kill::step()?;
    file.set_permissions(other.metadata()?.permissions())
}

/// A file that is there, for reading and writing.
pub fn open_to_change(path: &Path) -> Result<File> {
    // What would wait for somebody at its other end is refused.
    drop(open_regular(path)?);
    OpenOptions::new().read(true).write(true).open(path)
}

/// Removes a file that was just made and could not be written.
pub fn remove(path: &Path) -> Result<()> {
    kill::step()?;
    std::fs::remove_file(path)
}

/// Whether a path leads to a file that is open.
#[cfg(unix)]
pub fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (open, named) = (file.metadata().map(identity), std::fs::metadata(path).map(identity));
    open.is_ok_and(|open| named.is_ok_and(|named| open == named))
}

#[cfg(not(unix))]
pub fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}

pub fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> Result<()> {
    file.seek(SeekFrom::Start(at))?;
    if let Err(killed) = kill::write() {
        file.write_all(&bytes[..kill::written(bytes.len())])?;
        return Err(killed);
    }
    let fits = kill::fitting(at, bytes.len());
    file.write_all(&bytes[..fits])?;
    if fits < bytes.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
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

/// A file takes a name that nothing has, in one step where that can be: elsewhere an empty file takes the name first.
pub fn move_to_free_name(file: &Path, name: &Path) -> Result<()> {
    kill::step()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, file, CWD, name, RenameFlags::NOREPLACE) {
            // Some file systems have no such step.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            moved => return Ok(moved?),
        }
    }
    File::create_new(name)?;
    std::fs::rename(file, name).inspect_err(|_| drop(std::fs::remove_file(name)))
}

/// A file takes the place of another.
pub fn replace(new: &Path, old: &Path) -> Result<()> {
    kill::step()?;
    std::fs::rename(new, old)
}

/// The names beside this one are kept even if the machine goes down.
pub fn sync_folder(path: &Path) -> Result<()> {
    kill::step()?;
    // Elsewhere a folder cannot be opened as a file.
    if cfg!(unix) && !cfg!(test) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
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
///
/// # Errors
/// [`ImageError::Foreign`] if something else has its name: a link, a folder, an image that was finished, whatever has become of it
/// since, or any other file. [`ImageError::InUse`] while another process writes it, or has put another one there meanwhile.
pub fn remove_unfinished(path: &Path) -> std::result::Result<(), ImageError> {
    let foreign = || ImageError::Foreign(path.to_owned());
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(foreign()),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e.into()),
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    super::lock_named(&file, path)?;
    let mut begin = Vec::new();
    (&mut file).take(FIRST_RECORD + MAGIC.len() as u64).read_to_end(&mut begin)?;
    if !was_left_unfinished(&begin) {
        return Err(foreign());
    }
    forget_key(&mut file)?;
    Ok(remove(path)?)
}

/// Whether a file that begins so was never finished. The header that says so is overwritten by the last one only once the image has
/// its place. Before there is a header, and while headers are overwritten with zeroes, there are only zeroes and beginnings.
fn was_left_unfinished(begin: &[u8]) -> bool {
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let (first, rest) = begin.split_at(begin.len().min(HEADER_BYTES));
    let (second, records) = rest.split_at(rest.len().min(HEADER_BYTES));
    let mut headers = Vec::new();
    for slot in [first, second] {
        match slot.try_into().map(Header::read) {
            Ok(Err(_)) => return false,
            Ok(Ok(header)) => headers.extend(header),
            Err(_) => {}
        }
    }
    if headers.iter().any(|header| header.unfinished) {
        return true;
    }
    let name = &second[..second.len().min(MAGIC.len())];
    match headers.as_slice() {
        [] => is_zero(first) && (is_zero(name) || MAGIC.starts_with(name)) && may_be_records(records),
        // Headers are overwritten from the first byte on; nothing else leaves a second one alone with zeroes before it.
        _ => is_zero(&first[..MAGIC.len()]),
    }
}

#[cfg(not(test))]
mod kill {
    #[inline]
    pub fn step() -> std::io::Result<()> {
        Ok(())
    }

    #[inline]
    pub fn write() -> std::io::Result<()> {
        Ok(())
    }

    pub fn written(_: usize) -> usize {
        0
    }

    #[inline]
    pub fn fitting(_: u64, bytes: usize) -> usize {
        bytes
    }
}

/// A process that ends after so many steps, and a disk that is full.
#[cfg(test)]
pub mod kill {
    use std::cell::Cell;
    use std::io::{Error, Result};

    thread_local! {
        /// Steps until the end, and how many eighths of the write that is cut short are still done.
        static LEFT: Cell<Option<(u32, usize)>> = const { Cell::new(None) };
        /// No file becomes longer.
        static ROOM: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    /// From now on files have room for so many bytes; `None`: for all.
    pub fn room(bytes: Option<u64>) {
        ROOM.set(bytes.unwrap_or(u64::MAX));
    }

    /// Bytes of a write that find room.
    pub fn fitting(at: u64, bytes: usize) -> usize {
        ROOM.get().saturating_sub(at).min(bytes as u64) as usize
    }

    /// From now on; `None`: never.
    pub fn after(steps: Option<u32>, eighths: usize) {
        LEFT.set(steps.map(|steps| (steps, eighths)));
    }

    /// A step that is done or not: after the end nothing is written any more.
    pub fn step() -> Result<()> {
        write().inspect_err(|_| _ = written(0))
    }

    /// A step that may be done in part: see [`written`].
    pub fn write() -> Result<()> {
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
