//! What a test is given.

use ssdlab_core::{Nanos, Rng, SECOND, nanos_from_us};
use ssdlab_device::{Device, LinkPolicy};

use super::definition::{COMMON_PARAMS, TestDef};
use crate::error::BenchError;
use crate::host::{Host, Job};
use crate::lab::Lab;
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use crate::params::Params;

/// Devices to test, parameters, a seed, and someone to report to.
pub struct Context<'a> {
    lab: &'a dyn Lab,
    def: &'static TestDef,
    pub params: Params,
    seed: u64,
    monitor: &'a Monitor<'a>,
}

impl<'a> Context<'a> {
    /// # Errors
    /// A setting that the test does not know, or a value out of range.
    pub fn new(
        lab: &'a dyn Lab,
        def: &'static TestDef,
        settings: &[(String, String)],
        seed: u64,
        quick: bool,
        monitor: &'a Monitor<'a>,
    ) -> Result<Self, BenchError> {
        let params = Params::resolve(def.name, &[def.params, COMMON_PARAMS], settings, quick)?;
        Ok(Context { lab, def, params, seed, monitor })
    }

    #[must_use]
    pub fn monitor(&self) -> &'a Monitor<'a> {
        self.monitor
    }

    /// Powers on a new drive, lets `test` use it, and has the drive check its books afterwards. One drive is alive
    /// at a time.
    ///
    /// # Errors
    /// If the drive cannot be made, whatever `test` returns, and [`BenchError::Books`].
    pub fn on_fresh_drive<T>(
        &self,
        test: impl FnOnce(&mut Host<'_>) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let mut device = self.lab.fresh(self.seed).map_err(BenchError::Device)?;
        self.on(&mut *device, self.link_policy(), test)
    }

    /// The same on a new drive of another model, if there is one. Its link stays up.
    ///
    /// # Errors
    /// As [`Context::on_fresh_drive`].
    pub fn on_reference_drive<T>(
        &self,
        model: &str,
        test: impl FnOnce(&mut Host<'_>) -> Result<T, BenchError>,
    ) -> Result<Option<T>, BenchError> {
        let device = self.lab.reference(model, self.seed).map_err(BenchError::Device)?;
        device.map(|mut device| self.on(&mut *device, LinkPolicy::Active, test)).transpose()
    }

    fn on<T>(
        &self,
        device: &mut dyn Device,
        link: LinkPolicy,
        test: impl FnOnce(&mut Host<'_>) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let mut host = Host::new(device, self.monitor);
        host.set_max_transfer_bytes(self.params.integer("max_transfer_bytes"));
        host.set_compressibility(self.params.number("compressibility_percent"));
        host.set_link_policy(link)?;
        let result = test(&mut host)?;
        host.check_books()?;
        Ok(result)
    }

    /// How the host treats the link of an idle drive.
    #[must_use]
    pub fn link_policy(&self) -> LinkPolicy {
        let name = self.params.choice("link_power");
        LinkPolicy::named(name).unwrap_or_else(|| panic!("{name} is offered, but no policy has this name"))
    }

    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The generator of this test's own stream `name`.
    #[must_use]
    pub fn rng(&self, name: &str) -> Rng {
        Rng::new(self.seed).stream(self.def.name).stream(name)
    }

    /// A job with the host's think time.
    #[must_use]
    pub fn job<S>(&self, source: S, queue_depth: u32) -> Job<S> {
        Job::new(source, queue_depth).thinking(nanos_from_us(self.params.number("think_us")))
    }

    /// Lets a prepared drive rest before it is measured.
    ///
    /// # Errors
    /// As [`Host::idle`].
    pub fn settle(&self, host: &mut Host<'_>) -> Result<(), BenchError> {
        Ok(host.idle(self.nanos("settle_seconds"))?)
    }

    /// A parameter in seconds as simulated time.
    #[must_use]
    pub fn nanos(&self, key: &str) -> Nanos {
        self.params.integer(key) * SECOND
    }

    /// An outcome with everything that is known before the test: device, parameters, whether it is shortened.
    #[must_use]
    pub fn outcome(&self, variant: &str, method: String) -> Outcome {
        Outcome {
            test: self.def.name.to_owned(),
            variant: variant.to_owned(),
            device: self.lab.name().to_owned(),
            title: self.def.title.to_owned(),
            method,
            params: self.params.to_json(),
            metrics: Default::default(),
            charts: Vec::new(),
            tables: Vec::new(),
            time_shares: Vec::new(),
            slowest: Vec::new(),
            verdict: None,
            notes: Vec::new(),
            shortened: self.params.shortened(),
        }
    }
}
