//! Superblocks: what is opened, written, collected and erased together.

use serde::{Deserialize, Serialize};
use ssdlab_core::number_type;
use ssdlab_nand::{BlockId, CellMode, DieId, Dies, Layout, Medium, UnitAddress};

use crate::spec::{MappingSpec, SuperblockSpan};

number_type! {
    /// A superblock's number over all domains. With one-die superblocks it is the number of its first block: another may
    /// have taken that one's place since.
    pub struct SuperblockId;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Erased and ready to be opened.
    Free,
    /// Being written.
    Open,
    /// Written to its end; a candidate for collection.
    Closed,
    /// Written to its end with one bit per cell, of those set aside for that: waits to be folded.
    Cached,
    /// Being collected, or waiting to be erased.
    Victim,
    /// Kept for the journal and checkpoints.
    System,
    /// Kept back as replacement, or without a good block.
    Reserved,
}

/// Who writes an open superblock, as the spare areas of its rows say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// The host; and the collector, where both share their superblocks.
    #[default]
    Host,
    Collector,
    /// The host, at one bit per cell.
    Cache,
}

/// State and valid counts of all superblocks, and which blocks they are made of.
///
/// A superblock over all dies, or a group of them, takes the block of its own number within its domain on each of them. Where that block is bad, firmware
/// puts one from the reserve in its place, so that all superblocks are of one size; a superblock for which the
/// reserve has run out is not used. One-die superblocks whose blocks are bad from the factory are not used either; where a
/// block goes bad in use, it and the one that takes its place change superblocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Superblocks {
    span: SuperblockSpan,
    /// Dies of a superblock.
    width: u32,
    blocks_per_die: u32,
    dies: u32,
    state: Vec<State>,
    /// Valid units.
    valid: Vec<u32>,
    /// Stream of what an open, closed or collected superblock holds.
    stream: Vec<u8>,
    /// Who has opened it.
    role: Vec<Role>,
    /// Erases still under way.
    erasing: Vec<u16>,
    /// Which ones are set aside for one bit per cell; empty where none are.
    pool: Vec<bool>,
    /// Block by die and number within the domain, and the way back. Empty, over one die, as long as no block has been
    /// replaced: every superblock is then the block of its own number.
    block_of: Vec<BlockId>,
    superblock_of: Vec<SuperblockId>,
    /// Good, erased blocks of each die that replace those that go bad, the next one last.
    reserve: Vec<Vec<BlockId>>,
}

const UNUSED: SuperblockId = SuperblockId(u32::MAX);

impl Superblocks {
    /// Forms superblocks; the `reserve` highest-numbered blocks of every die are kept back.
    #[must_use]
    pub fn new(mapping: &MappingSpec, medium: &Medium, reserve: u32) -> Self {
        let layout = medium.layout();
        let (span, width) = (mapping.superblock, mapping.superblock_dies(layout.dies));
        let count = layout.blocks * (layout.dies / width);
        let mut s = Superblocks {
            span,
            width,
            blocks_per_die: layout.blocks,
            dies: layout.dies,
            state: vec![State::Free; count as usize],
            valid: vec![0; count as usize],
            stream: vec![0; count as usize],
            role: vec![Role::Host; count as usize],
            erasing: vec![0; count as usize],
            pool: Vec::new(),
            block_of: Vec::new(),
            superblock_of: Vec::new(),
            reserve: vec![Vec::new(); layout.dies as usize],
        };
        let first_reserved = layout.blocks.saturating_sub(reserve);
        match span {
            SuperblockSpan::AllDies | SuperblockSpan::DieGroup => s.replace_bad_blocks(medium, first_reserved),
            SuperblockSpan::OneDie => {
                for block in layout.all_blocks() {
                    let (die, index) = layout.die_of(block);
                    if medium.is_bad(block) || index >= first_reserved {
                        s.state[block.index()] = State::Reserved;
                    }
                    if !medium.is_bad(block) && index >= first_reserved {
                        s.reserve[die.index()].push(block);
                    }
                }
                s.reserve.iter_mut().for_each(|blocks| blocks.reverse());
            }
        }
        s
    }

