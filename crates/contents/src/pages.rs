//! The memory of pages. They lie in chunks on huge pages, as every write of a drive in steady state goes to a page that nobody
//! has touched for long: small pages of the system cost it an address translation more, and the allocator its own books
//! beside each. What is let go is used again first, and a chunk without pages is given back.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ssdlab_core::UNIT_BYTES;

/// Bytes of a page.
pub const PAGE_BYTES: usize = UNIT_BYTES as usize;

/// Also what a chunk is aligned to, so that the address of a page tells its chunk. The system gives memory to what is touched:
/// one page takes what the system gives at once, 2 MiB at most.
const CHUNK_BYTES: usize = 16 << 20;
const CHUNK_PAGES: usize = CHUNK_BYTES / PAGE_BYTES;
const CHUNK: Layout = match Layout::from_size_align(CHUNK_BYTES, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("a size that no memory has"),
};

/// What a chunk begins with.
#[repr(C)]
struct Header {
    /// Among [`Chunks::chunks`].
    index: u32,
    /// By page: how many share it. Set when the page is handed out.
    sharers: [AtomicU32; CHUNK_PAGES],
}

/// Pages that the header takes.
const FIRST_PAGE: u16 = size_of::<Header>().div_ceil(PAGE_BYTES) as u16;

/// A page that is not all zeroes, shared by its clones; nobody changes what is shared.
pub struct Page {
    /// Within a chunk.
    bytes: NonNull<[u8; PAGE_BYTES]>,
}

// SAFETY: bytes are changed by an only owner alone, and sharers are counted atomically, as `Arc` does it.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// # Panics
    /// If these are not [`PAGE_BYTES`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Page {
        assert_eq!(bytes.len(), PAGE_BYTES, "bytes of a page");
        let page = chunks().hand_out();
        // SAFETY: the page was handed out to this call alone, and lies in no memory that somebody else refers to.
        unsafe { page.cast::<u8>().as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), PAGE_BYTES) };
        Page { bytes: page }
    }

    /// The bytes to be changed; `None` if somebody shares them.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut [u8; PAGE_BYTES]> {
        // What others did with the page before they let it go has happened.
        if self.sharers().load(Ordering::Acquire) != 1 {
            return None;
        }
        // SAFETY: no other `Page` stands for these bytes, and this one is borrowed for as long.
        Some(unsafe { self.bytes.as_mut() })
    }

    /// Other bytes for a page that nobody has touched for long, past the caches: they need not fetch what was there, and keep
    /// what the next command looks up.
    ///
    /// # Panics
    /// If somebody shares it, or these are not [`PAGE_BYTES`].
    #[inline]
    pub fn overwrite(&mut self, bytes: &[u8]) {
        let bytes: &[u8; PAGE_BYTES] = bytes.try_into().expect("bytes of a page");
        let page = self.get_mut().expect("nobody shares it");
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has these instructions; both ranges are as long as a page, and a page is aligned to
        // its size. The fence puts what was stored before whatever comes after, for this thread and for others.
        unsafe {
            use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
            let (from, to) = (bytes.as_ptr().cast::<__m128i>(), page.as_mut_ptr().cast::<__m128i>());
            for at in 0..PAGE_BYTES / size_of::<__m128i>() {
                _mm_stream_si128(to.add(at), _mm_loadu_si128(from.add(at)));
            }
            _mm_sfence();
        }
        #[cfg(not(target_arch = "x86_64"))]
        page.copy_from_slice(bytes);
    }

    /// Asks the processor for what [`Page::get_mut`] looks at.
    #[inline]
    pub fn prefetch_sharers(&self) {
        prefetch(std::ptr::from_ref(self.sharers()));
    }

    #[inline]
    fn sharers(&self) -> &AtomicU32 {
        let header = header_of(self.bytes);
        let at = (self.bytes.addr().get() - header.addr().get()) / PAGE_BYTES;
        // SAFETY: the chunk lives as long as a page of it does, and this page's count was set when it was handed out. It is
        // referred to as a shared atomic only.
        unsafe { &*(&raw const (*header.as_ptr()).sharers).cast::<AtomicU32>().add(at) }
    }
}

