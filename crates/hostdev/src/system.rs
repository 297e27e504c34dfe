//! What the system knows of a path: its tables, and calls that only drives have.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, OFlags, StatxFlags, fstatfs, ioctl_blkpbszget, ioctl_blksszget, major, makedev, minor, statx,
};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, ioctl, opcode};
use ssdlab_core::SECTOR_BYTES;

use crate::error::OpenError;
use crate::facts::{Facts, Kind, Place};

/// Asks a statx for what direct requests must be multiples of (Linux 6.1).
const DIRECT_IO: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// BLKDISCARD: of a range, begin and length in bytes.
const DISCARD: Opcode = opcode::none(0x12, 119);
/// BLKROGET: whether a block device is write-protected.
const GET_PROTECTED: Opcode = opcode::none(0x12, 94);

/// LOOP_GET_STATUS64: what a loop device stands on.
const LOOP_GET_STATUS: Opcode = opcode::none(0x4C, 5);
/// `struct loop_info64`, in whole words.
type LoopStatus = [u64; 29];

/// What is known of a drive that was opened by this path.
///
/// # Errors
/// If it is no drive, or one that cannot be used.
pub(crate) fn look(given: &Path, file: &File) -> Result<Facts, OpenError> {
    let path = given.display().to_string();
    let cannot = |source| OpenError::Open { path: path.clone(), source };
    let meta = file.metadata().map_err(cannot)?;
    let Some(place) = Place::of_metadata(&meta) else {
        return Err(OpenError::NoDrive { path, what: what_it_is(&meta) });
    };
    let kind = if matches!(place, Place::File { .. }) { Kind::File } else { Kind::BlockDevice };
    let capacity_bytes = length(file).map_err(cannot)?;
    let (sector_bytes, physical_sector_bytes) = match kind {
        Kind::BlockDevice => {
            let logical = ioctl_blksszget(file).map_err(|e| cannot(e.into()))?;
            (logical, ioctl_blkpbszget(file).unwrap_or(logical))
        }
        Kind::File => {
            let sector = direct_alignment(file).ok_or_else(|| OpenError::NoDirectIo { path: path.clone() })?;
            (sector, sector)
        }
    };
    if capacity_bytes == 0 || !capacity_bytes.is_multiple_of(sector_bytes.into()) {
        return Err(OpenError::Size { path, bytes: capacity_bytes, sector_bytes });
    }
    let own = own_table(place);
    let table = whole_table(&own);
    let read = |name: &str| first_line(&table.join(name));
    let holes = capacity_bytes.saturating_sub(meta.blocks() * SECTOR_BYTES);
    Ok(Facts {
        path,
        place,
        kind,
        capacity_bytes,
        sector_bytes,
        physical_sector_bytes,
        model: read("device/model"),
        firmware: [read("device/firmware_rev"), read("device/rev")]
            .into_iter()
            .find(|t| !t.is_empty())
            .unwrap_or_default(),
        serial: read("device/serial"),
        rotates: read("queue/rotational") == "1",
        supports_trim: kind == Kind::BlockDevice && read("queue/discard_max_bytes").parse().is_ok_and(|n: u64| n > 0),
        queue_depth: read("device/queue_depth").parse().ok(),
        write_cache: read("queue/write_cache"),
        scheduler: chosen(&read("queue/scheduler")),
        hole_bytes: if kind == Kind::File { holes } else { 0 },
    })
}

fn what_it_is(meta: &Metadata) -> &'static str {
    match meta.file_type() {
        t if t.is_dir() => "a folder",
        t if t.is_char_device() => "a character device",
        _ => "a pipe or a socket",
    }
}

