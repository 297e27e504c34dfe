//! Policies of firmware as Python functions, for studying ideas.
//!
//! The device asks in the middle of its work, where nothing can be refused. A function that fails stops the run instead:
//! the error goes to whoever waits for it ([`Watch::fail`]), and until the run has ended a policy built in here answers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyWeakrefReference};
use ssdlab_bench::{Begins, Lab, PoweredOn};
use ssdlab_catalog::{DeviceRecipe, Diagnostic, Function};
use ssdlab_cli::failure::Failure;
use ssdlab_cli::lab::SimulatedDrive;
use ssdlab_core::input;
use ssdlab_device::Device;
use ssdlab_ftl::{Candidate, ChooseVictim, HostShare, HostUnits};
use ssdlab_ssd::SimulatedSsd;

use crate::failure::{Wrong, exception};
use crate::watched::Watch;

/// Functions that take the place of policies of the drive file.
#[derive(Clone, Default)]
pub struct Policies {
    held: Option<Held>,
    /// The functions as reports tell of them.
    functions: Vec<Function>,
}

/// The object of Python's `Drive` that has the functions, as [`VICTIM`] and [`PACING`]. A function may reach its own
/// drive: that is a cycle which Python's collector frees, if it sees all of it.
type Held = Arc<Py<PyWeakrefReference>>;

const VICTIM: &str = "victim";
const PACING: &str = "pacing";

/// Characters of an answer that a message repeats.
const SHOWN: usize = 60;

thread_local! {
    /// Who hears of a function that fails on this thread, if not who built the device: a copy of it asks the same functions.
    static HEARS: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// What a function is called in reports: its own name, or that of the type of an object that is called.
fn name_of(function: &Bound<'_, PyAny>) -> String {
    let own = function.getattr("__name__").and_then(|name| name.extract::<String>());
    let name = own.unwrap_or_else(|_| function.get_type().name().map_or("?".to_owned(), |name| name.to_string()));
    input::shortened(&name, SHOWN).into_owned()
}

/// Does something with a device of which `watch` hears when a function fails.
pub fn heard_by<T>(watch: &Arc<Watch>, work: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<Watch>>);
    impl Drop for Before {
        fn drop(&mut self) {
            HEARS.set(self.0.take());
        }
    }
    let _before = Before(HEARS.replace(Some(Arc::clone(watch))));
    work()
}

/// The answer of a function; `None` if the run stops, perhaps because of this very answer.
fn ask<T>(
    builder: &Arc<Watch>,
    held: &Held,
    argument: &str,
    call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
) -> Option<T> {
    let watch = HEARS.with_borrow(|hears| Arc::clone(hears.as_ref().unwrap_or(builder)));
    if watch.cancel.load(Ordering::Relaxed) {
        return None;
    }
    let answer = |py: Python<'_>| {
        // A run that was stopped ends in the background, perhaps later than its drive.
        let held = held.bind(py).upgrade()?;
        held.getattr(argument).and_then(|function| call(&function)).map_err(|e| watch.fail(e)).ok()
    };
    // It cannot be asked any more while the interpreter ends.
    Python::try_attach(answer).flatten()
}

/// The error of a run in which a function raised one. What is no `Exception` means the interpreter, and stays what it is.
fn raised(py: Python<'_>, what: &str, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    let failure = Failure::run(format!("the {what} failed: {error}"));
    let of_run = exception(py, &failure, Wrong::Test);
    of_run.set_cause(py, Some(error));
    of_run
}

fn wrong_answer(answer: &Bound<'_, PyAny>, what: &str, why: &str, help: &str) -> PyErr {
    let text = answer.repr().map(|repr| repr.to_string_lossy().into_owned());
    let mut text = text.unwrap_or_else(|_| format!("a {}", answer.get_type()));
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    let failure = Failure::run(format!("the {what} returned {text}, which is {why}")).help(help);
    exception(answer.py(), &failure, Wrong::Test)
}

fn chosen(function: &Bound<'_, PyAny>, closed: &[Candidate], capacity: u32) -> PyResult<u32> {
    let what = "victim policy";
    let blocks: Vec<u32> = closed.iter().map(|c| c.block).collect();
    let valid: Vec<u32> = closed.iter().map(|c| c.valid).collect();
    let age: Vec<u64> = closed.iter().map(|c| c.age).collect();
    let answer = function.call1((&blocks, valid, age, capacity)).map_err(|e| raised(function.py(), what, e))?;
    let wrong = |why| wrong_answer(&answer, what, why, "return one of the numbers that it is called with first");
    if answer.is_instance_of::<PyBool>() || !answer.hasattr("__index__")? {
        return Err(wrong("no whole number"));
    }
    let number = answer.extract::<u32>().ok().filter(|number| blocks.binary_search(number).is_ok());
    number.ok_or_else(|| wrong("the number of no closed superblock"))
}

fn units(function: &Bound<'_, PyAny>, dead: u32, valid: u32) -> PyResult<f64> {
    let answer = function.call1((dead, valid)).map_err(|e| raised(function.py(), "pacing", e))?;
    let units = answer.extract::<f64>().ok().filter(|units| *units >= 0.0 && !answer.is_instance_of::<PyBool>());
    let help = "return the units that the host may write for each unit moved";
    units.ok_or_else(|| wrong_answer(&answer, "pacing", "no number from 0 on", help))
}

