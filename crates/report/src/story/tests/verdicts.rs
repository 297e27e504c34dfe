//! Where a drive is put before or behind others, and where it must not be.

use super::super::facts::Other;
use super::*;

fn headline(key: &str) -> Headline {
    HEADLINES.into_iter().find(|h| h.key == key).unwrap()
}

/// A drive of which nothing is known but these figures.
fn with(figures: &[(&str, f64)]) -> Review {
    let mut review = review(GOOD);
    review.outcomes = figures
        .iter()
        .map(|&(key, value)| {
            let h = headline(key);
            outcome(h.test, h.variant, &[(h.metric, value, h.unit())])
        })
        .collect();
    review
}

/// One whose random writes hold this rate to the end of their run; `settled` or not.
fn at_rate(rate: f64, settled: bool) -> Review {
    let mut review = with_seconds(Figures { steady: rate, ..GOOD }, &[rate], settled);
    let run = &mut review.outcomes[0];
    let mut tail = run.charts[0].clone();
    tail.id = "iops-tail-log".to_owned();
    tail.series[0].points.retain(|point| point[0] > 100.0);
    run.charts.push(tail);
    review
}

fn findings(review: &Review, at: usize) -> String {
    text(&story(review, &review.devices[at]).findings)
}

#[test]
fn who_leads_those_that_had_settled_is_told_of_those_that_had_not() {
    let three = |drifting: f64| {
        let drives = [("fast-1tb", 10_000.0, true), ("slow-1tb", 4_000.0, true), ("drifts-1tb", drifting, false)];
        together(drives.map(|(name, rate, settled)| (name, at_rate(rate, settled))).into())
    };
    let deck = |review: &Review, at: usize| decks(review).each[at].clone();
    let ahead = three(30_000.0);
    let but_for = "but for Drifts 1 TB (not settled, 30,000 IOPS so far)";
    let said = format!("Ahead of the others in steady random write, {but_for}: 10,000 IOPS against 4,000 IOPS");
    assert!(deck(&ahead, 0).contains(&said), "{}", deck(&ahead, 0));
    let best = |review: &Review| relative(&Facts::of(review, &review.devices[0]));
    let but_for_of_best = |review: &Review| best(review).into_iter().find(|r| r.key == "steady-write").unwrap().but_for;
    assert_eq!(but_for_of_best(&ahead), format!(" {but_for}"));
    let said = format!("Slow 1 TB is the best of the others here {but_for}.");
    assert!(findings(&ahead, 0).contains(&said), "{}", findings(&ahead, 0));
    // One that is behind so far takes nothing from the lead, but the last place from the last.
    let behind = three(200.0);
    assert_eq!(but_for_of_best(&behind), "");
    assert!(deck(&behind, 0).contains("Ahead of the others in steady random write: "), "{}", deck(&behind, 0));
    let said = "in steady random write, but for Drifts 1 TB (not settled, 200 IOPS so far): 4,000 IOPS against";
    assert!(deck(&behind, 1).contains(said), "{}", deck(&behind, 1));
    // Of a set in small nothing is known but that.
    let mut left = three(200.0);
    left.outcomes.iter_mut().flat_map(|o| &mut o.not_steady).for_each(|n| n.reason = Unsettled::LeftToFullRun);
    assert_eq!(but_for_of_best(&left), " but for Drifts 1 TB (full run only)");
    // As a disk beside shipped drives.
    let mut disk = review(Figures { steady: 384.0, ..GOOD });
    disk.outcomes[0].metrics.insert("iops_min".to_owned(), Metric::new(350.0, "IOPS"));
    disk.devices[0].facts.supports_trim = false;
    let worst = best(&disk).into_iter().find(|r| r.key == "worst-second").unwrap();
    assert!(worst.but_for.contains("X25-M 80 GB (not settled, 784 IOPS so far)"), "{}", worst.but_for);
}

/// A drive of which only random writes to all of it are known.
fn with_random_writes_only(mut review: Review) -> Review {
    review.outcomes.truncate(1);
    review
}

