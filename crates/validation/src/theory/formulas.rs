//! Write amplification under uniform random writes, computed from its definitions.
//!
//! Symbols: U logical pages, T physical pages that can hold data, OP = T/U - 1, b pages of a block, WAF flash pages
//! programmed for each page that the host writes.

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

/// Greedy on a drive that compresses: bytes programmed for each byte of the host, if data take a share `size` of their
/// bytes. A block of `b` pages holds `b / size` of them, and what compression saves is spare: the same formula at the
/// spare that is left, and of its result the share `size`.
pub fn greedy_compressed(op: f64, b: u32, size: f64) -> f64 {
    size * greedy((1.0 + op) / size - 1.0, (f64::from(b) / size + 0.5) as u32)
}

/// Random cleaning: every closed block is as likely: `(1 + OP) / OP`.
pub fn random(op: f64) -> f64 {
    (1.0 + op) / op
}

/// DFTL, uniform random writes: map pages of [`ENTRIES_PER_MAP_PAGE`] entries written for each page of the host, with
/// `cached` entries of a map of `pages` in DRAM. A miss (share `1 - h`, `h` the cached share) puts out one entry; the map
/// page of an entry is clean again after all its changed entries have gone with one. A renewal argument: in the life of
/// a map page as a changed one come the misses that fill its share of the cache, and then those that reach the first of
/// its entries: `(1 - h) / (1 + m e / L)`. It counts a life in misses, and leaves out that hits keep entries in DRAM and
/// change clean ones: 0.9 % too few where DRAM holds a sixty-fourth of the map, 3 % at a sixteenth.
pub fn map_pages_per_write(cached: u32, pages: u32) -> f64 {
    let (m, pages) = (f64::from(cached), f64::from(pages));
    (1.0 - m / pages) / (1.0 + m * f64::from(ENTRIES_PER_MAP_PAGE) / pages)
}

/// The same where hits count too, for many entries and many map pages. An entry leaves once nobody has written it for `T`
/// writes; of those that are younger DRAM is full, `1 - exp(-T/L) = h`, so `T = -L ln(1 - h)`. A write is the last one of an
/// entry before it leaves with chance `exp(-T/L) = 1 - h`. After a map page was written out, all of its entries are clean;
/// what is written from then on is changed. The next one to leave changed is the first that gets such a last write, after
/// `L/(e (1 - h))` writes in the mean, and it leaves `T` later. Map pages written for each page of the host are `L/e`
/// over that time: `1 / (1/(1 - h) - e ln(1 - h))`, whatever the size of the map.
pub fn map_pages_per_write_with_hits(h: f64) -> f64 {
    1.0 / (1.0 / (1.0 - h) - f64::from(ENTRIES_PER_MAP_PAGE) * libm::log(1.0 - h))
}

/// Four bytes each in a row of 4 KiB.
pub const ENTRIES_PER_MAP_PAGE: u32 = 1024;

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
