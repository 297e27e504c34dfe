//! Where files and pages lie, and which of them are used often.

use ssdlab_core::Rng;

use super::activity::{Area, Locality, Sizes};

const KIB: u64 = 1 << 10;
pub(super) const PAGE: u64 = 4 * KIB;
/// Stretches of an area that are used alike.
const REGION: u64 = 256 * KIB;
/// A file may go on elsewhere after every extent …
const EXTENT: u64 = 256 * KIB;
/// … and does so once in this many.
const EXTENTS_PER_FRAGMENT: u64 = 16;
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads the bits of a number: the same places every time, without a table.
fn scramble(x: u64) -> u64 {
    let mut z = x.wrapping_mul(GOLDEN_RATIO);
    z = (z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    z ^ (z >> 32)
}

impl Sizes {
    pub(super) fn draw(self, rng: &mut Rng) -> u64 {
        let octave = (self.from_kib * KIB) << rng.below(u64::from(self.doublings) + 1);
        octave + rng.below(octave / PAGE + 1) * PAGE
    }
}

impl Locality {
    /// One of `0..n`; the first are the most popular.
    pub(super) fn draw(self, n: u64, rng: &mut Rng) -> u64 {
        let mut among = n;
        for _ in 0..2 {
            if !rng.chance(self.accesses, 100) {
                break;
            }
            among = (among * self.part / 100).max(1);
        }
        rng.below(among)
    }
}

impl Area {
    /// A page for a request of `length` bytes; popular pages lie together in regions, and regions anywhere.
    pub(super) fn page(self, locality: Locality, length: u64, rng: &mut Rng) -> u64 {
        let regions = self.bytes() / REGION;
        let rank = locality.draw(regions, rng);
        let region = scattered(rank, regions);
        let at = region * REGION + rng.below(REGION / PAGE) * PAGE;
        self.from() + at.min(self.bytes() - length.next_multiple_of(PAGE))
    }
}

/// Sends `0..n` to `0..n` one to one, so that neighbours are far apart.
fn scattered(i: u64, n: u64) -> u64 {
    let mut step = (GOLDEN_RATIO % n) | 1;
    while common_factor(step, n) > 1 {
        step += 2;
    }
    (u128::from(i) * u128::from(step) % u128::from(n)) as u64
}

fn common_factor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

/// Files that fill an area, one behind the other.
#[derive(Clone, Debug)]
pub(super) struct Files {
    area: Area,
    /// Beginning within the area, and length.
    files: Vec<(u64, u64)>,
}

impl Files {
    /// The same files for the same generator.
    pub(super) fn new(area: Area, sizes: Sizes, mut rng: Rng) -> Self {
        let mut files = Vec::new();
        let mut at = 0;
        loop {
            let length = sizes.draw(&mut rng);
            if at + length > area.bytes() {
                break;
            }
            files.push((at, length));
            at += length;
        }
        assert!(!files.is_empty(), "no file of {sizes:?} fits {area:?}");
        Files { area, files }
    }

    pub(super) fn count(&self) -> u64 {
        self.files.len() as u64
    }

    /// The file of a popularity: popular files are not neighbours.
    pub(super) fn by_rank(&self, rank: u64) -> u64 {
        scattered(rank, self.count())
    }

    pub(super) fn length(&self, file: u64) -> u64 {
        self.files[file as usize].1
    }

    /// Where `length` bytes at `position` of a file lie. A request never crosses an extent.
    pub(super) fn place(&self, file: u64, position: u64, length: u64) -> u64 {
        let (begin, _) = self.files[file as usize];
        let extent = position / EXTENT;
        let draw = scramble((begin / PAGE) ^ (extent << 40) ^ self.area.from_mib);
        let within = if extent > 0 && draw.is_multiple_of(EXTENTS_PER_FRAGMENT) {
            draw / EXTENTS_PER_FRAGMENT % (self.area.bytes() / EXTENT) * EXTENT + position % EXTENT
        } else {
            begin + position
        };
        self.area.from() + within.min(self.area.bytes() - length)
    }

    /// The page of the directory that tells of a file: records of 1 KiB, in the order of the files.
    pub(super) fn record(&self, file: u64, directory: Area) -> u64 {
        let pages = directory.bytes() / PAGE;
        directory.from() + (self.area.from_mib * 4 + file / 4) % pages * PAGE
    }
}
