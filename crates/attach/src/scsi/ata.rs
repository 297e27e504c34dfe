//! Commands of ATA that pass through SCSI, as SAT has it: IDENTIFY DEVICE, SMART, trims, flushes, trusted commands.

use ssdlab_core::{Nanos, Op};

use super::identity::{blocks, firmware, model, physical_exponent, text, world_wide_name};
use super::sense::{AtaReturn, Sense};
use super::words::*;
use crate::drive::Drive;
use crate::export::Export;
use crate::health::{Attribute, LIFETIME, health};
use crate::request::{DriveError, Extent};

const IDENTIFY_DEVICE: u8 = 0xec;
const SMART: u8 = 0xb0;
const CHECK_POWER_MODE: u8 = 0xe5;
const FLUSH_CACHE: u8 = 0xe7;
const FLUSH_CACHE_EXT: u8 = 0xea;
const STANDBY_IMMEDIATE: u8 = 0xe0;
const IDLE_IMMEDIATE: u8 = 0xe1;
const STANDBY: u8 = 0xe2;
const IDLE: u8 = 0xe3;
const SLEEP: u8 = 0xe6;
const DATA_SET_MANAGEMENT: u8 = 0x06;
const TRUSTED_RECEIVE: u8 = 0x5c;
const TRUSTED_RECEIVE_DMA: u8 = 0x5d;
const TRUSTED_SEND: u8 = 0x5e;
const TRUSTED_SEND_DMA: u8 = 0x5f;

const SMART_READ_DATA: u8 = 0xd0;
const SMART_READ_THRESHOLDS: u8 = 0xd1;
const SMART_ENABLE: u8 = 0xd8;
const SMART_RETURN_STATUS: u8 = 0xda;
/// LBA (23:8) of every SMART command, and of a drive in good health.
const SMART_SIGNATURE: u64 = 0xc2_4f;

/// What CHECK POWER MODE says.
const IN_STANDBY: u16 = 0;
const ACTIVE: u16 = 0xff;

const STATUS_READY: u8 = 0x50;
const STATUS_ERROR: u8 = 0x51;
const ERROR_ABORTED: u8 = 0x04;

/// Blocks of ranges that one DATA SET MANAGEMENT takes.
const MOST_TRIM_BLOCKS: u16 = 8;

/// How the data of a command go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    None,
    In,
    Out,
}

/// A command as its CDB has it.
#[derive(Clone, Debug)]
pub struct PassThrough {
    way: Way,
    /// Bytes that go, as the CDB says.
    pub length_bytes: u64,
    check_condition: bool,
    extend: bool,
    feature: u16,
    count: u16,
    lba: u64,
    device: u8,
    command: u8,
}

/// What a command is for the drive.
pub enum Work {
    /// It is over.
    Data(Vec<u8>),
    Done,
    PowerMode,
    Flush,
    /// See [`crate::request::DriveRequest::stands_by`].
    StandBy,
    Trim(Vec<Extent>),
}

