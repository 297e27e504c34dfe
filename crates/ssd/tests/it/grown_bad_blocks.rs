//! What becomes of a drive whose blocks go bad in use: it replaces them while it can, and is read-only after that.

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Completion, Device, Request, Security, Status};
use ssdlab_ftl::Translation;
use ssdlab_nand::{GrowingFaults, LogicalPage};
use ssdlab_ssd::{DriveSpec, Model, Ssd};
use ssdlab_testkit::{ideal_die, ideal_drive};

struct Host {
    drive: Ssd,
    now: Nanos,
    tag: u64,
}

impl Host {
    /// A small drive with the ideal drive's policies: 4 dies of 4 KiB pages, a tenth of the blocks in reserve.
    fn new(faults: GrowingFaults, change: impl FnOnce(&mut DriveSpec)) -> Self {
        Host::of("small".into(), faults, change)
    }

    fn of(model: Model<'_>, faults: GrowingFaults, change: impl FnOnce(&mut DriveSpec)) -> Self {
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
        (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
        (drive.mapping.reserved_blocks_per_1000, drive.write_buffer.capacity_kib) = (100, 64);
        drive.capacity_bytes = 1600 * 4096;
        change(&mut drive);
        let mut drive = Ssd::new(model, &drive, &die, 1).expect("it can be built");
        drive.inject(faults, 1);
        Host { drive, now: 0, tag: 0 }
    }

    fn command(&mut self, op: Op, page: u64, fua: bool) -> Completion {
        self.tag += 1;
        let request = Request::new(self.tag, op, page * 4096, 4096).with_fua(fua);
        self.drive.submit(self.now, request).unwrap();
        let mut done = Vec::new();
        self.now = self.drive.advance_to_completion(self.now + 1_000_000_000_000, &mut done);
        assert_eq!(done.len(), 1, "{op:?} of page {page} is answered");
        done[0]
    }
}

#[test]
fn failing_blocks_are_replaced_and_nothing_is_lost() {
    for one_die in [true, false] {
        let faults = GrowingFaults { programs_per_failure: 5000, erases_per_failure: 300, in_bursts: false };
        let mut host = Host::new(faults, |drive| {
            if !one_die {
                drive.mapping.superblock = ssdlab_ftl::SuperblockSpan::AllDies;
            }
        });
        let reserve = host.drive.translation().reserve_blocks_left();
        let mut rng = Rng::new(1);
        for _ in 0..12_000 {
            assert_eq!(host.command(Op::Write, rng.below(1600), false).status, Status::Ok);
        }
        let counters = host.drive.translation().counters();
        assert!(counters.program_failures >= 3 && counters.erase_failures >= 1, "{counters:?}");
        assert!(counters.retire_rows > counters.program_failures);
        assert!(host.drive.translation().reserve_blocks_left() < reserve && !host.drive.is_read_only());
        for page in 0..1600 {
            assert_eq!(host.command(Op::Read, page, false).status, Status::Ok);
        }
        host.drive.check_books().expect("the books balance");
    }
}

#[test]
fn without_a_reserve_a_drive_becomes_read_only_and_keeps_what_it_has() {
    let faults = GrowingFaults { programs_per_failure: 100, erases_per_failure: 30, in_bursts: true };
    let mut host = Host::new(faults, |_| {});
    let mut rng = Rng::new(1);
    let mut written = vec![0u32; 1600];
    let refused = (0..100_000).find_map(|_| {
        let page = rng.below(1600);
        let c = host.command(Op::Write, page, rng.chance(1, 10));
        if c.status == Status::Ok {
            written[page as usize] += 1;
        }
        (c.status != Status::Ok).then_some((page, c.status))
    });
    let (torn, status) = refused.expect("at that rate no reserve lasts");
    assert_eq!((status, host.drive.is_read_only()), (Status::ReadOnly, true));
    // From now on, always, and for trims as well.
    for page in 0..50 {
        assert_eq!(host.command(Op::Write, page, false).status, Status::ReadOnly);
        assert_eq!(host.command(Op::Trim, page, false).status, Status::ReadOnly);
    }
    // Nor does it forget: what is under way inside ends, and that is all.
    host.now = host.drive.secure_erase(host.now);
    for page in 0..1600u64 {
        assert_eq!(host.command(Op::Read, page, false).status, Status::Ok);
        if page != torn {
            let (count, max) =
                (written[page as usize], u32::from(host.drive.translation().medium().format().max_generation()));
            let expected = (count > 0).then(|| ((count - 1) % max + 1) as u8);
            assert_eq!(host.drive.translation().write_number(LogicalPage::new(page as u32)), expected, "page {page}");
        }
    }
    host.drive.check_books().expect("the books balance");
}

#[test]
fn blocks_of_one_model_go_bad_alike_under_another_name() {
    let failures = |name, drawn_as| {
        let faults = GrowingFaults { programs_per_failure: 300, erases_per_failure: 0, in_bursts: false };
        let mut host = Host::of(Model { name, drawn_as }, faults, |_| {});
        let mut after = Vec::new();
        for page in 0..1600 {
            host.command(Op::Write, page, false);
            after.push(host.drive.translation().counters().program_failures);
        }
        after
    };
    let of_base = failures("small", "small");
    assert!(of_base.last().is_some_and(|&failed| failed > 1), "{of_base:?}");
    assert_eq!(failures("copy.toml", "small"), of_base);
    assert_ne!(failures("copy.toml", "copy.toml"), of_base);
}

/// Found by torture: the journal starts anew after a SECURITY ERASE, what it has cost does not.
#[test]
fn counters_do_not_go_down_over_a_secure_erase() {
    let mut host = Host::new(GrowingFaults::default(), |drive| drive.mapping.journal = true);
    for page in 0..1400 {
        host.command(Op::Write, page, false);
    }
    let before = host.drive.counters().flash.unwrap().metadata_program_bytes;
    assert!(before > 0);
    host.now = host.drive.secure_erase(host.now);
    assert!(host.drive.counters().flash.unwrap().metadata_program_bytes >= before);
}
