//! The read ladder: what a controller tries, one rung after another, until a page's data are right.
//!
//! BCH: a plain read, retries at shifted references, parity across the stripe. LDPC: a plain read with hard decision,
//! retries, soft decision with three sensings, with seven, parity. Then the read is uncorrectable.
//!
//! Rungs are nested: a codeword that a deeper rung cannot correct would not have been corrected before it either, so
//! the chance of getting past a rung is the smallest failure rate so far. A page gets past it if any of its codewords
//! does. Parity rebuilds a codeword if the codewords at its place in all other pages of the stripe can be read, which
//! are taken to be as bad as this one.

use ssdlab_core::{Nanos, Rng, nanos_from_us};

use crate::bch::Bch;
use crate::channel::Sensing;
use crate::ldpc::table::{self, MAX_ITERATIONS};
use crate::spec::{EccSpec, LdpcSpec, MAX_RETRIES};
use ssdlab_nand::SpecError;
use ssdlab_nand::rber::{HALF, Rber};

/// A way in which a page read ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The plain read was enough.
    First,
    /// So many retries were needed.
    Retry(u32),
    /// A soft decision was needed.
    Soft(Sensing),
    /// The page was rebuilt from its stripe.
    Parity,
    /// The data are lost: the host gets an error.
    Uncorrectable,
}

/// What a read costs beyond one sensing of the page and one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Further sensings of the same page, tR each.
    pub extra_senses: u32,
    /// Further transfers of a page's worth of bits from the same die.
    pub extra_transfers: u32,
    /// Other pages of the stripe that are read, each on its own die.
    pub stripe_reads: u32,
    /// Decoding that the read waits for: one codeword at each rung climbed, since the others stream through the
    /// decoder while the bus still delivers.
    pub decode_ns: Nanos,
}

/// Most rungs of a ladder, the uncorrectable end included.
pub const MAX_LEVELS: usize = MAX_RETRIES as usize + 5;

/// How reads of a page end, by chance, at one raw bit error rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// A draw of 32 bits at or above this needs nothing beyond the first rung.
    pub escape: u32,
    /// Decoding that a read on the first rung waits for.
    pub first_decode_ns: u32,
    /// Chance of getting past each rung; zero from the last on.
    beyond: [f64; MAX_LEVELS],
}

/// The rungs of a drive's error correction.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    rungs: Vec<Level>,
    costs: Vec<Cost>,
    codewords_per_page: u32,
    data_bits: u32,
    retained_per_retry: f64,
    parity_others: u32,
    code: Code,
}

#[derive(Clone, Debug, PartialEq)]
enum Code {
    Bch(Bch),
    Ldpc(LdpcSpec),
}

impl Ladder {
    /// The ladder of `spec` for pages of `page_bytes` of user data.
    ///
    /// # Errors
    /// The first key of `spec` that cannot be built, or a page that does not hold a whole number of codewords.
    pub fn new(spec: &EccSpec, page_bytes: u32) -> Result<Self, SpecError> {
        spec.validate()?;
        if page_bytes == 0 || !page_bytes.is_multiple_of(spec.codeword_bytes) {
            return Err(SpecError::new(
                "codeword_bytes",
                format!("{} bytes do not divide a page of {page_bytes} bytes", spec.codeword_bytes),
                "use 512, 1024, 2048 or 4096",
            ));
        }
        let code = match (&spec.bch, &spec.ldpc) {
            (Some(bch), _) => Code::Bch(Bch::new(spec.codeword_bytes, bch.correctable_bits)?),
            (None, Some(ldpc)) => Code::Ldpc(ldpc.clone()),
            (None, None) => unreachable!("validated"),
        };
        let mut ladder = Ladder {
            rungs: Vec::new(),
            costs: Vec::new(),
            codewords_per_page: page_bytes / spec.codeword_bytes,
            data_bits: spec.codeword_bytes * 8,
            retained_per_retry: 1.0 - spec.retry.recovered_per_retry_percent / 100.0,
            parity_others: spec.parity_stripe.unwrap_or(0),
            code,
        };
        ladder.climb(spec);
        Ok(ladder)
    }

    /// Lists the rungs with what it costs to get up to each.
    fn climb(&mut self, spec: &EccSpec) {
        // A failed attempt takes the decoder to its end; the successful one is counted on the first rung by the
        // error rate, and on others as the worst case.
        let attempt_ns = match (&spec.bch, &spec.ldpc) {
            (Some(bch), _) => nanos_from_us(bch.decode_us),
            (None, Some(l)) => nanos_from_us(l.setup_us + f64::from(MAX_ITERATIONS) * l.iteration_us),
            (None, None) => unreachable!("validated"),
        };
        let mut cost = Cost { extra_senses: 0, extra_transfers: 0, stripe_reads: 0, decode_ns: attempt_ns };
        self.push(Level::First, cost);
        for retry in 1..=spec.retry.max_retries {
            cost.extra_senses += 1;
            cost.extra_transfers += 1;
            cost.decode_ns += attempt_ns;
            self.push(Level::Retry(retry), cost);
        }
        if let Some(ldpc) = &spec.ldpc {
            let mut held = Sensing::Hard;
            for sensing in [Sensing::Soft3, Sensing::Soft7].into_iter().filter(|s| s.reads() <= ldpc.soft_reads) {
                let (senses, transfers) = if ldpc.progressive { (held.reads(), held.transfers()) } else { (0, 0) };
                cost.extra_senses += sensing.reads() - senses;
                cost.extra_transfers += sensing.transfers() - transfers;
                cost.decode_ns += attempt_ns;
                self.push(Level::Soft(sensing), cost);
                held = sensing;
            }
        }
        if self.parity_others > 0 {
            cost.stripe_reads = self.parity_others;
            cost.decode_ns += attempt_ns;
            self.push(Level::Parity, cost);
        }
        self.push(Level::Uncorrectable, cost);
    }

