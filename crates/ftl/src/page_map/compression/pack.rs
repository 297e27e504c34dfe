//! Filling a row to the last unit.

/// Pieces at most that a row is filled from: each takes a unit at least.
pub const MOST: usize = 64;

/// Which of some pieces go into a row, and in which order: the largest first.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    order: [u8; MOST],
    count: u8,
    /// One bit a piece.
    pub chosen: u64,
    /// What they take.
    pub units: u32,
}

impl Pack {
    /// Chooses among pieces of `sizes` units, all powers of two, `room` being a multiple of the largest.
    ///
    /// If all that came before the last piece is less than `room`, and all of them together as much or more, then what
    /// is chosen fills the room to the last unit. For each size divides every larger one: taken from the largest down,
    /// what is left of the room is always a multiple of the size at hand, and cannot be passed over.
    ///
    /// # Panics
    /// If there are more than [`MOST`].
    #[must_use]
    pub fn new(sizes: &[u8], room: u32) -> Self {
        Pack::with_first(sizes, 0, room)
    }

    /// The same, but the first `first` of the pieces go in whatever they leave of the room: it may not be filled then.
    ///
    /// # Panics
    /// If there are more than [`MOST`], or the first ones do not fit.
    #[must_use]
    pub fn with_first(sizes: &[u8], first: usize, room: u32) -> Self {
        assert!(sizes.len() <= MOST, "{} pieces for one row", sizes.len());
        let mut pack = Pack { order: [0; MOST], count: 0, chosen: 0, units: 0 };
        (0..first).for_each(|k| pack.add(k, sizes[k]));
        assert!(pack.units <= room, "pieces of {} units for a row of {room}", pack.units);
        let mut size = sizes.iter().copied().max().unwrap_or(0);
        while size > 0 && pack.units < room {
            for (k, _) in sizes.iter().enumerate().skip(first).filter(|&(_, &s)| s == size) {
                if pack.units + u32::from(size) > room {
                    break;
                }
                pack.add(k, size);
            }
            size /= 2;
        }
        pack
    }

    fn add(&mut self, piece: usize, size: u8) {
        self.order[self.count as usize] = piece as u8;
        self.count += 1;
        self.chosen |= 1 << piece;
        self.units += u32::from(size);
    }

    /// The chosen pieces: those that had to come first, then the largest first.
    pub fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order[..self.count as usize].iter().map(|&k| k as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    #[test]
    fn a_row_is_filled_to_the_last_unit_whenever_there_is_enough() {
        let mut rng = Rng::new(3);
        for _ in 0..2000 {
            let largest = 1 + rng.below(4);
            let room = 1u32 << (largest + rng.below(7 - largest));
            let (mut sizes, mut total) = (Vec::new(), 0);
            while total < room {
                let size = 1u8 << rng.below(largest + 1);
                sizes.push(size);
                total += u32::from(size);
            }
            let pack = Pack::new(&sizes, room);
            assert_eq!(pack.units, room, "{sizes:?}");
            assert_eq!(pack.order().map(|k| u32::from(sizes[k])).sum::<u32>(), room);
            assert_eq!(pack.order().fold(0, |set, k| set | 1 << k), pack.chosen);
            assert!(pack.order().map(|k| sizes[k]).is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn what_must_come_first_does() {
        let pack = Pack::with_first(&[1, 4, 4, 2, 1], 1, 8);
        assert_eq!((pack.units, pack.chosen), (8, 0b11011));
        let pack = Pack::with_first(&[2, 1, 4, 4], 2, 8);
        assert_eq!((pack.units, pack.order().collect::<Vec<_>>()), (7, vec![0, 1, 2]));
    }

    #[test]
    fn too_little_is_taken_whole() {
        let pack = Pack::new(&[1, 4, 2], 16);
        assert_eq!((pack.units, pack.chosen), (7, 0b111));
        assert_eq!(pack.order().collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(Pack::new(&[], 16).units, 0);
    }
}