#[test]
fn what_a_drive_is_for_is_told_of_where_it_is_far_behind_another() {
    let of = |rate| with_random_writes_only(at_rate(rate, true));
    let both = together(vec![("mine-1tb", of(24_000.0)), ("theirs-1tb", of(60_000.0))]);
    let told = |at: usize| story(&both, &both.devices[at]);
    assert_eq!(told(0).suits, "Databases: 24,000 writes a second, and no second below 24,000.");
    assert_eq!(
        told(0).unsuited,
        "It falls far behind in none of the figures compared here but steady random write: 40 % of the best here."
    );
    assert_eq!(told(1).unsuited, "It falls far behind in none of the figures compared here.");
}

#[test]
fn a_drive_in_small_is_not_recommended_to_those_who_wait_for_each_commit() {
    let told = |small_by: Option<u32>| {
        let mut mine = with_random_writes_only(at_rate(24_000.0, true));
        mine.outcomes[0].small_by = small_by;
        let both = together(vec![("mine-1tb", mine), ("theirs-1tb", with_random_writes_only(at_rate(60_000.0, true)))]);
        story(&both, &both.devices[0])
    };
    assert!(told(None).suits.starts_with("Databases: 24,000 writes a second"), "{:?}", told(None));
    let small = told(Some(8));
    let left = "No verdict on databases: 24,000 writes a second, and no second below 24,000, but how long a commit may wait is \
                left to a full run.";
    assert_eq!(small.suits, left);
    // What it is not said to be for is no reason to be silent about where it is behind.
    assert_eq!(small.unsuited, "Steady random write: 24,000 IOPS, 40 % of the best here.");
}

#[test]
fn a_lead_that_speaks_for_nobody_is_a_lead_all_the_same() {
    // The mean of a rate that falls.
    let mut falling = with(&[("random-write", 20_400.0)]);
    falling.outcomes[0].metrics.insert("iops_max".to_owned(), Metric::new(77_900.0, "IOPS"));
    let both = together(vec![("mine-1tb", falling), ("theirs-1tb", with(&[("random-write", 9_890.0)]))]);
    let suits = |review: &Review| story(review, &review.devices[0]).suits;
    assert!(decks(&both).each[0].contains("Ahead of Theirs 1 TB in random writes to a fresh drive"), "{both:?}");
    assert_eq!(suits(&both), "It leads in random writes to a fresh drive: 20,400 IOPS, the mean of a rate that falls.");
    // What the drive is said not to be for.
    let stalling = with_seconds(Figures { steady: 3_300.0, ..GOOD }, &[5_500.0, 5_500.0, 5_500.0, 0.0, 0.0], true);
    let beside = with_random_writes_only(at_rate(2_000.0, true));
    let both = together(vec![("mine-1tb", with_random_writes_only(stalling)), ("theirs-1tb", beside)]);
    assert_eq!(suits(&both), "It leads in steady random write: 3,300 IOPS, but see what it is not for.");
    let unsuited = story(&both, &both.devices[0]).unsuited;
    assert!(unsuited.starts_with("Databases, and random writes to a full drive: "), "{unsuited}");
}

#[test]
fn a_rate_of_the_file_server_that_is_left_to_a_full_run_is_told_of_as_such() {
    let mut left = with(&[]);
    left.outcomes.push(outcome("fileserver", "", &[]));
    left.outcomes[0].not_steady =
        vec![NotSteady::new(Unsettled::LeftToFullRun, "nothing was answered for 99 % of it".to_owned())];
    let served = |iops| with(&[("file-server", iops)]);
    let three = vec![("fast-1tb", served(127.0)), ("slow-1tb", served(20.0)), ("left-1tb", left)];
    let three = together(three);
    let but_for = "but for Left 1 TB (full run only)";
    let suits = |at: usize| story(&three, &three.devices[at]).suits;
    assert_eq!(suits(0), format!("The file-server test at QD8: 127 IOPS, the best here {but_for}."));
    assert_eq!(suits(2), "No verdict: the figures that drives are compared by are left to a full run.");
    let deck = |at: usize| decks(&three).each[at].clone();
    for (at, figures) in [(0, "127 IOPS against 20"), (1, "20 IOPS against 127")] {
        let said = format!("in the file-server test at QD8, {but_for}: {figures}");
        assert!(deck(at).contains(&said), "{}", deck(at));
    }
    let said = format!("Slow 1 TB is the best of the others here {but_for}.");
    assert!(findings(&three, 0).contains(&said), "{}", findings(&three, 0));
}

