//! Big tables: huge pages where the system offers them, and prefetching. Neither changes a result.

/// Asks for 2 MiB pages behind a table, as random access to tables of hundreds of megabytes is bound by address
/// translation otherwise. A refusal is harmless.
fn advise_huge<T>(table: &[T]) {
    #[cfg(target_os = "linux")]
    {
        let bytes = std::mem::size_of_val(table);
        if bytes >= 4 << 20 {
            let start = table.as_ptr() as usize;
            let aligned = start.next_multiple_of(4096);
            // SAFETY: the range lies within the allocation of `table`; the advice changes no contents.
            unsafe {
                libc::madvise(aligned as *mut libc::c_void, bytes - (aligned - start), libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}

/// A table of `len` zeros, on huge pages where possible. It takes no memory where it is never written.
#[must_use]
pub fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    let table = vec![T::default(); len];
    advise_huge(&table);
    table
}

/// Asks the processor to bring an element into its caches.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
            table.as_ptr().wrapping_add(index).cast(),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}
