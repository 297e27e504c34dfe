//! Where the time of every command goes.
//!
//! Each command slot has an account. A wait for a die is split by what the die did meanwhile, of which the last operations
//! are remembered; a wait for the drive as a whole, by what all dies did.

use ssdlab_core::{Breakdown, CAUSES, Cause, Nanos};
use ssdlab_device::Completion;
use ssdlab_ftl::{FlashOp, OpKind};
use ssdlab_nand::DieId;

use super::record::{Details, Records};
use crate::blame::cause_of;
use crate::die_parts::DieParts;
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

/// How many of them a busy drive is at all the time: the others are looked at apart.
const COMMON: usize = 4;

/// Time of all dies by what they were at, at any time: what began counts up to then, and no further.
#[derive(Clone, Copy, Debug, Default)]
struct DieTime {
    /// The ends of what has ended less the begins of what has begun, wrapping.
    sums: [Nanos; DIE_CAUSES.len()],
    /// Dies that are at it.
    running: [u16; DIE_CAUSES.len()],
}

impl DieTime {
    #[inline]
    fn begins(&mut self, lane: usize, at: Nanos) {
        self.sums[lane] = self.sums[lane].wrapping_sub(at);
        self.running[lane] += 1;
    }

    #[inline]
    fn ends(&mut self, lane: usize, at: Nanos) {
        if let Some(running) = self.running.get_mut(lane) {
            *running -= 1;
            self.sums[lane] = self.sums[lane].wrapping_add(at);
        }
    }

    /// Of what a die is at, some time is another cause's.
    #[cold]
    fn moves(&mut self, lane: usize, to: usize, time: Nanos) {
        self.sums[lane] = self.sums[lane].wrapping_sub(time);
        self.sums[to] = self.sums[to].wrapping_add(time);
    }

    /// What has come to it from `from`, when it was `before`, until `to`, by cause.
    #[inline(always)]
    fn since(&self, before: &DieTime, from: Nanos, to: Nanos) -> [Nanos; DIE_CAUSES.len()] {
        let of = |lane: usize| {
            let came = self.sums[lane]
                .wrapping_sub(before.sums[lane])
                .wrapping_add(to.wrapping_mul(self.running[lane].into()))
                .wrapping_sub(from.wrapping_mul(before.running[lane].into()));
            // Of a read that is tried again, time is down before it has passed; a wait may begin a little after its
            // begin was noted.
            came.cast_signed().max(0).cast_unsigned()
        };
        let mut parts = [0; DIE_CAUSES.len()];
        parts[..COMMON].iter_mut().enumerate().for_each(|(lane, part)| *part = of(lane));
        if self.sums[COMMON..] != before.sums[COMMON..] || self.running[COMMON..] != [0; DIE_CAUSES.len() - COMMON] {
            parts.iter_mut().enumerate().skip(COMMON).for_each(|(lane, part)| *part = of(lane));
        }
        parts
    }
}

/// The place of what a die does in [`DIE_CAUSES`].
#[inline]
fn lane_of(cause: Cause) -> usize {
    cause as usize - DIE_CAUSES[0] as usize
}

/// In the place of that for a die that is at nothing.
const IDLE: usize = DIE_CAUSES.len();

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
    /// For how long its own data have been on the link since then.
    on_link: Nanos,
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

/// The last operations of a die, and when the one under way began and its array part ended. Of a plane that reads by itself:
/// also what its die did as a whole; of its die: also when any of them read.
#[derive(Clone, Debug)]
struct DieLog {
    began: Nanos,
    array_ended: Nanos,
    /// What was interrupted last gave the die free then.
    free_at: Nanos,
    /// What it is at.
    lane: usize,
    logged: usize,
    ran: [Ran; LOG],
}

impl DieLog {
    fn push(&mut self, ran: Ran) {
        self.ran[self.logged % LOG] = ran;
        self.logged += 1;
    }

    /// What ran last ends early, and gives the die free then.
    fn interrupted(&mut self, free_at: Nanos) {
        let last = &mut self.ran[(self.logged - 1) % LOG];
        *last = Ran::new(last.cause(), last.from(), free_at);
        self.free_at = free_at;
    }

