//! Spoiled files and absurd drives.

mod drives;
mod parsers;

#[global_allocator]
static MEMORY: ssdlab_fuzz::memory::Counted = ssdlab_fuzz::memory::Counted;
