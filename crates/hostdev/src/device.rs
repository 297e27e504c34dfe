//! A real drive behind the face of a device.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use ssdlab_core::{Breakdown, MICROSECOND, Nanos, Op, Rng};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, HostCounters, Refusal, Request, Status};

use crate::clock::Clock;
use crate::ledger::Ledger;
use crate::ring::{Ended, Ring, Sent, overlap, status_of};
use crate::system;

/// The end of a wait, which is spent looking at the clock and the ring: a thread that sleeps is woken up to some hundred
/// microseconds late.
const WATCHED: Nanos = 250 * MICROSECOND;

/// An open drive. Its time is the machine's, from 0 when it was opened.
pub(crate) struct HostDevice {
    info: DeviceInfo,
    ring: Ring,
    /// All of it is to be trimmed before anything else.
    to_trim: bool,
    clock: Clock,
    /// The time up to which the bench has let it run: behind the clock by what the bench itself takes.
    now: Nanos,
    /// Sent while all places of the ring were taken.
    waiting: VecDeque<Sent>,
    /// Ended before anybody waited for it.
    ended: VecDeque<(Sent, Status)>,
    /// Places of reads that have ended, whose bytes are looked at while the drive is busy again.
    to_check: Vec<(u32, Sent)>,
    /// What the system said of the last request that went wrong.
    trouble: Option<String>,
    ledger: Ledger,
    /// What is written is drawn from this.
    rng: Rng,
    host: HostCounters,
}

impl HostDevice {
    pub(crate) fn new(info: DeviceInfo, ring: Ring, run: u64, to_trim: bool) -> HostDevice {
        let ledger = Ledger::new(run, info.capacity_bytes);
        HostDevice {
            info,
            ring,
            to_trim,
            clock: Clock::start(),
            now: 0,
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            to_check: Vec::new(),
            trouble: None,
            ledger,
            rng: Rng::new(run),
            host: HostCounters::default(),
        }
    }

    /// The TRIM of all of it, if that is still to come. Its clock stands meanwhile, at `now`: the test has not begun.
    fn begin(&mut self, now: Nanos) -> io::Result<()> {
        if self.to_trim {
            let done = system::discard(self.ring.file(), 0, self.info.capacity_bytes);
            self.clock = Clock::showing(now);
            self.to_trim = done.is_err();
            return done;
        }
        Ok(())
    }

    /// Puts what waits into the ring, as far as there are places, and hands all to the system.
    fn send(&mut self) {
        while let Some(sent) = self.waiting.pop_front() {
            let r = &sent.request;
            let Some(place) = self.ring.take(r, &mut self.rng) else {
                self.waiting.push_front(sent);
                break;
            };
            if r.op == Op::Write {
                check_before(&self.to_check, r, &self.ring, &mut self.ledger);
                self.ledger.forget(r.offset_bytes, r.length_bytes);
                self.ledger.stamp(self.ring.outgoing(place, r), r.offset_bytes);
            }
            self.ring.put(place, sent);
        }
        self.ring.send();
    }

    /// Sends a TRIM, and waits for it.
    fn trim(&mut self, sent: Sent) {
        let r = &sent.request;
        check_before(&self.to_check, r, &self.ring, &mut self.ledger);
        self.ledger.forget(r.offset_bytes, r.length_bytes);
        self.ring.overtake_writes(r);
        let done = system::discard(self.ring.file(), r.offset_bytes, r.length_bytes);
        let status = done.as_ref().map_or_else(status_of, |()| Status::Ok);
        self.trouble = done.err().map(|e| e.to_string()).or(self.trouble.take());
        self.ended.push_back((sent, status));
    }

    /// Looks at the bytes of reads that have ended, and gives their places back.
    fn check_reads(&mut self) {
        while let Some((place, sent)) = self.to_check.pop() {
            self.ledger.check(self.ring.brought(place, &sent.request), &sent);
            self.ring.give_back(place);
        }
    }

    fn has_ended(&mut self) -> bool {
        !self.ended.is_empty() || self.ring.has_ended()
    }

    /// Tells of everything that has ended by `now`.
    fn tell(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        while let Some((sent, status)) = self.ended.pop_front() {
            done.push(self.completion(sent, status, now));
        }
        while let Some(Ended { place, sent, status, error }) = self.ring.next_ended() {
            let r = sent.request;
            self.trouble = error.map(|e| e.to_string()).or(self.trouble.take());
            match (r.op, status) {
                (Op::Read, Status::Ok) => self.to_check.push((place, sent)),
                (Op::Write, Status::Ok) => {
                    if !sent.overtaken {
                        self.ledger.written(r.offset_bytes, r.length_bytes);
                    }
                    self.ring.give_back(place);
                }
                _ => self.ring.give_back(place),
            }
            done.push(self.completion(sent, status, now));
        }
    }

