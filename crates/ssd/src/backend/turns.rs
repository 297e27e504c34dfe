//! How many dies may program at once (`controller.programs_at_once`): those beyond wait for their turn, in order.

use std::collections::VecDeque;

use ssdlab_nand::DieId;

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
}

impl Turns {
    #[must_use]
    pub fn new(most: u32, dies: u32) -> Self {
        Turns { most, left: most, line: VecDeque::new(), dies: vec![Turn::None; dies as usize] }
    }

    /// The power is gone: nothing is under way, and nobody waits.
    pub fn clear(&mut self) {
        *self = Turns::new(self.most, self.dies.len() as u32);
    }

    /// Whether a die may begin a program now; if not, it is in line.
    pub fn may_begin(&mut self, die: DieId) -> bool {
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
                self.dies[die.index()] = Turn::None;
                self.line.retain(|&waits| waits != die);
                true
            }
            Turn::Waits => false,
        }
    }

    #[must_use]
    pub fn any_waits(&self) -> bool {
        !self.line.is_empty()
    }

    /// A program has ended. Returns the die whose turn it is now, if any waits.
    pub fn ended(&mut self) -> Option<DieId> {
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
            Turn::Has => self.ended(),
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
        assert_eq!(t.ended(), Some(two));
        assert!(!t.may_begin(three), "it is the turn of another");
        assert_eq!(t.give_up(two), Some(three));
        assert_eq!(t.give_up(four), None, "it only waited");
        assert_eq!(t.hand_on(three), None, "nobody else waits");
        assert!(t.may_begin(three));
        assert!(!t.may_begin(four) && !t.may_begin(two));
        assert_eq!(
            (t.hand_on(two), t.ended(), t.hand_on(four)),
            (None, Some(four), Some(two)),
            "who waits keeps its place"
        );
        assert_eq!(t.give_up(two), None);
        assert_eq!(t.ended(), None);
        assert!(t.may_begin(four) && t.may_begin(zero) && !t.may_begin(one));
    }

    #[test]
    fn a_die_that_passes_its_turn_on_comes_first_again() {
        let [zero, one, two, three] = [0, 1, 2, 3].map(DieId::new);
        let mut t = Turns::new(1, 4);
        assert_eq!([zero, one, two, three].map(|die| t.may_begin(die)), [true, false, false, false]);
        assert_eq!(t.pass_on(two, |_| true), None, "it is not its turn");
        assert_eq!(t.ended(), Some(one));
        assert_eq!(t.pass_on(one, |die| die == three), Some(three));
        assert!(t.may_begin(three) && !t.may_begin(two));
        assert_eq!(t.ended(), Some(one));
        assert_eq!(t.pass_on(one, |_| false), None, "nobody can");
        assert!(t.may_begin(two), "whoever can first");
        assert_eq!((t.ended(), t.ended()), (Some(one), None));
    }
}