#[test]
fn a_drive_is_between_the_others_where_one_is_better_and_one_worse_in_every_figure() {
    let middle = |figures: [(&str, f64); 2]| {
        let drive = |factor: f64| with(&[("file-server", 20_000.0 * factor), ("random-read", 9_000.0 * factor)]);
        let three = [("best-1tb", drive(1.0)), ("worst-1tb", drive(0.5)), ("middle-1tb", with(&figures))];
        decks(&together(three.into())).each.remove(2)
    };
    assert_eq!(middle([("file-server", 15_000.0), ("random-read", 6_000.0)]), "Between the others in every figure.");
    for figures in [
        // Level with the best, with the worst, and without one of the figures.
        [("file-server", 19_900.0), ("random-read", 6_000.0)],
        [("file-server", 15_000.0), ("random-read", 4_501.0)],
        [("file-server", 15_000.0), ("desktop-mix", 900.0)],
    ] {
        assert_eq!(middle(figures), "", "{figures:?}");
    }
}

#[test]
fn a_cache_that_was_not_written_back_while_it_was_watched_is_no_lead() {
    let drive = |write_us: f64, flush: Option<f64>| {
        let mut review = with(&[("write-access", write_us)]);
        let run = &mut review.outcomes[0];
        run.metrics.insert("latency_mean_read".to_owned(), Metric::new(100.0, "us"));
        run.metrics.extend(flush.map(|seconds| ("flush_seconds".to_owned(), Metric::new(seconds, "s"))));
        run.params.insert("flush_limit_seconds".to_owned(), 600.into());
        review
    };
    let both = together(vec![("cached-1tb", drive(20.0, None)), ("plain-1tb", drive(90_000.0, Some(0.1)))]);
    let note = "into its cache; then it writes back for more than 600 s";
    assert_eq!(bar_notes(&both, &headline("write-access")), [format!("Cached 1 TB: {note}.")]);
    assert!(!decks(&both).each[0].contains("write access"), "{:?}", decks(&both));
    // Nor is it a figure to be told without that.
    let told = findings(&both, 0);
    assert!(told.contains(&format!("A small read takes 100 µs, a small write 20 µs: {note}.")), "{told}");
}

#[test]
fn a_drive_that_had_programmed_its_small_writes_has_no_cache_to_write_back() {
    let note = |waf_host: Option<f64>, small_by: Option<u32>, flush: f64| {
        let mut review = with(&[("write-access", 30.0)]);
        let run = &mut review.outcomes[0];
        run.metrics.insert("flush_seconds".to_owned(), Metric::new(flush, "s"));
        run.metrics.extend(waf_host.map(|waf| ("waf_host".to_owned(), Metric::new(waf, "ratio"))));
        run.small_by = small_by;
        bar_notes(&review, &headline("write-access")).first().cloned().unwrap_or_default()
    };
    assert!(note(Some(0.3), None, 7.0).contains("then it writes back for 7 s"));
    // What goes on then is of the fill before, each 512 B being programmed as 4 KiB.
    assert_eq!(note(Some(7.95), None, 7.0), "");
    // How long it takes on an eighth of the drive is nobody's figure.
    assert!(note(None, Some(8), 1.0).contains("writes back for a time that only a full run can tell"));
    assert_eq!(note(None, None, 1.0), "");
}

#[test]
fn the_best_of_others_is_the_best_but_for_a_bar_that_a_cache_made() {
    let served = |iops: f64, gap: f64| {
        let mut review = with(&[("file-server", iops)]);
        review.outcomes[0].metrics.insert("longest_gap_share".to_owned(), Metric::new(gap, "%"));
        review
    };
    let drives = vec![
        ("mine-1tb", served(9_000.0, 0.0)),
        ("next-1tb", served(3_000.0, 0.0)),
        ("cached-1tb", served(5_000.0, 60.0)),
    ];
    let told = findings(&together(drives), 0);
    assert!(
        told.contains("Next 1 TB is the best of the others here but for Cached 1 TB, which answers in bursts."),
        "{told}"
    );
}