    fn push(&mut self, level: Level, cost: Cost) {
        self.rungs.push(level);
        self.costs.push(cost);
    }

    /// The rungs from the plain read to the uncorrectable end.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.rungs
    }

    /// What a read that ends on rung `level` (an index into [`Ladder::levels`]) costs. On rung 0, take
    /// [`Odds::first_decode_ns`] for the decoding, which depends on the error rate.
    #[must_use]
    pub fn cost(&self, level: usize) -> Cost {
        self.costs[level]
    }

    /// Codewords of a page.
    #[must_use]
    pub fn codewords_per_page(&self) -> u32 {
        self.codewords_per_page
    }

    /// Chances of a page with raw bit error rate `rber`: computed once for a block and kept until its wear, age or
    /// reads have moved on.
    #[must_use]
    pub fn odds(&self, rber: Rber) -> Odds {
        let mut beyond = [0.0; MAX_LEVELS];
        let codewords = f64::from(self.codewords_per_page);
        for (i, failure) in self.codeword_failures(rber).enumerate() {
            beyond[i] = -libm::expm1(codewords * libm::log1p(-failure.min(1.0)));
        }
        // Rounded up: a chance below 2^-32 is still met, and settled by the second draw.
        let escape = libm::ceil(beyond[0] * 4_294_967_296.0).min(4_294_967_295.0) as u32;
        Odds { escape, first_decode_ns: self.first_decode_ns(rber.total()), beyond }
    }

    /// Chance of getting past each rung but the last, codeword by codeword.
    fn codeword_failures(&self, rber: Rber) -> impl Iterator<Item = f64> + '_ {
        let mut least = 1.0f64;
        let mut shifted = rber.shifted;
        self.rungs[..self.rungs.len() - 1].iter().map(move |level| {
            if let Level::Retry(_) = level {
                let before = shifted;
                shifted *= self.retained_per_retry;
                if shifted == before {
                    return least;
                }
            }
            let p = (rber.settled + shifted).min(HALF);
            least = match level {
                Level::First | Level::Retry(_) => least.min(self.failure(p, Sensing::Hard)),
                Level::Soft(sensing) => least.min(self.failure(p, *sensing)),
                // f (1 - (1 - f)^N), without cancelling.
                Level::Parity => -least * libm::expm1(f64::from(self.parity_others) * libm::log1p(-least)),
                Level::Uncorrectable => unreachable!("nothing gets past the end"),
            };
            least
        })
    }

    fn failure(&self, rber: f64, sensing: Sensing) -> f64 {
        let log10 = match &self.code {
            Code::Bch(bch) => bch.log10_failure(rber),
            Code::Ldpc(ldpc) => table::curve(ldpc.code, sensing).log10_failure(rber),
        };
        libm::pow(10.0, log10)
    }

    fn first_decode_ns(&self, rber: f64) -> u32 {
        let ns = match &self.code {
            Code::Bch(_) => self.costs[0].decode_ns,
            Code::Ldpc(l) => {
                let iterations = table::curve(l.code, Sensing::Hard).mean_iterations(rber);
                nanos_from_us(l.setup_us + iterations * l.iteration_us)
            }
        };
        ns as u32
    }

    /// Uncorrectable codewords per data bit read (JESD218's UBER), once every rung is used up.
    #[must_use]
    pub fn uber(&self, rber: Rber) -> f64 {
        let lost = self.codeword_failures(rber).last().unwrap_or(1.0);
        lost / f64::from(self.data_bits)
    }
}

impl Odds {
    /// The rung on which one read ends, as an index into [`Ladder::levels`]. One draw of 32 bits decides nearly every
    /// read; only reads that may leave the first rung draw once more.
    #[inline]
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        if (rng.next_u64() >> 32) as u32 >= self.escape { 0 } else { self.climb(rng) }
    }

    /// The rung of a read whose 32-bit draw came out below [`Odds::escape`].
    #[cold]
    #[must_use]
    pub fn climb(&self, rng: &mut Rng) -> usize {
        self.rung(rng.unit() * f64::from(self.escape) / 4_294_967_296.0)
    }

    /// The rung of a read by a number that is uniform from 0 to 1; or from 0 to [`Odds::beyond`]`(0)`, for a read that is
    /// known to need more than the first.
    #[must_use]
    pub fn rung(&self, u: f64) -> usize {
        self.beyond.iter().position(|&b| u >= b).unwrap_or(MAX_LEVELS - 1)
    }

    /// Chance that a read gets past rung `level`.
    #[must_use]
    pub fn beyond(&self, level: usize) -> f64 {
        self.beyond[level]
    }

    /// Chance that a read ends on rung `level`.
    #[must_use]
    pub fn ends_on(&self, level: usize) -> f64 {
        let reached = if level == 0 { 1.0 } else { self.beyond[level - 1] };
        reached - self.beyond[level]
    }
}
