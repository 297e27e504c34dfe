//! Cases by the thousand, and what came of them.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ssdlab_core::{Rng, catch_panic};

use crate::memory;
use crate::mutate::mutate;

/// Longest that a case may take. A file takes microseconds, a drive that is built and written some milliseconds.
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

/// Tells at once, past what a test keeps of its output: that is lost if the process is ended.
fn tell(what: &str) {
    // Whoever cannot hear it hears of the end.
    let _ = writeln!(std::io::stderr(), "{what}");
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
                        tell(&format!("a case hangs; its input: \"{}\"", last.escape_ascii()));
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
            // The watcher hears of every input; a closed channel would be its own failure.
            let hear = |input: &[u8]| _ = at_work.send(input.to_vec());
            hear(&input);
            if let Err(what) = verdict(target, &input) {
                let whole = Found { case, input, what };
                // Should a smaller one hang, this one is known.
                tell(&format!("found, and made smaller now: {whole}"));
                found = Some(smallest(target, whole, &hear));
                break;
            }
        }
        drop(at_work);
        found
    })
}

/// Cuts away what is not needed to fail in the same way: lines, then stretches of bytes. `hear` is told of each input before it
/// is tried.
fn smallest(target: &dyn Fn(&[u8]) -> Result<(), String>, mut found: Found, hear: &dyn Fn(&[u8])) -> Found {
    let kind = |what: &str| what.chars().filter(|c| !c.is_ascii_digit()).take(40).collect::<String>();
    let wanted = kind(&found.what);
    let mut length = found.input.len().div_ceil(2);
    while length > 0 {
        let mut from = 0;
        while from < found.input.len() {
            let mut shorter = found.input.clone();
            shorter.drain(from..(from + length).min(shorter.len()));
            hear(&shorter);
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
    use std::cell::RefCell;

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

    #[test]
    fn of_every_input_that_is_tried_while_one_is_made_small_the_watcher_has_heard() {
        let (heard, tried) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let target = |input: &[u8]| {
            tried.borrow_mut().push(input.to_vec());
            if input.contains(&b'x') { Err("an x".to_owned()) } else { Ok(()) }
        };
        let found = Found { case: 1, input: b"a line\nand an x\nand another line\n".to_vec(), what: "an x".to_owned() };
        let small = smallest(&target, found, &|input| heard.borrow_mut().push(input.to_vec()));
        assert_eq!(small.input, b"x");
        assert!(tried.borrow().len() > 10 && *tried.borrow() == *heard.borrow());
    }
}
