//! Why a command has failed, as sense data.

use ssdlab_core::Op;

use super::words::*;
use crate::request::DriveError;

/// The registers of an ATA device after a command: the ATA Status Return descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtaReturn {
    pub extend: bool,
    pub error: u8,
    pub count: u16,
    pub lba: u64,
    pub device: u8,
    pub status: u8,
}

/// Sense key with its additional codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    pub key: u8,
    pub asc: u8,
    pub ascq: u8,
    pub ata: Option<AtaReturn>,
}

impl Sense {
    pub const NONE: Sense = Sense::new(NO_SENSE, 0, 0);
    pub const INVALID_OPERATION: Sense = Sense::new(ILLEGAL_REQUEST, 0x20, 0);
    pub const LBA_OUT_OF_RANGE: Sense = Sense::new(ILLEGAL_REQUEST, 0x21, 0);
    pub const INVALID_FIELD_IN_CDB: Sense = Sense::new(ILLEGAL_REQUEST, 0x24, 0);
    pub const NO_SUCH_UNIT: Sense = Sense::new(ILLEGAL_REQUEST, 0x25, 0);
    pub const INVALID_FIELD_IN_PARAMETERS: Sense = Sense::new(ILLEGAL_REQUEST, 0x26, 0);
    pub const PARAMETER_LIST_LENGTH: Sense = Sense::new(ILLEGAL_REQUEST, 0x1a, 0);
    pub const SAVED_PARAMETERS: Sense = Sense::new(ILLEGAL_REQUEST, 0x39, 0);
    pub const MISCOMPARED: Sense = Sense::new(MISCOMPARE, 0x1d, 0);
    pub const NO_POWER: Sense = Sense::new(NOT_READY, 0x04, 0);
    pub const BECOMING_READY: Sense = Sense::new(NOT_READY, 0x04, 0x01);
    pub const POWER_ON: Sense = Sense::new(UNIT_ATTENTION, 0x29, 0);
    pub const DEVICE_RESET: Sense = Sense::new(UNIT_ATTENTION, 0x29, 0x03);

    #[must_use]
    pub const fn new(key: u8, asc: u8, ascq: u8) -> Self {
        Sense { key, asc, ascq, ata: None }
    }

    /// Sense data, of fixed format unless there are registers of ATA in them.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self.ata {
            None => self.fixed(),
            Some(_) => self.descriptors(),
        }
    }

    /// Sense data of fixed format.
    #[must_use]
    pub fn fixed(&self) -> Vec<u8> {
        let mut out = vec![0; 18];
        out[0] = 0x70;
        out[2] = self.key;
        out[7] = 10;
        (out[12], out[13]) = (self.asc, self.ascq);
        out
    }

    /// Sense data as descriptors.
    #[must_use]
    pub fn descriptors(&self) -> Vec<u8> {
        let mut out = vec![0x72, self.key, self.asc, self.ascq, 0, 0, 0, 0];
        if let Some(ata) = &self.ata {
            let lba = |byte: u32| (ata.lba >> (8 * byte)) as u8;
            let high = |byte: u8| if ata.extend { byte } else { 0 };
            out[7] = 14;
            out.extend_from_slice(&[9, 12, ata.extend.into(), ata.error]);
            out.extend_from_slice(&[high((ata.count >> 8) as u8), ata.count as u8]);
            out.extend_from_slice(&[high(lba(3)), lba(0), high(lba(4)), lba(1), high(lba(5)), lba(2)]);
            out.extend_from_slice(&[ata.device, ata.status]);
        }
        out
    }

    /// What an error of the drive is for who asked for this.
    #[must_use]
    pub fn of(error: DriveError, op: Op) -> Sense {
        match error {
            DriveError::Invalid => Sense::INVALID_FIELD_IN_CDB,
            DriveError::OutOfRange => Sense::LBA_OUT_OF_RANGE,
            DriveError::NotPermitted | DriveError::WriteProtected => Sense::new(DATA_PROTECT, 0x27, 0),
            DriveError::NoSpace => Sense::new(DATA_PROTECT, 0x27, 0x07),
            DriveError::Medium if op == Op::Read => Sense::new(MEDIUM_ERROR, 0x11, 0),
            DriveError::Medium => Sense::new(MEDIUM_ERROR, 0x0c, 0),
            DriveError::Locked => Sense::new(DATA_PROTECT, 0x20, 0x02),
            DriveError::Aborted => Sense::new(ABORTED_COMMAND, 0, 0),
            // Command sequence error.
            DriveError::Sequence => Sense::new(ILLEGAL_REQUEST, 0x2c, 0),
            DriveError::NotSupported => Sense::INVALID_OPERATION,
            DriveError::NoPower => Sense::NO_POWER,
        }
    }
}
