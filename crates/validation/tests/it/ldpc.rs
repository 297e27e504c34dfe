//! The codes and the decoder behind the table, and the table against them.

use ssdlab_core::Rng;
use ssdlab_ecc::channel::Sensing;
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::ldpc::table::{self, Counts, MAX_ITERATIONS, Point, curve};
use ssdlab_validation::ldpc::decoder::Decoder;
use ssdlab_validation::ldpc::frames::{self, Noise};
use ssdlab_validation::ldpc::matrix::build;
use ssdlab_validation::ldpc::rank::Reduced;

#[test]
fn ranks_are_as_stated() {
    for code in LdpcCode::ALL {
        let reduced = Reduced::new(&build(code));
        assert_eq!(code.codeword_bits() - reduced.rank() as u32, code.data_bits(), "{}", code.name());
    }
}

/// A random codeword through the same noise is decoded as the all-zero one is: what the table takes for granted.
#[test]
fn zeros_stand_for_every_codeword() {
    for (code, sensing, rber) in [(LdpcCode::CcsdsC2, Sensing::Hard, 0.008), (LdpcCode::Qc2k, Sensing::Soft3, 0.0145)] {
        let matrix = build(code);
        let reduced = Reduced::new(&matrix);
        let mut decoder = Decoder::new(matrix, MAX_ITERATIONS);
        let mut rng = Rng::new(3).stream("codewords");
        let noise = Noise::new(rber, sensing);
        let mut frame = vec![0i16; code.codeword_bits() as usize];
        for _ in 0..40 {
            let word = reduced.random_codeword(&mut rng);
            assert!(word.iter().filter(|&&b| b).count() > word.len() / 3);
            noise.fill(&mut rng, &mut frame);
            let zero = decoder.decode(&frame);
            let zero_right = decoder.all_zero();
            let sent: Vec<i16> = frame.iter().zip(&word).map(|(&l, &b)| if b { -l } else { l }).collect();
            let other = decoder.decode(&sent);
            let other_right = decoder.bits() == word;
            // A bit without evidence is decided as 1: the random word may gain by it, never the zeros.
            assert!(!zero_right || other_right);
            assert!(zero_right || !other_right || !zero.checks_hold);
            if zero_right {
                assert!(other.iterations <= zero.iterations && other.iterations + 1 >= zero.iterations);
            }
        }
    }
}

#[test]
fn few_errors_are_corrected_and_a_page_of_noise_is_given_up() {
    for code in LdpcCode::ALL {
        let mut decoder = Decoder::new(build(code), MAX_ITERATIONS);
        let mut frame = vec![40i16; code.codeword_bits() as usize];
        assert_eq!(decoder.decode(&frame).iterations, 0);
        for i in 0..20 {
            frame[i * 331] = -40;
        }
        let outcome = decoder.decode(&frame);
        assert!(outcome.checks_hold && decoder.all_zero() && outcome.iterations <= 4, "{outcome:?}");
        Noise::new(0.2, Sensing::Hard).fill(&mut Rng::new(5), &mut frame);
        let outcome = decoder.decode(&frame);
        assert!(!outcome.checks_hold);
        assert_eq!(outcome.iterations, MAX_ITERATIONS);
    }
}

/// Frames of fresh random streams fail as often as the table says: the 95 % intervals meet.
#[test]
fn fresh_frames_agree_with_the_table() {
    for (code, sensing, rber) in [
        (LdpcCode::CcsdsC2, Sensing::Hard, 0.009),
        (LdpcCode::CcsdsC2, Sensing::Soft3, 0.019),
        (LdpcCode::CcsdsC2, Sensing::Soft7, 0.022),
        (LdpcCode::Qc2k, Sensing::Hard, 0.007),
        (LdpcCode::Qc2k, Sensing::Soft3, 0.015),
        (LdpcCode::Qc2k, Sensing::Soft7, 0.018),
    ] {
        let point = Point { code, sensing, rber };
        let row = table::rows().iter().find(|r| r.point == point).expect("a point of the table");
        let (noise, mut decoder) = (Noise::new(rber, sensing), Decoder::new(build(code), MAX_ITERATIONS));
        // Far beyond the batches that the table was made of.
        let mut rng = frames::batch_rng(&point, 1 << 40);
        let fresh = frames::run_batch(&mut decoder, &noise, &mut rng, code.codeword_bits() as usize);
        let ((low, high), (table_low, table_high)) = (fresh.interval(), row.counts.interval());
        assert!(low <= table_high && table_low <= high, "{point:?}: {fresh:?}, table {:?}", row.counts);
        let (ours, stored) = (fresh.mean_iterations(), curve(code, sensing).mean_iterations(rber));
        assert!((ours / stored - 1.0).abs() < 0.1, "{point:?}: {ours} iterations, table {stored}");
    }
}

/// The same point decoded again gives the same counts, on any number of threads: the table is this decoder's.
#[test]
fn a_point_is_reproduced_to_the_frame_on_any_number_of_threads() {
    let point = Point { code: LdpcCode::CcsdsC2, sensing: Sensing::Hard, rber: 0.01 };
    let row = table::rows().iter().find(|r| r.point == point).expect("a point of the table");
    let again: Vec<Counts> = [1, 3].map(|threads| frames::count(&point, 100, 100_000, threads)).to_vec();
    assert_eq!(again[0], again[1]);
    assert_eq!(again[0].frames, row.counts.frames);
    assert_eq!(again[0].errors, row.counts.errors);
    assert_eq!(again[0].undetected, row.counts.undetected);
}
