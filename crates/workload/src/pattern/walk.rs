//! Access patterns that leave their order: steps between blocks, runs of blocks from a random place, a share of random
//! accesses, and zones with gaps between them. As in fio.

use ssdlab_core::{Op, Rng, SECTOR_BYTES};

use super::{AccessPattern, BlockSizes, Command, Extent, Mix, Order, Pattern, PatternError, Source};

/// Zones of `zone_bytes`, with gaps of `skip_bytes` between them; after so many bytes in a zone comes the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Bytes transferred in a zone before the next one begins.
    pub zone_bytes: u64,
    /// Length of a zone.
    pub range_bytes: u64,
    pub skip_bytes: u64,
    /// From the start of the span to where zones end, the span's length at least: with the gaps between them they go on behind it.
    pub room_bytes: u64,
}

impl Strided {
    /// Length of a zone: no more than the span.
    fn zone(&self, span_bytes: u64) -> u64 {
        self.range_bytes.min(span_bytes)
    }

    /// Start of the zone behind the one that starts at `from`, if there is room for another; both from the start of the span.
    fn next(&self, from: u64, span_bytes: u64) -> Option<u64> {
        let next = from.checked_add(self.range_bytes)?.checked_add(self.skip_bytes)?;
        let end = next.checked_add(self.zone(span_bytes))?;
        (end <= self.room_bytes.max(span_bytes)).then_some(next)
    }

    /// Where a block that begins in a zone, in sequence, must have ended. As in fio, it may lie over the zone's end, unless the
    /// zone is cut short by the span.
    fn limit(&self, zone_end: u64, span_bytes: u64) -> u64 {
        if self.range_bytes <= span_bytes { self.room_bytes.max(span_bytes) } else { zone_end }
    }

    /// How far the last block of a pattern may lie over the end of its zone.
    fn overhang(&self, pattern: &Pattern) -> u64 {
        let used = || pattern.sizes.iter().zip(pattern.mix.uses()).filter(|s| s.1).map(|s| s.0);
        let smallest = used().map(BlockSizes::min_bytes).min().unwrap_or(0).max(SECTOR_BYTES);
        let largest = used().map(BlockSizes::max_bytes).max().unwrap_or(0).max(smallest);
        if self.range_bytes > pattern.span_bytes {
            0
        } else if smallest < largest {
            largest - SECTOR_BYTES
        } else {
            // In sequence, the next zone begins after so many bytes, which may be before this one is full.
            let sequential = pattern.order == Order::Sequential;
            let sent = if sequential { self.zone_bytes.min(self.range_bytes) } else { self.range_bytes };
            sent.div_ceil(largest).saturating_mul(largest).saturating_sub(self.range_bytes)
        }
    }

    /// From the start of the span to the end of what a pattern sends to the last zone that it comes to, the span's length at least.
    #[must_use]
    pub fn reach_bytes(&self, pattern: &Pattern) -> u64 {
        let span = pattern.span_bytes;
        let bytes = match pattern.extent {
            Extent::Endless => u64::MAX,
            Extent::Passes(passes) => span.saturating_mul(passes),
            Extent::Bytes(bytes) => bytes,
        };
        // What is trimmed and then written is sent twice.
        let sent = bytes.saturating_mul(if pattern.mix == Mix::TrimWrite { 2 } else { 1 });
        let apart = self.range_bytes.saturating_add(self.skip_bytes).max(1);
        let room = self.room_bytes.max(span);
        let block = pattern.sizes.iter().map(BlockSizes::min_bytes).min().unwrap_or(0);
        let in_each = self.zone_bytes.max(block).max(1);
        let last = (sent.div_ceil(in_each).max(1) - 1).min((room - self.zone(span)) / apart);
        (last * apart + self.zone(span)).saturating_add(self.overhang(pattern)).min(room).max(span)
    }
}

