use std::collections::BTreeMap;

use ssdlab_bench::{Axis, Chart, Mark, Metric, NotSteady, Outcome, Series, Unsettled, Verdict};

use super::for_whom::relative;
use super::*;
use crate::headline::HEADLINES;
use crate::reach;
use crate::reference::ReferenceDrive;
use crate::review::DeviceFacts;

/// Figures of a drive, from which the rest is composed.
#[derive(Clone, Copy)]
struct Figures {
    steady: f64,
    /// Every so many seconds the rate drops to `dip`; 0: never.
    every: usize,
    dip: f64,
    spacious: f64,
    burst: f64,
    sequential: f64,
    heavy_p99_us: f64,
    read_us: f64,
    trim: Option<bool>,
    zero_seconds: f64,
}

/// Stalls, needs spare area, slow in everything.
const BAD: Figures = Figures {
    steady: 5_000.0,
    every: 7,
    dip: 260.0,
    spacious: 22_400.0,
    burst: 500.0,
    sequential: 60.0,
    heavy_p99_us: 60_000.0,
    read_us: 13_000.0,
    trim: Some(false),
    zero_seconds: 12.0,
};

/// The opposite of all that.
const GOOD: Figures = Figures {
    steady: 60_000.0,
    every: 0,
    dip: 0.0,
    spacious: 61_000.0,
    burst: 200_000.0,
    sequential: 900.0,
    heavy_p99_us: 2_000.0,
    read_us: 90.0,
    trim: Some(true),
    zero_seconds: 0.0,
};

fn outcome(test: &str, variant: &str, metrics: &[(&str, f64, &str)]) -> Outcome {
    Outcome {
        test: test.into(),
        variant: variant.into(),
        device: "mine-1tb".into(),
        title: test.into(),
        params: BTreeMap::from([("tail_from_seconds".to_owned(), 100.into())]),
        metrics: metrics.iter().map(|&(k, v, u)| (k.to_owned(), Metric::new(v, u))).collect(),
        ..Outcome::default()
    }
}

fn review(f: Figures) -> Review {
    let rate = |second: usize| if f.every > 0 && second.is_multiple_of(f.every) { f.dip } else { f.steady };
    let points: Vec<[f64; 2]> = (1..=300).map(|s| [s as f64, rate(s)]).collect();
    let mut consistency = outcome(
        "consistency",
        "2013",
        &[
            ("iops_mean_tail", f.steady, "IOPS"),
            ("zero_iops_seconds", f.zero_seconds, "s"),
            ("latency_max_tail", 124_000.0, "us"),
        ],
    );
    consistency.charts.push(Chart {
        id: "iops-whole-log".into(),
        title: String::new(),
        caption: String::new(),
        mark: Mark::Scatter,
        x: Axis::linear("time", "s"),
        y: Axis::log("IOPS", "IOPS"),
        series: vec![Series { name: String::new(), points }],
        overlay_drives: false,
    });
    consistency.slowest.push(SlowIo {
        run: None,
        at_s: 1.0,
        op: "write".into(),
        offset_bytes: 0,
        length_bytes: 4096,
        latency_us: 124_000.0,
        causes_us: BTreeMap::from([("garbage_collection".to_owned(), 120_000.0)]),
        sentence: String::new(),
    });
    let mut trim = outcome("trim", "", &[("dirty_bandwidth", 30.0, "MB/s"), ("trimmed_bandwidth", 300.0, "MB/s")]);
    trim.verdict = Some(Verdict { pass: f.trim, sentence: String::new() });
    Review {
        version: "0".into(),
        seed: 1,
        quick: false,
        devices: vec![ReviewedDevice {
            facts: DeviceFacts {
                name: "mine-1tb".into(),
                kind: "ssd".into(),
                description: "a drive".into(),
                capacity_bytes: 1 << 40,
                queue_depth: 32,
                supports_trim: true,
                over_provisioning_percent: Some(7.0),
                ..DeviceFacts::default()
            },
            superblock_bytes: Some(256 << 20),
            ..ReviewedDevice::default()
        }],
        outcomes: vec![
            consistency,
            outcome("consistency", "2013, 25 % over-provisioning", &[("iops_mean_tail", f.spacious, "IOPS")]),
            outcome("random-write", "QD32", &[("iops", f.burst, "IOPS")]),
            outcome("sequential-write", "QD1", &[("bandwidth", f.sequential, "MB/s")]),
            outcome("heavy", "2015", &[("latency_p99", f.heavy_p99_us, "us")]),
            outcome("analyzedisk", "", &[("latency_mean_read", f.read_us, "us"), ("latency_mean_write", 30.0, "us")]),
            trim,
        ],
        left_out: Vec::new(),
        claims: Vec::new(),
    }
}

fn told(figures: Figures) -> Story {
    let review = review(figures);
    story(&review, &review.devices[0])
}

fn text(findings: &[Finding]) -> String {
    findings.iter().map(|f| format!("{}{}{}\n", f.before, f.bold, f.after)).collect()
}

#[test]
fn opposite_figures_give_opposite_sentences() {
    let (bad, good) = (told(BAD), told(GOOD));
    assert_eq!((bad.findings.len(), good.findings.len()), (FINDINGS, FINDINGS));
    let (b, g) = (text(&bad.findings), text(&good.findings));
    assert!(
        b.contains("run at 5,000 IOPS and drop to 260 every 7 s, while one superblock of 256 MiB is collected"),
        "{b}"
    );
    assert!(g.contains("settle to a flat line: 60,000 IOPS"), "{g}");
    assert!(
        b.contains("lifts the mean 4.5 times") && g.contains("changes little: 61,000 IOPS with it, 60,000 without"),
        "{b}{g}"
    );
    assert!(b.contains("is 4.1 times as fast in steady random write") && g.contains("2.9 times as fast as"), "{b}{g}");
    assert!(b.contains("one request in a hundred takes over 60 ms") && g.contains("takes over 2 ms"), "{b}{g}");
    assert_eq!((bad.findings[0].test, bad.findings[3].test), ("consistency", "sequential-write"));

    let [bad_deck, good_deck] = [BAD, GOOD].map(|figures| decks(&review(figures)).each.remove(0));
    assert!(bad_deck.contains("stalls") && bad_deck.contains("12 seconds pass without an answer"), "{bad_deck}");
    assert!(good_deck.contains("holds its rate") && good_deck.contains("no second passes without"), "{good_deck}");
    assert!(bad_deck.starts_with("No drive for random writes") && good_deck.starts_with("Quick"), "{bad_deck}");
    // What it is compared with, where it is alone, are the reference drives.
    assert!(bad_deck.contains("Behind the reference drives in"), "{bad_deck}");
    assert!(
        good_deck.contains("Ahead of the reference drives in the slowest 1 % of the Heavy trace: 2 ms against"),
        "{good_deck}"
    );

    for use_of_it in ["Databases", "Busy desktops", "Starting programs"] {
        assert!(bad.unsuited.contains(use_of_it), "{use_of_it}: {}", bad.unsuited);
    }
    assert!(
        bad.suits.starts_with("It leads in none") && good.unsuited.starts_with("It falls far behind in none"),
        "{bad:?} {good:?}"
    );
    for use_of_it in ["Databases", "Desktops", "Copies"] {
        assert!(good.suits.contains(use_of_it), "{use_of_it}: {}", good.suits);
    }
}

#[test]
fn what_is_no_drive_for_random_writes_is_none_for_databases() {
    // Level, and as slow as a disk far behind others: 500 a second while it is empty, and 800 once it is full.
    let slow = told(Figures { steady: 800.0, burst: 500.0, ..GOOD });
    assert!(!slow.suits.contains("Databases"), "{slow:?}");
    assert!(slow.unsuited.contains("Databases, and random writes to a full drive: 800 a second."), "{slow:?}");
}

#[test]
fn the_slowest_requests_wait_for_what_took_most_of_their_time_or_for_nothing_that_is_told() {
    let told = |causes: [(&str, f64); 3]| {
        let mut review = review(BAD);
        review.outcomes[0].slowest[0].causes_us =
            causes.into_iter().map(|(key, ms)| (key.to_owned(), ms * 1e3)).collect();
        text(&story(&review, &review.devices[0]).findings)
    };
    let said = told([("buffer_full", 70.0), ("garbage_collection", 40.0), ("erase", 14.0)]);
    assert!(said.contains("; the slowest requests wait for room in the write buffer."), "{said}");
    // Four tenths are more than any other cause has, and not what they wait for.
    for causes in [
        [("garbage_collection", 50.0), ("buffer_full", 40.0), ("erase", 34.0)],
        [("fold", 50.0), ("buffer_full", 40.0), ("erase", 34.0)],
        [("queue", 100.0), ("buffer_full", 20.0), ("erase", 4.0)],
    ] {
        let said = told(causes);
        assert!(said.contains("drop to 260 every 7 s. For"), "{causes:?}: {said}");
    }
}

