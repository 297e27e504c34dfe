//! What a drive notes of its parts' work, against what it counts.

use ssdlab_core::{Cause, Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request, Stretch, Timeline, Track, Work};
use ssdlab_ftl::Translation;
use ssdlab_ssd::{DriveSpec, Ssd};
use ssdlab_testkit::{ideal_die, ideal_drive};

/// A drive and its host's clock.
struct Bench {
    ssd: Ssd,
    now: Nanos,
    pages: u64,
}

impl Bench {
    /// A drive of eight dies on four channels, filled.
    fn filled() -> Self {
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        (die.geometry.blocks_per_plane, die.bus.mega_transfers_per_s) = (48, 200.0);
        (drive.flash.dies, drive.controller.channels, drive.controller.ways) = (8, 4, 2);
        drive.flash.exact_spare_per_10000 = None;
        let capacity_bytes = die.raw_bytes() * 8 * 6 / 10 / UNIT_BYTES * UNIT_BYTES;
        let drive = DriveSpec { capacity_bytes, ..drive };
        let ssd = Ssd::new("noted", &drive, &die, 1).expect("a valid drive");
        let mut bench = Bench { ssd, now: 0, pages: capacity_bytes / UNIT_BYTES };
        let pages = bench.pages;
        bench.keep_busy(32, (0..pages).map(|page| Request::write(page, page * UNIT_BYTES, UNIT_BYTES)));
        bench
    }

    fn keep_busy(&mut self, depth: u64, mut requests: impl Iterator<Item = Request>) -> Vec<Completion> {
        let (mut under_way, mut all) = (0, Vec::new());
        loop {
            while under_way < depth {
                let Some(request) = requests.next() else { break };
                self.ssd.submit(self.now, request).expect("a request within the drive");
                under_way += 1;
            }
            if under_way == 0 {
                return all;
            }
            let before = all.len();
            self.now = self.ssd.advance_to_completion(Nanos::MAX / 2, &mut all);
            under_way -= (all.len() - before) as u64;
        }
    }

    fn rest(&mut self) {
        while let Some(at) = self.ssd.next_event() {
            self.ssd.advance(at, &mut Vec::new());
            self.now = at;
        }
    }

    fn record(&mut self, stretches: usize) {
        self.ssd.recorder().expect("a drive that explains itself").record(stretches);
    }

    fn since(&mut self, from: Nanos) -> Timeline {
        self.ssd.recorder().expect("a drive that explains itself").recorded_since(from)
    }
}

fn random_writes(pages: u64, count: u64) -> impl Iterator<Item = Request> {
    let mut rng = Rng::new(5);
    (0..count).map(move |tag| Request::write(tag, rng.below(pages) * UNIT_BYTES, UNIT_BYTES))
}

fn of<'t>(timeline: &'t Timeline, part: &str) -> Vec<&'t Track> {
    timeline.tracks.iter().filter(|track| track.part.starts_with(part)).collect()
}

/// How many stretches of a part are this.
fn count(tracks: &[&Track], what: &str) -> u64 {
    let all = tracks.iter().flat_map(|track| &track.stretches);
    all.filter(|s| matches!(&s.work, Work::Flash { what: w, .. } if *w == what)).count() as u64
}

#[test]
fn every_operation_that_is_counted_is_noted_once_and_dies_do_one_thing_at_a_time() {
    let mut bench = Bench::filled();
    bench.rest();
    let (before, from, pages) = (bench.ssd.counters(), bench.now, bench.pages);
    bench.record(1 << 20);
    let done = bench.keep_busy(8, random_writes(pages, 2 * pages));
    bench.rest();
    let counted = bench.ssd.counters().since(&before).flash.expect("it has flash");
    // A drive without firmware ends some of them at once.
    let timeline = bench.since(from - 1);
    let dies = of(&timeline, "die ");
    assert_eq!(dies.len(), 8);
    let row_bytes = u64::from(bench.ssd.translation().medium().layout().row_bytes());
    let programs = [("program", counted.host_program_bytes), ("collector: program", counted.gc_program_bytes)];
    for (what, bytes) in programs {
        assert!(bytes > 0, "{what}: nothing was programmed");
        assert_eq!(count(&dies, what), bytes / row_bytes, "{what}");
    }
    assert_eq!(count(&dies, "erase"), counted.block_erases);
    for track in dies.iter().chain(&of(&timeline, "channel ")) {
        let one_by_one = track.stretches.windows(2).all(|pair| pair[0].to <= pair[1].from);
        assert!(one_by_one, "{} is at two things at once", track.part);
        assert!(track.stretches.iter().all(|s| s.from < s.to && s.to <= bench.now), "{}", track.part);
    }
    assert_eq!(of(&timeline, "channel ").len(), 4);
    assert_eq!(of(&timeline, "commands")[0].stretches.len(), done.len());
    assert_eq!(timeline.complete_from, from, "everything is there");
}

