//! The security commands of the drive.
//!
//! Two erases, and what a power cut leaves of each:
//!
//! | | SECURITY ERASE UNIT | crypto erase |
//! |---|---|---|
//! | what it does | erases every block that is not empty | changes the media key, and voids every row on flash by an erase point that recoveries honour ([`Translation::void_all`]) |
//! | how long | the erases of the die that they take longest, one after the other | `encryption.crypto_erase_ms` |
//! | a cut before it has ended | everything is gone: firmware notes the erase first, and erases the rest when the power is back, before it is ready | nothing has happened: key and erase point are one program, which counts when it has ended |
//!
//! After both, everything reads as after a TRIM. Rows that a crypto erase has voided are noise under the new key; what the map
//! no longer names is never read, and is erased when the collector comes to it.

mod spec;

use std::sync::Arc;

use ssdlab_core::{Nanos, nanos_from_ms};
use ssdlab_device::Security;
use ssdlab_ftl::Translation;
use ssdlab_nand::LogicalPage;

use crate::SimulatedSsd;
use crate::probe::Checks;
use crate::spec::DriveSpec;

pub use spec::{Cipher, EncryptionSpec, Locking};

/// What the drive knows of its erases. `D`: the drive itself.
#[derive(Clone, Debug)]
pub struct SecurityState<D> {
    /// How long a crypto erase takes; `None`: the drive does not encrypt.
    pub crypto_erase: Option<Nanos>,
    /// The host can lock it.
    locks: bool,
    pub key_changes: u64,
    /// The last erase, until it has ended and the host has been back, or the power has gone.
    last_erase: LastErase<D>,
    /// After a cut: time that the erases still take which were cut short.
    pub left: Nanos,
}

#[derive(Clone, Debug)]
struct LastErase<D> {
    /// When it ends, or has ended; 0 if there is none.
    until: Nanos,
    /// The drive as it was, if a cut can leave it so.
    before: Option<Arc<D>>,
}

impl<D> LastErase<D> {
    const NONE: Self = LastErase { until: 0, before: None };
}

impl<D> SecurityState<D> {
    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        let encryption = drive.encryption.as_ref().filter(|encryption| encryption.cipher != Cipher::None);
        let crypto_erase = encryption.map(|encryption| nanos_from_ms(encryption.crypto_erase_ms));
        let locks = encryption.is_some_and(|encryption| encryption.locking == Locking::Opal2);
        SecurityState { crypto_erase, locks, key_changes: 0, last_erase: LastErase::NONE, left: 0 }
    }

    /// The host is back. An erase that has ended is over; one under way can still be cut short, and what the host wants
    /// waits for its end.
    pub fn host_is_back(&mut self, now: Nanos) {
        if self.last_erase.until <= now {
            self.last_erase = LastErase::NONE;
        }
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// What is under way inside ends before an erase begins. Returns when it begins.
    fn finish_before_erase(&mut self, now: Nanos, command: &str) -> Nanos {
        assert!(self.frontend.in_flight.is_none(), "{command} needs a drive without commands under way");
        self.wake_from_idle(now);
        self.feel(now);
        self.now = self.now.max(now);
        self.finish_inside();
        // An erase that was under way has ended by then.
        self.security.host_is_back(self.now);
        self.plug.command_came();
        self.now
    }

    /// Nothing that the host has written is there any more.
    fn forget_contents(&mut self) {
        self.frontend.read_ahead.clear();
        let all = LogicalPage::all(self.translation.logical_pages());
        self.probe.check(Checks::forget_all);
        self.forgive_lost(all);
        self.security.key_changes += u64::from(self.security.crypto_erase.is_some());
    }

    /// The drive is busy until then, and has nothing to do afterwards.
    fn rest_until(&mut self, ready: Nanos) {
        self.firmware.idle.begin_empty(ready);
        self.now = ready;
        self.firmware.processor.rest_until(ready);
        if self.frontend.link_sleep.is_watched() {
            self.frontend.link_sleep.rest(ready, true);
        }
    }

    /// The power goes: what has become of the last erase.
    pub(crate) fn cut_erase(&mut self, now: Nanos) {
        let mut left = if self.plug.is_starting(now) { self.security.left } else { 0 };
        let LastErase { until, before } = std::mem::replace(&mut self.security.last_erase, LastErase::NONE);
        if now < until {
            match before {
                Some(before) => *self = Arc::unwrap_or_clone(before),
                None => left = until - now,
            }
        }
        self.security.left = left;
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> Security for SimulatedSsd<EXPLAIN, CHECK, T> {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        let at = self.finish_before_erase(now, "SECURITY ERASE UNIT");
        if self.translation.is_read_only() {
            return at;
        }
        let erased = self.translation.secure_erase();
        let takes = self.backend.count_erases(&erased, self.translation.medium().layout());
        self.forget_contents();
        let ready = at + takes;
        self.rest_until(ready);
        self.security.last_erase = LastErase { until: ready, before: None };
        ready
    }

    fn encrypts(&mut self) -> bool {
        self.security.crypto_erase.is_some()
    }

    fn has_opal(&mut self) -> bool {
        self.security.locks
    }

    fn key_change_time(&mut self) -> Nanos {
        self.security.crypto_erase.unwrap_or(0)
    }

    fn crypto_erase(&mut self, now: Nanos) -> Nanos {
        let takes = self.security.crypto_erase.expect("the drive does not encrypt");
        let at = self.finish_before_erase(now, "a crypto erase");
        if self.translation.is_read_only() {
            return at;
        }
        let ready = at + takes;
        // Only a drive with a plug can be cut.
        let before = (CHECK && self.translation.survives_cuts()).then(|| Arc::new(self.clone()));
        self.rest_until(ready);
        self.forget_contents();
        self.ask(|translation, queues| translation.void_all(queues));
        self.security.last_erase = LastErase { until: ready, before };
        ready
    }

    fn key_changes(&mut self) -> u64 {
        self.security.key_changes
    }

    fn wake(&mut self) {
        self.plug.host_is_back();
    }
}
