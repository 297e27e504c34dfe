use super::*;

/// Partial from 10 to 110 (request at 0), Slumber from 120 to 1020, then DevSleep.
fn link() -> LinkSleep {
    let step = |state, begins, entered, exit| Descent { state, begins, entered, exit };
    LinkSleep {
        descent: vec![
            step(LinkState::Partial, 0, 10, 5),
            step(LinkState::Slumber, 100, 120, 50),
            step(LinkState::DevSleep, 1000, 1020, 200),
        ],
        ..LinkSleep::default()
    }
}

#[test]
fn every_nanosecond_of_an_idle_time_belongs_to_one_state() {
    let mut link = link();
    link.rest(5000, true);
    // A state lasts until the next one is reached; the link is up until the first is.
    assert_eq!(link.slept(5009).link, [0, 0, 0]);
    assert_eq!(link.slept(5060).link, [50, 0, 0]);
    assert_eq!(link.slept(6500), Slept { link: [110, 900, 480], drive: [0, 900, 480], at_rest: 1500 });
    // However often it is looked at on the way.
    for at in (5000..6500).step_by(7) {
        link.inside(at, true);
    }
    assert_eq!(link.slept(6500), Slept { link: [110, 900, 480], drive: [0, 900, 480], at_rest: 1500 });
}

#[test]
fn the_way_back_is_as_long_as_the_state_is_deep() {
    for (idle, up) in [(0, 10 + 5), (3, 10 + 5), (10, 10 + 5), (50, 50 + 5), (100, 120 + 50), (130, 130 + 50)] {
        let mut link = link();
        link.rest(5000, true);
        link.wake(5000 + idle);
        assert_eq!(link.up_at, 5000 + up, "after {idle}");
    }
    let mut link = link();
    link.rest(0, true);
    link.wake(2000);
    assert_eq!(link.up_at, 2200);
    // Awake, it does not sleep, however long it takes.
    assert_eq!(link.slept(9000), link.slept(2000));
}

/// Until the link turns, it and the drive draw what they draw in the state before.
#[test]
fn a_command_on_the_way_down_finds_the_power_of_the_state_before_until_the_link_turns() {
    let slept = |link, drive, at_rest| Slept { link, drive, at_rest };
    // To Partial: the link is up. To Slumber: in Partial from 10. To DevSleep: in Slumber from 120.
    for (sent, turns, at_sending, at_turn) in [
        (4, 10, slept([0; 3], [0; 3], 4), slept([0; 3], [0; 3], 10)),
        (105, 120, slept([95, 0, 0], [0; 3], 105), slept([110, 0, 0], [0; 3], 120)),
        (1005, 1020, slept([110, 885, 0], [0, 885, 0], 1005), slept([110, 900, 0], [0, 900, 0], 1020)),
    ] {
        let mut link = link();
        link.rest(0, true);
        link.wake(sent);
        assert_eq!([sent, turns, turns + 1, 9000].map(|at| link.slept(at)), [at_sending, at_turn, at_turn, at_turn]);
        // Whenever it is looked at, and whatever comes next.
        link.inside(turns - 3, true);
        link.rest(9000, true);
        assert_eq!((link.slept(9000), link.slept(9010).at_rest), (at_turn, at_turn.at_rest + 10));
        link.wake(9005);
        assert_eq!(link.slept(9999).at_rest, at_turn.at_rest + 10, "on the way to Partial again");
    }
    // Without the power it draws nothing, and is on no way.
    let mut link = link();
    link.rest(0, true);
    link.wake(105);
    link.power_cut(110);
    assert_eq!((link.slept(9000), link.up_at), (slept([100, 0, 0], [0; 3], 110), 110));
}

/// Nor does energy come back if the host sets another policy on the way down.
#[test]
fn time_slept_never_grows_less() {
    let mut link = link();
    link.rest(0, true);
    link.wake(105);
    // The host's answer is there once the link is up.
    link.rest(link.up_at, true);
    let all: Vec<Slept> = (105..300).map(|at| link.slept(at)).collect();
    assert!(all.windows(2).all(|pair| pair[0].at_rest <= pair[1].at_rest && pair[0].link[0] <= pair[1].link[0]));
    assert_eq!(
        (all[0].link[0], all[15].link[0], all[64].link[0]),
        (95, 110, 110),
        "it is up at 170, in Partial at 180"
    );
    assert_eq!(link.slept(185).link[0], 115);
}

#[test]
fn a_drive_at_work_inside_does_not_sleep_while_its_link_does() {
    let mut link = link();
    link.rest(0, false);
    link.inside(300, true);
    link.inside(500, false);
    link.inside(1100, true);
    assert_eq!(link.slept(1200), Slept { link: [110, 900, 180], drive: [0, 200, 100], at_rest: 300 });
}

#[test]
fn long_rests_are_remembered_with_their_sleep() {
    let mut link = link();
    link.rest(0, true);
    link.inside(SECOND, false);
    link.inside(SECOND + 10, true);
    link.inside(SECOND + 20, false);
    link.wake(2 * SECOND);
    link.rest(3 * SECOND, true);
    let slept = |link, drive, at_rest| Slept { link, drive, at_rest };
    let first = slept([110, 900, SECOND - 1020], [0, 900, SECOND - 1020], SECOND);
    let first = Rest { from: 0, to: SECOND, slept: first };
    let last = Rest { from: 3 * SECOND, to: 3 * SECOND + 60, slept: slept([50, 0, 0], [0; 3], 60) };
    assert_eq!(link.rests(last.to).collect::<Vec<_>>(), [first, last]);
    (4..20).for_each(|k| {
        link.wake(4 * k * SECOND);
        link.rest((4 * k + 1) * SECOND, true);
    });
    assert_eq!(link.rests(0).count(), REMEMBERED);
}

#[test]
fn a_link_that_is_not_managed_never_sleeps() {
    let mut link = LinkSleep::default();
    assert!(!link.is_watched());
    link.rest(0, true);
    link.wake(1_000_000);
    let slept = link.slept(2_000_000);
    assert_eq!((link.up_at, slept.link, slept.drive), (0, [0; 3], [0; 3]));
}

#[test]
fn rest_is_noted_with_a_link_that_never_sleeps() {
    let mut link = LinkSleep::new(true);
    assert!(link.is_watched());
    assert_eq!(link.slept(100).at_rest, 100, "a drive begins at rest");
    link.wake(150);
    assert_eq!(link.slept(300).at_rest, 150);
    // The host's last command has ended, but a program is under way.
    link.rest(300, false);
    link.inside(420, true);
    assert_eq!((link.slept(410).at_rest, link.slept(500).at_rest), (150, 230));
    assert_eq!((link.up_at, link.slept(500).link), (0, [0; 3]));
}
