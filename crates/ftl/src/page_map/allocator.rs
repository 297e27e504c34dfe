//! Where the next row goes: the free superblocks of every domain, the open ones, and what is kept for whom.

use std::collections::VecDeque;

use ssdlab_nand::{BlockId, CellMode, DieId, Medium};

use super::frontier::Frontier;
use super::superblock::{Role, State, SuperblockId, Superblocks};
use crate::spec::{Frontier as FrontierPolicy, STREAMS};

/// Who wants a row, and in which cell mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The host, in the die's own cell mode.
    Host { stream: u8 },
    /// The host, at one bit per cell.
    HostCache,
    /// The collector, for data of a stream.
    Collector { stream: u8 },
}

/// Why the host gets no row in a domain now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// The superblocks set aside for the cache are full.
    CacheFull,
    /// What is free is kept for the collector.
    KeptForCollector,
}

/// What the victims of a domain still hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToMove {
    pub victims: u32,
    pub units: u32,
}

/// A row that has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub superblock: SuperblockId,
    pub die: DieId,
    pub block: BlockId,
    pub page: u32,
    /// It is the last of its superblock, which is closed now.
    pub last: bool,
}

/// Free and open superblocks of one domain.
#[derive(Clone, Debug, Default)]
struct Space {
    /// Erased superblocks, the one freed first in front; those set aside for one bit per cell have their own list.
    free: VecDeque<SuperblockId>,
    pool_free: VecDeque<SuperblockId>,
    /// Victims chosen that are not free yet.
    coming: u32,
    pool_coming: u32,
    /// Open superblocks by stream.
    host: [Option<Frontier>; STREAMS as usize],
    /// Used only where host and collector write apart.
    collector: [Option<Frontier>; STREAMS as usize],
    /// The host's open superblock of one bit per cell.
    cache: Option<Frontier>,
    /// Any of these are others than when this was last asked.
    changed: bool,
}

