//! What a test is given.

use std::borrow::Cow;

use ssdlab_core::{Nanos, Rng, SECOND, SECTOR_BYTES, nanos_from_us};
use ssdlab_device::{Device, ExpectedErrors, LinkPolicy};

use super::definition::{QUICK_DIVISOR, TestDef};
use super::find_test;
use super::words::size;
use crate::error::BenchError;
use crate::host::{Host, Job};
use crate::lab::{Begins, Lab, PoweredOn};
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use crate::params::{ParamDef, Params};

/// The parameter of the rest between preparing the drive and measuring it.
pub(super) const REST: &str = "settle_seconds";

/// Devices to test, parameters, a seed, and someone to report to.
pub struct Context<'a> {
    lab: &'a dyn Lab,
    def: &'static TestDef,
    pub params: Params,
    seed: u64,
    /// What the drive was divided by, if the test runs on it in small.
    small: Option<u32>,
    /// It was to run on the drive in small, which cannot be made.
    is_whole_after_all: bool,
    monitor: &'a Monitor<'a>,
}

/// Whether a parameter is the size of requests, or of the smallest of them.
fn is_request_size(key: &str) -> bool {
    key.ends_with("block_size") || key == "size_min_bytes"
}

/// Refuses requests of a part of a sector, of which `what` says what they are.
fn check_sectors(host: &Host<'_>, what: &str, bytes: u64) -> Result<(), BenchError> {
    let (name, sector_bytes) = (&host.info().name, u64::from(host.info().sector_bytes));
    if bytes.is_multiple_of(sector_bytes) {
        return Ok(());
    }
    let problem = format!("{what} {bytes} bytes, and {name} takes multiples of {sector_bytes} bytes");
    Err(BenchError::Unsuitable(problem))
}

/// What is filled before, where that can be chosen.
const FILLS: &str = "prefill";
/// The same of `power-cut`, which fills a saved drive as any.
const FILLS_ANY: &str = "fill";

