//! A host adapter: the way from the host to a device, and perhaps a cache on it.
//!
//! **Way.** Firmware and driver take a time for each command, one after the other. Data pass the host interface at its
//! rate, each direction by itself and in order. What passes through to or from the device does so while it is on its
//! way: a command ends when the slower of the two has ended.
//!
//! **Cache.** Writes end once they are in the cache. They take lines; those without a free or clean one wait, in order.
//! A flush policy ([`flush`]) decides when dirty lines go to the device: neighbours as one write, in ascending order of
//! addresses, so many at a time. A line that has data to be written stays where it is. Clean lines are forgotten, the
//! least recently used first. Reads of what the cache has end there; what is missing of a read is read in one piece, and
//! kept. A read that goes on where an earlier one ended is followed by reading ahead.
//!
//! **Flush and forced writes.** With a battery they end in the cache. Without, they wait until every line that was dirty
//! before them is clean, and then for a flush of the device. A flush that fails loses its data: every later write and
//! flush ends with the error.
//!
//! [`host_side`] has the host's commands and the way, [`cache`] all that a cache needs; here they work together, with the device
//! behind them.
//!
//! Not modelled: memory bandwidth and parity of the adapter; trims do not pass a cache.

mod as_plug;
mod cache;
pub mod flush;
mod host_side;
mod sent;
mod spec;
mod way;

use ssdlab_core::Nanos;
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Plug, PowerManagement, Recorder, Refusal, Request, Security, Specimen,
};

use crate::plug_of_pages;
#[doc(hidden)]
pub use as_plug::SavedAdapter;
use cache::Cache;
use host_side::{Event, HostSide};
use sent::For;
pub use spec::{AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, adapter_keys};

/// See the module's own page.
pub struct Adapter {
    info: DeviceInfo,
    host: HostSide,
    cache: Option<Cache>,
    device: Box<dyn Device>,
    /// What the device had written before it came here.
    written_before: u64,
    /// Since the power came back: from when on the drives serve commands.
    ready: Nanos,
    /// What is saved is taken over by the same adapter only.
    specimen: Specimen,
}

impl Adapter {
    /// An adapter with a device at rest.
    #[must_use]
    pub fn new(name: &str, spec: &AdapterSpec, device: Box<dyn Device>) -> Self {
        Adapter::of_model(name, name, spec, device)
    }

    /// The same where the name tells of the device, too; `model`: of the adapter alone, which is what it is saved as. The device is
    /// saved as its own.
    #[must_use]
    pub fn of_model(name: &str, model: &str, spec: &AdapterSpec, device: Box<dyn Device>) -> Self {
        let inner = device.info();
        let cached = spec.cache.is_some();
        let info = DeviceInfo {
            description: format!("{} on {}", inner.name, spec.description),
            kind: "array",
            name: name.to_owned(),
            supports_trim: inner.supports_trim && !cached,
            supports_write_zeroes: inner.supports_write_zeroes && !cached,
            streams: if cached { 1 } else { inner.streams },
            holds_contents: false,
            ..inner.clone()
        };
        Adapter {
            info,
            host: HostSide::new(&spec.link),
            cache: spec.cache.as_ref().map(|cache| Cache::new(cache, &*device)),
            written_before: device.counters().host.write_bytes,
            device,
            ready: 0,
            specimen: as_plug::specimen(model, spec),
        }
    }

    /// The power goes: commands under way never end, and a cache keeps what its battery keeps.
    fn power_cut(&mut self, now: Nanos) {
        self.host.power_cut(now);
        if let Some(cache) = &mut self.cache {
            cache.power_cut();
        }
        self.balance();
    }

    /// What the device has counted by now, other than what was written to it from here, it had counted before.
    fn balance(&mut self) {
        let counted = self.cache.as_ref().map_or(self.host.counters().write_bytes, Cache::landed_bytes);
        self.written_before = self.device.counters().host.write_bytes.saturating_sub(counted);
    }

    /// The host has had no command here since then: a cache will write out.
    fn quiet_since(&mut self, since: Nanos) {
        if let Some(cache) = &mut self.cache {
            self.host.wake_at(cache.quiet_since(since));
        }
    }

