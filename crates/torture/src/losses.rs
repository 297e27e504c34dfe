//! What a drive has lost, and what it may and must say of it: a page that was found lost stays lost until the host
//! writes or trims it, and is an error until then, never data; of any other page the host gets what it wrote.
//!
//! The drive tells of every unit that no read could bring ([`Loss`]); what follows from that is worked out here anew.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_core::Op;
use ssdlab_device::{Completion, Request, Status};
use ssdlab_ssd::{Loss, LossReader};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sound,
    Lost,
    /// Lost, and being written or trimmed, which makes up for it.
    Leaving,
    /// Found lost while it was being written or trimmed: whichever came first.
    Unsure,
}

/// A read, or a write of parts of pages, under way.
#[derive(Clone, Debug)]
struct Asked {
    op: Op,
    /// The pages without which it cannot be done.
    needs: [Range<u32>; 2],
    /// One of them was lost before it was sent, and nobody has written or trimmed any since.
    must_fail: bool,
    /// One of them was lost at some time since it was sent.
    may_fail: bool,
    /// One of them has been written or trimmed since it was sent, or was being so then.
    touched: bool,
}

impl Asked {
    fn needs(&self, page: u32) -> bool {
        self.needs.iter().any(|pages| pages.contains(&page))
    }

    fn meets(&self, range: &Range<u32>) -> bool {
        self.needs.iter().any(|pages| pages.start.max(range.start) < pages.end.min(range.end))
    }