/// How a pattern leaves its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// In sequence: added to the place after each block. Negative: backwards, from the end of the span; where that begins
    /// with the drive, from its first block on, as in fio.
    pub step_bytes: i64,
    /// A step forward that leaves the span ends the pass, and does not begin again within it: what is behind the span could be
    /// worked on as well.
    pub ends_with_span: bool,
    /// At random: blocks from each random place; what is trimmed and then written is two of them. 0: there is no random place,
    /// all go on in sequence.
    pub run: u64,
    /// Those blocks lie at one place, and not one behind the other.
    pub same_place: bool,
    /// At random: per cent of the accesses that are, of reads, writes and trims; the others go on in sequence.
    pub random_percent: [u32; 3],
    pub strided: Option<Strided>,
}

impl Default for Walk {
    fn default() -> Self {
        Walk {
            step_bytes: 0,
            ends_with_span: false,
            run: 1,
            same_place: false,
            random_percent: [100; 3],
            strided: None,
        }
    }
}

/// Yields the commands of a [`Pattern`] that is walked through as a [`Walk`] says.
#[derive(Clone, Debug)]
pub struct WalkSource {
    walk: Walk,
    inner: AccessPattern,
    random: bool,
    start: u64,
    length: u64,
    /// Of reads, writes and trims: where the last block began and ended, from the start of the span.
    last: [Option<(u64, u64)>; 3],
    run_left: u64,
    /// The present zone's start, and the bytes transferred in it.
    zone: (u64, u64),
    /// Passes that steps forward still have to go, where the pattern ends with the last.
    passes_left: Option<u64>,
    /// Each block is trimmed, then written.
    pairs: bool,
    rng: Rng,
}

impl Walk {
    /// Makes the source of `pattern`.
    ///
    /// # Errors
    /// As [`Pattern::build`], and if a step or a zone is not made of sectors.
    pub fn build(&self, pattern: &Pattern, rng: &Rng) -> Result<WalkSource, PatternError> {
        let sectors = |what: &'static str, value: u64| match value {
            v if v.is_multiple_of(SECTOR_BYTES) => Ok(()),
            value => Err(PatternError::OffsetNotSectors { what, value }),
        };
        sectors("the step between blocks", self.step_bytes.unsigned_abs())?;
        if let Some(zones) = self.strided {
            sectors("the length of a zone", zones.range_bytes)?;
            sectors("the gap between zones", zones.skip_bytes)?;
            let largest = pattern.sizes.iter().map(super::BlockSizes::max_bytes).max().unwrap_or(0);
            if zones.range_bytes < largest {
                return Err(PatternError::TooSmall { what: "a zone", block: largest, span: zones.range_bytes });
            }
        }
        let random = pattern.order != Order::Sequential;
        let passes_left = match pattern.extent {
            Extent::Passes(passes) if !random && self.step_bytes > 0 && self.strided.is_none() => Some(passes),
            _ => None,
        };
        Ok(WalkSource {
            inner: pattern.build(rng)?,
            random,
            start: pattern.start_bytes,
            length: pattern.span_bytes,
            last: [None; 3],
            run_left: 0,
            zone: (0, 0),
            passes_left,
            pairs: pattern.mix == Mix::TrimWrite,
            rng: rng.stream("walk"),
            walk: self.clone(),
        })
    }
}

impl WalkSource {
    /// What is worked on: the span, or the present zone.
    fn window(&mut self) -> (u64, u64) {
        let Some(zones) = self.walk.strided else { return (0, self.length) };
        if self.zone.1 >= zones.zone_bytes {
            self.zone = (zones.next(self.zone.0, self.length).unwrap_or(0), 0);
            self.last = [None; 3];
        }
        (self.zone.0, self.zone.0 + zones.zone(self.length))
    }

    /// Whether the next block in sequence is beyond the span.
    fn leaves(&self, slot: usize, length: u64) -> bool {
        let at = self.last[slot].map(|(_, end)| end.saturating_add_signed(self.walk.step_bytes));
        at.is_some_and(|at| at.saturating_add(length) > self.length)
    }

    /// Where the pattern is made of passes.
    fn end_pass(&mut self) {
        if let Some(passes) = &mut self.passes_left {
            *passes -= 1;
            self.last = [None; 3];
        }
    }

