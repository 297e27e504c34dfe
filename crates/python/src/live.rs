//! A device that is powered on, for hosts that are written in Python: batches of commands in, columns of completions out.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use ssdlab_contents::{read_state_file, write_state_file};
use ssdlab_core::{MAX_DURATION, Nanos, Op, SECOND};
use ssdlab_device::{Completion, Counters, Device, Held, Request};

use crate::failure::{run_error, value_error};
use crate::policy::heard_by;
use crate::records::Records;
use crate::table::{Column, Table};
use crate::trace::u64s;
use crate::watched::{Watch, watched};

/// Smaller batches are not worth a thread.
const INLINE_COMMANDS: usize = 1024;
/// Commands between two looks at whether to stop.
const LOOK_EVERY: usize = 4096;
/// Time passes in steps of this, with a look between.
const STEP: Nanos = SECOND / 100;
const KEEPS_NOTHING: &str = "this device cannot be saved: drives, disks, and sets and adapters of such as keep and lose \
                             pages of 4 KiB and number their writes alike can be";

const NO_PLUG: &str = "this device has no plug that can be pulled";
const NO_POWER: &str = "the drive has no power: power_on() first";
/// What a unit holds, in words.
const HELD: [&str; 4] = ["nothing", "write", "mixed", "unreadable"];

/// See the module's own page.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Live {
    state: Arc<Mutex<Option<State>>>,
}

struct State {
    device: Box<dyn Device>,
    explain: bool,
    /// Whether functions in Python are asked.
    asks: bool,
    /// Told when one of them fails. A copy, which asks the same functions, has its own.
    policies: Arc<Watch>,
    now: Nanos,
    next_tag: u64,
    in_flight: u64,
    /// Completions that nobody has fetched yet.
    done: Records,
    /// Of the last call of the device.
    fresh: Vec<Completion>,
}

/// When commands are handed over.
enum Pace {
    /// All at once.
    Now,
    /// Each at its time.
    At(Vec<u64>),
    /// As others complete, so that so many are under way.
    Depth(u64),
}

/// Counters of a group by name.
type Group = (&'static str, Vec<(&'static str, u64)>);

struct Batch {
    op: Vec<u8>,
    offset: Vec<u8>,
    length: Vec<u8>,
    fua: bool,
    pace: Pace,
}

impl State {
    fn take_completions(&mut self) {
        self.in_flight -= self.fresh.len() as u64;
        for completion in self.fresh.drain(..) {
            self.done.push(&completion, self.explain);
        }
    }

    fn advance(&mut self, to: Nanos) {
        self.device.advance(to, &mut self.fresh);
        self.now = to;
        self.take_completions();
    }

    /// Until a command completes, or time reaches `limit`.
    fn advance_to_completion(&mut self, limit: Nanos) {
        self.now = self.device.advance_to_completion(limit, &mut self.fresh);
        self.take_completions();
    }

    /// Up to now of all parts: some may have stayed behind that had nothing to do.
    fn counters(&mut self) -> Counters {
        self.advance(self.now);
        self.device.counters()
    }

    fn has_power(&self) -> bool {
        self.device.plug_seen().is_none_or(|plug| plug.has_power())
    }

    fn is_stopped(&self, watch: &Watch) -> bool {
        [watch, &self.policies].iter().any(|watch| watch.cancel.load(Ordering::Relaxed))
    }

    /// # Errors
    /// If it has commands, and will do nothing more by itself.
    fn check_alive(&self) -> Result<(), Refused> {
        if self.in_flight > 0 && self.has_power() && self.device.next_event().is_none() {
            let why = format!(
                "the drive has {} commands and will never finish them (seen at {} ns)",
                self.in_flight, self.now
            );
            return Err(Refused::Run(why));
        }
        Ok(())
    }

    /// Lets time pass to `to`; without it, until nothing is under way.
    fn pass(&mut self, to: Option<Nanos>, watch: &Watch) -> Result<(), Refused> {
        while !self.is_stopped(watch) {
            self.check_alive()?;
            let step = self.now.saturating_add(STEP);
            match to {
                Some(to) => {
                    // Time in which nothing happens passes at once.
                    let step = self.device.next_event().map_or(to, |event| event.max(step)).min(to);
                    self.advance(step);
                    if step == to {
                        return Ok(());
                    }
                }
                None if self.in_flight == 0 => return Ok(()),
                None => self.advance_to_completion(step),
            }
        }
        Err(stopped())
    }

