//! SLC caches: blocks used at one bit per cell for what the host writes, and folded into the die's own mode later.
//! One file per policy, one trait; what folding does is in `folding.rs`.
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
mod folding;
mod on_die;
mod spec;

use std::collections::VecDeque;

use ssdlab_nand::{CellMode, DieSpec};

use super::superblock::{State, SuperblockId, Superblocks};
use crate::op::OpKind;
use crate::spec::GcSpec;

pub use spec::{HostTarget, SlcCachePolicy, SlcCacheSpec, WhenFull};

/// The stream of writes that are too long for the cache, where it does not take them all: see
/// [`SlcCacheSpec::largest_write_kib`].
pub const PAST_CACHE: u8 = 1;

/// What a policy may look at, of one domain.
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

/// The cache of one domain.
#[derive(Clone, Debug, Default)]
struct CacheDomain {
    /// The host's next rows go into blocks of one bit per cell, as far as the cache takes them.
    to_slc: bool,
    /// Free superblocks have run out while there was something to fold, and are not plenty again yet.
    pressed: bool,
    /// Superblocks written to their end with one bit per cell, the oldest in front.
    cached: VecDeque<SuperblockId>,
}

/// A drive's SLC cache: its policy, what it comes to on this drive's dies, and what it holds.
#[derive(Clone, Debug)]
pub struct SlcCache {
    policy: Policy,
    domains: Vec<CacheDomain>,
    /// Superblocks set aside in each domain.
    pool_per_domain: u32,
    /// What a unit written by the host at one bit per cell takes of the spare area, in millionths of a unit.
    cost_micro: i64,
    folds_by_itself: bool,
}

impl SlcCache {
    /// # Panics
    /// If the spec does not pass [`SlcCacheSpec::validate`].
    #[must_use]
    pub fn new(spec: &SlcCacheSpec, die: &DieSpec, superblocks: &Superblocks, unreserved: u32, gc: &GcSpec) -> Self {
        let domains = superblocks.domains();
        let free = (0..domains as usize).map(|domain| superblocks.count_in(domain, State::Free) as u32);
        let usable = free.sum::<u32>() / domains;
        let slc = die.mode(CellMode::Slc).expect("validated");
        let fixed = || fixed::Fixed::new(spec.when_full.expect("validated"));
        let policy = match spec.policy {
            SlcCachePolicy::Dynamic => {
                let keep = (usable * spec.keep_free_per_1000.expect("validated")).div_ceil(1000);
                let slc = spec.host_while_folding.expect("validated") == HostTarget::Slc;
                Policy::Dynamic(dynamic::Dynamic::new(keep, spec.most_per_set(die, superblocks.dies()), gc, slc))
            }
            SlcCachePolicy::Fixed => Policy::Fixed(fixed()),
            SlcCachePolicy::OnDie => Policy::OnDie(on_die::OnDie(fixed())),
        };
        let pool_per_domain = spec.pool_per_set(die, superblocks.span(), superblocks.dies(), unreserved);
        let native = i64::from(die.geometry.pages_per_block) * 1_000_000;
        let cost_micro = if pool_per_domain > 0 { 1_000_000 } else { native / i64::from(slc.pages_per_block) };
        let domains = vec![CacheDomain::default(); domains as usize];
        SlcCache { policy, domains, pool_per_domain, cost_micro, folds_by_itself: spec.fold_after_idle_ms.is_some() }
    }

    /// All flash has been erased: nothing is cached.
    pub fn clear(&mut self) {
        self.domains.fill(CacheDomain::default());
    }

    /// A recovery has found a superblock that was written at one bit per cell, after all older ones.
    pub fn found(&mut self, domain: usize, sb: SuperblockId) {
        self.domains[domain].cached.push_back(sb);
    }

    /// Whether the drive folds before it has to.
    #[must_use]
    pub fn folds_by_itself(&self) -> bool {
        self.folds_by_itself
    }

    /// Superblocks set aside in each domain; 0: none, the cache takes any.
    #[must_use]
    pub fn pool_per_domain(&self) -> u32 {
        self.pool_per_domain
    }

    /// Whether the host's next row of a stream goes into blocks of one bit per cell.
    #[inline]
    #[must_use]
    pub fn takes(&self, domain: usize, stream: u8) -> bool {
        self.domains[domain].to_slc && stream != PAST_CACHE
    }

    /// What a unit written by the host at one bit per cell takes of the credit that a collection gives, in millionths.
    #[inline]
    #[must_use]
    pub fn cost_micro(&self) -> i64 {
        self.cost_micro
    }

    /// Superblocks of a domain written to their end at one bit per cell, the oldest first.
    pub fn cached(&self, domain: usize) -> impl Iterator<Item = SuperblockId> + '_ {
        self.domains[domain].cached.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{CellModes, Geometry, Layout, Medium, PageOrder, ReducedMode, TagFormat};

    use super::*;
    use crate::page_map::small;
    use crate::spec::{MappingSpec, SuperblockSpan};

    /// A dynamic cache on one die of ten blocks, of eight pages or at one bit per cell of four.
    fn cache(keep_free_per_1000: u32) -> SlcCache {
        let geometry = Geometry {
            planes: 1,
            blocks_per_plane: 10,
            pages_per_block: 8,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 2,
            page_order: PageOrder::Alternating,
        };
        let slc = ReducedMode {
            read_us: vec![25.0],
            program_us: vec![300.0],
            erase_ms: 1.0,
            rated_program_erase_cycles: 10_000,
        };
        let die = DieSpec { modes: CellModes { slc: Some(slc), ..CellModes::default() }, ..DieSpec::plain(geometry) };
        let medium = Medium::new(&die, Layout::new(&die, 1, 10), TagFormat::new(50), &Rng::new(1));
        let gc = GcSpec { start_free_superblocks: 1, buffer_superpages: 1, ..small::gc() };
        let spec = SlcCacheSpec {
            policy: SlcCachePolicy::Dynamic,
            keep_free_per_1000: Some(keep_free_per_1000),
            host_while_folding: Some(HostTarget::Slc),
            capacity_gb: None,
            blocks_per_1000: None,
            when_full: None,
            largest_write_kib: None,
            fold_after_idle_ms: None,
            fold_pause_ms: 0.0,
        };
        let superblocks =
            Superblocks::new(&MappingSpec { superblock: SuperblockSpan::OneDie, ..MappingSpec::default() }, &medium, 0);
        SlcCache::new(&spec, &die, &superblocks, 10, &gc)
    }

    #[test]
    fn of_the_superblocks_that_stay_free_a_part_counts_as_one() {
        for (per_1000, kept) in [(100, 1), (101, 2), (250, 3), (300, 3)] {
            let cache = cache(per_1000);
            let wants = |free| cache.policy.get().wants_slc(&Room { free, ..Room::default() });
            assert!(wants(kept + 1) && !wants(kept), "{per_1000} of a thousand");
        }
    }

    #[test]
    fn a_unit_at_one_bit_per_cell_takes_the_spare_area_that_it_does() {
        assert_eq!(cache(100).cost_micro(), 2_000_000);
    }

    #[test]
    fn long_writes_go_past_it() {
        let mut cache = cache(100);
        assert!(!cache.takes(0, 0));
        cache.domains[0].to_slc = true;
        assert!(cache.takes(0, 0) && !cache.takes(0, PAST_CACHE));
    }
}
