//! The source of an access pattern: one enum dispatch a command, no allocation.

use ssdlab_core::{Op, Rng, SECTOR_BYTES};

use super::random_map::RandomMap;
use super::sizes::Draw;
use super::zones::ZoneDraw;
use super::{
    BlockSizes, Command, Distribution, Extent, Mix, Order, Pareto, Pattern, PatternError, Permutation, Source, Zipf,
};

/// Blocks of which a random map keeps account, in 128 MiB: 4 TiB in blocks of 4 KiB.
const MOST_OF_A_MAP: u64 = 1 << 30;

/// How the next place is found.
#[derive(Clone, Debug)]
enum Place {
    /// Next offset of reads, writes and trims, relative to the start.
    Sequential([u64; 3]),
    Uniform,
    /// The order of this pass, and the bytes from one block to the next.
    Once(Permutation, u64),
    /// Requests of many sizes, of whole blocks of so many bytes: each ends where it meets one that was taken.
    Map(Box<RandomMap>, u64),
    Zipf(Zipf),
    Pareto(Pareto),
    Zoned(Box<[Option<ZoneDraw>; 3]>),
}

/// Yields the commands of a [`Pattern`].
#[derive(Clone, Debug)]
pub struct AccessPattern {
    mix: Mix,
    place: Place,
    draw: [Option<Draw>; 3],
    /// First byte, including the alignment offset.
    start: u64,
    /// Bytes from the first to the end of the span.
    length: u64,
    short_tail: bool,
    one_place: bool,
    fua: bool,
    bytes_left: Option<u64>,
    passes_left: Option<u64>,
    /// The block that was trimmed and is to be written next.
    trimmed: Option<(u64, u64)>,
    draws: Draws,
    /// What every pass begins with, if each is the first one again.
    first_draws: Option<Box<Draws>>,
}

/// Where random numbers come from: of operations, block sizes and places.
#[derive(Clone, Debug)]
struct Draws {
    op: Rng,
    size: Rng,
    offset: Rng,
}

impl Draws {
    /// A pass over the span is over.
    fn pass_over(&mut self, first: Option<&Draws>) {
        if let Some(first) = first {
            self.clone_from(first);
        }
    }
}

impl Mix {
    /// Whether reads, writes and trims occur.
    pub(crate) fn uses(self) -> [bool; 3] {
        match self {
            Mix::Read => [true, false, false],
            Mix::Write => [false, true, false],
            // A block that is trimmed and then written has one size: that of trims.
            Mix::Trim | Mix::TrimWrite => [false, false, true],
            Mix::ReadWrite { .. } => [true, true, false],
        }
    }
}

fn sectors(what: &'static str, value: u64) -> Result<u64, PatternError> {
    if value.is_multiple_of(SECTOR_BYTES) { Ok(value) } else { Err(PatternError::OffsetNotSectors { what, value }) }
}

impl Pattern {
    /// Checks the description and makes the source. Its random numbers come from streams of `rng` named after
    /// their use; `rng` itself is not advanced.
    ///
    /// # Errors
    /// Whatever in the description contradicts itself; see [`PatternError`].
    pub fn build(&self, rng: &Rng) -> Result<AccessPattern, PatternError> {
        AccessPattern::new(self, rng)
    }
}

