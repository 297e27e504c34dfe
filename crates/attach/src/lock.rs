//! The locks of a drive: its passwords and ranges (TCG Opal), and the erases that they ask for.
//!
//! An erase begins when no request is under way, takes as long as the drive's change of a key, and requests that come meanwhile
//! wait for its end. If the power goes before, it has not happened.

use ssdlab_contents::{ContentDevice, ReservedPage};
use ssdlab_core::{Nanos, UNIT_BYTES};
use ssdlab_device::Security;
use ssdlab_opal::{Access, Erased, Refused, Tper};

use crate::request::{DriveError, DriveRequest, Extent};

/// See the module's own page.
pub struct Lock {
    tper: Tper,
    erase: Option<Erase>,
    /// Requests that came since, and when.
    pub waiting: Vec<(Nanos, DriveRequest)>,
}

struct Erase {
    what: Erased,
    /// When it ends; `None`: it waits for what is under way.
    ends: Option<Nanos>,
    /// How often the drive's key had been changed before.
    key_changes: u64,
}

/// What a request on a stretch meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meets {
    /// The medium.
    Drive,
    /// The shadow of the master boot record, which stands before it.
    Shadow,
}

impl Lock {
    #[must_use]
    pub fn new(tper: Tper) -> Self {
        Lock { tper, erase: None, waiting: Vec::new() }
    }

    #[must_use]
    pub fn tper(&self) -> &Tper {
        &self.tper
    }

    /// Whether a stretch of whole sectors may be read or changed.
    ///
    /// # Errors
    /// [`DriveError::Locked`].
    pub fn meets(&self, extent: Extent, changes: bool) -> Result<Meets, DriveError> {
        let sector_bytes = u64::from(self.tper.geometry().sector_bytes);
        let (first, sectors) = (extent.offset_bytes / sector_bytes, extent.length_bytes / sector_bytes);
        match self.tper.access(first, sectors, changes) {
            Access::Allowed => Ok(Meets::Drive),
            Access::Shadow => Ok(Meets::Shadow),
            Access::Locked => Err(DriveError::Locked),
        }
    }

    /// The beginning of a stretch up to where the shadow ends, or a range begins or ends.
    #[must_use]
    pub fn alike(&self, extent: Extent) -> Extent {
        let sector_bytes = u64::from(self.tper.geometry().sector_bytes);
        let edge_bytes = self.tper.next_edge(extent.offset_bytes / sector_bytes).saturating_mul(sector_bytes);
        Extent { length_bytes: extent.length_bytes.min(edge_bytes - extent.offset_bytes), ..extent }
    }

    /// What a host may be told of a stretch of whole sectors, of which it asks what is stored there: the beginning of it up to where
    /// another rule may hold, and what a read meets there. It has to ask again for the rest.
    ///
    /// # Errors
    /// As a read that begins there: [`DriveError::Locked`].
    pub fn told(lock: Option<&Lock>, extent: Extent) -> Result<(Extent, Meets), DriveError> {
        let Some(lock) = lock else { return Ok((extent, Meets::Drive)) };
        let extent = lock.alike(extent);
        lock.meets(extent, false).map(|meets| (extent, meets))
    }

    /// TRUSTED SEND and its like. `read_only`: methods that erase fail.
    ///
    /// # Errors
    /// If the drive does not take it.
    pub fn send(
        &mut self,
        device: &mut ContentDevice,
        read_only: bool,
        now: Nanos,
        protocol: u8,
        specific: u16,
        data: &[u8],
    ) -> Result<(), DriveError> {
        device.catch_up_image();
        let before = self.tper.checkpoint();
        let what = self.tper.send(now, protocol, specific, data).map_err(error_of)?;
        if what == Erased::Nothing {
            // With an erase under way, what is to be kept goes into the image together with it, or behind it.
            if !self.is_erasing() && self.keep(device) && device.image_error().is_some() {
                // What could not be kept must not count as done.
                if !self.tper.has_only_unlocked(&before) {
                    let is_told = self.tper.not_kept(now, before);
                    self.keep(device);
                    return if is_told { Ok(()) } else { Err(DriveError::Aborted) };
                }
            }
        } else if read_only || device.image_error().is_some() {
            self.tper.not_erased(now);
        } else {
            self.erase = Some(Erase { what, ends: None, key_changes: device.key_changes() });
        }
        Ok(())
    }