impl PassThrough {
    /// Reads ATA PASS-THROUGH (12) or (16).
    ///
    /// # Errors
    /// If its fields do not go together.
    pub fn read(cdb: &[u8; 16], sector_bytes: u32) -> Result<PassThrough, Sense> {
        let long = cdb[0] == ATA_PASS_THROUGH_16;
        let pair = |high: usize, low: usize| u16::from_be_bytes([cdb[high], cdb[low]]);
        let (way, check_condition) = (protocol(cdb[1] >> 1 & 0xf)?, cdb[2] & 0x20 != 0);
        let extend = long && cdb[1] & 1 != 0;
        let (feature, count, lba, device, command) = if long {
            let low = u64::from(cdb[8]) | u64::from(cdb[10]) << 8 | u64::from(cdb[12]) << 16;
            let high = u64::from(cdb[7]) << 24 | u64::from(cdb[9]) << 32 | u64::from(cdb[11]) << 40;
            (pair(3, 4), pair(5, 6), low | if extend { high } else { 0 }, cdb[13], cdb[14])
        } else {
            let lba = u64::from(cdb[5]) | u64::from(cdb[6]) << 8 | u64::from(cdb[7]) << 16;
            (cdb[3].into(), cdb[4].into(), lba, cdb[8], cdb[9])
        };
        let (feature, count) = if extend { (feature, count) } else { (feature & 0xff, count & 0xff) };
        let unit = match (cdb[2] & 4 != 0, cdb[2] & 0x10 != 0) {
            (false, _) => 1,
            (true, false) => 512,
            (true, true) => u64::from(sector_bytes),
        };
        let length = match cdb[2] & 3 {
            0 => 0,
            1 => feature.into(),
            2 => count.into(),
            // What the transport says, which only it knows.
            _ => return Err(Sense::INVALID_FIELD_IN_CDB),
        };
        let length_bytes = unit * length;
        let inwards = cdb[2] & 8 != 0;
        // DMA goes either way: the bit says which.
        let way = match (way, cdb[1] >> 1 & 0xf) {
            (Way::In, 6) if !inwards => Way::Out,
            _ => way,
        };
        let fits = match way {
            Way::None => length_bytes == 0,
            Way::In => inwards,
            Way::Out => !inwards || length_bytes == 0,
        };
        if !fits {
            return Err(Sense::INVALID_FIELD_IN_CDB);
        }
        Ok(PassThrough { way, length_bytes, check_condition, extend, feature, count, lba, device, command })
    }

    /// Whether the host sends data.
    #[must_use]
    pub fn takes_data(&self) -> bool {
        self.way == Way::Out
    }

    /// Does what can be done at once, and says what is left.
    ///
    /// # Errors
    /// If the drive aborts the command.
    pub fn begin(&self, now: Nanos, drive: &mut Drive, data: &[u8]) -> Result<Work, Sense> {
        let aborted = Err(self.aborted());
        let data_in = |bytes: Vec<u8>| match self.way {
            Way::In => Ok(Work::Data(self.cut_to_length(bytes))),
            _ => Err(self.aborted()),
        };
        match self.command {
            IDENTIFY_DEVICE => data_in(identify(drive.export(), drive.has_security_protocols())),
            SMART if self.lba >> 8 & 0xffff == SMART_SIGNATURE => match self.feature as u8 {
                SMART_READ_DATA => data_in(smart_data(drive, now)),
                SMART_READ_THRESHOLDS => data_in(smart_thresholds(drive, now)),
                SMART_ENABLE | SMART_RETURN_STATUS if self.way == Way::None => Ok(Work::Done),
                _ => aborted,
            },
            CHECK_POWER_MODE if self.way == Way::None => Ok(Work::PowerMode),
            // No timer is kept.
            IDLE | IDLE_IMMEDIATE if self.way == Way::None => Ok(Work::Done),
            FLUSH_CACHE | FLUSH_CACHE_EXT if self.way == Way::None => Ok(Work::Flush),
            // The next command wakes the drive, as it would after a reset.
            STANDBY | STANDBY_IMMEDIATE | SLEEP if self.way == Way::None => Ok(Work::StandBy),
            DATA_SET_MANAGEMENT if drive.export().trim && self.feature == 1 && self.way == Way::Out => {
                self.trim(drive.export(), data)
            }
            TRUSTED_SEND | TRUSTED_SEND_DMA | TRUSTED_RECEIVE | TRUSTED_RECEIVE_DMA
                if drive.has_security_protocols() =>
            {
                self.trusted(now, drive, data)
            }
            _ => aborted,
        }
    }

    fn trim(&self, export: &Export, data: &[u8]) -> Result<Work, Sense> {
        let bytes = usize::from(self.count) * 512;
        let Some(list) = data.get(..bytes).filter(|_| (1..=MOST_TRIM_BLOCKS).contains(&self.count)) else {
            return Err(self.aborted());
        };
        let sector = u64::from(export.sector_bytes);
        let mut extents = Vec::new();
        for entry in list.chunks_exact(8) {
            let entry = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
            let (lba, count) = (entry & 0xffff_ffff_ffff, entry >> 48);
            if count > 0 {
                if lba + count > blocks(export) {
                    // ID not found.
                    return Err(self.failed(0x10 | ERROR_ABORTED));
                }
                extents.push(Extent { offset_bytes: lba * sector, length_bytes: count * sector });
            }
        }
        Ok(if extents.is_empty() { Work::Done } else { Work::Trim(extents) })
    }

