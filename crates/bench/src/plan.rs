//! Many tests on many devices, on all cores, with the same bytes out at any number of threads.
//!
//! Each job powers on devices of its own and draws random numbers of its own, so jobs cannot influence each other;
//! results come back in the order of the plan, whatever order they were finished in. A worker has one device at a
//! time, so at most as many are alive as there are workers.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ssdlab_core::Workers;

use crate::error::BenchError;
use crate::lab::Lab;
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use crate::params::ParamError;
use crate::suite::{TestDef, run_test};

/// One test on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanJob {
    /// Which of the plan's devices.
    pub lab: usize,
    pub test: &'static TestDef,
    /// For progress; see [`crate::suite::Variant::name`].
    pub variant: String,
    pub settings: Vec<(String, String)>,
}

impl PlanJob {
    /// The variants of a test that belong into a review, on one device.
    #[must_use]
    pub fn review(lab: usize, test: &'static TestDef) -> Vec<PlanJob> {
        test.variants
            .iter()
            .filter(|v| v.in_review)
            .map(|v| PlanJob { lab, test, variant: v.name.to_owned(), settings: v.settings() })
            .collect()
    }

    /// As [`PlanJob::review`]; a test of which nothing belongs into a review runs as its first variant says.
    #[must_use]
    pub fn asked(lab: usize, test: &'static TestDef) -> Vec<PlanJob> {
        let mut jobs = Self::review(lab, test);
        if let (true, Some(v)) = (jobs.is_empty(), test.variants.first()) {
            jobs.push(PlanJob { lab, test, variant: v.name.to_owned(), settings: v.settings() });
        }
        jobs
    }

    /// Checks the settings, so that a plan fails before it starts and not after an hour.
    ///
    /// # Errors
    /// As [`TestDef::resolve`].
    pub fn check(&self, quick: bool) -> Result<(), ParamError> {
        self.test.resolve(&self.settings, quick).map(|_| ())
    }
}

/// How to run a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Workers; `None`: as many as the machine has cores.
    pub threads: Option<NonZeroUsize>,
    pub seed: u64,
    pub quick: bool,
}

/// What became of a job.
#[derive(Debug)]
pub enum JobResult {
    Finished(Box<Outcome>),
    Failed(BenchError),
    /// Stopped by the cancel flag, or never begun because of it.
    Cancelled,
}

/// Where a plan stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub jobs_finished: usize,
    pub jobs: usize,
    /// Share of all work that is done, 0 to 1, by the tests' weights. Whoever has a clock can estimate the rest:
    /// time so far × (1 − done) / done.
    pub done: f64,
    /// The jobs that are running: their place in the plan, and how much of each is done.
    pub running: Vec<(usize, f64)>,
}

/// One job's state, as the board of progress sees it.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Waiting,
    Running(f64),
    Ended,
}

struct Board {
    states: Vec<State>,
    weights: Vec<f64>,
}

impl Board {
    fn progress(&self) -> Progress {
        let share = |s: &State| match s {
            State::Waiting => 0.0,
            State::Running(f) => *f,
            State::Ended => 1.0,
        };
        let total: f64 = self.weights.iter().sum();
        let done: f64 = self.states.iter().zip(&self.weights).map(|(s, w)| share(s) * w).sum();
        Progress {
            jobs_finished: self.states.iter().filter(|s| **s == State::Ended).count(),
            jobs: self.states.len(),
            done: if total > 0.0 { done / total } else { 1.0 },
            running: self
                .states
                .iter()
                .enumerate()
                .filter_map(|(i, s)| if let State::Running(f) = s { Some((i, *f)) } else { None })
                .collect(),
        }
    }
}

/// Runs the plan. `progress` is called from the workers, one at a time, often; it should draw no faster than an eye
/// can see. Setting `cancel` stops what runs within a simulated second and begins nothing new; what is finished stays.
///
/// A job that fails, or panics, does not disturb the others.
///
/// # Panics
/// If a job names a device that the plan does not have.
pub fn run_plan<L: Lab>(
    labs: &[L],
    jobs: &[PlanJob],
    options: PlanOptions,
    progress: &(dyn Fn(&Progress) + Sync),
    cancel: &AtomicBool,
) -> Vec<JobResult> {
    run_plan_keeping(labs, jobs, options, progress, &|_, _| {}, cancel)
}

