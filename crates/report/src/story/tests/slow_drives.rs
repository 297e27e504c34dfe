//! What is told of drives that answer a few times a second, and of runs too short for them.

use super::*;

/// Random writes of so many a second, over and over: four in the mean, of which three seconds are joined.
const UNEVEN: [f64; 6] = [5.0, 6.0, 0.0, 8.0, 1.0, 4.0];

#[test]
fn where_seconds_are_joined_none_is_told_of() {
    let told = |seconds: &[f64]| {
        let review = with_seconds(GOOD, seconds, true);
        let story = story(&review, &review.devices[0]);
        format!("{}{}", text(&story.findings), story.suits)
    };
    let slow = told(&UNEVEN);
    assert!(slow.contains("of all stretches of 3 s lie within 15 %"), "{slow}");
    assert!(!slow.contains("never below") && !slow.contains("no second"), "{slow}");
    // Of one that answers often enough each second counts.
    let quick = told(&UNEVEN.map(|rate| 1e4 + 1e3 * rate));
    assert!(quick.contains("of the seconds lie within") && quick.contains("never below 10,000"), "{quick}");
}

#[test]
fn too_few_writes_to_tell_are_not_called_unsettled() {
    let with = |reason: Unsettled| {
        let mut review = with_seconds(GOOD, &UNEVEN, false);
        review.outcomes[0].not_steady = vec![NotSteady::new(reason, "358 requests are too few to tell".to_owned())];
        let headline = HEADLINES.into_iter().find(|h| h.key == "steady-write").unwrap();
        let findings = text(&story(&review, &review.devices[0]).findings);
        format!("{findings}{}{}", decks(&review).each.concat(), bar_notes(&review, &headline)[0])
    };
    let few = with(Unsettled::TooFewRequests);
    assert!(few.contains("too few to say whether they had settled: 4 IOPS in the mean of the last 200 s"), "{few}");
    assert!(few.contains("Mine 1 TB: too few writes to tell, 4 a second in the mean so far"), "{few}");
    assert!(
        few.contains("to tell whether they had settled: 4 random writes a second, in the mean of the last 200 s"),
        "{few}"
    );
    assert!(!few.contains("had not settled") && !few.contains("five parts"), "{few}");
    assert!(with(Unsettled::Drifts).contains("had not settled"));
}

#[test]
fn a_set_in_small_has_no_finding_of_its_steady_state() {
    let mut review = with_seconds(GOOD, &UNEVEN, false);
    review.outcomes[0].not_steady = vec![NotSteady::new(Unsettled::LeftToFullRun, "it is a set".to_owned())];
    let told = text(&story(&review, &review.devices[0]).findings);
    assert!(!told.contains("settle"), "{told}");
    assert!(decks(&review).each[0].contains("a steady state that only a full run can tell"));
}

#[test]
fn spare_area_is_told_of_runs_that_drift_if_they_are_far_apart() {
    let of_both = |with_spare: f64, change: &dyn Fn(&mut [Outcome])| {
        let mut mine = with_seconds(GOOD, &[4_000.0], false);
        let mut spacious = with_seconds(GOOD, &[with_spare], false).outcomes.swap_remove(0);
        spacious.variant = random_writes::SPACIOUS.to_owned();
        mine.outcomes[1] = spacious;
        // In place of its mean, its chart says where a run is.
        for run in &mut mine.outcomes[..2] {
            let tail = run.charts[0].series[0].points[100..].to_vec();
            let series = vec![Series { name: String::new(), points: tail }];
            run.charts.push(Chart { id: "iops-tail".into(), series, ..run.charts[0].clone() });
        }
        change(&mut mine.outcomes[..2]);
        text(&story(&mine, &mine.devices[0]).findings)
    };
    let told = |with_spare| of_both(with_spare, &|_| ());
    // Of a drive that has as much already, both runs are one.
    let used = |share: f64| {
        move |runs: &mut [Outcome]| {
            runs[0].metrics.insert("used_bytes".into(), Metric::new(100e9, "B"));
            runs[1].metrics.insert("used_bytes".into(), Metric::new(share * 1e9, "B"));
        }
    };
    assert!(of_both(20_700.0, &used(90.0)).contains("of its flash unused"));
    assert!(!of_both(20_700.0, &used(99.9)).contains("of its flash unused"));
    let far = told(20_700.0);
    assert!(
        far.contains(
            "lifts the mean of random writes at least 5.1 times as far as these runs went, which had not settled"
        ),
        "{far}"
    );
    assert!(told(5_000.0).contains("for random writes cannot be said"), "{}", told(5_000.0));
    // One that had settled is not told of as if it had not, nor one that was too short to tell.
    let one = of_both(20_700.0, &|runs| runs[0].not_steady.clear());
    assert!(one.contains("as far as these runs went, of which that with it had not settled: from"), "{one}");
    let few = of_both(5_000.0, &|runs| {
        let why = "358 requests are too few to tell".to_owned();
        runs[0].not_steady = vec![NotSteady::new(Unsettled::TooFewRequests, why)];
    });
    assert!(
        few.contains("without that the run was too short (358 requests are too few to tell), and with that"),
        "{few}"
    );
}

