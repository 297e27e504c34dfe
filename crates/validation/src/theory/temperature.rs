//! Write amplification of hot and cold data: a share `r` of the writes goes to a share `f` of the pages, uniformly
//! within each.

use super::formulas::root;

/// FIFO cleaning on one stream with a share `r` of the writes going to a share `f` of the pages (Desnoyers 2012):
/// `A = r / (1 - exp(-r (1 + OP) / (f A))) + (1 - r) / (1 - exp(-(1 - r)(1 + OP) / ((1 - f) A)))`.
pub fn fifo_hot_cold(op: f64, r: f64, f: f64) -> f64 {
    let term = |r: f64, f: f64, a: f64| r / (1.0 - libm::exp(-r * (1.0 + op) / (f * a)));
    root(1.0 + 1e-9, 1e4, |a| a - term(r, f, a) - term(1.0 - r, 1.0 - f, a))
}

/// Among blocks of equal valid count, which one goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The one that came to it first: all wait as long.
    FirstCome,
    /// The one that came last: it goes at once, or it is buried until it loses another page.
    LastCome,
}

/// Greedy cleaning on one stream, many blocks of `b` pages.
///
/// Mean field: a block that is full holds `h` hot and `c` cold valid pages, and loses them one by one at the rates
/// `h r/f` and `c (1-r)/(1-f)` per drive write, until its valid pages have come down to the threshold `j`. There it
/// waits for its turn (see [`Ties`]); if another page dies meanwhile, it goes at once. Threshold and wait follow from the
/// balance of blocks (a block lives `(1 + OP)/A` drive writes, with `A = b/(b - mean valid pages of the victims)`).
/// What victims hold is written together with `b - v` new pages, of which each is hot with probability `r`: that
/// gives the blocks' composition, which is iterated to its fixed point.
pub fn greedy_hot_cold(op: f64, b: u32, r: f64, f: f64, ties: Ties) -> f64 {
    let b = b as usize;
    let mut full = binomial(b, r);
    let mut a = 0.0;
    for _ in 0..1_000_000 {
        let victims = victims(op, b, r, f, ties, &full);
        let mut next = vec![0.0; b + 1];
        for (valid, by_hot) in &victims {
            let fresh = binomial(b - valid, r);
            for (hot, &weight) in by_hot.iter().enumerate() {
                for (more, &chance) in fresh.iter().enumerate() {
                    next[hot + more] += weight * chance;
                }
            }
        }
        let mean: f64 = victims.iter().map(|(v, by_hot)| *v as f64 * by_hot.iter().sum::<f64>()).sum();
        a = b as f64 / (b as f64 - mean);
        let change: f64 = next.iter().zip(&full).map(|(x, y)| (x - y).abs()).sum();
        full = next;
        if change < 1e-11 {
            break;
        }
    }
    a
}

/// What is collected, given how many hot pages blocks begin with: for the threshold and one less, the distribution
/// over hot valid pages.
fn victims(op: f64, b: usize, r: f64, f: f64, ties: Ties, full: &[f64]) -> [(usize, Vec<f64>); 2] {
    let (hot_rate, cold_rate) = (r / f, (1.0 - r) / (1.0 - f));
    let room = |valid: f64| (1.0 + op) * (b as f64 - valid) / b as f64;
    let mut at = full.to_vec(); // over hot pages, at `valid` pages
    let mut age = 0.0;
    for valid in (1..=b).rev() {
        let rate = |h: usize| h as f64 * hot_rate + (valid - h) as f64 * cold_rate;
        let stay: f64 = (0..=valid).map(|h| at[h] / rate(h)).sum();
        if age + stay < room(valid as f64 - 1.0) {
            at = die(&at, valid, hot_rate, rate, |_| 1.0);
            age += stay;
            continue;
        }
        // Chance to lose another page at the threshold, by the free parameter of the tie-break.
        let lost = |w: f64, h: usize| match ties {
            Ties::FirstCome => 1.0 - libm::exp(-rate(h) * w),
            Ties::LastCome => w,
        };
        let most = if ties == Ties::FirstCome { 60.0 / hot_rate.min(cold_rate) } else { 1.0 };
        let w = root(0.0, most, |w| {
            let stay: f64 = (0..=valid).map(|h| at[h] * lost(w, h) / rate(h)).sum();
            let fallen: f64 = (0..=valid).map(|h| at[h] * lost(w, h)).sum();
            age + stay - room(valid as f64 - fallen)
        });
        let below = die(&at, valid, hot_rate, rate, |h| lost(w, h));
        let left = (0..=valid).map(|h| at[h] * (1.0 - lost(w, h))).collect();
        return [(valid, left), (valid - 1, below)];
    }
    [(0, vec![1.0]), (0, vec![0.0])]
}

/// Blocks of `valid` valid pages lose one, each with the chance given.
fn die(
    at: &[f64],
    valid: usize,
    hot_rate: f64,
    rate: impl Fn(usize) -> f64,
    chance: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let mut below = vec![0.0; valid];
    for h in 0..=valid {
        let weight = at[h] * chance(h);
        let hot = h as f64 * hot_rate / rate(h);
        if h > 0 {
            below[h - 1] += weight * hot;
        }
        if h < valid {
            below[h] += weight * (1.0 - hot);
        }
    }
    below
}

/// Chances of 0 to `n` successes of chance `p`.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut chances = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; chances.len() + 1];
        for (k, &c) in chances.iter().enumerate() {
            next[k] += c * (1.0 - p);
            next[k + 1] += c * p;
        }
        chances = next;
    }
    chances
}

/// Hot and cold data on two streams that the host names, each with open blocks of its own, one greedy collector over
/// all blocks. Both kinds of block come down to the same threshold `j`, so that with large blocks nothing is lost
/// against uniform writes (Desnoyers 2012). With small ones it depends on which of the blocks of equal valid count
/// goes first: the one that came to it last makes no difference between the kinds, and the write amplification is
/// that of uniform writes ([`super::formulas::greedy`]); the one that came first gives hot blocks time to lose
/// another page. That is this function: with `p_k = 1 - exp(-l_k j w)`, `l` the rate at which a page dies,
/// `A_k = b/(b - j + p_k)`, the sum of `f_k A_k (H_b - H_j + p_k/j)` is `1 + OP`, and `A = r A_hot + (1-r) A_cold`.
pub fn two_streams_first_come(op: f64, b: u32, r: f64, f: f64) -> f64 {
    let size = f64::from(b);
    let kinds = [(f, r, r / f), (1.0 - f, 1.0 - r, (1.0 - r) / (1.0 - f))];
    let mut harmonic = 0.0;
    for j in (1..=b).rev() {
        let at = f64::from(j);
        let blocks = |w: f64| -> f64 {
            let of = |&(share, _, l): &(f64, f64, f64)| {
                let p = 1.0 - libm::exp(-l * at * w);
                share * size / (size - at + p) * (harmonic + p / at)
            };
            kinds.iter().map(of).sum::<f64>() - (1.0 + op)
        };
        // With w without end all lose a page: the state in which the next threshold begins.
        if j < b && blocks(1e9) >= 0.0 {
            // Until even the kind that dies more slowly has lost its page; which one that is depends on `r` and `f`.
            let slower = kinds[0].2.min(kinds[1].2);
            let w = root(0.0, 60.0 / slower, blocks);
            return kinds
                .iter()
                .map(|&(_, writes, l)| writes * size / (size - at + 1.0 - libm::exp(-l * at * w)))
                .sum();
        }
        harmonic += 1.0 / at;
    }
    1.0
}