#[test]
fn what_holds_up_a_queue_is_named_and_not_the_queue() {
    let mut slow = with_seconds(GOOD, &[5.0], false);
    let share = |label: &str| TimeShare {
        label: label.to_owned(),
        ios: 100,
        latency_mean_us: 6_600_000.0,
        mean_us: [("queue", 6.4e6), ("link", 100.0), ("merge", 198_900.0), ("controller", 1_000.0)]
            .map(|(key, us)| (key.to_owned(), us))
            .into(),
    };
    slow.outcomes[0].time_shares = vec![share("whole"), share("tail")];
    let told = text(&story(&slow, &slow.devices[0]).findings);
    let said = "waits 97 % of its time for those before it; in the drive it takes 200 ms, 99 % of it for a block merge";
    assert!(told.contains(said), "{told}");
    for share in &mut slow.outcomes[0].time_shares {
        share.mean_us.insert("merge".to_owned(), 90_000.0);
        share.mean_us.insert("erase".to_owned(), 109_000.0);
        share.mean_us.insert("program".to_owned(), 90_000.0);
    }
    let told = text(&story(&slow, &slow.devices[0]).findings);
    assert!(told.contains("those before it; in the drive it takes 290 ms."), "none of it has most of it: {told}");
}

#[test]
fn a_cache_that_is_written_back_for_a_minute_is_no_lead() {
    let drive = |write_us: f64, flush_s: f64| {
        let mut review = review(GOOD);
        review.outcomes.retain(|o| o.test != "analyzedisk");
        let latencies = [("latency_mean_read", 100.0, "us"), ("latency_mean_write", write_us, "us")];
        review.outcomes.push(outcome(
            "analyzedisk",
            "",
            &[&latencies[..], &[("flush_seconds", flush_s, "s")]].concat(),
        ));
        review
    };
    let both = together(vec![("cached-1tb", drive(20.0, 65.0)), ("plain-1tb", drive(90_000.0, 0.1))]);
    let headline = HEADLINES.into_iter().find(|h| h.key == "write-access").unwrap();
    assert_eq!(bar_notes(&both, &headline), ["Cached 1 TB: into its cache; then it writes back for 65 s."]);
    assert!(!decks(&both).each[0].contains("write access"), "{:?}", decks(&both));

    // Its bar is on the page all the same, and it is the best one.
    let three =
        vec![("cached-1tb", drive(20.0, 65.0)), ("plain-1tb", drive(90.0, 0.1)), ("slow-1tb", drive(6_000.0, 0.1))];
    let three = together(three);
    let ahead =
        "Ahead of the others in write access, but for Cached 1 TB, which answers from its cache: 90 µs against 6 ms";
    assert!(decks(&three).each[1].contains(ahead), "{:?}", decks(&three));
    let best = relative(&Facts::of(&three, &three.devices[1])).into_iter().find(|r| r.key == "write-access").unwrap();
    assert_eq!(best.but_for, " but for Cached 1 TB, which answers from its cache");
}

#[test]
fn every_cause_can_be_waited_for() {
    for cause in ssdlab_core::CAUSES {
        let awaited = awaited(cause);
        let begins = ["a ", "an ", "the ", "room ", "requests ", "cached ", "garbage collection"];
        assert!(begins.iter().any(|begin| awaited.starts_with(begin)), "it waits for {awaited}");
    }
}

#[test]
fn a_ratio_has_no_more_digits_than_its_figures_carry() {
    assert_eq!(
        [1.66, 14.4, 1_024.4, 7_600.0, 347.0].map(times),
        ["1.7", "14", "1,000", "7,600", "350"].map(|n| format!("{n} times"))
    );
    // What is at least as much is no less than is printed.
    assert_eq!(
        [1.66, 5.1, 10.6, 99.9, 347.0, 1_090.0].map(words::times_at_least),
        ["1.6", "5.1", "10", "99", "340", "1,000"].map(|n| format!("{n} times"))
    );
}

#[test]
fn a_mean_of_bursts_leads_nobody() {
    // 1,500 most of the time and 6,770 in the mean, beside a flat line between the two.
    let drive = |seconds: &[f64]| {
        let mut review = with_seconds(GOOD, seconds, true);
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        review.outcomes[0].metrics.insert("iops_mean_tail".to_owned(), Metric::new(mean, "IOPS"));
        review
    };
    let beside = |flat: f64| together(vec![("bursty-1tb", drive(&BURSTY)), ("flat-1tb", drive(&[flat]))]);
    let told = |review: &Review| {
        let stories = review.devices.iter().map(|d| story(review, d));
        let ends: Vec<String> = stories.map(|s| format!("{} {} {}", text(&s.findings), s.suits, s.unsuited)).collect();
        format!("{} {}", ends.join(" "), decks(review).each.join(" "))
    };
    let between = told(&beside(2_460.0));
    assert!(!between.contains("Steady random write:") && !between.contains("in steady random write"), "{between}");
    // Where mean and median agree, it is an order.
    let below = told(&beside(700.0));
    assert!(below.contains("in steady random write"), "{below}");
    assert!(below.contains("Bursty 1 TB is 9.7 times as fast in steady random write, as a mean"), "{below}");
}

#[test]
fn a_reference_drive_that_has_not_settled_has_a_note_at_its_bar() {
    let one = review(GOOD);
    let headline = |key: &str| HEADLINES.into_iter().find(|h| h.key == key).unwrap();
    let notes = bar_notes(&one, &headline("steady-write"));
    // Its mean is of bursts that had not settled: it has no bar, and where it was is said in its place.
    assert!(
        matches!(notes.as_slice(), [note] if note.starts_with("BX100 500 GB: had not settled, of the last 600 s, the ")),
        "{notes:?}"
    );
    assert_eq!(bar_notes(&one, &headline("worst-second")), [""; 0]);
}

#[test]
fn a_drive_is_not_put_before_one_that_has_not_settled() {
    let mut both = review(GOOD);
    let mut other = review(BAD);
    other.devices[0].facts.name = "other-1tb".into();
    other.outcomes.iter_mut().for_each(|o| o.device = "other-1tb".into());
    other.outcomes[0].metrics.remove("iops_mean_tail");
    both.devices.append(&mut other.devices);
    both.outcomes.append(&mut other.outcomes);
    let suits = |review: &Review, at: usize| story(review, &review.devices[at]).suits;
    // Six seconds in seven at 5,000, one at 260.
    let of_good = suits(&both, 0);
    assert!(of_good.contains("; Other 1 TB had not settled, at 4,290 to 4,410 so far."), "{of_good}");
    assert!(!suits(&both, 1).contains("Databases"), "{}", suits(&both, 1));
    both.outcomes.retain(|o| o.device != "other-1tb");
    assert!(!suits(&both, 0).contains("had not settled"), "what was not measured has not failed to settle");
}

#[test]
fn a_full_run_that_has_not_settled_is_told_of_as_such_though_it_has_its_figures() {
    let drifting = || {
        let rising: Vec<f64> = (0..300).map(|i| 50_000.0 + 100.0 * f64::from(i)).collect();
        let mut review = with_seconds(GOOD, &rising, false);
        review.outcomes[0].metrics.insert("iops_mean_tail".into(), Metric::new(70_000.0, "IOPS"));
        review
    };
    let one = drifting();
    let told = story(&one, &one.devices[0]);
    let findings = text(&told.findings);
    assert!(findings.starts_with("Random writes had not settled: 70,000 IOPS is the median"), "{findings}");
    assert!(!findings.contains("steady random write") && !told.suits.contains("Databases"), "{told:?}");
    assert!(
        findings.contains(
            "unused does for random writes cannot be said: without that they had not settled (of the last 200 s, they \
             drift)."
        ),
        "{findings}"
    );
    assert!(decks(&one).each[0].contains("not yet settled when the run ended"), "{:?}", decks(&one));
    // Beside another, neither is put before the other, and its bar is explained.
    let both = together(vec![("drifting-1tb", drifting()), ("even-1tb", review(GOOD))]);
    let all = both.devices.iter().map(|d| text(&story(&both, d).findings)).collect::<String>();
    assert!(!all.contains("as fast in steady random write") && !all.contains("% behind"), "{all}");
    let headline = HEADLINES.into_iter().find(|h| h.key == "steady-write").unwrap();
    let notes = bar_notes(&both, &headline);
    assert!(
        matches!(notes.as_slice(), [note] if note.starts_with("Drifting 1 TB: had not settled, at 6")),
        "{notes:?}"
    );
}

#[test]
fn what_trim_did_is_said_as_the_verdict_has_it() {
    for (pass, said) in [
        (Some(true), "TRIM restores the drive"),
        (Some(false), "TRIM does not restore the drive"),
        (None, "Whether TRIM works cannot be said"),
    ] {
        let mut review = review(Figures { trim: pass, ..GOOD });
        // Without the others there is room for it.
        review.outcomes.retain(|o| o.test == "trim");
        let story = story(&review, &review.devices[0]);
        assert!(text(&story.findings).contains(said), "{:?}", story.findings);
    }
}

#[test]
fn a_drive_of_which_nothing_was_measured_has_its_description() {
    let mut review = review(GOOD);
    review.outcomes.clear();
    let story = story(&review, &review.devices[0]);
    assert_eq!((decks(&review).each, story.findings.len()), (vec!["a drive".to_owned()], 0));
}

#[test]
fn a_stall_that_comes_regularly_has_a_period_and_noise_has_none() {
    let regular: Vec<f64> = (0..200).map(|i| if i % 7 == 0 { 100.0 } else { 5_000.0 }).collect();
    let s = Steady::of(&regular).unwrap();
    assert_eq!((s.level, s.lowest, s.period.map(f64::round)), (5_000.0, 100.0, Some(7.0)));
    assert!(s.stalls() && !s.is_flat());
    let rare: Vec<f64> = (0..200).map(|i| if [3, 4, 90, 199].contains(&i) { 100.0 } else { 5_000.0 }).collect();
    assert_eq!(Steady::of(&rare).unwrap().period, None);
    assert!(Steady::of(&[5_000.0; 50]).unwrap().is_flat());
    // One that answers in few of its seconds holds no rate at zero.
    let seldom: Vec<f64> = (0..200).map(|i| if i % 40 == 0 { 900.0 } else { 0.0 }).collect();
    let s = Steady::of(&seldom).unwrap();
    assert!(s.level == 0.0 && s.bursts() && !s.is_flat(), "{s:?}");
    assert_eq!(Steady::of(&[]), None);
}

