//! The lines of the cache: which sectors are there, which are dirty, and which are on their way to the drives.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use ssdlab_core::SECTOR_BYTES;

/// A line has at most as many sectors as a mask has bits: 64 KiB.
type Mask = u128;

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    number: u64,
    valid: Mask,
    /// Not yet on its way to a drive.
    dirty: Mask,
    flying: Mask,
    /// Was in the cache over a power cut, and is not on the drives' media since.
    survived: Mask,
    /// Which of those that are dirty or flying have data from `order` that no drive has yet, and which have later ones. Two sets,
    /// so that a flush waits for no data that came after it for long, however often a line is written again.
    old: Mask,
    newer: Mask,
    /// When `old` and `newer` began, counted in sets that did. Mean something while there is one.
    order: u64,
    newer_order: u64,
    /// When it was last used, counted in uses. Means something while it is clean.
    used: u64,
    /// Hint of the last write.
    compressibility_per_1000: u16,
}

impl Line {
    /// What can go to the drives now. Of 4 KiB some of which are on their way the others wait: the drives number their writes of
    /// them in the order in which the data come, which nobody else could tell.
    fn ready(&self) -> Mask {
        self.dirty & !whole_units(self.flying)
    }

    /// Whether the drives have all of it.
    fn is_clean(&self) -> bool {
        self.dirty | self.flying == 0
    }
}

/// Sectors on their way to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub compressibility_per_1000: u16,
    /// Some of it has been in the cache over a power cut.
    pub survived: bool,
}

/// Sectors of a line that the drives do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dirty {
    pub number: u64,
    pub sectors: Mask,
    pub compressibility_per_1000: u16,
}

/// Sectors that went each way, all in all.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    dirtied: u64,
    overwritten: u64,
    taken: u64,
    written: u64,
    lost: u64,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Lines {
    sectors_per_line: u64,
    capacity: usize,
    dirty_limit: u64,
    lines: Vec<Line>,
    places: BTreeMap<u64, usize>,
    /// Clean lines by last use.
    clean: BTreeMap<u64, usize>,
    /// Lines with sectors that could be written out in this sweep: those that have been waited for since before the order `before`.
    ready: BTreeSet<u64>,
    /// The others with such sectors, which are for the next sweep. Apart, so that nobody looks through them for the lines of this one.
    later: BTreeSet<u64>,
    before: u64,
    /// Lines that are not clean, by the order of their oldest data.
    unclean: BTreeSet<u64>,
    orders: u64,
    uses: u64,
    flow: Flow,
}

/// Bits from `from` on, `count` of them.
fn bits(from: u64, count: u64) -> Mask {
    let ones = if count >= 128 { Mask::MAX } else { (1 << count) - 1 };
    ones << from
}

/// All sectors of the units that have any of these.
fn whole_units(sectors: Mask) -> Mask {
    const FIRST: Mask = Mask::MAX / 0xFF;
    let any = sectors | sectors >> 4;
    let any = any | any >> 2;
    ((any | any >> 1) & FIRST) * 0xFF
}

impl Lines {
    pub fn new(capacity_bytes: u64, line_bytes: u64, dirty_limit_percent: u64) -> Self {
        let sectors_per_line = line_bytes / SECTOR_BYTES;
        assert!((1..=128).contains(&sectors_per_line), "lines of {line_bytes} bytes");
        let capacity = (capacity_bytes / line_bytes) as usize;
        Lines {
            sectors_per_line,
            capacity,
            dirty_limit: (capacity as u64 * dirty_limit_percent / 100).max(1),
            lines: Vec::new(),
            places: BTreeMap::new(),
            clean: BTreeMap::new(),
            ready: BTreeSet::new(),
            later: BTreeSet::new(),
            before: u64::MAX,
            unclean: BTreeSet::new(),
            orders: 0,
            uses: 0,
            flow: Flow::default(),
        }
    }

    pub fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    pub fn line_bytes(&self) -> u64 {
        self.sectors_per_line * SECTOR_BYTES
    }

    /// Bytes that runs have brought to the drives, all in all.
    pub fn written_bytes(&self) -> u64 {
        self.flow.written * SECTOR_BYTES
    }

    /// Bytes that were written again before they went out.
    pub fn overwritten_bytes(&self) -> u64 {
        self.flow.overwritten * SECTOR_BYTES
    }

    /// Lines with data that no drive has yet.
    pub fn dirty(&self) -> u64 {
        self.unclean.len() as u64
    }

    /// What becomes dirty from now on has this order or a later one.
    pub fn next_order(&self) -> u64 {
        self.orders
    }

    /// Whether the drives have all that became dirty before `order`.
    pub fn clean_before(&self, order: u64) -> bool {
        self.unclean.first().is_none_or(|&oldest| oldest >= order)
    }

