//! Reads over many dies and one: closed networks, and the open queue.

use std::collections::BTreeMap;

/// Mean number of busy dies of `n` when `q` requests, each re-issued to a die drawn at random as soon as it has been
/// served, all take the same time: the synchronous chain on partitions of `q`, solved exactly.
///
/// A state is how many requests wait at the dies, in no order. In one step every busy die serves one request, and as
/// many new ones are thrown at random, one after another.
pub fn busy_dies_deterministic(n: u32, q: u32) -> f64 {
    type Weights = BTreeMap<Vec<u8>, f64>;
    // Queue lengths greater than zero in falling order; by their sum while requests are being thrown.
    let mut now: Weights = BTreeMap::from([(vec![q as u8], 1.0)]);
    let mut mean = 0.0;
    loop {
        let mut by_sum: Vec<Weights> = vec![Weights::new(); q as usize + 1];
        for (queues, weight) in now {
            let left: Vec<u8> = queues.iter().map(|&k| k - 1).filter(|&k| k > 0).collect();
            let sum: usize = left.iter().map(|&k| usize::from(k)).sum();
            *by_sum[sum].entry(left).or_default() += weight;
        }
        for sum in 0..q as usize {
            for (queues, weight) in std::mem::take(&mut by_sum[sum]) {
                throw_one(n, queues, weight, &mut by_sum[sum + 1]);
            }
        }
        now = by_sum.pop().expect("states with all requests");
        let busy: f64 = now.iter().map(|(queues, weight)| queues.len() as f64 * weight).sum();
        // The chain forgets where it began within a few times q steps.
        if (busy - mean).abs() < 1e-9 {
            return busy;
        }
        mean = busy;
    }
}

/// One request goes to a die drawn at random.
fn throw_one(n: u32, queues: Vec<u8>, weight: f64, into: &mut BTreeMap<Vec<u8>, f64>) {
    let empty = f64::from(n) - queues.len() as f64;
    if empty > 0.0 {
        let mut to = queues.clone();
        to.push(1);
        *into.entry(to).or_default() += weight * empty / f64::from(n);
    }
    let mut k = 0;
    while k < queues.len() {
        // Among equal queues the first grows, which keeps the order.
        let equal = queues[k..].iter().take_while(|&&x| x == queues[k]).count();
        let mut to = queues.clone();
        to[k] += 1;
        *into.entry(to).or_default() += weight * equal as f64 / f64::from(n);
        k += equal;
    }
}

/// The same with exponentially distributed service times: `n q / (n + q - 1)`, exactly (product form).
pub fn busy_dies_exponential(n: u32, q: u32) -> f64 {
    f64::from(n) * f64::from(q) / f64::from(n + q - 1)
}

/// Mean response over service time of an M/D/1 queue at utilisation `rho`.
pub fn m_d_1(rho: f64) -> f64 {
    1.0 + rho / (2.0 * (1.0 - rho))
}
