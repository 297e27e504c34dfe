//! Big tables: huge pages where the system offers them, and prefetching. Neither changes a result.

use std::ops::{Deref, DerefMut};

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

/// Bytes of a [`Table`] that are looked at together.
const PIECE_BYTES: usize = 4096;

/// A big table of plain numbers, all zeros at first, on huge pages where possible. It takes memory where something else than zero was written, and so does a
/// copy of it.
#[derive(Debug)]
pub struct Table<T>(Vec<T>);

impl<T: Copy + Default + PartialEq> Table<T> {
    /// A table of `len` zeros.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Table(zeroed(len))
    }

    /// All is zero again. What it takes of memory stays.
    pub fn clear(&mut self) {
        // What was never written would take memory from now on.
        self.0.chunks_mut(Self::PIECE).filter(|piece| any_set(piece)).for_each(|piece| piece.fill(T::default()));
    }

    const PIECE: usize = PIECE_BYTES / size_of::<T>();
}

/// Whether any is not zero.
fn any_set<T: Copy + Default + PartialEq>(piece: &[T]) -> bool {
    // Mostly the first one tells; where not, all are compared at once.
    piece.first().is_some_and(|first| *first != T::default())
        || piece.iter().fold(false, |any, value| any | (*value != T::default()))
}

impl<T: Copy + Default + PartialEq> Clone for Table<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.0.len());
        let pieces = self.0.chunks(Self::PIECE).zip(copy.0.chunks_mut(Self::PIECE));
        pieces.filter(|(from, _)| any_set(from)).for_each(|(from, to)| to.copy_from_slice(from));
        copy
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// A vector of `len` zeros, on huge pages where possible. Of plain numbers, it takes no memory where it is never written.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the pages of a table, how many take memory; the first and the last belong to others as well.
    #[cfg(target_os = "linux")]
    fn resident<T>(table: &[T]) -> usize {
        let (start, bytes) = ((table.as_ptr() as usize).next_multiple_of(4096), size_of_val(table));
        let mut pages = vec![0u8; (bytes - 4096) / 4096];
        // SAFETY: the range is one of whole pages within the table, and there is a byte for each of them.
        let told = unsafe { libc::mincore(start as *mut libc::c_void, pages.len() * 4096, pages.as_mut_ptr()) };
        assert_eq!(told, 0);
        pages.iter().filter(|&&page| page & 1 != 0).count()
    }

    #[test]
    fn a_copy_is_alike_and_a_cleared_table_is_zero() {
        for (len, set) in [(0, vec![]), (1, vec![0]), (5000, vec![0, 1023, 1024, 4999]), (3000, vec![2048])] {
            let mut table = Table::<u32>::zeroed(len);
            set.iter().for_each(|&at: &usize| table[at] = at as u32 + 1);
            let copy = table.clone();
            assert_eq!(copy[..], table[..]);
            table.clear();
            assert!(table.iter().all(|&value| value == 0) && table.len() == len);
            assert_eq!(copy.iter().filter(|&&value| value != 0).count(), set.len());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_copy_takes_no_memory_for_zeros() {
        // So large that it is memory of its own, and nobody's before.
        let mut table = Table::<u32>::zeroed((64 << 20) / 4);
        table[4_000_000] = 7;
        let copy = table.clone();
        // One page, which may be a huge one.
        let pages = resident(&copy);
        assert!((1..=512).contains(&pages), "{pages}");
    }
}
