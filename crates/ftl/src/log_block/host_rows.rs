//! What the host has written and flash does not hold yet.

use std::collections::VecDeque;
use std::ops::Range;

use ssdlab_nand::{DieId, LogicalPage};

/// A page that waits for its program.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub page: LogicalPage,
    /// The logical superblock that it belongs to.
    pub superblock: u32,
    pub die: DieId,
    pub write_number: u8,
    /// The page behind the last of its command.
    pub command_end: LogicalPage,
    /// When it has come over the link.
    pub ready: u64,
    /// The host has trimmed it since: what is programmed is nobody's.
    pub trimmed: bool,
}

/// Pages in the order in which they came: waiting, or under way in programs. They leave in any order. A page waits once: one that
/// is written again meanwhile is replaced where it is.
///
/// A page leaves the controller's memory when its die begins to program it: the die's page register holds it then. Dies
/// are loaded in banks. Each die of a bank takes one page; a die that has had one takes the next once all programs of its
/// bank have ended.
#[derive(Clone, Debug)]
pub struct HostRows {
    /// Each with its number among all that were accepted.
    waiting: VecDeque<(Waiting, u64)>,
    /// By logical page: whether it is among them, and was not trimmed since.
    waits: Vec<bool>,
    /// By logical superblock: how many of its pages are among them.
    of_superblock: Vec<u32>,
    /// By die: how many of its pages wait.
    of_die: Vec<u32>,
    /// Given to dies that have not begun.
    not_begun: u32,
    /// By die: whether it has had its page since one of its bank that had had one took the next, with the bank at rest.
    loaded: Vec<bool>,
    /// By die: the number of the page that it was given last.
    given: Vec<u64>,
    /// By bank: programs under way.
    at_work: Vec<u32>,
    dies_per_bank: u32,
    /// Pages from the oldest that is not on flash on; whether each is.
    on_flash: VecDeque<bool>,
    durable: u64,
}

impl HostRows {
    #[must_use]
    pub fn new(dies: u32, dies_per_bank: u32, superblocks: u32, logical_pages: u32) -> Self {
        HostRows {
            waiting: VecDeque::new(),
            waits: vec![false; logical_pages as usize],
            of_superblock: vec![0; superblocks as usize],
            of_die: vec![0; dies as usize],
            not_begun: 0,
            loaded: vec![false; dies as usize],
            given: vec![0; dies as usize],
            at_work: vec![0; (dies / dies_per_bank) as usize],
            dies_per_bank,
            on_flash: VecDeque::new(),
            durable: 0,
        }
    }

    /// After a power cut: nothing waits or is under way. Counts go on from what had been given to dies.
    pub fn forget_all(&mut self) {
        self.durable = self.started();
        self.on_flash.clear();
        self.waiting.clear();
        self.waits.fill(false);
        self.of_superblock.fill(0);
        self.of_die.fill(0);
        self.not_begun = 0;
        self.loaded.fill(false);
        self.at_work.fill(0);
    }

    /// The power goes while `torn` of the programs given to dies are in their cells: the others never happened.
    pub fn take_back_queued(&mut self, torn: u32) {
        let queued = self.at_work.iter().sum::<u32>() - torn;
        self.on_flash.truncate(self.on_flash.len() - queued as usize);
    }

    /// A drive that was saved had given so many pages to dies.
    pub fn go_on_from(&mut self, started: u64) {
        self.durable = started;
    }

    /// Pages that no program has ended for.
    #[must_use]
    pub fn unfinished(&self) -> u32 {
        self.on_flash.len() as u32
    }

    /// Takes a page in. Returns whether it waited already, and was replaced.
    pub fn push(&mut self, waiting: Waiting) -> bool {
        if self.waits(waiting.page) {
            let mut all = self.waiting.iter_mut();
            let earlier = all.find(|(earlier, _)| earlier.page == waiting.page && !earlier.trimmed);
            let (earlier, _) = earlier.expect("it waits");
            // It keeps its place, and with it the command that it is taken with.
            *earlier = Waiting { command_end: earlier.command_end, ..waiting };
            return true;
        }
        self.waits[waiting.page.index()] = true;
        self.of_superblock[waiting.superblock as usize] += 1;
        self.of_die[waiting.die.index()] += 1;
        let number = self.accepted();
        self.waiting.push_back((waiting, number));
        self.on_flash.push_back(false);
        false
    }

    /// The page that waits as number `k`, from the oldest on.
    #[must_use]
    pub fn get(&self, k: usize) -> Option<Waiting> {
        self.waiting.get(k).map(|&(waiting, _)| waiting)
    }