/// As [`run_plan`]; `finished` is called by the workers with the place of each job that has an outcome, as soon as it
/// has one.
///
/// # Panics
/// As [`run_plan`].
pub fn run_plan_keeping<L: Lab>(
    labs: &[L],
    jobs: &[PlanJob],
    options: PlanOptions,
    progress: &(dyn Fn(&Progress) + Sync),
    finished: &(dyn Fn(usize, &Outcome) + Sync),
    cancel: &AtomicBool,
) -> Vec<JobResult> {
    assert!(jobs.iter().all(|j| j.lab < labs.len()), "a job names a device beyond the plan's {}", labs.len());
    // The longest first, so that none is left to run alone at the end.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|&a, &b| jobs[b].test.weight.total_cmp(&jobs[a].test.weight).then(a.cmp(&b)));
    let board = Mutex::new(Board {
        states: vec![State::Waiting; jobs.len()],
        weights: jobs.iter().map(|j| j.test.weight).collect(),
    });
    let update = |job: usize, state: State| {
        // Held while reporting, so that reports come one at a time and never fall back.
        let mut board = board.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        board.states[job] = state;
        progress(&board.progress());
    };
    let go_on = || !cancel.load(Ordering::Relaxed);
    let ended = Workers::new(options.threads).map(jobs.len(), &go_on, &|_, place| {
        let index = order[place];
        update(index, State::Running(0.0));
        let result = run_job(labs, &jobs[index], options, &|f| update(index, State::Running(f)), cancel);
        if let JobResult::Finished(outcome) = &result {
            finished(index, outcome);
        }
        if !matches!(result, JobResult::Cancelled) {
            update(index, State::Ended);
        }
        result
    });
    let mut in_plan_order: Vec<(usize, JobResult)> =
        order.into_iter().zip(ended.into_iter().map(|result| result.unwrap_or(JobResult::Cancelled))).collect();
    in_plan_order.sort_by_key(|&(index, _)| index);
    in_plan_order.into_iter().map(|(_, result)| result).collect()
}

fn run_job<L: Lab>(
    labs: &[L],
    job: &PlanJob,
    options: PlanOptions,
    report: &dyn Fn(f64),
    cancel: &AtomicBool,
) -> JobResult {
    let run = || {
        let monitor = Monitor::new(report, cancel);
        run_test(job.test, &labs[job.lab], &job.settings, options.seed, options.quick, &monitor)
    };
    match guarded(run) {
        Ok(outcome) => JobResult::Finished(Box::new(outcome)),
        Err(e) if e.is_cancelled() => JobResult::Cancelled,
        Err(e) => JobResult::Failed(e),
    }
}

