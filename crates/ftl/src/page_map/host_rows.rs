//! The host's rows on their way to the dies: in which domain the next one goes, and which have reached flash.

use ssdlab_core::DieSet;
use ssdlab_nand::DieId;

use super::program_window::ProgramWindow;
use crate::spec::STREAMS;

/// Programs of host data that one die may have waiting or under way.
const PROGRAMS_PER_DIE: u16 = 2;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct HostRows {
    domains: u32,
    /// Dies of a domain, and how many programs it may have waiting or under way.
    width: u32,
    most: u16,
    /// By stream: domains in which the host may write now.
    writable: [DieSet; STREAMS as usize],
    /// Domains whose dies can take another program. With superblocks over all dies the order of the dies is fixed, and the
    /// buffer is limit enough, as long as there are numbers: without, no domain is here.
    unfilled: DieSet,
    /// No program of the host is begun before older ones have ended: there are no numbers left, those aside that are kept.
    held_back: bool,
    numbers_kept: u64,
    /// Programs waiting or under way, by domain; empty where there is one.
    outstanding: Vec<u16>,
    next_domain: u32,
    programs: ProgramWindow,
    /// Units of flash in programs that have not ended.
    units_under_way: u32,
}

impl HostRows {
    /// `numbers_kept`: see [`super::program_window::numbers_kept`].
    #[must_use]
    pub fn new(domains: u32, width: u32, numbers_kept: u64) -> Self {
        let several = domains > 1;
        HostRows {
            domains,
            width,
            most: PROGRAMS_PER_DIE * width as u16,
            writable: std::array::from_fn(|_| DieSet::with_room(domains)),
            unfilled: DieSet::all(domains),
            held_back: false,
            numbers_kept,
            outstanding: vec![0; if several { domains as usize } else { 0 }],
            next_domain: 0,
            programs: ProgramWindow::default(),
            units_under_way: 0,
        }
    }

    /// After a power cut: nothing is under way, and everything that counts as accepted is on flash.
    pub fn restart_after_cut(&mut self, accepted: u64) {
        let programs = ProgramWindow::beginning_at(accepted);
        *self = HostRows { programs, ..HostRows::new(self.domains, self.width, self.numbers_kept) };
    }

    /// All flash has been erased, and nothing is under way; programs are numbered on.
    pub fn restart(&mut self) {
        self.next_domain = 0;
        self.unfilled = DieSet::all(self.domains);
        self.held_back = false;
    }

    /// Whether the host may write rows of a stream in a domain.
    #[inline]
    pub fn set_writable(&mut self, domain: usize, stream: u8, may: bool) {
        self.writable[stream as usize].set(domain as u32, may);
    }

    /// Whether the host may write rows of a stream in a domain.
    #[must_use]
    pub fn may_write_in(&self, domain: usize, stream: u8) -> bool {
        self.writable[stream as usize].contains(domain as u32)
    }

    /// Whether the host may write rows of a stream anywhere.
    #[inline]
    #[must_use]
    pub fn may_write(&self, stream: u8) -> bool {
        !self.writable[stream as usize].is_empty()
    }

    /// Whether [`HostRows::choose`] finds a domain for rows of a stream.
    #[inline]
    #[must_use]
    pub fn has_place(&self, stream: u8) -> bool {
        self.writable[stream as usize].meets(&self.unfilled)
    }

    /// The next domain in turn in which the host may write rows of a stream, and whose dies are not full.
    #[inline]
    #[must_use]
    pub fn choose(&self, stream: u8) -> Option<usize> {
        let writable = &self.writable[stream as usize];
        if self.domains == 1 {
            return (writable.contains(0) && self.unfilled.contains(0)).then_some(0);
        }
        writable.next_in_both(&self.unfilled, self.next_domain).map(|domain| domain as usize)
    }

    /// A row goes to a domain: the next one's turn comes.
    #[inline]
    pub fn take_turn(&mut self, domain: usize) {
        self.next_domain = if domain as u32 + 1 == self.domains { 0 } else { domain as u32 + 1 };
    }