#[test]
fn how_long_a_shipped_drive_keeps_its_rate_is_not_guessed() {
    let unsuited = |review: &Review| story(review, &review.devices[0]).unsuited;
    // Of shipped drives it is known what they write in the mean over all of the drive.
    let mut slow = review(Figures { sequential: 60.0, ..GOOD });
    assert!(unsuited(&slow).contains("Long copies and video: 60 MB/s, 435 elsewhere."), "{}", unsuited(&slow));
    let known = |fill: Option<f64>, own: &Review| {
        let drive = ReferenceDrive {
            name: "shipped-1tb".to_owned(),
            figures: [("sequential-write".to_owned(), 400.0)].into(),
            fill_mb_per_s: fill,
            iops: vec![1.0],
            not_steady: Vec::new(),
        };
        let mut facts = Facts::of(own, &own.devices[0]);
        facts.others = vec![Other::shipped(Box::leak(Box::new(drive)))];
        let (suits, unsuited) = conclusion(&facts, None);
        format!("{suits} {unsuited}")
    };
    assert!(!known(None, &slow).contains("opies"), "{}", known(None, &slow));
    assert!(known(Some(390.0), &slow).contains("Long copies and video: 60 MB/s, 390 elsewhere."));
    assert!(!known(Some(100.0), &slow).contains("opies"), "it falls, too");
    // A rate that falls speaks for a drive only where what it falls to is near the best that another may keep.
    let stages = |second: f64| {
        let rates = [("stages", 2.0, ""), ("stage1_bandwidth", 504.0, "MB/s"), ("stage2_bandwidth", second, "MB/s")];
        outcome("slc-cache", "", &rates)
    };
    for (second, fill, is_for_copies) in [(300.0, None, false), (330.0, None, true), (300.0, Some(302.0), true)] {
        slow.outcomes.retain(|o| o.test != "slc-cache");
        slow.outcomes.push(stages(second));
        slow.outcomes.iter_mut().filter(|o| o.test == "sequential-write").for_each(|o| {
            o.metrics.insert("bandwidth".to_owned(), Metric::new(504.0, "MB/s"));
        });
        let told = known(fill, &slow);
        assert_eq!(told.contains("Copies and video: 504 MB/s at first, then"), is_for_copies, "{second}: {told}");
    }
}

#[test]
fn why_there_is_no_verdict_is_said_as_it_is() {
    let suits = |review: &Review| story(review, &review.devices[0]).suits;
    let nothing = with(&[]);
    assert_eq!(suits(&nothing), "None of the figures that drives are compared by was measured.");
    let mut alone = together(vec![("mine-1tb", with(&[("file-server", 900.0)])), ("other-1tb", with(&[]))]);
    assert!(
        suits(&alone).starts_with("No verdict: of the figures that drives are compared by, those measured here stand")
    );
    alone.outcomes.clear();
    alone.outcomes.push(at_rate(9_000.0, false).outcomes.remove(0));
    assert!(suits(&alone).starts_with("No verdict: random writes came to no steady state here"), "{}", suits(&alone));
}

#[test]
fn no_rate_is_told_of_a_state_that_only_a_full_run_can_tell() {
    let left = || {
        let mut review = at_rate(9_000.0, false);
        review.outcomes[0].not_steady[0].reason = Unsettled::LeftToFullRun;
        review
    };
    let told = decks(&left()).each.remove(0);
    assert!(told.contains("a steady state that only a full run can tell;"), "{told}");
    // Nor that it stalls, comes in bursts, or is too low.
    for seconds in [&[5_500.0, 5_500.0, 300.0][..], &BURSTY, &[240.0], &[0.0]] {
        let mut review = with_seconds(GOOD, seconds, false);
        review.outcomes[0].not_steady[0].reason = Unsettled::LeftToFullRun;
        let told = decks(&review).each.remove(0);
        assert!(told.contains("and a steady state that only a full run can tell"), "{seconds:?}: {told}");
        let unsuited = story(&review, &review.devices[0]).unsuited;
        assert!(!unsuited.contains("Databases"), "{seconds:?}: {unsuited}");
    }
    // Nor have those that it is left to a full run of failed to settle.
    let both = together(vec![("first-1tb", left()), ("second-1tb", left())]);
    assert!(!decks(&both).all.contains("none had settled"), "{}", decks(&both).all);
    let both = together(vec![("steady-1tb", at_rate(60_000.0, true)), ("left-1tb", left())]);
    assert!(!story(&both, &both.devices[0]).suits.contains("had not settled"), "{both:?}");
}