#[test]
fn the_period_of_a_very_slow_drive_is_in_seconds_too() {
    // 4 IOPS in the mean, of which pairs of seconds are joined: nothing in 4 of 20 seconds.
    let mut review = review(Figures { steady: 4.0, ..BAD });
    let rate = |second: usize| if second % 20 < 4 { 0.0 } else { 5.0 };
    review.outcomes[0].charts[0].series[0].points = (1..=300).map(|s| [s as f64, rate(s)]).collect();
    let text = text(&story(&review, &review.devices[0]).findings);
    assert!(text.contains("drop to 0 every 20 s"), "{text}");
}

#[test]
fn what_a_user_notices_comes_first_and_then_the_write_that_stalls() {
    let mut review = review(Figures { read_us: 272.0, ..GOOD });
    let mut mix = outcome(
        "storagemark-desktop",
        "",
        &[
            ("seconds_over_100ms", 100.0, "%"),
            ("seconds_over_500ms", 61.9, "%"),
            ("seconds_over_1s", 0.4, "%"),
            ("stall_longest", 2_230_737.0, "us"),
        ],
    );
    mix.tables.push(ssdlab_bench::Table {
        title: ssdlab_bench::suite::LONGEST_GAPS.to_owned(),
        caption: String::new(),
        columns: Vec::new(),
        rows: vec![["4923.553 s", "2.23 s", "1", "98 % block merge"].map(str::to_owned).to_vec()],
    });
    let access = &[("latency_mean_read", 272.0, "us"), ("latency_mean_write", 211_000.0, "us")];
    review.outcomes = vec![outcome("analyzedisk", "", access), mix];
    let told = |review: &Review| text(&story(review, &review.devices[0]).findings);
    assert_eq!(
        told(&review),
        "In the desktop mix, requests wait over 0.5 s in 62 % of the seconds. The longest time without any answer is 2.23 s, \
         98 % of it block merge.\nA small write takes 211 ms, 780 times as long as a small read (272 µs).\n"
    );
    // Of requests that waited for each other, or for several things, the largest part is not why nothing was answered.
    for what in ["98 % queue", "40 % block merge"] {
        review.outcomes[1].tables[0].rows[0][3] = what.to_owned();
        assert!(told(&review).contains("without any answer is 2.23 s.\n"), "{}", told(&review));
    }
    // Of a test that goes through several loads, with the one that its figures are of.
    let mix = &mut review.outcomes[1];
    "fileserver".clone_into(&mut mix.test);
    mix.params.insert("headline_depth".into(), 8.into());
    assert!(told(&review).starts_with("In the file-server test at QD8, requests wait"), "{}", told(&review));
    let mix = &mut review.outcomes[1];
    "storagemark-desktop".clone_into(&mut mix.test);
    mix.params.remove("headline_depth");
    // One that answers has nothing of the kind.
    for (_, metric) in review.outcomes[1].metrics.iter_mut() {
        metric.value = 0.0;
    }
    assert!(!told(&review).contains("desktop mix"), "{}", told(&review));
}

#[test]
fn what_is_many_times_the_best_is_said_in_times() {
    let mut review = review(GOOD);
    let two = |write_us: f64, iops: f64| {
        vec![
            outcome("analyzedisk", "", &[("latency_mean_read", 280.0, "us"), ("latency_mean_write", write_us, "us")]),
            outcome("fileserver", "", &[("iops", iops, "IOPS")]),
        ]
    };
    review.outcomes = two(95_000.0, 1_200.0);
    let mut other = review.devices[0].clone();
    other.facts.name = "theirs-1tb".into();
    review.devices.push(other);
    for mut theirs in two(12.5, 1_000.0) {
        theirs.device = "theirs-1tb".into();
        review.outcomes.push(theirs);
    }
    let ours = story(&review, &review.devices[0]);
    assert_eq!(ours.unsuited, "Write access: 95 ms, 7,600 times the best here.");
    assert!(text(&ours.findings).contains("Ahead of Theirs 1 TB by 20 % in the file-server test at QD8"), "{ours:?}");
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "fileserver" && o.device == "theirs-1tb") {
        outcome.metrics.insert("iops".into(), Metric::new(2.0, "IOPS"));
    }
    let findings = text(&story(&review, &review.devices[0]).findings);
    assert!(findings.contains("600 times as fast as Theirs 1 TB in the file-server test"), "{findings}");
    let theirs = story(&review, &review.devices[1]);
    assert_eq!(theirs.unsuited, "The file-server test at QD8: 2 IOPS, 0.2 % of the best here.");
}

#[test]
fn the_end_of_a_long_write_is_told_only_where_it_was_seen_and_a_set_may_have_a_fast_part() {
    let mut review = review(Figures { sequential: 900.0, read_us: 13_000.0, ..GOOD });
    let told = |review: &Review| {
        let story = story(review, &review.devices[0]);
        format!("{}{}{}", text(&story.findings), story.suits, story.unsuited)
    };
    let alone = told(&review);
    assert!(alone.contains("video: 900 MB/s.") && !alone.contains("from beginning to end"), "{alone}");
    assert!(alone.contains("Starting programs: every read takes 13 ms."), "{alone}");
    review.outcomes.push(outcome("slc-cache", "", &[("stages", 1.0, ""), ("stage1_bandwidth", 900.0, "MB/s")]));
    let member =
        crate::review::Member { name: "a-disk".into(), count: 1, specification: Vec::new(), members: Vec::new() };
    review.devices[0].members.push(member);
    let seen = told(&review);
    assert!(
        seen.contains("900 MB/s for as long as it takes") && seen.contains("900 MB/s from beginning to end"),
        "{seen}"
    );
    assert!(seen.contains("Reads all over it: each takes 13 ms.") && !seen.contains("Starting programs"), "{seen}");
}

#[test]
fn long_writes_of_a_device_that_does_not_say_it_is_flash_are_told_as_they_were_measured() {
    // As a real drive, and a set with a disk in it.
    let told = |kind: &str, figures: &[(&str, f64, &str)]| {
        let mut review = review(Figures { sequential: 500.0, ..GOOD });
        review.devices[0].facts.over_provisioning_percent = None;
        review.devices[0].facts.kind = kind.to_owned();
        review.outcomes.push(outcome("slc-cache", "", figures));
        let story = story(&review, &review.devices[0]);
        format!("{}{} {}", text(&story.findings), story.suits, story.unsuited)
    };
    let stages = [
        ("stages", 2.0, "count"),
        ("stage1_bandwidth", 500.0, "MB/s"),
        ("stage1_amount", 30.0, "GB"),
        ("stage2_bandwidth", 32.4, "MB/s"),
    ];
    for kind in ["host", "array"] {
        let falls = told(kind, &stages);
        assert!(falls.contains("Sequential writes go at 500 MB/s for the first 30 GB, then 32."), "{falls}");
        assert!(falls.contains("Long copies and video: 500 MB/s for the first 30 GB, then 32."), "{falls}");
        assert!(!falls.contains("cache") && !falls.contains("as long as it takes"), "{falls}");
    }
    // A rate may fall without a step, as over the tracks of a disk: then its mean tells.
    let slowly = |mean: f64| told("host", &[("stages", 1.0, "count"), ("bandwidth", mean, "MB/s")]);
    let falls = slowly(320.0);
    assert!(falls.contains("over the first part of the drive, 320 in the mean over all of it"), "{falls}");
    assert!(!falls.contains("as long as it takes"), "{falls}");
    assert!(slowly(480.0).contains("500 MB/s for as long as it takes."), "{}", slowly(480.0));
}

#[test]
fn a_drive_whose_long_writes_fall_says_to_what() {
    let mut review = review(Figures { sequential: 900.0, ..GOOD });
    review.devices[0].has_slc_cache = true;
    let stages = [("stages", 2.0, ""), ("stage1_bandwidth", 900.0, "MB/s"), ("stage2_bandwidth", 92.0, "MB/s")];
    review.outcomes.push(outcome("slc-cache", "", &stages));
    let story = story(&review, &review.devices[0]);
    assert!(story.unsuited.contains("Long copies and video: 900 MB/s at first, then 92."), "{}", story.unsuited);
    assert!(!story.suits.contains("video"), "{}", story.suits);
    // Of less than a gigabyte in MB.
    review.outcomes.last_mut().unwrap().metrics.insert("stage1_amount".into(), Metric::new(0.51, "GB"));
    let told = super::story(&review, &review.devices[0]).unsuited;
    assert!(told.contains("Long copies and video: 900 MB/s for the first 510 MB, then 92."), "{told}");
    review.outcomes.last_mut().unwrap().metrics.remove("stage1_amount");
    // A drive that is still fast past its cache is one for copies, but not at the rate of the cache.
    review.outcomes.last_mut().unwrap().metrics.insert("stage2_bandwidth".into(), Metric::new(600.0, "MB/s"));
    let story = super::story(&review, &review.devices[0]);
    assert!(
        story.suits.contains("Copies and video: 900 MB/s at first, then 600; JMF667H Toshiba 256 GB goes on at 435."),
        "{}",
        story.suits
    );
    // What comes last counts as well.
    let metrics = &mut review.outcomes.last_mut().unwrap().metrics;
    metrics.insert("stages".into(), Metric::new(3.0, ""));
    metrics.insert("stage3_bandwidth".into(), Metric::new(90.0, "MB/s"));
    let story = super::story(&review, &review.devices[0]);
    let told = format!("{}{}", text(&story.findings), story.unsuited);
    assert!(told.contains("go at 900 MB/s at first, then 600, then 90:"), "{told}");
    assert!(told.contains("Long copies and video: 900 MB/s at first, then 600, then 90."), "{told}");
    // What the write buffer takes is no part of a copy.
    review.outcomes.last_mut().unwrap().metrics.insert("buffer_stages".into(), Metric::new(1.0, "count"));
    let told = super::story(&review, &review.devices[0]).unsuited;
    assert!(told.contains("Long copies and video: 600 MB/s at first, then 90."), "{told}");
}

