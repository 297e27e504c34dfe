//! Buffers that travel with commands.

use std::num::NonZeroU32;

use ssdlab_device::{PayloadId, Request};

/// See the module's own page. A buffer belongs to whoever holds its number.
#[derive(Clone, Default)]
pub struct Buffers {
    slots: Vec<Option<Vec<u8>>>,
    free: Vec<u32>,
}

impl Buffers {
    pub fn insert(&mut self, bytes: Vec<u8>) -> PayloadId {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[at as usize] = Some(bytes);
        PayloadId(NonZeroU32::MIN.saturating_add(at))
    }

    /// # Panics
    /// If there is no such buffer.
    pub fn take(&mut self, id: PayloadId) -> Vec<u8> {
        let at = id.0.get() - 1;
        let bytes = self.slots[at as usize].take().expect("a buffer that is not there");
        self.free.push(at);
        bytes
    }

    /// As [`Buffers::take`], of a buffer that may be gone.
    pub fn release(&mut self, id: PayloadId) {
        if self.slots[id.0.get() as usize - 1].is_some() {
            drop(self.take(id));
        }
    }

    /// What a write brings; `None`: zeroes.
    ///
    /// # Panics
    /// As [`Buffers::get`].
    #[must_use]
    pub fn data_of(&self, request: &Request) -> Option<&[u8]> {
        request.payload.map(|id| self.get(id))
    }

    /// # Panics
    /// If there is no such buffer.
    #[must_use]
    pub fn get(&self, id: PayloadId) -> &[u8] {
        self.slots[id.0.get() as usize - 1].as_ref().expect("a buffer that is not there")
    }

    /// # Panics
    /// If there is no such buffer.
    pub fn get_mut(&mut self, id: PayloadId) -> &mut Vec<u8> {
        self.slots[id.0.get() as usize - 1].as_mut().expect("a buffer that is not there")
    }
}