    fn hand_over(&mut self, batch: &Batch, watch: &Watch) -> Result<(), Refused> {
        let commands = batch.op.iter().zip(u64s(&batch.offset)).zip(u64s(&batch.length));
        for (index, ((&op, offset), length)) in commands.enumerate() {
            if index % LOOK_EVERY == 0 && self.is_stopped(watch) {
                return Err(stopped());
            }
            match &batch.pace {
                Pace::Now => {}
                Pace::At(times) => self.advance(times[index]),
                Pace::Depth(depth) => {
                    while self.in_flight >= *depth {
                        self.check_alive()?;
                        self.advance_to_completion(self.now.saturating_add(STEP));
                        if self.is_stopped(watch) {
                            return Err(stopped());
                        }
                    }
                }
            }
            let request = Request::new(self.next_tag, Op::ALL[usize::from(op)], offset, length).with_fua(batch.fua);
            self.device.submit(self.now, request).map_err(|e| Refused::Value(format!("command {index}: {e}")))?;
            self.next_tag += 1;
            self.in_flight += 1;
        }
        Ok(())
    }

    /// Every command against the rules of the device, before any is handed over.
    fn check(&self, batch: &Batch) -> Result<(), String> {
        if !self.has_power() {
            return Err(NO_POWER.to_owned());
        }
        let rows = batch.op.len();
        if batch.offset.len() != rows * 8 || batch.length.len() != rows * 8 {
            return Err("op, offset and length must be of one length".to_owned());
        }
        if let Pace::At(times) = &batch.pace {
            if times.len() != rows {
                return Err("there must be a time for each command".to_owned());
            }
            let mut last = self.now;
            for (index, &at) in times.iter().enumerate() {
                if at < last {
                    let bound = if index == 0 { "now" } else { "the one before it" };
                    return Err(format!("command {index}: its time, {at} ns, lies before {bound}, {last} ns"));
                }
                last = at;
            }
            if last > MAX_DURATION {
                return Err(too_late(last));
            }
        }
        let info = self.device.info();
        let commands = batch.op.iter().zip(u64s(&batch.offset)).zip(u64s(&batch.length));
        for (index, ((&op, offset), length)) in commands.enumerate() {
            let op = Op::ALL.get(usize::from(op)).copied();
            let op = op.ok_or_else(|| format!("command {index}: there is no command of its number"))?;
            info.check(&Request::new(0, op, offset, length)).map_err(|e| format!("command {index}: {e}"))?;
        }
        Ok(())
    }
}

impl Live {
    /// `asks`: whether functions in Python are asked.
    pub fn new(device: Box<dyn Device>, explain: bool, asks: bool) -> Self {
        let (policies, done, fresh) = (Arc::default(), Records::default(), Vec::new());
        let state = State { device, explain, asks, policies, now: 0, next_tag: 0, in_flight: 0, done, fresh };
        Live { state: Arc::new(Mutex::new(Some(state))) }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err("the drive is at work in another thread")),
            Err(TryLockError::Poisoned(_)) => {
                Err(PyRuntimeError::new_err("the drive was left in the middle of an error"))
            }
        }
    }

    fn with<T>(&self, what: impl FnOnce(&mut State) -> T) -> PyResult<T> {
        match &mut *self.lock()? {
            Some(state) => Ok(what(state)),
            None => Err(closed()),
        }
    }

    /// As [`Live::with`], with the interpreter free, and on a thread if it may take long.
    fn working<T: Send + 'static>(
        &self,
        py: Python<'_>,
        long: bool,
        what: impl FnOnce(&mut State, &Watch) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (policies, asks) = self.with(|state| (Arc::clone(&state.policies), state.asks))?;
        if policies.cancel.load(Ordering::Relaxed) {
            return Err(run_error(py, "a policy of this drive has failed, so that nothing is known of it any more"));
        }
        let (state, hears) = (Arc::clone(&self.state), Arc::clone(&policies));
        let work = move |watch: &Arc<Watch>| {
            let mut state = state.lock().ok()?;
            state.as_mut().map(|state| heard_by(&hears, || what(state, watch)))
        };
        // How long a function takes is not known.
        let result = if long || asks {
            watched(py, None, work)?
        } else {
            py.detach(|| ssdlab_core::catch_panic(|| work(&Arc::default()))).map_err(|e| run_error(py, e))?
        };
        policies.take_fault().map_or_else(|| result.ok_or_else(closed), Err)
    }
}

/// Why something was not done.
enum Refused {
    /// What was asked for cannot be.
    Value(String),
    /// The drive is at fault, or who stopped it.
    Run(String),
}

impl Refused {
    fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Refused::Value(what) => value_error(what),
            Refused::Run(what) => run_error(py, what),
        }
    }
}

/// Whoever stopped it has told why.
fn stopped() -> Refused {
    Refused::Run("stopped".to_owned())
}

fn too_late(at: Nanos) -> String {
    format!("{at} ns lies beyond the end of the drive's clock, 366 days")
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("the drive is closed")
}