#[test]
fn what_another_drive_writes_in_a_minute_is_nothing_that_a_long_copy_is_behind() {
    let drive = |sequential: f64, fill: Option<f64>| {
        let mut review = review(Figures { sequential, ..GOOD });
        let fill = fill.map(|rate| ("fill_bandwidth".to_owned(), Metric::new(rate, "MB/s")));
        review.outcomes[0].metrics.extend(fill);
        review
    };
    let slow = |beside: Review| {
        let both = together(vec![("slow-1tb", drive(150.0, None)), ("fast-1tb", beside)]);
        story(&both, &both.devices[0]).unsuited
    };
    assert!(!slow(drive(504.0, None)).contains("opies"), "{}", slow(drive(504.0, None)));
    // It was seen to go on.
    let seen = drive(504.0, Some(480.0));
    assert!(slow(seen.clone()).contains("Long copies and video: 150 MB/s, 480 elsewhere."), "{}", slow(seen));
    // Of a disk, whose mean over all of it is not far below its outer tracks: it is that which it goes on at.
    let both = together(vec![("falls-1tb", drive(445.0, Some(57.0))), ("disk-1tb", drive(64.0, Some(53.0)))]);
    let falls = story(&both, &both.devices[0]).suits;
    let rates = "445 MB/s in the mean over the first part of the drive, 57 in the mean over all of it";
    assert!(falls.contains(&format!("Copies and video: {rates}; Disk 1 TB goes on at 53.")), "{falls}");
    // What falls to more than another reaches in its first minute stays ahead of it.
    let both = together(vec![("falls-1tb", drive(500.0, Some(200.0))), ("slow-1tb", drive(180.0, None))]);
    let falls = story(&both, &both.devices[0]);
    assert!(falls.suits.contains("Copies and video: 500 MB/s in the mean over the first part of the drive, 200"));
    assert!(!falls.unsuited.contains("opies"), "{falls:?}");
}

#[test]
fn a_first_stage_is_that_of_a_cache_only_where_the_drive_has_one() {
    // As 2 MB of a write buffer, which counters that are read once a second do not show.
    let stages = [
        ("stages", 2.0, "count"),
        ("stage1_bandwidth", 197.0, "MB/s"),
        ("stage1_end", 0.2075, "%"),
        ("stage2_bandwidth", 129.0, "MB/s"),
        ("stage2_folded", 0.0, "ratio"),
    ];
    let told = |has_slc_cache: bool, capacity: u64| {
        let mut mine = review(Figures { sequential: 150.0, ..GOOD });
        mine.devices[0].has_slc_cache = has_slc_cache;
        mine.devices[0].facts.capacity_bytes = capacity;
        mine.outcomes.push(outcome("slc-cache", "", &stages));
        text(&story(&mine, &mine.devices[0]).findings)
    };
    let none = told(false, 1_073_741_824);
    let rates = "Sequential writes go at 197 MB/s for the first 0.2 % of the drive";
    assert!(none.contains(&format!("{rates} (about 2.2 MB), then 129.")), "{none}");
    let cache = ": the first go to a pseudo-SLC cache (one bit a cell), the others past it.";
    for (capacity, about) in [(334_000_000_000, "690 MB"), (1_700_000_000_000, "3.5 GB"), (64 << 40, "146 GB")] {
        let one = told(true, capacity);
        assert!(one.contains(&format!("{rates} (about {about}), then 129{cache}")), "{one}");
    }
}

#[test]
fn a_curve_that_still_climbed_before_its_last_part_is_no_flat_line() {
    let told = |before: f64| {
        let mut review = with_seconds(GOOD, &[960.0], true);
        let run = &mut review.outcomes[0];
        run.params.insert("tail_from_seconds".to_owned(), 200.into());
        run.charts[0].series[0].points[100..200].iter_mut().for_each(|point| point[1] = before);
        // Of writes that go to what is still spare few seconds are quick.
        run.charts[0].series[0].points[100..110].iter_mut().for_each(|point| point[1] = 90_000.0);
        format!("{}{}", text(&story(&review, &review.devices[0]).findings), decks(&review).each[0])
    };
    let climbs = told(790.0);
    assert!(
        climbs.contains("come to 960 IOPS in the last 100 s; in the 100 s before that they went at 790."),
        "{climbs}"
    );
    assert!(!climbs.contains("flat") && !climbs.contains("holds") && climbs.contains("its rate varies"), "{climbs}");
    let holds = told(900.0);
    assert!(
        holds.contains("settle to a flat line: 960 IOPS") && holds.contains("once full it holds its rate"),
        "{holds}"
    );
}

#[test]
fn a_rate_that_a_write_buffer_made_is_none_that_is_kept() {
    // As an adapter with 2 GB before a drive of 16 GB.
    let stages = [
        ("stages", 2.0, "count"),
        ("buffer_stages", 1.0, "count"),
        ("stage1_bandwidth", 1_018.0, "MB/s"),
        ("stage1_amount", 2.01, "GB"),
        ("stage2_bandwidth", 86.6, "MB/s"),
        ("stage2_amount", 14.0, "GB"),
    ];
    let mut cached = review(Figures { sequential: 117.0, ..GOOD });
    cached.outcomes.push(outcome("slc-cache", "", &stages));
    let mut plain = review(Figures { sequential: 40.0, ..GOOD });
    plain.outcomes.push(outcome("slc-cache", "", &[("stages", 1.0, "count"), ("stage1_bandwidth", 40.0, "MB/s")]));
    let mut both = together(vec![("cached-1tb", cached), ("plain-1tb", plain)]);
    let rates = "1018 MB/s for the first 2.01 GB, then 87";
    let first = story(&both, &both.devices[0]);
    let findings = text(&first.findings);
    let why = "the first go to the write buffer, until it is full.";
    assert!(findings.contains(&format!("Sequential writes go at {rates}: {why}")), "{findings}");
    assert!(first.suits.contains(&format!("Copies and video: {rates}; Plain 1 TB goes on at 40.")), "{first:?}");
    assert!(!findings.contains("from beginning to end") && !first.suits.contains("as long as it takes"), "{first:?}");
    let second = story(&both, &both.devices[1]);
    assert!(second.unsuited.contains("Long copies and video: 40 MB/s, 87 elsewhere."), "{second:?}");
    both.devices[0].facts.kind = "array".to_owned();
    let findings = text(&story(&both, &both.devices[0]).findings);
    assert!(findings.contains(": the first go to a cache, in an adapter or in the drives."), "{findings}");
}

#[test]
fn a_mean_of_a_cache_and_of_what_follows_is_no_rate_at_first() {
    // As the 840 EVO beside the MX100 in a quick run: 268 MB/s is neither of the rates that it writes at.
    let cache = |stages: &[f64], end: f64| {
        let mut metrics = vec![("stages".to_owned(), stages.len() as f64, "")];
        metrics.extend(stages.iter().enumerate().map(|(k, &rate)| (format!("stage{}_bandwidth", k + 1), rate, "MB/s")));
        metrics.push(("stage1_end".to_owned(), end, "%"));
        let metrics: Vec<(&str, f64, &str)> = metrics.iter().map(|(key, v, unit)| (key.as_str(), *v, *unit)).collect();
        outcome("slc-cache", "", &metrics)
    };
    let beside = |even: f64, seen: bool| {
        let mut cached = review(Figures { sequential: 268.0, ..GOOD });
        cached.outcomes.push(cache(&[504.0, 241.0], 1.2));
        let mut plain = review(Figures { sequential: even, ..GOOD });
        plain.outcomes.extend(seen.then(|| cache(&[even], 100.0)));
        together(vec![("plain-1tb", plain), ("cached-1tb", cached)])
    };
    let both = beside(299.0, true);
    let told = |at: usize| text(&story(&both, &both.devices[at]).findings);
    let rates = "504 MB/s for the first 1.2 % of the drive (about 13 GB), then 241";
    assert!(told(0).contains(&format!("Cached 1 TB goes at {rates}.")), "{}", told(0));
    assert!(!told(0).contains("268"), "{}", told(0));
    let headline = HEADLINES.into_iter().find(|h| h.key == "sequential-write").unwrap();
    assert_eq!(bar_notes(&both, &headline), [format!("Cached 1 TB: {rates}; the bar is the mean of its test.")]);
    // Nor are both the one for long copies.
    let suits = |review: &Review, at: usize| story(review, &review.devices[at]).suits;
    assert!(suits(&both, 0).contains("Copies and video: 299 MB/s for as long as it takes."), "{}", suits(&both, 0));
    assert!(
        suits(&both, 1).contains(&format!("Short copies: {rates}; Plain 1 TB goes on at 299."))
            && !suits(&both, 1).contains("Copies and video"),
        "{}",
        suits(&both, 1)
    );
    // Nothing speaks for a cache that is no faster than what another drive keeps.
    let fast = beside(520.0, true);
    assert!(!suits(&fast, 1).contains("opies"), "{}", suits(&fast, 1));
    let unsuited = story(&beside(450.0, true), &fast.devices[1]).unsuited;
    assert!(!unsuited.contains("opies"), "its cache is faster: {unsuited}");
    // What another drive keeps is said only where that was seen.
    let unseen = beside(299.0, false);
    assert!(suits(&unseen, 1).contains(&format!("Copies and video: {rates}.")), "{}", suits(&unseen, 1));
}

