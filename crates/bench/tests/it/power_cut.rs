//! The plug of a drive is pulled that has lived before.

use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Lab, Monitor, PoweredOn};
use ssdlab_core::Op;
use ssdlab_device::{Device, Request};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Ssd};
use ssdlab_testkit::{ideal_die, ideal_drive};

/// A small drive that has written and lost its power without a warning, so many times.
struct CutBefore(DriveSpec, DieSpec, u32);

impl Lab for CutBefore {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let mut drive = Ssd::new("small", &self.0, &self.1, seed).map_err(|e| e.to_string())?;
        let (mut now, mut done) = (0, Vec::new());
        for tag in 0..self.2 {
            drive.submit(now, Request::new(tag.into(), Op::Write, 0, 1 << 20)).map_err(|e| e.to_string())?;
            now = drive.advance_to_completion(now + 1_000_000_000, &mut done);
            let plug = drive.plug().expect("it has one");
            plug.cut(now);
            now = plug.restore(now + 1_000_000_000);
        }
        Ok(PoweredOn { ready: now, ..PoweredOn::new(drive) })
    }
    fn name(&self) -> &str {
        "small"
    }
}

#[test]
fn cuts_of_an_earlier_life_are_not_those_of_the_test() {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 32);
    drive.flash.exact_spare_per_10000 = None;
    (drive.capacity_bytes, drive.mapping.journal) = (56 << 20, true);
    let settings = [("cuts", "2"), ("event_cuts", "1"), ("load_ms", "5"), ("fill", "none")];
    let settings = settings.map(|(k, v)| (k.to_owned(), v.to_owned()));
    let test = find_test("power-cut").expect("it is in the suite");
    let lab = CutBefore(drive, die, 9);
    let out = run_test(test, &lab, &settings, 1, false, &Monitor::silent()).expect("it runs");
    let [lost, cuts, unclean] = ["flushed_lost", "cuts", "unclean_shutdowns"].map(|key| out.metrics[key].value);
    assert_eq!((lost, cuts), (0.0, 3.0));
    assert!((1.0..=3.0).contains(&unclean), "{unclean}");
}

#[test]
fn the_size_that_was_written_stands_among_the_parameters() {
    let of = |unit_kib: u32, settings: &[(&str, &str)]| {
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        (die.geometry.page_bytes, die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (32 << 10, 40, 4);
        drive.flash.exact_spare_per_10000 = None;
        (drive.capacity_bytes, drive.mapping.journal, drive.mapping.unit_kib) = (56 << 20, true, unit_kib);
        let few = [("cuts", "2"), ("event_cuts", "1"), ("load_ms", "5"), ("fill", "none")];
        let settings: Vec<_> = few.iter().chain(settings).map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let test = find_test("power-cut").expect("it is in the suite");
        run_test(test, &CutBefore(drive, die, 0), &settings, 1, false, &Monitor::silent()).expect("it runs")
    };
    assert_eq!(of(4, &[]).params["block_size"], 16_384);
    let large = of(32, &[]);
    assert!(large.params["block_size"] == 32_768 && large.method.contains("32768 bytes"), "{:?}", large.params);
    assert_eq!(of(32, &[("block_size", "16KiB")]).params, large.params);
}