impl AccessPattern {
    fn new(pattern: &Pattern, rng: &Rng) -> Result<Self, PatternError> {
        let p = pattern;
        sectors("the start of the span", p.start_bytes)?;
        sectors("the alignment offset", p.align_offset_bytes)?;
        if p.span_bytes == 0 || !p.span_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(PatternError::NotSectors { what: "the span", value: p.span_bytes });
        }
        if p.start_bytes.checked_add(p.span_bytes).is_none() {
            return Err(PatternError::Overflow { start: p.start_bytes, length: p.span_bytes });
        }
        if let Mix::ReadWrite { read_percent: percent @ 101.. } = p.mix {
            return Err(PatternError::Percent { percent });
        }
        let length = p.span_bytes.saturating_sub(p.align_offset_bytes);
        let mut draw = [None, None, None];
        let sequential = p.order == Order::Sequential;
        for op in (0..3).filter(|&op| p.mix.uses()[op]) {
            let sizes = &p.sizes[op];
            sizes.check()?;
            let align = p.align_bytes[op].unwrap_or(sizes.min_bytes());
            if align == 0 || !align.is_multiple_of(SECTOR_BYTES) {
                return Err(PatternError::NotSectors { what: "the alignment", value: align });
            }
            // A short last block makes a span smaller than a block usable, in sequence.
            let needed = if sequential && p.short_tail { SECTOR_BYTES } else { sizes.max_bytes() };
            if needed > length {
                return Err(PatternError::TooSmall { what: "the span", block: needed, span: length });
            }
            draw[op] = Some(Draw::new(sizes, align, length.max(sizes.max_bytes())));
        }
        let mut draws =
            Draws { op: rng.stream("operation"), size: rng.stream("block size"), offset: rng.stream("offset") };
        // Reads and writes in sequence come to the end of the span each in its time.
        let has_passes = !(sequential && matches!(p.mix, Mix::ReadWrite { .. }));
        let first_draws = (p.repeats && has_passes).then(|| Box::new(draws.clone()));
        let place = Self::place(p, &draw, length, &mut draws.offset)?;
        let used = || p.sizes.iter().zip(p.mix.uses()).filter(|s| s.1).map(|s| s.0);
        let whole = used().map(BlockSizes::max_bytes).max().unwrap_or(SECTOR_BYTES);
        let one_size = used().all(|s| s.min_bytes() == whole);
        // What a pass holds where it is counted in bytes.
        let usable = if one_size && !p.short_tail { length / whole * whole } else { length };
        let by_place =
            matches!(place, Place::Once(..) | Place::Map(..)) || sequential && !matches!(p.mix, Mix::ReadWrite { .. });
        // A block that is trimmed and then written is sent twice, and counts once.
        let sent = |bytes: u64| bytes.saturating_mul(if p.mix == Mix::TrimWrite { 2 } else { 1 });
        let (bytes_left, passes_left) = match p.extent {
            Extent::Endless => (None, None),
            Extent::Bytes(n) => (Some(sent(n)), None),
            Extent::Passes(n) if by_place => (None, Some(n)),
            Extent::Passes(n) => (Some(sent(usable.saturating_mul(n))), None),
        };
        Ok(AccessPattern {
            mix: p.mix,
            place,
            draw,
            start: p.start_bytes + p.align_offset_bytes.min(p.span_bytes),
            length,
            short_tail: p.short_tail,
            one_place: p.one_place,
            fua: p.fua,
            bytes_left,
            passes_left,
            trimmed: None,
            draws,
            first_draws,
        })
    }

    fn place(p: &Pattern, draw: &[Option<Draw>; 3], length: u64, rng: &mut Rng) -> Result<Place, PatternError> {
        let used = || (0..3).filter(|&op| p.mix.uses()[op]);
        let places = |op: usize| {
            let align = draw[op].as_ref().map_or(1, |d| d.align);
            (length - p.sizes[op].min_bytes()) / align + 1
        };
        let distribution = match &p.order {
            Order::Sequential => return Ok(Place::Sequential([0; 3])),
            Order::Random(d) => d,
        };
        let check_center = |center: Option<f64>| match center {
            Some(center) if !(0.0..=1.0).contains(&center) => Err(PatternError::Center { center }),
            _ => Ok(()),
        };
        Ok(match distribution {
            Distribution::Uniform => Place::Uniform,
            Distribution::EachBlockOnce => {
                let first = used().next().unwrap_or(0);
                let block = p.sizes[first].min_bytes();
                let align = draw[first].as_ref().map_or(block, |d| d.align);
                let alike =
                    |op: usize| p.sizes[op].min_bytes() == block && draw[op].as_ref().is_some_and(|d| d.align == align);
                if !used().all(alike) {
                    return Err(PatternError::OnceNeedsOneSize);
                }
                if !used().all(|op| p.sizes[op].max_bytes() == block) {
                    let blocks = length / block;
                    if align != block {
                        return Err(PatternError::OnceNeedsOneSize);
                    }
                    if blocks > MOST_OF_A_MAP {
                        return Err(PatternError::MapTooLarge { blocks, most: MOST_OF_A_MAP });
                    }
                    return Ok(Place::Map(Box::new(RandomMap::new(blocks)), block));
                }
                // Blocks must not overlap, however fine the alignment.
                let step = block.div_ceil(align) * align;
                Place::Once(Permutation::new((length - block) / step + 1, rng), step)
            }
            Distribution::Zipf { theta, center } => {
                if !(*theta > 0.0 && theta.is_finite() && *theta != 1.0) {
                    return Err(PatternError::ZipfTheta { theta: *theta });
                }
                check_center(*center)?;
                let n = used().map(places).max().unwrap_or(1);
                Place::Zipf(Zipf::new(n, *theta, *center, rng.stream("zipf")))
            }
            Distribution::Pareto { h, center } => {
                if !(*h > 0.0 && *h < 1.0) {
                    return Err(PatternError::ParetoH { h: *h });
                }
                check_center(*center)?;
                let n = used().map(places).max().unwrap_or(1);
                Place::Pareto(Pareto::new(n, *h, *center, rng.stream("pareto")))
            }
            Distribution::Zoned(zones) => {
                let mut all = [None, None, None];
                for op in used() {
                    let align = draw[op].as_ref().map_or(1, |d| d.align);
                    all[op] = Some(ZoneDraw::new(&zones[op], length, align, p.sizes[op].min_bytes())?);
                }
                Place::Zoned(Box::new(all))
            }
        })
    }

    #[inline]
    fn emit(&mut self, op: Op, offset: u64, length_bytes: u64) -> Command {
        if let Some(left) = &mut self.bytes_left {
            *left = left.saturating_sub(length_bytes);
        }
        Command { op, offset_bytes: self.start + offset, length_bytes, fua: self.fua && op == Op::Write }
    }
}