#[test]
fn what_is_collected_is_told_of_the_seconds_that_wait_for_it_and_not_of_the_bursts() {
    let told = findings(&with_seconds(GOOD, &BURSTY, true), 0);
    let said = "run at 1,500 IOPS most of the time, while one superblock of 256 MiB is collected, with bursts up to 60,000. The";
    assert!(told.contains(said), "{told}");
    let mut waiting = with_seconds(GOOD, &BURSTY, true);
    waiting.outcomes[0].slowest[0].causes_us = [("buffer_full".to_owned(), 120_000.0)].into();
    let told = findings(&waiting, 0);
    assert!(
        told.contains("bursts up to 60,000; the slowest requests wait for room in the write buffer. The"),
        "{told}"
    );
}

#[test]
fn no_second_is_below_what_none_is_said_to_be_below() {
    // 20,000 most of the time, and once 14,280; the mean is another figure.
    let seconds: Vec<f64> = (0..10).map(|i| if i < 6 { 20_000.0 } else { 14_280.0 }).collect();
    let mut varied = with_seconds(GOOD, &seconds, true);
    let Story { findings, suits, .. } = story(&varied, &varied.devices[0]);
    let told = format!("{} {suits}", text(&findings));
    assert!(told.contains("20,000 IOPS, from then on never below 14,200; 60 % of the seconds lie"), "{told}");
    assert!(told.contains("within 15 % of that, and the mean is 17,700."), "{told}");
    assert!(
        told.contains("20,000 writes a second most of the time, 17,700 in the mean, and no second below 14,200"),
        "{told}"
    );
    // What a quick run counts in are no seconds.
    varied.quick = true;
    let Story { findings, suits, .. } = story(&varied, &varied.devices[0]);
    let told = format!("{} {suits}", text(&findings));
    assert!(told.contains("20,000 IOPS; 60 %") && !told.contains("below"), "{told}");
}

#[test]
fn what_spare_area_does_is_little_within_a_tenth_and_a_share_beyond() {
    let told = |spacious: f64| findings(&review(Figures { spacious, ..GOOD }), 0);
    for (spacious, said) in [
        (65_000.0, "changes little: 65,000 IOPS with it, 60,000 without. Spare area is not what it lacks."),
        (84_000.0, "unused lifts the mean by 40 %: 84,000 IOPS with it, 60,000 without."),
        (
            45_000.0,
            "With a fifth of its flash left unused the mean is 25 % lower: 45,000 IOPS with it, 60,000 without.",
        ),
    ] {
        assert!(told(spacious).contains(said), "{}", told(spacious));
    }
}

#[test]
fn only_a_disk_has_tracks() {
    let falling = |kind: &str| {
        let mut review = with(&[]);
        review.outcomes.push(outcome(
            "disk-inspection",
            "",
            &[("rate_begin", 120.0, "MB/s"), ("rate_end", 60.0, "MB/s")],
        ));
        review.devices[0].facts.kind = kind.to_owned();
        findings(&review, 0)
    };
    assert!(falling("hdd").contains("to 60 at the last: inner tracks are shorter."), "{}", falling("hdd"));
    assert!(falling("ssd").contains("to 60 at the last.\n"), "{}", falling("ssd"));
}

#[test]
fn figures_that_set_drives_apart_are_told_in_as_many_digits_as_that_takes() {
    // 2.7 and 3.4 per cent.
    let both = |key: &str, ours: f64, theirs: f64| {
        let both = together(vec![("mine-1tb", with(&[(key, ours)])), ("slower-1tb", with(&[(key, theirs)]))]);
        format!("{} {}{}", decks(&both).each[0], findings(&both, 0), story(&both, &both.devices[0]).suits)
    };
    let access = both("write-access", 29.6, 30.4);
    assert!(access.contains("Ahead of Slower 1 TB in write access: 29.6 µs against 30.4 µs."), "{access}");
    let served = both("file-server", 10.49, 10.1);
    assert!(served.contains("in the file-server test at QD8: 10.5 IOPS against 10.1 IOPS."), "{served}");
    let served = both("file-server", 12.44, 12.1);
    assert!(
        served.contains("Ahead of Slower 1 TB by 3 % in the file-server test at QD8: 12.4 against 12.1"),
        "{served}"
    );
    assert!(served.contains("The file-server test at QD8: 12.4 IOPS, the best here."), "{served}");
    // Where whole numbers tell them apart, they do.
    let served = both("file-server", 129_270.0, 9_891.4);
    assert!(served.contains("129,300 IOPS against 9,890 IOPS"), "{served}");
}