    fn device_ended(&mut self, part: &Completion) {
        match (For::whom(part), &mut self.cache) {
            (For::Command(n), _) => self.host.device_ended(n, part),
            (For::Run(number), Some(cache)) => cache.run_ended(number, part, &*self.device),
            (For::Fill(number), Some(cache)) => cache.fill_ended(number, part, &mut self.host, &mut *self.device),
            (For::Run(_) | For::Fill(_), None) => unreachable!("only a cache sends these"),
        }
    }

    fn happened(&mut self, event: Event) {
        match (event, &mut self.cache) {
            (Event::Arrived(n), Some(cache)) => cache.arrived(n, &mut self.host, &mut *self.device),
            (Event::Arrived(n), None) => {
                For::Command(n).send(self.host.now(), self.host.request(n), &mut *self.device);
            }
            (Event::Ends(n), _) => {
                self.host.end(n);
                if self.host.is_quiet() {
                    self.quiet_since(self.host.now());
                }
            }
            (Event::Wake, _) => {}
        }
    }

    /// Whatever happens now does, in order, until nothing more does.
    fn happen(&mut self, parts: &mut Vec<Completion>) {
        loop {
            self.device.advance(self.host.now(), parts);
            let mut quiet = parts.is_empty();
            for part in parts.drain(..) {
                self.device_ended(&part);
            }
            while let Some(event) = self.host.take_event() {
                quiet = false;
                self.happened(event);
            }
            if let Some(cache) = &mut self.cache {
                cache.work(&mut self.host, &mut *self.device);
            }
            if quiet && self.next_event().is_none_or(|at| at > self.host.now()) {
                return;
            }
        }
    }
}

impl Device for Adapter {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        // Into a cache when it is all there; through to the device as it comes.
        self.host.submit(now, request, self.cache.is_some());
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.host.next_event().into_iter().chain(self.device.next_event()).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let mut parts = Vec::new();
        while let Some(at) = self.next_event().filter(|&at| at <= to) {
            self.host.set_now(self.host.now().max(at));
            self.happen(&mut parts);
        }
        self.host.set_now(to);
        self.device.advance(to, &mut parts);
        self.host.hand_over(done);
    }

    /// Commands and bytes as the host asked for them; the rest is the device's.
    fn counters(&self) -> Counters {
        let own = Counters { cache: self.cache.as_ref().map(Cache::counters), ..Counters::default() };
        Counters { host: *self.host.counters(), ..self.device.counters().plus(&own) }
    }

    fn check_books(&self) -> Result<(), String> {
        self.device.check_books().map_err(|e| format!("{}: {e}", self.device.info().name))?;
        self.host.check()?;
        let written = self.device.counters().host.write_bytes - self.written_before;
        let asked = self.host.counters().write_bytes;
        match &self.cache {
            Some(cache) => cache.check(written),
            None if self.host.is_quiet() && written != asked => {
                Err(format!("the device has counted {written} bytes written, the host {asked}"))
            }
            None => Ok(()),
        }
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(Adapter {
            device: self.device.snapshot()?,
            info: self.info.clone(),
            host: self.host.clone(),
            cache: self.cache.clone(),
            written_before: self.written_before,
            ready: self.ready,
            specimen: self.specimen,
        }))
    }

    /// That of the device, if no cache lies before it.
    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        if self.cache.is_some() { None } else { self.device.power() }
    }

    /// As [`Device::power`].
    fn celsius(&self) -> Option<f64> {
        self.device.celsius()
    }

    /// That of the device. Of the cache nothing is noted.
    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        self.device.recorder()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        if self.cache.is_some() { None } else { self.device.security() }
    }

    /// If the device has one of 4 KiB.
    fn plug(&mut self) -> Option<&mut dyn Plug> {
        plug_of_pages(&*self.device).is_some().then_some(self as &mut dyn Plug)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        plug_of_pages(&*self.device).is_some().then_some(self as &dyn Plug)
    }
}
