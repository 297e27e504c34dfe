//! What errors do to a drive: raw error rates, reads of old data, endurance.

use std::fmt::Write;

use ssdlab_ecc::endurance::{self, Target};
use ssdlab_ecc::ladder::{Ladder, Level};
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::spec::{BchSpec, EccSpec, LdpcSpec, RetrySpec};
use ssdlab_nand::CellMode;
use ssdlab_nand::rber::{ErrorSpec, ModeErrors, Stress, YEAR_HOURS};

pub fn text() -> String {
    let mut page = String::from(RAW);
    raw(&mut page);
    page.push_str(LADDER);
    old_data(&mut page);
    page.push_str(LIFE);
    life(&mut page, &ErrorSpec::planar_estimate());
    page.push_str(SENSITIVITY);
    sensitivity(&mut page);
    page.push_str(USE);
    page
}

fn bch(t: u32) -> EccSpec {
    EccSpec {
        codeword_bytes: 1024,
        bch: Some(BchSpec { correctable_bits: t, decode_us: 4.0 }),
        ldpc: None,
        retry: RetrySpec::default(),
        parity_stripe: None,
    }
}

fn ldpc(soft_reads: u32, parity_stripe: Option<u32>) -> EccSpec {
    let ldpc = LdpcSpec { code: LdpcCode::Qc2k, soft_reads, iteration_us: 0.5, setup_us: 1.0, progressive: true };
    EccSpec { codeword_bytes: 2048, bch: None, ldpc: Some(ldpc), retry: RetrySpec::default(), parity_stripe }
}

fn retried(spec: EccSpec) -> EccSpec {
    EccSpec {
        retry: RetrySpec { max_retries: 6, recovered_per_retry_percent: 50.0, at_once: None, follows_drift: true },
        ..spec
    }
}

fn ladder(spec: &EccSpec) -> Ladder {
    Ladder::new(spec, 16_384).expect("a scheme of the page")
}

fn mode(spec: &ErrorSpec, mode: CellMode) -> &ModeErrors {
    spec.mode(mode).expect("the estimate has every mode")
}

const MONTH_HOURS: f64 = YEAR_HOURS / 12.0;

/// Modes that planar cells ran in; of four bits nothing is estimated.
const PLANAR: [CellMode; 3] = [CellMode::Slc, CellMode::Mlc, CellMode::Tlc];

fn raw(page: &mut String) {
    let spec = ErrorSpec::planar_estimate();
    for m in PLANAR {
        let errors = mode(&spec, m);
        for share in [0.0, 0.5, 1.0, 2.0] {
            let cycles = share * errors.reference_cycles;
            let _ = write!(page, "| {} | {cycles} |", format!("{m:?}").to_uppercase());
            for (retention_hours, block_reads) in [(0.0, 0.0), (MONTH_HOURS, 0.0), (YEAR_HOURS, 0.0), (0.0, 1e6)] {
                let rber = errors.rber(&Stress { cycles, retention_hours, block_reads });
                let _ = write!(page, " {:.2e} |", rber.total());
            }
            page.push('\n');
        }
    }
}

/// Mean sensings of a page read, and the share of reads that end beyond the retries.
fn old_data(page: &mut String) {
    let spec = ErrorSpec::planar_estimate();
    let tlc = mode(&spec, CellMode::Tlc);
    for (name, scheme) in
        [("BCH, 40 bits/KiB", retried(bch(40))), ("LDPC, then soft decisions, parity 127+1", ldpc(7, Some(127)))]
    {
        let ladder = ladder(&scheme);
        for cycles in [1000.0, 1500.0, 2000.0, 3000.0] {
            let _ = write!(page, "| {name} | {cycles} |");
            for retention_hours in [0.0, MONTH_HOURS, 3.0 * MONTH_HOURS, YEAR_HOURS] {
                let rber = tlc.rber(&Stress { cycles, retention_hours, block_reads: 0.0 });
                let mut senses = 0.0;
                let mut lost = 0.0;
                for factor in tlc.page_factors() {
                    let odds = ladder.odds(rber.times(factor));
                    for (i, level) in ladder.levels().iter().enumerate() {
                        senses += odds.ends_on(i) * f64::from(1 + ladder.cost(i).extra_senses) / 3.0;
                        if *level == Level::Uncorrectable {
                            lost += odds.ends_on(i) / 3.0;
                        }
                    }
                }
                let lost = if lost > 1e-9 { format!(", {lost:.1e} lost") } else { String::new() };
                let _ = write!(page, " {senses:.2}{lost} |");
            }
            page.push('\n');
        }
    }
}

