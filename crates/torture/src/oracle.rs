//! What the host wrote, as plainly as it can be kept: for every logical page, how often it was written since it was
//! last trimmed, and the number that its last write before had. Writes may overtake each other in the drive; their number may
//! not change.

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Oracle {
    writes: Vec<u32>,
    /// The number of the last write before these.
    before: Vec<u8>,
    /// Of these, writes that a read-only drive refused: they may have been done in part.
    refused: Vec<u32>,
    max: u32,
}

impl Oracle {
    /// For a drive of `pages` logical pages whose write counts go from 1 to `max`, over and over.
    #[must_use]
    pub fn new(pages: u32, max: u8) -> Self {
        let pages = pages as usize;
        Oracle { writes: vec![0; pages], before: vec![0; pages], refused: vec![0; pages], max: max.into() }
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
        if self.writes(page) > 0 {
            self.before[page as usize] = self.count(page, self.writes(page));
        }
        self.set(page, 0);
    }

    pub fn clear(&mut self) {
        self.writes.fill(0);
        self.before.fill(0);
        self.refused.fill(0);
    }

    /// Writes of a page since it was last trimmed, those under way included.
    #[must_use]
    pub fn writes(&self, page: u32) -> u32 {
        self.writes[page as usize]
    }

    fn set(&mut self, page: u32, writes: u32) {
        self.writes[page as usize] = writes;
        self.refused[page as usize] = 0;
    }

    /// From now on a page counts as written once, with this number; or, with 0, as never written.
    pub fn begin_anew(&mut self, page: u32, number: u8) {
        self.before[page as usize] = number.saturating_sub(1);
        self.set(page, (number != 0).into());
    }

    /// The write count that a page has after so many writes.
    #[must_use]
    pub fn count(&self, page: u32, writes: u32) -> u8 {
        self.number(self.before[page as usize], writes)
    }

    /// The same after so many writes that came behind the one of this number; 0 behind no number is none.
    #[must_use]
    pub fn number(&self, before: u8, writes: u32) -> u8 {
        if writes == 0 { 0 } else { ((u32::from(before) + writes - 1) % self.max + 1) as u8 }
    }

    /// The number of the last write before those that count.
    #[must_use]
    pub fn before(&self, page: u32) -> u8 {
        self.before[page as usize]
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
        if (writes.saturating_sub(refused + under_way)..=writes).any(|w| self.count(page, w) == found) {
            return Ok(());
        }
        Err(format!(
            "page {page}: the host wrote it {writes} times (write count {}), the drive has write count {found}",
            self.count(page, writes)
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
        oracle.write(0);
        assert!(accepts(&oracle, Some(2)) && !accepts(&oracle, Some(1)), "it counts on from 4, which is 1");
        oracle.begin_anew(0, 3);
        oracle.write(0);
        assert!(accepts(&oracle, Some(1)) && !accepts(&oracle, Some(3)));
        oracle.begin_anew(0, 0);
        assert!(accepts(&oracle, None));
        oracle.write(0);
        assert!(accepts(&oracle, Some(1)));
    }
}