impl Policies {
    /// Of an object that holds the functions as long as they may be asked.
    ///
    /// # Errors
    /// If it is no such object.
    pub fn new(held: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(held) = held else { return Ok(Policies::default()) };
        let of = |key, argument, stand_in| {
            let function = held.getattr(argument)?;
            let told = || Function { key, argument, name: name_of(&function), stand_in };
            PyResult::Ok((!function.is_none()).then(told))
        };
        // Any pacing that limits the host would do: what it says is replaced.
        let functions = [of("gc.policy", VICTIM, None)?, of("gc.host_share", PACING, Some("balanced"))?];
        let functions = functions.into_iter().flatten().collect();
        Ok(Policies { held: Some(Arc::new(PyWeakrefReference::new(held)?.unbind())), functions })
    }

    /// The object that has the function, if there is one.
    fn held(&self, argument: &str) -> Option<Held> {
        self.held.clone().filter(|_| self.functions.iter().any(|function| function.argument == argument))
    }

    /// As a changed device tells of them.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// What a reader of figures must know of each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.functions.iter().map(|Function { key, argument, name, .. }| {
            format!("A function of Python, `{name}`, took the place of `{key}` of the drive file (`{argument}=`).")
        })
    }

    pub fn is_none(&self) -> bool {
        self.functions.is_empty()
    }

    /// Whether the device has drives that would ask them, whatever their keys are set to.
    ///
    /// # Errors
    /// If not.
    pub fn check_asked(&self, recipe: &DeviceRecipe) -> Result<(), Diagnostic> {
        if self.is_none() || recipe.ssds().iter().any(|drive| drive.spec.log_blocks.is_none()) {
            return Ok(());
        }
        let what = format!("{} has no drive that maps by pages, and so none that would ask a policy", recipe.name);
        Err(Diagnostic::new(what).help("choose another device, or leave victim and pacing out"))
    }

    /// Whether drives that would ask them do so, as their keys are set.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, recipe: &DeviceRecipe) -> Result<(), Diagnostic> {
        let ssds = recipe.ssds();
        let mut by_pages = ssds.iter().filter(|drive| drive.spec.log_blocks.is_none());
        let unlimited =
            by_pages.find(|d| matches!(d.spec.gc.host_share, HostShare::Unlimited | HostShare::BetweenRounds));
        match unlimited {
            Some(drive) if self.held(PACING).is_some() => {
                let what =
                    format!("gc.host_share of {} sets the host no limit, so that pacing is never asked", drive.name);
                Err(Diagnostic::new(what).help("leave gc.host_share out: pacing takes its place"))
            }
            _ => Ok(()),
        }
    }

    /// A device with these policies in every drive that maps by pages. If one fails, `watch` is told.
    ///
    /// # Errors
    /// As [`DeviceRecipe::build`].
    pub fn build<const EXPLAIN: bool>(
        &self,
        recipe: &DeviceRecipe,
        seed: u64,
        watch: &Arc<Watch>,
    ) -> Result<Box<dyn Device>, Diagnostic> {
        recipe.build_with(seed, &|drive, seed| {
            let (model, spec, die) = (drive.model(), &drive.spec, &drive.die.spec);
            if self.is_none() || spec.log_blocks.is_some() {
                let build = if EXPLAIN { ssdlab_ssd::build } else { ssdlab_ssd::build_unexplained };
                return build(model, spec, die, seed);
            }
            let mut ssd = SimulatedSsd::<EXPLAIN, true>::new(model, spec, die, seed)?;
            let victim = self.held(VICTIM).map(|held| -> Arc<ChooseVictim> {
                let watch = Arc::clone(watch);
                Arc::new(move |closed, capacity| {
                    let chosen = ask(&watch, &held, VICTIM, |function| chosen(function, closed, capacity));
                    let greedy = || closed.iter().min_by_key(|c| c.valid).map_or(0, |c| c.block);
                    chosen.unwrap_or_else(greedy)
                })
            });
            let pacing = self.held(PACING).map(|held| -> Arc<HostUnits> {
                let watch = Arc::clone(watch);
                Arc::new(move |dead, valid| {
                    ask(&watch, &held, PACING, |function| units(function, dead, valid)).unwrap_or(1.0)
                })
            });
            ssd.study(victim, pacing);
            Ok(Box::new(ssd))
        })
    }
}

/// A drive with policies of one's own.
pub struct Studied<'a> {
    pub drive: &'a SimulatedDrive,
    pub policies: &'a Policies,
    pub watch: &'a Arc<Watch>,
}

impl Lab for Studied<'_> {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let device = self.policies.build::<true>(self.drive.recipe(), seed, self.watch).map_err(|e| e.to_string())?;
        self.drive.power_on(device)
    }

    fn name(&self) -> &str {
        self.drive.device()
    }

    fn begins(&self) -> Begins {
        self.drive.begins()
    }

    fn stored_days(&self) -> u32 {
        self.drive.stored_days()
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        // A drive that was saved has one size.
        if self.drive.is_saved() {
            return Ok(None);
        }
        let small = self.drive.recipe().small(by);
        let build = |recipe: DeviceRecipe| self.policies.build::<true>(&recipe, seed, self.watch);
        small.map(|recipe| build(recipe).map_err(|e| e.to_string())).transpose()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        self.drive.reference(model, seed)
    }
}
