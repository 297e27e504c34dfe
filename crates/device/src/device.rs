//! The one trait that everything meets at.

use serde::{Deserialize, Serialize};
use ssdlab_core::Nanos;

use crate::completion::Completion;
use crate::counters::Counters;
use crate::flash::Flash;
use crate::info::DeviceInfo;
use crate::link_policy::LinkPolicy;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::timeline::Recorder;

/// Something that serves I/O over time.
///
/// A device is polled in its own time, so that devices compose: an array is a device made of devices. Time never runs
/// backwards: `now` and `to` must not be smaller than in any earlier call.
pub trait Device: Send {
    fn info(&self) -> &DeviceInfo;

    /// Hands over a command at time `now`. More than `queue_depth` commands may be handed over. Those beyond it wait
    /// outside the device, and the wait counts as [`ssdlab_core::Cause::Queue`].
    ///
    /// # Errors
    /// [`Refusal`], by the rules of [`DeviceInfo::check`]. A command that is refused has not happened.
    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal>;

    /// When something will happen by itself (a completion, or work inside); `None` if the device is at rest.
    fn next_event(&self) -> Option<Nanos>;

    /// What time it is, if time passes by itself: a real device. `None`: it passes only as far as [`Device::advance`] lets it. Never
    /// before the time up to which it has been let.
    fn clock(&self) -> Option<Nanos> {
        None
    }

    /// More about the last command that ended badly, where the device knows more than [`crate::Status`] says.
    fn trouble(&self) -> Option<&str> {
        None
    }

    /// Lets time pass to `to`, and appends every completion up to and including that time, in time order.
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>);

    /// Lets time pass until the first instant at which a command completes, but not past `limit`. Returns the time
    /// reached: the instant of the completions appended, or `limit`. Parts of the device that have nothing to do may stay behind
    /// until they do, or until [`Device::advance`].
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let before = done.len();
        while let Some(at) = self.next_event().filter(|&at| at <= limit) {
            self.advance(at, done);
            if done.len() > before {
                return at;
            }
        }
        self.advance(limit, done);
        limit
    }

    /// Tells `drive` the number of each drive that holds some of these bytes, once for each piece. A device that is one drive, or
    /// does not show what it is made of, is drive 0 with the queue of its own.
    fn drives_with(&self, _offset_bytes: u64, _length_bytes: u64, drive: &mut dyn FnMut(usize)) {
        drive(0);
    }

    /// How many commands each of these drives takes at once.
    fn drive_queue_depths(&self) -> Vec<u32> {
        vec![self.info().queue_depth]
    }

    /// Of the time up to which [`Device::advance`] was last called: what parts draw that have stayed behind since is missing.
    fn counters(&self) -> Counters;

    /// Checks the device's own accounts (bytes in and out, time in the queue, whatever it keeps twice). An error is a bug
    /// in the device.
    ///
    /// # Errors
    /// The first discrepancy found, in full.
    fn check_books(&self) -> Result<(), String>;

    /// A copy in memory that goes on from here by itself, commands under way included. `None` from a device that cannot
    /// be copied.
    fn snapshot(&self) -> Option<Box<dyn Device>> {
        None
    }

    /// Its flash, if it is simulated flash.
    fn flash(&mut self) -> Option<&mut dyn Flash> {
        None
    }

    /// The power management of its link, if it has any.
    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        None
    }

    /// What its sensor says, in degrees Celsius, if it has one. Of several devices, the warmest.
    fn celsius(&self) -> Option<f64> {
        None
    }

    /// What its parts do, noted for later, if it can tell.
    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        None
    }

    /// Its security commands, if it has them.
    fn security(&mut self) -> Option<&mut dyn Security> {
        None
    }

    /// Its plug, if it can be pulled.
    fn plug(&mut self) -> Option<&mut dyn Plug> {
        None
    }

    /// The same, to be asked only: who has the one has the other.
    fn plug_seen(&self) -> Option<&dyn Plug> {
        None
    }
}

/// A device whose link can sleep.
pub trait PowerManagement {
    /// Whether the device knows every state of the link that `policy` asks for.
    fn supports_link_policy(&self, policy: LinkPolicy) -> bool;

