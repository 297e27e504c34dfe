//! Victims: chosen, read to their end, and erased once nothing on them is needed any more.

use crate::collector::{Finishing, Reading};
use crate::gc::{Candidates, VictimSelector};
use crate::op::{FlashOp, OpKind, OpSink};
use crate::spec::HostShare;
use crate::superblock::{State, SuperblockId};
use crate::translation::Ftl;

/// Collections between two looks at the spread of wear.
const WEAR_CHECK_INTERVAL: u64 = 64;

impl Ftl {
    /// Chooses the next victim and begins to read it.
    pub(crate) fn next_victim(&mut self, s: usize) -> bool {
        let set = &self.sets[s];
        // Units of one victim are staged before those of the next, so that it is free again before the next needs
        // the room that it leaves.
        if set.victims_left == 0 || set.units_reading > 0 {
            return false;
        }
        if set.fold {
            return self.next_fold_victim(s);
        }
        if !self.can_gain(s) {
            self.stalled |= 1 << s;
            self.sets[s].victims_left = 0;
            return false;
        }
        let ahead = self.ahead(s);
        let enough = if set.background {
            ahead >= self.gc.background_free_superblocks
        } else {
            self.gc.victims_per_start == 0 && ahead > self.gc.start_free_superblocks
        };
        if enough {
            return false;
        }
        let Some(local) = self.cold_victim(s).or_else(|| self.pick(s)) else { return false };
        let sb = self.blocks.global(local, s as u32);
        self.take_victim(s, sb);
        true
    }

    /// Makes a closed superblock, which the policy no longer lists, the one that is read.
    pub(crate) fn take_victim(&mut self, s: usize, sb: SuperblockId) {
        debug_assert_eq!(self.blocks.state[sb as usize], State::Closed);
        self.blocks.state[sb as usize] = State::Victim;
        let valid = self.blocks.valid[sb as usize];
        let dead = self.blocks.capacity(self.medium.layout()) - valid;
        let set = &mut self.sets[s];
        if !set.cached.is_empty() {
            set.cached.retain(|&cached| cached != sb);
        }
        set.coming += 1;
        set.gained += dead;
        set.dead -= u64::from(dead);
        if set.victims_left != u32::MAX {
            set.victims_left -= 1;
        }
        set.credit_rate_micro = match self.gc.host_share {
            HostShare::Unlimited | HostShare::BetweenRounds => 0,
            HostShare::Trickle => i64::from(self.gc.trickle_per_1000) * 1000,
            HostShare::Balanced => i64::from(dead) * 1_000_000 / i64::from(valid.max(1)),
        };
        set.reading = Some(Reading { superblock: sb, page: 0, left: self.blocks.dies_of_set(s as u32) });
    }

    /// Whether collecting can free a superblock at all: not where a set has come to hold so much that what is dead in
    /// it, together with what is left of the superblock that the collector writes, is less than one. A single die can
    /// come to this while the spare area of the others is still large.
    pub(crate) fn can_gain(&self, s: usize) -> bool {
        let set = &self.sets[s];
        let layout = self.medium.layout();
        let open = if self.shared_frontier { &set.host } else { &set.gc };
        // What is left in another stream's superblock is of no use to a victim.
        let rows = open.iter().flatten().map(|open| open.rows_left(self.blocks.width()));
        let rows = rows.max().unwrap_or(0);
        let room = (rows * self.row_units).saturating_sub(set.staged.len() + set.units_reading);
        set.dead + u64::from(room) >= u64::from(self.blocks.capacity(layout))
    }

    fn pick(&mut self, s: usize) -> Option<u32> {
        let candidates = Candidates {
            valid: self.blocks.valid_of_set(s as u32),
            capacity: self.blocks.capacity(self.medium.layout()),
            clock: self.counters.host_units + self.counters.gc_units,
        };
        self.sets[s].selector.pick(&candidates, &mut self.rng)
    }

    /// Static wear levelling: every so often, if wear has spread too far, the least worn closed superblock, as it
    /// holds data that never move by themselves.
    fn cold_victim(&mut self, s: usize) -> Option<u32> {
        let limit = self.static_spread()?;
        if !self.sets[s].collections.is_multiple_of(WEAR_CHECK_INTERVAL) {
            return None;
        }
        let mut coldest: Option<(u32, u32)> = None;
        let mut most = 0;
        for local in 0..self.blocks.per_set() {
            let sb = self.blocks.global(local, s as u32);
            if self.blocks.state[sb as usize] == State::Reserved || self.blocks.in_pool(sb) {
                continue;
            }
            let erases = self.medium.erases(self.blocks.any_block(sb));
            most = most.max(erases);
            if self.blocks.state[sb as usize] == State::Closed && coldest.is_none_or(|(e, _)| erases < e) {
                coldest = Some((erases, local));
            }
        }
        let (erases, local) = coldest?;
        (most - erases > limit).then(|| {
            self.sets[s].selector.remove(local);
            local
        })
    }

    /// Victims without a valid unit left go on to be erased.
    pub(crate) fn retire_victims(&mut self, s: usize, sink: &mut impl OpSink) {
        let set = &self.sets[s];
        if set.moving.is_empty() || set.moving.iter().all(|&sb| self.blocks.valid[sb as usize] > 0) {
            return;
        }
        let mut k = 0;
        while k < self.sets[s].moving.len() {
            let sb = self.sets[s].moving[k];
            if self.blocks.valid[sb as usize] > 0 {
                k += 1;
                continue;
            }
            let set = &mut self.sets[s];
            set.moving.remove(k);
            // What is staged of it has died since; it must not be taken for what will be written there next.
            let (blocks, layout) = (&self.blocks, self.medium.layout());
            set.staged.retain(|unit| blocks.of_block(layout.block_of(unit)) != sb);
            let (programs, host_programs) = (set.programs.issued(), self.host_programs.issued());
            let fence = Finishing { superblock: sb, programs, host_programs };
            set.finishing.push_back(fence);
            self.finishing |= 1 << s;
        }
        self.erase_where_finished(s, sink);
    }

    /// After a host program has ended: victims that waited for it.
    #[inline]
    pub(crate) fn erase_finished(&mut self, sink: &mut impl OpSink) {
        let mut waiting = self.finishing;
        while waiting != 0 {
            self.erase_where_finished(waiting.trailing_zeros() as usize, sink);
            waiting &= waiting - 1;
        }
    }

    pub(crate) fn erase_where_finished(&mut self, s: usize, sink: &mut impl OpSink) {
        while let Some(&Finishing { superblock, programs, host_programs }) = self.sets[s].finishing.front() {
            if self.sets[s].programs.head() < programs || self.host_programs.head() < host_programs {
                return;
            }
            self.sets[s].finishing.pop_front();
            self.erase(s, superblock, sink);
        }
        self.finishing &= !(1 << s);
    }

    fn erase(&mut self, s: usize, superblock: SuperblockId, sink: &mut impl OpSink) {
        let members = self.blocks.dies_of_set(s as u32);
        self.blocks.erasing[superblock as usize] = members.count_ones() as u8;
        for die in (0..64).filter(|d| members >> d & 1 != 0) {
            sink.enqueue(FlashOp {
                kind: OpKind::Erase,
                die: die as u8,
                rows: 1,
                units: 0,
                block: self.blocks.block_on(superblock, die),
                page: 0,
                tag: 0,
                ready: 0,
            });
        }
    }
}