/// How many bytes there are.
///
/// # Errors
/// What the system says.
pub(crate) fn length(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

/// Whether a drive that was opened for writing may be written: it is not write-protected, and no loop device stands on it, or on
/// a part of it, or on what it is a part of: behind that a file system may be mounted that the system does not count as a user.
///
/// # Errors
/// Which of them.
pub(crate) fn check_free(path: &Path, file: &File, place: Place) -> Result<(), OpenError> {
    let name = || path.display().to_string();
    if matches!(place, Place::BlockDevice { .. }) && is_protected(file) {
        return Err(OpenError::WriteProtected { path: name() });
    }
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let by = entry.file_name();
        if backing(&entry.path(), &Path::new("/dev").join(&by)).into_iter().any(|backing| is_shared(place, backing)) {
            return Err(OpenError::InUse {
                path: name(),
                why: format!("/dev/{} is a loop device of the same drive", by.display()),
            });
        }
    }
    Ok(())
}

/// What a loop device stands on: by the numbers that it tells itself, which need the right to open it, and by the name that the
/// system tells, which may lead nowhere or elsewhere by now. Empty of what is none.
fn backing(table: &Path, device: &Path) -> Vec<Place> {
    let Ok(name) = fs::read_to_string(table.join("loop/backing_file")) else { return Vec::new() };
    let told = File::open(device).ok().and_then(|file| loop_status(&file).ok()).and_then(|s| place_of_loop(&s));
    told.into_iter().chain(Place::of(Path::new(name.trim_end_matches('\n')))).collect()
}

/// LOOP_GET_STATUS64: the device that its file lies on, the file's inode, and the number of a block device.
fn place_of_loop(status: &LoopStatus) -> Option<Place> {
    // The kernel's own way of putting the two parts into one number.
    let number = |n: u64| makedev((n >> 8 & 0xFFF) as u32, (n & 0xFF | n >> 12 & 0xF_FF00) as u32);
    match status[..3] {
        [_, _, block] if block > 0 => Some(Place::BlockDevice { number: number(block) }),
        [device, inode, _] if inode > 0 => Some(Place::File { device: number(device), inode }),
        _ => None,
    }
}

/// Whether they are the same, or one is a part of the other.
fn is_shared(a: Place, b: Place) -> bool {
    let is_device = |place| matches!(place, Place::BlockDevice { .. });
    a == b || is_device(a) && is_device(b) && is_part(&own_table(a), &own_table(b))
}

fn is_part(a: &Path, b: &Path) -> bool {
    whole_table(a) == b || whole_table(b) == a
}

/// Opens a path past the page cache. For writing, nobody else may use it: neither a file system nor another run of this program.
///
/// # Errors
/// If it cannot be opened so.
pub(crate) fn open(path: &Path, write: bool) -> Result<File, OpenError> {
    let name = || path.display().to_string();
    // To open anything else may wait for ever, or do something.
    let meta = fs::metadata(path).map_err(|source| OpenError::Open { path: name(), source })?;
    let is_device = match Place::of_metadata(&meta) {
        Some(place) => matches!(place, Place::BlockDevice { .. }),
        None => return Err(OpenError::NoDrive { path: name(), what: what_it_is(&meta) }),
    };
    // Of a block device that is mounted, or a part of which is, the system gives no exclusive use.
    let exclusive = if write && is_device { OFlags::EXCL } else { OFlags::empty() };
    let flags = (OFlags::DIRECT | OFlags::CLOEXEC | exclusive).bits() as i32;
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path).map_err(|source| {
        match Errno::from_io_error(&source) {
            Some(Errno::BUSY) => {
                OpenError::InUse { path: name(), why: "it is mounted, or a part of a mounted set of drives".to_owned() }
            }
            Some(Errno::INVAL) => OpenError::NoDirectIo { path: name() },
            Some(Errno::ROFS) if write => OpenError::WriteProtected { path: name() },
            _ => OpenError::Open { path: name(), source },
        }
    })?;
    lock(&file, write)
        .map_err(|e| OpenError::InUse { path: name(), why: format!("another program has locked it ({e})") })?;
    Ok(file)
}

/// Locks it against other runs of this program, and what keeps to such locks. The system itself looks at a drive for a moment
/// whenever it was written to, and holds a lock meanwhile.
fn lock(file: &File, alone: bool) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match if alone { file.try_lock() } else { file.try_lock_shared() } {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(100)),
            locked => return locked,
        }
    }
    Err(TryLockError::WouldBlock)
}

/// File systems that live in memory: they take such requests, and have no drive.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58F6];