#[test]
fn a_disk_is_not_for_copies_by_its_outer_tracks_alone() {
    let with = |whole: f64| {
        let mut mine = review(Figures { sequential: 121.0, ..GOOD });
        mine.devices[0].facts.kind = "hdd".to_owned();
        let run = mine.outcomes.iter_mut().find(|o| o.test == "consistency").unwrap();
        run.metrics.insert("fill_bandwidth".to_owned(), Metric::new(whole, "MB/s"));
        text(&story(&mine, &mine.devices[0]).findings)
    };
    assert!(with(93.8).contains("121 MB/s at its outer tracks, 94 in the mean over all of it"), "{}", with(93.8));
    assert!(!with(119.0).contains("outer tracks"), "{}", with(119.0));
}

#[test]
fn a_desktop_that_stands_still_is_a_fault_without_the_heavy_trace_too() {
    let with = |share: f64| {
        let mut mine = review(GOOD);
        mine.outcomes.retain(|o| o.test != "heavy");
        mine.outcomes.push(outcome("storagemark-desktop", "", &[("seconds_over_1s", share, "%")]));
        story(&mine, &mine.devices[0]).unsuited
    };
    let told = "Desktops: in 23 % of the seconds of the desktop mix a request waits over 1 s.";
    assert!(with(23.2).contains(told), "{}", with(23.2));
    assert!(!with(0.4).contains("Desktops"), "{}", with(0.4));
}

/// Beside a slower disk it has the same figure as beside drives of flash.
#[test]
fn the_quickest_disk_is_slow_at_random_writes_beside_a_slower_one() {
    let drive = |burst: f64, kind: &str| {
        let mut review = review(GOOD);
        review.outcomes = vec![outcome("random-write", "QD32", &[("iops", burst, "IOPS")])];
        review.devices[0].facts.kind = kind.to_owned();
        review.devices[0].facts.over_provisioning_percent = (kind == "ssd").then_some(7.0);
        review
    };
    let told = |burst: f64, kind: &str| {
        let both = together(vec![("quick-1tb", drive(burst, kind)), ("slow-1tb", drive(289.0, "hdd"))]);
        let (told, story) = (decks(&both), story(&both, &both.devices[0]));
        format!("{} {} For: {}", told.each[0], told.all, story.suits)
    };
    // That of the catalog, one with a larger cache, and a drive of flash that is no quicker than that.
    for (burst, kind) in [(532.0, "hdd"), (4_000.0, "hdd"), (531.0, "ssd")] {
        let told = told(burst, kind);
        assert!(told.contains("slow at random writes even when empty") && !told.contains("uick at"), "{burst}: {told}");
        // What it is slow at is not what it is for, however slow the other is.
        assert!(told.contains("For: It leads in random writes to a fresh drive: "), "{burst}: {told}");
        assert!(told.ends_with(" IOPS, which is slow all the same."), "{burst}: {told}");
    }
    assert!(told(4_000.0, "ssd").contains("Quick at random writes"), "{}", told(4_000.0, "ssd"));
}

