//! Cases by the thousand, and what came of them.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ssdlab_core::{Rng, catch_panic};

use crate::memory;
use crate::mutate::mutate;

/// Longest that a case may take; a case takes microseconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most that a case may allocate at once.
const MEMORY_BYTES: usize = 64 << 20;

/// What to run.
#[derive(Clone, Debug)]
pub struct Fuzz {
    pub seed: u64,
    pub cases: u64,
    /// Valid files.
    pub corpus: Vec<Vec<u8>>,
}

/// An input that breaks a target, as small as it could be made.
#[derive(Clone, Debug)]
pub struct Found {
    pub case: u64,
    pub input: Vec<u8>,
    pub what: String,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "case {}: {}\ninput: \"{}\"", self.case, self.what, self.input.escape_ascii())
    }
}

/// What is wrong with how `target` takes an input.
fn verdict(target: &dyn Fn(&[u8]) -> Result<(), String>, input: &[u8]) -> Result<(), String> {
    memory::watch();
    let result = catch_panic(|| target(input));
    let most = memory::most_bytes();
    result.and_then(|verdict| verdict)?;
    if most > MEMORY_BYTES {
        return Err(format!("{most} bytes were allocated for {} bytes of input", input.len()));
    }
    Ok(())
}

/// Runs the corpus as it is and then `cases` mutants of it. `target` panics, or says what is wrong, or returns `Ok`.
pub fn fuzz(plan: &Fuzz, target: &dyn Fn(&[u8]) -> Result<(), String>) -> Option<Found> {
    let (at_work, watch) = channel::<Vec<u8>>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut last = Vec::new();
            loop {
                match watch.recv_timeout(PATIENCE) {
                    Ok(input) => last = input,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        eprintln!("a case or its successors hang; the last known input: \"{}\"", last.escape_ascii());
                        std::process::abort();
                    }
                }
            }
        });
        let rng = Rng::new(plan.seed);
        let originals = plan.corpus.len() as u64;
        let mut found = None;
        for case in 0..originals + plan.cases {
            let input = if case < originals {
                plan.corpus[case as usize].clone()
            } else {
                mutate(&plan.corpus, &mut rng.stream(&format!("case {case}")))
            };
            // The watcher hears of every case; a closed channel would be its own failure.
            let _ = at_work.send(input.clone());
            if let Err(what) = verdict(target, &input) {
                let _ = at_work.send(input.clone());
                found = Some(smallest(target, Found { case, input, what }));
                break;
            }
        }
        drop(at_work);
        found
    })
}

/// Cuts away what is not needed to fail in the same way: lines, then stretches of bytes.
fn smallest(target: &dyn Fn(&[u8]) -> Result<(), String>, mut found: Found) -> Found {
    let kind = |what: &str| what.chars().filter(|c| !c.is_ascii_digit()).take(40).collect::<String>();
    let wanted = kind(&found.what);
    let mut length = found.input.len().div_ceil(2);
    while length > 0 {
        let mut from = 0;
        while from < found.input.len() {
            let mut shorter = found.input.clone();
            shorter.drain(from..(from + length).min(shorter.len()));
            match verdict(target, &shorter) {
                Err(what) if kind(&what) == wanted => (found.input, found.what) = (shorter, what),
                _ => from += length,
            }
        }
        length /= 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_target_is_found_and_made_small() {
        let plan = Fuzz { seed: 1, cases: 100_000, corpus: vec![b"[section]\nkey = 12\nother = 13\n".to_vec()] };
        let target = |input: &[u8]| {
            let text = String::from_utf8_lossy(input);
            let twice = text.matches("key").count() > 1;
            if twice { Err("a key given twice".to_owned()) } else { Ok(()) }
        };
        let found = fuzz(&plan, &target).expect("it is found");
        assert_eq!(found.input, b"keykey");
        assert!(fuzz(&plan, &|_| Ok(())).is_none());
    }
}
