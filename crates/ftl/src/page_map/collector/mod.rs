//! The collector: what it chooses, reads, holds and writes, for every domain; the states are in `domain.rs`.
//!
//! One file each: how it goes on when its buffer is full (`streaming.rs`, `stop_and_wait.rs`), rounds of firmware that
//! does nothing else meanwhile (`rounds.rs`), how it keeps in step with the host (`in_step.rs`), which victim is chosen and when it is erased (`victims.rs`), what is read
//! (`reading.rs`), how units are written elsewhere (`moving.rs`), which are moved for their age (`refresh.rs`), and what
//! goes on beside the host although it can wait (`beside_host.rs`).

mod beside_host;
mod domain;
mod in_step;
mod moving;
mod reading;
mod refresh;
mod rounds;
mod staging;
mod stop_and_wait;
mod streaming;
mod victims;

use std::sync::Arc;

use ssdlab_core::DieSet;
use ssdlab_nand::EMPTY_TAG;

use super::PageMap;
use super::allocator::ToMove;
use super::gc::{ChooseVictim, Selector, Study};
use super::superblock::{State as SuperblockState, Superblocks};
use crate::op::OpSink;
use crate::spec::{Buffering, GcSpec};
use crate::translation::Round;

pub use domain::Domain;
use domain::{Purpose, Quota, Trigger};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Collector {
    domains: Vec<Domain>,
    buffering: Buffering,
    /// Space is freed ahead of need at all, and that goes on while the host is busy.
    works_ahead: bool,
    beside_host: bool,
    /// The drive is idle and works ahead of need: a domain that comes to rest is looked at again.
    ahead_now: bool,
    /// The host is away for long enough that a collection in step with it no longer waits for it.
    host_rests: bool,
    /// Collection starts when no more superblocks than this are free.
    start_free: u32,
    /// Free superblocks that background collection works towards.
    background_free: u32,
    victims_per_start: u32,
    rows_per_read: u32,
    /// Units that the buffer of one domain holds.
    buffer_units: u32,
    round: Round,
    /// Domains in which collecting would free nothing, and those of them in which a unit has died since: these are looked
    /// at again with the next dispatch.
    stalled: DieSet,
    revived: DieSet,
    /// Domains with victims that wait for programs to end.
    finishing: DieSet,
    /// Domains with victims that wait for a few last units, while the host waits for nothing, or whose collection waits for the
    /// host: these are looked at again once it waits.
    held: DieSet,
    /// Domains in which TRIM has left closed superblocks empty that are to be erased at once.
    emptied: DieSet,
    /// Tags of the row that is being moved. They stand here so that they need not be cleared for each.
    row_tags: [u32; 64],
}

/// Units of a collector's buffer, at most: more than any flash has.
const MAX_BUFFER_UNITS: u32 = 1 << 31;

impl Collector {
    /// Whether work ahead of need goes on while the host is busy.
    #[inline(always)]
    #[must_use]
    pub fn works_beside_host(&self) -> bool {
        self.beside_host
    }

    #[must_use]
    pub fn new(spec: &GcSpec, superblocks: &Superblocks, capacity: u32, row_units: u32) -> Self {
        let domains = superblocks.domains();
        let selector = || Selector::new(spec, superblocks.per_domain(), capacity);
        Collector {
            domains: (0..domains).map(|_| Domain::new(selector())).collect(),
            buffering: spec.buffering,
            works_ahead: spec.background_after_idle_ms.is_some(),
            beside_host: spec.background_beside_host,
            ahead_now: false,
            host_rests: false,
            start_free: spec.start_free_superblocks,
            background_free: spec.background_free_superblocks,
            victims_per_start: spec.victims_per_start,
            rows_per_read: spec.rows_per_read,
            // At least one read, and beside it the units of earlier ones that do not fill a row.
            buffer_units: (spec.buffer_superpages.saturating_mul(superblocks.width() * row_units))
                .min(MAX_BUFFER_UNITS)
                .max((spec.rows_per_read + 1) * row_units - 1),
            round: Round::None,
            stalled: DieSet::with_room(domains),
            revived: DieSet::with_room(domains),
            finishing: DieSet::with_room(domains),
            held: DieSet::with_room(domains),
            emptied: DieSet::with_room(domains),
            row_tags: [EMPTY_TAG; 64],
        }
    }