#[pymethods]
impl Live {
    /// Hands commands over. Arrays come as bytes: numbers of commands, offsets and lengths; `at` in nanoseconds.
    /// Returns the tag of the first.
    #[expect(clippy::too_many_arguments, reason = "called from Python, where a struct would be a class")]
    fn submit(
        &self,
        py: Python<'_>,
        op: Vec<u8>,
        offset: Vec<u8>,
        length: Vec<u8>,
        at: Option<Vec<u8>>,
        queue_depth: Option<u64>,
        fua: bool,
    ) -> PyResult<u64> {
        let pace = match (at, queue_depth) {
            (Some(_), Some(_)) => return Err(value_error("commands have times, or a queue depth: not both")),
            (Some(times), None) => Pace::At(u64s(&times).collect()),
            (None, Some(0)) => return Err(value_error("queue_depth must be at least 1")),
            (None, Some(depth)) => Pace::Depth(depth),
            (None, None) => Pace::Now,
        };
        let long = op.len() > INLINE_COMMANDS || matches!(pace, Pace::At(_));
        let batch = Batch { op, offset, length, fua, pace };
        let result = self.working(py, long, move |state, watch| {
            state.check(&batch).map_err(Refused::Value)?;
            let first = state.next_tag;
            state.hand_over(&batch, watch).map(|()| first)
        })?;
        result.map_err(|refused| refused.raised(py))
    }

    /// Lets time pass to `to`, in nanoseconds; without it, until nothing is under way. Returns what has completed since
    /// it was last called.
    fn advance(&self, py: Python<'_>, to: Option<u64>) -> PyResult<Table> {
        let long = self.with(|state| {
            if !state.has_power() {
                return Err(value_error(NO_POWER));
            }
            if let Some(to) = to.filter(|to| *to < state.now) {
                return Err(value_error(format!("{to} ns lies before now, {} ns", state.now)));
            }
            if let Some(to) = to.filter(|to| *to > MAX_DURATION) {
                return Err(value_error(too_late(to)));
            }
            let short = match to {
                Some(to) => to - state.now < STEP,
                None => state.in_flight <= INLINE_COMMANDS as u64,
            };
            Ok(!short)
        })??;
        self.working(py, long, move |state, watch| state.pass(to, watch))?.map_err(|refused| refused.raised(py))?;
        // Whoever is stopped before here fetches them with the next call.
        let done = self.with(|state| std::mem::take(&mut state.done))?;
        Ok(py.detach(|| done.into_table()))
    }

    /// Takes the power away. Returns how many commands will never be answered.
    fn cut(&self, py: Python<'_>) -> PyResult<u64> {
        let cut = self.working(py, true, |state, _| {
            let plug = state.device.plug().ok_or(NO_PLUG)?;
            if !plug.has_power() {
                return Err("the drive has no power already");
            }
            plug.cut(state.now);
            Ok(std::mem::take(&mut state.in_flight))
        })?;
        cut.map_err(value_error)
    }

    /// Gives the power back. Returns when the drive is ready.
    fn power_on(&self, py: Python<'_>) -> PyResult<u64> {
        let ready = self.working(py, true, |state, _| {
            let plug = state.device.plug().ok_or(NO_PLUG)?;
            if plug.has_power() { Err("the drive has power already") } else { Ok(plug.restore(state.now)) }
        })?;
        ready.map_err(value_error)
    }

    /// STANDBY IMMEDIATE. Returns when it was done, up to which time has passed.
    fn stand_by(&self, py: Python<'_>) -> PyResult<u64> {
        let done = self.working(py, true, |state, _| {
            if state.in_flight > 0 {
                return Err(format!("{} commands are under way: advance() first", state.in_flight));
            }
            let plug = state.device.plug().ok_or(NO_PLUG)?;
            if !plug.has_power() {
                return Err(NO_POWER.to_owned());
            }
            let done = plug.stand_by(state.now);
            state.now = state.now.max(done);
            Ok(state.now)
        })?;
        done.map_err(value_error)
    }

