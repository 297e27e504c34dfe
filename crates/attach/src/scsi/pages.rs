//! What a logical unit says of itself: INQUIRY, capacities, modes, logs.

use ssdlab_contents::Kind;
use ssdlab_core::Nanos;

use super::identity::{
    MOST_SAME_BYTES, MOST_TRANSFER_BYTES, MOST_UNMAP_BYTES, MOST_UNMAP_DESCRIPTORS, blocks, firmware, model,
    physical_exponent, text, world_wide_name,
};
use super::sense::Sense;
use crate::drive::Drive;
use crate::export::Export;
use crate::health::health;
use crate::lock::{Lock, Meets};
use crate::request::{DriveError, Extent};

/// Bytes beyond which GET LBA STATUS does not look in one command.
const MOST_STATUS_BYTES: u64 = 1 << 30;
const MOST_STATUS_DESCRIPTORS: usize = 256;

/// What an INQUIRY of a logical unit that does not exist returns.
#[must_use]
pub fn no_such_unit() -> Vec<u8> {
    let mut out = vec![0; 36];
    (out[0], out[2], out[3], out[4]) = (0x7f, 0x06, 0x02, 31);
    out
}

/// The data of an INQUIRY without a page.
#[must_use]
pub fn standard_inquiry(export: &Export) -> Vec<u8> {
    let mut out = vec![0; 96];
    // SPC-4, response data format 2, 91 bytes follow, command queueing.
    (out[2], out[3], out[4], out[7]) = (0x06, 0x02, 91, 0x02);
    out[8..16].copy_from_slice(b"ATA     ");
    out[16..32].copy_from_slice(&model(export)[..16]);
    out[32..36].copy_from_slice(&firmware()[4..]);
    // SAM-5, SAT-3, SPC-4, SBC-3, iSCSI; all without a version.
    for (at, version) in [0x00a0u16, 0x1ee0, 0x0460, 0x04c0, 0x0960].into_iter().enumerate() {
        out[58 + 2 * at..60 + 2 * at].copy_from_slice(&version.to_be_bytes());
    }
    out
}

/// A page of vital product data. `identify`: what IDENTIFY DEVICE returns.
#[must_use]
pub fn vital(export: &Export, page: u8, identify: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
    let content = match page {
        0x00 => vec![0x00, 0x80, 0x83, 0x89, 0xb0, 0xb1, 0xb2],
        0x80 => text(&export.serial, 20),
        0x83 => identification(export),
        0x89 => ata_information(export, identify()),
        0xb0 => block_limits(export),
        0xb1 => {
            let mut out = vec![0; 60];
            // Medium rotation rate: not rotating, or not told. Nor is the form factor, which no drive file has.
            out[1] = if export.rotational { 0 } else { 1 };
            out
        }
        0xb2 => {
            // UNMAP, WRITE SAME (16) and (10) with UNMAP; what they read as; there is room for every block at all times.
            let (unmap, zeroes) = if export.trim { (0xe0, zeroes_bit(export)) } else { (0, 0) };
            vec![0, unmap | zeroes << 2, if export.trim { 1 } else { 0 }, 0]
        }
        _ => return None,
    };
    let mut out = vec![0, page];
    out.extend_from_slice(&(content.len() as u16).to_be_bytes());
    out.extend_from_slice(&content);
    Some(out)
}

/// Whether unmapped blocks read as zeroes (LBPRZ).
fn zeroes_bit(export: &Export) -> u8 {
    (export.trim && export.trimmed_reads_zeroes).into()
}

fn identification(export: &Export) -> Vec<u8> {
    let mut out = Vec::new();
    // NAA of the logical unit, in binary.
    out.extend_from_slice(&[0x01, 0x03, 0, 8]);
    out.extend_from_slice(&world_wide_name(export).to_be_bytes());
    // A vendor's own, in ASCII: model and serial, as SAT has it.
    let own = [text("ATA", 8), model(export), text(&export.serial, 20)].concat();
    out.extend_from_slice(&[0x02, 0x01, 0, own.len() as u8]);
    out.extend_from_slice(&own);
    out
}