    /// From now on `choose` chooses the victims. Nothing is closed yet.
    pub fn choose_by(&mut self, choose: &Arc<ChooseVictim>, superblocks: &Superblocks) {
        for domain in &mut self.domains {
            domain.selector = Selector::Study(Study::new(superblocks.per_domain(), Arc::clone(choose)));
        }
    }

    /// What [`Collector::choose_by`] was told.
    #[must_use]
    pub fn chosen_by(&self) -> Option<Arc<ChooseVictim>> {
        match &self.domains.first()?.selector {
            Selector::Study(study) => Some(study.choose()),
            _ => None,
        }
    }

    /// The drive is idle, until background work is stopped.
    pub fn note_rest(&mut self) {
        self.host_rests = true;
    }

    #[inline]
    #[must_use]
    pub fn domain(&self, domain: usize) -> &Domain {
        &self.domains[domain]
    }

    pub fn domains(&self) -> impl Iterator<Item = &Domain> + '_ {
        self.domains.iter()
    }

    /// Collection starts when no more superblocks than this are free.
    #[must_use]
    pub fn start_free(&self) -> u32 {
        self.start_free
    }

    /// Whether nothing waits for the next dispatch.
    #[inline]
    #[must_use]
    pub fn needs_no_look(&self) -> bool {
        self.revived.is_empty() && self.held.is_empty()
    }

    /// Whether there are domains in which collecting would free nothing.
    #[inline]
    #[must_use]
    pub fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// A superblock has been written to its end, with so many units valid and dead. What has died in it while it was open
    /// can be gained only now.
    pub fn closed(&mut self, domain: usize, local: u32, valid: u32, dead: u32, clock: u64) {
        self.revive(domain);
        self.domains[domain].closed(local, valid, dead, clock);
    }

    /// Units of a closed superblock have died; `left` are valid. What may be gained now tells [`Collector::revive`].
    #[inline]
    pub fn units_died(&mut self, domain: usize, local: u32, units: u32, left: u32) {
        self.domains[domain].units_died(local, units, left);
    }

    /// The host's open superblock of a domain has been closed early: it may wait for a victim that it did not need before.
    pub fn hold_victims(&mut self, domain: usize) {
        self.held.insert(domain as u32);
    }

    /// Something has died in a domain: if there was nothing to gain in it, it is looked at again.
    #[inline]
    pub fn revive(&mut self, domain: usize) {
        if !self.stalled.is_empty() && self.stalled.contains(domain as u32) {
            self.revived.insert(domain as u32);
        }
    }

    /// The host may wait for other victims than before: all that wait for a few last units are looked at again, and collections
    /// that wait for the host.
    #[cold]
    pub fn hold_all_victims(&mut self, in_step: bool) {
        let waiting = |domain: &Domain| if domain.is_collecting() { in_step } else { !domain.moving.is_empty() };
        (0..).zip(&self.domains).filter(|(_, domain)| waiting(domain)).for_each(|(d, _)| self.held.insert(d));
    }

    /// The host has written a row of `units` in a domain, which cost so much each.
    #[inline]
    pub fn spend_credit(&mut self, domain: usize, units: u32, cost_micro: i64) {
        let domain = &mut self.domains[domain];
        if domain.is_collecting() && !domain.works_ahead() {
            domain.credit.spend(units, cost_micro);
        }
    }

    /// Whether a collection leaves the host a row of `units`, where it limits the host.
    #[inline]
    #[must_use]
    pub fn leaves_host(&self, domain: usize, units: u32) -> bool {
        let domain = &self.domains[domain];
        !domain.is_collecting() || domain.works_ahead() || domain.chooses_none() || domain.credit.covers(units)
    }

    /// What the victims of a domain still hold. Where data are compressed, the last units of a victim may not meet others
    /// that fill their row.
    #[must_use]
    pub fn to_move(&self, domain: usize, superblocks: &Superblocks, unit_shift: u32) -> ToMove {
        let beside = (1 << unit_shift) - 1;
        self.domains[domain].in_progress().fold(ToMove::default(), |sum, sb| ToMove {
            victims: sum.victims + 1,
            units: sum.units + superblocks.valid(sb) + beside,
        })
    }

    /// Checks that no domain's buffer holds more than it has room for.
    ///
    /// # Errors
    /// The first that does.
    pub fn check_room(&self) -> Result<(), String> {
        match self.domains.iter().position(|domain| domain.units_held() > self.buffer_units) {
            Some(d) => Err(format!(
                "the collector of domain {d} holds {} units, its buffer {}",
                self.domains[d].units_held(),
                self.buffer_units
            )),
            None => Ok(()),
        }
    }
}