    fn trusted(&self, now: Nanos, drive: &mut Drive, data: &[u8]) -> Result<Work, Sense> {
        let protocol = self.feature as u8;
        let bytes = 512 * usize::from((self.lba as u16 & 0xff) << 8 | self.count & 0xff);
        let specific = (self.lba >> 8) as u16;
        let aborted = |_: DriveError| self.aborted();
        match self.command {
            TRUSTED_RECEIVE | TRUSTED_RECEIVE_DMA if self.way == Way::In => {
                let mut out = drive.security_receive(now, protocol, specific, bytes).map_err(aborted)?;
                out.resize(bytes, 0);
                Ok(Work::Data(self.cut_to_length(out)))
            }
            TRUSTED_SEND | TRUSTED_SEND_DMA if self.way == Way::Out => {
                let data = data.get(..bytes).ok_or(self.aborted())?;
                drive.security_send(now, protocol, specific, data).map_err(aborted)?;
                Ok(Work::Done)
            }
            _ => Err(self.aborted()),
        }
    }

    fn cut_to_length(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(self.length_bytes as usize);
        bytes
    }

    /// The same command, which says whether the drive stands by.
    #[must_use]
    pub fn with_power_mode(self, stands_by: bool) -> Self {
        PassThrough { count: if stands_by { IN_STANDBY } else { ACTIVE }, ..self }
    }

    /// What a command that has succeeded says besides: the registers, if they were asked for.
    #[must_use]
    pub fn succeeded(&self) -> Option<Sense> {
        let ata = AtaReturn {
            extend: self.extend,
            error: 0,
            count: self.count,
            lba: self.lba,
            device: self.device,
            status: STATUS_READY,
        };
        // ATA PASS-THROUGH information available.
        self.check_condition.then_some(Sense { ata: Some(ata), ..Sense::new(RECOVERED_ERROR, 0, 0x1d) })
    }

    /// What a command that the drive has aborted says.
    #[must_use]
    pub fn aborted(&self) -> Sense {
        self.failed(ERROR_ABORTED)
    }

    fn failed(&self, error: u8) -> Sense {
        let PassThrough { extend, count, lba, device, .. } = *self;
        let ata = AtaReturn { extend, error, count, lba, device, status: STATUS_ERROR };
        Sense { ata: Some(ata), ..Sense::new(ABORTED_COMMAND, 0, 0) }
    }

    /// What the command asks of the medium, if anything.
    #[must_use]
    pub fn op(&self) -> Option<Op> {
        match self.command {
            FLUSH_CACHE | FLUSH_CACHE_EXT | STANDBY | STANDBY_IMMEDIATE | SLEEP => Some(Op::Flush),
            DATA_SET_MANAGEMENT => Some(Op::Trim),
            _ => None,
        }
    }
}

fn protocol(number: u8) -> Result<Way, Sense> {
    match number {
        3 => Ok(Way::None),
        4 | 6 | 10 => Ok(Way::In),
        5 | 11 => Ok(Way::Out),
        _ => Err(Sense::INVALID_FIELD_IN_CDB),
    }
}

