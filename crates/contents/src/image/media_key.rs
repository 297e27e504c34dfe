//! The media key of a drive that encrypts what it stores: AES-256 in XTS mode (IEEE 1619, NIST SP 800-38E).
//!
//! A data unit is a page of 4 KiB, and its number is that of the page: the same bytes look another way on every page. XTS tells
//! nothing of a page that was changed; the checksums of the image do.
//!
//! **What it is good for.** The key is there to be changed: once it is, nothing that was stored under it can be read, however many
//! copies of the ciphertext there are. Keys come from the random numbers of the operating system, and nothing they follow from is
//! kept, so that a key that was changed cannot be had again. Ranges of a drive that can be locked have keys of their own
//! ([`KeyedPages`]), for the same purpose.
//!
//! **What it is not.** The header holds the key as it is, as the flash of a drive that nobody has locked holds its own. Whoever has
//! the file has the data. A copy of the file has its key, and no erase reaches it; nor does an erase reach old blocks of the file
//! system that the file lies on (journals, snapshots, the spare area of a real drive), although the key is overwritten there.
//!
//! No result of the simulation depends on a key: runs repeat as before.

use std::fmt;
use std::ops::Range;

use aes::Aes256;
use aes::cipher::KeyInit;
use xts_mode::{Xts128, get_tweak_default};

use crate::pages::PAGE_BYTES;

/// Bytes of the two keys of AES-256 that make one of XTS.
pub const KEY_BYTES: usize = 64;

/// See the module's own page.
#[derive(Clone, PartialEq, Eq)]
pub struct MediaKey {
    /// How often the drive's key has been changed so far, by an erase of everything. What ranges of it have had of keys, and what
    /// the file has had to change for their sake, does not count: the drive does not count it either.
    pub changes: u64,
    pub bytes: [u8; KEY_BYTES],
}

impl MediaKey {
    /// A key that nobody has had before, of a drive whose key has been changed so often.
    ///
    /// # Errors
    /// If the operating system has no random numbers.
    pub fn random(changes: u64) -> std::io::Result<Self> {
        let mut key = MediaKey { changes, bytes: [0; KEY_BYTES] };
        // The two halves of a key of XTS must differ.
        while key.bytes[..KEY_BYTES / 2] == key.bytes[KEY_BYTES / 2..] {
            getrandom::fill(&mut key.bytes).map_err(std::io::Error::other)?;
        }
        Ok(key)
    }

    /// The key that takes its place when the drive's is changed: another one that nobody has had before.
    ///
    /// # Errors
    /// As those of [`MediaKey::random`].
    pub fn next(&self) -> std::io::Result<Self> {
        MediaKey::random(self.changes.wrapping_add(1))
    }

    /// Another one that nobody has had before, for the file alone: the drive's key is not changed by it.
    ///
    /// # Errors
    /// As those of [`MediaKey::random`].
    pub fn instead(&self) -> std::io::Result<Self> {
        MediaKey::random(self.changes)
    }

    fn cipher(&self) -> Xts128<Aes256> {
        let key = |half: &[u8]| Aes256::new_from_slice(half).expect("half a key has 32 bytes");
        Xts128::new(key(&self.bytes[..KEY_BYTES / 2]), key(&self.bytes[KEY_BYTES / 2..]))
    }

    /// Encrypts whole pages, the first of which has this number.
    pub fn encrypt(&self, first: u64, pages: &mut [u8]) {
        self.cipher().encrypt_area(pages, PAGE_BYTES, first.into(), get_tweak_default);
    }

    /// The reverse of [`MediaKey::encrypt`].
    pub fn decrypt(&self, first: u64, pages: &mut [u8]) {
        self.cipher().decrypt_area(pages, PAGE_BYTES, first.into(), get_tweak_default);
    }
}

/// Pages with a key of their own, which can be changed without touching those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedPages {
    pub pages: Range<u32>,
    /// Number of the first record that is encrypted with it. What earlier ones hold of these pages was encrypted with a key that
    /// is gone: the pages were emptied when this one took its place.
    pub since: u64,
    pub key: MediaKey,
}

/// Pages cut where their key changes: each piece, its key, and since which record it has that.
pub fn pieces<'a>(
    base: &'a MediaKey,
    keyed: &'a [KeyedPages],
    pages: Range<u32>,
) -> Vec<(Range<u32>, &'a MediaKey, u64)> {
    let (mut all, mut at) = (Vec::new(), pages.start);
    for of in keyed.iter().filter(|of| of.pages.start < pages.end && of.pages.end > pages.start) {
        if at < of.pages.start {
            all.push((at..of.pages.start, base, 0));
        }
        let end = of.pages.end.min(pages.end);
        all.push((at.max(of.pages.start)..end, &of.key, of.since));
        at = end;
    }
    if at < pages.end {
        all.push((at..pages.end, base, 0));
    }
    all
}

/// The same ranges of pages in order, none touching another.
pub fn in_order(all: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut sorted: Vec<Range<u32>> = all.iter().filter(|pages| !pages.is_empty()).cloned().collect();
    sorted.sort_by_key(|pages| pages.start);
    let mut joined: Vec<Range<u32>> = Vec::new();
    for pages in sorted {
        match joined.last_mut() {
            Some(last) if last.end >= pages.start => last.end = last.end.max(pages.end),
            _ => joined.push(pages),
        }
    }
    joined
}