    /// TRUSTED RECEIVE and its like.
    ///
    /// # Errors
    /// As [`Lock::send`].
    pub fn receive(
        &mut self,
        now: Nanos,
        protocol: u8,
        specific: u16,
        most_bytes: usize,
    ) -> Result<Vec<u8>, DriveError> {
        self.tper.receive(now, protocol, specific, most_bytes).map_err(error_of)
    }

    /// Whether requests have to wait.
    #[must_use]
    pub fn is_erasing(&self) -> bool {
        self.erase.is_some()
    }

    /// When the erase that has begun ends.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.erase.as_ref().and_then(|erase| erase.ends)
    }

    /// Goes on with an erase: begins it on a drive at rest, and ends it when its time has come. Returns the requests that waited
    /// for its end.
    pub fn go_on(&mut self, device: &mut ContentDevice, now: Nanos, at_rest: bool) -> Vec<(Nanos, DriveRequest)> {
        let Some(erase) = &mut self.erase else { return Vec::new() };
        let ends = match erase.ends {
            Some(ends) => ends,
            None if !at_rest => return Vec::new(),
            None => {
                // What is kept then goes into the image together with the erase.
                device.keep_reserved_with_erase(&self.tper.take_changed());
                let ends = match erase.what {
                    Erased::Everything => device.crypto_erase(now),
                    _ => now + device.key_change_time(),
                };
                *erase.ends.insert(ends)
            }
        };
        if ends > now {
            return Vec::new();
        }
        let Erase { what, key_changes, .. } = self.erase.take().expect("it is there");
        match what {
            Erased::Sectors(all) => {
                let sectors_a_page = UNIT_BYTES / u64::from(self.tper.geometry().sector_bytes);
                let pages = |lba: u64| lba.div_ceil(sectors_a_page) as u32;
                let all: Vec<_> = all.into_iter().map(|lbas| pages(lbas.start)..pages(lbas.end)).collect();
                device.change_key_of(&all);
            }
            // A drive that accepts no more writes keeps its map, but not its key.
            Erased::Everything if device.key_changes() == key_changes => {
                let pages = device.store().capacity_bytes().div_ceil(UNIT_BYTES) as u32;
                device.change_key_of(std::slice::from_ref(&(0..pages)));
            }
            Erased::Everything | Erased::Nothing => {}
        }
        match device.image_error() {
            None => {
                self.tper.erased(ends);
                // What a reset by the host has changed since the erase began.
                self.keep(device);
            }
            Some(_) => {
                self.tper.not_erased(ends);
                // Data that go once there is space go without what the method has changed.
                device.keep_reserved_with_erase(&self.tper.take_changed());
            }
        }
        std::mem::take(&mut self.waiting)
    }

    /// The power is gone. Returns the requests that waited.
    pub fn cut(&mut self, device: &mut ContentDevice) -> Vec<(Nanos, DriveRequest)> {
        self.erase = None;
        self.tper.power_cycled();
        self.keep(device);
        std::mem::take(&mut self.waiting)
    }

    /// What has to outlive the power goes into the image. Returns whether there is any.
    fn keep(&mut self, device: &mut ContentDevice) -> bool {
        let changed = self.tper.take_changed();
        device.keep_reserved(&changed);
        !changed.is_empty()
    }

    /// A host has reset the drive.
    pub fn host_reset(&mut self) {
        self.tper.reset_stack();
    }

    /// All that is kept, for a copy of the drive.
    #[must_use]
    pub fn pages(&self) -> Vec<ReservedPage> {
        self.tper.pages()
    }
}

fn error_of(refused: Refused) -> DriveError {
    match refused {
        Refused::NoProtocol => DriveError::NotSupported,
        Refused::BadField => DriveError::Invalid,
        Refused::Sequence => DriveError::Sequence,
    }
}
