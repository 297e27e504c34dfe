//! A drive's wear, watched in windows of work, by which its life is wound forward
//! ([`ssdlab_device::Flash::fast_forward`]): the same for the test `endurance` and for the lives of fleets.

use std::ops::Range;

use ssdlab_device::{Counters, Flash, MOST_WEAR_RECORDS};

use crate::error::BenchError;
use crate::monitor::Monitor;

/// Written between filling and watching, in capacities. Filling lays data in order; until the coldest have been written
/// again, blocks differ by that, which passes for lasting.
pub const SETTLE: f64 = 1.5;
/// The least that a window writes, in capacities.
pub const WINDOW: f64 = 0.5;
/// Windows.
pub const WINDOWS: usize = MOST_WEAR_RECORDS - 1;
/// A window lasts until blocks have been erased so often on average: in a shorter one, blocks that are erased in turns
/// look unlike.
const TURNOVER: f64 = 0.9;
/// But no longer than so many times what it writes at the least.
const LONGEST: f64 = 4.0;

/// What a pass of a mix is cut to, in capacities: the less is written in sequence, the longer it is, and the less it matters
/// where it stands.
const LONGEST_PASS: f64 = 4.0;
/// Erases of a block, on average over all blocks, that tell how fast they wear. Blocks are erased in steps, a superblock and more
/// at a time: of fewer erases, the last step is too great a share.
const LEAST_ERASES: f64 = 2.0;
/// Of the wear for each programmed byte, between both halves of the windows: more tells of a drive that is not steady yet.
const UNSTEADY: f64 = 0.1;

/// What a host does again and again, so far as write amplification hangs on where it stands in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Bytes written in one; zero if all places are alike.
    bytes: f64,
}

impl Pass {
    /// All places are alike.
    pub const NONE: Pass = Pass { bytes: 0.0 };

    /// Of so many bytes.
    #[must_use]
    pub fn of(bytes: f64) -> Self {
        Pass { bytes }
    }

    /// Of a mix that writes a share of its bytes in sequence over `span` bytes, and the rest to places some of which are
    /// hot. While what is written in sequence passes over the hot data, more has to be moved: on `ultra-ii-240gb`, write
    /// amplification is a sixth greater then.
    #[must_use]
    pub fn of_mix_with_hot_data(span_bytes: u64, in_sequence: f64, capacity_bytes: u64) -> Self {
        if in_sequence <= 0.0 || in_sequence >= 1.0 {
            return Pass::NONE;
        }
        Pass { bytes: (span_bytes as f64 / in_sequence).min(LONGEST_PASS * capacity_bytes as f64) }
    }

    /// Bytes to write so that all that is done has been done, and `least` bytes: whole passes.
    #[must_use]
    pub fn whole(self, least: f64) -> f64 {
        if self.bytes > 0.0 { libm::ceil(least / self.bytes) * self.bytes } else { least }
    }

    /// Bytes of one; zero if all places are alike.
    #[must_use]
    pub fn bytes(self) -> f64 {
        self.bytes
    }
}

/// A drive, and the work that is done on it.
pub trait Worked {
    /// Writes about so much.
    ///
    /// # Errors
    /// What the host or the drive cannot do.
    fn work(&mut self, amount: f64) -> Result<(), BenchError>;

    /// What the drive has counted.
    fn counters(&mut self) -> Counters;

    /// # Errors
    /// If it has no flash.
    fn flash(&mut self) -> Result<&mut dyn Flash, BenchError>;
}

/// What the windows of work told.
#[derive(Clone, Copy, Debug)]
pub struct Wearing {
    /// Erases of a block on average.
    pub erases: f64,
    /// Mean wear, in shares of the rated life, and bytes that the flash programmed, in each half of the windows.
    halves: [(f64, f64); 2],
}

impl Wearing {
    /// Mean wear, in shares of the rated life, for each byte that the flash programs: wear goes with that, wherever the host
    /// stands in what it does. Host bytes wear as much more as write amplification is.
    #[must_use]
    pub fn per_program(&self) -> f64 {
        let [(first, early), (second, late)] = self.halves;
        (first + second) / (early + late)
    }

    /// How much less a programmed byte wears in one half than in the other, as a share of the latter.
    #[must_use]
    pub fn unlike(&self) -> f64 {
        let [first, second] =
            self.halves.map(|(worn, programmed)| if programmed > 0.0 { worn / programmed } else { 0.0 });
        let most = first.max(second);
        if most > 0.0 { 1.0 - first.min(second) / most } else { 0.0 }
    }

    /// Whether that can carry a life: the blocks were erased often enough, and as fast in both halves.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.erases >= LEAST_ERASES && self.unlike() <= UNSTEADY
    }
}