    fn pages(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        let [first, second] = self.needs.clone();
        first.chain(second)
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Losses {
    page_bytes: u64,
    states: Vec<State>,
    asked: BTreeMap<u64, Asked>,
    /// Units that a read for a command has lost, and the commands that it may have been: one must be told.
    untold: Vec<(Loss, Vec<u64>)>,
    /// Nothing but reads is under way, and nothing moves.
    pub quiet: bool,
}

/// The pages that a command needs: all of a read; of a write, those that it does not write as a whole.
pub(crate) fn needed(r: &Request, page_bytes: u64) -> [Range<u32>; 2] {
    let end = r.offset_bytes + r.length_bytes;
    let (first, last) = ((r.offset_bytes / page_bytes) as u32, end.div_ceil(page_bytes) as u32);
    match r.op {
        Op::Read => [first..last, 0..0],
        Op::Write => {
            let head = !r.offset_bytes.is_multiple_of(page_bytes);
            let tail = !end.is_multiple_of(page_bytes);
            let part = |partly: bool, page: u32| if partly { page..page + 1 } else { 0..0 };
            [part(head, first), part(tail, last - 1)]
        }
        Op::Trim | Op::Flush | Op::WriteZeroes => [0..0, 0..0],
    }
}

impl Losses {
    #[must_use]
    pub fn new(pages: u32, page_bytes: u64) -> Self {
        let states = vec![State::Sound; pages as usize];
        Losses { page_bytes, states, asked: BTreeMap::new(), untold: Vec::new(), quiet: false }
    }

    fn state(&mut self, page: u32) -> &mut State {
        &mut self.states[page as usize]
    }

    /// A command is sent that writes or trims `changes`. Of the pages that it needs, `changing` are being written or
    /// trimmed by others.
    pub fn submitted(&mut self, request: &Request, changes: Range<u32>, changing: impl Fn(u32) -> bool) {
        let mut asked = Asked {
            op: request.op,
            needs: needed(request, self.page_bytes),
            must_fail: false,
            may_fail: false,
            touched: false,
        };
        for page in asked.pages() {
            let state = *self.state(page);
            asked.must_fail |= state == State::Lost;
            asked.may_fail |= state != State::Sound;
            asked.touched |= changing(page);
        }
        asked.must_fail &= !asked.touched;
        if !changes.is_empty() {
            let others = self.asked.values_mut().filter(|other| other.meets(&changes));
            others.for_each(|other| (other.must_fail, other.touched) = (false, true));
            for page in changes {
                let state = self.state(page);
                if *state != State::Sound {
                    *state = State::Leaving;
                }
            }
        }
        if asked.pages().next().is_some() {
            self.asked.insert(request.tag, asked);
        }
    }

    /// The drive has lost a unit. `changing`: the page is being written or trimmed; `lost`: the drive counts it as lost.
    ///
    /// # Errors
    /// If nobody has asked for the unit, or the drive does not count what it must.
    pub fn found(&mut self, loss: &Loss, changing: bool, lost: bool) -> Result<(), String> {
        let page = loss.page.number();
        let op = match loss.reader {
            LossReader::Host => Some(Op::Read),
            LossReader::Merge => Some(Op::Write),
            LossReader::ReadAhead | LossReader::Buffer | LossReader::Firmware => None,
        };
        let mut tags = Vec::new();
        for (&tag, asked) in self.asked.iter_mut().filter(|(_, asked)| asked.needs(page)) {
            asked.may_fail = true;
            if op == Some(asked.op) {
                tags.push(tag);
            }
        }
        if op.is_some() && tags.is_empty() {
            return Err(format!("{loss:?}, which no command has asked for"));
        }
        if loss.stale {
            return if self.quiet { Err(format!("{loss:?}, and nothing has moved")) } else { Ok(()) };
        }
        if op.is_some() {
            self.untold.push((*loss, tags));
        }
        if changing {
            *self.state(page) = State::Unsure;
        } else if lost {
            *self.state(page) = State::Lost;
        } else {
            return Err(format!("{loss:?}, and the page does not count as lost"));
        }
        Ok(())
    }

    /// A command has come back. Of the pages that it needed, the drive counts as `lost` so many.
    ///
    /// # Errors
    /// If it says that something is lost that is not, or hides that it is.
    pub fn completed(&mut self, c: &Completion, lost: impl Fn(u32) -> bool) -> Result<(), String> {
        if !self.untold.is_empty() {
            self.tell(c)?;
        }
        let Some(asked) = self.asked.remove(&c.tag) else {
            return if c.status == Status::MediaError { Err(format!("{c:?} needed no data")) } else { Ok(()) };
        };
        match c.status {
            Status::MediaError if !(asked.touched && asked.may_fail || asked.pages().any(lost)) => {
                Err(format!("{c:?}, but the drive counts no page of it as lost"))
            }
            Status::Ok if asked.must_fail => Err(format!("{c:?}, but data of it were lost before")),
            _ => Ok(()),
        }
    }

    /// A command that may have been the one that lost units has come back.
    fn tell(&mut self, c: &Completion) -> Result<(), String> {
        if c.status != Status::Ok {
            self.untold.retain(|(_, tags)| !tags.contains(&c.tag));
        }
        for (loss, tags) in &mut self.untold {
            tags.retain(|&tag| tag != c.tag);
            if tags.is_empty() {
                return Err(format!("{c:?}, although: {loss:?}"));
            }
        }
        Ok(())
    }

    /// A write or trim of a page has come back. `others`: there are more under way.
    pub fn changed(&mut self, page: u32, status: Status, others: bool) {
        let state = self.state(page);
        if *state == State::Leaving {
            match status {
                Status::Ok if others => {}
                Status::Ok => *state = State::Sound,
                _ => *state = State::Unsure,
            }
        }
    }

    /// The host has erased everything.
    pub fn clear(&mut self) {
        self.states.fill(State::Sound);
    }

    /// Compares with what the drive counts as lost, in order, with no command in flight.
    ///
    /// # Errors
    /// The first page of which the drive says otherwise.
    pub fn check(&mut self, lost: &[u32]) -> Result<(), String> {
        let mut lost = lost.iter().copied().peekable();
        for (page, state) in (0..).zip(&mut self.states) {
            let is_lost = lost.next_if_eq(&page).is_some();
            match state {
                State::Lost if !is_lost => return Err(format!("page {page} was lost, and the drive has forgotten it")),
                State::Sound if is_lost => return Err(format!("page {page} counts as lost, and nothing has lost it")),
                State::Leaving => return Err(format!("page {page} is being written with no command in flight")),
                _ => *state = if is_lost { State::Lost } else { State::Sound },
            }
        }
        match lost.next() {
            Some(page) => Err(format!("page {page} counts as lost, but is none of the drive's")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Breakdown;

    use ssdlab_core::UNIT_BYTES;

    use super::*;

    fn request(tag: u64, op: Op, page: u64, bytes: u64) -> Request {
        Request::new(tag, op, page * UNIT_BYTES, bytes)
    }

    fn end(r: &Request, status: Status) -> Completion {
        let Request { tag, op, offset_bytes, length_bytes, .. } = *r;
        let breakdown = Breakdown::default();
        Completion { tag, op, status, offset_bytes, length_bytes, submitted: 0, completed: 0, breakdown }
    }

    fn loss(page: u32, reader: LossReader) -> Loss {
        Loss { page: ssdlab_nand::LogicalPage::new(page), write_count: 1, reader, stale: false, in_part: false }
    }

    /// Ten pages, of which the collector has found number 3 lost.
    fn losses() -> Losses {
        let mut losses = Losses::new(10, UNIT_BYTES);
        losses.found(&loss(3, LossReader::Firmware), false, true).expect("it counts as lost");
        losses
    }

    #[test]
    fn a_lost_page_is_an_error_until_it_is_written() {
        let mut losses = losses();
        let read = request(1, Op::Read, 2, 3 * UNIT_BYTES);
        losses.submitted(&read, 0..0, |_| false);
        assert!(losses.clone().completed(&end(&read, Status::Ok), |page| page == 3).is_err());
        assert_eq!(losses.completed(&end(&read, Status::MediaError), |page| page == 3), Ok(()));
        assert!(losses.clone().check(&[]).is_err() && losses.clone().check(&[2, 3]).is_err());
        assert_eq!(losses.check(&[3]), Ok(()));
        let write = request(2, Op::Write, 3, UNIT_BYTES);
        losses.submitted(&write, 3..4, |_| false);
        assert_eq!(losses.completed(&end(&write, Status::Ok), |_| false), Ok(()));
        losses.changed(3, Status::Ok, false);
        assert!(losses.clone().check(&[3]).is_err());
        assert_eq!(losses.check(&[]), Ok(()));
    }

    #[test]
    fn a_write_of_part_of_a_lost_page_fails_and_leaves_it_lost() {
        let mut losses = losses();
        let write = request(1, Op::Write, 3, 512);
        losses.submitted(&write, 3..4, |_| false);
        assert!(losses.clone().completed(&end(&write, Status::Ok), |_| false).is_err());
        assert_eq!(losses.completed(&end(&write, Status::MediaError), |_| true), Ok(()));
        losses.changed(3, Status::MediaError, false);
        assert_eq!(losses.check(&[3]), Ok(()));
    }

    #[test]
    fn what_a_read_has_lost_is_told_to_one_of_those_who_asked() {
        let mut losses = Losses::new(10, UNIT_BYTES);
        assert!(losses.clone().found(&loss(5, LossReader::Host), false, true).is_err(), "nobody has asked");
        let reads = [request(1, Op::Read, 5, UNIT_BYTES), request(2, Op::Read, 4, 2 * UNIT_BYTES)];
        reads.iter().for_each(|read| losses.submitted(read, 0..0, |_| false));
        assert!(losses.clone().found(&loss(5, LossReader::Host), false, false).is_err(), "it does not count as lost");
        losses.found(&loss(5, LossReader::Host), false, true).expect("two have asked");
        assert_eq!(losses.completed(&end(&reads[0], Status::Ok), |page| page == 5), Ok(()));
        assert!(losses.clone().completed(&end(&reads[1], Status::Ok), |page| page == 5).is_err());
        assert_eq!(losses.completed(&end(&reads[1], Status::MediaError), |page| page == 5), Ok(()));
    }

    #[test]
    fn errors_need_a_reason() {
        let mut losses = losses();
        for (op, bytes) in [(Op::Read, UNIT_BYTES), (Op::Write, UNIT_BYTES), (Op::Trim, UNIT_BYTES)] {
            let r = request(1, op, 6, bytes);
            losses.submitted(&r, 0..0, |_| false);
            assert!(losses.completed(&end(&r, Status::MediaError), |page| page == 3).is_err(), "{op:?}");
        }
    }

    #[test]
    fn a_read_beside_a_write_may_come_out_either_way() {
        for status in [Status::Ok, Status::MediaError] {
            let mut losses = losses();
            let (read, write) = (request(1, Op::Read, 3, UNIT_BYTES), request(2, Op::Write, 3, UNIT_BYTES));
            losses.submitted(&read, 0..0, |_| false);
            losses.submitted(&write, 3..4, |_| false);
            assert_eq!(losses.completed(&end(&read, status), |_| false), Ok(()));
        }
    }
}
