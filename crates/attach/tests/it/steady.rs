//! A device that takes the same time for everything, keeps after a cut what was flushed, and no more.

use std::collections::VecDeque;

use ssdlab_core::{Breakdown, Cause, Nanos, Op, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Held, LoadError, Plug, Recorder, Refusal, Request, Security, Status,
    Stretch, Timeline, Track, Work,
};

pub const CAPACITY: u64 = 256 << 20;
const GREATEST: u8 = 255;

/// See the module's own page.
#[derive(Clone)]
pub struct Steady {
    info: DeviceInfo,
    latency: Nanos,
    commands: VecDeque<(Nanos, Nanos, Request)>,
    power: bool,
    plugged: bool,
    numbers: Vec<u8>,
    durable: Vec<u8>,
    cuts: u64,
    unclean: u64,
    stands_by: bool,
    /// A flush leaves trims where a cut undoes them.
    forgets_trims: bool,
    starts_in: Nanos,
    /// Says where the time of commands went: to reading.
    tells: bool,
    /// How long an erase takes, if there is one; whether it is by key; and what was there before the last and how long.
    erase: Option<Nanos>,
    encrypts: bool,
    key_changes: u64,
    before: Option<(Nanos, Vec<u8>)>,
    /// Commands that come in an erase wait for its end.
    busy_until: Nanos,
    /// A unit that no cut leaves readable.
    loses: Option<u64>,
}

impl Steady {
    /// With erases that take so long.
    pub fn erasing(self, takes: Nanos, encrypts: bool) -> Self {
        Steady { erase: Some(takes), encrypts, ..self }
    }

    pub fn telling(self) -> Self {
        Steady { tells: true, ..self }
    }

    /// One that is ready so long after the power has come back.
    pub fn starting_in(self, starts_in: Nanos) -> Self {
        Steady { starts_in, ..self }
    }

    pub fn losing(self, unit: u64) -> Self {
        Steady { loses: Some(unit), ..self }
    }

    pub fn without_trims(mut self) -> Self {
        self.info.supports_trim = false;
        self
    }

    pub fn forgetting_trims(self) -> Self {
        Steady { forgets_trims: true, ..self }
    }

    pub fn new(latency: Nanos, plugged: bool) -> Self {
        let info = DeviceInfo { capacity_bytes: CAPACITY, supports_trim: true, ..DeviceInfo::new("steady", "ssd") };
        let units = (CAPACITY / UNIT_BYTES) as usize;
        Steady {
            info,
            latency,
            commands: VecDeque::new(),
            power: true,
            plugged,
            numbers: vec![0; units],
            durable: vec![0; units],
            cuts: 0,
            unclean: 0,
            stands_by: false,
            forgets_trims: false,
            starts_in: 1_000_000,
            tells: false,
            erase: None,
            encrypts: false,
            key_changes: 0,
            before: None,
            busy_until: 0,
            loses: None,
        }
    }

    fn take_effect(&mut self, r: &Request) {
        let first = r.offset_bytes / UNIT_BYTES;
        let end = (r.offset_bytes + r.length_bytes).div_ceil(UNIT_BYTES);
        match r.op {
            Op::Flush => {
                let kept = |number: &u8| *number > 0 || !self.forgets_trims;
                let changed = self.durable.iter_mut().zip(&self.numbers).filter(|pair| kept(pair.1));
                changed.for_each(|(durable, number)| *durable = *number);
            }
            Op::Write => {
                for unit in first as usize..end as usize {
                    let number = &mut self.numbers[unit];
                    *number = if *number == GREATEST { 1 } else { *number + 1 };
                    if r.fua {
                        self.durable[unit] = *number;
                    }
                }
            }
            Op::Trim => {
                let first = r.offset_bytes.div_ceil(UNIT_BYTES) as usize;
                let end = ((r.offset_bytes + r.length_bytes) / UNIT_BYTES) as usize;
                self.numbers[first..end.max(first)].fill(0);
            }
            Op::Read | Op::WriteZeroes => {}
        }
    }
}

impl Device for Steady {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        assert!(self.power);
        self.stands_by = false;
        self.commands.push_back((now.max(self.busy_until) + self.latency, now, request));
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.commands.front().map(|c| c.0)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        while let Some((completed, submitted, r)) = self.commands.pop_front_if(|c| c.0 <= to) {
            self.take_effect(&r);
            let Request { tag, op, offset_bytes, length_bytes, .. } = r;
            let mut breakdown = Breakdown::default();
            if self.tells {
                breakdown.add(Cause::Read, completed - submitted);
            }
            let status = Status::Ok;
            done.push(Completion { tag, op, status, offset_bytes, length_bytes, submitted, completed, breakdown });
        }
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(self.clone()))
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        Some(self)
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        self.erase.is_some().then_some(self as &mut dyn Security)
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        self.plugged.then_some(self as &mut dyn Plug)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        self.plugged.then_some(self as &dyn Plug)
    }
}

/// It has one part, which is always at the same.
impl Recorder for Steady {
    fn record(&mut self, _stretches: usize) {}

    fn recorded_since(&mut self, from: Nanos) -> Timeline {
        let work = Work::Other { what: "turn".into(), cause: Cause::Read };
        let wheel = Track { stretches: vec![Stretch { from, to: from + self.latency, work }], ..Track::new("wheel") };
        Timeline { tracks: vec![wheel], complete_from: 0 }
    }
}

impl Security for Steady {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        self.numbers.fill(0);
        self.durable.fill(0);
        self.key_changes += u64::from(self.encrypts);
        self.busy_until = now + self.erase.expect("it has one");
        self.busy_until
    }

    fn key_change_time(&mut self) -> Nanos {
        self.erase.unwrap_or(0)
    }

    fn encrypts(&mut self) -> bool {
        self.encrypts
    }

    fn crypto_erase(&mut self, now: Nanos) -> Nanos {
        let before = self.durable.clone();
        let ready = self.secure_erase(now);
        self.before = Some((ready, before));
        ready
    }

    fn key_changes(&mut self) -> u64 {
        self.key_changes
    }

    fn wake(&mut self) {
        self.stands_by = false;
    }
}

impl Plug for Steady {
    fn has_power(&self) -> bool {
        self.power
    }

    fn cut(&mut self, now: Nanos) {
        if let Some((_, before)) = self.before.take().filter(|before| now < before.0) {
            self.durable = before;
            self.key_changes -= 1;
        }
        assert!(std::mem::replace(&mut self.power, false));
        self.commands.clear();
        self.busy_until = 0;
        self.numbers.clone_from(&self.durable);
        self.unclean += u64::from(!std::mem::take(&mut self.stands_by));
        self.cuts += 1;
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        assert!(!std::mem::replace(&mut self.power, true));
        now + self.starts_in
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        assert!(self.commands.is_empty());
        self.durable.clone_from(&self.numbers);
        self.stands_by = true;
        now + self.latency
    }

    fn save(&self) -> Vec<u8> {
        self.numbers.clone()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        self.numbers = saved.to_vec();
        self.durable.clone_from(&self.numbers);
        self.power = false;
        Ok(())
    }

    fn unclean_shutdowns(&self) -> u64 {
        self.unclean
    }

    fn power_cycles(&self) -> u64 {
        1 + self.cuts
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        now
    }

    fn held(&self, unit: u64) -> Held {
        match self.numbers[unit as usize] {
            _ if self.loses == Some(unit) && self.cuts > 0 => Held::Unreadable,
            0 => Held::Nothing,
            number => Held::Write(number),
        }
    }

    fn greatest_write_number(&self) -> u8 {
        GREATEST
    }
}