    fn in_sequence(&self, slot: usize, length: u64, (from, to): (u64, u64)) -> u64 {
        let step = self.walk.step_bytes;
        let limit = match self.walk.strided {
            Some(zones) if step == 0 => zones.limit(to, self.length),
            _ => to,
        };
        let at = match self.last[slot] {
            None if step < 0 && self.start + from > 0 => i128::from(to) + i128::from(step),
            None => return from,
            Some((_, end)) => i128::from(end) + i128::from(if self.random { 0 } else { step }),
        };
        let fits = |at: i128| (from.into()..to.into()).contains(&at) && at + i128::from(length) <= i128::from(limit);
        if fits(at) {
            return at as u64;
        }
        // Beyond either end it begins again at the other.
        let again = if step < 0 && !self.random { i128::from(to) + i128::from(step) } else { i128::from(from) };
        if fits(again) { again as u64 } else { from }
    }

    /// Counts a block of the present run; whether it goes on with that, and does not begin another.
    fn goes_on(&mut self) -> bool {
        let goes_on = self.run_left > 0 || self.walk.run == 0;
        self.run_left = if self.run_left > 0 { self.run_left } else { self.walk.run }.saturating_sub(1);
        goes_on
    }

    fn at_random(&mut self, slot: usize, op: Op, drawn: u64, length: u64, window: (u64, u64)) -> u64 {
        if self.goes_on() {
            return match self.last[slot] {
                Some((begin, _)) if self.walk.same_place => begin,
                _ => self.in_sequence(slot, length, window),
            };
        }
        let percent = self.walk.random_percent[op as usize % 3];
        if percent < 100 && !self.rng.chance(percent.into(), 100) {
            return self.in_sequence(slot, length, window);
        }
        let (from, to) = window;
        if (from, to) == (0, self.length) {
            return drawn;
        }
        // Into the zone, at a multiple of the block.
        let places = ((to - from) / length).max(1);
        from + self.rng.below(places) * length
    }

    /// The write of what was trimmed just now: at the same place, whatever comes next. As in fio, it counts in runs and zones.
    fn written(&mut self, command: Command) -> Command {
        let (offset, end) = self.last[2].unwrap_or_default();
        if self.random {
            self.goes_on();
        }
        self.zone.1 += command.length_bytes;
        if end == self.length {
            self.end_pass();
        }
        Command { offset_bytes: self.start + offset, ..command }
    }
}