fn ata_information(export: &Export, identify: Vec<u8>) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(&text("SSDLAB", 8));
    out.extend_from_slice(&text("SAT", 16));
    out.extend_from_slice(&firmware()[4..]);
    // The device's signature: a Device to Host FIS with LBA 1 and count 1 of an ATA device.
    let mut fis = [0; 20];
    (fis[0], fis[2], fis[3], fis[4], fis[12]) = (0x34, 0x50, 0x01, 0x01, 0x01);
    out.extend_from_slice(&fis);
    out.extend_from_slice(&[0xec, 0, 0, 0]);
    out.extend_from_slice(&identify);
    debug_assert!(export.sector_bytes >= 512);
    out
}

fn block_limits(export: &Export) -> Vec<u8> {
    let sector = u64::from(export.sector_bytes);
    let count = |bytes: u64| ((bytes / sector) as u32).to_be_bytes();
    let mut out = vec![0; 60];
    // WSNZ: a WRITE SAME of zero blocks is none of the rest of the drive.
    out[0] = 1;
    out[2..4].copy_from_slice(&((u64::from(export.physical_bytes) / sector) as u16).to_be_bytes());
    out[4..8].copy_from_slice(&count(MOST_TRANSFER_BYTES));
    if export.trim {
        out[16..20].copy_from_slice(&count(MOST_UNMAP_BYTES));
        out[20..24].copy_from_slice(&MOST_UNMAP_DESCRIPTORS.to_be_bytes());
        out[24..28].copy_from_slice(&count(export.trim_bytes));
        // The alignment is valid, and zero.
        out[28] = 0x80;
    }
    out[32..40].copy_from_slice(&(MOST_SAME_BYTES / sector).to_be_bytes());
    out
}

/// READ CAPACITY (10).
#[must_use]
pub fn capacity_10(export: &Export) -> Vec<u8> {
    let last = u32::try_from(blocks(export) - 1).unwrap_or(u32::MAX);
    [last.to_be_bytes(), export.sector_bytes.to_be_bytes()].concat()
}

/// READ CAPACITY (16).
#[must_use]
pub fn capacity_16(export: &Export) -> Vec<u8> {
    let mut out = vec![0; 32];
    out[..8].copy_from_slice(&(blocks(export) - 1).to_be_bytes());
    out[8..12].copy_from_slice(&export.sector_bytes.to_be_bytes());
    out[13] = physical_exponent(export);
    out[14] = u8::from(export.trim) << 7 | zeroes_bit(export) << 6;
    out
}

