//! Where the time of every command goes.
//!
//! Each command slot has an account. A wait for a die is split by what the die did meanwhile, of which the last operations
//! are remembered; a wait for the drive as a whole, by what all dies did.

use ssdlab_core::{Breakdown, CAUSES, Cause, Nanos};
use ssdlab_device::Completion;
use ssdlab_ftl::{FlashOp, OpKind};
use ssdlab_nand::DieId;

use super::record::{Details, Records, cause_of};
use crate::firmware::Moving;
use crate::slot::Slot;
use crate::timing::Interval;

/// Operations remembered of each die, to tell a waiting command what it waited for.
const LOG: usize = 16;

/// What dies can be at, in the order of [`CAUSES`]: the parts of a wait for the drive as a whole.
const DIE_CAUSES: [Cause; 8] = [
    Cause::Read,
    Cause::Program,
    Cause::Erase,
    Cause::GarbageCollection,
    Cause::Fold,
    Cause::Metadata,
    Cause::EccRetry,
    Cause::Merge,
];

/// Time of all dies by what they were at. Every write notes it once or twice: it is small.
#[derive(Clone, Copy, Debug, Default)]
struct DieTime([Nanos; DIE_CAUSES.len()]);

impl DieTime {
    #[inline]
    fn of(&mut self, cause: Cause) -> &mut Nanos {
        &mut self.0[cause as usize - DIE_CAUSES[0] as usize]
    }

    /// What has come to it since it was `before`, by cause. Of an operation that was interrupted meanwhile, time is taken
    /// back.
    #[inline]
    fn since(&self, before: &DieTime) -> [Nanos; DIE_CAUSES.len()] {
        std::array::from_fn(|k| self.0[k].saturating_sub(before.0[k]))
    }
}

/// How many of [`CAUSES`], from the first on, an SSD knows beside heat. Those between are of disks and adapters.
const FIRST_CAUSES: usize = Cause::Merge as usize + 1;

/// A command's time by cause: what a [`Breakdown`] is made of once it ends. Every command clears one and adds it up.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    first: [Nanos; FIRST_CAUSES],
    heat: Nanos,
    /// The sum of the others. Kept, since a sum of what has just been written would wait for all of it.
    claimed: Nanos,
}

impl Times {
    #[inline]
    fn add(&mut self, cause: Cause, time: Nanos) {
        self.claimed += time;
        match cause {
            Cause::Heat => self.heat += time,
            cause => self.first[cause as usize] += time,
        }
    }

    /// Adds to several causes, in the order of [`CAUSES`] from the first of the dies on; `sum` is what they come to.
    #[inline]
    fn add_of_dies(&mut self, times: [Nanos; DIE_CAUSES.len()], sum: Nanos) {
        self.claimed += sum;
        let from = DIE_CAUSES[0] as usize;
        self.first[from..from + times.len()].iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }

    #[inline]
    fn tell(&self, breakdown: &mut Breakdown) {
        breakdown.nanos[..FIRST_CAUSES].copy_from_slice(&self.first);
        breakdown.nanos[Cause::Heat as usize] = self.heat;
    }
}

/// Where a command's time has gone so far.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Account {
    /// What the dies had done when its wait for the drive began.
    spent: DieTime,
    times: Times,
}

/// An operation of a die, or a part of one. Every operation writes one: it is two words.
#[derive(Clone, Copy, Debug)]
struct Ran {
    to: Nanos,
    /// In the lowest eight bits the cause, above them how long it took.
    length_and_cause: u64,
}

impl Ran {
    #[inline]
    fn new(cause: Cause, from: Nanos, to: Nanos) -> Self {
        Ran { to, length_and_cause: (to - from) << 8 | cause as u64 }
    }

    fn cause(self) -> Cause {
        CAUSES[self.length_and_cause as usize & 0xff]
    }

    fn from(self) -> Nanos {
        self.to - (self.length_and_cause >> 8)
    }
}

/// The last operations of a die, and when the one under way began and its array part ended.
#[derive(Clone, Debug)]
struct DieLog {
    began: Nanos,
    array_ended: Nanos,
    logged: usize,
    ran: [Ran; LOG],
}