impl Clone for Page {
    #[inline]
    fn clone(&self) -> Self {
        // Whoever clones has a page, so that nothing need be waited for.
        if self.sharers().fetch_add(1, Ordering::Relaxed) > u32::MAX / 2 {
            // A count that overflowed would let the page go while somebody has it.
            std::process::abort();
        }
        Page { bytes: self.bytes }
    }
}

impl Drop for Page {
    #[inline]
    fn drop(&mut self) {
        if self.sharers().fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            chunks().take_back(self.bytes);
        }
    }
}

impl Deref for Page {
    type Target = [u8; PAGE_BYTES];

    #[inline]
    fn deref(&self) -> &Self::Target {
        // SAFETY: the bytes were written when the page was made, and whoever changes them has the only `Page` borrowed.
        unsafe { self.bytes.as_ref() }
    }
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes || **self == **other
    }
}

impl Eq for Page {}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// Of the chunk of a page.
#[inline]
fn header_of(page: NonNull<[u8; PAGE_BYTES]>) -> NonNull<Header> {
    page.map_addr(|at| (at.get() & !(CHUNK_BYTES - 1)).try_into().expect("no chunk lies at address 0")).cast()
}

/// Asks the processor to bring a line into its second cache.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

struct Chunk {
    begin: NonNull<u8>,
    /// From here on no page was ever handed out.
    fresh: u16,
    /// Pages before that which came back.
    free: Vec<u16>,
}

// SAFETY: a chunk is memory that no thread has to itself.
unsafe impl Send for Chunk {}

impl Chunk {
    fn is_full(&self) -> bool {
        self.free.is_empty() && usize::from(self.fresh) == CHUNK_PAGES
    }

    fn is_empty(&self) -> bool {
        self.free.len() == usize::from(self.fresh - FIRST_PAGE)
    }
}

/// All of the process, as its allocator has them: pages are shared by stores that know nothing of each other.
struct Chunks {
    /// `None`: given back.
    chunks: Vec<Option<Chunk>>,
    given_back: Vec<u32>,
    /// Those that are not full.
    open: Vec<u32>,
}

static CHUNKS: Mutex<Chunks> = Mutex::new(Chunks { chunks: Vec::new(), given_back: Vec::new(), open: Vec::new() });