/// What a request waits for may have begun long before anybody watches.
#[test]
fn what_is_under_way_when_recording_begins_is_there() {
    let mut bench = Bench::filled();
    let mut busy = 0;
    for round in 1..50 {
        bench.record(1 << 16);
        let pages = bench.pages;
        bench.keep_busy(8, random_writes(pages, 100 * round));
        let from = bench.now;
        let mut late = Bench { ssd: bench.ssd.clone(), ..bench };
        late.record(1 << 16);
        let of_dies =
            |bench: &mut Bench| -> Vec<Track> { of(&bench.since(from), "die ").into_iter().cloned().collect() };
        busy += of_dies(&mut late).iter().filter(|die| !die.stretches.is_empty()).count();
        assert_eq!(of_dies(&mut bench), of_dies(&mut late), "round {round}");
        for bench in [&mut bench, &mut late] {
            bench.keep_busy(1, random_writes(pages, 10).map(|write| Request { op: Op::Read, ..write }));
        }
        assert_eq!(of_dies(&mut bench), of_dies(&mut late), "round {round}");
        assert_eq!(late.since(from).complete_from, from);
    }
    assert!(busy > 20, "{busy} dies were at work");
}

#[test]
fn a_read_alone_takes_as_long_as_its_die_and_channel_are_noted_to_work_for_it() {
    let mut bench = Bench::filled();
    bench.rest();
    bench.record(1000);
    let mut rng = Rng::new(9);
    for _ in 0..50 {
        let from = bench.now;
        let read = Request::read(1, rng.below(bench.pages) * UNIT_BYTES, UNIT_BYTES);
        let done = bench.keep_busy(1, std::iter::once(read));
        let timeline = bench.since(from);
        let busy: Vec<_> = of(&timeline, "die ").into_iter().flat_map(|track| &track.stretches).collect();
        let [own] = busy[..] else { panic!("{busy:?}") };
        let spent = done[0].breakdown.get(Cause::Read) + done[0].breakdown.get(Cause::Bus);
        assert_eq!(own.to - own.from, spent);
        let sent: Nanos = of(&timeline, "channel ").iter().flat_map(|t| &t.stretches).map(|s| s.to - s.from).sum();
        assert_eq!(sent, done[0].breakdown.get(Cause::Bus));
    }
}

#[test]
fn what_is_noted_changes_nothing_and_what_has_gone_is_said() {
    let run = |stretches: usize| {
        let mut bench = Bench::filled();
        bench.record(stretches);
        let pages = bench.pages;
        let done = bench.keep_busy(8, random_writes(pages, pages));
        (done, bench.ssd.counters(), bench.since(0))
    };
    let (plain, counted, nothing) = run(0);
    let (watched, also, some) = run(100);
    assert_eq!((plain, counted), (watched, also));
    assert!(nothing.is_empty());
    assert!((1..=400).contains(&some.len()), "{}", some.len());
    let first = some.tracks.iter().flat_map(|t| &t.stretches).map(|s| s.from).min().expect("a hundred of each");
    assert!(some.complete_from > first, "what ended before {} has gone", some.complete_from);
}

#[test]
fn commands_under_way_are_told_as_such() {
    let mut bench = Bench::filled();
    bench.rest();
    bench.record(1000);
    let from = bench.now;
    for (tag, request) in (0..).zip(random_writes(bench.pages, 100)) {
        bench.ssd.submit(from, Request { tag, op: Op::Read, ..request }).expect("a request within the drive");
    }
    let mut done = Vec::new();
    bench.ssd.advance_to_completion(Nanos::MAX / 2, &mut done);
    let timeline = bench.since(from);
    let commands = of(&timeline, "commands")[0];
    let ended = |s: &&Stretch| matches!(s.work, Work::Command { has_ended: true, .. });
    assert_eq!(commands.stretches.iter().filter(ended).count(), done.len());
    assert_eq!(commands.stretches.len(), 100, "inside the drive and outside");
}
