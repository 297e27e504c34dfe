//! The drive against theory: points that take seconds. The full tables are in `docs/theory.md`, made by the example
//! `theory`, whose formulas and experiments these are.

#[path = "../examples/theory/formulas.rs"]
#[allow(dead_code)] // the example uses the rest
mod formulas;
#[allow(dead_code)]
#[path = "../examples/theory/measure.rs"]
mod measure;
#[allow(dead_code)]
#[path = "../examples/theory/rig.rs"]
mod rig;

use measure::Length;
use ssdlab_ftl::VictimPolicy;

const SHORT: Length = Length { warm_up: 5.0, measured: 5.0 };

#[track_caller]
fn close(what: &str, ours: f64, theory: f64, percent: f64) {
    let error = (ours / theory - 1.0) * 100.0;
    assert!(error.abs() <= percent, "{what}: theory {theory:.4}, the drive {ours:.4}, {error:+.2} %");
}

/// Published or independently computed values of the same formulas, to four decimals.
#[test]
fn formulas_give_the_published_values() {
    let greedy = [
        (0.07, [7.0099, 7.3916, 7.5969, 7.7051]),
        (0.12, [4.5307, 4.6833, 4.7629, 4.8042]),
        (0.25, [2.5993, 2.6449, 2.6684, 2.6805]),
        (0.28, [2.4028, 2.4412, 2.4610, 2.4711]),
    ];
    for (op, values) in greedy {
        for (b, value) in [64, 128, 256, 512].into_iter().zip(values) {
            assert!((formulas::greedy(op, b) - value).abs() < 6e-5, "greedy {op} {b}");
        }
    }
    for (op, value) in [(0.07, 7.8172), (0.12, 4.8463), (0.25, 2.6927), (0.28, 2.4814), (1.0, 1.2550)] {
        assert!((formulas::fifo(op) - value).abs() < 6e-5, "FIFO {op}");
    }
    for (d, value) in [(1, 15.2857), (2, 10.2772), (3, 8.8412), (10, 7.3230), (100, 7.0288)] {
        assert!((formulas::d_choices(0.07, 64, d) - value).abs() < 6e-5, "d-choices {d}");
    }
    assert!((formulas::d_choices(0.28, 64, 1) - formulas::random(0.28)).abs() < 1e-6);
    for (op, r, f, value) in [(0.07, 0.8, 0.2, 8.1818), (0.28, 0.9, 0.1, 3.2961), (0.12, 0.95, 0.05, 6.6959)] {
        assert!((formulas::fifo_hot_cold(op, r, f) - value).abs() < 6e-5, "FIFO, hot and cold {op} {r}");
    }
    for (q, value) in [(1, 1.0), (2, 1.96875), (3, 2.90628), (4, 3.81272), (8, 7.13331), (16, 12.42341)] {
        assert!((formulas::busy_dies_deterministic(32, q) - value).abs() < 6e-6, "queue depth {q}");
    }
    let trimmed = formulas::effective_op(0.07, formulas::in_use_under_trim(0.2));
    assert!((formulas::greedy(trimmed, 64) - 1.8382).abs() < 6e-5, "TRIM");
}

#[test]
fn greedy_write_amplification() {
    for (op, b) in [(0.07, 64), (0.12, 128), (0.25, 64), (0.28, 128)] {
        let ours = measure::uniform(&measure::build(VictimPolicy::Greedy, op, b, 2048), SHORT);
        close(&format!("greedy, OP {op}, {b} pages"), ours, formulas::greedy(op, b), 0.3);
    }
}

#[test]
fn fifo_random_and_d_choices_write_amplification() {
    let build = |policy, op| measure::build(policy, op, 64, 2048);
    close("FIFO, OP 0.07", measure::uniform(&build(VictimPolicy::Fifo, 0.07), SHORT), formulas::fifo(0.07), 0.3);
    close("random, OP 0.28", measure::uniform(&build(VictimPolicy::Random, 0.28), SHORT), formulas::random(0.28), 0.5);
    let two = measure::uniform(&build(VictimPolicy::DChoices, 0.12), SHORT);
    close("2-choices, OP 0.12", two, formulas::d_choices(0.12, 64, 2), 0.5);
}

#[test]
fn trimmed_pages_count_as_spare() {
    let build = measure::build(VictimPolicy::Greedy, 0.07, 64, 2048);
    let (waf, in_use) = measure::trim_under_load(&build, 0.2, SHORT);
    let x = formulas::in_use_under_trim(0.2);
    close("share in use", in_use, x, 0.3);
    close("TRIM under load", waf, formulas::greedy(formulas::effective_op(0.07, x), 64), 0.5);
    let waf = measure::static_trim(&build, 0.2, SHORT);
    close("static TRIM", waf, formulas::greedy(formulas::effective_op(0.07, 0.8), 64), 0.5);
}

#[test]
fn hot_and_cold_data_on_one_stream() {
    let build = measure::build(VictimPolicy::Fifo, 0.28, 64, 2048);
    let ours = measure::hot_cold(&build, 0.8, 0.2, Length { warm_up: 12.0, measured: 8.0 });
    close("FIFO, 80/20", ours, formulas::fifo_hot_cold(0.28, 0.8, 0.2), 0.5);
}

#[test]
fn random_reads_over_queue_depth_and_littles_law() {
    let mut lab = measure::drive_for_reads(32);
    // 18.99484 busy dies at depth 32: the exact chain on 8,349 partitions, which takes half a minute to solve.
    let busy = |depth| if depth == 32 { 18.99484 } else { formulas::busy_dies_deterministic(32, depth) };
    for depth in [1, 2, 3, 4, 8, 16, 32] {
        let (rate, latency) = measure::random_reads(&mut lab, depth.into(), 400_000);
        let per_second = 1e9 / rig::READ_NANOS as f64;
        close(&format!("reads at depth {depth}"), rate, busy(depth) * per_second, 0.3);
        close("Little's law", rate * latency / 1e9, depth.into(), 0.1);
    }
}

#[test]
fn reads_that_arrive_at_random() {
    for rho in [0.3, 0.7] {
        let theory = rig::READ_NANOS as f64 * formulas::m_d_1(rho);
        close(&format!("M/D/1 at {rho}"), measure::open_arrivals(rho, 500_000), theory, 1.0);
    }
}