#[test]
fn a_rare_long_write_counts_against_databases() {
    let mut review = review(GOOD);
    let mut with_tail = |us: f64| {
        review.outcomes[0].metrics.insert("latency_p99_9_tail".into(), Metric::new(us, "us"));
        story(&review, &review.devices[0])
    };
    let short = with_tail(9_000.0);
    assert!(short.suits.contains("one write in a thousand takes over 9 ms."), "{}", short.suits);
    let long = with_tail(250_000.0);
    assert!(
        long.unsuited.contains("wait for each commit") && long.unsuited.contains("over 250 ms."),
        "{}",
        long.unsuited
    );
    assert!(!long.suits.contains("Databases"), "{}", long.suits);
}

#[test]
fn drives_that_differ_by_a_hair_are_level_and_none_is_once_as_fast() {
    let mut review = review(GOOD);
    let file_server = |device: &str, iops: f64| {
        let mut o = outcome("fileserver", "", &[("iops", iops, "IOPS")]);
        o.device = device.to_owned();
        o
    };
    let mut other = review.devices[0].clone();
    other.facts.name = "theirs-1tb".into();
    review.devices.push(other);
    for (theirs, said) in [
        (20_200.0, "Level with Theirs 1 TB in the file-server test at QD8: 20,000 and 20,200 IOPS."),
        (25_000.0, "20 % behind Theirs 1 TB in the file-server test at QD8: 20,000 against 25,000 IOPS."),
        (40_000.0, "Theirs 1 TB is 2 times as fast in the file-server test"),
        // Of two drives, none is the best of the others.
        (16_000.0, "Ahead of Theirs 1 TB by 25 % in the file-server test at QD8: 20,000 against 16,000 IOPS."),
        (8_000.0, "2.5 times as fast as Theirs 1 TB in the file-server test at QD8: 20,000 against 8,000 IOPS."),
    ] {
        review.outcomes = vec![file_server("mine-1tb", 20_000.0), file_server("theirs-1tb", theirs)];
        let findings = text(&story(&review, &review.devices[0]).findings);
        assert!(findings.contains(said), "{findings}");
    }
}

#[test]
fn what_all_drives_do_alike_speaks_for_none_of_them() {
    let mut review = review(GOOD);
    let bench = |test: &str, variant: &str, metric: &str, device: &str, value: f64| {
        let mut o = outcome(test, variant, &[(metric, value, "IOPS")]);
        o.device = device.to_owned();
        o
    };
    let mut other = review.devices[0].clone();
    other.facts.name = "theirs-1tb".into();
    review.devices.push(other);
    let suits = |review: &mut Review, theirs: [f64; 2]| {
        review.outcomes = vec![
            bench("fileserver", "", "iops", "mine-1tb", 20_000.0),
            bench("fileserver", "", "iops", "theirs-1tb", theirs[0]),
            bench("random-read", "QD3", "iops", "mine-1tb", 9_000.0),
            bench("random-read", "QD3", "iops", "theirs-1tb", theirs[1]),
        ];
        story(review, &review.devices[0]).suits
    };
    // The file server is where it leads by most, if it leads at all.
    assert_eq!(suits(&mut review, [19_900.0, 9_300.0]), "It leads in none of the figures compared here.");
    assert_eq!(suits(&mut review, [19_000.0, 9_300.0]), "The file-server test at QD8: 20,000 IOPS, the best here.");
    // Where it is as near to the best as that, it may be said of it; how near is said as well.
    let three = |mine: f64| {
        let [mut a, mut b, mut c] = ["mine-1tb", "theirs-1tb", "third-1tb"].map(|name| {
            let mut one = self::review(GOOD);
            one.devices[0].facts.name = name.to_owned();
            one.outcomes.clear();
            one
        });
        let iops = [mine, 20_000.0, 9_000.0];
        for (one, iops) in [&mut a, &mut b, &mut c].into_iter().zip(iops) {
            let name = one.devices[0].facts.name.clone();
            one.outcomes.push(bench("fileserver", "", "iops", &name, iops));
        }
        for other in [&mut b, &mut c] {
            a.devices.append(&mut other.devices);
            a.outcomes.append(&mut other.outcomes);
        }
        story(&a, &a.devices[0]).suits
    };
    assert_eq!(three(19_800.0), "The file-server test at QD8: 19,800 IOPS, level with the best here.");
    assert_eq!(three(19_200.0), "The file-server test at QD8: 19,200 IOPS, 4 % behind the best here.");
}

#[test]
fn random_writes_that_only_begin_quickly_are_called_so() {
    let told = |first: f64| {
        let mut mine = review(Figures { burst: 40_000.0, ..GOOD });
        let run = mine.outcomes.iter_mut().find(|o| o.test == "random-write").unwrap();
        run.metrics.insert("iops_max".to_owned(), Metric::new(first, "IOPS"));
        let all = together(vec![("mine-1tb", mine), ("theirs-1tb", review(Figures { burst: 90_000.0, ..GOOD }))]);
        let headline = HEADLINES.into_iter().find(|h| h.key == "random-write").unwrap();
        (text(&story(&all, &all.devices[0]).findings), decks(&all).each[0].clone(), bar_notes(&all, &headline))
    };
    let (_, deck, notes) = told(71_000.0);
    assert!(deck.starts_with("Quick at the first random writes to an empty drive"), "{deck}");
    assert_eq!(notes, ["Mine 1 TB: 71,000 IOPS at first; the mean is of what came after, too."]);
    // 40,000 a second are slow beside another drive only.
    let (_, deck, notes) = told(41_000.0);
    assert!(deck.starts_with("Slower than others at random writes even when empty"), "{deck}");
    assert!(notes.is_empty());
}

#[test]
fn rates_of_writes_that_another_does_not_keep_put_nobody_behind_it() {
    let falling = |mut review: Review| {
        let run = review.outcomes.iter_mut().find(|o| o.test == "consistency").unwrap();
        run.metrics.insert("fill_bandwidth".to_owned(), Metric::new(150.0, "MB/s"));
        review
    };
    let mine = review(Figures { sequential: 300.0, ..GOOD });
    let steady =
        together(vec![("mine-1tb", mine.clone()), ("theirs-1tb", review(Figures { sequential: 500.0, ..GOOD }))]);
    let unsuited = |all: &Review| story(all, &all.devices[0]).unsuited;
    assert!(
        unsuited(&steady).contains("Sequential write to an empty drive: 300 MB/s, 60 % of the best here."),
        "{}",
        unsuited(&steady)
    );
    let all =
        together(vec![("mine-1tb", mine), ("theirs-1tb", falling(review(Figures { sequential: 500.0, ..GOOD })))]);
    assert!(!Facts::of(&all, &all.devices[0]).puts_in_order("sequential-write"));
    assert!(!unsuited(&all).contains("equential write"), "{}", unsuited(&all));
}

#[test]
fn what_leads_when_the_run_ends_is_not_called_slow() {
    let with = |steady: f64, burst: f64| review(Figures { steady, burst, ..GOOD });
    let deck = |steady: f64| {
        let both = together(vec![("file-1tb", with(steady, 26_200.0)), ("drive-1tb", with(2_500.0, 73_000.0))]);
        decks(&both).each.remove(0)
    };
    assert!(deck(2_000.0).starts_with("Slower than others at random writes even when empty"), "{}", deck(2_000.0));
    assert!(!deck(68_200.0).contains("Slow"), "{}", deck(68_200.0));
}

