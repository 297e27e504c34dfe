//! The closed forms and exact chains that a drive must meet, computed from their definitions.
//!
//! Symbols: U logical pages, T physical pages that can hold data, OP = T/U - 1, b pages of a block, WAF flash pages
//! programmed for each page that the host writes.

use std::collections::BTreeMap;

/// Finds the root of a function that changes its sign once between `lo` and `hi`.
pub fn root(mut lo: f64, mut hi: f64, f: impl Fn(f64) -> f64) -> f64 {
    let rising = f(hi) > 0.0;
    for _ in 0..200 {
        let mid = 0.5 * (lo + hi);
        if (f(mid) > 0.0) == rising {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    0.5 * (lo + hi)
}

/// FIFO (LRW) cleaning under uniform random writes: the root of `1 - 1/A = exp(-(1 + OP)/A)` (Desnoyers 2012;
/// Xiang, Kurkoski 2011). Does not depend on the size of a block.
pub fn fifo(op: f64) -> f64 {
    root(1.0 + 1e-12, 1e4, |a| 1.0 - 1.0 / a - libm::exp(-(1.0 + op) / a))
}

/// Greedy cleaning with blocks of `b` pages, many blocks. Victims have `j` valid pages, or `j - 1` with probability
/// `p` (Bux, Iliadis 2010). Flow balance fixes both: with H the harmonic numbers,
/// `A (H_b - H_j + p/j) = 1 + OP` and `A = b / (b - j + p)`.
pub fn greedy(op: f64, b: u32) -> f64 {
    // With j falling by whole steps, the left side over the right falls through one; p is linear in between.
    let size = f64::from(b);
    let mut harmonic = 0.0; // H_b - H_j
    for j in (1..=b).rev() {
        let at = f64::from(j);
        // A (h + p/j) = 1 + OP with A = b/(b - j + p) is linear in p.
        let p = ((1.0 + op) * (size - at) - size * harmonic) / (size / at - (1.0 + op));
        if (0.0..1.0).contains(&p) && size - at + p > 0.0 {
            return size / (size - at + p);
        }
        harmonic += 1.0 / at;
    }
    1.0
}

/// Random cleaning: every closed block is as likely: `(1 + OP) / OP`.
pub fn random(op: f64) -> f64 {
    (1.0 + op) / op
}

/// d-choices: mean field of Van Houdt 2013. With `S_i` the share of blocks with `i` valid pages or more,
/// `S_i - S_(i+1) = (A / ((1 + OP) i)) (1 - S_i^d)` and the `S_i` sum to `b / (1 + OP)`.
pub fn d_choices(op: f64, b: u32, d: u32) -> f64 {
    let rho = 1.0 / (1.0 + op);
    let sum = |a: f64| {
        let (mut above, mut total) = (0.0, 0.0);
        for i in (1..=b).rev() {
            let c = rho * a / f64::from(i);
            let s = root(above, 1.0, |s| s - above - c * (1.0 - libm::pow(s, f64::from(d))));
            total += s;
            above = s;
        }
        total
    };
    root(1.0, 1.0 / (1.0 - rho) + 1.0, |a| sum(a) - rho * f64::from(b))
}

/// Share of pages in use when a share `q` of requests trims a page in use and the others write any page (Frankie,
/// Hughes, Kreutz-Delgado 2012): `(1 - 2q)/(1 - q)`.
pub fn in_use_under_trim(q: f64) -> f64 {
    (1.0 - 2.0 * q) / (1.0 - q)
}

/// Over-provisioning as if the drive had only the share `x` of its pages.
pub fn effective_op(op: f64, x: f64) -> f64 {
    (1.0 + op) / x - 1.0
}

/// FIFO cleaning on one stream with a share `r` of the writes going to a share `f` of the pages (Desnoyers 2012):
/// `A = r / (1 - exp(-r (1 + OP) / (f A))) + (1 - r) / (1 - exp(-(1 - r)(1 + OP) / ((1 - f) A)))`.
pub fn fifo_hot_cold(op: f64, r: f64, f: f64) -> f64 {
    let term = |r: f64, f: f64, a: f64| r / (1.0 - libm::exp(-r * (1.0 + op) / (f * a)));
    root(1.0 + 1e-9, 1e4, |a| a - term(r, f, a) - term(1.0 - r, 1.0 - f, a))
}

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

/// Greedy cleaning on one stream of two temperatures has no closed form; these are the mean-field values (a pure-death
/// process in two dimensions, hot and cold valid counts of a block, iterated to its fixed point) at 64 pages a block:
/// OP, share of writes, share of pages, WAF.
pub const GREEDY_HOT_COLD_64: [(f64, f64, f64, f64); 4] =
    [(0.07, 0.8, 0.2, 7.4025), (0.12, 0.8, 0.2, 4.8990), (0.28, 0.8, 0.2, 2.7525), (0.28, 0.9, 0.1, 3.2499)];

/// Mean response over service time of an M/D/1 queue at utilisation `rho`.
pub fn m_d_1(rho: f64) -> f64 {
    1.0 + rho / (2.0 * (1.0 - rho))
}
