//! A device as an image left it: its own state, and the bytes that it holds.

use ssdlab_core::{Nanos, UNIT_BYTES};
use ssdlab_device::{Device, Held, LoadError};
use thiserror::Error;

use crate::image::{Change, DriveState, ImageError};
use crate::lay_out::replay;
use crate::store::{Store, Version};

/// Why a device cannot go on as an image left it.
#[derive(Debug, Error)]
pub enum ResumeError {
    #[error("the state of the drive in it cannot be used: {0}")]
    State(#[from] LoadError),
    #[error("{0}")]
    Image(#[from] ImageError),
    #[error("what was changed since the drive was saved could not be brought onto it: {0}")]
    Replay(String),
    #[error("the drive and the bytes disagree: page {unit} is {held:?} on the drive")]
    Differs { unit: u32, held: Held },
}

impl ResumeError {
    /// The state is whole, of a drive with other values or another seed.
    #[must_use]
    pub fn is_of_another_drive(&self) -> bool {
        use LoadError::{OtherDrive, OtherSet, Seed};
        matches!(self, ResumeError::State(OtherDrive | OtherSet | Seed { .. }))
    }
}

/// A device that goes on.
pub struct Resumed {
    /// From then on it is ready.
    pub ready: Nanos,
    /// What it kept in the cut that an image counts which was not closed. For the next image it is better than what the device would
    /// keep now: it has not counted yet that its power has come back.
    pub cut: Option<Vec<u8>>,
    /// Pages that were lost before an erase which the device has not carried out, in order. The image has forgotten that they are, and
    /// must have it, by [`crate::Image::append`], before it has a state of the device.
    pub lost: Vec<u32>,
}

/// Lets a device with a plug, fresh from the factory, become the one that was saved, and brings what was changed since onto it:
/// first an erase, if its image was erased meanwhile. A device that has none, or accepts no more writes, goes on to hold what it held,
/// of which no bytes are left.
/// `clean`: the image was closed; if not, the drive counts at least what it had counted then ([`DriveState::totals`]), and the
/// power is cut once more, while the drive is at rest, so that the cut counts and nothing dies of it. The store's pages get the numbers of the drive's writes.
/// `go_on` is asked now and then whether to.
///
/// # Errors
/// If the state is not of this drive, or does not fit the bytes; if it was not to go on. The device is of no use then.
///
/// # Panics
/// If the device has no plug, or has worked before.
pub fn resume(
    device: &mut dyn Device,
    store: &mut Store,
    state: &DriveState,
    clean: bool,
    go_on: &dyn Fn() -> bool,
) -> Result<Resumed, ResumeError> {
    const HAS_PLUG: &str = "a device that was saved has a plug";
    let pages = store.capacity_bytes().div_ceil(UNIT_BYTES);
    let saved = state.saved(pages)?;
    let plug = device.plug().expect(HAS_PLUG);
    plug.load(&saved)?;
    drop(saved);
    let mut now = plug.restore(0);
    if let Some(security) = device.security().filter(|_| state.erased) {
        now = if security.encrypts() { security.crypto_erase(now) } else { security.secure_erase(now) };
    }
    let plug = device.plug().expect(HAS_PLUG);
    let unit_pages = (plug.unit_bytes() / UNIT_BYTES) as u32;
    let holds_on = state.erased && (0..pages.div_ceil(unit_pages.into())).any(|unit| plug.held(unit) != Held::Nothing);
    let replay = |device: &mut dyn Device, changes: &[Change], now| {
        replay(device, changes, now, go_on).map_err(ResumeError::Replay)
    };
    now = replay(device, &state.since, now)?;
    let plug = device.plug().expect(HAS_PLUG);
    let mut cut = None;
    if !clean {
        if let Some(totals) = &state.totals {
            plug.count_at_least(totals)?;
        }
        now = plug.stand_by(now);
        // A command behind STANDBY IMMEDIATE makes the cut an unclean one.
        now = replay(device, &[], now)?;
        let plug = device.plug().expect(HAS_PLUG);
        plug.cut(now);
        cut = Some(plug.save());
        now = plug.restore(now);
    }
    let plug = device.plug().expect(HAS_PLUG);
    // Without a journal a drive forgets trims, even in a clean cut: the bytes are gone, and so must the pages be. That a page was
    // lost before it was trimmed comes back in the same way.
    let is_back = |page: &u32| plug.held((page / unit_pages).into()) != Held::Nothing;
    let counts = |store: &Store, page: u32| {
        let first = page - page % unit_pages;
        (first..(first + unit_pages).min(pages as u32)).any(|page| store.number(page) != 0)
    };
    let forgotten: Vec<Change> = (0..pages as u32)
        .step_by(unit_pages as usize)
        .filter(|&page| !counts(store, page))
        .filter(is_back)
        .map(|page| Change { pages: page..page + unit_pages, written: false })
        .collect();
    now = replay(device, &forgotten, now)?;
    // The next cut may bring them back as well.
    forgotten.iter().flat_map(|change| change.pages.clone()).for_each(|page| store.note_trimmed(page));
    let supports_trim = device.info().supports_trim;
    let plug = device.plug().expect(HAS_PLUG);
    // One that power cuts have left read-only takes no trims: what comes back there is lawful, and reads as the bytes that are
    // kept, or as zeroes.
    let is_back = |page: u32| {
        let next = forgotten.partition_point(|change| change.pages.end <= page);
        supports_trim && forgotten.get(next).is_some_and(|change| change.pages.contains(&page))
    };
    // What a cut took back, and what was written once more because it stood in the image by then, stays on a drive that knows no
    // trims. Nor does the rest of a unit of several pages have to be in the image of which a process had written some when it ended.
    let may_be_there =
        |store: &Store, unit: u32| store.number(unit) != 0 || is_back(unit) || !supports_trim || counts(store, unit);
    let mut lost = Vec::new();
    for unit in 0..pages as u32 {
        let (held, page) = (plug.held((unit / unit_pages).into()), store.page(unit).cloned());
        let number = match held {
            Held::Write(number) | Held::Mixed(number) if may_be_there(store, unit) => number,
            // Bytes of a page that was trimmed, on a drive that goes on to return them.
            Held::Nothing => 0,
            Held::Unreadable if store.is_lost(unit) => store.number(unit),
            // Neither an erase nor a trim has done away with it.
            Held::Unreadable if holds_on => {
                store.mark_lost(unit);
                lost.push(unit);
                0
            }
            Held::Unreadable if is_back(unit) => 0,
            _ => return Err(ResumeError::Differs { unit, held }),
        };
        if number != store.number(unit) {
            store.replace(unit, Version { number, page });
        }
    }
    Ok(Resumed { ready: now, cut, lost })
}