    /// A sweep begins, of what is dirty now: what becomes dirty while it goes on is for the next one. Before the first, everything is for
    /// it.
    pub fn begin_sweep(&mut self) {
        self.before = self.orders;
        self.ready.append(&mut self.later);
    }

    /// The lines at or above `line` that could be written out in this sweep, in ascending order.
    pub fn ready_from(&self, line: u64) -> impl Iterator<Item = u64> + '_ {
        self.ready.range(line..).copied()
    }

    /// Where a line belongs that could be written out, by the order of its oldest data.
    fn waiting(&mut self, order: u64) -> &mut BTreeSet<u64> {
        if order < self.before { &mut self.ready } else { &mut self.later }
    }

    /// The first byte of a line that could be written out.
    pub fn first_ready(&self, number: u64) -> u64 {
        let first = u64::from(self.lines[self.places[&number]].ready().trailing_zeros());
        (number * self.sectors_per_line + first) * SECTOR_BYTES
    }

    /// Where the run that begins in a line lies that could be written out in this sweep: its first byte, and its length in bytes. A
    /// neighbour that is for the next sweep ends it.
    pub fn run_at(&self, number: u64, most_bytes: u64) -> (u64, u64) {
        let (mut at, mut start, mut sectors) = (number, 0, 0);
        let mut compressibility = None;
        while self.ready.contains(&at) {
            let line = &self.lines[self.places[&at]];
            let can = line.ready();
            let first = u64::from(can.trailing_zeros());
            if compressibility.is_some_and(|of_run| first > 0 || of_run != line.compressibility_per_1000) {
                break;
            }
            let most = most_bytes / SECTOR_BYTES - sectors;
            let count = u64::from((!(can >> first)).trailing_zeros()).min(self.sectors_per_line - first).min(most);
            if count == 0 {
                break;
            }
            if compressibility.is_none() {
                start = (at * self.sectors_per_line + first) * SECTOR_BYTES;
                compressibility = Some(line.compressibility_per_1000);
            }
            sectors += count;
            if first + count < self.sectors_per_line {
                break;
            }
            at += 1;
        }
        (start, sectors * SECTOR_BYTES)
    }

    /// The pieces of a range: line, first sector in it, sectors.
    fn pieces(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let per_line = self.sectors_per_line;
        let (mut at, end) = (offset_bytes / SECTOR_BYTES, (offset_bytes + length_bytes) / SECTOR_BYTES);
        std::iter::from_fn(move || {
            let from = at % per_line;
            let count = (per_line - from).min(end - at);
            let piece = (at / per_line, from, count);
            at += count;
            (count > 0).then_some(piece)
        })
    }

    /// The line with this number, or a new one in a free place or that of the least recently used clean line.
    fn place(&mut self, number: u64) -> Option<usize> {
        if let Some(&place) = self.places.get(&number) {
            return Some(place);
        }
        let place = if self.lines.len() < self.capacity {
            self.lines.push(Line::default());
            self.lines.len() - 1
        } else {
            let (_, place) = self.clean.pop_first()?;
            self.places.remove(&self.lines[place].number);
            place
        };
        self.uses += 1;
        self.lines[place] = Line { number, used: self.uses, ..Line::default() };
        self.places.insert(number, place);
        self.clean.insert(self.uses, place);
        Some(place)
    }

    fn use_again(&mut self, place: usize) {
        let line = &mut self.lines[place];
        if line.is_clean() {
            self.clean.remove(&line.used);
            self.uses += 1;
            line.used = self.uses;
            self.clean.insert(self.uses, place);
        }
    }

    /// Takes data of the host, as much of it as has room from the begin on. Returns the bytes taken.
    pub fn write(&mut self, offset_bytes: u64, length_bytes: u64, compressibility_per_1000: u16) -> u64 {
        let mut taken = 0;
        for (number, from, count) in self.pieces(offset_bytes, length_bytes) {
            let known = self.places.get(&number).map(|&p| self.lines[p]);
            let becomes_dirty = known.is_none_or(|line| line.is_clean());
            if becomes_dirty && self.dirty() >= self.dirty_limit {
                break;
            }
            let Some(place) = self.place(number) else { break };
            let line = &mut self.lines[place];
            if becomes_dirty {
                self.clean.remove(&line.used);
                line.order = self.orders;
                self.unclean.insert(self.orders);
                self.orders += 1;
            }
            let mask = bits(from, count);
            if becomes_dirty {
                line.old = mask;
            } else {
                // What still waits goes out in this version; what is on its way goes out once more.
                let later = mask & !(line.old & line.dirty);
                if later != 0 && line.newer == 0 {
                    line.newer_order = self.orders;
                    self.orders += 1;
                }
                line.newer |= later;
            }
            self.flow.overwritten += u64::from((mask & line.dirty).count_ones());
            self.flow.dirtied += u64::from((mask & !line.dirty).count_ones());
            line.dirty |= mask;
            line.valid |= mask;
            line.compressibility_per_1000 = compressibility_per_1000;
            if line.ready() != 0 {
                let order = line.order;
                self.waiting(order).insert(number);
            }
            taken += count * SECTOR_BYTES;
        }
        taken
    }

    /// What of a range is not there, from the first such byte to the last; a hit counts as a use.
    pub fn missing(&mut self, offset_bytes: u64, length_bytes: u64) -> Option<(u64, u64)> {
        let mut missing: Option<(u64, u64)> = None;
        for (number, from, count) in self.pieces(offset_bytes, length_bytes) {
            let mask = bits(from, count);
            let place = self.places.get(&number).copied();
            let absent = mask & !place.map_or(0, |p| self.lines[p].valid);
            if let Some(place) = place {
                self.use_again(place);
            }
            if absent != 0 {
                let base = number * self.sectors_per_line;
                let first = (base + u64::from(absent.trailing_zeros())) * SECTOR_BYTES;
                let last = (base + u64::from(128 - absent.leading_zeros())) * SECTOR_BYTES;
                missing = Some((missing.map_or(first, |m| m.0), last));
            }
        }
        missing
    }

    /// Keeps what was read from the drives, where there is room for it without waiting. Newer data stay.
    pub fn fill(&mut self, offset_bytes: u64, length_bytes: u64) {
        for (number, from, count) in self.pieces(offset_bytes, length_bytes) {
            if let Some(place) = self.place(number) {
                self.lines[place].valid |= bits(from, count);
            }
        }
    }

    /// Takes the sectors of [`Lines::run_at`] to be written out: one run, over neighbouring lines if these have the same hint.
    pub fn take(&mut self, number: u64, most_bytes: u64) -> Run {
        let (offset_bytes, length_bytes) = self.run_at(number, most_bytes);
        let compressibility_per_1000 = self.lines[self.places[&number]].compressibility_per_1000;
        let mut run = Run { offset_bytes, length_bytes, compressibility_per_1000, survived: false };
        for (number, from, count) in self.pieces(offset_bytes, length_bytes) {
            let line = &mut self.lines[self.places[&number]];
            let mask = bits(from, count);
            line.dirty &= !mask;
            line.flying |= mask;
            run.survived |= line.survived & mask != 0;
            self.flow.taken += count;
            if line.ready() == 0 {
                self.ready.remove(&number);
            }
        }
        run
    }

    /// A run has ended: on the drives, or lost with an error. Returns the lines that are clean now.
    pub fn landed(&mut self, run: Run, written: bool) -> u64 {
        let mut cleaned = 0;
        for (number, from, count) in self.pieces(run.offset_bytes, run.length_bytes) {
            let place = self.places[&number];
            let line = &mut self.lines[place];
            let mask = bits(from, count);
            line.flying &= !mask;
            line.survived &= !mask;
            // What was written again while it was on its way is still awaited: as newer data, or, where the two sets have become
            // one since, as old.
            line.old &= !mask | line.dirty & !line.newer;
            line.newer &= !mask | line.dirty;
            *(if written { &mut self.flow.written } else { &mut self.flow.lost }) += count;
            let could_go = line.ready() != 0;
            if line.is_clean() {
                self.unclean.remove(&line.order);
                self.uses += 1;
                line.used = self.uses;
                self.clean.insert(self.uses, place);
                cleaned += 1;
            } else if line.old == 0 {
                let was = line.order;
                (line.old, line.newer, line.order) = (line.newer, 0, line.newer_order);
                self.unclean.remove(&was);
                self.unclean.insert(line.order);
                self.waiting(was).remove(&number);
            }
            if could_go {
                let order = self.lines[place].order;
                self.waiting(order).insert(number);
            }
        }
        cleaned
    }

    /// Whether a sector has data that no drive has yet, or may have.
    pub fn is_dirty(&self, sector: u64) -> bool {
        let place = self.places.get(&(sector / self.sectors_per_line));
        place.is_some_and(|&place| {
            let line = &self.lines[place];
            (line.dirty | line.flying) >> (sector % self.sectors_per_line) & 1 == 1
        })
    }

    /// Everything that no drive has yet, or may have, in the order in which it became dirty.
    pub fn all_dirty(&self) -> Vec<Dirty> {
        let mut lines: Vec<&Line> = self.lines.iter().filter(|line| !line.is_clean()).collect();
        lines.sort_by_key(|line| line.order);
        let of = |line: &Line| Dirty {
            number: line.number,
            sectors: line.dirty | line.flying,
            compressibility_per_1000: line.compressibility_per_1000,
        };
        lines.into_iter().map(of).collect()
    }

    /// The power goes. With a battery what no drive has yet, or may have, is there afterwards, and dirty.
    pub fn power_cut(&mut self, battery: bool) {
        let dirty = self.all_dirty();
        let count = |of: fn(&Line) -> Mask| self.lines.iter().map(|l| u64::from(of(l).count_ones())).sum::<u64>();
        let (waiting, flying) = (count(|l| l.dirty), count(|l| l.flying));
        self.flow.taken -= flying;
        self.flow.dirtied -= waiting + flying;
        self.lines.clear();
        self.places.clear();
        self.clean.clear();
        self.ready.clear();
        self.later.clear();
        self.before = u64::MAX;
        self.unclean.clear();
        if battery {
            self.make_dirty(&dirty);
        }
    }

    fn make_dirty(&mut self, dirty: &[Dirty]) {
        for &Dirty { number, sectors, compressibility_per_1000 } in dirty {
            let order = self.orders;
            self.orders += 1;
            self.places.insert(number, self.lines.len());
            self.unclean.insert(order);
            self.waiting(order).insert(number);
            self.flow.dirtied += u64::from(sectors.count_ones());
            self.lines.push(Line {
                number,
                valid: sectors,
                dirty: sectors,
                survived: sectors,
                old: sectors,
                order,
                compressibility_per_1000,
                ..Line::default()
            });
        }
    }

    /// Sectors of a device that are dirty in some lines; those whose number is none are the last there could be.
    pub fn sectors_of<'a>(&self, dirty: &'a [Dirty]) -> impl Iterator<Item = u64> + use<'a> {
        let per_line = self.sectors_per_line;
        dirty.iter().flat_map(move |d| {
            let first = d.number.saturating_mul(per_line);
            (0..u64::from(Mask::BITS)).filter(|k| d.sectors >> k & 1 == 1).map(move |k| first.saturating_add(k))
        })
    }

    /// A new cache takes over what another one had dirty; whether it can.
    pub fn take_over(&mut self, dirty: &[Dirty]) -> bool {
        let within = self.sectors_per_line;
        let mut numbers: Vec<u64> = dirty.iter().map(|d| d.number).collect();
        numbers.sort_unstable();
        let twice = numbers.windows(2).any(|pair| pair[0] == pair[1]);
        let fit = dirty
            .iter()
            .all(|d| d.sectors != 0 && d.sectors & !bits(0, within) == 0 && d.compressibility_per_1000 <= 1000);
        let can = !twice && fit && dirty.len() <= self.capacity && self.lines.is_empty();
        if can {
            self.make_dirty(dirty);
        }
        can
    }

    /// Counts everything again.
    ///
    /// # Errors
    /// The first two figures that differ.
    pub fn check(&self) -> Result<(), String> {
        let sum = |of: fn(&Line) -> Mask| self.lines.iter().map(|l| u64::from(of(l).count_ones())).sum::<u64>();
        let (dirty, flying) = (sum(|l| l.dirty), sum(|l| l.flying));
        let unclean = self.lines.iter().filter(|l| !l.is_clean()).count() as u64;
        let can_go = |in_this_sweep: bool| {
            self.lines.iter().filter(|l| l.ready() != 0 && (l.order < self.before) == in_this_sweep).count() as u64
        };
        let Flow { dirtied, taken, written, lost, .. } = self.flow;
        for (what, one, other) in [
            ("sectors made dirty, and those taken or still dirty", dirtied, taken + dirty),
            ("sectors taken, and those written, lost or under way", taken, written + lost + flying),
            ("dirty lines", unclean, self.dirty()),
            ("lines that can be written out in this sweep", can_go(true), self.ready.len() as u64),
            ("lines that can be written out in the next one", can_go(false), self.later.len() as u64),
            ("lines", self.lines.len() as u64, self.places.len() as u64),
            ("clean lines", self.lines.len() as u64 - unclean, self.clean.len() as u64),
        ] {
            if one != other {
                return Err(format!("adapter cache: {what} differ: {one} and {other}"));
            }
        }
        if let Some(line) =
            self.lines.iter().find(|l| l.old | l.newer != l.dirty | l.flying || l.old == 0 && !l.is_clean())
        {
            return Err(format!("adapter cache: line {} is dirty in other sectors than flushes wait for", line.number));
        }
        let invalid = self.lines.iter().find(|l| (l.dirty | l.flying) & !l.valid != 0);
        invalid
            .map_or(Ok(()), |l| Err(format!("adapter cache: line {} has dirty sectors that are not there", l.number)))
    }
}