/// GET LBA STATUS from a block on: what of it is mapped. At least one descriptor.
///
/// # Errors
/// If the block lies beyond the end, or may not be read.
pub fn lba_status(drive: &Drive, lba: u64, most_bytes: usize) -> Result<Vec<u8>, DriveError> {
    let export = drive.export();
    let sector = u64::from(export.sector_bytes);
    let begin = lba.checked_mul(sector).filter(|&begin| begin < export.size_bytes).ok_or(DriveError::OutOfRange)?;
    let most = (most_bytes.saturating_sub(8) / 16).clamp(1, MOST_STATUS_DESCRIPTORS);
    let length_bytes = (export.size_bytes - begin).min(MOST_STATUS_BYTES);
    let (extent, meets) = Lock::told(drive.lock(), Extent { offset_bytes: begin, length_bytes })?;
    let stretches = drive.device.store().stretches(extent.offset_bytes, extent.length_bytes);
    let mut found: Vec<(u64, bool)> = Vec::new();
    for (bytes, kind) in stretches {
        let unmapped = kind == Kind::Hole && export.trim && meets == Meets::Drive;
        let full = found.len() == most;
        match found.last_mut() {
            Some(last) if last.1 == unmapped => last.0 += bytes,
            _ if full => break,
            _ => found.push((bytes, unmapped)),
        }
    }
    let mut out = (4 + 16 * found.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(&[0; 4]);
    let mut at = lba;
    for (bytes, unmapped) in found {
        out.extend_from_slice(&at.to_be_bytes());
        out.extend_from_slice(&((bytes / sector) as u32).to_be_bytes());
        out.extend_from_slice(&[unmapped.into(), 0, 0, 0]);
        at += bytes / sector;
    }
    Ok(out)
}

/// What a host wants of MODE SENSE.
#[derive(Clone, Copy)]
pub struct ModeQuestion {
    /// MODE SENSE (10).
    pub long_header: bool,
    /// Whether a block descriptor may be there, and whether it may be long.
    pub descriptor: bool,
    pub long_descriptor: bool,
    /// 0: current values, 1: what can be changed, 2: defaults, 3: saved ones.
    pub control: u8,
    pub page: u8,
    pub subpage: u8,
}

/// Pages of modes, none of which can be changed.
///
/// # Errors
/// If there is no such page, or nothing is saved.
pub fn modes(export: &Export, q: ModeQuestion) -> Result<Vec<u8>, Sense> {
    if q.control == 3 {
        return Err(Sense::SAVED_PARAMETERS);
    }
    // Read-error recovery: AWRE, ARRE. Caching: WCE. Control: reordering is not restricted. Exceptions: none are reported.
    let mut recovery = [0u8; 12];
    (recovery[0], recovery[1], recovery[2]) = (0x01, 10, 0xc0);
    let mut caching = [0u8; 20];
    (caching[0], caching[1], caching[2]) = (0x08, 18, 0x04);
    let mut control = [0u8; 12];
    (control[0], control[1], control[3]) = (0x0a, 10, 0x10);
    let mut exceptions = [0u8; 12];
    (exceptions[0], exceptions[1], exceptions[2]) = (0x1c, 10, 0x08);
    let pages: [&mut [u8]; 4] = [&mut recovery, &mut caching, &mut control, &mut exceptions];
    if !matches!(q.subpage, 0 | 0xff) || q.subpage == 0xff && q.page != 0x3f {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let mut chosen = Vec::new();
    for page in pages {
        if q.page == 0x3f || q.page == page[0] {
            if q.control == 1 {
                page[2..].fill(0);
            }
            chosen.extend_from_slice(page);
        }
    }
    if chosen.is_empty() {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let descriptor = match (q.descriptor, q.long_descriptor) {
        (false, _) => Vec::new(),
        (true, false) => {
            let count = u32::try_from(blocks(export)).unwrap_or(u32::MAX);
            [count.to_be_bytes(), export.sector_bytes.to_be_bytes()].concat()
        }
        (true, true) => {
            let mut out = blocks(export).to_be_bytes().to_vec();
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&export.sector_bytes.to_be_bytes());
            out
        }
    };
    // DPO and FUA are known.
    let specific = 0x10 | u8::from(export.read_only) << 7;
    let mut out = if q.long_header {
        let length = (6 + descriptor.len() + chosen.len()) as u16;
        let [high, low] = length.to_be_bytes();
        vec![high, low, 0, specific, (q.descriptor && q.long_descriptor).into(), 0, 0, descriptor.len() as u8]
    } else {
        vec![(3 + descriptor.len() + chosen.len()) as u8, 0, specific, descriptor.len() as u8]
    };
    out.extend_from_slice(&descriptor);
    out.extend_from_slice(&chosen);
    Ok(out)
}

/// A page of LOG SENSE: the list of pages, temperature, wear, exceptions; each but the list has one parameter. `None` if there
/// is no such page, or no parameter from this code on.
#[must_use]
pub fn log(drive: &mut Drive, now: Nanos, page: u8, from_code: u16) -> Option<Vec<u8>> {
    let health = health(drive, now);
    let celsius = health.celsius.map(|celsius| celsius.round().clamp(0.0, 254.0) as u8);
    let parameter = |code: u16, flags: u8, value: &[u8]| {
        let mut out = code.to_be_bytes().to_vec();
        out.extend_from_slice(&[flags, value.len() as u8]);
        out.extend_from_slice(value);
        (from_code <= code).then_some(out)
    };
    let content = match (page, celsius, health.used) {
        (0x00, celsius, used) => {
            let there = [(0x00, true), (0x0d, celsius.is_some()), (0x11, used.is_some()), (0x2f, true)];
            there.into_iter().filter(|p| p.1).map(|p| p.0).collect()
        }
        (0x0d, Some(celsius), _) => parameter(0, 3, &[0, celsius])?,
        (0x11, _, Some(used)) => parameter(1, 3, &[0, 0, 0, (100.0 * used).round().min(255.0) as u8])?,
        (0x2f, celsius, _) => parameter(0, 3, &[0, 0, celsius.unwrap_or(0xff), 0])?,
        _ => return None,
    };
    let mut out = vec![page, 0];
    out.extend_from_slice(&(content.len() as u16).to_be_bytes());
    out.extend_from_slice(&content);
    Some(out)
}