    /// From `now` on, the host treats the link in this way while it has no commands. [`LinkPolicy::Active`] unless set.
    ///
    /// # Panics
    /// If commands are under way, or the device does not support the policy.
    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy);
}

/// A device with the ATA security commands.
pub trait Security {
    /// SECURITY ERASE UNIT: every block erased, nothing mapped, wear kept. Returns the time at which the device is ready
    /// again; commands that are submitted before then wait for it. A read-only device stays as it is. Once it has begun,
    /// everything is gone, even if the power goes before it has ended: the device goes on with it when the power is
    /// back, and is ready after that.
    ///
    /// # Panics
    /// If commands are under way.
    fn secure_erase(&mut self, now: Nanos) -> Nanos;

    /// Whether the device encrypts what it stores with a media key of its own, so that it has a crypto erase.
    fn encrypts(&mut self) -> bool {
        false
    }

    /// Changes the media key (ATA CRYPTO SCRAMBLE EXT, GenKey of TCG Opal): nothing is mapped from then on, and no copy that is
    /// still on the medium ever comes back. Returns the time at which that is so, and the device is ready again; commands
    /// that are submitted before then wait for it. If the power goes before, it has not happened, and all data are there.
    /// A read-only device stays as it is: see [`Security::key_changes`].
    ///
    /// # Panics
    /// If commands are under way, or the device does not encrypt.
    fn crypto_erase(&mut self, now: Nanos) -> Nanos {
        panic!("a crypto erase at {now} ns of a device that does not encrypt");
    }

    /// Whether hosts can give it passwords, and lock ranges of it: TCG Opal 2.0. Whoever serves the device has the ranges and keeps
    /// them locked; see [`Device::security`].
    fn has_opal(&mut self) -> bool {
        false
    }

    /// How long a change of a media key takes, of the whole device or of a range; 0 if the device does not encrypt.
    fn key_change_time(&mut self) -> Nanos {
        0
    }

    /// How often the media key has been changed in the device's life, by either erase.
    fn key_changes(&mut self) -> u64 {
        0
    }

    /// A command for whoever keeps the ranges locked has come, which the device does not see: a cut from now on is no clean one,
    /// until it stands by again ([`Plug::stand_by`]).
    fn wake(&mut self) {}
}

/// A device whose plug can be pulled, and which comes back with what such a device would have kept.
pub trait Plug {
    /// Whether the device has power. With power it may still not be ready.
    fn has_power(&self) -> bool;

    /// Takes the power away at `now`, up to which time has passed. Commands under way are never answered. While the power
    /// is off, nothing is submitted, and no time passes inside.
    ///
    /// # Panics
    /// If the power is off.
    fn cut(&mut self, now: Nanos);

    /// Gives the power back. Returns the time at which the device is ready; commands that are submitted before then wait
    /// for it.
    ///
    /// # Panics
    /// If the power is on.
    fn restore(&mut self, now: Nanos) -> Nanos;

    /// STANDBY IMMEDIATE: brings everything to the medium, as before an orderly shutdown. Returns the time at which that is
    /// done. A cut after it, with no command between, is a clean one.
    ///
    /// # Panics
    /// If commands are under way, or the power is off.
    fn stand_by(&mut self, now: Nanos) -> Nanos;

    /// What the device keeps without power, for a file: its medium with all that its firmware has there, and what it counts
    /// for SMART.
    ///
    /// # Panics
    /// If the power is on.
    fn save(&self) -> Vec<u8>;

    /// A device fresh from the factory becomes the one that was saved, with the power off. Times begin anew.
    ///
    /// # Errors
    /// If it was saved by another model, another one of its kind, or in another form. The device is of no use then.
    ///
    /// # Panics
    /// If it has worked before.
    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError>;

    /// Cuts that were not clean: STANDBY IMMEDIATE was not the host's last command, or had not ended. Whether anything had been
    /// written makes no difference.
    fn unclean_shutdowns(&self) -> u64;