    /// Forms all superblocks anew, once every good block has been erased: as many as there were, as long as the reserve
    /// replaces those whose blocks have gone bad.
    pub fn form_again(&mut self, mapping: &MappingSpec, medium: &Medium, reserve: u32) {
        let before = std::mem::replace(self, Superblocks::new(mapping, medium, reserve));
        if self.span != SuperblockSpan::OneDie {
            return; // A bad block has been replaced already.
        }
        let in_use = |s: &Superblocks, domain| s.per_domain() as usize - s.count_in(domain, State::Reserved);
        for domain in 0..self.domains() as usize {
            while in_use(self, domain) < in_use(&before, domain) && self.enlist_reserve(domain).is_some() {}
        }
    }

    fn replace_bad_blocks(&mut self, medium: &Medium, first_reserved: u32) {
        let layout = medium.layout();
        self.block_of = layout.all_blocks().collect();
        let of_block = |block| {
            let (die, index) = layout.die_of(block);
            self.global(index, self.domain_of_die(die))
        };
        self.superblock_of = layout.all_blocks().map(of_block).collect();
        for die in Dies::all(self.dies).iter() {
            let domain = self.domain_of_die(die);
            let kept_back = (first_reserved..layout.blocks).map(|index| layout.block_at(die, index));
            let mut reserve = kept_back.filter(|&block| !medium.is_bad(block));
            for index in 0..first_reserved {
                let own = layout.block_at(die, index);
                if !medium.is_bad(own) {
                    continue;
                }
                self.superblock_of[own.index()] = UNUSED;
                match reserve.next() {
                    Some(block) => {
                        self.block_of[own.index()] = block;
                        self.superblock_of[block.index()] = self.global(index, domain);
                    }
                    None => self.set_state(self.global(index, domain), State::Reserved),
                }
            }
            self.reserve[die.index()] = reserve.rev().collect();
        }
        for domain in 0..self.domains() as usize {
            for index in 0..self.blocks_per_die {
                let sb = self.global(index, domain);
                if index >= first_reserved {
                    self.set_state(sb, State::Reserved);
                } else if self.state(sb) == State::Reserved {
                    self.give_up(sb, medium);
                }
            }
        }
    }

    /// Puts a superblock out of use: the good blocks of an erased one replace others from now on.
    pub fn give_up(&mut self, sb: SuperblockId, medium: &Medium) {
        self.state[sb.index()] = State::Reserved;
        if !self.pool.is_empty() {
            self.pool[sb.index()] = false;
        }
        for die in self.dies_of_superblock(sb).iter() {
            let block = self.block_on(sb, die);
            if medium.layout().die_of(block).0 == die && !medium.is_bad(block) {
                self.reserve[die.index()].insert(0, block);
            }
        }
    }

    /// Sets as many places of a ring aside as are wanted, if there are so many: of each domain the highest-numbered superblocks
    /// that are free. For each place, its blocks by die.
    pub fn take_ring(&mut self, wanted: u32) -> Vec<Vec<BlockId>> {
        let is_free = |&sb: &SuperblockId| self.state(sb) == State::Free;
        let free = |domain| self.of_domain(domain).filter(is_free).count() as u32;
        let places = (0..self.domains() as usize).map(free).min().unwrap_or(0).min(wanted);
        let by_die = self.take_of_every_die(places);
        (0..places as usize).map(|place| by_die.iter().map(|blocks| blocks[place]).collect()).collect()
    }

    /// Sets so many blocks of every die aside: of each domain the highest-numbered superblocks that are free. Returns them by
    /// die: fewer, where there are not so many.
    pub fn take_of_every_die(&mut self, wanted: u32) -> Vec<Vec<BlockId>> {
        let mut blocks = vec![Vec::new(); self.dies as usize];
        for domain in 0..self.domains() as usize {
            let free: Vec<SuperblockId> = self.of_domain(domain).filter(|&sb| self.state(sb) == State::Free).collect();
            for &sb in free.iter().rev().take(wanted as usize) {
                self.set_state(sb, State::System);
                for die in self.dies_of(domain).iter() {
                    blocks[die.index()].push(self.block_on(sb, die));
                }
            }
        }
        blocks
    }

    /// A good, erased block of this die from the reserve.
    pub fn take_reserve(&mut self, die: DieId) -> Option<BlockId> {
        self.reserve[die.index()].pop()
    }

