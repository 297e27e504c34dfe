//! The requests of a mix, one after the other.

use std::collections::VecDeque;

use ssdlab_core::{Op, Rng};

use super::Application;
use super::activity::{Area, Locality, Machine, Weights, Work, locality};
use super::files::{Files, PAGE};
use crate::pattern::Command;
use crate::storage_bench::Step;

/// The largest request that Windows sent at the time.
const LARGEST: u64 = 64 << 10;
/// A viewer jumps to another place once in so many requests.
const REQUESTS_PER_JUMP: u64 = 256;
/// Draws for a file that the host has not in memory.
const FILES_TRIED: u32 = 8;
/// Copies take any file.
const ANY_FILE: Locality = locality(0, 100);
/// Pieces of a program lie closer together than chance would have them.
const PIECES: Locality = locality(50, 20);
/// Some records of the directory change often.
const RECORDS: Locality = locality(80, 20);

/// A request within the partition.
#[derive(Clone, Copy, Debug)]
struct Piece {
    op: Op,
    at: u64,
    length: u64,
    depth: u32,
}

/// An activity under way.
#[derive(Clone, Debug)]
struct Doing {
    work: Work,
    /// Requests left to it.
    left: u64,
    files: Option<Files>,
    /// Where the next file, log entry or scanned file is.
    cursor: u64,
    /// File and position of each reader.
    readers: Vec<(u64, u64)>,
    rng: Rng,
}

/// The requests of an [`Application`]. Each one's depth says how many are in flight once it has been sent; there are no
/// pauses.
#[derive(Clone, Debug)]
pub struct Stream {
    machine: &'static Machine,
    doing: Vec<Doing>,
    lanes: Vec<VecDeque<Piece>>,
    remembered: VecDeque<u64>,
    journal: u64,
    left: u64,
    /// Requests that no burst has been begun for.
    unplanned: u64,
    rng: Rng,
}

impl Stream {
    /// `requests` requests in the proportions of the mix. The same number and generator give the same requests.
    #[must_use]
    pub fn new(application: Application, requests: u64, rng: &Rng) -> Self {
        let machine = application.machine();
        let rng = rng.stream("application mix").stream(application.name());
        let mut doing: Vec<Doing> =
            machine.activities.iter().enumerate().map(|(i, a)| Doing::new(a.work, i, &rng)).collect();
        let mut given = 0;
        let mut shares = 0;
        // Rounded so that nothing is left over.
        for (d, a) in doing.iter_mut().zip(machine.activities) {
            shares += a.share;
            let upto = (u128::from(requests) * u128::from(shares) / 10_000) as u64;
            (d.left, given) = (upto - given, upto);
        }
        assert_eq!(shares, 10_000, "the shares of {application:?}");
        Stream {
            machine,
            doing,
            lanes: vec![VecDeque::new(); machine.lanes],
            remembered: VecDeque::new(),
            journal: 0,
            left: requests,
            unplanned: requests,
            rng: rng.stream("order"),
        }
    }

    /// The next burst of an activity, drawn by what is left of each.
    fn burst(&mut self) -> VecDeque<Piece> {
        let mut draw = self.rng.below(self.unplanned);
        let chosen = self.doing.iter().position(|d| {
            let here = draw < d.left;
            draw = draw.saturating_sub(d.left);
            here
        });
        let doing = &mut self.doing[chosen.expect("what is left of the activities is what is left of the whole")];
        let mut host = Memory { machine: self.machine, remembered: &mut self.remembered, journal: &mut self.journal };
        let mut pieces = doing.burst(&mut host);
        pieces.truncate(doing.left as usize);
        doing.left -= pieces.len() as u64;
        self.unplanned -= pieces.len() as u64;
        pieces.into()
    }
}

impl Iterator for Stream {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.left == 0 {
            return None;
        }
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].is_empty() && self.unplanned > 0 {
                self.lanes[lane] = self.burst();
            }
        }
        // A lane goes on for some requests before another gets its turn.
        let mut lane = self.rng.below(self.lanes.len() as u64) as usize;
        while self.lanes[lane].is_empty() {
            lane = (lane + 1) % self.lanes.len();
        }
        let piece = self.lanes[lane].pop_front()?;
        self.left -= 1;
        let command = Command {
            op: piece.op,
            offset_bytes: self.machine.partition_bytes + piece.at,
            length_bytes: piece.length,
            fua: false,
        };
        Some(Step { command, depth: piece.depth, pause: 0 })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

/// What the activities of a machine share.
struct Memory<'a> {
    machine: &'static Machine,
    /// Where the files begin that were read lately.
    remembered: &'a mut VecDeque<u64>,
    /// Where the journal's next entry goes.
    journal: &'a mut u64,
}

