//! What the parts of a device did, stretch by stretch: for whoever asks why a request took so long.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use ssdlab_core::{Cause, Nanos};

use crate::completion::Completion;

/// A device that can note what its parts do.
pub trait Recorder {
    /// From now on, the last `stretches` stretches of work of each kind of part are kept, and as many commands. What was
    /// kept before is forgotten; 0 keeps nothing. Nothing else about the device changes.
    fn record(&mut self, stretches: usize);

    /// What is kept and had not ended by `from`. Of what is still under way, the end is the one that is planned.
    fn recorded_since(&mut self, from: Nanos) -> Timeline;
}

/// Stretches of work, part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// In the order in which a reader wants to see them.
    pub tracks: Vec<Track>,
    /// Of what began before, something may be missing.
    pub complete_from: Nanos,
}

/// What one part did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// The drive of a set that the part belongs to; empty for a device that is one drive.
    pub drive: String,
    /// The part: `die 3`, `channel 0`.
    pub part: String,
    /// In order of time. They do not overlap, but for commands.
    pub stretches: Vec<Stretch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    pub from: Nanos,
    pub to: Nanos,
    pub work: Work,
}

/// What a part was at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// A command, from the host's sending to its end; of one that is under way, to the time at which it was asked.
    Command { command: Completion, has_ended: bool },
    /// Work on flash: what it is, what a command that waits for it has it down as, and on which block of the die and page of the
    /// block, where that is known.
    Flash { what: Cow<'static, str>, cause: Cause, block: Option<u32>, page: Option<u32> },
    /// Data on a channel, from or to a die.
    Transfer { die: u32 },
    /// Something else: its name, and the cause.
    Other { what: Cow<'static, str>, cause: Cause },
}

impl Work {
    /// What a command that waits for it has it down as.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        match *self {
            Work::Command { .. } => None,
            Work::Flash { cause, .. } | Work::Other { cause, .. } => Some(cause),
            Work::Transfer { .. } => Some(Cause::Bus),
        }
    }
}

impl Timeline {
    /// The same tracks as those of one drive of a set.
    #[must_use]
    pub fn of_drive(mut self, name: &str) -> Self {
        for track in &mut self.tracks {
            track.drive = if track.drive.is_empty() { name.to_owned() } else { format!("{name} / {}", track.drive) };
        }
        self
    }

    /// What several devices did.
    #[must_use]
    pub fn beside(mut self, other: Timeline) -> Self {
        self.tracks.extend(other.tracks);
        self.complete_from = self.complete_from.max(other.complete_from);
        self
    }

    /// So many stretches in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracks.iter().map(|track| track.stretches.len()).sum()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Track {
    /// A part without work.
    #[must_use]
    pub fn new(part: impl Into<String>) -> Self {
        Track { drive: String::new(), part: part.into(), stretches: Vec::new() }
    }

    /// Puts the stretches in order, each ended by the beginning of the next: a part that was to work on is at something else then,
    /// since a die is interrupted, or the power was cut.
    pub fn one_after_the_other(&mut self) {
        self.stretches.sort_by_key(|s| (s.from, s.to));
        for k in 1..self.stretches.len() {
            let next = self.stretches[k].from;
            let before = &mut self.stretches[k - 1];
            before.to = before.to.min(next);
        }
        self.stretches.retain(|s| s.to > s.from);
    }
}

/// The last so many of a sequence.
#[derive(Clone, Debug)]
pub struct Last<T> {
    most: usize,
    items: Vec<T>,
    /// The place of the next, once all places are taken.
    next: usize,
    /// How many there have been.
    count: usize,
}

impl<T> Last<T> {
    /// # Panics
    /// If nothing is to be kept.
    #[must_use]
    pub fn new(most: usize) -> Self {
        assert!(most > 0, "nothing would be kept");
        Last { most, items: Vec::with_capacity(most), next: 0, count: 0 }
    }

    /// Adds an item, in the place of the oldest if there is no other; returns its number.
    #[inline]
    pub fn push(&mut self, item: T) -> usize {
        let number = self.count;
        self.count += 1;
        if self.items.len() < self.most {
            self.items.push(item);
        } else {
            self.items[self.next] = item;
            self.next = if self.next + 1 == self.most { 0 } else { self.next + 1 };
        }
        number
    }

    /// The item with this number, unless it has gone.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let kept = number < self.count && self.count - number <= self.most;
        kept.then(|| &mut self.items[number % self.most])
    }

    /// Each that is kept, in no order.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }

    /// From the oldest on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (newer, older) = self.items.split_at(self.next);
        older.iter().chain(newer)
    }

    /// The oldest, if others were before it.
    #[must_use]
    pub fn oldest_of_more(&self) -> Option<&T> {
        (self.count > self.items.len()).then(|| &self.items[self.next])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_a_part_follow_each_other() {
        let stretch = |(from, to)| Stretch { from, to, work: Work::Transfer { die: 0 } };
        let mut track =
            Track { stretches: [(5, 9), (0, 4), (7, 8), (4, 6), (7, 10)].map(stretch).into(), ..Track::new("p") };
        track.one_after_the_other();
        assert_eq!(track.stretches, [(0, 4), (4, 5), (5, 7), (7, 10)].map(stretch));
    }

    #[test]
    fn the_last_are_kept_in_order_and_found_by_their_numbers() {
        let mut last = Last::new(3);
        assert_eq!("abc".chars().map(|c| last.push(c)).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((last.iter().collect::<String>(), last.oldest_of_more()), ("abc".to_owned(), None));
        assert_eq!([last.push('d'), last.push('e')], [3, 4]);
        assert_eq!(last.oldest_of_more(), Some(&'c'));
        assert_eq!(last.iter().collect::<String>(), "cde");
        assert_eq!([0, 1, 2, 4, 5].map(|n| last.get_mut(n).copied()), [None, None, Some('c'), Some('e'), None]);
    }
}