    /// How often the device has been given power in its life, the first time included; and how long it has had power by `now`.
    fn power_cycles(&self) -> u64;
    fn time_powered(&self, now: Nanos) -> Nanos;

    /// Bytes that the device keeps or loses as one, and whose writes it counts: a power of two, 4096 or more.
    fn unit_bytes(&self) -> u64 {
        4096
    }

    /// What the device has counted in its life by `now`: some hundred bytes, for who notes them more often than [`Plug::save`]
    /// is worth. Empty: nothing.
    fn totals(&self, _now: Nanos) -> Vec<u8> {
        Vec::new()
    }

    /// Whether [`Plug::count_at_least`] would take these.
    ///
    /// # Errors
    /// If they are of another device.
    fn check_totals(&self, _totals: &[u8]) -> Result<(), LoadError> {
        Ok(())
    }

    /// The device is one that was saved, and went on without being saved again: it has counted at least what
    /// [`Plug::totals`] gave then, and had been given power so often. With the power on, and no commands under way.
    ///
    /// # Errors
    /// If they are of another device. Then nothing has changed.
    fn count_at_least(&mut self, _totals: &[u8]) -> Result<(), LoadError> {
        Ok(())
    }

    /// What the unit of [`Plug::unit_bytes`] with this number holds, for who keeps the bytes or checks what a cut has left.
    /// Asked while the power is on.
    fn held(&self, unit: u64) -> Held;

    /// The number of the last write of a unit that the device had accepted when time last passed, be it that the power is off
    /// now; 0: none, or the unit was trimmed since. Some devices count on through a trim, so that who trims must ask. `None`: this
    /// one begins anew at 1.
    fn accepted(&self, _unit: u64) -> Option<u8> {
        None
    }

    /// What each sector of a unit of 4 KiB holds: of [`Held::Mixed`], several writes.
    fn sectors(&self, unit: u64) -> [Held; 8] {
        [self.held(unit); 8]
    }

    /// Whether a FLUSH that was answered keeps what it promises; false for a device that is made to lie.
    fn keeps_flushes(&self) -> bool {
        true
    }

    /// What the last cut destroyed that had been on the medium before, as far as the device can tell, and found since by
    /// [`Plug::restore`].
    fn destroyed(&self) -> Vec<Destroyed> {
        Vec::new()
    }

    /// The units that are [`Held::Unreadable`], in no order. Asked while the power is on.
    fn unreadable(&self) -> Vec<u64> {
        Vec::new()
    }

    /// The greatest number that a write of a unit can have; after it comes 1.
    fn greatest_write_number(&self) -> u8;
}

/// Why what was saved is not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("it is of form {found}, and this program knows form {known}")]
    Format { found: u32, known: u32 },
    #[error("it is of the drive with seed {found}, not {own}")]
    Seed { found: u64, own: u64 },
    #[error("its drive file or die file has other values, or another name")]
    OtherDrive,
    #[error("it is of a set whose stripes, ranges or members are others")]
    OtherSet,
    #[error("it is damaged")]
    Damaged,
}

/// What a unit of a device holds; see [`Plug::unit_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// It was never written, or trimmed since.
    Nothing,
    /// The write of this number. The device counts the writes of each unit from 1, in the order in which it accepts them; a
    /// write of some of its sectors counts too. After a cut it counts on from the write that it holds, or from 1 where it
    /// holds none. From which it counts on after a trim [`Plug::accepted`] tells. See [`Plug::greatest_write_number`].
    Write(u8),
    /// Since the last cut its sectors are of several writes, of which this is the newest: see [`Plug::sectors`]. From the next
    /// write or cut on it counts as that write. Of units of 4 KiB only.
    Mixed(u8),
    /// A cut has destroyed it: a read ends with a media error until it is written again.
    Unreadable,
}

/// A unit that a cut has destroyed although it was on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destroyed {
    pub unit: u64,
    /// Bits per cell of the flash that it was in.
    pub bits_per_cell: u8,
}

// Whoever serves a device runs it on a thread of its own.
const _: () = {
    const fn can_be_sent<T: Send + ?Sized>() {}
    can_be_sent::<dyn Device>();
};