impl PageMap {
    /// Starts a collection if free superblocks have run low.
    #[inline]
    pub(super) fn start_if_due(&mut self, domain: usize, sink: &mut impl OpSink) {
        if self.pacing.follows_host() {
            self.go_on_in_step(domain, sink);
        }
        if self.collection_is_due(domain) {
            self.start(domain, Purpose::FreesSpace, Trigger::Need);
            self.collector_step(domain, sink);
        } else if self.cache.is_some() && self.fold_if_due(domain, sink) {
            // The cache needs room, and folding has begun.
        } else if self.refresh_if_due(domain, sink) {
            // Data have been read often.
        } else if !self.collector.domains[domain].moving.is_empty() {
            self.release_last_units(domain, sink);
        }
    }

    #[inline]
    fn collection_is_due(&self, domain: usize) -> bool {
        !self.collector.domains[domain].is_collecting()
            && self.space_is_low(domain, self.allocator.free_or_coming(domain))
            && !self.collector.stalled.contains(domain as u32)
    }

    /// Whether a collection for need is due in a domain of which so many superblocks are free, or will be.
    #[inline]
    fn space_is_low(&self, d: usize, free: u32) -> bool {
        free <= self.collector.start_free || self.pacing.follows_host() && self.is_a_row_short(d)
    }

    /// After a step, which may have ended a collection.
    fn start_if_due_again(&mut self, domain: usize, sink: &mut impl OpSink) {
        if self.collection_is_due(domain) && self.superblocks.any_in(domain, SuperblockState::Closed) {
            self.start(domain, Purpose::FreesSpace, Trigger::Need);
            self.collector_step(domain, sink);
        } else if self.cache.is_some() && self.fold_if_due(domain, sink) || self.refresh_if_due(domain, sink) {
            // Another has begun.
        } else if self.collector.ahead_now && self.collects_ahead(domain) {
            self.start(domain, Purpose::FreesSpace, Trigger::DriveIdle);
            self.collector_step(domain, sink);
        } else {
            self.release_last_units(domain, sink);
        }
    }

    fn start(&mut self, domain: usize, purpose: Purpose, trigger: Trigger) {
        let quota = match (purpose, trigger) {
            (Purpose::FreesSpace, Trigger::DriveIdle) => Quota::Unlimited,
            (Purpose::FreesSpace, _) => Quota::of(self.collector.victims_per_start),
            (Purpose::FoldsCache | Purpose::RefreshesData, _) => Quota::Victims(1),
        };
        self.collector.domains[domain].begin(purpose, trigger, quota);
        self.counters.collections += 1;
    }

    /// Begins to fold one superblock of the cache; `idle`: because the drive is.
    pub(super) fn start_fold(&mut self, domain: usize, idle: bool, sink: &mut impl OpSink) {
        let trigger = if idle { Trigger::DriveIdle } else { Trigger::Need };
        self.start(domain, Purpose::FoldsCache, trigger);
        self.collector_step(domain, sink);
    }

    /// A collector may keep the units that do not fill a row until the next collection, and with them their victim.
    /// If the host waits for just that victim, they go out in a row of their own; but where that row would cost as
    /// much as the victim gains, another victim's units join them, if there is one worth collecting.
    fn release_last_units(&mut self, d: usize, sink: &mut impl OpSink) {
        let domain = &self.collector.domains[d];
        if self.writes_last_rows_alone()
            || domain.is_collecting()
            || domain.moving.is_empty()
            || self.host_has_room_everywhere(d)
        {
            return;
        }
        if !self.host_waits() {
            self.collector.held.insert(d as u32);
            return;
        }
        // A superblock of the cache is worth a row whatever has been gained.
        let of_cache = domain.moving.iter().any(|&sb| self.superblocks.in_pool(sb));
        if domain.gained < self.row_units && !of_cache && self.can_gain(d) {
            if self.collector.victims_per_start == 0 && self.free_without_victim(d) > self.collector.start_free {
                return; // Another is being erased, and will do.
            }
            self.start(d, Purpose::FreesSpace, Trigger::Need);
            self.collector_step(d, sink);
        } else {
            self.write_row(d, true, sink);
            self.retire_victims(d, sink);
        }
    }

