//! A read that did not decode at once: further sensings, transfers and decoding, one step after another.
//!
//! The die stays busy until the retry ladder ends. Each step is an event of its own: at its end the next one begins, and
//! books the bus only then. Pages of the stripe are sensed on the other dies beside what these do, and cross their
//! channels as soon as there is room: their array time is not booked, their transfers are. Energy counts both.
//!
//! Where firmware can see to so many reads at once (`ecc.retry.at_once`), the others wait for their first step, in order.
//! Planes that were read together are sensed again together.

use ssdlab_core::Nanos;
use ssdlab_nand::DieId;

use super::begin::scaled;
use super::correction::{ReadRetry, RetryStep};
use super::{Backend, NEVER};
use crate::power::ArrayWork;
use crate::probe::Probe;
use crate::timing::{Interval, Operation, Work};

impl Backend {
    /// The first read of a die failed to decode: it ends at `end`, and the attempt to decode it takes its time.
    #[cold]
    pub(super) fn begin_retry<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        mut retry: Box<ReadRetry>,
        end: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let decode = self.correction.as_ref().map_or(0, |c| c.first_decode());
        retry.first_out = end;
        self.dies[d.index()].retry = Some(retry);
        self.occupy(d, end, end + decode, probe);
    }

    /// Whether the die's read did not decode at once. When its event comes, [`Backend::next_retry_step`] says whether it
    /// is over.
    #[inline]
    #[must_use]
    pub fn retries(&self, d: DieId) -> bool {
        self.correction.is_some() && self.dies[d.index()].retry.is_some()
    }

    /// Begins what a read does next that did not decode at once. Returns whether there is anything; if not, the read is
    /// over.
    #[cold]
    pub fn next_retry_step<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> bool {
        let Some(retry) = &mut self.dies[d.index()].retry else { return false };
        let Some(correction) = &mut self.correction else { return false };
        if !retry.is_in_turn {
            if !correction.retry_turns.take(d) {
                retry.waits_since = now;
                self.events.set(d.index(), NEVER);
                return true;
            }
            retry.is_in_turn = true;
        }
        let Some(step) = correction.step(retry) else {
            if let Some(next) = correction.retry_turns.hand_on() {
                self.begin_turn(next, now, probe);
            }
            return false;
        };
        let read = if step.stripe > 0 {
            self.read_stripe(d, &step, now, probe)
        } else {
            self.sense_again(d, &step, now, probe)
        };
        self.occupy(d, now, read + step.decode, probe);
        true
    }

    /// It is the turn of a die's read, which has waited.
    fn begin_turn<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let Some(retry) = &mut self.dies[d.index()].retry else { return };
        retry.is_in_turn = true;
        let since = retry.waits_since;
        self.occupy(d, since, now, probe);
    }

    /// What a read that is over took beyond the plain one.
    #[cold]
    pub fn take_retry(&mut self, d: DieId) -> Option<Box<ReadRetry>> {
        self.dies[d.index()].retry.take()
    }

    /// Keeps the die busy until `to`.
    fn occupy<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        from: Nanos,
        to: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        probe.explain(|explanations| explanations.retry(d, from, to));
        self.events.set(d.index(), to);
    }

    /// Senses the rows concerned again, as often as the step asks for, and moves what was sensed. One command is enough for a
    /// soft decision, whose sensings the die puts together itself. Returns when it is out.
    pub(super) fn sense_again<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        step: &RetryStep,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Nanos {
        let op = self.dies[d.index()].current;
        let read_time = self.times.read(step.mode);
        let rows = (0..8).filter(|row| step.rows >> row & 1 != 0);
        let once = scaled(rows.map(|row| read_time[op.page() as usize + row]).sum(), step.share);
        let array = once * u64::from(step.senses);
        // What failed to decode may lie on any of the planes.
        let planes = self.planes_sensed(step.units.max(1) as u32, step.rows);
        self.work.add(ArrayWork::sensing(planes), array);
        self.work.read_eighths += 8 * step.units;
        let ready = now + self.read_command_time() + array;
        let length = (step.units * self.unit_picos).div_ceil(1000);
        let channel = self.dies[d.index()].channel;
        let transfer = self.hand_out_again(channel, [now, now, ready], length, probe);
        probe.explain(|explanations| explanations.crosses(channel, d, transfer));
        let (senses, units) = (step.senses, step.units as u32);
        let planes = self.planes_of(d, &op);
        probe.check(|checks| {
            checks.operation(&Operation {
                die: self.whole_die(d),
                planes,
                mode: step.mode,
                work: Work::ReadAgain { page: op.page(), rows: step.rows, senses, units },
                begin: now,
                share: step.share,
                data_here: now,
                transfer,
                end: transfer.to,
            });
        });
        transfer.to
    }

    /// Command and addresses of a read, whether or not they occupy the channel.
    fn read_command_time(&self) -> Nanos {
        self.cycles.map_or(self.command_time, |cycles| cycles.read)
    }

    /// Books what a read occupies a channel with: its command from `asked` on, and its data, `length` of them, once they are
    /// `ready`. Returns when the data cross it, with what goes before them.
    fn hand_out_again<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        channel: u8,
        [now, asked, ready]: [Nanos; 3],
        length: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Interval {
        let mut length = length;
        if let Some(cycles) = self.cycles {
            self.send_command(channel, now, Interval::new(asked, asked + cycles.read), probe);
            length += cycles.data_out + self.channels[usize::from(channel)].take_owed();
        }
        let from = self.channels[usize::from(channel)].book(now, ready, length);
        Interval::new(from, from + length)
    }

    /// Reads the other pages of a stripe, which lie on the other dies in turn; on a single die, behind one another.
    /// Which places of these they are is not known: they take the datasheet's tR. Returns when the last is out.
    pub(super) fn read_stripe<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        step: &RetryStep,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Nanos {
        let whole = self.whole_die(d);
        let dies = self.die_count() as usize;
        let page = self.dies[d.index()].current.page() as usize;
        let read_time = self.times.read(step.mode)[page];
        let length = (step.stripe_units * self.unit_picos).div_ceil(1000);
        let planes = self.planes_sensed(step.stripe_units.max(1) as u32, 1);
        self.work.add(ArrayWork::sensing(planes), read_time * u64::from(step.stripe));
        self.work.read_eighths += 8 * step.stripe_units * u64::from(step.stripe);
        let command = self.read_command_time();
        let mut last = now;
        for k in 0..step.stripe as usize {
            let others = (dies - 1).max(1);
            let other = DieId::new(((whole.index() + 1 + k % others) % dies) as u32);
            let channel = self.dies[other.index()].channel;
            let asked = now + (command + read_time) * (k / others) as u64;
            let transfer = self.hand_out_again(channel, [now, asked, asked + command + read_time], length, probe);
            probe.explain(|explanations| explanations.crosses(channel, other, transfer));
            probe.check(|checks| checks.stripe_page(channel.into(), now, transfer));
            last = last.max(transfer.to);
        }
        last
    }
}
