//! SLC caches: blocks used at one bit per cell for what the host writes, and folded into the die's own mode later.
//! One file per policy, one trait.
//!
//! A superblock opened at one bit per cell holds fewer units; the missing ones count as dead from birth. To fold it is
//! to collect it: its valid units go into the collector's own open superblock, always in the die's own mode. Where
//! superblocks are set aside for the cache (the *pool*), they have free lists of their own, are no candidates of the
//! garbage collector, and do not count as spare area; a fold then takes room from the others and gives none back, so
//! that one begins only while more superblocks are free than host and collector can use up meanwhile.
//!
//! A cache may be for short writes only. What comes with longer ones is a stream of its own in the write buffer
//! ([`PAST_CACHE`]), so that a row holds nothing of both; its rows go into the open superblock of the die's own mode, into
//! which the others go where a full cache does not take them.

mod dynamic;
mod fixed;
mod on_die;
mod spec;

use ssdlab_nand::{BlockId, CellMode, DieSpec};

use crate::collector::Reading;
use crate::gc::VictimSelector;
use crate::op::{OpKind, OpSink};
use crate::spec::GcSpec;
use crate::superblock::{Frontier, State, SuperblockId, Superblocks};
use crate::translation::Ftl;

pub use spec::{HostTarget, SlcCachePolicy, SlcCacheSpec, WhenFull};

/// The stream of writes that are too long for the cache, where it does not take them all: see
/// [`SlcCacheSpec::largest_write_kib`].
pub const PAST_CACHE: u8 = 1;

/// What a policy may look at, of one set of superblocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// Free superblocks, and victims on their way to be free.
    pub free: u32,
    pub coming: u32,
    /// The same of those set aside.
    pub pool_free: u32,
    pub pool_coming: u32,
    /// Superblocks written to their end at one bit per cell.
    pub cached: u32,
    pub slc_open: bool,
    /// What [`CachePolicy::is_pressed`] said last.
    pub pressed: bool,
}

/// What an idle drive has left to fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfolded {
    Nothing,
    /// There is nowhere to fold it to, unless a collection makes room.
    NoRoom,
    More,
}

/// An SLC cache's decisions.
pub trait CachePolicy {
    /// Whether the cache is being emptied for want of free superblocks; `before` is the last answer.
    fn is_pressed(&self, before: bool, room: &Room) -> bool;

    /// Whether the host's next rows should go into blocks of one bit per cell.
    fn wants_slc(&self, room: &Room) -> bool;

    /// Whether a superblock should be folded now, although the drive is not idle.
    fn fold_is_due(&self, room: &Room) -> bool;

    /// Whether the host waits for a superblock that is being folded rather than go past the cache.
    fn waits(&self) -> bool;

    /// The operation that programs what is folded.
    fn fold_program(&self) -> OpKind {
        OpKind::FoldProgram
    }
}

#[derive(Clone, Debug)]
enum Policy {
    Fixed(fixed::Fixed),
    Dynamic(dynamic::Dynamic),
    OnDie(on_die::OnDie),
}

impl Policy {
    fn get(&self) -> &dyn CachePolicy {
        match self {
            Policy::Fixed(p) => p,
            Policy::Dynamic(p) => p,
            Policy::OnDie(p) => p,
        }
    }
}

/// A drive's SLC cache: its policy, and what it comes to on this drive's dies.
#[derive(Clone, Debug)]
pub struct SlcCache {
    policy: Policy,
    /// Superblocks set aside in each set.
    pool_per_set: u32,
    /// What a unit written by the host at one bit per cell takes of the spare area, in millionths of a unit.
    cost_micro: i64,
}

impl SlcCache {
    /// # Panics
    /// If the spec does not pass [`SlcCacheSpec::validate`].
    #[must_use]
    pub fn new(spec: &SlcCacheSpec, die: &DieSpec, blocks: &Superblocks, unreserved: u32, gc: &GcSpec) -> Self {
        let usable = blocks.state.iter().filter(|&&s| s == State::Free).count() as u32 / blocks.sets();
        let slc = die.mode(CellMode::Slc).expect("validated");
        let fixed = || fixed::Fixed::new(spec.when_full.expect("validated"));
        let policy = match spec.policy {
            SlcCachePolicy::Dynamic => {
                let keep = (usable * spec.keep_free_per_1000.expect("validated")).div_ceil(1000);
                let slc = spec.host_while_folding.expect("validated") == HostTarget::Slc;
                Policy::Dynamic(dynamic::Dynamic::new(keep, gc, slc))
            }
            SlcCachePolicy::Fixed => Policy::Fixed(fixed()),
            SlcCachePolicy::OnDie => Policy::OnDie(on_die::OnDie(fixed())),
        };
        let pool_per_set = spec.pool_per_set(die, blocks.span(), blocks.dies(), unreserved);
        let native = i64::from(die.geometry.pages_per_block) * 1_000_000;
        let cost_micro = if pool_per_set > 0 { 1_000_000 } else { native / i64::from(slc.pages_per_block) };
        SlcCache { policy, pool_per_set, cost_micro }
    }
}

