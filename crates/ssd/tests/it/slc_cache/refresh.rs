//! A cache that is set aside, on drives that move data which are old or have been read often.

use ssdlab_core::{Op, SECOND};
use ssdlab_device::Device;
use ssdlab_ecc::spec::{BchSpec, EccSpec, RetrySpec};
use ssdlab_ftl::{SlcCachePolicy, SlcCacheSpec};
use ssdlab_nand::DieSpec;
use ssdlab_nand::rber::ErrorSpec;
use ssdlab_ssd::{DriveSpec, RefreshSpec, Ssd};

use super::rig::{BLOCK, Run, cache, die, drive};

const MIB: u64 = 1 << 20;

/// A drive whose cache holds the first sixteen MiB, and which never folds by itself.
fn filled(policy: SlcCachePolicy, refresh: RefreshSpec) -> Run {
    let cache = SlcCacheSpec { fold_after_idle_ms: None, ..cache(policy) };
    let mut spec = DriveSpec { refresh: Some(refresh), ..drive(Some(cache), 40) };
    spec.gc.background_after_idle_ms = Some(10.0);
    spec.ecc = Some(EccSpec {
        codeword_bytes: 1024,
        bch: Some(BchSpec { correctable_bits: 60, decode_us: 4.0 }),
        ldpc: None,
        retry: RetrySpec::default(),
        parity_stripe: None,
    });
    let die = DieSpec { errors: Some(ErrorSpec::planar_estimate()), ..die() };
    let mut run = Run::of(Ssd::new("small", &spec, &die, 1).expect("it can be built"));
    run.write(0, 20 * MIB);
    run.idle(SECOND);
    assert_eq!((run.in_slc(20 * MIB), run.folded()), (20 * MIB, 0));
    run
}

/// A superblock of eight dies, or of one, holds eight MiB, or one.
#[test]
fn what_is_read_too_often_is_folded_under_load() {
    for (policy, superblock) in [(SlcCachePolicy::Fixed, 8 * MIB), (SlcCachePolicy::OnDie, MIB)] {
        let mut run = filled(policy, RefreshSpec { after_days: None, after_block_reads: Some(1000) });
        let read = |run: &mut Run, times: u32| {
            (0..times).for_each(|_| run.send(Op::Read, 10 * MIB, 4096));
            run.drain();
        };
        read(&mut run, 900);
        assert_eq!(run.folded(), 0, "{policy:?}: not yet");
        read(&mut run, 400);
        assert!(run.folded() > 0, "{policy:?}: beside the host");
        run.idle(SECOND);
        assert_eq!((run.folded(), run.in_slc(20 * MIB)), (superblock, 20 * MIB - superblock), "{policy:?}");
        assert_eq!(run.in_slc_of(10 * MIB, 10 * MIB + 4096), 0, "{policy:?}: it is the one that is read");
        assert_eq!(run.ssd.check_books(), Ok(()));
    }
}

#[test]
fn what_is_old_is_folded_while_the_drive_rests() {
    // Of two and a half superblocks of eight dies, or of eight dies with two and a half each, the last is still open.
    let open = 4 * MIB;
    for policy in [SlcCachePolicy::Fixed, SlcCachePolicy::OnDie] {
        let mut run = filled(policy, RefreshSpec { after_days: Some(30.0), after_block_reads: None });
        run.ssd.age(20 * 86_400);
        run.send(Op::Read, 0, BLOCK);
        run.drain();
        run.idle(10 * SECOND);
        assert_eq!(run.folded(), 0, "{policy:?}: they are not so old");
        run.ssd.age(20 * 86_400);
        run.send(Op::Read, 0, BLOCK);
        run.drain();
        run.idle(10 * SECOND);
        // What the host still writes into stays.
        assert_eq!((run.folded(), run.in_slc(20 * MIB)), (20 * MIB - open, open), "{policy:?}");
        assert_eq!(run.ssd.check_books(), Ok(()));
    }
}
