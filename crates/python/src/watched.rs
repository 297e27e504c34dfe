//! Runs that take their time: on a thread of their own, so that the interpreter is free, Ctrl-C is heard at once, and
//! progress can be shown.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use ssdlab_core::catch_panic;

use crate::failure::run_error;

/// How often signals are looked at. Half of what people notice, and nothing to the processor.
const LOOK: Duration = Duration::from_millis(20);
/// Looks between two reports of progress.
const LOOKS_PER_REPORT: u32 = 5;
/// How long a stopped run may take to end before it is left to end by itself.
const GRACE: Duration = Duration::from_millis(40);
/// What Python expects of a thread, on which its functions may run.
const STACK_BYTES: usize = 16 << 20;

/// What a run and who waits for it share.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to stop the run.
    pub cancel: AtomicBool,
    /// Bits of the share that is done, 0 to 1.
    done: AtomicU64,
    /// Why the run stops by itself.
    fault: Mutex<Option<PyErr>>,
}

impl Watch {
    pub fn report(&self, done: f64) {
        self.done.store(done.to_bits(), Ordering::Relaxed);
    }

    /// Stops the run, whose result will be this error. The first one counts.
    pub fn fail(&self, error: PyErr) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// What [`Watch::fail`] was told, once.
    pub fn take_fault(&self) -> Option<PyErr> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs `work` while the interpreter is free, and calls `progress` with the share that is done.
///
/// # Errors
/// KeyboardInterrupt and what else signals and `progress` raise: the run is stopped then. What the run itself told the
/// watch. A panic is a RunError.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Watch>) -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = sync_channel(1);
    let of_run = Arc::clone(&watch);
    let run = move || {
        let result = catch_panic(|| work(&of_run));
        // Whoever was interrupted no longer waits.
        let _ = sender.send(result);
    };
    let spawned = std::thread::Builder::new().name("ssdlab".to_owned()).stack_size(STACK_BYTES).spawn(run);
    spawned.map_err(|e| run_error(py, format!("cannot start a thread: {e}")))?;
    let receiver = Mutex::new(receiver);
    let wait = |time: Duration| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    let mut looks = 0;
    loop {
        match py.detach(|| wait(LOOK)) {
            Ok(result) => {
                let result = result.map_err(|panic| run_error(py, panic));
                return watch.take_fault().map_or(result, Err);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(run_error(py, "the run ended without a result")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        looks += 1;
        let told = match progress {
            Some(progress) if looks % LOOKS_PER_REPORT == 0 => {
                progress.call1((f64::from_bits(watch.done.load(Ordering::Relaxed)),)).map(|_| ())
            }
            _ => Ok(()),
        };
        if let Err(e) = told.and_then(|()| py.check_signals()) {
            watch.cancel.store(true, Ordering::Relaxed);
            // It looks at the flag once a simulated second. If that takes longer, it ends by itself.
            let _ = py.detach(|| wait(GRACE));
            return Err(e);
        }
    }
}
