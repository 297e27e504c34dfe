//! What is written: bytes that cannot be compressed, and in each sector whose it is.

use ssdlab_core::{Rng, SECTOR_BYTES};

const SECTOR: usize = SECTOR_BYTES as usize;
/// Run, sector and number of the write, eight bytes each.
const STAMP_BYTES: usize = 24;

/// What a sector read says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sector {
    /// Written in this run, here.
    Own,
    /// Written in this run, for another sector.
    Of(u64),
    /// Not of this run.
    Foreign,
}

/// Fills a buffer so that its data can be compressed by so many thousandths of their size.
pub(crate) fn fill(bytes: &mut [u8], compressible_per_1000: u16, rng: &mut Rng) {
    let random = SECTOR * (1000 - usize::from(compressible_per_1000.min(1000))) / 1000;
    for sector in bytes.chunks_mut(SECTOR) {
        let random = random.min(sector.len());
        sector[random..].fill(0);
        for word in sector[..random].chunks_mut(8) {
            word.copy_from_slice(&rng.next_u64().to_le_bytes()[..word.len()]);
        }
    }
}

/// Says in each sector whose it is.
pub(crate) fn stamp(bytes: &mut [u8], run: u64, first_sector: u64, write: u64) {
    for (k, sector) in bytes.chunks_exact_mut(SECTOR).enumerate() {
        sector[..8].copy_from_slice(&run.to_le_bytes());
        sector[8..16].copy_from_slice(&(first_sector + k as u64).to_le_bytes());
        sector[16..STAMP_BYTES].copy_from_slice(&write.to_le_bytes());
    }
}

/// What each sector says.
pub(crate) fn read(bytes: &[u8], run: u64, first_sector: u64) -> impl Iterator<Item = Sector> + '_ {
    let word = |sector: &[u8], at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes"));
    bytes.chunks_exact(SECTOR).enumerate().map(move |(k, sector)| {
        let says = word(sector, 8);
        match (word(sector, 0) == run, says == first_sector + k as u64) {
            (true, true) => Sector::Own,
            (true, false) => Sector::Of(says),
            (false, _) => Sector::Foreign,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_says_whose_it_is() {
        let mut bytes = vec![0; 4 * SECTOR];
        fill(&mut bytes, 0, &mut Rng::new(1));
        assert!(read(&bytes, 7, 100).all(|s| s == Sector::Foreign));
        stamp(&mut bytes, 7, 100, 3);
        assert!(read(&bytes, 7, 100).all(|s| s == Sector::Own));
        assert_eq!(read(&bytes, 7, 101).next(), Some(Sector::Of(100)));
        assert!(read(&bytes, 8, 100).all(|s| s == Sector::Foreign));
    }

    #[test]
    fn data_can_be_compressed_as_far_as_was_asked() {
        for (per_1000, zeroes) in [(0, 0), (500, 256), (1000, 512)] {
            let mut bytes = vec![0xFF; 8 * SECTOR];
            fill(&mut bytes, per_1000, &mut Rng::new(1));
            for sector in bytes.chunks(SECTOR) {
                assert!(sector[SECTOR - zeroes..].iter().all(|&b| b == 0));
                let rest = sector[..SECTOR - zeroes].iter().filter(|&&b| b == 0).count();
                assert!(rest < 12, "{rest} zeroes among the random bytes");
            }
        }
    }
}