impl Space {
    /// What the collector writes into.
    fn collectors(&self, shared: bool) -> &[Option<Frontier>; STREAMS as usize] {
        if shared { &self.host } else { &self.collector }
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Allocator {
    spaces: Vec<Space>,
    /// Host and collector write into the same open superblocks.
    shared_frontier: bool,
    /// Streams that have open superblocks of their own.
    streams: u8,
    /// The least worn free superblock is opened, not the one that was freed first.
    least_worn_first: bool,
    row_units: u32,
}

impl Allocator {
    /// Lists every free superblock of a drive that is empty.
    #[must_use]
    pub fn new(superblocks: &Superblocks, frontier: FrontierPolicy, least_worn_first: bool, row_units: u32) -> Self {
        let mut spaces = vec![Space { changed: true, ..Space::default() }; superblocks.domains() as usize];
        for (domain, space) in spaces.iter_mut().enumerate() {
            for sb in superblocks.of_domain(domain).filter(|&sb| superblocks.state(sb) == State::Free) {
                if superblocks.in_pool(sb) { &mut space.pool_free } else { &mut space.free }.push_back(sb);
            }
        }
        Allocator {
            spaces,
            shared_frontier: frontier == FrontierPolicy::Shared,
            streams: frontier.streams(),
            least_worn_first,
            row_units,
        }
    }

    #[inline]
    #[must_use]
    pub fn domains(&self) -> usize {
        self.spaces.len()
    }

    /// Streams that have open superblocks of their own.
    #[inline]
    #[must_use]
    pub fn streams(&self) -> u8 {
        self.streams
    }

    /// Whether other superblocks of a domain are free, coming or open than when this was last asked.
    #[inline]
    pub fn has_changed(&mut self, domain: usize) -> bool {
        std::mem::take(&mut self.spaces[domain].changed)
    }

    /// Free superblocks in the die's own cell mode.
    #[inline]
    #[must_use]
    pub fn free(&self, domain: usize) -> u32 {
        self.spaces[domain].free.len() as u32
    }

    /// Free superblocks, and victims on their way to be free.
    #[inline]
    #[must_use]
    pub fn free_or_coming(&self, domain: usize) -> u32 {
        let space = &self.spaces[domain];
        space.free.len() as u32 + space.coming
    }

    /// Victims on their way to be free.
    #[inline]
    #[must_use]
    pub fn coming(&self, domain: usize) -> u32 {
        self.spaces[domain].coming
    }

    /// The same two of the superblocks that are set aside for the cache.
    #[inline]
    #[must_use]
    pub fn pool_free(&self, domain: usize) -> u32 {
        self.spaces[domain].pool_free.len() as u32
    }

    #[inline]
    #[must_use]
    pub fn pool_coming(&self, domain: usize) -> u32 {
        self.spaces[domain].pool_coming
    }

    /// Whether the host has a superblock of one bit per cell open.
    #[inline]
    #[must_use]
    pub fn cache_is_open(&self, domain: usize) -> bool {
        self.spaces[domain].cache.is_some()
    }

    /// Whether the host has a superblock of the die's own mode open for a stream.
    #[inline]
    #[must_use]
    pub fn host_is_open(&self, domain: usize, stream: u8) -> bool {
        self.spaces[domain].host[self.open_for(stream)].is_some()
    }

    /// The superblock of the die's own mode that the host has open for a stream.
    #[must_use]
    pub fn host_superblock(&self, domain: usize, stream: u8) -> Option<SuperblockId> {
        self.spaces[domain].host[self.open_for(stream)].as_ref().map(Frontier::superblock)
    }

    /// Whether the host may open another superblock of the die's own mode: one is always kept for the collector, and one
    /// for each superblock of the cache that is being folded.
    #[inline]
    #[must_use]
    pub fn may_open(&self, domain: usize) -> bool {
        self.free(domain) >= 2 + self.spaces[domain].pool_coming
    }

    /// Whether the collector can write a row of a stream.
    #[inline]
    #[must_use]
    pub fn collector_has_room(&self, domain: usize, stream: u8) -> bool {
        let space = &self.spaces[domain];
        space.collectors(self.shared_frontier)[stream as usize].is_some() || !space.free.is_empty()
    }

    /// Rows left in the open superblock of the collector that has most of them: what is left in that of another stream is
    /// of no use to a victim.
    #[must_use]
    pub fn collector_rows_left(&self, domain: usize) -> u32 {
        let open = self.spaces[domain].collectors(self.shared_frontier).iter().flatten();
        open.map(Frontier::rows_left).max().unwrap_or(0)
    }

    /// Rows left in the open superblocks of the die's own mode: all of the host's, and the collector's that has most of them.
    #[must_use]
    pub fn open_rows_left(&self, domain: usize) -> u32 {
        let of_host: u32 = self.spaces[domain].host.iter().flatten().map(Frontier::rows_left).sum();
        of_host + if self.shared_frontier { 0 } else { self.collector_rows_left(domain) }
    }

    /// Where writes differ only in whether the cache takes them, their streams share one open superblock.
    #[inline]
    fn open_for(&self, stream: u8) -> usize {
        if stream < self.streams { stream.into() } else { 0 }
    }

    /// Whether there is a row for the host that the collector does not need. `to_move`: what its victims still hold.
    ///
    /// # Errors
    /// Why there is none.
    #[inline(always)]
    pub fn room_for_host(
        &self,
        domain: usize,
        writer: Writer,
        has_pool: bool,
        to_move: impl FnOnce() -> ToMove,
    ) -> Result<(), NoRoom> {
        let space = &self.spaces[domain];
        let (open, pool) = match writer {
            Writer::HostCache => (&space.cache, has_pool),
            Writer::Host { stream } | Writer::Collector { stream } => (&space.host[self.open_for(stream)], false),
        };
        let fits = match open {
            Some(open) => !self.shared_frontier || !space.free.is_empty() || self.fits_beside(domain, open, to_move()),
            None if pool => !space.pool_free.is_empty(),
            None => self.may_open(domain),
        };
        let reason = if pool { NoRoom::CacheFull } else { NoRoom::KeptForCollector };
        if fits { Ok(()) } else { Err(reason) }
    }

    /// Sees to it that the host has a row of a stream although the collector would need it, which writes no more.
    /// Returns whether there is one.
    pub fn finds_last_room(&mut self, domain: usize, stream: u8, superblocks: &mut Superblocks) -> bool {
        let at = self.open_for(stream);
        let space = &mut self.spaces[domain];
        if space.host[at].is_none() && space.free.is_empty() && !self.shared_frontier {
            let open = space.collector.iter_mut().max_by_key(|open| open.as_ref().map_or(0, Frontier::rows_left));
            space.host[at] = open.and_then(Option::take);
            space.changed = true;
            if let Some(lent) = &space.host[at] {
                // As the rows say that follow.
                superblocks.set_role(lent.superblock(), Role::Host);
            }
        }
        space.host[at].is_some() || !space.free.is_empty()
    }

    /// Rows that [`Allocator::finds_last_room`] has for the host, of a domain whose superblocks have so many, where all streams
    /// share one open superblock.
    #[must_use]
    pub fn last_rows(&self, domain: usize, superblock_rows: u32) -> u32 {
        let space = &self.spaces[domain];
        let left = |open: &Option<Frontier>| open.as_ref().map_or(0, Frontier::rows_left);
        let lent = if !self.shared_frontier { self.collector_rows_left(domain) } else { 0 };
        left(&space.host[0]) + lent + self.free(domain) * superblock_rows
    }

    /// On a shared frontier without a free superblock behind it: whether the host may take a row and still leave room
    /// for all that the victims hold. It may in any case if one of them only waits to be erased.
    #[cold]
    fn fits_beside(&self, domain: usize, open: &Frontier, to_move: ToMove) -> bool {
        // A row for the host, and one that the collector may not fill.
        self.spaces[domain].coming > to_move.victims || open.rows_left() >= to_move.units.div_ceil(self.row_units) + 2
    }

    /// Takes the next row, opening a superblock if need be; `None` if there is no free one. With the last row of a
    /// superblock its state turns to closed.
    #[inline(always)]
    pub fn take(
        &mut self,
        domain: usize,
        writer: Writer,
        superblocks: &mut Superblocks,
        medium: &mut Medium,
    ) -> Option<Place> {
        let stream = match writer {
            Writer::HostCache => 0,
            Writer::Host { stream } | Writer::Collector { stream } => self.open_for(stream),
        };
        let space = &mut self.spaces[domain];
        let open = match writer {
            Writer::HostCache => &mut space.cache,
            Writer::Collector { stream } if !self.shared_frontier => &mut space.collector[stream as usize],
            Writer::Host { .. } | Writer::Collector { .. } => &mut space.host[stream],
        };
        if open.is_none() {
            let cached = writer == Writer::HostCache;
            let free = if cached && superblocks.has_pool() { &mut space.pool_free } else { &mut space.free };
            let sb = Self::take_free(free, self.least_worn_first, superblocks, medium)?;
            let role = match writer {
                Writer::HostCache => Role::Cache,
                Writer::Collector { .. } if !self.shared_frontier => Role::Collector,
                Writer::Host { .. } | Writer::Collector { .. } => Role::Host,
            };
            superblocks.open(sb, stream as u8, role);
            space.changed = true;
            *open = Some(Self::begin(sb, domain, cached, superblocks, medium));
        }
        let frontier = open.as_mut()?;
        let superblock = frontier.superblock();
        let (die, page, last) = frontier.take();
        if last {
            *open = None;
            space.changed = true;
            superblocks.set_state(superblock, State::Closed);
        }
        Some(Place { superblock, die, block: superblocks.block_on(superblock, die), page, last })
    }

    /// Begins to write a superblock that has been opened; `cached`: at one bit per cell.
    #[cold]
    fn begin(
        sb: SuperblockId,
        domain: usize,
        cached: bool,
        superblocks: &Superblocks,
        medium: &mut Medium,
    ) -> Frontier {
        let dies = superblocks.dies_of(domain);
        if !cached {
            return Frontier::new(sb, dies, medium.layout().pages);
        }
        for die in dies.iter() {
            let block = superblocks.block_on(sb, die);
            medium.open(block, CellMode::Slc).expect("a free superblock is erased, and its die has the mode");
        }
        Frontier::new(sb, dies, medium.pages(superblocks.any_block(sb)))
    }

    /// Goes on with a superblock that was open when the power went.
    pub fn reopen(&mut self, domain: usize, role: Role, stream: u8, frontier: Frontier) {
        let space = &mut self.spaces[domain];
        let open = match role {
            Role::Cache => &mut space.cache,
            Role::Collector => &mut space.collector[stream as usize],
            Role::Host => &mut space.host[stream as usize],
        };
        debug_assert!(open.is_none());
        *open = Some(frontier);
        space.changed = true;
    }

    /// Open superblocks of the host, and those of the collector but for the one with most rows left: what a drive can give
    /// up to be collected.
    #[must_use]
    pub fn dispensable(&self, domain: usize) -> Option<SuperblockId> {
        let space = &self.spaces[domain];
        let most = self.collector_rows_left(domain);
        let host = space.host.iter().flatten().filter(|_| !self.shared_frontier || self.streams > 1);
        let of_host = host.chain(&space.cache).map(Frontier::superblock).next();
        let others = space.collectors(self.shared_frontier).iter().flatten();
        of_host.or_else(|| others.filter(|open| open.rows_left() < most).map(Frontier::superblock).next())
    }

    /// Writes no more into an open superblock.
    pub fn close(&mut self, domain: usize, sb: SuperblockId) {
        let space = &mut self.spaces[domain];
        let open = space.host.iter_mut().chain(&mut space.collector).chain([&mut space.cache]);
        open.filter(|open| open.as_ref().is_some_and(|open| open.superblock() == sb)).for_each(|open| *open = None);
        space.changed = true;
    }

    /// Takes the superblock out of a free list that is opened next.
    #[cold]
    fn take_free(
        free: &mut VecDeque<SuperblockId>,
        least_worn_first: bool,
        superblocks: &Superblocks,
        medium: &Medium,
    ) -> Option<SuperblockId> {
        let wear = |sb: SuperblockId| superblocks.most_erases(sb, medium);
        let at = if least_worn_first { (0..free.len()).min_by_key(|&k| wear(free[k]))? } else { 0 };
        free.remove(at)
    }

    /// A superblock is being emptied, and will be free.
    pub fn expect(&mut self, domain: usize, from_pool: bool) {
        let space = &mut self.spaces[domain];
        space.changed = true;
        *(if from_pool { &mut space.pool_coming } else { &mut space.coming }) += 1;
    }

    /// A superblock that was expected has been erased. `sound`: it can be used again.
    pub fn arrived(&mut self, domain: usize, sb: SuperblockId, from_pool: bool, sound: bool) {
        let space = &mut self.spaces[domain];
        space.changed = true;
        let (coming, free) = if from_pool {
            (&mut space.pool_coming, &mut space.pool_free)
        } else {
            (&mut space.coming, &mut space.free)
        };
        *coming -= 1;
        if sound {
            free.push_back(sb);
        }
    }

    /// A superblock of the die's own mode is free that was not the drive's to use before.
    pub fn add_free(&mut self, domain: usize, sb: SuperblockId) {
        let space = &mut self.spaces[domain];
        space.changed = true;
        space.free.push_back(sb);
    }

    /// Gives up the free superblock that was freed last, for its blocks.
    pub fn give_up_free(&mut self, domain: usize) -> Option<SuperblockId> {
        let space = &mut self.spaces[domain];
        space.changed = true;
        space.free.pop_back()
    }

    /// Every open superblock of a domain, whoever writes it.
    pub fn open_superblocks(&self, domain: usize) -> impl Iterator<Item = SuperblockId> + '_ {
        let space = &self.spaces[domain];
        space.host.iter().chain(&space.collector).chain([&space.cache]).flatten().map(Frontier::superblock)
    }

    /// The open superblock of one bit per cell.
    #[must_use]
    pub fn open_cache_superblock(&self, domain: usize) -> Option<SuperblockId> {
        self.spaces[domain].cache.as_ref().map(Frontier::superblock)
    }

    /// Every free superblock of a domain: those in the die's own mode, then those set aside.
    pub fn free_superblocks(&self, domain: usize) -> impl Iterator<Item = SuperblockId> + '_ {
        self.spaces[domain].free.iter().chain(&self.spaces[domain].pool_free).copied()
    }
}
