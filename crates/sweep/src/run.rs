//! Runs the points that are not there yet, on all cores.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ssdlab_bench::Monitor;
use ssdlab_core::{Rng, Workers};

use crate::plan::Plan;
use crate::point::{PointError, PointResult};
use crate::store::{Found, Store, StoreError};

/// What became of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Done(PointResult),
    /// A bug of the simulator or of a test, told in full. It is not kept: the next run tries again.
    Failed(String),
    /// Stopped before its turn, or in the middle.
    NotRun,
}

/// Whether points have not been run, so that what is drawn of the others is no result of the plan.
#[must_use]
pub fn is_unfinished(states: &[State]) -> bool {
    states.contains(&State::NotRun)
}

/// What became of a plan.
#[derive(Debug)]
pub struct Sweep {
    /// In the order of the plan's points.
    pub states: Vec<State>,
    /// Points that were run now; equal points are run once.
    pub run: usize,
    /// Points that were found finished.
    pub found: usize,
    /// Files that could not be used, and why; their points were run again.
    pub spoilt: Vec<(String, String)>,
}

/// Where a sweep stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the points to run that is done, those at work in part.
    pub done: f64,
    pub finished: usize,
    pub to_run: usize,
}

/// Runs every point of the plan that `store` does not have, on `threads` workers (as many as the machine has cores if
/// not given), and keeps each as soon as it is finished. `progress` is called from the workers, one at a time. Setting
/// `cancel` stops what runs within a simulated second; what is finished stays.
///
/// # Errors
/// If a finished point cannot be kept: then nothing new is begun.
pub fn sweep(
    plan: &Plan,
    store: &Store,
    threads: Option<NonZeroUsize>,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &AtomicBool,
) -> Result<Sweep, StoreError> {
    let mut known: BTreeMap<&str, State> = BTreeMap::new();
    let mut spoilt = Vec::new();
    let (mut found, mut todo) = (0, Vec::new());
    for (index, point) in plan.points.iter().enumerate() {
        if known.contains_key(point.key.as_str()) {
            continue;
        }
        let state = match point.known() {
            Some(result) => State::Done(result),
            None => match store.get(&point.key) {
                Found::Result(result) => {
                    found += 1;
                    State::Done(result)
                }
                Found::Spoilt(why) => {
                    spoilt.push((point.key.clone(), why));
                    todo.push(index);
                    State::NotRun
                }
                Found::Nothing => {
                    todo.push(index);
                    State::NotRun
                }
            },
        };
        known.insert(&point.key, state);
    }
    shuffle(&mut todo);
    let ran = run_all(plan, store, &todo, threads, progress, cancel)?;
    let run = ran.iter().filter(|(_, state)| *state != State::NotRun).count();
    for (index, state) in ran {
        known.insert(&plan.points[index].key, state);
    }
    let states = plan.points.iter().map(|p| known[p.key.as_str()].clone()).collect();
    Ok(Sweep { states, run, found, spoilt })
}

/// Dear and cheap points lie in rows in a grid; mixed, the time for the rest can be told from the time so far.
fn shuffle(todo: &mut [usize]) {
    let mut rng = Rng::new(0).stream("order of a sweep");
    for i in (1..todo.len()).rev() {
        todo.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

struct Board {
    finished: usize,
    /// Of each worker, how much of its present point is done.
    parts: Vec<f64>,
}

fn run_all(
    plan: &Plan,
    store: &Store,
    todo: &[usize],
    threads: Option<NonZeroUsize>,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &AtomicBool,
) -> Result<Vec<(usize, State)>, StoreError> {
    let workers = Workers::new(threads);
    let stop = AtomicBool::new(false);
    let board = Mutex::new(Board { finished: 0, parts: vec![0.0; workers.threads(todo.len() as u64)] });
    let update = |worker: usize, part: f64, ended: bool| {
        let mut board = board.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        board.parts[worker] = part;
        board.finished += usize::from(ended);
        let done = (board.finished as f64 + board.parts.iter().sum::<f64>()) / todo.len() as f64;
        progress(Progress { done, finished: board.finished, to_run: todo.len() });
    };
    let go_on = || !cancel.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed);
    let ended = workers.map(todo.len(), &go_on, &|worker, place| {
        let index = todo[place];
        let point = &plan.points[index];
        let report = |part: f64| update(worker, part, false);
        let state = match point.run(&plan.tasks[point.task], &Monitor::new(&report, cancel)) {
            Ok(result) => store.put(&point.key, &plan.describe(index), &result).map(|()| State::Done(result)),
            Err(PointError::Failed(why)) => Ok(State::Failed(why)),
            Err(PointError::Cancelled) => Ok(State::NotRun),
        };
        if state.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        update(worker, 0.0, !matches!(state, Ok(State::NotRun)));
        state
    });
    let states = ended.into_iter().map(|state| state.unwrap_or(Ok(State::NotRun)));
    todo.iter().zip(states).map(|(&index, state)| Ok((index, state?))).collect()
}

impl Plan {
    /// A point in words: `gc.policy greedy, capacity_bytes 4096, steady-state, seed 1`.
    #[must_use]
    pub fn describe(&self, index: usize) -> String {
        let point = &self.points[index];
        let mut words: Vec<String> =
            self.axes.iter().zip(&point.cells).map(|(axis, cell)| format!("{} {}", axis.key, cell.text)).collect();
        words.push(self.tasks[point.task].name.clone());
        words.push(format!("seed {}", point.seed));
        words.join(", ")
    }
}
