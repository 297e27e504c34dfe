//! Progress on stderr for people who watch, and stopping on Ctrl-C, SIGTERM and SIGHUP.

use std::io::IsTerminal as _;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdlab_bench::plan::{PlanJob, Progress};

use crate::failure::Failure;
use crate::output::complain;

/// Set by Ctrl-C; everything that runs looks at it once a simulated second.
pub static CANCEL: AtomicBool = AtomicBool::new(false);

/// Exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// What stops a run.
const STOPPING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Signals that come within this are one wish: `timeout` sends one to the program and one to its group, of which that is a part.
const ONE_WISH: Duration = Duration::from_millis(500);

/// From here on, the first of [`STOPPING`] stops what runs and keeps what is finished; a later one ends the program at once. Those
/// that the program was started with to ignore, as by `nohup` or in the background of a script, stay ignored.
///
/// # Errors
/// If the system refuses the handler.
pub fn stop_on_ctrl_c() -> Result<(), Failure> {
    let ignored: Vec<libc::c_int> = STOPPING.into_iter().filter(|&signal| is_ignored(signal)).collect();
    let mut first = None;
    let handler = move || {
        CANCEL.store(true, Ordering::Relaxed);
        let now = now();
        if is_another_wish(now.duration_since(*first.get_or_insert(now))) {
            std::process::exit(INTERRUPTED);
        }
    };
    // It takes all of them.
    ctrlc::set_handler(handler).map_err(|e| Failure::run(format!("cannot listen for Ctrl-C: {e}")))?;
    ignored.into_iter().for_each(ignore);
    Ok(())
}

/// Whether a signal that comes so long after the first one is more than an echo of it.
fn is_another_wish(after_first: Duration) -> bool {
    after_first > ONE_WISH
}

/// Whether the program ignores a signal: as it was started with, before anything has taken it.
pub fn is_ignored(signal: libc::c_int) -> bool {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one, for which there is room.
    let is_known = unsafe { libc::sigaction(signal, ptr::null(), present.as_mut_ptr()) } == 0;
    // SAFETY: it is plain data, of which all zeros are a value, too.
    is_known && unsafe { present.assume_init() }.sa_sigaction == libc::SIG_IGN
}

fn ignore(signal: libc::c_int) {
    // SAFETY: a signal that is ignored runs no code. It fails for no signal of `STOPPING`.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

#[allow(clippy::disallowed_methods, reason = "for whoever waits or stops; results do not change")]
fn now() -> Instant {
    Instant::now()
}

/// Steps of the bar; finer than any terminal is wide.
const STEPS: u64 = 10_000;

/// Without a terminal, so long nothing is said of what runs.
const SILENCE: Duration = Duration::from_secs(60);

/// One line: how much is done, what is running, how long it will take. Without a terminal, a line for each test that
/// is finished, and one for each minute in which none is.
pub struct Bar {
    bar: ProgressBar,
    names: Vec<String>,
    /// Where there is no terminal.
    lines: Option<Mutex<Lines>>,
}

/// What has been said in lines.
struct Lines {
    /// Tests that are finished.
    finished: u64,
    last: Instant,
}

impl Bar {
    /// For a plan of these jobs; `devices` are the names of its drives.
    pub fn for_plan(jobs: &[PlanJob], devices: &[&str]) -> Self {
        let names = jobs
            .iter()
            .map(|job| match devices {
                [_] => job.test.name.to_owned(),
                _ => format!("{} on {}", job.test.name, devices[job.lab]),
            })
            .collect();
        Bar { bar: new_bar(), names, lines: lines() }
    }

    /// For a single run.
    pub fn new() -> Self {
        Bar { bar: new_bar(), names: Vec::new(), lines: lines() }
    }

    /// A test of the plan has an outcome.
    pub fn finished(&self, job: usize) {
        let of = self.names.len() as u64;
        self.line(of, |n| format!("done {n} of {of}: {}", self.names[job]));
    }

    /// A line for one more of `of`, if there is no terminal, and more than one line to come.
    fn line(&self, of: u64, text: impl FnOnce(u64) -> String) {
        if let Some(lines) = self.lines.as_ref().filter(|_| of > 1) {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.finished += 1;
            lines.last = now();
            complain(&text(lines.finished));
        }
    }

    pub fn plan(&self, progress: &Progress) {
        let running: Vec<String> =
            progress.running.iter().map(|&(job, done)| format!("{} {:.0} %", self.names[job], done * 100.0)).collect();
        let stopping = if CANCEL.load(Ordering::Relaxed) { "stopping; " } else { "" };
        self.bar.set_message(format!(
            "{stopping}{} of {} done; {}",
            progress.jobs_finished,
            progress.jobs,
            running.join(", ")
        ));
        self.set(progress.done);
    }

    /// So many of a number of equal runs are done.
    pub fn runs(&self, done: u64, of: u64) {
        self.bar.set_message(format!("{done} of {of} runs"));
        self.set(done as f64 / of as f64);
    }

    pub fn sweep(&self, progress: ssdlab_sweep::Progress) {
        let stopping = if CANCEL.load(Ordering::Relaxed) { "stopping; " } else { "" };
        self.bar.set_message(format!("{stopping}{} of {} points done", progress.finished, progress.to_run));
        self.set(progress.done);
        let to_run = progress.to_run as u64;
        let told = self.lines.as_ref().map_or(0, |n| n.lock().unwrap_or_else(PoisonError::into_inner).finished);
        if progress.finished as u64 > told {
            self.line(to_run, |n| format!("done {n} of {to_run} points"));
        }
    }

    /// Share of the whole that is done, 0 to 1.
    pub fn set(&self, done: f64) {
        self.bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
        // Whoever holds the lock is saying something.
        let Some(mut lines) = self.lines.as_ref().and_then(|lines| lines.try_lock().ok()) else { return };
        let now = now();
        if now.duration_since(lines.last) >= SILENCE {
            lines.last = now;
            complain(&format!("{:.0} % done", done.clamp(0.0, 1.0) * 100.0));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn lines() -> Option<Mutex<Lines>> {
    (!std::io::stderr().is_terminal()).then(|| Mutex::new(Lines { finished: 0, last: now() }))
}

fn new_bar() -> ProgressBar {
    // Hidden by itself if stderr is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("{bar:24} {percent:>3} %  about {eta} left  {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_twice_at_once_is_one_wish() {
        // The first, and the same again from `timeout`, also where the machine is busy.
        for millis in [0, 1, 100, 500] {
            assert!(!is_another_wish(Duration::from_millis(millis)), "{millis} ms");
        }
        assert!(is_another_wish(Duration::from_millis(501)) && is_another_wish(Duration::from_secs(3600)));
    }
}
