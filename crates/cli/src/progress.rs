//! Progress on stderr for people who watch, and stopping on Ctrl-C and SIGTERM.

use std::io::IsTerminal as _;
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

/// From here on, the first Ctrl-C or SIGTERM stops what runs and keeps what is finished; the second ends the program at once.
///
/// # Errors
/// If the system refuses the handler.
pub fn stop_on_ctrl_c() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })
    .map_err(|e| Failure::run(format!("cannot listen for Ctrl-C: {e}")))
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

impl Lines {
    #[allow(clippy::disallowed_methods, reason = "when a line is due to whoever waits")]
    fn now() -> Instant {
        Instant::now()
    }
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
            lines.last = Lines::now();
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
        let now = Lines::now();
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
    (!std::io::stderr().is_terminal()).then(|| Mutex::new(Lines { finished: 0, last: Lines::now() }))
}

fn new_bar() -> ProgressBar {
    // Hidden by itself if stderr is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("{bar:24} {percent:>3} %  about {eta} left  {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