    /// Makes a free superblock of a domain out of good, erased blocks from the reserve, one of each die, if there are.
    pub fn enlist_reserve(&mut self, domain: usize) -> Option<SuperblockId> {
        let sb = match self.span {
            SuperblockSpan::OneDie => {
                let block = self.take_reserve(DieId::new(domain as u32))?;
                self.of_block(block)
            }
            SuperblockSpan::AllDies | SuperblockSpan::DieGroup => {
                let dies = self.dies_of(domain);
                if dies.iter().any(|die| self.reserve[die.index()].is_empty()) {
                    return None;
                }
                let sb = self.of_domain(domain).find(|&sb| self.state(sb) == State::Reserved)?;
                let local = sb.number() - self.global(0, domain).number();
                for die in dies.iter() {
                    let block = self.take_reserve(die)?;
                    self.block_of[(die.number() * self.blocks_per_die + local) as usize] = block;
                    self.superblock_of[block.index()] = sb;
                }
                sb
            }
        };
        self.set_state(sb, State::Free);
        Some(sb)
    }

    /// Every block of the reserve.
    pub fn reserve(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.reserve.iter().flatten().copied()
    }

    /// Blocks left in the reserve of the die that has fewest.
    #[must_use]
    pub fn reserve_left(&self) -> u32 {
        self.reserve.iter().map(|blocks| blocks.len() as u32).min().unwrap_or(0)
    }

    /// Puts block `to` of the reserve in the place of `from`, with all that it holds: the superblock stays what it is.
    pub fn replace(&mut self, from: BlockId, to: BlockId) {
        if self.block_of.is_empty() {
            self.block_of = (0..self.count()).map(BlockId::new).collect();
            self.superblock_of = self.all().collect();
        }
        let sb = self.of_block(from);
        let die = DieId::new(from.number() / self.blocks_per_die);
        let place = self.place(sb, die);
        self.block_of[place] = to;
        let spare = std::mem::replace(&mut self.superblock_of[to.index()], sb);
        self.superblock_of[from.index()] = UNUSED;
        if self.span == SuperblockSpan::OneDie {
            // Every block keeps a superblock: one of the reserve may be enlisted.
            self.superblock_of[from.index()] = spare;
            self.block_of[spare.index()] = from;
        }
    }

    /// Whether all blocks of a superblock are good.
    #[must_use]
    pub fn is_sound(&self, sb: SuperblockId, domain: usize, medium: &Medium) -> bool {
        self.dies_of(domain).iter().all(|die| !medium.is_bad(self.block_on(sb, die)))
    }

    #[must_use]
    pub fn span(&self) -> SuperblockSpan {
        self.span
    }

    #[must_use]
    pub fn dies(&self) -> u32 {
        self.dies
    }

    #[inline]
    #[must_use]
    pub fn state(&self, sb: SuperblockId) -> State {
        self.state[sb.index()]
    }

    #[inline]
    pub fn set_state(&mut self, sb: SuperblockId, state: State) {
        self.state[sb.index()] = state;
    }

    /// Whether any superblock of a domain is in a state.
    #[must_use]
    pub fn any_in(&self, domain: usize, state: State) -> bool {
        self.of_domain(domain).any(|sb| self.state(sb) == state)
    }

    /// Superblocks of a domain that are in a state.
    #[must_use]
    pub fn count_in(&self, domain: usize, state: State) -> usize {
        self.of_domain(domain).filter(|&sb| self.state(sb) == state).count()
    }

    /// Superblocks that can hold the host's data in the die's own cell mode.
    #[must_use]
    pub fn usable(&self) -> u64 {
        let kept = |s: &State| !matches!(s, State::System | State::Reserved);
        let pool = self.pool.iter().filter(|&&p| p).count() as u64;
        self.state.iter().filter(|s| kept(s)).count() as u64 - pool
    }

    /// Valid units of a superblock.
    #[inline]
    #[must_use]
    pub fn valid(&self, sb: SuperblockId) -> u32 {
        self.valid[sb.index()]
    }

    /// Units of a superblock have become valid. Returns how many are.
    #[inline]
    pub fn gain_valid(&mut self, sb: SuperblockId, units: u32) -> u32 {
        let valid = &mut self.valid[sb.index()];
        *valid += units;
        *valid
    }