/// Works for [`WINDOWS`] windows of `window` at the least, all of them as long as the first, and records the wear
/// before, between and after them. Of the present step of `monitor` each part of the work has its share.
///
/// # Errors
/// As of the work.
pub fn watch_wear(worked: &mut impl Worked, window: f64, monitor: &Monitor<'_>) -> Result<Wearing, BenchError> {
    fn now(worked: &mut impl Worked) -> Result<(f64, f64, f64), BenchError> {
        let (wear, programmed) = (worked.flash()?.wear(), programmed(&worked.counters()));
        Ok((wear.erases_mean, wear.mean, programmed))
    }
    // How long a window is shows at the end of the first: what is left is taken for the least that it can be.
    let mut told = 0.0;
    let mut work = |worked: &mut _, amount: f64, left: f64| {
        let from = told;
        told += (1.0 - told) * amount / left;
        monitor.part(from..told, || Worked::work(worked, amount))
    };
    worked.flash()?.record_wear();
    let start = now(worked)?;
    let others = (WINDOWS - 1) as f64;
    work(worked, window, window + others * window)?;
    let mut length = window;
    while worked.flash()?.wear().erases_mean < start.0 + TURNOVER && length < LONGEST * window {
        let more = window / 4.0;
        length += more;
        work(worked, more, more + others * length)?;
    }
    worked.flash()?.record_wear();
    let mut middle = start;
    for k in 1..WINDOWS {
        if k == WINDOWS / 2 {
            middle = now(worked)?;
        }
        work(worked, length, (WINDOWS - k) as f64 * length)?;
        worked.flash()?.record_wear();
    }
    let end = now(worked)?;
    let half = |from: (f64, f64, f64), to: (f64, f64, f64)| (to.1 - from.1, to.2 - from.2);
    Ok(Wearing { erases: end.0 - start.0, halves: [half(start, middle), half(middle, end)] })
}

/// Bytes that the flash has programmed.
fn programmed(counters: &Counters) -> f64 {
    counters.host.write_bytes as f64 * counters.waf().unwrap_or(1.0)
}

/// What the flash programmed as the host wrote, by which write amplification is known of a pass and of its places.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Bytes that the host has written, and bytes that the flash has programmed, with the work.
    marks: Vec<(f64, f64)>,
}

impl Course {
    /// Marks where the work is.
    pub fn mark(&mut self, counters: &Counters) {
        self.marks.push((counters.host.write_bytes as f64, programmed(counters)));
    }

    /// Where it begins and ends, in bytes that the host has written.
    fn ends(&self) -> Option<(f64, f64)> {
        Some((self.marks.first()?.0, self.marks.last()?.0))
    }

    /// Whether it is a pass long.
    #[must_use]
    pub fn has_whole(&self, pass: Pass) -> bool {
        self.ends().is_some_and(|(start, end)| whole_passes(end - start, pass) > 0.0 || pass == Pass::NONE)
    }

    /// Write amplification of the last whole passes; of all of it if it is none.
    #[must_use]
    pub fn waf(&self, pass: Pass) -> Option<f64> {
        let (start, end) = self.ends()?;
        let whole = whole_passes(end - start, pass) * pass.bytes;
        self.between(if whole > 0.0 { (end - whole).max(start) } else { start }..end)
    }

    /// Write amplification where the work later stands, from and to so many host bytes: at the same place of the last pass in which
    /// all of it lies. Of all of it if there is none, or all places are alike.
    #[must_use]
    pub fn waf_there(&self, pass: Pass, later: Range<f64>) -> Option<f64> {
        let (start, end) = self.ends()?;
        if pass == Pass::NONE {
            return self.waf(pass);
        }
        let back = libm::ceil((later.end - end) / pass.bytes).max(0.0) * pass.bytes;
        if later.start - back < start {
            return self.waf(pass);
        }
        self.between(later.start - back..later.end - back)
    }

    /// How unlike the write amplification of pieces of so many host bytes is by chance: its standard deviation over the mean.
    /// Each piece is laid beside those next to it, so that what changes with the place does not count.
    #[must_use]
    pub fn scatter(&self, bytes: f64) -> Option<f64> {
        let (start, end) = self.ends()?;
        let mean = self.waf(Pass::NONE)?;
        let pieces: Vec<f64> = self.marks.windows(2).map(|m| (m[1].1 - m[0].1) / (m[1].0 - m[0].0)).collect();
        let bends: Vec<f64> = pieces.windows(3).map(|p| p[1] - (p[0] + p[2]) / 2.0).collect();
        if bends.is_empty() || bytes <= 0.0 {
            return None;
        }
        let variance = bends.iter().map(|bend| bend * bend).sum::<f64>() / bends.len() as f64 / 1.5;
        let piece = (end - start) / pieces.len() as f64;
        Some((variance * piece / bytes).sqrt() / mean)
    }