impl Source for AccessPattern {
    #[inline]
    fn next(&mut self) -> Option<Command> {
        if (self.bytes_left == Some(0) || self.passes_left == Some(0)) && self.trimmed.is_none() {
            return None;
        }
        let op = match self.mix {
            Mix::Read => Op::Read,
            Mix::Write => Op::Write,
            Mix::Trim => Op::Trim,
            Mix::ReadWrite { read_percent } => {
                if self.draws.op.chance(u64::from(read_percent), 100) {
                    Op::Read
                } else {
                    Op::Write
                }
            }
            Mix::TrimWrite => {
                if let Some((offset, length)) = self.trimmed.take() {
                    return Some(self.emit(Op::Write, offset, length));
                }
                Op::Trim
            }
        };
        let slot = match op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush | Op::WriteZeroes => 2,
        };
        let draw = self.draw[slot].as_ref()?;
        let align = draw.align;
        let (mut length, places) = draw.next(&mut self.draws.size);
        let offset = match &mut self.place {
            Place::Uniform => self.draws.offset.below(places) * align,
            Place::Sequential(cursors) => {
                let cursor = &mut cursors[if self.one_place { 0 } else { slot }];
                let left = self.length - *cursor;
                if length > left {
                    if self.short_tail {
                        length = left;
                    } else if draw.min_length <= left {
                        length = draw.next_of_at_most(left, &mut self.draws.size);
                    } else {
                        // Smaller blocks of the other operation, which goes on from the same place, would still fit.
                        *cursor = 0;
                    }
                }
                let offset = *cursor;
                *cursor += length;
                // The pass is over when nothing more fits, so that the last command is known to be the last.
                let left = self.length - *cursor;
                if left == 0 || !self.short_tail && left < draw.min_length {
                    *cursor = 0;
                    self.draws.pass_over(self.first_draws.as_deref());
                    if let Some(passes) = &mut self.passes_left {
                        *passes -= 1;
                    }
                }
                offset
            }
            Place::Once(order, step) => {
                let block = order.next()?;
                if order.is_exhausted() {
                    self.draws.pass_over(self.first_draws.as_deref());
                    order.restart(&mut self.draws.offset);
                    if let Some(passes) = &mut self.passes_left {
                        *passes -= 1;
                    }
                }
                block * *step
            }
            Place::Map(map, block) => {
                if map.is_full() {
                    map.clear();
                }
                let first = map.next_free(self.draws.offset.below(map.blocks()))?;
                let taken = map.take(first, length.div_ceil(*block));
                length = length.min(taken * *block);
                if map.is_full() {
                    self.draws.pass_over(self.first_draws.as_deref());
                    if let Some(passes) = &mut self.passes_left {
                        *passes -= 1;
                    }
                }
                first * *block
            }
            Place::Zipf(z) => z.block() % places * align,
            Place::Pareto(p) => p.block() % places * align,
            Place::Zoned(z) => z[slot].as_ref()?.place(&mut self.draws.offset).min(places - 1) * align,
        };
        if self.mix == Mix::TrimWrite {
            self.trimmed = Some((offset, length));
        }
        Some(self.emit(op, offset, length))
    }
}