impl Memory<'_> {
    /// Whether the file that begins at `at` has to be read from the drive; it is remembered from now on.
    fn is_new(&mut self, at: u64) -> bool {
        if self.remembered.contains(&at) {
            return false;
        }
        self.remembered.push_back(at);
        if self.remembered.len() > self.machine.remembered_files {
            self.remembered.pop_front();
        }
        true
    }

    /// One entry of 4 KiB in the journal of the file system.
    fn journal_entry(&mut self) -> Piece {
        let area = self.machine.journal;
        let at = area.from() + *self.journal;
        *self.journal = (*self.journal + PAGE) % area.bytes();
        Piece { op: Op::Write, at, length: PAGE, depth: 1 }
    }
}

/// A size by its weight.
fn weighted(sizes: Weights, rng: &mut Rng) -> u64 {
    let total: u32 = sizes.iter().map(|s| s.1).sum();
    let mut draw = rng.below(u64::from(total)) as u32;
    for &(bytes, weight) in sizes {
        if draw < weight {
            return bytes.into();
        }
        draw -= weight;
    }
    unreachable!("a draw below the sum of the weights")
}

/// The requests that so many bytes take one after the other: position and length of each.
fn parts(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(LARGEST)).map(move |k| (k * LARGEST, LARGEST.min(bytes - k * LARGEST)))
}

/// One of `from..=to`.
fn between((from, to): (u64, u64), rng: &mut Rng) -> u64 {
    from + rng.below(to - from + 1)
}

impl Doing {
    fn new(work: Work, index: usize, rng: &Rng) -> Self {
        let files = match work {
            Work::ReadFile { area, files, .. }
            | Work::Scan { area, files, .. }
            | Work::CopyFile { from: area, files, .. }
            | Work::ServeStreams { area, files, .. } => {
                // By the area, so that all who read it see the same files.
                let stream = format!("files at {} of {}", area.from_mib, files.from_kib);
                Some(Files::new(area, files, rng.stream(&stream)))
            }
            _ => None,
        };
        let rng = rng.stream(&format!("activity {index}"));
        Doing { work, left: 0, files, cursor: 0, readers: Vec::new(), rng }
    }

    /// The files of an activity that reads files.
    fn files(&self) -> &Files {
        self.files.as_ref().expect("an activity that reads files has some")
    }

    /// A file that is not in the host's memory, unless nearly all are.
    fn new_file(&mut self, locality: Locality, host: &mut Memory<'_>) -> u64 {
        let mut file = 0;
        for _ in 0..FILES_TRIED {
            let rank = locality.draw(self.files().count(), &mut self.rng);
            file = self.files().by_rank(rank);
            if host.is_new(self.files().place(file, 0, 0)) {
                break;
            }
        }
        file
    }

    fn burst(&mut self, host: &mut Memory<'_>) -> Vec<Piece> {
        let mut out = Vec::new();
        match self.work {
            Work::ReadFile { locality, at_most_kib, lookup_percent, depth, .. } => {
                let file = self.new_file(locality, host);
                if self.rng.chance(lookup_percent, 100) {
                    out.push(self.lookup(file, host));
                }
                self.read(file, at_most_kib, depth, &mut out);
            }
            Work::Scan { at_most_kib, .. } => {
                let file = self.cursor % self.files().count();
                self.cursor += 1;
                // Four records lie in a page: one read tells of four files.
                if file.is_multiple_of(4) {
                    out.push(self.lookup(file, host));
                }
                self.read(file, at_most_kib, 1, &mut out);
            }
            Work::WriteFile { area, files, records, depth } => {
                let length = files.draw(&mut self.rng);
                let from = self.free_space(area, length);
                for (position, length) in parts(length) {
                    out.push(Piece { op: Op::Write, at: from + position, length, depth });
                }
                self.records(records, host, &mut out);
            }
            Work::CopyFile { to, reads_per_write, .. } => {
                let file = self.new_file(ANY_FILE, host);
                out.push(self.lookup(file, host));
                self.copy(file, to, reads_per_write, &mut out);
                self.records(2, host, &mut out);
            }
            Work::Load { area, programs, locality, pieces, sizes, depth } => {
                let program = locality.draw(programs, &mut self.rng);
                // A program's pieces follow from its number alone.
                let mut own = Rng::new(program).stream("program");
                for _ in 0..between(pieces, &mut own) {
                    let length = weighted(sizes, &mut own);
                    out.push(Piece { op: Op::Read, at: area.page(PIECES, length, &mut own), length, depth });
                }
                out.sort_by_key(|p| p.at);
            }
            Work::ReadPages { area, locality, sizes, run, depth } => {
                let length = weighted(sizes, &mut self.rng);
                let first = area.page(locality, length * run, &mut self.rng);
                for i in 0..1 + self.rng.below(run) {
                    out.push(Piece { op: Op::Read, at: first + i * length, length, depth });
                }
            }
            Work::WritePages { area, locality, sizes, pages, depth } => {
                for _ in 0..between(pages, &mut self.rng) {
                    let length = weighted(sizes, &mut self.rng);
                    let at = area.page(locality, length, &mut self.rng);
                    out.push(Piece { op: Op::Write, at, length, depth });
                }
                out.sort_by_key(|p| p.at);
                out.dedup_by_key(|p| p.at);
            }
            Work::UpdatePage { area, locality, sizes } => {
                let length = weighted(sizes, &mut self.rng);
                let at = area.page(locality, length, &mut self.rng);
                out.push(Piece { op: Op::Read, at, length, depth: 1 });
                out.push(Piece { op: Op::Write, at, length, depth: 1 });
            }
            Work::Journal { entries } => {
                for _ in 0..1 + self.rng.below(entries) {
                    out.push(host.journal_entry());
                }
            }
            Work::Append { area, sizes, writes } => {
                for _ in 0..1 + self.rng.below(writes) {
                    let length = weighted(sizes, &mut self.rng);
                    let at = self.free_space(area, length);
                    out.push(Piece { op: Op::Write, at, length, depth: 1 });
                }
            }
            Work::ServeStreams { locality, streams, request_kib, requests, depth, .. } => {
                while self.readers.len() < streams {
                    let file = self.new_file(locality, host);
                    self.readers.push((file, 0));
                }
                for _ in 0..requests {
                    let (at, length) = self.next_of_a_reader(locality, request_kib << 10, host);
                    out.push(Piece { op: Op::Read, at, length, depth });
                }
            }
        }
        out
    }