/// Without the key itself.
impl fmt::Debug for MediaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MediaKey").field("changes", &self.changes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|k| u8::from_str_radix(&hex[k..k + 2], 16).expect("hexadecimal")).collect()
    }

    /// The key of vectors 10 to 14 of IEEE Std 1619-2007, annex B (XTS-AES-256).
    fn key_of_the_standard() -> MediaKey {
        let key = "2718281828459045235360287471352662497757247093699959574966967627\
                   3141592653589793238462643383279502884197169399375105820974944592";
        MediaKey { changes: 0, bytes: bytes(key).try_into().expect("64 bytes") }
    }

    fn plain(length: usize) -> Vec<u8> {
        (0..length).map(|k| k as u8).collect()
    }

    /// Vectors 10 to 13 of that annex: data units ff, ffff, ffffff and ffffffff of 512 bytes, plaintext 00 01 … ff twice. The
    /// library that is used here, with the order of our key's halves and our tweak. Expected: what OpenSSL makes of it, by way
    /// of Python's `cryptography` 48.0: the begin, and the CRC-32 of all.
    #[test]
    fn the_cipher_is_that_of_the_standard() {
        for (unit, begin, crc) in [
            (0xff_u128, "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b", 0xff9e_4679),
            (0xffff, "77a31251618a15e6b92d1d66dffe7b50b50bad552305ba0217a610688eff7e11", 0xde7d_6063),
            (0xff_ffff, "e387aaa58ba483afa7e8eb469778317ecf4cf573aa9d4eac23f2cdf914e4e200", 0x44bd_d752),
            (0xffff_ffff, "bf53d2dade78e822a4d949a9bc6766b01b06a8ef70d26748c6a7fc36d80ae4c5", 0x5f0a_a245),
        ] {
            let mut text = plain(512);
            key_of_the_standard().cipher().encrypt_area(&mut text, 512, unit, get_tweak_default);
            assert_eq!((&text[..32], crc32fast::hash(&text)), (bytes(begin).as_slice(), crc), "data unit {unit:x}");
        }
    }

    /// Of whole pages the standard has no vector. From the same source.
    #[test]
    fn pages_look_as_another_implementation_makes_them() {
        let key = key_of_the_standard();
        for (page, crc) in [
            (0, 0x2849_e6b5),
            (1, 0xcd18_6c56),
            (0xff, 0x9cb1_3fd7),
            (0xff_ffff, 0xbf91_9d09),
            (0xffff_ffff, 0xcc2c_a085),
        ] {
            let mut text = plain(PAGE_BYTES);
            key.encrypt(page, &mut text);
            assert_eq!(crc32fast::hash(&text), crc, "page {page:x}");
            key.decrypt(page, &mut text);
            assert_eq!(text, plain(PAGE_BYTES));
        }
    }

    #[test]
    fn no_two_keys_are_alike_and_messages_do_not_tell_them() {
        let first = MediaKey::random(0).unwrap();
        let next = || first.next().unwrap();
        let all = [first.clone(), next(), next(), next().instead().unwrap(), MediaKey::random(0).unwrap()];
        assert!((0..5).all(|a| (0..a).all(|b| all[a].bytes != all[b].bytes)));
        assert_eq!(all.each_ref().map(|key| key.changes), [0, 1, 1, 1, 0]);
        assert_ne!(first.bytes[..KEY_BYTES / 2], first.bytes[KEY_BYTES / 2..]);
        assert_eq!(format!("{first:?}"), "MediaKey { changes: 0, .. }");
    }

    #[test]
    fn pages_are_cut_where_their_key_changes() {
        let (base, key) = (MediaKey::random(0).unwrap(), MediaKey::random(0).unwrap());
        let of = |pages: Range<u32>, since| KeyedPages { pages, since, key: key.clone() };
        let keyed = [of(10..20, 3), of(20..30, 5), of(40..50, 0)];
        let cut = |pages: Range<u32>| -> Vec<_> {
            pieces(&base, &keyed, pages).into_iter().map(|(pages, of, since)| (pages, *of == base, since)).collect()
        };
        assert_eq!(cut(0..10), [(0..10, true, 0)]);
        assert_eq!(cut(12..25), [(12..20, false, 3), (20..25, false, 5)]);
        assert_eq!(
            cut(5..45),
            [(5..10, true, 0), (10..20, false, 3), (20..30, false, 5), (30..40, true, 0), (40..45, false, 0)]
        );
        assert_eq!(in_order(&[40..50, 7..7, 0..10, 10..20, 15..18]), [0..20, 40..50]);
    }

    #[test]
    fn each_page_has_its_own_tweak_however_many_are_encrypted_at_once() {
        let key = key_of_the_standard();
        let mut both = vec![5; 2 * PAGE_BYTES];
        key.encrypt(41, &mut both);
        let mut second = vec![5; PAGE_BYTES];
        key.encrypt(42, &mut second);
        assert_ne!(both[..PAGE_BYTES], second);
        assert_eq!(both[PAGE_BYTES..], second);
    }
}
