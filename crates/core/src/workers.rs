//! Many independent jobs on several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// Threads that share the jobs of a list. Each takes the next job that none has taken, so jobs are begun in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    threads: NonZeroUsize,
}

impl Workers {
    /// As many as asked for; `None`: as many as the machine has cores.
    #[must_use]
    pub fn new(threads: Option<NonZeroUsize>) -> Self {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Workers { threads: threads.unwrap_or_else(cores) }
    }

    /// Threads that work on so many jobs: never more than jobs.
    #[must_use]
    pub fn threads(self, jobs: u64) -> usize {
        usize::try_from(jobs).unwrap_or(usize::MAX).min(self.threads.get())
    }

    /// Calls `work` with the number of the worker and that of the job, for each job from 0. Before each, `go_on` says
    /// whether another may begin. Where the system gives fewer threads, those that there are do all of it.
    ///
    /// # Panics
    /// If `work` or `go_on` does, once the other workers have ended.
    pub fn for_each(self, jobs: u64, go_on: &(dyn Fn() -> bool + Sync), work: &(dyn Fn(usize, u64) + Sync)) {
        self.for_each_on(&|_| Builder::new(), jobs, go_on, work);
    }

    /// As [`Workers::for_each`], each worker on a `thread` of its own.
    fn for_each_on(
        self,
        thread: &dyn Fn(usize) -> Builder,
        jobs: u64,
        go_on: &(dyn Fn() -> bool + Sync),
        work: &(dyn Fn(usize, u64) + Sync),
    ) {
        let next = AtomicU64::new(0);
        let work_as = |worker: usize| {
            while go_on() {
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= jobs {
                    break;
                }
                work(worker, job);
            }
        };
        let work_as = &work_as;
        std::thread::scope(|scope| {
            for worker in 0..self.threads(jobs) {
                if thread(worker).spawn_scoped(scope, move || work_as(worker)).is_err() {
                    // The first is then this thread itself.
                    if worker == 0 {
                        work_as(worker);
                    }
                    break;
                }
            }
        });
    }

    /// As [`Workers::for_each`], with what `work` returned: in the order of the jobs, whatever order they ended in.
    /// `None` stands for a job that was not begun.
    ///
    /// # Panics
    /// As [`Workers::for_each`].
    pub fn map<T: Send>(
        self,
        jobs: usize,
        go_on: &(dyn Fn() -> bool + Sync),
        work: &(dyn Fn(usize, usize) -> T + Sync),
    ) -> Vec<Option<T>> {
        let results: Vec<Mutex<Option<T>>> = (0..jobs).map(|_| Mutex::new(None)).collect();
        self.for_each(jobs as u64, go_on, &|worker, job| {
            let result = work(worker, job as usize);
            *results[job as usize].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        results.into_iter().map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs_at_any_number_of_threads() {
        for threads in [1, 2, 7, 100] {
            let workers = Workers::new(NonZeroUsize::new(threads));
            let squares = workers.map(50, &|| true, &|_, job| job * job);
            assert_eq!(squares, (0..50).map(|job| Some(job * job)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_worker_has_a_number_beyond_the_threads() {
        let workers = Workers::new(NonZeroUsize::new(3));
        assert_eq!((workers.threads(2), workers.threads(10), workers.threads(0)), (2, 3, 0));
        let numbers = workers.map(20, &|| true, &|worker, _| worker);
        assert!(numbers.iter().all(|worker| worker.is_some_and(|w| w < 3)));
    }

    #[test]
    fn all_is_done_on_fewer_threads_than_were_asked_for() {
        // No system gives a thread such a stack.
        let only = |most: usize| {
            move |worker| if worker < most { Builder::new() } else { Builder::new().stack_size(usize::MAX >> 4) }
        };
        for most in [0, 1, 3] {
            let done = [const { AtomicUsize::new(0) }; 20];
            let workers = Workers::new(NonZeroUsize::new(7));
            workers.for_each_on(&only(most), 20, &|| true, &|worker, job| {
                assert!(worker < most.max(1), "{worker}");
                done[job as usize].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1), "{done:?}");
        }
    }

    #[test]
    fn nothing_is_begun_after_a_stop_and_what_is_done_stays() {
        let done = AtomicUsize::new(0);
        let go_on = || done.load(Ordering::Relaxed) < 4;
        let results = Workers::new(Some(NonZeroUsize::MIN)).map(10, &go_on, &|_, job| {
            done.fetch_add(1, Ordering::Relaxed);
            job
        });
        assert_eq!(results[..5], [Some(0), Some(1), Some(2), Some(3), None]);
        assert!(results[5..].iter().all(Option::is_none));
    }
}
