//! Files on a real file system behind the face of a device. Where the machine has no io_uring, or the file system takes nothing
//! past its page cache, the tests of open drives are left out, and say so.

mod consent;
mod open_drive;
mod place;
