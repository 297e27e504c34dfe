//! How many dies may program at once (`controller.programs_at_once`): those beyond wait for their turn, in order.
//!
//! Where planes are operated as dies of their own, a turn is the die's: while one of its planes programs, the others may, each
//! once as long as other dies are in line.

use std::collections::VecDeque;

use ssdlab_nand::DieId;

use crate::whole_dies::WholeDies;

/// Where a die stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    None,
    /// In line.
    Waits,
    /// It may begin a program; the turn is its own until it has.
    Has,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Turns {
    most: u32,
    /// Programs that may still begin.
    left: u32,
    line: VecDeque<DieId>,
    dies: Vec<Turn>,
    /// Where planes are operated apart: what the planes of each die are at.
    split: Option<Split>,
}

/// Programs of the planes of dies.
#[derive(Clone, Debug)]
struct Split {
    whole: WholeDies,
    /// By die: programs that its planes are at, and turns that it has for them, at least one if there are any.
    programs: Vec<u32>,
    turns: Vec<u32>,
    /// By die: which of its planes have begun a program since it has had a turn, by bits.
    begun: Vec<u32>,
}

impl Split {
    /// Whether a plane may begin by the turn that its die has.
    fn may_join(&self, die: DieId, line: &VecDeque<DieId>) -> bool {
        let whole = self.whole.whole(die);
        let others_wait = || line.iter().any(|&waits| self.whole.whole(waits) != whole);
        self.turns[whole.index()] > 0 && (self.begun[whole.index()] & self.plane(die) == 0 || !others_wait())
    }

    fn plane(&self, die: DieId) -> u32 {
        1 << self.whole.plane(die)
    }

    fn begin(&mut self, die: DieId, takes_turn: bool) {
        let whole = self.whole.whole(die).index();
        self.programs[whole] += 1;
        self.begun[whole] |= self.plane(die);
        self.turns[whole] += u32::from(takes_turn);
    }

    /// Returns whether a turn of the die is another's from now on.
    fn end(&mut self, die: DieId) -> bool {
        let whole = self.whole.whole(die).index();
        self.programs[whole] -= 1;
        let gives_up = self.turns[whole] > 1 || self.programs[whole] == 0;
        self.turns[whole] -= u32::from(gives_up);
        if self.turns[whole] == 0 {
            self.begun[whole] = 0;
        }
        gives_up
    }
}

impl Turns {
    #[must_use]
    pub fn new(most: u32, dies: u32) -> Self {
        Turns { most, left: most, line: VecDeque::new(), dies: vec![Turn::None; dies as usize], split: None }
    }

    /// The same, where what is operated are planes of dies.
    #[must_use]
    pub fn of_whole_dies(most: u32, operated: u32, whole: WholeDies) -> Self {
        let none = || vec![0; whole.count(operated) as usize];
        let split = whole.are_split().then(|| Split { whole, programs: none(), turns: none(), begun: none() });
        Turns { split, ..Turns::new(most, operated) }
    }

    #[must_use]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// The power is gone: nothing is under way, and nobody waits.
    pub fn clear(&mut self) {
        let dies = self.dies.len() as u32;
        *self = match &self.split {
            Some(split) => Turns::of_whole_dies(self.most, dies, split.whole),
            None => Turns::new(self.most, dies),
        };
    }

    /// Whether a die may begin a program now; if not, it is in line.
    pub fn may_begin(&mut self, die: DieId) -> bool {
        let has_turn = self.dies[die.index()] == Turn::Has;
        if !has_turn && self.split.as_ref().is_some_and(|split| split.may_join(die, &self.line)) {
            self.leave_line(die);
            self.split.iter_mut().for_each(|split| split.begin(die, false));
            return true;
        }
        let may = self.takes_turn(die);
        if may {
            self.split.iter_mut().for_each(|split| split.begin(die, true));
        }
        may
    }