fn chunks() -> MutexGuard<'static, Chunks> {
    CHUNKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Chunks {
    /// A page with any bytes, and one sharer.
    fn hand_out(&mut self) -> NonNull<[u8; PAGE_BYTES]> {
        let index = match self.open.last() {
            Some(&index) => index,
            None => self.open_another(),
        };
        let chunk = self.chunks[index as usize].as_mut().expect("an open chunk is there");
        let at = chunk.free.pop().unwrap_or_else(|| {
            chunk.fresh += 1;
            chunk.fresh - 1
        });
        if chunk.is_full() {
            self.open.pop();
        }
        let header = chunk.begin.cast::<Header>().as_ptr();
        // SAFETY: page and count lie within the chunk, and nobody has this page.
        unsafe {
            (&raw mut (*header).sharers).cast::<AtomicU32>().add(at.into()).write(AtomicU32::new(1));
            chunk.begin.add(usize::from(at) * PAGE_BYTES).cast()
        }
    }

    fn open_another(&mut self) -> u32 {
        // SAFETY: a chunk has bytes.
        let begin = NonNull::new(unsafe { alloc(CHUNK) }).unwrap_or_else(|| handle_alloc_error(CHUNK));
        #[cfg(target_os = "linux")]
        // SAFETY: the range is this chunk; the advice changes no contents, and a refusal is harmless.
        unsafe {
            libc::madvise(begin.as_ptr().cast(), CHUNK_BYTES, libc::MADV_HUGEPAGE);
        }
        let index = self.given_back.pop().unwrap_or_else(|| {
            self.chunks.push(None);
            self.chunks.len() as u32 - 1
        });
        // SAFETY: a chunk begins with its header, and nobody has a page of it yet.
        unsafe { (&raw mut (*begin.cast::<Header>().as_ptr()).index).write(index) };
        self.chunks[index as usize] = Some(Chunk { begin, fresh: FIRST_PAGE, free: Vec::new() });
        self.open.push(index);
        index
    }

    /// A page that nobody has any more.
    fn take_back(&mut self, page: NonNull<[u8; PAGE_BYTES]>) {
        let header = header_of(page);
        // SAFETY: the chunk was made with its index, and is there: this page of it was not free.
        let index = unsafe { (&raw const (*header.as_ptr()).index).read() };
        let chunk = self.chunks[index as usize].as_mut().expect("the chunk of a page is there");
        if chunk.is_full() {
            self.open.push(index);
        }
        chunk.free.push(((page.addr().get() - header.addr().get()) / PAGE_BYTES) as u16);
        // One that is open stays: the next page would need it again.
        if chunk.is_empty() && self.open.len() > 1 {
            let begin = chunk.begin;
            self.chunks[index as usize] = None;
            self.given_back.push(index);
            self.open.retain(|&open| open != index);
            // SAFETY: it was allocated so, and all of its pages have come back.
            unsafe { dealloc(begin.as_ptr(), CHUNK) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(k: usize) -> Page {
        let mut bytes = [0xA5; PAGE_BYTES];
        bytes[..8].copy_from_slice(&k.to_le_bytes());
        bytes[PAGE_BYTES - 8..].copy_from_slice(&(!k).to_le_bytes());
        Page::new(&bytes)
    }

    #[test]
    fn pages_of_several_chunks_keep_their_bytes_whatever_is_let_go_beside_them() {
        let mut pages: Vec<Option<Page>> = (0..3 * CHUNK_PAGES).map(|k| Some(page(k))).collect();
        for k in 0..pages.len() {
            if k % 3 != 0 {
                pages[k] = None;
            }
        }
        let more: Vec<Page> = (0..CHUNK_PAGES).map(|k| page(k + pages.len())).collect();
        for (k, kept) in pages.iter().enumerate().filter_map(|(k, p)| Some((k, p.as_ref()?))) {
            assert_eq!(*kept, page(k));
        }
        more.iter().enumerate().for_each(|(k, kept)| assert_eq!(*kept, page(k + pages.len())));
    }

    #[test]
    fn what_is_shared_cannot_be_changed_until_the_others_let_it_go() {
        let mut first = page(1);
        let second = first.clone();
        assert!(first.get_mut().is_none());
        assert_eq!(std::thread::spawn(move || *second).join().unwrap(), *first);
        let other = page(2);
        first.overwrite(&*other);
        assert_eq!((*first, first.get_mut().is_some()), (*other, true));
    }

    #[test]
    fn a_chunk_is_given_back_with_its_last_page_and_its_place_is_taken_by_the_next() {
        let mut own = Chunks { chunks: Vec::new(), given_back: Vec::new(), open: Vec::new() };
        let of_a_chunk = CHUNK_PAGES - usize::from(FIRST_PAGE);
        let pages: Vec<_> = (0..of_a_chunk + 1).map(|_| own.hand_out()).collect();
        assert_eq!((own.chunks.len(), own.open.as_slice()), (2, &[1][..]));
        pages[..of_a_chunk].iter().for_each(|&page| own.take_back(page));
        assert_eq!((own.given_back.as_slice(), own.open.as_slice()), (&[0][..], &[1][..]));
        let again: Vec<_> = (0..of_a_chunk).map(|_| own.hand_out()).collect();
        assert_eq!((own.chunks.len(), own.given_back.len()), (2, 0), "one page more than the second has");
        again.iter().chain(&pages[of_a_chunk..]).for_each(|&page| own.take_back(page));
        assert_eq!(own.open.len(), 1);
        let last = own.chunks[own.open[0] as usize].take().expect("it is open");
        // SAFETY: it was allocated so, and all of its pages have come back.
        unsafe { dealloc(last.begin.as_ptr(), CHUNK) };
    }
}