impl DieLog {
    fn push(&mut self, ran: Ran) {
        self.ran[self.logged % LOG] = ran;
        self.logged += 1;
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Explanations {
    accounts: Vec<Account>,
    dies: Vec<DieLog>,
    /// Die time by cause so far: what the drive as a whole was doing.
    spent: DieTime,
    /// Of a round of the collector that holds commands: when it began, and what it is down as.
    round: Option<(Nanos, Cause)>,
    /// All of it for a while, if somebody wants that.
    records: Option<Box<Records>>,
}

impl Explanations {
    #[must_use]
    pub fn new(slots: u32, dies: u32) -> Self {
        let log = DieLog { began: 0, array_ended: 0, logged: 0, ran: [Ran::new(Cause::Queue, 0, 0); LOG] };
        Explanations {
            accounts: vec![Account::default(); slots as usize],
            dies: vec![log; dies as usize],
            spent: DieTime::default(),
            round: None,
            records: None,
        }
    }

    /// From now on, so many stretches of everything are kept; of 0, nothing. `under_way`: what dies are at, and their channels.
    pub fn record(&mut self, stretches: usize, now: Nanos, under_way: impl Iterator<Item = (DieId, FlashOp, u8)>) {
        self.records = None;
        if stretches == 0 {
            return;
        }
        let mut records = Records::new(stretches, self.dies.len(), now);
        // As if it had been noted when it began: a request that comes next may wait for it.
        let last = |(die, op, channel): (DieId, FlashOp, u8)| {
            let log = &self.dies[die.index()];
            let ran = log.ran[log.logged.checked_sub(1)? % LOG];
            (ran.to > now).then_some((ran, die, op, channel))
        };
        let mut all: Vec<_> = under_way.filter_map(last).collect();
        all.sort_by_key(|(ran, ..)| ran.from());
        for (ran, die, op, channel) in all {
            let time = Interval::new(ran.from(), ran.to);
            if ran.cause() == Cause::EccRetry {
                records.retry(die, time);
            } else {
                let none = Interval::new(ran.from(), ran.from());
                records.operation(die, op.kind(), time, &Details::of(&op, channel, none));
            }
        }
        if let Some((since, cause)) = self.round {
            records.round_begins(since, cause);
        }
        self.records = Some(Box::new(records));
    }

    #[must_use]
    pub fn records(&self) -> Option<&Records> {
        self.records.as_deref()
    }

    /// The power is gone: nothing that ran is waited for.
    pub fn power_cut(&mut self, now: Nanos) {
        if let Some(records) = &mut self.records {
            records.power_cut(now);
        }
        self.round = None;
        for die in &mut self.dies {
            die.logged = 0;
            (die.began, die.array_ended) = (0, 0);
        }
    }

    /// Tells where the time of the command in a slot has gone.
    #[inline]
    pub fn tell(&self, slot: Slot, breakdown: &mut Breakdown) {
        self.accounts[slot.index()].times.tell(breakdown);
    }

    /// A command takes a slot: the host let go of it at `submitted`, the drive may see it from `seen` on, and it has
    /// `arrived`.
    #[inline]
    pub fn arrive(&mut self, slot: Slot, [submitted, seen, on_link, arrived]: [Nanos; 4]) {
        let times = &mut self.accounts[slot.index()].times;
        *times = Times::default();
        times.add(Cause::Queue, seen - submitted);
        times.add(Cause::Link, on_link - seen);
        times.add(Cause::Heat, arrived - on_link);
    }

    /// A command has spent time on something.
    #[inline]
    pub fn add(&mut self, slot: Slot, cause: Cause, time: Nanos) {
        self.accounts[slot.index()].times.add(cause, time);
    }

    /// A command has spent time before the processor, part of it behind rows of data that are moved.
    #[inline]
    pub fn add_processor(&mut self, slot: Slot, time: Nanos, moving: Moving) {
        let times = &mut self.accounts[slot.index()].times;
        times.add(Cause::Controller, time - moving.sum());
        if moving != Moving::default() {
            times.add(Cause::GarbageCollection, moving.collected);
            times.add(Cause::Fold, moving.folded);
        }
    }

    /// Whatever no stage has claimed of a latency goes to `cause`.
    #[inline]
    pub fn add_rest(&mut self, slot: Slot, cause: Cause, latency: Nanos) {
        let times = &mut self.accounts[slot.index()].times;
        times.add(cause, latency.saturating_sub(times.claimed));
    }

    /// A command begins to wait for the drive as a whole.
    #[inline]
    pub fn begin_drive_wait(&mut self, slot: Slot) {
        self.accounts[slot.index()].spent = self.spent;
    }

    /// Splits a command's wait for the drive as a whole by what the dies were doing meanwhile; what cannot be split goes to
    /// `rest`.
    pub fn end_drive_wait(&mut self, slot: Slot, from: Nanos, to: Nanos, rest: Cause) {
        let Account { spent: before, times } = &mut self.accounts[slot.index()];
        let wait = to - from;
        if wait == 0 {
            return;
        }
        let mut parts = self.spent.since(before);
        let total: u64 = parts.iter().sum();
        // The wait as so many parts in 2^32 of a nanosecond for each nanosecond of a die: rounded down twice, so that the
        // shares never exceed the whole.
        match wait.checked_mul(1 << 32).map(|wait| wait.checked_div(total).unwrap_or(0)) {
            Some(scale) => parts.iter_mut().for_each(|part| *part = scaled(*part, scale.into())),
            None => scale_to_long_wait(&mut parts, wait, total),
        }
        let left = wait - parts.iter().sum::<u64>();
        // What the host's programs took counts as `rest`: that says what they were waited for.
        let own = std::mem::take(&mut parts[Cause::Program as usize - DIE_CAUSES[0] as usize]);
        times.add_of_dies(parts, wait - own - left);
        times.add(rest, own + left);
    }

    /// Splits a command's wait for a die by what ran there; what is not accounted for goes to the queue.
    fn die_wait(&mut self, slot: Slot, die: DieId, from: Nanos, to: Nanos) {
        let (log, into) = (&self.dies[die.index()], &mut self.accounts[slot.index()].times);
        let mut left = to - from;
        for k in 1..=log.logged.min(LOG) {
            let ran = &log.ran[(log.logged - k) % LOG];
            if ran.to <= from {
                break;
            }
            let overlap = ran.to.min(to).saturating_sub(ran.from().max(from));
            into.add(ran.cause(), overlap);
            left -= overlap;
        }
        into.add(Cause::Queue, left);
    }

    /// The read of a die that ends now is the last that a command decoded at `decoded` has waited for. `first_out`: when
    /// its plain read was over, if that was not enough.
    pub fn read_ended(&mut self, slot: Slot, die: DieId, decoded: Nanos, now: Nanos, first_out: Option<Nanos>) {
        let (began, array_ended) = (self.dies[die.index()].began.max(decoded), self.dies[die.index()].array_ended);
        self.die_wait(slot, die, decoded, began);
        let into = &mut self.accounts[slot.index()].times;
        let array = array_ended.max(began);
        into.add(Cause::Read, array - began);
        let out = first_out.map_or(now, |out| out.max(array));
        into.add(Cause::Bus, out - array);
        if first_out.is_some() {
            into.add(Cause::EccRetry, now - out);
        }
    }

    /// The same for a read of the map.
    pub fn map_read_ended(&mut self, slot: Slot, die: DieId, decoded: Nanos, now: Nanos) {
        let began = self.dies[die.index()].began.max(decoded);
        self.die_wait(slot, die, decoded, began);
        self.accounts[slot.index()].times.add(Cause::Metadata, now - began);
    }

    /// A die begins an operation, whose array part and whole end then. `more`: what is noted of it where that is kept.
    #[inline]
    pub fn operation(
        &mut self,
        die: DieId,
        kind: OpKind,
        [from, array_ended, to]: [Nanos; 3],
        more: impl FnOnce() -> Details,
    ) {
        let cause = cause_of(kind);
        if let Some(records) = &mut self.records {
            records.operation(die, kind, Interval::new(from, to), &more());
        }
        let log = &mut self.dies[die.index()];
        (log.began, log.array_ended) = (from, array_ended.max(from));
        log.push(Ran::new(cause, from, to));
        *self.spent.of(cause) += to - from;
    }

    /// What a die was at ends early, for now; it would have ended at `to`.
    pub fn interrupted(&mut self, die: DieId, now: Nanos, to: Nanos) {
        if let Some(records) = &mut self.records {
            records.interrupted(die, now);
        }
        let log = &mut self.dies[die.index()];
        let last = &mut log.ran[(log.logged - 1) % LOG];
        *self.spent.of(last.cause()) -= to - now;
        *last = Ran::new(last.cause(), last.from(), now);
    }

    /// A die goes on with a read whose plain read was not enough.
    pub fn retry(&mut self, die: DieId, from: Nanos, to: Nanos) {
        if to > from {
            self.dies[die.index()].push(Ran::new(Cause::EccRetry, from, to));
            *self.spent.of(Cause::EccRetry) += to - from;
            if let Some(records) = &mut self.records {
                records.retry(die, Interval::new(from, to));
            }
        }
    }

    /// What is read again crosses a channel.
    pub fn crosses(&mut self, channel: u8, die: DieId, transfer: Interval) {
        if let Some(records) = &mut self.records {
            records.transfer(channel, die, transfer);
        }
    }

    /// The host sees the end of a command.
    #[inline]
    pub fn ended(&mut self, completion: &Completion) {
        if let Some(records) = &mut self.records {
            records.command(completion);
        }
    }

    /// The firmware holds commands for a round of the collector, or does so no longer.
    pub fn round_begins(&mut self, now: Nanos, cause: Cause) {
        self.round = Some((now, cause));
        if let Some(records) = &mut self.records {
            records.round_begins(now, cause);
        }
    }

    pub fn round_ends(&mut self, now: Nanos) {
        self.round = None;
        if let Some(records) = &mut self.records {
            records.round_ends(now);
        }
    }
}

/// `part` times 2^-32 of `scale`, rounded down.
#[inline(always)]
fn scaled(part: Nanos, scale: u128) -> Nanos {
    ((u128::from(part) * scale) >> 32) as Nanos
}

/// The same for a wait of seconds.
#[cold]
fn scale_to_long_wait(parts: &mut [Nanos], wait: Nanos, total: Nanos) {
    let scale = (u128::from(wait) << 32).checked_div(total.into()).unwrap_or(0);
    parts.iter_mut().for_each(|part| *part = scaled(*part, scale));
}