    /// Dies in line that may begin now, since another plane of theirs has.
    pub fn beside(&self, die: DieId) -> impl Iterator<Item = DieId> + '_ {
        let split = self.split.iter();
        split.flat_map(move |split| {
            let whole = split.whole;
            self.line.iter().copied().filter(move |&waits| whole.whole(waits) == whole.whole(die))
        })
    }

    fn leave_line(&mut self, die: DieId) {
        if std::mem::replace(&mut self.dies[die.index()], Turn::None) == Turn::Waits {
            self.line.retain(|&waits| waits != die);
        }
    }

    fn takes_turn(&mut self, die: DieId) -> bool {
        match self.dies[die.index()] {
            Turn::Has => {
                self.dies[die.index()] = Turn::None;
                true
            }
            Turn::None if self.left > 0 => {
                self.left -= 1;
                true
            }
            Turn::None => {
                self.dies[die.index()] = Turn::Waits;
                self.line.push_back(die);
                false
            }
            // Nobody in line could take it when it fell free.
            Turn::Waits if self.left > 0 => {
                self.left -= 1;
                self.leave_line(die);
                true
            }
            Turn::Waits => false,
        }
    }

    #[must_use]
    pub fn any_waits(&self) -> bool {
        !self.line.is_empty()
    }

    /// A program of a die has ended. Returns the die whose turn it is now, if any waits.
    pub fn ended(&mut self, die: DieId) -> Option<DieId> {
        let is_free = self.split.as_mut().is_none_or(|split| split.end(die));
        if is_free { self.free_turn() } else { None }
    }

    fn free_turn(&mut self) -> Option<DieId> {
        let next = self.line.pop_front();
        match next {
            Some(die) => self.dies[die.index()] = Turn::Has,
            None => self.left += 1,
        }
        next
    }

    /// A die cannot begin its program yet: if it is its turn, that goes to the next. Returns the die whose turn it is then, if any waits.
    pub fn hand_on(&mut self, die: DieId) -> Option<DieId> {
        if self.dies[die.index()] == Turn::Has { self.give_up(die) } else { None }
    }

    /// A die cannot begin its program yet, but is to be asked first again: if it is its turn, that goes to the first in line that
    /// `can` begin one. Returns the die whose turn it is then, if there is any.
    pub fn pass_on(&mut self, die: DieId, can: impl Fn(DieId) -> bool) -> Option<DieId> {
        if self.dies[die.index()] != Turn::Has {
            return None;
        }
        let next = self.line.iter().position(|&waits| can(waits)).and_then(|at| self.line.remove(at));
        match next {
            Some(next) => self.dies[next.index()] = Turn::Has,
            None => self.left += 1,
        }
        self.dies[die.index()] = Turn::Waits;
        self.line.push_front(die);
        next
    }

    /// A die has no program to begin after all. Returns the die whose turn it is instead, if any waits.
    pub fn give_up(&mut self, die: DieId) -> Option<DieId> {
        match std::mem::replace(&mut self.dies[die.index()], Turn::None) {
            Turn::None => None,
            Turn::Waits => {
                self.line.retain(|&waits| waits != die);
                None
            }
            Turn::Has => self.free_turn(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_in_order_and_a_die_that_gives_up_hands_its_own_on() {
        let [zero, one, two, three, four] = [0, 1, 2, 3, 4].map(DieId::new);
        let mut t = Turns::new(2, 5);
        assert_eq!(
            [zero, one, two, three, four, two].map(|die| t.may_begin(die)),
            [true, true, false, false, false, false]
        );
        assert_eq!(t.ended(zero), Some(two));
        assert!(!t.may_begin(three), "it is the turn of another");
        assert_eq!(t.give_up(two), Some(three));
        assert_eq!(t.give_up(four), None, "it only waited");
        assert_eq!(t.hand_on(three), None, "nobody else waits");
        assert!(t.may_begin(three));
        assert!(!t.may_begin(four) && !t.may_begin(two));
        assert_eq!(
            (t.hand_on(two), t.ended(one), t.hand_on(four)),
            (None, Some(four), Some(two)),
            "who waits keeps its place"
        );
        assert_eq!(t.give_up(two), None);
        assert_eq!(t.ended(three), None);
        assert!(t.may_begin(four) && t.may_begin(zero) && !t.may_begin(one));
    }

    #[test]
    fn a_die_that_passes_its_turn_on_comes_first_again() {
        let [zero, one, two, three] = [0, 1, 2, 3].map(DieId::new);
        let mut t = Turns::new(1, 4);
        assert_eq!([zero, one, two, three].map(|die| t.may_begin(die)), [true, false, false, false]);
        assert_eq!(t.pass_on(two, |_| true), None, "it is not its turn");
        assert_eq!(t.ended(zero), Some(one));
        assert_eq!(t.pass_on(one, |die| die == three), Some(three));
        assert!(t.may_begin(three) && !t.may_begin(two));
        assert_eq!(t.ended(three), Some(one));
        assert_eq!(t.pass_on(one, |_| false), None, "nobody can");
        assert!(t.may_begin(two), "whoever can first");
        assert_eq!((t.ended(two), t.ended(one)), (Some(one), None));
    }

    /// Two dies of two planes on one channel: 0 and 1 are planes of the first.
    #[test]
    fn planes_of_a_die_that_programs_need_no_turn_of_their_own() {
        let [zero, one, two, three] = [0, 1, 2, 3].map(DieId::new);
        let mut t = Turns::of_whole_dies(1, 4, WholeDies::new(1, 2));
        assert_eq!([zero, two, three, one].map(|die| t.may_begin(die)), [true, false, false, true]);
        assert_eq!((t.ended(zero), t.ended(one)), (None, Some(two)), "the die is through with both");
        assert!(!t.may_begin(zero) && t.may_begin(two));
        assert_eq!(t.beside(two).collect::<Vec<_>>(), [three], "it is in line, and need not wait");
        assert!(t.may_begin(three) && t.beside(two).next().is_none());
        assert_eq!((t.ended(three), t.ended(two)), (None, Some(zero)));
        assert!(t.may_begin(zero) && !t.may_begin(two));
        t.clear();
        assert!(t.may_begin(two) && !t.may_begin(zero) && t.may_begin(three));
    }

    /// A plane whose turn has come while another of its die programs gives one of the two back when either ends.
    #[test]
    fn a_die_gives_back_every_turn_that_it_has_had() {
        let [zero, one, two, three, four] = [0, 1, 2, 3, 4].map(DieId::new);
        let mut t = Turns::of_whole_dies(2, 6, WholeDies::new(1, 2));
        assert_eq!([two, four, zero, one].map(|die| t.may_begin(die)), [true, true, false, false]);
        // The turn of each plane has come before either begins.
        assert_eq!([two, four].map(|die| t.ended(die)), [Some(zero), Some(one)]);
        assert!(t.may_begin(zero) && t.may_begin(one) && !t.may_begin(two));
        assert_eq!(t.ended(zero), Some(two), "the other plane needs one turn alone");
        assert!(t.may_begin(two) && !t.may_begin(four));
        assert_eq!((t.ended(one), t.may_begin(four), t.ended(two), t.ended(four)), (Some(four), true, None, None));
        assert_eq!([zero, two, four].map(|die| t.may_begin(die)), [true, true, false]);
        assert_eq!((t.ended(zero), t.may_begin(three)), (Some(four), true));
    }

    /// Each plane has always another program to begin when the other is at one.
    #[test]
    fn a_die_whose_planes_keep_each_other_going_does_not_keep_its_turn() {
        let [zero, one, two] = [0, 1, 2].map(DieId::new);
        let mut t = Turns::of_whole_dies(1, 4, WholeDies::new(1, 2));
        assert!(t.may_begin(zero) && t.may_begin(one));
        assert_eq!((t.ended(zero), t.may_begin(zero)), (None, true), "nobody else waits");
        assert!(!t.may_begin(two));
        assert_eq!((t.ended(one), t.may_begin(one)), (None, false), "it has begun once in this turn");
        assert_eq!(t.beside(zero).collect::<Vec<_>>(), [one], "it is asked in vain");
        assert!(!t.may_begin(one));
        assert_eq!((t.ended(zero), t.may_begin(two)), (Some(two), true));
        assert_eq!((t.ended(two), t.may_begin(one)), (Some(one), true));
    }
}