impl Ftl {
    fn cache(&self) -> &dyn CachePolicy {
        self.slc_cache.as_ref().expect("asked only where there is one").policy.get()
    }

    /// Whether superblocks are set aside for the cache.
    #[inline]
    pub(crate) fn has_pool(&self) -> bool {
        !self.blocks.pool.is_empty()
    }

    /// Sets superblocks aside, the lowest-numbered of each set.
    pub(crate) fn set_pool_aside(&mut self) {
        let Some(pool) = self.slc_cache.as_ref().map(|cache| cache.pool_per_set).filter(|&pool| pool > 0) else {
            return;
        };
        self.blocks.pool = vec![false; self.blocks.count() as usize];
        for s in 0..self.sets.len() {
            let all = (0..self.blocks.per_set()).map(|local| self.blocks.global(local, s as u32));
            let free = all.filter(|&sb| self.blocks.state[sb as usize] == State::Free);
            self.sets[s].pool_free = free.take(pool as usize).collect();
            for &sb in &self.sets[s].pool_free {
                self.blocks.pool[sb as usize] = true;
            }
        }
    }

    fn room(&self, s: usize) -> Room {
        let set = &self.sets[s];
        Room {
            free: set.free.len() as u32,
            coming: set.coming,
            pool_free: set.pool_free.len() as u32,
            pool_coming: set.pool_coming,
            cached: set.cached.len() as u32,
            slc_open: set.slc.is_some(),
            pressed: set.pressed,
        }
    }

    /// Whether the host's next row of a stream goes into blocks of one bit per cell.
    #[inline]
    pub(crate) fn goes_to_slc(&self, s: usize, stream: u8) -> bool {
        self.sets[s].to_slc && stream != PAST_CACHE
    }

    /// Decides where the host's next rows go, as far as the cache takes them. Where the policy's choice has no room, the
    /// other does.
    pub(crate) fn aim(&mut self, s: usize) {
        let mut room = self.room(s);
        room.pressed = self.cache().is_pressed(room.pressed, &room);
        let opens_native = room.free >= 2 + room.pool_coming;
        let opens_slc = if self.has_pool() { room.pool_free > 0 } else { opens_native };
        let native_fits = self.sets[s].host[0].is_some() || opens_native;
        let slc_fits = room.slc_open || opens_slc;
        let to_slc = if self.cache().wants_slc(&room) {
            slc_fits || !native_fits || self.cache().waits() && (room.pool_coming > 0 || self.fold_fits(s))
        } else {
            !native_fits && slc_fits
        };
        let set = &mut self.sets[s];
        (set.to_slc, set.pressed) = (to_slc, room.pressed);
    }

    /// What a unit of the host's takes of the credit that a collection gives, in millionths.
    #[inline]
    pub(crate) fn host_cost_micro(&self, s: usize, stream: u8) -> i64 {
        match &self.slc_cache {
            Some(cache) if self.goes_to_slc(s, stream) => cache.cost_micro,
            _ => 1_000_000,
        }
    }

    #[cold]
    pub(crate) fn open_slc_superblock(&mut self, s: usize) -> Option<Frontier> {
        let pool = self.has_pool();
        let set = &self.sets[s];
        let at = self.next_free(if pool { &set.pool_free } else { &set.free })?;
        let set = &mut self.sets[s];
        let sb = if pool { &mut set.pool_free } else { &mut set.free }.remove(at)?;
        self.blocks.state[sb as usize] = State::Open;
        self.blocks.stream[sb as usize] = 0;
        let members = self.blocks.dies_of_set(s as u32);
        for die in (0..64).filter(|d| members >> d & 1 != 0) {
            let block = self.blocks.block_on(sb, die);
            self.medium.open(block, CellMode::Slc, 0).expect("a free superblock is erased, and its die has the mode");
        }
        Some(Frontier::new(sb, members, self.medium.pages(self.blocks.any_block(sb))))
    }

    /// The host has filled a superblock at one bit per cell.
    pub(crate) fn slc_closed(&mut self, s: usize, sb: SuperblockId) {
        if self.blocks.in_pool(sb) {
            self.blocks.state[sb as usize] = State::Cached;
        }
        self.sets[s].cached.push_back(sb);
    }

