//! A folder of a test's own, on the file system that the build lies on.

use std::fs;
use std::path::PathBuf;

use ssdlab_hostdev::{Consent, OpenError, RealDrive};

pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Place(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of bytes that are no stamp of ours.
    pub fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, vec![0xA5; bytes]).expect("a file");
        path
    }

    /// A drive of such a file, with consent or without; `None` where this machine cannot open one: its kernel has no io_uring
    /// (38, ENOSYS) or allows none (1, EPERM), or its file system has no direct I/O.
    pub fn drive(&self, name: &str, bytes: usize, writable: bool) -> Option<RealDrive> {
        let path = self.file(name, bytes);
        let consent = Consent::to_destroy(&path);
        match RealDrive::find(&path, writable.then_some(&consent)) {
            Ok(drive) => Some(drive),
            Err(OpenError::NoRing { source }) if matches!(source.raw_os_error(), Some(1 | 38)) => {
                println!("left out: {source}");
                None
            }
            Err(e @ OpenError::NoDirectIo { .. }) => {
                println!("left out: {e}");
                None
            }
            Err(e) => panic!("{e}"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