fn schemes() -> [(&'static str, EccSpec); 7] {
    [
        ("BCH 40 bits/KiB", bch(40)),
        ("BCH 60 bits/KiB", bch(60)),
        ("BCH 72 bits/KiB", bch(72)),
        ("LDPC hard", ldpc(0, None)),
        ("LDPC hard, 3 reads", ldpc(3, None)),
        ("LDPC hard, 3 and 7 reads", ldpc(7, None)),
        ("LDPC hard, 3 and 7 reads, parity 127+1", ldpc(7, Some(127))),
    ]
}

fn life(page: &mut String, spec: &ErrorSpec) {
    let base = PLANAR.map(|m| endurance::cycles(mode(spec, m), &ladder(&bch(60)), &Target::client()));
    for (name, scheme) in schemes() {
        for (suffix, scheme) in [("", scheme.clone()), (", after 6 retries", retried(scheme))] {
            let ladder = ladder(&scheme);
            let _ = write!(page, "| {name}{suffix} |");
            for (m, base) in PLANAR.into_iter().zip(base) {
                let cycles = endurance::cycles(mode(spec, m), &ladder, &Target::client());
                let _ = write!(page, " {cycles:.0} ({:.2}) |", cycles / base);
            }
            page.push('\n');
        }
    }
}

fn sensitivity(page: &mut String) {
    for exponent in [0.5, 1.0, 1.4, 2.0] {
        let mut spec = ErrorSpec::planar_estimate();
        let tlc = spec.tlc.as_mut().expect("the estimate has every mode");
        tlc.retention_cycle_exponent = exponent;
        let cycles = |scheme: &EccSpec| endurance::cycles(tlc, &ladder(scheme), &Target::client());
        let base = cycles(&bch(60));
        let _ = writeln!(
            page,
            "| {exponent} | {base:.0} | {:.2} | {:.2} | {:.2} |",
            cycles(&ldpc(0, None)) / base,
            cycles(&ldpc(7, None)) / base,
            cycles(&ldpc(7, Some(127))) / base
        );
    }
}

const RAW: &str = "
## Raw bit errors

`RBER = fresh + wear c^k + (retention c^m + drift) y^n + disturb c^p r^q`, with c in rated cycles, y in years at 30 °C, r in
million reads of the block: the power-law form of MQSim-JW, each coefficient stated as the error rate at a reference.
Other temperatures go in as equivalent hours (Arrhenius, 1.1 eV). Kinds of pages share the errors by the references that
their reads need (MLC 1 : 2, TLC 1 : 2 : 4), blocks differ by a log-normal factor cut at three deviations.
`ErrorSpec::planar_estimate`, of which these are the means over the pages, is an estimate throughout; its comments say
what anchors each value.

| mode | cycles | just written | a month | a year | a million reads |
|---|---:|---:|---:|---:|---:|
";

const LADDER: &str = "
## The read ladder

A plain read; then retries at shifted references (one sensing and one transfer each; a retry makes up for half of what
is left of the shift, an estimate; 70 % of retention and disturb errors are taken to be shift, an estimate); then, with
LDPC, three and seven sensings (two and three transfers in all, since what was sensed before is kept); then the rest of
the stripe. With tR 50 µs, 25 µs of transfer and 5 µs of decoding the three decisions take 80, 210 and 440 µs.

Mean sensings of a TLC page read, and the share of pages lost, by wear and age of the data (BCH with six retries; LDPC `qc-2k` without):

| correction | cycles | just written | a month | 3 months | a year |
|---|---:|---:|---:|---:|---:|
";

const LIFE: &str = "
## Endurance

Program/erase cycles until the UBER, averaged over the kinds of pages, exceeds 1e-15 after a year without power (JESD218,
client), on a typical block; in brackets relative to BCH with 60 bits/KiB. The maker of a controller with the three LDPC
levels claims that they extend a TLC drive's life by up to three times.

| correction | SLC | MLC | TLC |
|---|---:|---:|---:|
";

const SENSITIVITY: &str = "
The factor depends on how fast errors grow with wear. With other powers of the cycles in TLC's retention term (1.4 is the
estimate):

| power | cycles, BCH 60 | LDPC hard | LDPC soft | LDPC soft and parity |
|---:|---:|---:|---:|---:|
";

const USE: &str = "
## In a drive

A drive file without `[ecc]` describes flash that never errs. With it (docs/drive-files.md), every read of a 4 KiB unit
draws how far up the ladder it goes (`crates/ssd/src/backend/correction/mod.rs`), from what the medium knows of its block:
life used up in all cell modes, seconds since it was first programmed, reads since its erase. For each block the drive
keeps one word by page kind, `Odds::escape`; an operation on n units draws 32 bits once, and at or above n times that
word (nearly always) the plain read was enough. Below, each unit is drawn with its exact chance. Chances below 2^-32 are
kept: `escape` is rounded up and the draw below it is conditional on having got there. The odds are worked out anew once a
block has been erased, or its data are a tenth (and an hour) older, or its reads a tenth (and a thousand) more.

What a rung takes is done by the die and the bus that the read is on, one event a rung, after the decoding attempt that
failed: the command cycles of one read, tR for each further sensing of each row concerned, then the transfer of what was sensed
of the units that are still wrong, then the attempt. A soft decision is one command: the die senses as often as it takes and puts
together what it hands out. A page that is slower than the datasheet's (`[variation]`) is so each time. The die is held
until the read is settled. Pages of a stripe have their command cycles and the datasheet's tR, and cross the
channels of their dies as soon as these have room; the array time of the other dies is not booked. All of it is “ECC
retry” where time is explained, and the referee of time judges it. The first attempt of a read that succeeds costs nothing
extra: it streams behind the transfer, and firmware times in drive files stand for the rest.

Charge that all cells lose alike, however new they are (`drift_rber_per_year`), costs nothing where the firmware moves its
references along, as is taken to be usual. Where it does not (`ecc.retry.follows_drift`), retries win it back. Firmware that sees to
so many reads at once (`ecc.retry.at_once`) lets the others wait for their first step. Planes that were read together are sensed
again together. What this comes to is told under *Old data* in docs/endurance.md.

What nothing can correct is a media error to the host, for that command, and for every later read of the unit until it is
written or trimmed. A partial write of such a unit fails too. A collector that meets one moves the address and the fact, as
real drives mark the copy, so the host never gets wrong data. The journal and folds
within a die are not corrected: they never err.

A stripe's parity is neither stored nor programmed in the model. Its room is not taken off, unless the drive file does so with `mapping.reserved_blocks_per_1000`; the Ultra II and its stripe of five do not, since it would not hold what it sells. Its programs, one in `parity_stripe` + 1, are missing: a drive of six pages a stripe writes up to a fifth too fast where its dies set the pace.
";