    fn between(&self, range: Range<f64>) -> Option<f64> {
        let width = range.end - range.start;
        (width > 0.0).then(|| (self.programmed_at(range.end) - self.programmed_at(range.start)) / width)
    }

    /// Between two marks, in proportion.
    fn programmed_at(&self, written: f64) -> f64 {
        let k = self.marks.partition_point(|mark| mark.0 < written).clamp(1, self.marks.len() - 1);
        let (a, b) = (self.marks[k - 1], self.marks[k]);
        a.1 + (b.1 - a.1) * (written - a.0) / (b.0 - a.0)
    }
}

/// Passes in so many bytes; a thousandth that is missing is of how requests end.
fn whole_passes(bytes: f64, pass: Pass) -> f64 {
    if pass == Pass::NONE { 0.0 } else { libm::floor(bytes / pass.bytes + 1e-3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks each byte from 0 to `end`: of ten bytes, the first two are amplified threefold, the others not.
    fn course(end: u64) -> Course {
        let mut marks = vec![(0.0, 0.0)];
        for k in 0..end {
            let (written, programmed) = marks[marks.len() - 1];
            marks.push((written + 1.0, programmed + if k % 10 < 2 { 3.0 } else { 1.0 }));
        }
        Course { marks }
    }

    #[test]
    fn a_life_is_carried_by_erases_that_are_many_and_come_as_fast_in_both_halves() {
        let of = |erases: f64, halves| Wearing { erases, halves };
        let even = of(8.0, [(0.4, 100.0), (0.8, 200.0)]);
        assert!(even.is_settled() && (even.per_program() - 0.004).abs() < 1e-12);
        assert!(!of(1.9, [(0.4, 100.0), (0.8, 200.0)]).is_settled());
        for halves in [[(0.4, 100.0), (0.3, 100.0)], [(0.3, 100.0), (0.4, 100.0)]] {
            assert!(!of(8.0, halves).is_settled() && (of(8.0, halves).unlike() - 0.25).abs() < 1e-12);
        }
        let late = of(8.0, [(0.0, 0.0), (0.4, 100.0)]);
        assert!(!late.is_settled() && late.unlike() == 1.0);
    }

    #[test]
    fn write_amplification_is_that_of_whole_passes_and_of_a_place_that_of_the_place() {
        let (course, pass) = (course(23), Pass::of(10.0));
        assert!((course.waf(pass).unwrap() - 1.4).abs() < 1e-12, "{:?}", course.waf(pass));
        assert!((course.waf(Pass::NONE).unwrap() - 35.0 / 23.0).abs() < 1e-12);
        for (from, to, expected) in [(30.0, 31.5, 3.0), (31.5, 32.5, 2.0), (47.0, 49.0, 1.0), (1.0, 2.0, 3.0)] {
            let there = course.waf_there(pass, from..to).unwrap();
            assert!((there - expected).abs() < 1e-12, "{from} to {to}: {there}");
        }
        assert!(course.has_whole(pass) && course.has_whole(Pass::NONE) && !course.has_whole(Pass::of(24.0)));
    }

    #[test]
    fn what_is_no_pass_long_tells_of_all_of_it() {
        let (course, pass) = (course(5), Pass::of(10.0));
        assert_eq!(course.waf(pass), course.waf(Pass::NONE));
        assert_eq!(course.waf_there(pass, 5.0..7.0), course.waf(pass));
        assert_eq!(Course::default().waf(pass), None);
    }

    #[test]
    fn pieces_scatter_by_chance_and_not_by_their_place() {
        let of = |amplified: fn(u64) -> f64| {
            let mut marks = vec![(0.0, 0.0)];
            for k in 0..100 {
                let (written, programmed) = marks[marks.len() - 1];
                marks.push((written + 1.0, programmed + amplified(k)));
            }
            Course { marks }.scatter(4.0).unwrap()
        };
        assert!(of(|k| 2.0 + k as f64 / 50.0) < 1e-9);
        assert!((of(|k| if k % 2 == 0 { 1.5 } else { 2.5 }) - 0.5 * libm::sqrt(4.0 / 1.5) / 2.0 / 2.0).abs() < 0.01);
    }

    #[test]
    fn a_mix_with_hot_data_has_passed_when_its_sequence_has_gone_over_all_of_them() {
        const CAPACITY: u64 = 64 << 20;
        let of = |share: f64| Pass::of_mix_with_hot_data(CAPACITY, share, CAPACITY).whole(1.0) / CAPACITY as f64;
        assert!((of(0.5) - 2.0).abs() < 1e-9 && (of(0.01) - 4.0).abs() < 1e-9, "{} {}", of(0.5), of(0.01));
        assert!(of(0.0) < 1e-6 && of(1.0) < 1e-6, "all places are alike");
    }
}