#[test]
fn runs_that_covered_something_else_put_no_drive_before_another() {
    // A file of 2.1 GB, for 8 s, beside a drive of which an eighth stands for all of it.
    let drive = |burst: f64, sequential: f64, capacity: u64, small_by: Option<u32>| {
        let mut review = review(Figures { burst, sequential, ..GOOD });
        review.outcomes.retain(|o| ["random-write", "sequential-write"].contains(&o.test.as_str()));
        review.devices[0].facts.capacity_bytes = capacity;
        for outcome in &mut review.outcomes {
            let span =
                if outcome.test == "random-write" { 8_000_000_000 / u64::from(small_by.unwrap_or(1)) } else { 0 };
            outcome.params.insert("span_bytes".into(), span.into());
            outcome.params.insert("seconds".into(), 8.into());
            outcome.small_by = small_by;
        }
        review
    };
    let mut real = drive(26_200.0, 1_430.0, 2_147_483_648, None);
    real.devices[0].facts.over_provisioning_percent = None;
    let sim = || drive(73_000.0, 299.0, 256_000_000_000, Some(8));
    let both = together(vec![("real-2gb", real.clone()), ("sim-1tb", sim())]);
    let told = |review: &Review, at: usize| {
        let Story { findings, suits, unsuited } = story(review, &review.devices[at]);
        format!("{}{suits} {unsuited} {} {}", text(&findings), decks(review).each[at], decks(review).all)
    };
    for at in [0, 1] {
        let told = told(&both, at);
        for verdict in
            ["Slow", "Quick", "quick", "Ahead", "last in", "Behind", "against", "elsewhere", "best here", "opies"]
        {
            assert!(!told.contains(verdict), "{verdict}: {told}");
        }
        assert!(told.contains("No verdict: the one beside it was run over other spans or for other times."), "{told}");
        assert!(told.contains("they are in no order"), "{told}");
    }
    assert!(told(&both, 0).contains("Random writes to the fresh drive go at 26,200 IOPS"), "{}", told(&both, 0));
    // What was written over and over is no share of an empty drive.
    let headline = HEADLINES.into_iter().find(|h| h.key == "sequential-write").unwrap();
    let Some(reach::Covered::Percent(least, most)) = reach::covered(&both, &headline) else { panic!() };
    assert!(least == most && (7.0..8.0).contains(&most), "{least} {most}");
    // Where two of three are alike, they are in order, and the third is named.
    let three = together(vec![
        ("real-2gb", real.clone()),
        ("sim-1tb", sim()),
        ("slow-1tb", drive(30e3, 150.0, 256_000_000_000, Some(8))),
    ]);
    assert!(
        decks(&three).each[1].contains("in random writes to a fresh drive, but for Real 2 GB, run over another span or time: 73,000 IOPS against 30,000 IOPS of Slow 1 TB"),
        "{:?}",
        decks(&three)
    );
    // Alone, it is beside reference drives that had all of the span and the time.
    let alone = together(vec![("real-2gb", real)]);
    assert!(!told(&alone, 0).contains("against") && !told(&alone, 0).contains("reaches"), "{}", told(&alone, 0));
    // What is slow beside anything is said to be slow.
    let both = together(vec![("real-2gb", drive(60.0, 100.0, 2_147_483_648, None)), ("sim-1tb", sim())]);
    assert!(told(&both, 0).contains("No drive for random writes"), "{}", told(&both, 0));
}

/// Reviews put together; the drives have these names.
fn together(reviews: Vec<(&str, Review)>) -> Review {
    let mut all: Option<Review> = None;
    for (name, mut review) in reviews {
        review.devices[0].facts.name = name.to_owned();
        review.outcomes.iter_mut().for_each(|o| o.device = name.to_owned());
        match &mut all {
            None => all = Some(review),
            Some(all) => {
                all.devices.append(&mut review.devices);
                all.outcomes.append(&mut review.outcomes);
            }
        }
    }
    all.unwrap()
}

/// A run whose last part has these seconds, over and over; `settled` or not.
fn with_seconds(figures: Figures, seconds: &[f64], settled: bool) -> Review {
    let mut review = review(figures);
    let run = &mut review.outcomes[0];
    for (i, point) in run.charts[0].series[0].points.iter_mut().enumerate() {
        point[1] = seconds[i % seconds.len()];
    }
    if !settled {
        run.metrics.remove("iops_mean_tail");
        run.not_steady.push(NotSteady::new(Unsettled::Drifts, "of the last 200 s, they drift".to_owned()));
    }
    review
}

mod slow_drives;
mod verdicts;

/// Ten times 1,500 and once 60,000: the mean is four times the median.
const BURSTY: [f64; 11] = [1.5e3, 1.5e3, 1.5e3, 1.5e3, 1.5e3, 60e3, 1.5e3, 1.5e3, 1.5e3, 1.5e3, 1.5e3];

#[test]
fn a_headline_says_what_sets_a_drive_apart_and_what_all_do_alike_is_said_once() {
    let unsettled = |figures: Figures, seconds: &[f64]| with_seconds(figures, seconds, false);
    let first = Figures { sequential: 520.0, burst: 90_000.0, ..GOOD };
    let middle = Figures { sequential: 400.0, burst: 70_000.0, ..GOOD };
    let last = Figures { sequential: 260.0, burst: 60_000.0, ..GOOD };
    let three = together(vec![
        ("first-1tb", unsettled(first, &[4e3])),
        ("middle-1tb", unsettled(middle, &BURSTY)),
        ("last-1tb", unsettled(last, &[4e3])),
    ]);
    let told = decks(&three);
    let [a, b, c] = &told.each[..] else { panic!("{told:?}") };
    assert!(
        a.contains(
            "Ahead of the others in sequential write to an empty drive: 520 MB/s against 400 MB/s of Middle 1 TB"
        ),
        "{a}"
    );
    assert!(
        b.contains("writes in bursts: 1,500 random writes a second most of the time, up to 60,000 in between, 6,76"),
        "{b}"
    );
    assert!(
        c.contains("Behind the others in sequential write to an empty drive: 260 MB/s against 400 MB/s of Middle 1 TB"),
        "{c}"
    );
    assert!(
        !told.each.iter().any(|text| text.contains("Quick at random writes") || text.contains("no second passes")),
        "{told:?}"
    );
    assert_eq!(
        told.all,
        "All are quick at random writes to an empty drive; none had settled when the run of random writes ended; with none does \
         a second pass without an answer."
    );
    // Of drives that do not differ there is nothing to say but what they have in common.
    let alike = together(["a", "b", "c"].map(|name| (name, unsettled(first, &[4e3]))).into());
    let told = decks(&alike);
    assert!(
        told.each.iter().all(String::is_empty) && told.all.starts_with("All are quick at random writes"),
        "{told:?}"
    );
    // Beside one other, that one has a name.
    let two = together(vec![("first-1tb", unsettled(first, &[4e3])), ("last-1tb", unsettled(last, &[4e3]))]);
    let told = decks(&two);
    assert!(
        told.each[0].contains("Ahead of Last 1 TB in sequential write to an empty drive: 520 MB/s against 260 MB/s."),
        "{told:?}"
    );
}

#[test]
fn a_rate_of_the_last_part_of_a_run_says_how_long_that_is_and_one_of_the_spare_area_is_none() {
    let unsettled = |name| (name, with_seconds(GOOD, &[4e3], false));
    let mut both = together(vec![unsettled("first-1tb"), unsettled("last-1tb")]);
    both.outcomes.iter_mut().filter(|o| o.test == "random-write").for_each(|o| _ = o.metrics.remove("iops"));
    both.outcomes[0].charts[0].series[0].points.iter_mut().for_each(|p| p[1] = 5e3);
    let told = |review: &Review| decks(review).each.remove(0);
    assert!(told(&both).contains("5,000 random writes a second, the median of the last 200 s"), "{}", told(&both));
    both.outcomes[0].not_steady[0].reason = Unsettled::SpareNotWritten;
    assert!(!told(&both).contains("5,000"), "{}", told(&both));
}

#[test]
fn a_mean_that_bursts_make_is_told_apart_from_what_most_seconds_are() {
    for settled in [true, false] {
        let review = with_seconds(GOOD, &BURSTY, settled);
        let story = story(&review, &review.devices[0]);
        let findings = text(&story.findings);
        // As the names at the right end of the chart have it, and then the mean.
        assert!(
            findings.starts_with("Random writes run at 1,500 IOPS most of the time, ")
                && findings.contains(", with bursts up to 60,000. The"),
            "{findings}"
        );
        assert!(findings.contains("The bursts lift the mean to 6,76"), "{findings}");
        assert!(
            findings.contains("in 91 % of the") && findings.contains(" the rate is below half of that."),
            "{findings}"
        );
        assert_eq!(findings.contains("That had not settled: the means of its five parts run from "), !settled);
        // The worst of it is said against the drive, and not the mean for it.
        assert!(
            story
                .unsuited
                .contains("Databases that need an even rate: 1,500 writes a second most of the time on a full drive, "),
            "{story:?}"
        );
        assert_eq!(story.unsuited.contains("as far as this run went"), !settled, "{story:?}");
        assert!(
            story.unsuited.contains(" with JMF667H Toshiba 256 GB") && !story.suits.contains("Databases"),
            "{story:?}"
        );
        // The mean is the other half of the truth.
        assert!(story.unsuited.contains("; bursts lift the mean to 6,76"), "{story:?}");
    }
    // A median that stalls pull the mean away from is not set beside means without a word.
    let stalling = [5_500.0, 5_500.0, 5_500.0, 5_500.0, 5_500.0, 300.0];
    let mut review = with_seconds(GOOD, &stalling, false);
    let told = |review: &Review| text(&story(review, &review.devices[0]).findings);
    let findings = told(&review);
    assert!(findings.starts_with("Random writes run at 5,500 IOPS and drop to 300 every 6 s."), "{findings}");
    assert!(
        findings.contains("The mean of the last 200 s is 4,620. That had not settled: the means of its five parts"),
        "{findings}"
    );
    review.outcomes[0].metrics.remove("latency_max_tail");
    let unsuited = story(&review, &review.devices[0]).unsuited;
    assert!(
        unsuited.contains("Databases, and random writes to a full drive: 5,500 writes a second drop to 300."),
        "{unsuited}"
    );
    // How often is not known of the drive from a part of it, but for how much of the time is.
    review.outcomes[0].small_by = Some(8);
    assert!(told(&review).contains("drop to 300 again and again. For 17 % of the time"), "{}", told(&review));
    let mut seldom = with_seconds(GOOD, &[vec![5_500.0; 19], vec![300.0]].concat(), false);
    seldom.outcomes[0].small_by = Some(8);
    assert!(told(&seldom).contains("drop to 300 now and then."), "{}", told(&seldom));
    let skewed = told(&with_seconds(GOOD, &[5_000.0, 5_000.0, 2_000.0], false));
    assert!(skewed.contains("is the median of the last 200 s, whose mean is 4,"), "{skewed}");
    let even = with_seconds(GOOD, &[4_000.0, 4_100.0, 3_900.0], false);
    let story = story(&even, &even.devices[0]);
    let findings = text(&story.findings);
    assert!(
        findings.contains(
            "had not settled: 4,000 IOPS is the median of the last 200 s, and the means of its five parts run from"
        ),
        "{findings}"
    );
    assert!(!story.unsuited.contains("Databases"), "{story:?}");
    // What the writes of that part wait for is said if it is most of their time.
    let mut waiting = even;
    let share = |buffer_us: f64, collection_us: f64| TimeShare {
        label: String::new(),
        ios: 1,
        latency_mean_us: buffer_us + collection_us,
        mean_us: BTreeMap::from([
            ("buffer_full".to_owned(), buffer_us),
            ("garbage_collection".to_owned(), collection_us),
        ]),
    };
    for (shares, said) in [
        (
            vec![share(90.0, 10.0), share(8.0, 92.0)],
            Some("A write then waits 92 % of its time for garbage collection."),
        ),
        (
            vec![share(8.0, 92.0), share(70.0, 30.0)],
            Some("A write then waits 70 % of its time for room in the write buffer."),
        ),
        // The whole run is not its last part.
        (vec![share(8.0, 92.0)], None),
    ] {
        waiting.outcomes[0].time_shares = shares;
        let findings = told(&waiting);
        assert_eq!(findings.contains("A write then waits"), said.is_some(), "{findings}");
        assert!(said.is_none_or(|said| findings.contains(said)), "{findings}");
    }
    let even_share = vec![share(8.0, 92.0), share(49.0, 51.0)];
    waiting.outcomes[0].time_shares = even_share;
    waiting.outcomes[0].time_shares[1].mean_us.insert("garbage_collection".to_owned(), 40.0);
    assert!(!told(&waiting).contains("A write then waits"), "no cause has most of it");
}