    /// Superblocks that are free, or will be without another victim. Not counted: a victim that cannot finish because its
    /// last valid units do not fill a row.
    #[inline]
    fn free_without_victim(&self, d: usize) -> u32 {
        let domain = &self.collector.domains[d];
        let rests = domain.reading.is_none() && domain.units_under_way() == 0;
        let few = domain.staged.len() < self.row_units && domain.gained < self.row_units;
        let stuck = !domain.moving.is_empty() && rests && few && !self.host_has_room_everywhere(d);
        let waiting = || domain.moving.iter().filter(|&&sb| !self.superblocks.in_pool(sb)).count() as u32;
        self.allocator.free_or_coming(d) - if stuck { waiting() } else { 0 }
    }

    /// Whether a domain at rest would free space ahead of need.
    pub(super) fn collects_ahead(&self, d: usize) -> bool {
        let low = self.allocator.free_or_coming(d) < self.collector.background_free;
        let stalled = self.collector.stalled.contains(d as u32);
        !self.collector.domains[d].is_collecting() && low && !stalled && self.can_gain(d) && !self.is_read_only()
    }

    /// The drive is idle: collects ahead of need, if the firmware does so, in each domain as soon as nothing else is moved in
    /// it. Returns whether a collection runs.
    pub fn collect_in_background(&mut self, sink: &mut impl OpSink) -> bool {
        if self.is_read_only() {
            return false;
        }
        (self.collector.ahead_now, self.collector.host_rests) = (true, true);
        let mut any = false;
        for d in 0..self.collector.domains.len() {
            if self.collects_ahead(d) {
                self.start(d, Purpose::FreesSpace, Trigger::DriveIdle);
                self.collector_step(d, sink);
            } else if self.pacing.follows_host() {
                self.go_on_in_step(d, sink);
            }
            any |= self.collector.domains[d].is_collecting();
        }
        any
    }

    /// The host is back: background collections end after what they hold, unless they go on beside it.
    pub fn stop_background(&mut self, sink: &mut impl OpSink) {
        (self.collector.ahead_now, self.collector.host_rests) = (false, false);
        if self.is_frozen() {
            return;
        }
        if self.collector.beside_host {
            return self.press_where_short(sink);
        }
        for d in 0..self.collector.domains.len() {
            self.collector.domains[d].refreshes.retain(|refresh| refresh.urgent);
            if self.collector.domains[d].stop_working_ahead() {
                self.end_if_done(d);
                self.start_if_due(d, sink);
                self.note_writable(d);
            }
        }
    }

    /// The host waits again: victims that are held up by their last units.
    pub(super) fn release_held(&mut self, sink: &mut impl OpSink) {
        // Those that go on waiting for the host come into it again.
        let mut held = self.collector.held.clone();
        while let Some(d) = held.pop_first() {
            self.collector.held.remove(d);
            if self.pacing.follows_host() {
                self.go_on_in_step(d as usize, sink);
            }
            self.release_last_units(d as usize, sink);
            self.note_writable(d as usize);
        }
    }

    /// Units have died in domains whose collection had found nothing to gain.
    pub(super) fn look_at_revived(&mut self, sink: &mut impl OpSink) {
        while let Some(d) = self.collector.revived.pop_first() {
            self.collector.stalled.remove(d);
            self.start_if_due(d as usize, sink);
            self.note_writable(d as usize);
        }
    }

    /// Moves a collection on as far as buffer, space and policy allow.
    pub(super) fn collector_step(&mut self, d: usize, sink: &mut impl OpSink) {
        if self.writes_last_rows_alone() {
            return self.note_writable(d);
        }
        match self.collector.buffering {
            Buffering::Streaming => self.step_streaming(d, sink),
            Buffering::StopAndWait => self.step_stop_and_wait(d, sink),
        }
        self.end_if_done(d);
        self.start_if_due_again(d, sink);
        self.note_writable(d);
    }

