//! The files of the catalog, bad files, and the page about them.

mod bad_files;
mod devices;
mod disks;
mod documentation;
mod every_value_has_a_source;
mod examples;
