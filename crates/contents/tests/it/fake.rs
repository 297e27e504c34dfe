//! A device with a plug that keeps as much as it must, and by chance more.

use std::sync::{Arc, Mutex};

use ssdlab_core::{Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Held, LoadError, Plug, Refusal, Request, Security, Status,
};

pub const UNITS: usize = 24;
const GREATEST: u8 = 200;

/// Versions of a page that it could still bring back: the durable one first. 0 is "nothing".
type Candidates = Vec<u8>;

pub struct Inside {
    rng: Rng,
    now: Nanos,
    powered: bool,
    commands: Vec<(Nanos, Nanos, Request, u64)>,
    units: Vec<Candidates>,
    /// The number of each unit's last write, also through trims, and what it was when the power went.
    last: Vec<u8>,
    accepted: Vec<u8>,
    /// Whether the first candidate is one that a cut has destroyed.
    gone: Vec<bool>,
    /// When each candidate was answered, to know what a flush covers.
    answered: Vec<Vec<u64>>,
    held: Vec<Held>,
    clock: u64,
    pub cuts: u64,
    /// Writes end in an error once they have been done.
    pub fails_writes: bool,
    /// Trims end in an error, and nothing has been trimmed.
    pub refuses_trims: bool,
    /// Units that a secure erase empties; `None`: it has none.
    pub erases: Option<std::ops::Range<usize>>,
}

/// See the module's own page. The test looks inside.
#[derive(Clone)]
pub struct Fake {
    info: DeviceInfo,
    pub inside: Arc<Mutex<Inside>>,
}

impl Fake {
    pub fn new(seed: u64) -> Self {
        let info = DeviceInfo {
            capacity_bytes: UNITS as u64 * UNIT_BYTES,
            supports_trim: true,
            supports_write_zeroes: true,
            ..DeviceInfo::new("fake", "ssd")
        };
        let inside = Inside {
            rng: Rng::new(seed),
            now: 0,
            powered: true,
            commands: Vec::new(),
            units: vec![vec![0]; UNITS],
            last: vec![0; UNITS],
            accepted: vec![0; UNITS],
            gone: vec![false; UNITS],
            answered: vec![vec![0]; UNITS],
            held: vec![Held::Nothing; UNITS],
            clock: 1,
            cuts: 0,
            fails_writes: false,
            refuses_trims: false,
            erases: None,
        };
        Fake { info, inside: Arc::new(Mutex::new(inside)) }
    }

    pub fn without_trim(mut self) -> Self {
        self.info.supports_trim = false;
        self
    }
}

fn next(number: u8) -> u8 {
    if number == GREATEST { 1 } else { number + 1 }
}

impl Inside {
    /// A cut has destroyed a unit.
    pub fn lose(&mut self, unit: usize) {
        (self.held[unit], self.units[unit]) = (Held::Unreadable, vec![0]);
        (self.last[unit], self.accepted[unit]) = (0, 0);
    }

    /// The number of the last write of a unit, whether it was trimmed since or not.
    pub fn last_number(&self, unit: usize) -> u8 {
        self.last[unit]
    }

    fn change(&mut self, request: &Request) {
        let first = (request.offset_bytes / UNIT_BYTES) as usize;
        let end = (request.offset_bytes + request.length_bytes).div_ceil(UNIT_BYTES) as usize;
        for unit in first..end {
            let last = *self.units[unit].last().unwrap();
            let number = match request.op {
                Op::Trim => {
                    let begin = unit as u64 * UNIT_BYTES;
                    let whole = request.offset_bytes <= begin
                        && begin + UNIT_BYTES <= request.offset_bytes + request.length_bytes;
                    if !whole || last == 0 && self.held[unit] != Held::Unreadable {
                        continue;
                    }
                    0
                }
                _ => {
                    self.last[unit] = next(self.last[unit]);
                    self.last[unit]
                }
            };
            self.accepted[unit] = number;
            if self.held[unit] == Held::Unreadable {
                self.units[unit] = vec![last];
                self.answered[unit] = vec![0];
                self.gone[unit] = true;
            }
            self.units[unit].push(number);
            self.answered[unit].push(self.clock);
            self.held[unit] = if number == 0 { Held::Nothing } else { Held::Write(number) };
            if request.fua && request.op != Op::Trim {
                self.make_durable(unit, self.clock);
            }
        }
    }

    fn make_durable(&mut self, unit: usize, before: u64) {
        let covered = self.answered[unit].iter().rposition(|&at| at <= before).unwrap_or(0);
        self.gone[unit] &= covered == 0;
        self.units[unit].drain(..covered);
        self.answered[unit].drain(..covered);
    }
}