#[test]
fn fresh_drives_that_are_level_are_told_as_level() {
    let drive = |burst: f64| {
        let mut review = review(GOOD);
        review.outcomes = vec![outcome("random-write", "QD32", &[("iops", burst, "IOPS")])];
        review
    };
    let told = |theirs: f64| {
        let both = together(vec![("mine-1tb", drive(90_900.0)), ("theirs-1tb", drive(theirs))]);
        text(&story(&both, &both.devices[0]).findings)
    };
    let mine = "Random writes to the fresh drive go at 90,900 IOPS in the mean of the run, ";
    assert_eq!(told(90_900.0), format!("{mine}level with 90,900 of Theirs 1 TB.\n"));
    assert_eq!(told(80_000.0), format!("{mine}against 80,000 of Theirs 1 TB.\n"));
}

#[test]
fn a_good_drive_beside_one_that_is_many_times_as_fast_is_one_for_random_writes() {
    let drive = |burst: f64, steady: f64| {
        let mut review = with_seconds(Figures { burst, ..GOOD }, &[steady], true);
        review.outcomes.retain(|o| ["random-write", "consistency"].contains(&o.test.as_str()));
        review
    };
    let told = |burst: f64, steady: f64| {
        let both = together(vec![("mine-1tb", drive(burst, steady)), ("fast-1tb", drive(216_000.0, 90_000.0))]);
        let Story { suits, unsuited, .. } = story(&both, &both.devices[0]);
        (decks(&both).each[0].clone(), suits, unsuited)
    };
    let (deck, suits, unsuited) = told(9_890.0, 800.0);
    assert!(deck.starts_with("Slower than others at random writes even when empty"), "{deck}");
    assert!(suits.starts_with("Databases: 800 writes a second"), "{suits}");
    assert!(!unsuited.contains("Databases") && !unsuited.contains("Whatever writes at random"), "{unsuited}");
    // What is too slow for anything is none, and what is as slow as a disk is none beside that.
    for burst in [60.0, 500.0] {
        let (deck, _, unsuited) = told(burst, 40.0);
        assert!(deck.starts_with("No drive for random writes"), "{burst}: {deck}");
        assert!(unsuited.contains("Databases, and random writes to a full drive"), "{burst}: {unsuited}");
    }
}

/// Two drives whose means are level, counted in pairs of seconds: their medians are 4.5 and 5.
const COUNTED: [[f64; 10]; 2] =
    [[4.0, 5.0, 4.0, 5.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 4.0, 4.0, 5.0, 4.0]];

#[test]
fn of_a_drive_whose_seconds_are_counted_in_steps_the_mean_is_told() {
    for settled in [true, false] {
        let told = COUNTED.map(|seconds| {
            let review = with_seconds(GOOD, &seconds, settled);
            let story = story(&review, &review.devices[0]);
            format!("{}{}", text(&story.findings).lines().next().unwrap(), decks(&review).each[0])
        });
        for told in &told {
            assert!(told.contains(" 4.7 IOPS") && told.contains(" 4.7 random writes a second"), "{told}");
            assert!(!told.contains("4.5") && !told.contains(" 5 ") && !told.contains("median"), "{told}");
        }
    }
    // A drive that stalls does not run at its mean, and no quarter is one of that.
    let review = with_seconds(GOOD, &[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 0.0, 0.0], true);
    let told = format!("{}{}", text(&story(&review, &review.devices[0]).findings), decks(&review).each[0]);
    assert!(told.contains("Random writes run at 4 IOPS in the mean and drop to 0 every 10 s"), "{told}");
    assert!(told.contains("the rate is below a quarter of 5, the median."), "{told}");
    assert!(told.contains("4 random writes a second in the mean, every 10 s a stall"), "{told}");
    // Where a second has many, a median is what most of them are.
    let review = with_seconds(GOOD, &COUNTED[0].map(|rate| 1e3 * rate), true);
    assert!(decks(&review).each[0].contains("5,000 random writes a second"), "{:?}", decks(&review));
}

#[test]
fn a_drive_that_answers_in_few_of_its_seconds_settles_to_no_flat_line() {
    // 32 at once every 32 s: of eight seconds joined to one value, three values in four are zero.
    let mut seconds = [0.0; 32];
    seconds[5] = 32.0;
    let review = with_seconds(GOOD, &seconds, true);
    let told = format!("{}{}", text(&story(&review, &review.devices[0]).findings), decks(&review).each[0]);
    assert!(!told.contains("flat line") && !told.contains("holds its rate"), "{told}");
    assert!(told.contains("Random writes run at 0 IOPS most of the time"), "{told}");
}
