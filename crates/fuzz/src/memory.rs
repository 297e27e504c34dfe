//! An allocator that notes how much the present thread holds, for programs that install it:
//! `#[global_allocator] static MEMORY: ssdlab_fuzz::memory::Counted = ssdlab_fuzz::memory::Counted;`

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counted;

fn note(bytes: isize) {
    // A thread that is going away counts no more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator as it came; the counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size as isize - layout.size() as isize);
        // SAFETY: the caller keeps to the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Begins to watch the present thread.
pub fn watch() {
    HELD.set(0);
    MOST.set(0);
}

/// The most that was held at once since then; 0 if the allocator is not installed.
#[must_use]
pub fn most_bytes() -> usize {
    MOST.get().max(0) as usize
}