    fn lookup(&self, file: u64, host: &Memory<'_>) -> Piece {
        Piece { op: Op::Read, at: self.files().record(file, host.machine.directory), length: PAGE, depth: 1 }
    }

    /// Reads a file from its beginning. The first request is waited for; from the second on the host reads ahead.
    fn read(&self, file: u64, at_most_kib: u64, depth: u32, out: &mut Vec<Piece>) {
        for (position, length) in parts(self.files().length(file).min(at_most_kib << 10)) {
            let at = self.files().place(file, position, length);
            out.push(Piece { op: Op::Read, at, length, depth: if position == 0 { 1 } else { depth } });
        }
    }

    /// Reads a file, and writes a part of what was read after every so many reads and at the end.
    fn copy(&mut self, file: u64, to: Area, reads_per_write: u64, out: &mut Vec<Piece>) {
        let whole = self.files().length(file);
        let target = self.free_space(to, whole / reads_per_write);
        let mut written = 0;
        for (position, length) in parts(whole) {
            out.push(Piece { op: Op::Read, at: self.files().place(file, position, length), length, depth: 2 });
            let read = position + length;
            if (read / LARGEST).is_multiple_of(reads_per_write) || read == whole {
                out.push(Piece { op: Op::Write, at: target + written, length, depth: 2 });
                written += length;
            }
        }
    }

    /// Where one of the readers goes on, and how much it reads. Some jump; at the end of a file another one begins.
    fn next_of_a_reader(&mut self, locality: Locality, at_most: u64, host: &mut Memory<'_>) -> (u64, u64) {
        let reader = self.rng.below(self.readers.len() as u64) as usize;
        let (mut file, mut position) = self.readers[reader];
        if position >= self.files().length(file) {
            (file, position) = (self.new_file(locality, host), 0);
        } else if self.rng.chance(1, REQUESTS_PER_JUMP) {
            position = self.rng.below(self.files().length(file) / LARGEST) * LARGEST;
        }
        let length = at_most.min(self.files().length(file) - position);
        self.readers[reader] = (file, position + length);
        (self.files().place(file, position, length), length)
    }

    /// The next `length` bytes of an area that is written in order, and begins anew at its end.
    fn free_space(&mut self, area: Area, length: u64) -> u64 {
        if self.cursor + length > area.bytes() {
            self.cursor = 0;
        }
        let at = area.from() + self.cursor;
        self.cursor += length;
        at
    }

    /// What a new file costs beside its data: an entry in the journal, then pages of the directory.
    fn records(&mut self, records: u32, host: &mut Memory<'_>, out: &mut Vec<Piece>) {
        for i in 0..records {
            if i == 0 {
                out.push(host.journal_entry());
            } else {
                let at = host.machine.directory.page(RECORDS, PAGE, &mut self.rng);
                out.push(Piece { op: Op::Write, at, length: PAGE, depth: 2 });
            }
        }
    }
}