    fn completion(&mut self, sent: Sent, status: Status, now: Nanos) -> Completion {
        let Sent { request: r, at, .. } = sent;
        if status == Status::Ok {
            self.host.record(r.op, r.length_bytes);
        }
        Completion {
            tag: r.tag,
            op: r.op,
            status,
            offset_bytes: r.offset_bytes,
            length_bytes: r.length_bytes,
            submitted: at,
            completed: now,
            breakdown: Breakdown::default(),
        }
    }
}

/// Looks at the bytes of reads that have ended and have a sector in common with a request, while it is known what they had to bring.
fn check_before(to_check: &[(u32, Sent)], request: &Request, ring: &Ring, ledger: &mut Ledger) {
    for (place, read) in to_check.iter().filter(|(_, read)| overlap(&read.request, request)) {
        ledger.check(ring.brought(*place, &read.request), read);
    }
}

impl Device for HostDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        assert!(now >= self.now, "time runs backwards from {} to {now}", self.now);
        self.info.check(&request)?;
        self.now = now;
        let sent = Sent { request, at: now, overtaken: false };
        if let Err(e) = self.begin(now) {
            self.trouble = Some(format!("TRIM of all of it: {e}"));
            self.ended.push_back((sent, status_of(&e)));
            return Ok(());
        }
        match request.op {
            Op::Trim => self.trim(sent),
            // Each is handed over by itself: drives and systems that take many at once answer them at once.
            _ => {
                self.waiting.push_back(sent);
                self.send();
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        let busy = self.ring.is_busy() || !self.ended.is_empty() || !self.waiting.is_empty();
        busy.then(|| self.clock.now().max(self.now))
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        while self.advance_to_completion(to, done) < to {}
    }

    /// Where its time is past `limit` already, what has ended is told at the time that it is.
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let began = self.clock.now();
        if self.to_trim && began < limit {
            // If it fails, the first request says so.
            let _ = self.begin(began);
        }
        // The drive is busy meanwhile.
        self.check_reads();
        self.send();
        loop {
            let ended = self.has_ended();
            let now = self.clock.now();
            if ended && (now < limit || began >= limit) {
                self.tell(now, done);
                self.now = now;
                return now;
            }
            if now >= limit {
                // What has ended by now is of the next stretch of time.
                self.now = limit;
                return limit;
            }
            match limit - now {
                left if left <= WATCHED => std::hint::spin_loop(),
                left if self.ring.is_busy() => self.ring.wait(Duration::from_nanos(left - WATCHED)),
                left => std::thread::sleep(Duration::from_nanos(left - WATCHED)),
            }
        }
    }

    fn counters(&self) -> Counters {
        Counters { host: self.host, ..Counters::default() }
    }

    fn check_books(&self) -> Result<(), String> {
        self.ledger.verdict()?;
        let unseen = self.to_check.iter();
        let mut wrong =
            unseen.filter_map(|(place, sent)| self.ledger.wrong_of(self.ring.brought(*place, &sent.request), sent));
        wrong.next().map_or(Ok(()), Err)
    }

    fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn clock(&self) -> Option<Nanos> {
        Some(self.clock.now().max(self.now))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_drive_is_trimmed_when_it_is_first_used_and_no_sooner() {
        let path = std::env::temp_dir().join(format!("ssdlab-to-trim-{}", std::process::id()));
        fs::write(&path, [0xA5; 4096]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let Ok(ring) = Ring::new(file) else {
            println!("left out: there is no io_uring");
            return;
        };
        let info = DeviceInfo { capacity_bytes: 4096, supports_trim: true, ..DeviceInfo::new("file", "host") };
        let (mut device, mut done) = (HostDevice::new(info, ring, 1, true), Vec::new());
        // So far the bench goes before a test asks for anything.
        device.advance(0, &mut done);
        assert!(device.trouble().is_none() && done.is_empty());
        // A file knows no TRIM, which shows that one was asked for.
        let now = device.clock().unwrap();
        device.submit(now, Request::read(1, 0, 512)).unwrap();
        device.advance_to_completion(Nanos::MAX, &mut done);
        assert_eq!(done.iter().map(|c| c.status).collect::<Vec<_>>(), [Status::Aborted]);
        assert!(device.trouble().is_some_and(|why| why.starts_with("TRIM of all of it: ")), "{:?}", device.trouble());
        // Once it is trimmed, it is read.
        device.to_trim = false;
        let now = device.clock().unwrap();
        device.submit(now, Request::read(2, 0, 512)).unwrap();
        device.advance_to_completion(Nanos::MAX, &mut done);
        assert_eq!((done.len(), done[1].status), (2, Status::Ok));
    }
}