/// A drive that was saved is not filled before by a test that can do without, unless that is asked for: its state is what the test is
/// about.
fn as_it_begins<'s>(begins: Begins, def: &TestDef, settings: &'s [(String, String)]) -> Cow<'s, [(String, String)]> {
    let unsaid = def.params.iter().any(|param| param.key == FILLS) && settings.iter().all(|(key, _)| key != FILLS);
    if begins == Begins::Saved && unsaid {
        let none = (FILLS.to_owned(), "none".to_owned());
        return settings.iter().cloned().chain([none]).collect::<Vec<_>>().into();
    }
    settings.into()
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
        let by = QUICK_DIVISOR as u32;
        let small = quick && !def.on_whole_drive && lab.small(by, seed).map_err(BenchError::Device)?.is_some();
        // What a disk does in a part of the time is no part of what it does: its cache fills first, and a run that begins in
        // one place gets no further. It does little in a second, so that a quick run of it can take all of them: unless the
        // seconds are the user's own, as they are of a real drive.
        let may_keep_times = quick && !small && !lab.begins().is_real();
        let whole_times = may_keep_times && lab.has_disk(seed).map_err(BenchError::Device)?;
        let settings = as_it_begins(lab.begins(), def, settings);
        let mut params = def.resolve_for(&settings, quick, whole_times)?;
        if small {
            params.shrink_spans(QUICK_DIVISOR);
        }
        let is_whole_after_all = may_keep_times && !whole_times && !def.on_whole_drive;
        Ok(Context { lab, def, params, seed, small: small.then_some(by), is_whole_after_all, monitor })
    }

    /// Whether the test runs on the drive in small.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.small.is_some()
    }

    /// What is to be said of a quick run on the whole of a drive that other quick runs have in small. A disk is whole in each.
    pub(super) fn note_of_size(&self) -> Option<String> {
        let why = match self.begins() {
            Begins::Saved => "a drive that was saved keeps its size",
            _ => "it cannot be made small in its proportions",
        };
        let note = || {
            format!(
                "On the whole drive, although the run is a quick one: {why}. Amounts and pauses are those of the whole drive, and \
                 other quick runs leave them out."
            )
        };
        self.is_whole_after_all.then(note)
    }

    /// What the drive has been divided by: 1 of a whole one.
    #[must_use]
    pub fn small_by(&self) -> u32 {
        self.small.unwrap_or(1)
    }

    /// The expected number of units that the whole drive loses. In small it has a part of them, and one lost of these is many
    /// lost of all.
    #[must_use]
    pub fn lost_of_whole(&self, of_this: ExpectedErrors) -> f64 {
        of_this.lost * f64::from(self.small_by())
    }

    /// What a second of the published method has become: the dots of a chart by time.
    #[must_use]
    pub fn moment(&self) -> Nanos {
        SECOND / u64::from(self.small_by())
    }

    fn drive(&self) -> Result<PoweredOn, BenchError> {
        let in_small = self.small.map(|by| self.lab.small(by, self.seed)).transpose();
        match in_small.map_err(BenchError::Device)?.flatten() {
            Some(device) => Ok(device.into()),
            None => self.lab.fresh(self.seed).map_err(BenchError::Device),
        }
    }

    /// In which state a drive is that a test has just been given.
    #[must_use]
    pub fn begins(&self) -> Begins {
        self.lab.begins()
    }

    /// What is to be said of a drive that does not come from the factory: of one that was saved, whether the test leaves its state as
    /// it is.
    pub(super) fn note_of_beginning(&self) -> Option<Cow<'static, str>> {
        let is_asked_for =
            |param: &&ParamDef| [FILLS, FILLS_ANY].contains(&param.key) && self.params.choice(param.key) != "none";
        let fills = || self.def.params.iter().find(is_asked_for).map(|_| "fills first");
        match self.def.prepares().or_else(fills) {
            Some(prepares) if self.begins() == Begins::Saved => Some(
                format!(
                    "On a drive as it was saved, which this test {prepares}: what it measures then is no longer the state that \
                     was saved."
                )
                .into(),
            ),
            _ => self.begins().note().map(Cow::from),
        }
    }

    /// As [`Lab::stored_days`].
    #[must_use]
    pub fn stored_days(&self) -> u32 {
        self.lab.stored_days()
    }

    /// Commands that the device takes at once.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn queue_depth(&self) -> Result<u32, BenchError> {
        self.lab.queue_depth(self.seed).map_err(BenchError::Device)
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
        self.on(&mut self.drive()?, self.link_policy(), test)
    }

    /// Prepares a new drive once and runs each of `loads` on a copy of it as `prepare` left it, so that no load finds the
    /// drive as another has left it. Two drives are alive at a time. A real drive has no copies: it is prepared anew for each.
    ///
    /// # Errors
    /// As [`Context::on_fresh_drive`], and [`BenchError::Unsuitable`] if the drive cannot be copied.
    pub fn on_copies<P, L, T>(
        &self,
        loads: &[L],
        mut prepare: impl FnMut(&mut Host<'_>) -> Result<P, BenchError>,
        mut run: impl FnMut(&mut Host<'_>, &P, usize, &L) -> Result<T, BenchError>,
    ) -> Result<(P, Vec<T>), BenchError> {
        let mut original = self.drive()?;
        let (mut prepared, mut now) = self.prepared(&mut original, &mut prepare)?;
        let real = original.device.clock().is_some();
        let mut results = Vec::with_capacity(loads.len());
        for (i, load) in loads.iter().enumerate() {
            if real && i > 0 {
                // Nobody else may have it open.
                drop(original);
                original = self.drive()?;
                (prepared, now) = self.prepared(&mut original, &mut prepare)?;
            }
            let mut copy;
            let device: &mut dyn Device = if real || i + 1 == loads.len() {
                &mut *original.device
            } else {
                copy = original.device.snapshot().ok_or_else(|| self.no_copies())?;
                &mut *copy
            };
            let mut host = Host::resuming(device, self.monitor, now);
            self.set_up(&mut host)?;
            results.push(run(&mut host, &prepared, i, load)?);
            host.check_books()?;
        }
        Ok((prepared, results))
    }

    /// A new drive once `prepare` has had it, and its time then.
    fn prepared<P>(
        &self,
        device: &mut PoweredOn,
        prepare: &mut impl FnMut(&mut Host<'_>) -> Result<P, BenchError>,
    ) -> Result<(P, Nanos), BenchError> {
        self.on(device, self.link_policy(), |host| Ok((prepare(host)?, host.now())))
    }

    /// Brings a new drive from each of `states` to the next, and in each runs every one of `loads` on a copy of it, so that
    /// a load changes nothing for the others. Two drives are alive at a time.
    ///
    /// # Errors
    /// As [`Context::on_copies`].
    pub fn on_copies_in_states<S, L, T>(
        &self,
        states: &[S],
        loads: &[L],
        mut prepare: impl FnMut(&mut Host<'_>, &S) -> Result<(), BenchError>,
        mut run: impl FnMut(&mut Host<'_>, &L) -> Result<T, BenchError>,
    ) -> Result<Vec<Vec<T>>, BenchError> {
        let PoweredOn { device: mut original, ready } = self.drive()?;
        if original.clock().is_some() {
            return Err(self.no_copies());
        }
        let mut now = ready;
        let mut all = Vec::with_capacity(states.len());
        for (i, state) in states.iter().enumerate() {
            let mut host = Host::resuming(&mut *original, self.monitor, now);
            self.set_up(&mut host)?;
            if i == 0 {
                host.set_link_policy(self.link_policy())?;
            }
            prepare(&mut host, state)?;
            host.check_books()?;
            now = host.now();
            let mut results = Vec::with_capacity(loads.len());
            for load in loads {
                let mut copy = original.snapshot().ok_or_else(|| self.no_copies())?;
                let mut host = Host::resuming(&mut *copy, self.monitor, now);
                self.set_up(&mut host)?;
                results.push(run(&mut host, load)?);
                host.check_books()?;
            }
            all.push(results);
        }
        Ok(all)
    }

    fn no_copies(&self) -> BenchError {
        let name = self.lab.name();
        BenchError::Unsuitable(format!("{name} cannot be copied, so that its loads cannot start alike"))
    }

    /// Lets `test` use a new drive of the model that it measures others by, if there is one. Its link stays up.
    ///
    /// # Errors
    /// As [`Context::on_fresh_drive`].
    pub fn on_reference_drive<T>(
        &self,
        test: impl FnOnce(&mut Host<'_>) -> Result<T, BenchError>,
    ) -> Result<Option<T>, BenchError> {
        let Some(model) = self.def.reference else { return Ok(None) };
        let device = self.lab.reference(model, self.seed).map_err(BenchError::Device)?;
        device.map(|device| self.on(&mut device.into(), LinkPolicy::Active, test)).transpose()
    }

    fn on<T>(
        &self,
        powered: &mut PoweredOn,
        link: LinkPolicy,
        test: impl FnOnce(&mut Host<'_>) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let mut host = Host::resuming(&mut *powered.device, self.monitor, powered.ready);
        self.set_up(&mut host)?;
        host.set_link_policy(link)?;
        let result = test(&mut host)?;
        host.check_books()?;
        Ok(result)
    }

    /// Before anything is done to the drive: what cannot be sent to it is no reason to trim and fill it first.
    fn set_up(&self, host: &mut Host<'_>) -> Result<(), BenchError> {
        if self.def.sends_single_sectors {
            check_sectors(host, "it sends requests of", SECTOR_BYTES)?;
        }
        for key in self.def.all_params().map(|param| param.key).filter(|key| is_request_size(key)) {
            check_sectors(host, &format!("{key} is"), self.params.integer(key))?;
        }
        host.set_max_transfer_bytes(self.params.integer("max_transfer_bytes"));
        host.set_compressibility(self.params.number("compressibility_percent"));
        Ok(())
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
        Ok(host.idle(nanos_from_us(self.rest_seconds() * 1e6))?)
    }

    /// The same of a drive to which nothing was done before: one that was saved may have left something undone, another has nothing
    /// to do, unless a rest was asked for.
    ///
    /// # Errors
    /// As [`Host::idle`].
    pub fn settle_unprepared(&self, host: &mut Host<'_>) -> Result<(), BenchError> {
        let rests = self.begins() == Begins::Saved || self.params.is_set_otherwise(REST);
        if rests { self.settle(host) } else { Ok(()) }
    }

    /// How long that is: in small as much less as the drive is smaller, unless somebody set it.
    #[must_use]
    pub fn rest_seconds(&self) -> f64 {
        let seconds = self.params.integer(REST) as f64;
        if self.params.is_set(REST) { seconds } else { seconds / f64::from(self.small_by()) }
    }

    /// How each load of [`Context::on_copies`] finds a drive that was filled, for a sentence.
    #[must_use]
    pub fn each_filled(&self) -> &'static str {
        match self.begins() {
            Begins::New | Begins::Saved => "on a copy of the filled drive",
            Begins::Trimmed | Begins::AsFound => "on the drive filled anew",
        }
    }

    /// A parameter in seconds as simulated time.
    #[must_use]
    pub fn nanos(&self, key: &str) -> Nanos {
        match self.params.seconds(key) {
            whole if whole.fract() == 0.0 => whole as Nanos * SECOND,
            part => nanos_from_us(part * 1e6),
        }
    }

    /// On a drive in small, so many requests become as many less as it is smaller: writes fill its caches as far. On a real
    /// one, a quick run takes as many less as it takes less time.
    pub fn shrink_requests(&mut self, key: &str) {
        let is_short = self.params.is_quick() && self.begins().is_real();
        if let Some(by) = self.small.map(u64::from).or(is_short.then_some(QUICK_DIVISOR)) {
            self.params.shrink_requests(key, by);
        }
    }

    /// How the test of this outcome was shortened, in a sentence; `None` at full length.
    fn shortened(&self, out: &Outcome) -> Option<String> {
        let times = self.params.shortened();
        let short = out.writes_short_by().map(|by| format!("{} times less than the published trace", factor(by)));
        if self.small.is_none() {
            let short = short.map(|by| format!(" The drive is written {by} writes it: {NO_ORDER}."));
            return times.map(|times| times + &short.unwrap_or_default());
        }
        let times = times.map_or(String::new(), |t| format!(" Here, {t}"));
        if let Some(by) = short {
            return Some(format!(
                "on an eighth of the drive, which is written {by} writes the whole one, so that collection hardly begins: \
                 {NO_ORDER}.{times}"
            ));
        }
        let keys = self.params.shortened_keys();
        let is_time = |key: &String| self.def.params.iter().any(|p| p.key == key && p.unit == "s");
        let how = match out.length_short_by() {
            Some((def, by)) => format!(" but for {}, {} times less than that", def.key.replace('_', " "), factor(by)),
            None if keys.iter().all(is_time) => ": an eighth of the time makes as many drive writes".to_owned(),
            None => String::new(),
        };
        Some(format!("on an eighth of the drive, in the same proportions{how}.{times}"))
    }

    /// The title of the test, with the block size that it is run with where it names one.
    fn title(&self) -> String {
        let named = self.def.params.iter().find(|p| p.key == "block_size").and_then(|p| p.default.parse().ok());
        named.map_or_else(
            || self.def.title.to_owned(),
            |named| self.def.title.replace(&size(named), &size(self.params.integer("block_size"))),
        )
    }

    /// An outcome with everything that is known before the test: device, parameters, whether it is shortened.
    #[must_use]
    pub fn outcome(&self, variant: &str, method: String) -> Outcome {
        let mut params = self.params.to_json();
        if self.is_small() && !self.params.is_set(REST) {
            params.insert(REST.to_owned(), self.rest_seconds().into());
        }
        let out = Outcome {
            test: self.def.name.to_owned(),
            variant: variant.to_owned(),
            device: self.lab.name().to_owned(),
            title: self.title(),
            method,
            params,
            shortened_params: self.params.shortened_keys(),
            set_params: self.params.set_keys(),
            small_by: self.small,
            ..Outcome::default()
        };
        Outcome { shortened: self.shortened(&out), ..out }
    }
}

/// What becomes of figures of a trace that is too short.
const NO_ORDER: &str = "its figures put drives in no order";

/// From so many times on, what a run leaves out is what sets drives apart.
const TOO_SHORT: f64 = 2.0;

/// How many times, for a sentence.
fn factor(times: f64) -> String {
    let text = format!("{times:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Outcome {
    /// What its length is counted in, and how many times less it has of it than the published run in proportion to the drive,
    /// where `--quick` shortens that by more than the drive.
    fn length_short_by(&self) -> Option<(&'static ParamDef, f64)> {
        // A part of a request is no difference.
        const ALIKE: f64 = 1.01;
        let test = find_test(&self.test).ok()?;
        let drive = f64::from(self.small_by.unwrap_or(1));
        let short = |def: &'static ParamDef| {
            let published: f64 = def.default.parse().ok()?;
            Some((def, published / self.params.get(def.key)?.as_f64()? / drive))
        };
        let is_counted = |def: &&'static ParamDef| {
            def.quick_divisor > QUICK_DIVISOR && self.shortened_params.iter().any(|key| key == def.key)
        };
        test.params.iter().filter(is_counted).find_map(short).filter(|&(_, by)| by > ALIKE)
    }

    /// How many times less a run of Storage Bench writes its drive than the published trace writes the whole one, if that is
    /// at least twice: its figures put drives in no order, since collection has hardly begun when it ends.
    #[must_use]
    pub fn writes_short_by(&self) -> Option<f64> {
        let is_trace = |def: &ParamDef| def.quick_divisor as f64 >= TOO_SHORT * QUICK_DIVISOR as f64;
        self.length_short_by().filter(|&(def, by)| is_trace(def) && by >= TOO_SHORT).map(|(_, by)| by)
    }
}