    /// Whether the page that waits as number `k` is among so many that were accepted first.
    #[must_use]
    pub fn is_among_first(&self, k: usize, accepted: u64) -> bool {
        self.waiting.get(k).is_some_and(|&(_, number)| number < accepted)
    }

    /// Whether a die can take a page now.
    #[must_use]
    pub fn can_take(&self, die: DieId) -> bool {
        !self.loaded[die.index()] || self.is_at_rest(die)
    }

    /// Whether no program of a die's bank is under way.
    fn is_at_rest(&self, die: DieId) -> bool {
        self.at_work[(die.number() / self.dies_per_bank) as usize] == 0
    }

    /// Pages that wait for a die.
    #[must_use]
    pub fn waiting_for(&self, die: DieId) -> u32 {
        self.of_die[die.index()]
    }

    /// The page that waits as number `k` goes to its die.
    pub fn start(&mut self, k: usize) {
        let (page, number) = self.waiting.remove(k).expect("it waits");
        let die = page.die;
        if !page.trimmed {
            self.waits[page.page.index()] = false;
        }
        self.of_superblock[page.superblock as usize] -= 1;
        self.of_die[die.index()] -= 1;
        self.not_begun += 1;
        if self.loaded[die.index()] {
            debug_assert!(self.is_at_rest(die));
            let first = (die.number() / self.dies_per_bank * self.dies_per_bank) as usize;
            self.loaded[first..first + self.dies_per_bank as usize].fill(false);
        }
        self.loaded[die.index()] = true;
        self.given[die.index()] = number;
        self.at_work[(die.number() / self.dies_per_bank) as usize] += 1;
    }

    pub fn began(&mut self) {
        self.not_begun -= 1;
    }

    /// A die has ended the program of the page that it was given.
    pub fn ended(&mut self, die: DieId) {
        self.at_work[(die.number() / self.dies_per_bank) as usize] -= 1;
        self.on_flash[(self.given[die.index()] - self.durable) as usize] = true;
        while self.on_flash.front() == Some(&true) {
            self.on_flash.pop_front();
            self.durable += 1;
        }
    }

    /// Whether any has been given to a die, and its program has not ended.
    #[must_use]
    pub fn any_under_way(&self) -> bool {
        self.at_work.iter().any(|&programs| programs > 0)
    }

    /// The host has trimmed these pages.
    pub fn forget(&mut self, pages: &Range<LogicalPage>) {
        for (waiting, _) in self.waiting.iter_mut().filter(|(waiting, _)| pages.contains(&waiting.page)) {
            self.waits[waiting.page.index()] = false;
            waiting.trimmed = true;
        }
    }

    #[must_use]
    pub fn waits(&self, page: LogicalPage) -> bool {
        self.waits[page.index()]
    }

    /// Pages of a logical superblock that wait.
    #[must_use]
    pub fn waiting_in(&self, superblock: u32) -> u32 {
        self.of_superblock[superblock as usize]
    }

    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Pages in the controller's memory.
    #[must_use]
    pub fn in_memory(&self) -> u32 {
        self.waiting() + self.not_begun
    }

    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.durable + self.on_flash.len() as u64
    }

    #[must_use]
    pub fn started(&self) -> u64 {
        self.accepted() - u64::from(self.waiting())
    }

    /// Pages from the first that was ever accepted up to the first that flash does not hold.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.durable
    }

    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.on_flash.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(page: u32, die: u32) -> Waiting {
        let page = LogicalPage::new(page);
        Waiting {
            page,
            superblock: 0,
            die: DieId::new(die),
            write_number: 1,
            command_end: page + 1,
            ready: 0,
            trimmed: false,
        }
    }

    /// More pages than 16 bits can tell apart.
    #[test]
    fn a_page_that_waits_is_not_durable_however_many_others_go_to_flash_meanwhile() {
        let mut host = HostRows::new(2, 1, 1, 8);
        host.push(waiting(0, 0));
        for k in 0..70_000 {
            host.push(waiting(1 + k % 7, 1));
            assert!(host.can_take(DieId::new(1)));
            host.start(1);
            host.began();
            host.ended(DieId::new(1));
            assert_eq!((host.durable(), host.waiting_for(DieId::new(0))), (0, 1));
        }
        assert!(host.is_among_first(0, 1) && host.can_take(DieId::new(0)));
        host.start(0);
        host.began();
        host.ended(DieId::new(0));
        assert_eq!((host.durable(), host.is_idle()), (70_001, true));
    }
}