impl Device for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        let mut inside = self.inside.lock().unwrap();
        assert!(inside.powered && now >= inside.now && request.payload.is_none());
        let at = now + 1 + inside.rng.below(1000);
        let clock = inside.clock;
        inside.commands.push((at, now, request, clock));
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inside.lock().unwrap().commands.iter().map(|c| c.0).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let mut inside = self.inside.lock().unwrap();
        assert!(to >= inside.now);
        inside.now = to;
        let mut due: Vec<_> = inside.commands.extract_if(.., |c| c.0 <= to).collect();
        due.sort_by_key(|c| c.0);
        for (completed, submitted, request, clock) in due {
            inside.clock += 1;
            let Request { tag, op, offset_bytes, length_bytes, .. } = request;
            let mut status = Status::Ok;
            match op {
                Op::Flush => (0..UNITS).for_each(|unit| inside.make_durable(unit, clock)),
                Op::Read => {
                    let first = (offset_bytes / UNIT_BYTES) as usize;
                    let end = (offset_bytes + length_bytes).div_ceil(UNIT_BYTES) as usize;
                    if inside.held[first..end].contains(&Held::Unreadable) {
                        status = Status::MediaError;
                    }
                }
                Op::Trim if inside.refuses_trims => status = Status::ReadOnly,
                _ => {
                    inside.change(&request);
                    if inside.fails_writes {
                        status = Status::ReadOnly;
                    }
                }
            }
            let breakdown = Default::default();
            done.push(Completion { tag, op, status, offset_bytes, length_bytes, submitted, completed, breakdown });
        }
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        Some(self)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        Some(self)
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        let has = self.inside.lock().unwrap().erases.is_some();
        has.then_some(self as &mut dyn Security)
    }
}

impl Security for Fake {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        let mut inside = self.inside.lock().unwrap();
        for unit in inside.erases.clone().expect("it has one") {
            (inside.units[unit], inside.answered[unit], inside.gone[unit]) = (vec![0], vec![0], false);
            inside.held[unit] = Held::Nothing;
            (inside.last[unit], inside.accepted[unit]) = (0, 0);
        }
        now + 10
    }
}

impl Plug for Fake {
    fn has_power(&self) -> bool {
        self.inside.lock().unwrap().powered
    }

    fn cut(&mut self, _now: Nanos) {
        let mut inside = self.inside.lock().unwrap();
        assert!(std::mem::replace(&mut inside.powered, false));
        inside.cuts += 1;
        // Some of what was under way has happened, some pages of it at least.
        for (.., request, _) in std::mem::take(&mut inside.commands) {
            let pages = request.length_bytes / UNIT_BYTES;
            if matches!(request.op, Op::Write | Op::WriteZeroes | Op::Trim) && inside.rng.chance(1, 2) && pages > 0 {
                let kept = inside.rng.below(pages + 1) * UNIT_BYTES;
                inside.change(&Request { length_bytes: kept, fua: false, ..request });
            }
        }
        for unit in 0..UNITS {
            let candidates = inside.units[unit].clone();
            let at = inside.rng.below(candidates.len() as u64) as usize;
            let number = candidates[at];
            inside.held[unit] = match number {
                _ if inside.held[unit] == Held::Unreadable || at == 0 && inside.gone[unit] => Held::Unreadable,
                // There is something to destroy.
                _ if inside.rng.chance(1, 40) && candidates != [0] => Held::Unreadable,
                0 => Held::Nothing,
                number => Held::Write(number),
            };
            let number = if inside.held[unit] == Held::Unreadable { 0 } else { number };
            inside.units[unit] = vec![number];
            inside.last[unit] = number;
            inside.answered[unit] = vec![0];
            inside.gone[unit] = false;
        }
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        let mut inside = self.inside.lock().unwrap();
        assert!(!std::mem::replace(&mut inside.powered, true));
        inside.now = now;
        inside.accepted = inside.units.iter().map(|candidates| candidates[0]).collect();
        now + 500
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        now
    }

    fn save(&self) -> Vec<u8> {
        let byte = |held: &Held| match *held {
            Held::Nothing => 0,
            Held::Write(number) => number,
            Held::Mixed(_) | Held::Unreadable => u8::MAX,
        };
        self.inside.lock().unwrap().held.iter().map(byte).collect()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        let mut inside = self.inside.lock().unwrap();
        for (unit, &byte) in saved.iter().enumerate() {
            (inside.held[unit], inside.units[unit]) = match byte {
                0 => (Held::Nothing, vec![0]),
                u8::MAX => (Held::Unreadable, vec![0]),
                number => (Held::Write(number), vec![number]),
            };
            (inside.last[unit], inside.accepted[unit]) = (inside.units[unit][0], inside.units[unit][0]);
        }
        inside.powered = false;
        Ok(())
    }

    fn unclean_shutdowns(&self) -> u64 {
        self.inside.lock().unwrap().cuts
    }

    fn power_cycles(&self) -> u64 {
        1 + self.inside.lock().unwrap().cuts
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        now
    }

    fn held(&self, unit: u64) -> Held {
        self.inside.lock().unwrap().held[unit as usize]
    }

    fn accepted(&self, unit: u64) -> Option<u8> {
        Some(self.inside.lock().unwrap().accepted[unit as usize])
    }

    fn greatest_write_number(&self) -> u8 {
        GREATEST
    }
}
