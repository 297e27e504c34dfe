//! The closed blocks in no particular order, for policies that draw from them; with their ages, for policies that ask.

const ABSENT: u32 = u32::MAX;

/// A set of block numbers with constant-time insertion, removal and drawing.
#[derive(Clone, Debug)]
pub struct ClosedList {
    blocks: Vec<u32>,
    position: Vec<u32>,
}

impl ClosedList {
    pub fn new(blocks: u32) -> Self {
        ClosedList { blocks: Vec::with_capacity(blocks as usize), position: vec![ABSENT; blocks as usize] }
    }

    pub fn insert(&mut self, block: u32) {
        debug_assert_eq!(self.position[block as usize], ABSENT);
        self.position[block as usize] = self.blocks.len() as u32;
        self.blocks.push(block);
    }

    pub fn remove(&mut self, block: u32) {
        let at = self.position[block as usize];
        assert_ne!(at, ABSENT, "block {block} is not closed");
        self.blocks.swap_remove(at as usize);
        if let Some(&moved) = self.blocks.get(at as usize) {
            self.position[moved as usize] = at;
        }
        self.position[block as usize] = ABSENT;
    }

    pub fn as_slice(&self) -> &[u32] {
        &self.blocks
    }
}

/// The same with the time at which each block was closed, counted in units written.
#[derive(Clone, Debug)]
pub struct AgedList {
    closed: ClosedList,
    closed_at: Vec<u64>,
}

impl AgedList {
    pub fn new(blocks: u32) -> Self {
        AgedList { closed: ClosedList::new(blocks), closed_at: vec![0; blocks as usize] }
    }

    pub fn insert(&mut self, block: u32, clock: u64) {
        self.closed.insert(block);
        self.closed_at[block as usize] = clock;
    }

    pub fn remove(&mut self, block: u32) {
        self.closed.remove(block);
    }

    pub fn as_slice(&self) -> &[u32] {
        self.closed.as_slice()
    }

    /// Units written since a block was closed.
    pub fn age(&self, block: u32, clock: u64) -> u64 {
        clock - self.closed_at[block as usize]
    }
}