    /// Units of a superblock are valid no more. Returns how many are left.
    #[inline]
    pub fn lose_valid(&mut self, sb: SuperblockId, units: u32) -> u32 {
        let valid = &mut self.valid[sb.index()];
        *valid -= units;
        *valid
    }

    /// The stream of what a superblock holds.
    #[inline]
    #[must_use]
    pub fn stream(&self, sb: SuperblockId) -> u8 {
        self.stream[sb.index()]
    }

    /// A free superblock is opened for a stream.
    pub fn open(&mut self, sb: SuperblockId, stream: u8, role: Role) {
        debug_assert_eq!(self.state[sb.index()], State::Free);
        self.state[sb.index()] = State::Open;
        self.stream[sb.index()] = stream;
        self.role[sb.index()] = role;
    }

    /// Who has opened a superblock.
    #[must_use]
    pub fn role(&self, sb: SuperblockId) -> Role {
        self.role[sb.index()]
    }

    pub fn set_role(&mut self, sb: SuperblockId, role: Role) {
        self.role[sb.index()] = role;
    }

    /// The power went. What stays is on flash: the table of blocks (which superblocks they make, which are bad, reserved, the
    /// firmware's own or set aside), which is written whenever it changes, and what the spare areas of a superblock say of
    /// it. What each holds is to be found out: until then all count as free.
    pub fn forget_contents(&mut self) {
        for state in &mut self.state {
            if !matches!(*state, State::System | State::Reserved) {
                *state = State::Free;
            }
        }
        self.valid.fill(0);
        self.erasing.fill(0);
    }