    /// What ran beside others: only the time in which none of those did.
    fn push_beside(&mut self, cause: Cause, from: Nanos, to: Nanos) {
        let last = self.logged.checked_sub(1).map_or(0, |last| self.ran[last % LOG].to);
        if to > last {
            self.push(Ran::new(cause, from.max(last), to));
        }
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Explanations {
    accounts: Vec<Account>,
    parts: DieParts,
    /// Of each of the parts.
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
    pub fn new(slots: u32, parts: DieParts) -> Self {
        let log = DieLog {
            began: 0,
            array_ended: 0,
            free_at: 0,
            lane: IDLE,
            logged: 0,
            ran: [Ran::new(Cause::Queue, 0, 0); LOG],
        };
        Explanations {
            accounts: vec![Account::default(); slots as usize],
            parts,
            dies: vec![log; parts.count() as usize],
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
        let mut records = Records::new(stretches, self.parts, now);
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
        self.spent = DieTime::default();
        for die in &mut self.dies {
            (die.logged, die.lane) = (0, IDLE);
            (die.began, die.array_ended, die.free_at) = (0, 0, 0);
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

    /// So much of the wait for a slot was because a FLUSH or TRIM goes alone.
    pub fn was_barred(&mut self, slot: Slot, time: Nanos) {
        let times = &mut self.accounts[slot.index()].times.first;
        times[Cause::Queue as usize] -= time;
        times[Cause::NotQueued as usize] += time;
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
            times.add(Cause::Merge, moving.merged);
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
        let account = &mut self.accounts[slot.index()];
        (account.spent, account.on_link) = (self.spent, 0);
    }

    /// Some of its data take so long on the link, and the rest waits for the drive meanwhile.
    #[inline]
    pub fn part_on_link(&mut self, slot: Slot, time: Nanos) {
        self.accounts[slot.index()].on_link += time;
    }

    /// Splits a command's wait for the drive as a whole: the time of its own data on the link is the link's, the rest is split by what
    /// the dies were doing meanwhile; what cannot be split goes to `rest`.
    pub fn end_drive_wait(&mut self, slot: Slot, from: Nanos, to: Nanos, rest: Cause) {
        let Account { spent: before, on_link, times } = &mut self.accounts[slot.index()];
        let on_link = (*on_link).min(to - from);
        times.add(Cause::Link, on_link);
        let wait = to - from - on_link;
        if wait == 0 {
            return;
        }
        let mut parts = self.spent.since(before, from, to);
        let total: u64 = parts.iter().sum();
        // The wait as so many parts in 2^32 of a nanosecond for each nanosecond of a die: rounded down twice, so that the
        // shares never exceed the whole.
        match wait.checked_mul(1 << 32).map(|wait| wait.checked_div(total).unwrap_or(0)) {
            Some(scale) => parts.iter_mut().for_each(|part| *part = scaled(*part, scale.into())),
            None => scale_to_long_wait(&mut parts, wait, total),
        }
        let left = wait - parts.iter().sum::<u64>();
        // What the host's programs took counts as `rest`: that says what they were waited for.
        let own = std::mem::take(&mut parts[lane_of(Cause::Program)]);
        times.add_of_dies(parts, wait - own - left);
        times.add(rest, own + left);
    }

    /// The same where the command had waited for a program of this die: split by what that die did, if it was at something all
    /// the time, and all of that is remembered.
    pub fn end_wait_for_program(&mut self, slot: Slot, die: DieId, from: Nanos, to: Nanos, rest: Cause) {
        let log = &self.dies[die.index()];
        let known = &log.ran[..log.logged.min(LOG)];
        let overlap = |ran: &Ran| ran.to.min(to).saturating_sub(ran.from().max(from));
        if known.iter().map(overlap).sum::<Nanos>() != to - from {
            return self.end_drive_wait(slot, from, to, rest);
        }
        let times = &mut self.accounts[slot.index()].times;
        known.iter().for_each(|ran| times.add(ran.cause(), overlap(ran)));
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
        // What was interrupted may take the first of it.
        let from = from.max(log.free_at);
        let waited = std::mem::replace(&mut log.lane, IDLE);
        self.spent.ends(waited, from);
        (log.began, log.array_ended, log.lane) = (from, array_ended.max(from), lane_of(cause));
        log.push(Ran::new(cause, from, to));
        self.spent.begins(lane_of(cause), from);
        if self.parts.count() > self.parts.dies() {
            self.beside(die, cause, from, to);
        }
    }

    /// A die that is at nothing waits for data to program: reads need not wait for it, but the drive as a whole does.
    #[cold]
    pub fn waits_for_data(&mut self, die: DieId, from: Nanos) {
        let log = &mut self.dies[die.index()];
        if log.lane == IDLE {
            log.lane = lane_of(Cause::Program);
            self.spent.begins(log.lane, from);
        }
    }

    /// A die that is at nothing does not wait for data, if it did: for its turn, or for reads of its planes.
    pub fn waits_for_no_data(&mut self, die: DieId, at: Nanos) {
        self.operation_ended(die, at);
    }

    /// What a part does, the others of its die are told that may wait for it.
    #[cold]
    fn beside(&mut self, part: DieId, cause: Cause, from: Nanos, to: Nanos) {
        if self.parts.is_plane(part) {
            self.dies[self.parts.die_of(part).index()].push_beside(cause, from, to);
        } else {
            self.parts.planes(part).for_each(|plane| self.dies[plane.index()].push(Ran::new(cause, from, to)));
        }
    }

    /// What a die was at has ended, its retries included.
    #[inline]
    pub fn operation_ended(&mut self, die: DieId, at: Nanos) {
        let lane = std::mem::replace(&mut self.dies[die.index()].lane, IDLE);
        self.spent.ends(lane, at);
    }

    /// What a die was at ends early, for now; something else may begin at `free_at`.
    pub fn interrupted(&mut self, die: DieId, now: Nanos, free_at: Nanos) {
        if let Some(records) = &mut self.records {
            records.interrupted(die, now);
        }
        self.dies[die.index()].interrupted(free_at);
        self.parts.planes(die).for_each(|plane| self.dies[plane.index()].interrupted(free_at));
        self.operation_ended(die, free_at);
    }

    /// A die goes on with a read whose plain read was not enough.
    pub fn retry(&mut self, die: DieId, from: Nanos, to: Nanos) {
        if to > from {
            let log = &mut self.dies[die.index()];
            log.push(Ran::new(Cause::EccRetry, from, to));
            if log.lane != IDLE {
                self.spent.moves(log.lane, lane_of(Cause::EccRetry), to - from);
            }
            self.beside(die, Cause::EccRetry, from, to);
            if let Some(records) = &mut self.records {
                records.retry(die, Interval::new(from, to));
            }
        }
    }

    /// What is read again crosses a channel.
    pub fn crosses(&mut self, channel: u8, die: DieId, transfer: Interval) {
        if let Some(records) = &mut self.records {
            records.transfer(channel, die, transfer.from, transfer);
        }
    }

    /// The data of a die's next program cross a channel, which was `asked` for it.
    pub fn loads(&mut self, channel: u8, die: DieId, asked: Nanos, transfer: Interval) {
        if let Some(records) = &mut self.records {
            records.transfer(channel, die, asked, transfer);
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

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = Slot::new(0);
    const DIES: [DieId; 2] = [DieId::new(0), DieId::new(1)];

    /// Something that has asked for no details.
    fn begins(e: &mut Explanations, die: DieId, kind: OpKind, times: [Nanos; 3]) {
        e.operation(die, kind, times, || unreachable!("nobody records"));
    }

    /// A wait between these times, in which `meanwhile` happens.
    fn wait(e: &mut Explanations, [from, to]: [Nanos; 2], meanwhile: impl FnOnce(&mut Explanations)) -> Breakdown {
        e.arrive(SLOT, [from; 4]);
        e.begin_drive_wait(SLOT);
        meanwhile(e);
        e.end_drive_wait(SLOT, from, to, Cause::Buffer);
        told(e)
    }

    fn told(e: &Explanations) -> Breakdown {
        let mut told = Breakdown::NOTHING;
        e.tell(SLOT, &mut told);
        told
    }

    fn parts(of: &[(Cause, Nanos)]) -> Breakdown {
        let mut parts = Breakdown::NOTHING;
        of.iter().for_each(|&(cause, time)| parts.add(cause, time));
        parts
    }

    #[test]
    fn while_its_own_data_are_on_the_link_a_command_waits_for_that() {
        let mut e = Explanations::new(1, DieParts::new(2, 0));
        let told = wait(&mut e, [0, 100], |e| {
            begins(e, DIES[0], OpKind::Erase, [0, 200, 200]);
            e.part_on_link(SLOT, 30);
            e.part_on_link(SLOT, 20);
        });
        assert_eq!(told, parts(&[(Cause::Link, 50), (Cause::Erase, 50)]));
        assert_eq!(wait(&mut e, [100, 120], |e| e.part_on_link(SLOT, 30)), parts(&[(Cause::Link, 20)]));
    }

    #[test]
    fn a_die_that_waits_for_data_is_the_wait_of_the_host_until_it_waits_for_something_else() {
        let told = |until: Option<Nanos>| {
            let mut e = Explanations::new(1, DieParts::new(2, 0));
            wait(&mut e, [0, 100], |e| {
                begins(e, DIES[0], OpKind::Erase, [0, 200, 200]);
                e.waits_for_data(DIES[1], 0);
                e.waits_for_data(DIES[1], 10);
                until.into_iter().for_each(|at| e.waits_for_no_data(DIES[1], at));
            })
        };
        assert_eq!(told(None), parts(&[(Cause::Erase, 50), (Cause::Buffer, 50)]));
        assert_eq!(told(Some(0)), parts(&[(Cause::Erase, 100)]));
    }

    #[test]
    fn a_wait_is_for_what_was_under_way_when_it_began_and_not_for_what_begins_as_it_ends() {
        let mut e = Explanations::new(1, DieParts::new(2, 0));
        begins(&mut e, DIES[0], OpKind::Erase, [0, 3_000, 3_000]);
        let waited = wait(&mut e, [1_000, 3_000], |e| {
            e.operation_ended(DIES[0], 3_000);
            begins(e, DIES[0], OpKind::GcRead, [3_000, 3_050, 3_060]);
        });
        assert_eq!(waited, parts(&[(Cause::Erase, 2_000)]));
        // 60 of collecting, and 940 of a program that goes on.
        let waited = wait(&mut e, [3_000, 4_000], |e| {
            e.operation_ended(DIES[0], 3_060);
            begins(e, DIES[0], OpKind::HostProgram, [3_060, 9_000, 9_000]);
        });
        assert_eq!(waited, parts(&[(Cause::GarbageCollection, 60), (Cause::Buffer, 940)]));
        // Two dies, of which one folds for half of the time: a third of what they do is that.
        let waited = wait(&mut e, [4_000, 4_600], |e| {
            begins(e, DIES[1], OpKind::FoldProgram, [4_300, 9_000, 9_000]);
        });
        assert_eq!(waited, parts(&[(Cause::Fold, 199), (Cause::Buffer, 401)]), "rounded down");
        // And from then on for all of it: half.
        assert_eq!(wait(&mut e, [4_600, 4_700], |_| ()), parts(&[(Cause::Fold, 50), (Cause::Buffer, 50)]));
    }

    #[test]
    fn retries_are_no_part_of_the_read_that_they_follow() {
        let mut e = Explanations::new(1, DieParts::new(1, 0));
        begins(&mut e, DIES[0], OpKind::GcRead, [0, 50, 60]);
        e.retry(DIES[0], 60, 100);
        let waited = wait(&mut e, [0, 200], |e| {
            e.retry(DIES[0], 100, 200);
            e.operation_ended(DIES[0], 200);
        });
        // What was noted before the wait began is not told apart, and scaled with the rest.
        assert_eq!(waited.sum(), 200);
        assert!(waited.get(Cause::EccRetry) >= 100, "{waited:?}");
        // Afterwards the books are even.
        let waited = wait(&mut e, [200, 300], |e| {
            begins(e, DIES[0], OpKind::Erase, [200, 300, 300]);
            e.operation_ended(DIES[0], 300);
        });
        assert_eq!(waited, parts(&[(Cause::Erase, 100)]));
    }

    #[test]
    fn until_an_interrupted_program_lets_go_of_its_die_a_read_waits_for_the_program() {
        let mut e = Explanations::new(1, DieParts::new(1, 0));
        begins(&mut e, DIES[0], OpKind::GcProgram, [0, 500, 500]);
        e.arrive(SLOT, [90; 4]);
        e.interrupted(DIES[0], 100, 130);
        begins(&mut e, DIES[0], OpKind::HostRead, [100, 180, 190]);
        e.operation_ended(DIES[0], 190);
        e.read_ended(SLOT, DIES[0], 90, 190, None);
        assert_eq!(told(&e), parts(&[(Cause::GarbageCollection, 40), (Cause::Read, 50), (Cause::Bus, 10)]));
    }

    #[test]
    fn a_plane_waits_for_its_die_and_a_die_for_its_planes() {
        let planes = DieParts::new(1, 2);
        let die = DieId::FIRST;
        let [zero, one] = [0, 1].map(|plane| planes.plane(die, plane));
        let mut e = Explanations::new(1, planes);
        e.arrive(SLOT, [100; 4]);
        begins(&mut e, die, OpKind::GcProgram, [0, 500, 500]);
        e.operation_ended(die, 500);
        begins(&mut e, one, OpKind::HostRead, [500, 540, 550]);
        e.read_ended(SLOT, one, 100, 550, None);
        assert_eq!(told(&e), parts(&[(Cause::GarbageCollection, 400), (Cause::Read, 40), (Cause::Bus, 10)]));
        // Both planes read for some of the time, which is no longer for that.
        begins(&mut e, zero, OpKind::HostRead, [520, 560, 570]);
        e.arrive(SLOT, [510; 4]);
        begins(&mut e, die, OpKind::MapRead, [570, 600, 610]);
        e.map_read_ended(SLOT, die, 510, 610);
        assert_eq!(told(&e), parts(&[(Cause::Read, 60), (Cause::Metadata, 40)]));
    }

    #[test]
    fn after_a_power_cut_no_die_is_at_anything() {
        let mut e = Explanations::new(1, DieParts::new(1, 0));
        begins(&mut e, DIES[0], OpKind::Erase, [0, 3_000, 3_000]);
        e.power_cut(1_000);
        e.operation_ended(DIES[0], 1_000);
        let waited = wait(&mut e, [2_000, 2_500], |e| {
            begins(e, DIES[0], OpKind::GcRead, [2_000, 2_500, 2_500]);
            e.operation_ended(DIES[0], 2_500);
        });
        assert_eq!(waited, parts(&[(Cause::GarbageCollection, 500)]));
    }
}