#[test]
fn the_lead_of_a_cache_is_said_to_hold_until_it_is_full() {
    let mut fast = review(Figures { sequential: 517.0, ..GOOD });
    fast.outcomes.push(outcome(
        "slc-cache",
        "",
        &[
            ("stages", 2.0, ""),
            ("stage1_bandwidth", 517.0, "MB/s"),
            ("stage1_amount", 125.0, "GB"),
            ("stage2_bandwidth", 100.0, "MB/s"),
        ],
    ));
    let mut both = together(vec![("fast-1tb", fast), ("even-1tb", review(Figures { sequential: 406.0, ..GOOD }))]);
    let headline = HEADLINES.into_iter().find(|h| h.key == "sequential-write").unwrap();
    assert_eq!(bar_notes(&both, &headline), ["Fast 1 TB: 517 MB/s for the first 125 GB, then 100."]);
    let unsuited = |review: &Review| story(review, &review.devices[0]).unsuited;
    let lead = "It leads in sequential write only until its rate falls.";
    assert!(
        unsuited(&both).contains(&format!("Long copies and video: 517 MB/s for the first 125 GB, then 100. {lead}")),
        "{}",
        unsuited(&both)
    );
    let of_even = text(&story(&both, &both.devices[1]).findings);
    assert!(of_even.contains("Fast 1 TB goes at 517 MB/s for the first 125 GB, then 100."), "{of_even}");
    // Nor are they what a slow drive is measured by.
    let beside = |sequential: f64| {
        let mut review = both.clone();
        let of_even = review.outcomes.iter_mut().find(|o| o.device == "even-1tb" && o.test == "sequential-write");
        of_even.unwrap().metrics.insert("bandwidth".into(), Metric::new(sequential, "MB/s"));
        story(&review, &review.devices[1]).unsuited
    };
    assert!(beside(45.0).contains("Long copies and video: 45 MB/s, 100 elsewhere."), "{}", beside(45.0));
    assert!(!beside(60.0).contains("elsewhere"), "{}", beside(60.0));
    // The first gigabytes put neither before the other; who keeps the rate is the one for long copies.
    both.outcomes.iter_mut().filter(|o| o.test == "random-write").for_each(|o| _ = o.metrics.remove("iops"));
    assert!(decks(&both).each.iter().all(|deck| !deck.contains("sequential write")), "{:?}", decks(&both));
    let mut even = outcome("slc-cache", "", &[("stages", 1.0, ""), ("stage1_bandwidth", 406.0, "MB/s")]);
    even.device = "even-1tb".to_owned();
    both.outcomes.push(even);
    let of_even = story(&both, &both.devices[1]).suits;
    assert!(of_even.contains("Copies and video: 406 MB/s for as long as it takes."), "{of_even}");
    // What stays ahead of the others to the end is none to be warned of, however much faster it began.
    both.outcomes.last_mut().unwrap().metrics.insert("stage1_bandwidth".into(), Metric::new(94.0, "MB/s"));
    both.outcomes.iter_mut().filter(|o| o.device == "even-1tb" && o.test == "sequential-write").for_each(|o| {
        o.metrics.insert("bandwidth".into(), Metric::new(94.0, "MB/s"));
    });
    let of_fast = story(&both, &both.devices[0]);
    let ahead = "Copies and video: 517 MB/s for the first 125 GB, then 100; Even 1 TB goes on at 94.";
    assert!(of_fast.suits.contains(ahead) && !of_fast.unsuited.contains("copies"), "{of_fast:?}");
    both.outcomes.iter_mut().filter(|o| o.device == "even-1tb" && o.test == "sequential-write").for_each(|o| {
        o.metrics.insert("bandwidth".into(), Metric::new(406.0, "MB/s"));
    });
    both.outcomes.pop();
    // On a part of the drive, amounts are shares.
    let cache = both.outcomes.iter_mut().find(|o| o.test == "slc-cache").unwrap();
    cache.metrics.remove("stage1_amount");
    cache.metrics.insert("stage1_end".into(), Metric::new(48.7, "%"));
    assert!(
        unsuited(&both).contains("517 MB/s for the first 49 % of the drive (about 535 GB), then 100."),
        "{}",
        unsuited(&both)
    );
    // Without that test, the fill before the random writes tells.
    both.outcomes.retain(|o| o.test != "slc-cache");
    assert!(!unsuited(&both).contains("copies"), "{}", unsuited(&both));
    let run = both.outcomes.iter_mut().find(|o| o.test == "consistency").unwrap();
    run.metrics.insert("fill_bandwidth".into(), Metric::new(179.0, "MB/s"));
    let told = "517 MB/s in the mean over the first part of the drive, 179 in the mean over all of it.";
    assert_eq!(bar_notes(&both, &headline), [format!("Fast 1 TB: {told}")]);
    assert!(unsuited(&both).contains(&format!("Long copies and video: {told} {lead}")), "{}", unsuited(&both));
    // Nor is that rate what speaks for it, though no other drive has a better one.
    let mut only = both.clone();
    only.outcomes.retain(|o| ["consistency", "sequential-write"].contains(&o.test.as_str()));
    only.outcomes.iter_mut().for_each(|o| _ = o.metrics.remove("iops_mean_tail"));
    assert_eq!(story(&only, &only.devices[0]).suits, "It leads in none of the figures compared here.");
    // How much of the drive the bar is of: 517 MB/s for 60 s is 31 GB of 1,100.
    assert_eq!(reach::covered(&both, &headline), None);
    both.outcomes.iter_mut().filter(|o| o.test == "sequential-write").for_each(|o| {
        o.params.insert("seconds".to_owned(), 60.into());
    });
    let Some(reach::Covered::Percent(least, most)) = reach::covered(&both, &headline) else { panic!() };
    assert!((least - 2.216).abs() < 0.01 && (most - 2.821).abs() < 0.01, "{least} {most}");
    // Of a test that stays within a part of the drive it is no more than that part, however often it comes round.
    both.outcomes.iter_mut().filter(|o| o.test == "sequential-write").for_each(|o| {
        o.params.insert("span_bytes".to_owned(), 8_000_000_000_u64.into());
    });
    let Some(reach::Covered::Percent(least, most)) = reach::covered(&both, &headline) else { panic!() };
    assert!(least == most && (most - 0.7276).abs() < 0.001, "{least} {most}");
    // A small drive may be written over and over.
    both.devices.iter_mut().for_each(|d| d.facts.capacity_bytes = 10_000_000_000);
    both.outcomes.iter_mut().for_each(|o| _ = o.params.remove("span_bytes"));
    let Some(reach::Covered::Times(least, most)) = reach::covered(&both, &headline) else { panic!() };
    assert!(least > 2.0 && least <= most, "{least} {most}");
}