    /// A row of `units` goes to a die; `dispatched`: units, in order of acceptance, up to which none waits. Returns the
    /// program's number.
    #[inline]
    pub fn begin(&mut self, die: DieId, units: u32, dispatched: u64) -> u16 {
        self.units_under_way += units;
        self.note_outstanding(die, 1);
        let number = self.programs.issue(dispatched);
        if !self.programs.has_number(self.numbers_kept) {
            self.hold_back();
        }
        number
    }

    /// A program has ended. Returns whether all up to a later one have ended now.
    #[inline]
    pub fn end(&mut self, die: DieId, units: u32, number: u16) -> bool {
        self.units_under_way -= units;
        self.note_outstanding(die, -1);
        let moves_on = self.programs.end(number);
        if self.held_back {
            self.go_on_if_numbered();
        }
        moves_on
    }

    #[cold]
    fn hold_back(&mut self) {
        self.held_back = true;
        self.unfilled = DieSet::with_room(self.domains);
    }

    #[cold]
    fn go_on_if_numbered(&mut self) {
        if !self.programs.has_number(self.numbers_kept) {
            return;
        }
        self.held_back = false;
        self.unfilled = DieSet::all(self.domains);
        for (domain, &n) in (0..).zip(&self.outstanding) {
            self.unfilled.set(domain, n < self.most);
        }
    }

    #[inline]
    fn note_outstanding(&mut self, die: DieId, change: i16) {
        if self.domains > 1 {
            let domain = if self.width == 1 { die.number() } else { die.number() / self.width };
            let n = &mut self.outstanding[domain as usize];
            *n = n.wrapping_add_signed(change);
            self.unfilled.set(domain, *n < self.most && !self.held_back);
        }
    }

    /// Units of flash in programs that have not ended.
    #[inline]
    #[must_use]
    pub fn units_under_way(&self) -> u32 {
        self.units_under_way
    }

    /// Programs issued so far, and how many of the first of them have ended.
    #[inline]
    #[must_use]
    pub fn programs(&self) -> &ProgramWindow {
        &self.programs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DieId = DieId::new(0);
    const B: DieId = DieId::new(1);

    /// Of so many domains of one die each, all writable.
    fn rows(domains: u32) -> HostRows {
        let mut rows = HostRows::new(domains, if domains == 1 { 2 } else { 1 }, 0);
        (0..domains as usize).for_each(|domain| rows.set_writable(domain, 0, true));
        rows
    }

    #[test]
    fn rows_wait_once_numbers_would_be_taken_for_those_of_older_ones() {
        for domains in [1, 2] {
            let mut rows = rows(domains);
            let oldest = rows.begin(A, 1, 1);
            let mut begun = 1;
            while rows.has_place(0) && rows.choose(0).is_some() && begun < 100_000 {
                begun += 1;
                let number = rows.begin(B, 1, begun);
                assert!(number != oldest && !rows.end(B, 1, number));
            }
            assert_eq!((begun, rows.choose(0), rows.has_place(0)), (1 << 16, None, false));
            assert_eq!(rows.programs().reached(), 0);
            assert!(rows.end(A, 1, oldest));
            assert!(rows.has_place(0) && rows.choose(0).is_some());
            assert_eq!((rows.programs().reached(), rows.units_under_way()), (begun, 0));
        }
    }

    #[test]
    fn what_was_held_back_goes_on_only_where_dies_are_not_full() {
        let mut rows = rows(2);
        let numbers = [1, 2, 3].map(|k| rows.begin(A, 1, k));
        for k in 4..=1 << 16 {
            let number = rows.begin(B, 1, k);
            rows.end(B, 1, number);
        }
        assert_eq!(rows.choose(0), None);
        rows.end(A, 1, numbers[0]);
        assert_eq!(rows.choose(0), Some(1), "two wait for A");
        rows.end(A, 1, numbers[1]);
        assert_eq!(rows.choose(0), Some(0));
    }
}
