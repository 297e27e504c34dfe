//! What slow requests waited for.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use ssdlab_bench::explain;
use ssdlab_core::{Breakdown, CAUSES, Nanos, format_duration, to_us};

use crate::drive::SlowRequest;
use crate::status::{View, seconds};

/// The key and the words of the time in which a device was not ready yet, its power having come back.
const STARTING: (&str, &str) = ("starting", "not ready after its power came back");
/// Shares below that are not worth a word.
const LEAST_PERCENT: f64 = 0.5;

/// The last slow requests and what they waited for, the latest first, and before that all of them together.
pub fn blame(view: &View<'_>) -> Value {
    let slow: Vec<&SlowRequest> = view.drive.slow().collect();
    let told = slow.iter().map(|slow| {
        json!({
            "request": slow.op.name(),
            "offset_bytes": slow.offset_bytes,
            "length_bytes": slow.length_bytes,
            "at_s": seconds(view.clock.since_start(slow.submitted)),
            "latency_us": to_us(slow.latency),
            "where": explain::sentence_of_start(slow.latency, &slow.breakdown, slow.starting),
        })
    });
    let told: Vec<Value> = told.collect();
    let beyond: Map<String, Value> =
        view.drive.slow_beyond().map(|(op, limit)| (op.name().to_owned(), to_us(limit).into())).collect();
    let summary = summary(&slow, &|at| seconds(view.clock.since_start(at)));
    json!({ "summary": summary, "slow_beyond_us": beyond, "slow": told })
}

/// All of them together; nothing of none.
fn summary(slow: &[&SlowRequest], seconds: &dyn Fn(Nanos) -> f64) -> Value {
    let mut latencies: Vec<Nanos> = slow.iter().map(|slow| slow.latency).collect();
    latencies.sort_unstable();
    let (Some(&least), Some(&most)) = (latencies.first(), latencies.last()) else { return Value::Null };
    let median = latencies[latencies.len() / 2];
    let mut by_request = BTreeMap::<&str, u64>::new();
    slow.iter().for_each(|slow| *by_request.entry(slow.op.name()).or_default() += 1);
    let submitted = || slow.iter().map(|slow| slow.submitted);
    let [first, last] = [submitted().min(), submitted().max()].map(|at| seconds(at.unwrap_or_default()));
    let shares = shares(slow);
    let requests: Vec<String> = by_request.iter().map(|(request, count)| format!("{count} {request}")).collect();
    let causes: Vec<String> = shares
        .iter()
        .filter(|share| share.percent >= LEAST_PERCENT)
        .map(|share| format!("{:.0} % {}", share.percent, share.words))
        .collect();
    let causes = if causes.is_empty() { "the device does not say where it went".to_owned() } else { causes.join(", ") };
    let sentence = format!(
        "the last {} slow requests ({}), sent between {first:.3} s and {last:.3} s, took {} to {}, {} at the median; of \
         their time: {causes}",
        slow.len(),
        requests.join(", "),
        format_duration(least),
        format_duration(most),
        format_duration(median),
    );
    let percent: Map<String, Value> = shares.iter().map(|share| (share.key.to_owned(), share.percent.into())).collect();
    json!({
        "requests": slow.len(),
        "by_request": by_request,
        "first_at_s": first,
        "last_at_s": last,
        "latency_us": { "min": to_us(least), "p50": to_us(median), "max": to_us(most) },
        "time_percent": percent,
        "sentence": sentence,
    })
}

struct Share {
    key: &'static str,
    words: &'static str,
    percent: f64,
}

/// What their time went to, the greatest share first.
fn shares(slow: &[&SlowRequest]) -> Vec<Share> {
    let mut sum = Breakdown::default();
    slow.iter().for_each(|slow| sum.merge(&explain::after_start(&slow.breakdown, slow.starting)));
    let starting: Nanos = slow.iter().map(|slow| slow.starting).sum();
    let total = (sum.sum() + starting) as f64;
    let causes = CAUSES.iter().map(|&cause| (cause.key(), cause.label(), sum.get(cause)));
    let all = std::iter::once((STARTING.0, STARTING.1, starting)).chain(causes).filter(|&(.., time)| time > 0);
    let mut shares: Vec<Share> =
        all.map(|(key, words, time)| Share { key, words, percent: 100.0 * time as f64 / total }).collect();
    shares.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    shares
}

#[cfg(test)]
mod tests {
    use ssdlab_core::{Cause, MILLISECOND, Op};

    use super::*;

    fn slow(op: Op, starting: Nanos, parts: &[(Cause, Nanos)]) -> SlowRequest {
        let mut breakdown = Breakdown::default();
        parts.iter().for_each(|&(cause, time)| breakdown.add(cause, time));
        let latency = breakdown.sum();
        SlowRequest { op, offset_bytes: 0, length_bytes: 4096, submitted: latency, latency, breakdown, starting }
    }

    #[test]
    fn all_of_them_are_told_together_first() {
        let of_start = slow(Op::Read, 240 * MILLISECOND, &[(Cause::Controller, 250 * MILLISECOND)]);
        let reading = slow(Op::Read, 0, &[(Cause::Read, 150 * MILLISECOND)]);
        let unknown = slow(Op::Flush, 0, &[]);
        let told = summary(&[&of_start, &reading, &unknown], &seconds);
        assert_eq!(
            told["sentence"],
            "the last 3 slow requests (1 flush, 2 read), sent between 0.000 s and 0.250 s, took 0 ns to 250.00 ms, \
             150.00 ms at the median; of their time: 60 % not ready after its power came back, 38 % flash read, 2 % \
             controller"
        );
        assert_eq!((&told["time_percent"]["starting"], &told["latency_us"]["max"]), (&60.0.into(), &250e3.into()));
        assert_eq!(summary(&[], &seconds), Value::Null);
        let silent = summary(&[&unknown], &seconds)["sentence"].to_string();
        assert!(silent.contains("the device does not say where it went"), "{silent}");
    }
}