/// Runs a test so that a panic in it is an error of it, and disturbs no other.
///
/// # Errors
/// Those of `run`, and [`BenchError::Panicked`].
pub fn guarded<T>(run: impl FnOnce() -> Result<T, BenchError>) -> Result<T, BenchError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "without a message".to_owned());
        Err(BenchError::Panicked(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::PoweredOn;
    use crate::model::{Fault, ModelDevice, ModelSpec};
    use crate::suite::find_test;

    /// Models that misbehave on demand, and count how many are alive.
    struct Watched {
        spec: ModelSpec,
        fault: Option<Fault>,
        panics: bool,
    }

    impl Lab for Watched {
        fn fresh(&self, _seed: u64) -> Result<PoweredOn, String> {
            assert!(!self.panics, "made to panic");
            let device = ModelDevice::new(self.spec.clone());
            Ok(PoweredOn::new(match self.fault {
                Some(fault) => device.with_fault(fault),
                None => device,
            }))
        }
        fn name(&self) -> &str {
            &self.spec.name
        }
    }

    fn lab(name: &str) -> Watched {
        Watched { spec: ModelSpec { name: name.to_owned(), ..ModelSpec::default() }, fault: None, panics: false }
    }

    fn job(lab: usize, test: &str, settings: &[(&str, &str)]) -> PlanJob {
        let settings = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        PlanJob { lab, test: find_test(test).unwrap(), variant: String::new(), settings }
    }

    fn short(lab: usize) -> Vec<PlanJob> {
        vec![
            job(lab, "analyzedisk", &[("requests", "500")]),
            job(lab, "random-write", &[("seconds", "3")]),
            job(lab, "random-read", &[("seconds", "3"), ("queue_depth", "3")]),
            job(lab, "hdtach", &[]),
            job(lab, "sequential-write", &[("seconds", "2")]),
        ]
    }

    fn options(threads: usize) -> PlanOptions {
        PlanOptions { threads: NonZeroUsize::new(threads), seed: 1, quick: false }
    }

    fn run(labs: &[Watched], jobs: &[PlanJob], threads: usize) -> Vec<JobResult> {
        run_plan(labs, jobs, options(threads), &|_| {}, &AtomicBool::new(false))
    }

    #[test]
    fn results_are_the_same_bytes_in_plan_order_at_any_number_of_threads() {
        let labs = [lab("a"), lab("b")];
        let jobs: Vec<PlanJob> = [short(0), short(1)].concat();
        let json = |threads| -> Vec<String> {
            run(&labs, &jobs, threads)
                .iter()
                .map(|r| match r {
                    JobResult::Finished(o) => serde_json::to_string(o).unwrap(),
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        let one = json(1);
        for (text, job) in one.iter().zip(&jobs) {
            assert!(text.contains(&format!("\"test\":\"{}\"", job.test.name)));
            assert!(text.contains(&format!("\"device\":\"{}\"", labs[job.lab].name())));
        }
        assert_eq!(one, json(2));
        assert_eq!(one, json(7));
    }

    #[test]
    fn a_failing_and_a_panicking_device_do_not_disturb_the_others() {
        let mut labs = [lab("good"), lab("books"), lab("panic")];
        labs[1].fault = Some(Fault::Books);
        labs[2].panics = true;
        let jobs: Vec<PlanJob> = (0..3).map(|l| job(l, "sequential-write", &[("seconds", "1")])).collect();
        let results = run(&labs, &jobs, 2);
        assert!(matches!(results[0], JobResult::Finished(_)));
        assert!(matches!(&results[1], JobResult::Failed(BenchError::Books(e)) if e == "made to fail"));
        assert!(matches!(&results[2], JobResult::Failed(BenchError::Panicked(e)) if e == "made to panic"));
    }

    #[test]
    fn cancelling_keeps_what_is_finished() {
        let labs = [lab("a")];
        let jobs = [short(0), vec![job(0, "consistency", &[])]].concat();
        let cancel = AtomicBool::new(false);
        // Nothing is heavier than `consistency` here, so it runs first; stop it after the first report past 1 %.
        let stop = |p: &Progress| cancel.store(p.done > 0.01, Ordering::Relaxed);
        let results = run_plan(&labs, &jobs, options(1), &stop, &cancel);
        assert!(results.iter().all(|r| matches!(r, JobResult::Cancelled)), "{results:?}");
        // Stop after the first finished job instead.
        let cancel = AtomicBool::new(false);
        let stop = |p: &Progress| cancel.store(p.jobs_finished == 1, Ordering::Relaxed);
        let results = run_plan(&labs, &short(0), options(1), &stop, &cancel);
        let finished: Vec<bool> = results.iter().map(|r| matches!(r, JobResult::Finished(_))).collect();
        assert_eq!(finished, [false, false, false, true, false]);
    }

    #[test]
    fn progress_rises_to_one_and_counts_what_is_finished() {
        let labs = [lab("a")];
        let seen = Mutex::new(Vec::new());
        let report = |p: &Progress| seen.lock().unwrap().push(p.clone());
        run_plan(&labs, &short(0), options(2), &report, &AtomicBool::new(false));
        let seen = seen.into_inner().unwrap();
        assert!(seen.windows(2).all(|w| w[0].done <= w[1].done && w[0].jobs_finished <= w[1].jobs_finished));
        let last = seen.last().unwrap();
        assert_eq!((last.jobs_finished, last.jobs, last.running.len()), (5, 5, 0));
        assert!((last.done - 1.0).abs() < 1e-9);
        assert!(seen.iter().all(|p| p.running.len() <= 2));
    }

    #[test]
    fn settings_can_be_checked_before_anything_runs() {
        assert!(job(0, "trim", &[("zones", "10")]).check(false).is_ok());
        let e = job(0, "trim", &[("zone", "10")]).check(false).unwrap_err();
        assert!(e.to_string().contains("did you mean zones"), "{e}");
    }

    #[test]
    fn a_review_has_the_variants_meant_for_it() {
        let names = |test: &str| -> Vec<String> {
            PlanJob::review(0, find_test(test).unwrap()).into_iter().map(|j| j.variant).collect()
        };
        assert_eq!(names("random-write"), ["QD3", "QD32"]);
        assert_eq!(names("consistency"), ["2013", "2013, 25 % over-provisioning"]);
        assert_eq!(names("trim"), [""]);
    }
}
