//! The drive as the bench sees it.

use ssdlab_core::Nanos;
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Flash, LinkPolicy, Plug, PowerManagement, Recorder, Refusal, Request,
    Security, Timeline,
};

use ssdlab_ftl::Translation;

use crate::SimulatedSsd;
use crate::backend::NEVER;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> Device for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    #[inline(always)]
    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        if self.frontend.in_flight.is_none()
            && (self.firmware.idle.has_begun() || self.frontend.link_sleep.is_watched())
        {
            self.wake_from_idle(now);
        }
        self.frontend.in_flight.begun(now);
        if self.frontend.host_queue.sends(request.op) {
            self.accept(now, now, request);
        } else {
            self.frontend.host_queue.hold(now, request);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let processed_at = self.firmware.processor.next_event().unwrap_or(NEVER);
        let finished_at = self.frontend.commands.next_event().unwrap_or(NEVER);
        let (die_at, _) = self.backend.next_event();
        let at =
            die_at.min(processed_at).min(finished_at).min(self.idle_work_at()).min(self.frontend.held.next_event());
        (at != NEVER).then_some(at)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.run(to, false, done);
    }

    #[inline]
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        self.run(limit, true, done)
    }

    fn counters(&self) -> Counters {
        Counters {
            host: self.host,
            flash: Some(self.flash_counters()),
            disk: None,
            cache: None,
            energy: self.energy(),
            heat: self.warmth(),
        }
    }

    fn check_books(&self) -> Result<(), String> {
        self.check_own_books()?;
        self.translation.check_invariants()
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(self.clone()))
    }

    fn flash(&mut self) -> Option<&mut dyn Flash> {
        Some(self)
    }

    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        self.power.is_some().then_some(self as &mut dyn PowerManagement)
    }

    fn celsius(&self) -> Option<f64> {
        self.temperature()
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        EXPLAIN.then_some(self as &mut dyn Recorder)
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        Some(self)
    }

    /// Which writes are there after a cut, only a drive can tell that numbers them: one that checks.
    fn plug(&mut self) -> Option<&mut dyn Plug> {
        (CHECK && self.translation.survives_cuts()).then_some(self as &mut dyn Plug)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        (CHECK && self.translation.survives_cuts()).then_some(self as &dyn Plug)
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> Recorder for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn record(&mut self, stretches: usize) {
        let (now, backend) = (self.now, &self.backend);
        self.probe.explain(|explanations| explanations.record(stretches, now, backend.under_way()));
    }

    fn recorded_since(&mut self, from: Nanos) -> Timeline {
        let Some(records) = self.probe.records() else { return Timeline::default() };
        let held = self.frontend.host_queue.held().map(|(request, at)| (at, *request));
        let open = self.frontend.commands.open().chain(held);
        let open: Vec<_> = open.map(|(at, request)| Completion::under_way(&request, at, self.now)).collect();
        records.since(from, self.now, &open, self.translation.medium().layout())
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> PowerManagement for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn supports_link_policy(&self, policy: LinkPolicy) -> bool {
        self.power.as_deref().map_or(policy == LinkPolicy::Active, |(spec, _)| spec.supports(policy))
    }

    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy) {
        assert!(
            self.frontend.in_flight.is_none(),
            "the host's policy for an idle link changes while commands are under way"
        );
        assert!(self.supports_link_policy(policy), "the link of {} does not know {}", self.info.name, policy.name());
        if let Some((spec, _)) = self.power.as_deref() {
            let at_rest = self.is_at_rest();
            self.frontend.link_sleep.set_policy(now, policy, spec, at_rest);
        }
    }
}
