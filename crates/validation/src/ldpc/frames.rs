//! Frames decoded by Monte-Carlo.
//!
//! The all-zero codeword stands for all: code, channel and decoder treat 0 and 1 alike (tested with random
//! codewords). Frames come in batches with a random stream each, and batches in rounds; whether another round is
//! needed is decided from whole rounds, so the counts do not depend on how many threads share the work.

use ssdlab_core::Rng;
use ssdlab_ecc::channel::{Channel, Sensing};
use ssdlab_ecc::ldpc::table::{Counts, MAX_ITERATIONS, Point};

use super::decoder::Decoder;
use super::matrix;

/// Frames that share a random stream.
pub const BATCH_FRAMES: u64 = 500;
/// Batches after which the counts are looked at.
pub const ROUND_BATCHES: u64 = 8;

/// Draws frames through a channel as integer log-likelihood ratios.
pub struct Noise {
    /// A draw below `thresholds[i]` falls in bin `i` or a more wrong one.
    thresholds: Vec<u32>,
    /// Change of the log-likelihood ratio from a bin to the next more wrong one, and that of the best bin.
    steps: Vec<i16>,
    best: i16,
}

impl Noise {
    #[must_use]
    pub fn new(rber: f64, sensing: Sensing) -> Self {
        let channel = Channel::new(rber, sensing);
        // Eighths of a nat, at least one: a bin that leans to a side must be able to say so.
        let llr: Vec<i16> = channel
            .llrs()
            .iter()
            .map(|&l| {
                let eighths = libm::round(libm::fabs(l) * 8.0).clamp(1.0, 255.0) as i16;
                if l < 0.0 { -eighths } else { eighths }
            })
            .collect();
        let mut sum = 0.0;
        let cumulative: Vec<u32> = channel
            .probabilities()
            .iter()
            .map(|p| {
                sum += p;
                libm::round(sum * 4_294_967_296.0).min(4_294_967_295.0) as u32
            })
            .collect();
        let bins = llr.len();
        Noise {
            thresholds: cumulative[..bins - 1].to_vec(),
            steps: llr.windows(2).map(|w| w[0] - w[1]).collect(),
            best: llr[bins - 1],
        }
    }

    /// One all-zero frame as read.
    pub fn fill(&self, rng: &mut Rng, frame: &mut [i16]) {
        frame.fill(self.best);
        let mut draws = [0u32; 256];
        for bits in frame.chunks_mut(draws.len()) {
            for pair in draws.chunks_exact_mut(2) {
                let draw = rng.next_u64();
                pair[0] = draw as u32;
                pair[1] = (draw >> 32) as u32;
            }
            let draws = &draws[..bits.len()];
            for (&threshold, &step) in self.thresholds.iter().zip(&self.steps) {
                for i in 0..bits.len() {
                    bits[i] += if draws[i] < threshold { step } else { 0 };
                }
            }
        }
    }
}

/// The random stream of a batch.
#[must_use]
pub fn batch_rng(point: &Point, batch: u64) -> Rng {
    let name = format!("{}/{}/{:e}/{batch}", point.code.name(), point.sensing.reads(), point.rber);
    Rng::new(0x1d9c).stream(&name)
}

/// Decodes one batch.
pub fn run_batch(decoder: &mut Decoder, noise: &Noise, rng: &mut Rng, bits: usize) -> Counts {
    let mut frame = vec![0i16; bits];
    let mut counts = Counts { frames: BATCH_FRAMES, ..Counts::default() };
    for _ in 0..BATCH_FRAMES {
        noise.fill(rng, &mut frame);
        let outcome = decoder.decode(&frame);
        counts.iterations += u64::from(outcome.iterations);
        let right = outcome.checks_hold && decoder.all_zero();
        counts.errors += u64::from(!right);
        counts.undetected += u64::from(!right && outcome.checks_hold);
    }
    counts
}

/// Decodes rounds of batches until `errors` are counted or `max_frames` are done, on `threads` threads.
///
/// # Panics
/// If a worker panics.
#[must_use]
pub fn count(point: &Point, errors: u64, max_frames: u64, threads: u64) -> Counts {
    let (noise, decoder) =
        (Noise::new(point.rber, point.sensing), Decoder::new(matrix::build(point.code), MAX_ITERATIONS));
    let bits = point.code.codeword_bits() as usize;
    let mut total = Counts::default();
    let mut first = 0;
    while total.errors < errors && total.frames < max_frames {
        // Rounds grow with the work done, so that rare errors do not pay for waiting threads.
        let batches = ROUND_BATCHES.max(total.frames / BATCH_FRAMES / 2);
        let share = |thread: u64| {
            let (mut decoder, mut counts) = (decoder.clone(), Counts::default());
            for batch in (first + thread..first + batches).step_by(threads as usize) {
                add(&mut counts, run_batch(&mut decoder, &noise, &mut batch_rng(point, batch), bits));
            }
            counts
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|t| scope.spawn(move || share(t))).collect();
            for worker in workers {
                add(&mut total, worker.join().expect("a decoding thread does not panic"));
            }
        });
        first += batches;
    }
    total
}

fn add(total: &mut Counts, more: Counts) {
    total.frames += more.frames;
    total.errors += more.errors;
    total.undetected += more.undetected;
    total.iterations += more.iterations;
}