    // ---- folding ------------------------------------------------------------------------------------------------

    /// The next superblock to fold: one that holds nothing any more, else the oldest of the cache.
    pub(crate) fn fold_candidate(&self, s: usize) -> Option<SuperblockId> {
        let set = &self.sets[s];
        let empty = |sb: &SuperblockId| self.blocks.valid[*sb as usize] == 0;
        if self.has_pool() {
            return set.cached.iter().copied().find(empty).or(set.cached.front().copied());
        }
        let all = (0..self.blocks.per_set()).map(|local| self.blocks.global(local, s as u32));
        let mut closed = all.filter(|&sb| self.blocks.state[sb as usize] == State::Closed);
        closed.find(empty).or(set.cached.front().copied())
    }

    /// Whether there is a superblock to fold, and room for what it holds.
    fn fold_fits(&self, s: usize) -> bool {
        let set = &self.sets[s];
        let room = !self.has_pool() || set.free.len() as u32 >= 3 + set.pool_coming;
        let fits = |sb: SuperblockId| room || self.blocks.valid[sb as usize] == 0;
        !self.is_read_only() && self.fold_candidate(s).is_some_and(fits)
    }

    /// Folds a superblock if the policy wants one folded while the host writes. Returns whether it began to.
    pub(crate) fn fold_if_due(&mut self, s: usize, sink: &mut impl OpSink) -> bool {
        if self.sets[s].active || !self.cache().fold_is_due(&self.room(s)) || !self.fold_fits(s) {
            return false;
        }
        self.start_fold(s, false, sink);
        true
    }

    fn start_fold(&mut self, s: usize, background: bool, sink: &mut impl OpSink) {
        self.start(s, background);
        let set = &mut self.sets[s];
        set.fold = true;
        set.victims_left = 1;
        self.collector_step(s, sink);
    }

    /// The drive is idle: folds one superblock of every set that has any. Returns what is left to do.
    pub fn fold_in_background(&mut self, sink: &mut impl OpSink) -> Unfolded {
        let mut left = Unfolded::Nothing;
        if self.slc_cache.is_none() || self.is_read_only() {
            return left;
        }
        for s in 0..self.sets.len() {
            if !self.sets[s].active && self.fold_fits(s) {
                self.start_fold(s, true, sink);
            }
            left = left.max(if self.sets[s].active || self.fold_fits(s) {
                Unfolded::More
            } else if self.fold_candidate(s).is_some() {
                Unfolded::NoRoom
            } else {
                Unfolded::Nothing
            });
        }
        left
    }

    /// Begins to read the superblock that is folded next.
    pub(crate) fn next_fold_victim(&mut self, s: usize) -> bool {
        let Some(sb) = self.fold_candidate(s) else {
            self.sets[s].victims_left = 0;
            return false;
        };
        if self.blocks.state[sb as usize] == State::Closed {
            let (local, _) = self.blocks.local(sb, self.medium.layout());
            self.sets[s].selector.remove(local);
            self.take_victim(s, sb);
            return true;
        }
        self.blocks.state[sb as usize] = State::Victim;
        let left = self.blocks.dies_of_set(s as u32);
        let set = &mut self.sets[s];
        set.victims_left -= 1;
        set.cached.retain(|&cached| cached != sb);
        set.pool_coming += 1;
        // What it gives back is a superblock of the cache: worth a row of padding, so that it need not wait.
        set.gained += self.row_units;
        set.reading = Some(Reading { superblock: sb, page: 0, left });
        true
    }

    /// The operation that reads what the collector moves out of a block.
    pub(crate) fn read_kind(&self, block: BlockId) -> OpKind {
        if self.is_slc(block) { OpKind::FoldRead } else { OpKind::GcRead }
    }

    /// The operation that programs the row which the collector writes next.
    pub(crate) fn write_kind(&self, s: usize) -> OpKind {
        let front = self.sets[s].staged.front().map(|unit| self.medium.layout().block_of(unit));
        if front.is_some_and(|block| self.is_slc(block)) { self.cache().fold_program() } else { OpKind::GcProgram }
    }

    fn is_slc(&self, block: BlockId) -> bool {
        self.medium.mode(block) == CellMode::Slc
    }

    #[inline]
    pub(crate) fn count_moved(&mut self, kind: OpKind, units: u32) {
        if kind == OpKind::GcProgram {
            self.counters.gc_units += u64::from(units);
            self.counters.gc_rows += 1;
        } else {
            self.counters.fold_units += u64::from(units);
            self.counters.fold_rows += 1;
        }
    }
}