    /// Whether these are superblocks of the same drive, whatever they hold.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Superblocks) -> bool {
        let lengths = |s: &Superblocks| {
            let tables = [s.state.len(), s.valid.len(), s.stream.len(), s.role.len(), s.erasing.len(), s.pool.len()];
            (s.span, (s.width, s.blocks_per_die, s.dies), tables, s.reserve.len())
        };
        if lengths(self) != lengths(other) {
            return false;
        }
        let count = self.dies * self.blocks_per_die;
        // With one-die superblocks no block may have been replaced yet.
        let table = (self.block_of.len(), self.superblock_of.len());
        if table != (count as usize, count as usize) && (self.span != SuperblockSpan::OneDie || table != (0, 0)) {
            return false;
        }
        let mut blocks = self.block_of.iter().chain(self.reserve.iter().flatten());
        let mut superblocks = self.superblock_of.iter().filter(|&&sb| sb != UNUSED);
        blocks.all(|&block| block.number() < count) && superblocks.all(|&sb| sb.number() < self.count())
    }

    /// Whether the table of blocks is one that a drive can have: every superblock in use has blocks of its own on its dies, what
    /// is in reserve is good and erased, and belongs to none, and only bad blocks hold data that are nobody's. `is_stream` and
    /// `is_role`: what there can be; `pool`: so many superblocks of every domain, at most, are set aside for one bit per cell.
    #[must_use]
    pub fn can_be(
        &self,
        medium: &Medium,
        is_stream: impl Fn(u32) -> bool,
        is_role: impl Fn(Role) -> bool,
        pool: u32,
    ) -> bool {
        let layout = medium.layout();
        let elsewhere = |(&sb, block): (&SuperblockId, BlockId)| {
            sb != UNUSED && (sb.number() / self.blocks_per_die) as usize != self.domain_of_die(layout.die_of(block).0)
        };
        if self.superblock_of.iter().zip(layout.all_blocks()).any(elsewhere) {
            return false;
        }
        let homeless = |block: BlockId| self.of_block_checked(block).is_none();
        if self.span == SuperblockSpan::OneDie && layout.all_blocks().any(homeless) {
            return false;
        }
        let in_use = |&sb: &SuperblockId| self.state(sb) != State::Reserved;
        let own = |sb: SuperblockId| {
            let one = |die| {
                let block = self.block_on(sb, die);
                layout.die_of(block).0 == die && self.of_block(block) == sb
            };
            self.dies_of_superblock(sb).iter().all(one)
        };
        let mut taken = vec![false; layout.block_count() as usize];
        let mut spare = |die: usize, block: BlockId| {
            let belongs = self.of_block_checked(block).is_some_and(|sb| in_use(&sb));
            let empty = medium.is_erased(block) || medium.is_half_erased(block);
            let twice = std::mem::replace(&mut taken[block.index()], true);
            layout.die_of(block).0.index() == die && empty && !medium.is_bad(block) && !belongs && !twice
        };
        let somebodys = |block: BlockId| {
            let holds_data = !medium.is_bad(block) && medium.finished_pages(block) > 0;
            !holds_data || self.of_block_checked(block).is_some_and(|sb| in_use(&sb))
        };
        let in_mode = |block: BlockId| medium.is_erased(block) || medium.mode(block) == CellMode::Slc;
        let in_pool = |sb: &SuperblockId| self.in_pool(*sb);
        let aside = |domain: usize| self.of_domain(domain).filter(in_pool).count() as u32 <= pool;
        self.all().filter(in_use).all(own)
            && layout.all_blocks().all(somebodys)
            && (0..self.domains() as usize).all(aside)
            && self.all().filter(in_use).filter(in_pool).all(|sb| self.blocks_of(sb).all(in_mode))
            && self.reserve.iter().enumerate().all(|(die, blocks)| blocks.iter().all(|&block| spare(die, block)))
            && self.stream.iter().all(|&stream| is_stream(stream.into()))
            && self.role.iter().all(|&role| is_role(role))
    }

    /// The superblock that a block belongs to, if it belongs to any.
    #[must_use]
    pub fn of_block_checked(&self, block: BlockId) -> Option<SuperblockId> {
        Some(self.of_block(block))
            .filter(|&sb| sb != UNUSED && self.block_on(sb, DieId::new(block.number() / self.blocks_per_die)) == block)
    }

    /// The number of a row within its superblock, in the order in which rows are taken.
    #[inline]
    #[must_use]
    pub fn row_number(&self, die: DieId, page: u32) -> u32 {
        match self.span {
            SuperblockSpan::AllDies => page * self.dies + die.number(),
            SuperblockSpan::OneDie => page,
            SuperblockSpan::DieGroup => page * self.width + die.number() % self.width,
        }
    }

    /// The blocks of a superblock, die by die.
    pub fn blocks_of(&self, sb: SuperblockId) -> impl Iterator<Item = BlockId> + '_ {
        self.dies_of_superblock(sb).iter().map(move |die| self.block_on(sb, die))
    }

    /// The blocks of a superblock are being erased, so many of them.
    pub fn begin_erase(&mut self, sb: SuperblockId, blocks: u32) {
        self.erasing[sb.index()] = blocks as u16;
    }

    /// A block of a superblock has been erased. Returns whether it was the last.
    pub fn block_erased(&mut self, sb: SuperblockId) -> bool {
        self.erasing[sb.index()] -= 1;
        self.erasing[sb.index()] == 0
    }

    /// Whether superblocks are set aside for one bit per cell.
    #[inline]
    #[must_use]
    pub fn has_pool(&self) -> bool {
        !self.pool.is_empty()
    }

    /// Sets the lowest-numbered free superblocks of every domain aside for one bit per cell, so many of each.
    pub fn set_pool_aside(&mut self, per_domain: u32) {
        self.pool = vec![false; self.state.len()];
        for domain in 0..self.domains() as usize {
            let free = self.of_domain(domain).filter(|&sb| self.state(sb) == State::Free);
            for sb in free.take(per_domain as usize).collect::<Vec<_>>() {
                self.pool[sb.index()] = true;
            }
        }
    }

    /// Whether a superblock is set aside for one bit per cell.
    #[inline]
    #[must_use]
    pub fn in_pool(&self, sb: SuperblockId) -> bool {
        !self.pool.is_empty() && self.pool[sb.index()]
    }

    #[must_use]
    pub fn count(&self) -> u32 {
        self.state.len() as u32
    }

    /// Every superblock, in order of its number.
    pub fn all(&self) -> impl Iterator<Item = SuperblockId> + use<> {
        (0..self.count()).map(SuperblockId)
    }

    /// Groups of superblocks that are collected by themselves.
    #[must_use]
    pub fn domains(&self) -> u32 {
        self.dies / self.width
    }

    /// Superblocks of one domain.
    #[must_use]
    pub fn per_domain(&self) -> u32 {
        self.blocks_per_die
    }

    /// Dies of one superblock.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number within its domain, and the domain.
    #[inline]
    #[must_use]
    pub fn local(&self, sb: SuperblockId, layout: &Layout) -> (u32, usize) {
        match self.span {
            SuperblockSpan::AllDies => (sb.number(), 0),
            SuperblockSpan::OneDie | SuperblockSpan::DieGroup => {
                let (domain, index) = layout.die_of(BlockId::new(sb.number()));
                (index, domain.index())
            }
        }
    }

    /// The superblock that a unit of flash lies in.
    #[inline]
    #[must_use]
    pub fn of_unit(&self, unit: UnitAddress, layout: &Layout) -> SuperblockId {
        self.of_block(layout.block_of(unit))
    }

    /// The domain that a block is collected in.
    #[inline]
    #[must_use]
    pub fn domain_of_block(&self, block: BlockId, layout: &Layout) -> usize {
        self.local(self.of_block(block), layout).1
    }

    #[inline]
    #[must_use]
    pub fn global(&self, local: u32, domain: usize) -> SuperblockId {
        SuperblockId(domain as u32 * self.blocks_per_die + local)
    }

    /// The superblocks of a domain.
    #[inline]
    pub fn of_domain(&self, domain: usize) -> impl Iterator<Item = SuperblockId> + use<> {
        let first = domain as u32 * self.blocks_per_die;
        (first..first + self.blocks_per_die).map(SuperblockId)
    }

    /// The superblock that a block belongs to.
    #[inline]
    #[must_use]
    pub fn of_block(&self, block: BlockId) -> SuperblockId {
        if self.superblock_of.is_empty() { SuperblockId(block.number()) } else { self.superblock_of[block.index()] }
    }

    /// The block that a superblock has on a die.
    #[inline]
    #[must_use]
    pub fn block_on(&self, sb: SuperblockId, die: DieId) -> BlockId {
        if self.block_of.is_empty() { BlockId::new(sb.number()) } else { self.block_of[self.place(sb, die)] }
    }

    /// Where the block of a superblock on a die stands in the table.
    #[inline]
    fn place(&self, sb: SuperblockId, die: DieId) -> usize {
        // A domain's numbers begin where those of the domains before it end.
        let domain = if self.span == SuperblockSpan::AllDies { 0 } else { die.number() / self.width };
        ((die.number() - domain) * self.blocks_per_die + sb.number()) as usize
    }

    /// The dies of a domain's superblocks.
    #[inline]
    #[must_use]
    pub fn dies_of(&self, domain: usize) -> Dies {
        match self.span {
            SuperblockSpan::AllDies => Dies::all(self.dies),
            SuperblockSpan::OneDie => Dies::run(DieId::new(domain as u32), 1),
            SuperblockSpan::DieGroup => Dies::run(DieId::new(domain as u32 * self.width), self.width),
        }
    }

    fn dies_of_superblock(&self, sb: SuperblockId) -> Dies {
        self.dies_of((sb.number() / self.blocks_per_die) as usize)
    }

    /// The domain whose superblocks lie on a die.
    #[must_use]
    pub fn domain_of_die(&self, die: DieId) -> usize {
        (die.number() / self.width) as usize
    }

    /// Erases of the block of a superblock that has most of them. A block that was replaced has fewer than the others.
    #[must_use]
    pub fn most_erases(&self, sb: SuperblockId, medium: &Medium) -> u32 {
        let dies = self.dies_of_superblock(sb);
        dies.iter().map(|die| medium.erases(self.block_on(sb, die))).max().unwrap_or(0)
    }

    /// A block of a superblock, for what all of them have in common until it is erased.
    #[must_use]
    pub fn any_block(&self, sb: SuperblockId) -> BlockId {
        self.block_on(sb, self.dies_of_superblock(sb).first)
    }

    /// Valid counts of one domain, by number within it.
    #[inline]
    #[must_use]
    pub fn valid_of_domain(&self, domain: usize) -> &[u32] {
        let from = domain * self.blocks_per_die as usize;
        &self.valid[from..from + self.blocks_per_die as usize]
    }

    /// Units that a superblock can hold.
    #[must_use]
    pub fn capacity(&self, layout: &Layout) -> u32 {
        self.width() * layout.block_units
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{GrowingFaults, Outcome};

    use super::*;
    use crate::page_map::small;

    #[test]
    fn a_one_die_superblock_keeps_its_number_and_every_block_a_superblock() {
        let map = small::map(false);
        let mut medium = map.medium.clone();
        let one_die = MappingSpec { superblock: SuperblockSpan::OneDie, ..MappingSpec::default() };
        let mut superblocks = Superblocks::new(&one_die, &medium, 3);
        let die = DieId::new(0);
        let can_be = |s: &Superblocks, medium: &Medium| s.can_be(medium, |_| true, |_| true, 0);
        let (fifth, bad) = (SuperblockId(5), BlockId::new(5));
        medium.inject(GrowingFaults { programs_per_failure: 0, erases_per_failure: 1, in_bursts: false }, &Rng::new(1));
        assert_eq!(medium.erase(bad), Ok(Outcome::Failed));
        let to = superblocks.take_reserve(die).expect("three are kept back");
        superblocks.replace(bad, to);
        assert_eq!((superblocks.of_block(to), superblocks.block_on(fifth, die)), (fifth, to));
        assert!(can_be(&superblocks, &medium) && superblocks.is_shaped_like(&map.superblocks));
        assert!(map.superblocks.is_shaped_like(&superblocks));
        // Its block can replace others, and be enlisted, like any.
        superblocks.give_up(fifth, &medium);
        let mut enlisted = Vec::new();
        while let Some(sb) = superblocks.enlist_reserve(0) {
            enlisted.push(superblocks.block_on(sb, die).number());
        }
        assert_eq!(enlisted, [14, 15, 13]);
        assert!(can_be(&superblocks, &medium));
        assert!(superblocks.all().all(|sb| superblocks.of_block(superblocks.block_on(sb, die)) == sb));
        // A file may say that two blocks of the reserve are one's.
        superblocks.superblock_of[bad.index()] = fifth;
        assert!(!can_be(&superblocks, &medium));
    }

    #[test]
    fn one_die_superblocks_formed_again_are_as_many_while_the_reserve_lasts() {
        let mut medium = small::map(false).medium;
        let one_die = MappingSpec { superblock: SuperblockSpan::OneDie, ..MappingSpec::default() };
        medium.mark_bad(BlockId::new(2));
        let mut superblocks = Superblocks::new(&one_die, &medium, 3);
        let in_use = |s: &Superblocks| s.per_domain() as usize - s.count_in(0, State::Reserved);
        let fresh = in_use(&superblocks);
        for bad in [5, 6] {
            medium.mark_bad(BlockId::new(bad));
            superblocks.form_again(&one_die, &medium, 3);
            assert_eq!(in_use(&superblocks), fresh);
        }
        for bad in [7, 8] {
            medium.mark_bad(BlockId::new(bad));
            superblocks.form_again(&one_die, &medium, 3);
        }
        assert_eq!((in_use(&superblocks), superblocks.reserve_left()), (fresh - 1, 0));
        let mut free = superblocks.of_domain(0).filter(|&sb| superblocks.state(sb) == State::Free);
        assert!(free.all(|sb| superblocks.is_sound(sb, 0, &medium)));
    }

    #[test]
    fn a_table_of_blocks_is_whole_and_may_be_missing_only_of_one_die_superblocks() {
        let medium = small::map(false).medium;
        for (span, may_be_missing) in [(SuperblockSpan::OneDie, true), (SuperblockSpan::AllDies, false)] {
            let sound = Superblocks::new(&MappingSpec { superblock: span, ..MappingSpec::default() }, &medium, 0);
            assert!(sound.is_shaped_like(&sound), "{span:?}");
            let mut part = sound.clone();
            part.replace(BlockId::new(1), BlockId::new(2));
            part.block_of.truncate(5);
            assert!(!part.is_shaped_like(&sound), "{span:?}");
            (part.block_of, part.superblock_of) = (Vec::new(), Vec::new());
            assert_eq!(part.is_shaped_like(&sound), may_be_missing, "{span:?}");
        }
    }
}