#[test]
fn the_link_is_the_limit_only_of_a_drive_that_keeps_it_busy() {
    let limit = |causes: &[(&str, f64)]| {
        let mean_us: BTreeMap<String, f64> = causes.iter().map(|&(key, us)| (key.to_owned(), us)).collect();
        limit(&TimeShare { label: String::new(), ios: 1, latency_mean_us: mean_us.values().sum(), mean_us })
            .unwrap_or_default()
    };
    assert_eq!(limit(&[("link", 22.0), ("program", 40.0), ("controller", 38.0)]), "", "one of several is no limit");
    assert_eq!(limit(&[("link", 30.0), ("queue", 70.0)]), "", "nor is a queue");
    // Which of two that weigh alike is ahead by one per cent makes no other story.
    assert_eq!(
        limit(&[("link", 44.0), ("buffer_full", 45.0), ("controller", 11.0)]),
        "a write spends 44 % of its time on the host link, and waits 45 % of it for room in the write buffer"
    );
    assert_eq!(
        limit(&[("link", 97.0), ("controller", 3.0)]),
        "the transfer over the host link takes 97 % of a write's time, and is the limit"
    );
    assert_eq!(
        limit(&[("link", 76.0), ("controller", 20.0), ("metadata", 4.0)]),
        "a write spends 76 % of its time on the host link, and waits 20 % of it for the controller to process the command"
    );
    assert_eq!(
        limit(&[("link", 30.0), ("buffer_full", 70.0)]),
        "a write waits 70 % of its time for room in the write buffer"
    );
}

#[test]
fn what_trim_left_is_said_beside_what_is_allowed() {
    let mut review = review(GOOD);
    review.outcomes.retain(|o| o.test == "trim");
    review.outcomes[0].metrics.insert("trimmed_shortfall".into(), Metric::new(4.53, "%"));
    review.outcomes[0].params.insert("tolerance_percent".to_owned(), 5.0.into());
    let findings = text(&story(&review, &review.devices[0]).findings);
    assert!(
        findings
            .contains("300 after TRIM, in its worst tenth 4.5 % below the clean drive (up to 5 % counts as restored)."),
        "{findings}"
    );
    assert!(findings.starts_with("TRIM restores the drive"), "{findings}");
    review.outcomes[0].metrics.insert("trimmed_shortfall".into(), Metric::new(42.5, "%"));
    let findings = text(&story(&review, &review.devices[0]).findings);
    assert!(findings.starts_with("TRIM frees the drive, but its fast part is not back at once: 30 MB/s"), "{findings}");
}

#[test]
fn what_a_full_cache_answers_in_between_is_no_rate_to_compare_by() {
    let served = |iops: f64, silent: f64, kind: &str| {
        let mut review = review(GOOD);
        review.outcomes.retain(|o| o.test != "fileserver");
        let metrics = [
            ("iops", iops, "IOPS"),
            ("latency_p50", 100.0, "us"),
            ("stall_share", silent, "%"),
            ("stall_longest", 5e6, "us"),
        ];
        review.outcomes.push(outcome("fileserver", "", &metrics));
        review.devices[0].facts.kind = kind.into();
        review
    };
    let headline = HEADLINES.into_iter().find(|h| h.key == "file-server").unwrap();
    let leads = |kind: &str| {
        let both =
            together(vec![("plain-1tb", served(1_000.0, 0.0, "ssd")), ("cached-1tb", served(9_000.0, 84.0, kind))]);
        (Facts::of(&both, &both.devices[0]).best_other(&headline).is_some(), bar_notes(&both, &headline))
    };
    let said = "Cached 1 TB: nothing is answered in 84 % of the time, up to 5 s at a stretch; its rate is of what came in between.";
    assert_eq!(leads("array"), (false, vec![said.to_owned()]));
    // A drive that is as slow as that by itself is.
    assert_eq!(leads("ssd"), (true, vec![]));
}

#[test]
fn a_file_server_whose_writes_lie_in_a_cache_is_no_rate_to_compare_by() {
    let served = |iops: f64, on_flash: f64, kind: &str| {
        let mut review = review(GOOD);
        review.outcomes.retain(|o| o.test != "fileserver");
        let metrics = [("iops", iops, "IOPS"), ("latency_p50", 900.0, "us"), ("waf_host", on_flash, "ratio")];
        review.outcomes.push(outcome("fileserver", "", &metrics));
        review.devices[0].facts.kind = kind.into();
        review
    };
    let headline = HEADLINES.into_iter().find(|h| h.key == "file-server").unwrap();
    let leads = |on_flash: f64, kind: &str| {
        let plain = served(36.0, 1.2, "array");
        let both = together(vec![("plain-1tb", plain), ("cached-1tb", served(1_245.0, on_flash, kind))]);
        let plain = Facts::of(&both, &both.devices[0]);
        (plain.best_other(&headline).is_some(), plain.but_for(&headline, 36.0), bar_notes(&both, &headline))
    };
    let said = "Cached 1 TB: 94 % of what it wrote still lay in a cache when the run ended; its rate is of a cache that fills.";
    let but_for = " but for Cached 1 TB, which answers from its cache".to_owned();
    assert_eq!(leads(0.056, "array"), (false, but_for, vec![said.to_owned()]));
    assert_eq!(leads(0.97, "array"), (true, String::new(), vec![]), "what it writes reaches the drives");
    assert_eq!(leads(0.3, "ssd"), (true, String::new(), vec![]), "a drive that compresses");
}

#[test]
fn what_has_not_settled_and_is_slow_is_none_for_databases() {
    let told = |rate: f64| {
        let review = with_seconds(Figures { burst: 9_000.0, ..GOOD }, &[rate], false);
        story(&review, &review.devices[0]).unsuited
    };
    let said = "Databases, and random writes to a full drive: 23 to 23 a second, as far as this run went.";
    assert!(told(23.0).contains(said), "{}", told(23.0));
    assert!(!told(23_000.0).contains("Databases"), "{}", told(23_000.0));
}

#[test]
fn a_cache_without_a_battery_is_told_of_by_what_a_power_cut_takes() {
    let mut review = review(GOOD);
    let told = |review: &Review| story(review, &review.devices[0]).unsuited;
    assert!(!told(&review).contains("power cut"), "{}", told(&review));
    review.devices[0].lost_with_power_bytes = Some(1_932_735_283);
    assert!(
        told(&review).contains("up to 1.93 GB of them lie in an adapter's cache without a battery"),
        "{}",
        told(&review)
    );
}

#[test]
fn a_flush_that_keeps_nothing_is_told_of() {
    let mut review = review(GOOD);
    let told = |review: &Review| story(review, &review.devices[0]).unsuited;
    assert!(!told(&review).contains("FLUSH"), "{}", told(&review));
    review.devices[0].loses_flushed = true;
    assert!(
        told(&review).contains("a FLUSH is answered at once, but what drives hold in caches of their own is lost"),
        "{}",
        told(&review)
    );
}

#[test]
fn the_best_of_slow_drives_is_not_quick() {
    let told = |burst: f64| {
        let drive = |burst: f64| review(Figures { burst, ..GOOD });
        let said = decks(&together(vec![("first-1tb", drive(burst)), ("second-1tb", drive(burst / 3.0))]));
        format!("{} {}", said.each.join(" "), said.all)
    };
    assert!(told(42.0).contains("None is a drive for random writes"), "{}", told(42.0));
    assert!(told(400.0).contains("All are slow at random writes"), "{}", told(400.0));
    assert!(told(90_000.0).contains("Quick at random writes"), "{}", told(90_000.0));
}

#[test]
fn a_second_without_an_answer_need_not_begin_with_one_of_the_clock() {
    let with = |longest_us: f64| {
        let mut review = review(GOOD);
        review.outcomes[0].metrics.insert("stall_longest".to_owned(), Metric::new(longest_us, "us"));
        review
    };
    let said = |longest_us: f64| decks(&with(longest_us)).each.concat();
    assert!(said(998_000.0).contains("no second passes without an answer"), "{}", said(998_000.0));
    assert!(!said(1_348_350.0).contains("without an answer"), "{}", said(1_348_350.0));
    // Beside another, neither is it said of both.
    let both = |longest_us: f64| {
        let told = decks(&together(vec![("first-1tb", with(longest_us)), ("second-1tb", with(2_000.0))]));
        format!("{} {}", told.each.concat(), told.all)
    };
    assert!(both(2_000.0).contains("with none does a second pass without an answer"), "{}", both(2_000.0));
    assert!(!both(1_348_350.0).contains("with none does a second pass"), "{}", both(1_348_350.0));
}

#[test]
fn nothing_is_told_of_the_drive_by_a_run_over_a_part_of_it_or_by_one_of_other_requests() {
    let told = |run: &dyn Fn(&mut Outcome)| {
        let mut review = review(GOOD);
        review.outcomes.truncate(1);
        run(&mut review.outcomes[0]);
        (text(&story(&review, &review.devices[0]).findings), decks(&review).each.concat())
    };
    let (findings, deck) = told(&|_| {});
    assert!(
        findings.contains("settle to a flat line") && deck.contains("no second passes without an answer"),
        "{deck}"
    );
    let over_a_part: fn(&mut Outcome) = |run| {
        run.variant = random_writes::SPACIOUS.to_owned();
        run.params.insert("over_provisioning".to_owned(), "raw-25".into());
        run.not_steady = vec![NotSteady::new(Unsettled::Drifts, "they drift".to_owned())];
    };
    let one_at_a_time: fn(&mut Outcome) = |run| drop(run.params.insert("queue_depth".to_owned(), 1.into()));
    for run in [over_a_part, one_at_a_time] {
        let (findings, deck) = told(&run);
        assert!(!findings.contains("andom writes") && deck == "a drive", "{findings}{deck}");
    }
}