/// What requests past the page cache must be multiples of; `None` where there are none.
fn direct_alignment(file: &File) -> Option<u32> {
    let kind = fstatfs(file).ok()?.f_type as u64;
    if IN_MEMORY.contains(&(kind & 0xFFFF_FFFF)) {
        return None;
    }
    let told = statx(file, c"", AtFlags::EMPTY_PATH, DIRECT_IO).ok()?;
    if told.stx_mask & DIRECT_IO.bits() == 0 {
        // An older system does not say. Pages suit every file system, and sectors most of them.
        return Some(SECTOR_BYTES as u32);
    }
    (told.stx_dio_offset_align > 0).then_some(told.stx_dio_offset_align)
}

/// The folder of the system's tables about a block device, or about what a file lies on.
fn own_table(place: Place) -> PathBuf {
    let number = match place {
        Place::BlockDevice { number } => number,
        Place::File { device, .. } => device,
    };
    let own = PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number)));
    own.canonicalize().unwrap_or(own)
}

/// That of the drive that it is a part of.
fn whole_table(own: &Path) -> PathBuf {
    match own.parent() {
        Some(whole) if own.join("partition").exists() => whole.to_owned(),
        _ => own.to_owned(),
    }
}

fn first_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().chars().filter(|c| !c.is_control()).take(80).collect()
}

/// `none [mq-deadline] kyber`: the one in brackets, or all of it.
fn chosen(schedulers: &str) -> String {
    let inside = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(schedulers, |(name, _)| name).to_owned()
}

fn is_protected(file: &File) -> bool {
    // SAFETY: BLKROGET writes a number of 32 bits at the address that it is given.
    unsafe { ioctl(file, Getter::<GET_PROTECTED, u32>::new()) }.is_ok_and(|protected| protected != 0)
}

fn loop_status(file: &File) -> io::Result<LoopStatus> {
    // SAFETY: LOOP_GET_STATUS64 writes 232 bytes at the address that it is given.
    Ok(unsafe { ioctl(file, Getter::<LOOP_GET_STATUS, LoopStatus>::new()) }?)
}

/// TRIM of a range of a block device, and waits until it has ended.
///
/// # Errors
/// What the system says.
pub(crate) fn discard(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads two numbers of 64 bits at the address that it is given.
    Ok(unsafe { ioctl(file, Setter::<DISCARD, [u64; 2]>::new([offset_bytes, length_bytes])) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_is_the_one_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
        assert_eq!(chosen(""), "");
    }

    #[test]
    fn a_drive_and_its_parts_are_the_same_drive_and_two_parts_are_not() {
        let block = std::env::temp_dir().join(format!("ssdlab-block-{}", std::process::id()));
        let [whole, first, second, other] = ["sdb", "sdb/sdb1", "sdb/sdb2", "sdc"].map(|name| block.join(name));
        for (table, name) in [(&first, "partition"), (&second, "partition"), (&other, "size")] {
            fs::create_dir_all(table).unwrap();
            fs::write(table.join(name), "1\n").unwrap();
        }
        let shared = [(&whole, &first), (&first, &whole), (&first, &second), (&other, &first), (&whole, &other)];
        let found = shared.map(|(a, b)| is_part(a, b));
        fs::remove_dir_all(&block).unwrap();
        assert_eq!(found, [true, true, false, false, false]);
    }

    #[test]
    fn a_loop_device_tells_what_it_stands_on() {
        let status = |told: [u64; 3]| {
            let mut status: LoopStatus = [7; 29];
            status[..3].copy_from_slice(&told);
            place_of_loop(&status)
        };
        // /dev/sdb1; a file; nothing.
        let (sdb1, large) = (Place::BlockDevice { number: makedev(8, 17) }, makedev(259, 300));
        assert_eq!(status([6, 400, 8 << 8 | 17]), Some(sdb1));
        assert_eq!(status([1 << 20 | 259 << 8 | 44, 11, 0]), Some(Place::File { device: large, inode: 11 }));
        assert_eq!(status([0, 0, 0]), None);
    }
}