    /// What pieces of `unit_bytes` hold: `offset`, `held`, and `write`, the number of the write. Offsets come as bytes.
    fn held(&self, py: Python<'_>, offset: Vec<u8>) -> PyResult<Table> {
        let held = self.working(py, true, move |state, _| {
            let capacity_bytes = state.device.info().capacity_bytes;
            let plug = state.device.plug().ok_or(NO_PLUG)?;
            if !plug.has_power() {
                return Err(NO_POWER.to_owned());
            }
            let unit_bytes = plug.unit_bytes();
            let (mut words, mut writes) = (Vec::new(), Vec::new());
            for offset in u64s(&offset) {
                if offset % unit_bytes != 0 || offset >= capacity_bytes {
                    return Err(format!("offset {offset} is no multiple of {unit_bytes} below {capacity_bytes}"));
                }
                let (word, write) = match plug.held(offset / unit_bytes) {
                    Held::Nothing => (0, 0),
                    Held::Write(number) => (1, number),
                    Held::Mixed(number) => (2, number),
                    Held::Unreadable => (3, 0),
                };
                words.push(word);
                writes.push(u32::from(write));
            }
            Ok(Table::new(vec![
                Column::u64("offset", "B", u64s(&offset).collect()),
                Column::words("held", &HELD, words),
                Column::u32("write", "", writes),
            ]))
        })?;
        held.map_err(value_error)
    }

    /// Whether its memory was given back.
    #[getter]
    fn is_closed(&self) -> PyResult<bool> {
        Ok(self.lock()?.is_none())
    }

    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.with(|state| state.now)
    }

    #[getter]
    fn in_flight(&self) -> PyResult<u64> {
        self.with(|state| state.in_flight)
    }

    /// What the device has counted since it was powered on, by group.
    fn counters(&self) -> PyResult<Vec<Group>> {
        self.with(|state| {
            let counters = state.counters();
            let mut groups = vec![("host", counters.host.named())];
            groups.extend(counters.flash.map(|g| ("flash", g.named())));
            groups.extend(counters.disk.map(|g| ("disk", g.named())));
            groups.extend(counters.cache.map(|g| ("cache", g.named())));
            groups
        })
    }

    /// Joules drawn since it was powered on; `None` of a device that meters nothing.
    #[getter]
    fn joules(&self) -> PyResult<Option<f64>> {
        self.with(|state| state.counters().energy.map(|energy| energy.nanojoules as f64 / 1e9))
    }

    /// What its sensor says; `None` of a device without one.
    #[getter]
    fn celsius(&self) -> PyResult<Option<f64>> {
        self.with(|state| state.device.celsius())
    }

    /// Least, mean and greatest wear of its blocks, in shares of their rated life; `None` of a device without flash.
    fn wear(&self) -> PyResult<Option<(f64, f64, f64)>> {
        self.with(|state| {
            let wear = state.device.flash()?.wear();
            Some((wear.least, wear.mean, wear.most))
        })
    }

    /// Whether its books balance.
    fn check_books(&self, py: Python<'_>) -> PyResult<()> {
        self.working(py, true, |state, _| state.device.check_books())?.map_err(|e| run_error(py, e))
    }

    /// A copy that goes on from here by itself.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Live> {
        let copy = self.working(py, true, |state, _| {
            let device = state.device.snapshot()?;
            let State { explain, asks, now, next_tag, in_flight, .. } = *state;
            let (policies, done) = (Arc::default(), state.done.clone());
            Some(State { device, explain, asks, policies, now, next_tag, in_flight, done, fresh: Vec::new() })
        })?;
        let copy = copy.ok_or_else(|| run_error(py, "this device cannot be copied"))?;
        Ok(Live { state: Arc::new(Mutex::new(Some(copy))) })
    }

    /// Writes what the drive keeps without power to a file, as if it were shut down now. It goes on by itself.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = self.working(py, true, move |state, _| {
            if state.in_flight > 0 {
                return Err(format!("{} commands are under way: advance() first", state.in_flight));
            }
            if !state.has_power() {
                return Err(NO_POWER.to_owned());
            }
            let mut copy = state.device.snapshot().ok_or(KEEPS_NOTHING)?;
            let plug = copy.plug().ok_or(KEEPS_NOTHING)?;
            let off = plug.stand_by(state.now);
            plug.cut(off);
            let saved = plug.save();
            let capacity_bytes = state.device.info().capacity_bytes;
            write_state_file(&path, capacity_bytes, &saved).map_err(|e| format!("{}: {e}", path.display()))
        })?;
        saved.map_err(|e| run_error(py, e))
    }

    /// A drive that was just powered on becomes the one that was saved; its clock begins anew.
    fn load(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let loaded = self.working(py, true, move |state, _| {
            let bytes = read_state_file(&path, state.device.info().capacity_bytes);
            let bytes = bytes.map_err(|e| format!("{}: {e}", path.display()))?;
            let plug = state.device.plug().ok_or(KEEPS_NOTHING)?;
            plug.load(&bytes).map_err(|e| format!("{} does not fit this drive: {e}", path.display()))?;
            state.now = plug.restore(0);
            Ok(())
        })?;
        loaded.map_err(|e: String| run_error(py, e))
    }

    /// Gives its memory back.
    fn close(&self) -> PyResult<()> {
        *self.lock()? = None;
        Ok(())
    }
}
