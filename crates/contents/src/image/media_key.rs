//! The media key of a drive that encrypts what it stores: AES-256 in XTS mode (IEEE 1619, NIST SP 800-38E).
//!
//! A data unit is a page of 4 KiB, and its number is that of the page: the same bytes look another way on every page. XTS tells
//! nothing of a page that was changed; the checksums of the image do.
//!
//! **This protects no secret of the host.** The key stands in the header, as a drive that nobody has locked keeps its own, and is
//! drawn from a seed, so that every run can be repeated. It is there to be changed: what was stored under another one is noise.

use aes::Aes256;
use aes::cipher::KeyInit;
use ssdlab_core::Rng;
use xts_mode::{Xts128, get_tweak_default};

use crate::store::PAGE_BYTES;

/// Bytes of the two keys of AES-256 that make one of XTS.
pub const KEY_BYTES: usize = 64;

/// See the module's own page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaKey {
    /// What keys are drawn from.
    pub seed: u64,
    /// How often the key was changed before it became this one.
    pub changes: u64,
    pub bytes: [u8; KEY_BYTES],
}

impl MediaKey {
    /// The first key of the drive with this seed.
    #[must_use]
    pub fn first(seed: u64) -> Self {
        MediaKey::drawn(seed, 0)
    }

    /// The key that takes its place.
    #[must_use]
    pub fn next(&self) -> Self {
        MediaKey::drawn(self.seed, self.changes.wrapping_add(1))
    }

    fn drawn(seed: u64, changes: u64) -> Self {
        let mut rng = Rng::new(seed).stream(&format!("media key {changes}"));
        let mut bytes = [0; KEY_BYTES];
        bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&rng.next_u64().to_le_bytes()));
        MediaKey { seed, changes, bytes }
    }

    fn cipher(&self) -> Xts128<Aes256> {
        let key = |half: &[u8]| Aes256::new_from_slice(half).expect("half a key has 32 bytes");
        Xts128::new(key(&self.bytes[..KEY_BYTES / 2]), key(&self.bytes[KEY_BYTES / 2..]))
    }

    /// Encrypts whole pages, the first of which has this number.
    pub fn encrypt(&self, first: u32, pages: &mut [u8]) {
        self.cipher().encrypt_area(pages, PAGE_BYTES, first.into(), get_tweak_default);
    }

    /// The reverse of [`MediaKey::encrypt`].
    pub fn decrypt(&self, first: u32, pages: &mut [u8]) {
        self.cipher().decrypt_area(pages, PAGE_BYTES, first.into(), get_tweak_default);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|k| u8::from_str_radix(&hex[k..k + 2], 16).expect("hexadecimal")).collect()
    }

    /// IEEE Std 1619-2007, annex B, vector 10: XTS-AES-256, data unit ff, plaintext 00 01 … ff twice. The library that is
    /// used here, with the order of our key's halves and our tweak; a data unit of the vector has 512 bytes.
    #[test]
    fn the_cipher_is_that_of_the_standard() {
        let key = "2718281828459045235360287471352662497757247093699959574966967627\
                   3141592653589793238462643383279502884197169399375105820974944592";
        let key = MediaKey { seed: 0, changes: 0, bytes: bytes(key).try_into().expect("64 bytes") };
        let plain: Vec<u8> = (0..512).map(|k| k as u8).collect();
        let mut unit = plain.clone();
        key.cipher().encrypt_area(&mut unit, 512, 0xff, get_tweak_default);
        let expected = "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b\
                        5d31e276f8fe4a8d66b317f9ac683f44680a86ac35adfc3345befecb4bb188fd";
        assert_eq!(unit[..64], bytes(expected));
        // A page begins as a shorter data unit of the same number does.
        let mut page: Vec<u8> = plain.iter().copied().cycle().take(PAGE_BYTES).collect();
        key.encrypt(0xff, &mut page);
        assert_eq!(page[..512], unit);
        key.decrypt(0xff, &mut page);
        assert_eq!(page[..512], plain);
    }

    #[test]
    fn keys_follow_from_the_seed_and_the_changes_and_no_two_are_alike() {
        let first = MediaKey::first(7);
        assert_eq!(first, MediaKey::first(7));
        let all = [first.clone(), first.next(), first.next().next(), MediaKey::first(8)];
        assert!((0..4).all(|a| (0..a).all(|b| all[a].bytes != all[b].bytes)));
        assert_ne!(first.bytes[..KEY_BYTES / 2], first.bytes[KEY_BYTES / 2..]);
    }

    #[test]
    fn each_page_has_its_own_tweak_however_many_are_encrypted_at_once() {
        let key = MediaKey::first(1);
        let mut both = vec![5; 2 * PAGE_BYTES];
        key.encrypt(41, &mut both);
        let mut second = vec![5; PAGE_BYTES];
        key.encrypt(42, &mut second);
        assert_ne!(both[..PAGE_BYTES], second);
        assert_eq!(both[PAGE_BYTES..], second);
    }
}
