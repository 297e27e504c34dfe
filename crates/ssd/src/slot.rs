//! Slots of the command queue.

use ssdlab_core::number_type;

number_type! {
    /// A slot of the command queue.
    pub struct Slot;
}

impl Slot {
    /// In place of a slot where there is none.
    pub const NONE: Slot = Slot(u32::MAX);

    /// The slot that a read of flash names.
    #[inline]
    #[must_use]
    pub fn of_read(command: u16) -> Slot {
        Slot::new(u32::from(command))
    }

    /// How reads of flash name it.
    #[inline]
    #[must_use]
    pub fn for_read(self) -> u16 {
        self.number() as u16
    }
}
