//! A read that needs more than its plain read: further sensings, transfers and decoding, one rung after another.
//!
//! The die is held until the read is settled. Each rung is an event of its own: at its end the next one begins, and
//! books the bus only then. Pages of the stripe are sensed on the other dies beside what these do, and cross their
//! channels as soon as there is room: their array time is not booked, their transfers are. Energy counts both.

use super::{Cause, Climb, FlashOp, Interval, LOG, Nanos, Operation, Ran, Schedule, Work};
use crate::ssd::correction::Step;

impl<const CHECK: bool> Schedule<CHECK> {
    /// The plain read that a die has begun will not do: it ends with a decoding attempt that fails.
    #[cold]
    pub(super) fn hold(&mut self, d: usize, mut climb: Box<Climb>, end: Nanos, explain: bool) {
        let decode = self.correction.as_ref().map_or(0, |c| c.first_decode());
        climb.first_out = end;
        self.dies[d].climb = Some(climb);
        self.go_on(d, end, end + decode, explain);
    }

    /// The event of a die that holds an unsettled read: begins what the read does next. Returns whether there is
    /// anything; if not, the read is over.
    #[cold]
    pub fn climb_on(&mut self, d: usize, explain: bool) -> bool {
        let die = &mut self.dies[d];
        let Some(climb) = &mut die.climb else { return false };
        let Some(step) = self.correction.as_ref().and_then(|c| c.step(climb)) else { return false };
        let read = if step.stripe > 0 { self.read_stripe(d, &step) } else { self.sense_again(d, &step) };
        self.go_on(d, self.now, read + step.decode, explain);
        true
    }

    /// The operation that a die has under way.
    pub fn current(&self, d: usize) -> FlashOp {
        self.dies[d].current
    }

    /// Occupies the die until `to` and accounts for it.
    fn go_on(&mut self, d: usize, from: Nanos, to: Nanos, explain: bool) {
        if explain && to > from {
            let log = &mut self.logs[d];
            log.ran[log.logged % LOG] = Ran { cause: Cause::EccRetry, from, to };
            log.logged += 1;
            self.spent.add(Cause::EccRetry, to - from);
        }
        self.events.set(d, to);
    }

    /// Senses the rows concerned again, as often as the rung asks for, and moves what was sensed. Returns when it is
    /// out.
    pub(super) fn sense_again(&mut self, d: usize, step: &Step) -> Nanos {
        let op = self.dies[d].current;
        let read_time = self.times.read(step.mode);
        let rows = (0..8).filter(|row| step.rows >> row & 1 != 0);
        let once: Nanos = rows.map(|row| read_time[op.page as usize + row]).sum();
        let array = once * u64::from(step.senses);
        self.work.sensing += array;
        self.work.units += step.units;
        let ready = self.now + self.command_time + array;
        let length = (step.units * self.unit_picos).div_ceil(1000);
        let from = self.channels[usize::from(self.dies[d].channel)].book(self.now, ready, length);
        if CHECK {
            let (senses, units) = (step.senses, step.units as u32);
            let work = Work::ReadAgain { page: op.page.into(), rows: step.rows, senses, units };
            let operation = Operation {
                die: op.die.into(),
                planes: self.all_planes,
                mode: step.mode,
                work,
                begin: self.now,
                data_here: self.now,
                transfer: Interval::new(from, from + length),
                end: from + length,
            };
            self.pass(&operation);
        }
        from + length
    }

    /// Reads the other pages of a stripe, which lie on the other dies in turn; on a single die, behind one another.
    /// Returns when the last is out.
    pub(super) fn read_stripe(&mut self, d: usize, step: &Step) -> Nanos {
        let dies = self.dies.len();
        let page = self.dies[d].current.page as usize;
        let read_time = self.times.read(step.mode)[page];
        let length = (step.stripe_units * self.unit_picos).div_ceil(1000);
        self.work.sensing += read_time * u64::from(step.stripe);
        self.work.units += step.stripe_units * u64::from(step.stripe);
        let mut last = self.now;
        for k in 0..step.stripe as usize {
            let others = (dies - 1).max(1);
            let channel = usize::from(self.dies[(d + 1 + k % others) % dies].channel);
            let ready = self.now + self.command_time + read_time * (k / others + 1) as u64;
            let from = self.channels[channel].book(self.now, ready, length);
            if let Some(Err(violation)) = self
                .referee
                .as_mut()
                .map(|r| r.pass_through(channel as u32, self.now, Interval::new(from, from + length)))
            {
                panic!("the scheduler broke a rule of the flash: {violation} (page {k} of a stripe)");
            }
            last = last.max(from + length);
        }
        last
    }
}