/// The 512 bytes of IDENTIFY DEVICE.
#[must_use]
pub fn identify(export: &Export, trusted: bool) -> Vec<u8> {
    let mut words = [0u16; 256];
    let mut put_text = |at: usize, text: &[u8]| {
        for (word, pair) in words[at..].iter_mut().zip(text.chunks_exact(2)) {
            *word = u16::from_be_bytes([pair[0], pair[1]]);
        }
    };
    put_text(10, &text(&export.serial, 20));
    put_text(23, &firmware());
    put_text(27, &model(export));
    words[0] = 0x0040;
    (words[1], words[3], words[6]) = (16383, 16, 63);
    words[47] = 0x8001;
    words[48] = 0x4000 | u16::from(trusted);
    // LBA, DMA, IORDY.
    words[49] = 0x0b00;
    words[50] = 0x4000;
    words[53] = 0x0006;
    let sectors = blocks(export);
    let put_number = |words: &mut [u16; 256], at: usize, count: usize, number: u64| {
        (0..count).for_each(|k| words[at + k] = (number >> (16 * k)) as u16);
    };
    put_number(&mut words, 60, 2, sectors.min(0x0fff_ffff));
    words[63] = 0x0007;
    words[64] = 0x0003;
    words[65..=68].fill(120);
    if export.trim {
        // What trimmed sectors read as is always the same. That every one of them reads as zeroes is so only where no page is larger: ATA
        // has no word for what a trim forgets as one.
        let zeroes = export.trimmed_reads_zeroes && export.trim_bytes <= u64::from(export.sector_bytes);
        words[69] = 0x4000 | if zeroes { 0x0020 } else { 0 };
        words[105] = MOST_TRIM_BLOCKS;
        words[169] = 1;
    }
    words[75] = (export.queue_depth.clamp(1, 32) - 1) as u16;
    // Native command queueing, and 1.5, 3 and 6 Gbit/s: the link that the model has is its own affair.
    words[76] = if export.queue_depth > 1 { 0x010e } else { 0x000e };
    // ACS-2 and before.
    words[80] = 0x03f0;
    // SMART, power management, write cache; 48 bits, flushes; a world-wide name. Then what of it is enabled.
    (words[82], words[83], words[84]) = (0x0029, 0x7400, 0x4100);
    (words[85], words[86], words[87]) = (0x0029, 0x3400, 0x4100);
    words[88] = 0x407f;
    put_number(&mut words, 100, 4, sectors);
    let exponent = physical_exponent(export);
    words[106] = 0x4000 | if exponent > 0 { 0x2000 | u16::from(exponent) } else { 0 };
    if export.sector_bytes > 512 {
        words[106] |= 0x1000;
        put_number(&mut words, 117, 2, u64::from(export.sector_bytes / 2));
    }
    let name = world_wide_name(export);
    (0..4).for_each(|k| words[108 + k] = (name >> (48 - 16 * k)) as u16);
    words[209] = 0x4000;
    words[217] = u16::from(!export.rotational);
    // Serial transport.
    words[222] = 0x1000;
    words[255] = 0x00a5;
    let mut out: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    seal(&mut out);
    out
}

/// The last byte makes the sum of all zero.
fn seal(out: &mut [u8]) {
    let sum = out[..511].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    out[511] = 0u8.wrapping_sub(sum);
}

/// SMART READ DATA: attributes, each with its raw value.
fn smart_data(drive: &mut Drive, now: Nanos) -> Vec<u8> {
    let mut out = vec![0; 512];
    out[0] = 0x10;
    for (slot, attribute) in out[2..362].chunks_exact_mut(12).zip(health(drive, now).attributes) {
        let current = attribute.value();
        slot[0] = attribute.id;
        // It is collected all the time; wear warns of a failure.
        slot[1] = if attribute.id == LIFETIME { 0x03 } else { 0x02 };
        (slot[3], slot[4]) = (current, current);
        slot[5..11].copy_from_slice(&attribute.raw.to_le_bytes()[..6]);
    }
    // Attributes are saved by the drive itself.
    out[368] = 0x02;
    seal(&mut out);
    out
}

/// SMART READ THRESHOLDS: none of them is ever reached.
fn smart_thresholds(drive: &mut Drive, now: Nanos) -> Vec<u8> {
    let mut out = vec![0; 512];
    out[0] = 0x10;
    for (slot, attribute) in out[2..362].chunks_exact_mut(12).zip(health(drive, now).attributes) {
        (slot[0], slot[1]) = (attribute.id, Attribute::THRESHOLD);
    }
    seal(&mut out);
    out
}
