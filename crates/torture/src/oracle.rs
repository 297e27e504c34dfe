//! What the host wrote, as plainly as it can be kept: for every logical page, how often it was written since it was
//! last trimmed. Writes may overtake each other in the drive; their number may not change.

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Oracle {
    writes: Vec<u32>,
    /// Of these, writes that a read-only drive refused: they may have been done in part.
    refused: Vec<u32>,
    max: u32,
}

impl Oracle {
    /// For a drive of `pages` logical pages whose write counts go from 1 to `max`, over and over.
    #[must_use]
    pub fn new(pages: u32, max: u8) -> Self {
        Oracle { writes: vec![0; pages as usize], refused: vec![0; pages as usize], max: max.into() }
    }

    pub fn write(&mut self, page: u32) {
        self.writes[page as usize] += 1;
    }

    pub fn refuse(&mut self, page: u32) {
        self.refused[page as usize] += 1;
    }

    /// A write that the drive could not do, and that has left nothing behind.
    pub fn retract(&mut self, page: u32) {
        self.writes[page as usize] -= 1;
    }

    pub fn trim(&mut self, page: u32) {
        self.writes[page as usize] = 0;
        self.refused[page as usize] = 0;
    }

    pub fn clear(&mut self) {
        self.writes.fill(0);
        self.refused.fill(0);
    }

    /// Writes of a page since it was last trimmed, those under way included.
    #[must_use]
    pub fn writes(&self, page: u32) -> u32 {
        self.writes[page as usize]
    }

    /// From now on a page counts as written so often.
    pub fn set(&mut self, page: u32, writes: u32) {
        self.writes[page as usize] = writes;
        self.refused[page as usize] = 0;
    }

    /// The write count of so many writes.
    #[must_use]
    pub fn count(&self, writes: u32) -> u8 {
        if writes == 0 { 0 } else { ((writes - 1) % self.max + 1) as u8 }
    }

    /// Pages that hold data, if no write was refused.
    #[must_use]
    pub fn mapped(&self) -> Option<u64> {
        let certain = self.refused.iter().all(|&r| r == 0);
        certain.then(|| self.writes.iter().filter(|&&w| w > 0).count() as u64)
    }

    /// Checks what the drive would return for every page.
    ///
    /// # Errors
    /// The first page that is wrong.
    pub fn check(&self, found: impl Fn(u32) -> Option<u8>) -> Result<(), String> {
        (0..self.writes.len() as u32).try_for_each(|page| self.check_page(page, 0, found(page)))
    }

    /// Checks what the drive has of one page, of which so many writes are under way.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn check_page(&self, page: u32, under_way: u32, found: Option<u8>) -> Result<(), String> {
        let (writes, refused) = (self.writes[page as usize], self.refused[page as usize]);
        let found = found.unwrap_or(0);
        if (writes.saturating_sub(refused + under_way)..=writes).any(|w| self.count(w) == found) {
            return Ok(());
        }
        Err(format!(
            "page {page}: the host wrote it {writes} times (write count {}), the drive has write count {found}",
            self.count(writes)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_wrap_as_tags_do_and_a_refused_write_may_or_may_not_have_happened() {
        let mut oracle = Oracle::new(1, 3);
        let accepts = |oracle: &Oracle, found: Option<u8>| oracle.check(|_| found).is_ok();
        assert!(accepts(&oracle, None) && !accepts(&oracle, Some(1)));
        (0..4).for_each(|_| oracle.write(0));
        assert!(accepts(&oracle, Some(1)) && !accepts(&oracle, None) && !accepts(&oracle, Some(3)));
        oracle.refuse(0);
        assert!(accepts(&oracle, Some(1)) && accepts(&oracle, Some(3)) && !accepts(&oracle, Some(2)));
        assert_eq!(oracle.mapped(), None);
        oracle.trim(0);
        assert!(accepts(&oracle, None) && !accepts(&oracle, Some(1)));
        assert_eq!(oracle.mapped(), Some(0));
    }
}
