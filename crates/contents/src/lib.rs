//! The bytes of a device.
//!
//! | to | begin at |
//! |---|---|
//! | give any device bytes | [`ContentDevice`] |
//! | look at them, or share them | [`Store`] |
//! | write them onto a new device | [`lay_out`] |
//! | go on with a device that was saved | [`resume`] |
//! | keep a drive without its bytes in a file | [`write_state_file`] |
//! | keep them in a file | [`Image`] |
//!
//! A device is simulated without bytes: addresses and times are enough. Whoever serves it to programs wraps it in a
//! [`ContentDevice`], which keeps 4 KiB pages in memory beside it. Times come from the device, bytes from the pages; pages
//! of zeroes take no memory. When the plug is pulled, the device says which write of each page it has kept, and the page
//! becomes what that write made it. Overwritten pages are therefore kept until a flush, within a limit
//! ([`ContentOptions::superseded_limit_bytes`]); no flush ends that on a device whose flushes lie
//! ([`ssdlab_device::Plug::keeps_flushes`]).
//!
//! **Limits.** Less than 16 TiB; what is stored must fit into memory. A page that comes back as a write whose bytes are no longer
//! kept becomes unreadable, and is counted ([`AfterCut::forgotten`]). Numbers of writes repeat
//! ([`ssdlab_device::Plug::greatest_write_number`]): of several versions with one number the youngest is taken.

mod buffers;
mod bytes;
mod copy_to_save;
mod device;
mod image;
mod lay_out;
mod open_image;
mod order;
mod pages;
mod resume;
mod state_file;
mod store;
mod superseded;

pub use bytes::{AfterCut, AfterCutPlaces, TrimmedReads};
pub use copy_to_save::{CopyToSave, saved_at_rest};
pub use device::{ContentDevice, ContentOptions};
pub use image::{
    Change, DriveState, FoundImage, Header, Image, ImageContents, ImageError, KeyedPages, LockedImage, MOST_NAME_BYTES,
    MediaKey, Reserved, ReservedPage, UnfinishedImage, read_image,
};
pub use lay_out::lay_out;
pub use pages::{PAGE_BYTES, Page};
pub use resume::{ResumeError, Resumed, resume};
pub use state_file::{StateFileError, check_state_file, read_state_file, write_state_file};
pub use store::{Kind, Piece, Store, Version, page_of, pieces};
