//! Policies of firmware as Python functions, for studying ideas.

use std::sync::Arc;

use pyo3::prelude::*;
use ssdlab_bench::Lab;
use ssdlab_catalog::{DeviceRecipe, Diagnostic};
use ssdlab_cli::lab::SimulatedDrive;
use ssdlab_device::Device;
use ssdlab_ftl::{Candidate, ChooseVictim, HostUnits};
use ssdlab_ssd::SimulatedSsd;

/// Policies that take the place of those of the drive file.
#[derive(Clone, Default)]
pub struct Policies {
    victim: Option<Arc<ChooseVictim>>,
    pacing: Option<Arc<HostUnits>>,
}

/// What a function that fails makes of the run: it ends with an error that says so.
fn failed(what: &str, error: &PyErr) -> ! {
    panic!("the {what} failed: {error}")
}

impl Policies {
    pub fn new(victim: Option<Py<PyAny>>, pacing: Option<Py<PyAny>>) -> Self {
        let victim = victim.map(|function| -> Arc<ChooseVictim> {
            Arc::new(move |closed: &[Candidate], capacity: u32| {
                Python::attach(|py| {
                    let blocks: Vec<u32> = closed.iter().map(|c| c.block).collect();
                    let valid: Vec<u32> = closed.iter().map(|c| c.valid).collect();
                    let age: Vec<u64> = closed.iter().map(|c| c.age).collect();
                    let answer = function.call1(py, (blocks, valid, age, capacity));
                    let number = answer.and_then(|a| a.extract::<u32>(py));
                    number.unwrap_or_else(|e| failed("victim policy", &e))
                })
            })
        });
        let pacing = pacing.map(|function| -> Arc<HostUnits> {
            Arc::new(move |dead: u32, valid: u32| {
                Python::attach(|py| {
                    let answer = function.call1(py, (dead, valid)).and_then(|a| a.extract::<f64>(py));
                    answer.unwrap_or_else(|e| failed("pacing", &e))
                })
            })
        });
        Policies { victim, pacing }
    }

    pub fn is_none(&self) -> bool {
        self.victim.is_none() && self.pacing.is_none()
    }

    /// A device with these policies in every drive that maps by pages.
    ///
    /// # Errors
    /// As [`DeviceRecipe::build`].
    pub fn build<const EXPLAIN: bool>(&self, recipe: &DeviceRecipe, seed: u64) -> Result<Box<dyn Device>, Diagnostic> {
        recipe.build_with(seed, &|drive, seed| {
            let (name, spec, die) = (&drive.name, &drive.spec, &drive.die.spec);
            if self.is_none() || spec.log_blocks.is_some() {
                let build = if EXPLAIN { ssdlab_ssd::build } else { ssdlab_ssd::build_unexplained };
                return build(name, spec, die, seed);
            }
            let mut ssd = SimulatedSsd::<EXPLAIN, true>::new(name, spec, die, seed)?;
            ssd.study(self.victim.clone(), self.pacing.clone());
            Ok(Box::new(ssd))
        })
    }
}

/// A drive with policies of one's own.
pub struct Studied<'a> {
    pub drive: &'a SimulatedDrive,
    pub policies: &'a Policies,
}

impl Lab for Studied<'_> {
    fn fresh(&self, seed: u64) -> Result<Box<dyn Device>, String> {
        self.policies.build::<true>(self.drive.recipe(), seed).map_err(|e| e.to_string())
    }

    fn name(&self) -> &str {
        self.drive.device()
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        let small = self.drive.recipe().small(by);
        small.map(|recipe| self.policies.build::<true>(&recipe, seed).map_err(|e| e.to_string())).transpose()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        self.drive.reference(model, seed)
    }
}