impl Source for WalkSource {
    fn next(&mut self) -> Option<Command> {
        if self.passes_left == Some(0) {
            return None;
        }
        let command = self.inner.next()?;
        if self.pairs && command.op == Op::Write {
            return Some(self.written(command));
        }
        let window = self.window();
        let slot = match command.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush | Op::WriteZeroes => 2,
        };
        let length = command.length_bytes;
        if self.walk.ends_with_span && self.passes_left.is_some() && self.leaves(slot, length) {
            self.end_pass();
            if self.passes_left == Some(0) {
                return None;
            }
        }
        let offset = if self.random {
            self.at_random(slot, command.op, command.offset_bytes - self.start, length, window)
        } else {
            self.in_sequence(slot, length, window)
        };
        self.last[slot] = Some((offset, offset + length));
        self.zone.1 += length;
        // As in fio, a block that ends with the span is the last of its pass.
        if offset + length == self.length && !self.pairs {
            self.end_pass();
        }
        Some(Command { offset_bytes: self.start + offset, ..command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(walk: &Walk, pattern: &Pattern) -> Vec<u64> {
        let mut source = walk.build(pattern, &Rng::new(1)).unwrap();
        std::iter::from_fn(|| source.next()).map(|c| c.offset_bytes / 4096).collect()
    }

    fn sequential(blocks: u64) -> Pattern {
        Pattern { short_tail: false, ..Pattern::sequential_read(blocks * 4096, 4096).passes(1) }
    }

    #[test]
    fn steps_leave_holes_or_go_backwards_and_begin_again_at_the_end() {
        let step = |blocks: i64| Walk { step_bytes: blocks * 4096, ..Walk::default() };
        assert_eq!(offsets(&step(2), &sequential(8)), [0, 3, 6, 0, 3, 6, 0, 3]);
        assert_eq!(offsets(&step(2), &sequential(7)), [0, 3, 6], "a block that ends with the span ends the pass");
        assert_eq!(offsets(&step(2), &sequential(7).passes(2)), [0, 3, 6, 0, 3, 6]);
        let pairs = Pattern { mix: Mix::TrimWrite, ..sequential(7).passes(2) };
        let twice = [0, 0, 3, 3, 6, 6];
        assert_eq!(offsets(&step(2), &pairs), [twice, twice].concat(), "each is trimmed, then written");
        let ends = Walk { ends_with_span: true, ..step(2) };
        assert_eq!(offsets(&ends, &pairs), [twice, twice].concat());
        let pairs = Pattern { mix: Mix::TrimWrite, ..sequential(8) };
        assert_eq!(offsets(&ends, &pairs), twice);
        assert_eq!(offsets(&ends, &sequential(8)), [0, 3, 6], "what is behind the span could be worked on as well");
        assert_eq!(offsets(&ends, &sequential(7).passes(2)), [0, 3, 6, 0, 3, 6]);
        assert_eq!(offsets(&ends, &sequential(8).passes(2)), [0, 3, 6, 0, 3, 6]);
        assert_eq!(offsets(&ends, &sequential(8).bytes(4 * 4096)), [0, 3, 6, 0], "as many bytes as were asked for");
        assert_eq!(offsets(&step(-2), &sequential(5)), [0, 3, 2, 1, 0]);
        assert_eq!(offsets(&step(-1), &sequential(5)), [0; 5]);
        assert_eq!(offsets(&step(-2), &sequential(5).starting_at(5 * 4096)), [8, 7, 6, 5, 8]);
        assert!(Walk { step_bytes: 100, ..Walk::default() }.build(&sequential(5), &Rng::new(1)).is_err());
    }

    #[test]
    fn runs_go_on_from_a_random_place_or_stay_there() {
        let random = Pattern::random_read(1 << 30, 4096).bytes(400 * 4096);
        for same_place in [false, true] {
            let at = offsets(&Walk { run: 8, same_place, ..Walk::default() }, &random);
            assert_eq!(at.len(), 400);
            for run in at.chunks(8) {
                assert!(run.windows(2).all(|w| w[1] == w[0] + u64::from(!same_place)), "{run:?}");
            }
            assert!(at.chunks(8).zip(at.chunks(8).skip(1)).all(|(a, b)| b[0] != a[7] + 1));
        }
    }

    #[test]
    fn what_is_trimmed_at_random_is_written_at_the_same_place() {
        let pattern = Pattern { mix: Mix::TrimWrite, ..Pattern::random_read(1 << 40, 4096).bytes(400 * 4096) };
        let zones = Strided { zone_bytes: 3 << 12, range_bytes: 8 << 12, skip_bytes: 8 << 12, room_bytes: 1 << 40 };
        // Pairs that go on in sequence or stay, of those that do not begin at a random place. As in fio, each is two blocks.
        for (walk, goes_on) in [
            (Walk { run: 2, ..Walk::default() }, 0..1),
            (Walk { run: 3, ..Walk::default() }, 266..267),
            (Walk { run: 4, ..Walk::default() }, 200..201),
            (Walk { run: 4, same_place: true, ..Walk::default() }, 200..201),
            (Walk { random_percent: [100, 100, 50], ..Walk::default() }, 170..230),
            (Walk { random_percent: [0, 0, 100], ..Walk::default() }, 0..1),
            (Walk { run: 0, ..Walk::default() }, 399..400),
            (Walk { strided: Some(zones), ..Walk::default() }, 0..400),
        ] {
            let at = offsets(&walk, &pattern);
            assert!(at.len() == 800 && at.chunks(2).all(|pair| pair[0] == pair[1]), "{walk:?}");
            let next = |w: &[u64]| w[2] == w[0] + u64::from(!walk.same_place);
            let told = at.windows(3).step_by(2).filter(|w| next(w)).count();
            assert!(goes_on.contains(&told), "{walk:?}: {told}");
        }
    }

    #[test]
    fn all_is_in_sequence_where_no_block_is_at_a_random_place() {
        let random = Pattern::random_read(4 * 4096, 4096).passes(2);
        assert_eq!(offsets(&Walk { run: 0, ..Walk::default() }, &random), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(offsets(&Walk { run: 0, same_place: true, ..Walk::default() }, &random), [0; 8]);
    }

    #[test]
    fn the_given_share_is_random() {
        let random = Pattern::random_read(1 << 40, 4096).bytes(10_000 * 4096);
        let at = offsets(&Walk { random_percent: [30; 3], ..Walk::default() }, &random);
        let jumps = at.windows(2).filter(|w| w[1] != w[0] + 1).count();
        assert!((2_800..3_200).contains(&jumps), "{jumps}");
        // As in fio, a run that begins in sequence has its length all the same.
        let at = offsets(&Walk { run: 4, random_percent: [50; 3], ..Walk::default() }, &random);
        assert!(at.chunks(4).all(|run| run[3] == run[0] + 3));
    }

    #[test]
    fn zones_have_gaps_between_them() {
        let zones = |room: u64| Strided {
            zone_bytes: 3 * 4096,
            range_bytes: 3 * 4096,
            skip_bytes: 2 * 4096,
            room_bytes: room * 4096,
        };
        let walk = |room| Walk { strided: Some(zones(room)), ..Walk::default() };
        // As many blocks as the span has: gaps are not transferred.
        let within = [0, 1, 2, 5, 6, 7, 10, 11, 12, 0, 1, 2, 5, 6];
        assert_eq!(offsets(&walk(14), &sequential(14)), within);
        // They go on behind it as long as a whole one has room there.
        assert_eq!(offsets(&walk(17), &sequential(14)), within);
        assert_eq!(offsets(&walk(18), &sequential(14)), [0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17, 0, 1]);
        assert_eq!(offsets(&walk(100), &sequential(5)), [0, 1, 2, 5, 6]);
        let reach = |room, blocks, passes| zones(room).reach_bytes(&sequential(blocks).passes(passes)) / 4096;
        assert_eq!([reach(14, 14, 1), reach(17, 14, 1), reach(18, 14, 1), reach(100, 14, 1)], [14, 14, 18, 23]);
        assert_eq!([reach(100, 5, 1), reach(100, 5, 9), reach(30, 5, 9), reach(100, 5, 99)], [8, 73, 28, 98]);
    }

    #[test]
    fn a_block_lies_over_the_end_of_its_zone_where_there_is_room() {
        let zones =
            Strided { zone_bytes: 3 * 4096, range_bytes: 3 * 4096, skip_bytes: 2 * 4096, room_bytes: 14 * 4096 };
        let pattern =
            |units: u64| Pattern { short_tail: false, ..Pattern::sequential_read(units * 4096, 2 * 4096).passes(1) };
        let walk = |zones| Walk { strided: Some(zones), ..Walk::default() };
        assert_eq!(offsets(&walk(zones), &pattern(14)), [0, 2, 5, 7, 10, 12, 0]);
        assert_eq!(zones.reach_bytes(&pattern(12)) / 4096, 14);
        let short = Strided { room_bytes: 13 * 4096, ..zones };
        assert_eq!(offsets(&walk(short), &pattern(13)), [0, 2, 5, 7, 10, 10]);
        assert_eq!(short.reach_bytes(&pattern(13)) / 4096, 13);
        // A zone that is longer than the span ends with it, and so do its blocks.
        let long = Strided { zone_bytes: 8 * 4096, range_bytes: 8 * 4096, ..zones };
        assert_eq!(offsets(&walk(long), &pattern(5).bytes(8 * 4096)), [0, 2, 0, 2]);
    }
}