    /// Whether a collection is through with reading and has gained enough to write out a row that is not full.
    fn pads_at_end(&self, d: usize) -> bool {
        self.nothing_left_to_read(d) && self.collector.domains[d].gained >= self.row_units
    }

    fn nothing_left_to_read(&self, d: usize) -> bool {
        let domain = &self.collector.domains[d];
        domain.reading.is_none() && domain.units_reading == 0 && !self.more_victims(d)
    }

    /// Whether a collection would choose another victim.
    fn more_victims(&self, d: usize) -> bool {
        let Some(collection) = self.collector.domains[d].collection() else { return false };
        collection.quota != Quota::Over
            && match collection.purpose {
                Purpose::FoldsCache => self.fold_candidate(d).is_some(),
                Purpose::RefreshesData => self.refresh_candidate(d).is_some(),
                Purpose::FreesSpace => self.space_is_wanted(d, collection.trigger),
            }
    }

    /// Whether what is free, or will be, is less than the collection works towards.
    fn space_is_wanted(&self, d: usize, trigger: Trigger) -> bool {
        match trigger {
            Trigger::DriveIdle => self.free_without_victim(d) < self.collector.background_free,
            Trigger::Need | Trigger::HostIsBack => {
                self.collector.victims_per_start != 0 || self.space_is_low(d, self.free_without_victim(d))
            }
        }
    }

    fn end_if_done(&mut self, d: usize) {
        let domain = &self.collector.domains[d];
        if !domain.is_collecting() || domain.reading.is_some() || self.more_victims(d) {
            return;
        }
        // Streaming collectors may keep a few units until the next collection; others only if all that they have
        // gained is less than a row.
        let streaming = self.collector.buffering == Buffering::Streaming && !domain.chooses_none();
        let may_keep = streaming || domain.gained < self.row_units;
        let staged = domain.staged.len();
        if domain.units_under_way() == 0 && (staged == 0 || may_keep && staged < self.row_units) {
            self.collector.domains[d].state = domain::State::Idle;
            self.collector.round = Round::None;
        }
    }

    /// Whether collecting can free a superblock at all: not where a domain has come to hold so much that what is dead in
    /// it, together with what is left of the superblock that the collector writes, is less than one. A single die can
    /// come to this while the spare area of the others is still large.
    pub(super) fn can_gain(&self, d: usize) -> bool {
        let domain = &self.collector.domains[d];
        let rows = self.allocator.collector_rows_left(d);
        let room = (rows * self.row_units).saturating_sub(domain.staged.len() + domain.units_reading);
        domain.dead + u64::from(room) >= u64::from(self.superblock_units)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, LogicalPage};

    use crate::op::FlashOp;
    use crate::page_map::small;

    /// Superblocks that are free, or wait for a few last units only, after a rest that began `just_begun`: when a collection for need had just begun, or when none ran.
    fn free_after_a_rest(background_free: u32, victims_per_start: u32, just_begun: bool) -> u32 {
        let (mut map, mut rng) = (small::map(false), Rng::new(3));
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        map.collector.background_free = background_free;
        map.collector.victims_per_start = victims_per_start;
        for k in 0..3000 {
            map.write(LogicalPage::new(rng.below(small::PAGES.into()) as u32), k as u8, 0);
            map.dispatch(&mut ops);
            if k > 2000 && just_begun && map.is_collecting() {
                break;
            }
            small::work(&mut map, &mut ops);
        }
        assert_eq!(map.is_collecting(), just_begun);
        map.collect_in_background(&mut ops);
        small::work(&mut map, &mut ops);
        assert_eq!(map.check_invariants(), Ok(()));
        map.allocator.free_or_coming(0)
    }

    #[test]
    fn an_idle_drive_collects_until_as_much_is_free_as_it_works_towards_however_it_came_to_rest() {
        for victims_per_start in [0, 1, 2] {
            for just_begun in [false, true] {
                let free = [3, 4, 5].map(|to| free_after_a_rest(to, victims_per_start, just_begun));
                assert_eq!(free, [3, 4, 5], "{victims_per_start} a time, a collection has just begun: {just_begun}");
            }
        }
    }
}
