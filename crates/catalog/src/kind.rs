//! The kinds of files: drives, dies, disks and adapters.

use ssdlab_arrays::adapter_keys;
use ssdlab_disks::disk_keys;
use ssdlab_keys::KeyTable;
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;

use crate::embedded::{ADAPTERS, DIES, DISKS, DRIVES, EmbeddedFile};

/// A kind of file: which catalog its `base` comes from, and what to call it.
pub(crate) struct Kind {
    pub word: &'static str,
    pub catalog: &'static [EmbeddedFile],
    /// The keys that such a file can have, besides `base`.
    pub keys: fn() -> &'static KeyTable,
    /// The document that explains such files.
    pub manual: &'static str,
}

impl Kind {
    /// The word with its article.
    pub fn one(&self) -> String {
        let article = if self.word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {}", self.word)
    }
}

const DRIVE_FILES: &str = "docs/drive-files.md";
pub(crate) const DRIVE: Kind = Kind { word: "drive", catalog: DRIVES, keys: drive_keys, manual: DRIVE_FILES };
pub(crate) const DIE: Kind = Kind { word: "die type", catalog: DIES, keys: die_keys, manual: DRIVE_FILES };
pub(crate) const DISK: Kind = Kind { word: "disk", catalog: DISKS, keys: disk_keys, manual: "docs/disks.md" };
pub(crate) const ADAPTER: Kind =
    Kind { word: "adapter", catalog: ADAPTERS, keys: adapter_keys, manual: "docs/arrays.md" };

pub(crate) const KINDS: [&Kind; 4] = [&DRIVE, &DIE, &DISK, &ADAPTER];
