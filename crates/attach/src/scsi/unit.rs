//! The logical unit as one initiator sees it: what each command becomes.

use ssdlab_core::{Nanos, Op};

use super::ata::{PassThrough, Work, identify};
use super::cdb::{BlockRange, Transfer, asks_for_allegiance, block_range, number, transfer};
use super::identity::{MOST_SAME_BYTES, MOST_TRANSFER_BYTES, MOST_UNMAP_BYTES, MOST_UNMAP_DESCRIPTORS, blocks};
use super::operations;
use super::pages::{self, ModeQuestion};
use super::sense::Sense;
use super::task::{Answer, Progress, Task, Then};
use super::words::*;
use crate::drive::Drive;
use crate::export::Export;
use crate::request::{DriveError, DriveRequest, Extent};

/// Of an allocation length, what anything that is told can need.
const MOST_TOLD_BYTES: u64 = 1 << 20;
/// Power conditions of START STOP UNIT; 0: its START bit says what is meant.
const ACTIVE_CONDITION: u8 = 1;
const IDLE_CONDITION: u8 = 2;
const STANDBY_CONDITION: u8 = 3;
/// The largest transfer of a security protocol.
const MOST_SECURITY_BYTES: u64 = 1 << 20;

/// A command as it came.
#[derive(Debug)]
pub struct Command {
    /// Whose it is, for the drive: see [`DriveRequest`].
    pub owner: u64,
    pub cookie: u64,
    /// Number of the logical unit. There is 0 only.
    pub lun: u64,
    pub cdb: [u8; 16],
    /// What the host has sent, which may be less than the command is about.
    pub data: Vec<u8>,
    /// The host expects a transfer, and not one to the unit. A command that takes data is not what it means.
    pub sends_none: bool,
}

/// See the module's own page.
#[derive(Debug)]
pub struct LogicalUnit {
    /// How often the power had come back when the initiator heard of it last.
    restores_told: u32,
    resets_told: u32,
}

type Planned = Result<Plan, Sense>;

enum Plan {
    Answer(Answer),
    Task(Task),
}

impl Plan {
    fn wanted_bytes(&self) -> u64 {
        match self {
            Plan::Answer(answer) => answer.wanted_bytes,
            Plan::Task(task) => task.wanted_bytes(),
        }
    }
}

fn told(mut bytes: Vec<u8>, allocation_bytes: u64) -> Planned {
    bytes.truncate(allocation_bytes.min(MOST_TOLD_BYTES) as usize);
    Ok(Plan::Answer(Answer::data(bytes)))
}

impl LogicalUnit {
    /// The unit for an initiator that has just come. `restores`: of the drive, as it last knew them.
    #[must_use]
    pub fn new(drive: &Drive) -> Self {
        LogicalUnit { restores_told: 0, resets_told: drive.resets() }
    }

    /// The initiator itself has reset the unit, and needs not be told.
    pub fn reset(&mut self, drive: &mut Drive) {
        drive.count_reset();
        self.resets_told = drive.resets();
    }

    /// Takes a command; time has passed to `now`.
    #[must_use]
    pub fn begin(&mut self, now: Nanos, drive: &mut Drive, command: Command) -> Progress {
        let (cdb, sends_none) = (command.cdb, command.sends_none);
        let planned = self.plan(now, drive, command).and_then(|plan| match sends_none && plan.wanted_bytes() > 0 {
            true => Err(Sense::INVALID_FIELD_IN_CDB),
            false => Ok(plan),
        });
        match planned {
            Ok(Plan::Answer(answer)) => Progress::Done(answer),
            Ok(Plan::Task(task)) => task.go_on(now, drive),
            Err(sense) => {
                // What it must hear first, and that there is no such unit, says nothing of the drive.
                if sense.key != UNIT_ATTENTION && sense != Sense::NO_SUCH_UNIT {
                    drive.count_failed(op_of(&cdb, drive.export().sector_bytes));
                }
                Progress::Done(Answer::failed(sense))
            }
        }
    }

    /// What the initiator must be told before anything else.
    fn attention(&mut self, drive: &Drive) -> Option<Sense> {
        if std::mem::replace(&mut self.restores_told, drive.restores()) != drive.restores() {
            self.resets_told = drive.resets();
            return Some(Sense::POWER_ON);
        }
        let reset = std::mem::replace(&mut self.resets_told, drive.resets()) != drive.resets();
        reset.then_some(Sense::DEVICE_RESET)
    }

    /// Whether a command reaches the drive; what of it is wrong is judged behind that.
    fn reach(&mut self, drive: &Drive, command: &Command) -> Result<(), Sense> {
        if command.lun != 0 {
            return Err(Sense::NO_SUCH_UNIT);
        }
        if drive.device.has_power()
            && let Some(attention) = self.attention(drive)
        {
            return Err(attention);
        }
        if !operations::is_known(drive, command.cdb[0]) {
            return Err(Sense::INVALID_OPERATION);
        }
        if !drive.device.has_power() {
            return Err(Sense::NO_POWER);
        }
        Ok(())
    }

    fn plan(&mut self, now: Nanos, drive: &mut Drive, command: Command) -> Planned {
        let (cdb, there) = (command.cdb, command.lun == 0);
        // Three are answered whatever the state of the unit is.
        if !matches!(cdb[0], INQUIRY | REPORT_LUNS | REQUEST_SENSE) {
            self.reach(drive, &command)?;
        }
        // There is none (NormACA of INQUIRY).
        if asks_for_allegiance(&cdb) {
            return Err(Sense::INVALID_FIELD_IN_CDB);
        }
        let done = Ok(Plan::Answer(Answer::default()));
        match cdb[0] {
            INQUIRY => inquiry(drive, &cdb, there),
            REPORT_LUNS => report_luns(&cdb),
            REQUEST_SENSE => self.request_sense(now, drive, &cdb, there),
            TEST_UNIT_READY if !drive.is_ready(now) => Err(Sense::BECOMING_READY),
            TEST_UNIT_READY => done,
            MODE_SENSE_6 | MODE_SENSE_10 => modes(drive.export(), &cdb),
            START_STOP_UNIT => start_stop(drive, &command),
            READ_CAPACITY_10 => told(pages::capacity_10(drive.export()), u64::MAX),
            SYNCHRONIZE_CACHE_10 | SYNCHRONIZE_CACHE_16 => {
                within(drive.export(), &block_range(&cdb))?;
                Ok(Plan::Task(Task::new([request(&command, Op::Flush, Extent::default())], Then::Nothing, 0)))
            }
            WRITE_SAME_10 | WRITE_SAME_16 => write_same(drive.export(), command),
            UNMAP => unmap(drive.export(), &command),
            LOG_SENSE => log_sense(drive, now, &cdb),
            SERVICE_ACTION_IN_16 => service_action_in(drive, &cdb),
            MAINTENANCE_IN => maintenance_in(drive, &cdb),
            SECURITY_PROTOCOL_IN => security_in(drive, now, &cdb),
            SECURITY_PROTOCOL_OUT => security_out(drive, now, &command),
            ATA_PASS_THROUGH_12 | ATA_PASS_THROUGH_16 => pass_through(drive, now, &command),
            code => match transfer(code) {
                Some(kind) => blocks_moved(drive.export(), kind, command),
                None => Err(Sense::INVALID_OPERATION),
            },
        }
    }

    fn request_sense(&mut self, now: Nanos, drive: &Drive, cdb: &[u8; 16], there: bool) -> Planned {
        let sense = match there {
            false => Sense::NO_SUCH_UNIT,
            true if !drive.device.has_power() => Sense::NO_POWER,
            true => {
                let otherwise = if drive.is_ready(now) { Sense::NONE } else { Sense::BECOMING_READY };
                self.attention(drive).unwrap_or(otherwise)
            }
        };
        told(if cdb[1] & 1 != 0 { sense.descriptors() } else { sense.fixed() }, cdb[4].into())
    }
}

/// What a command asks of the medium, if anything.
fn op_of(cdb: &[u8; 16], sector_bytes: u32) -> Option<Op> {
    match cdb[0] {
        ATA_PASS_THROUGH_12 | ATA_PASS_THROUGH_16 => PassThrough::read(cdb, sector_bytes).ok()?.op(),
        SYNCHRONIZE_CACHE_10 | SYNCHRONIZE_CACHE_16 => Some(Op::Flush),
        UNMAP => Some(Op::Trim),
        WRITE_SAME_10 | WRITE_SAME_16 => Some(Op::Write),
        code => transfer(code).map(|kind| match kind {
            Transfer::Read | Transfer::Verify => Op::Read,
            Transfer::Write | Transfer::WriteAndVerify => Op::Write,
        }),
    }
}

fn inquiry(drive: &Drive, cdb: &[u8; 16], there: bool) -> Planned {
    let allocation = number(&cdb[3..5]);
    let (vital, page) = (cdb[1] & 1 != 0, cdb[2]);
    if cdb[1] & 0xfe != 0 || !vital && page != 0 {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let export = drive.export();
    match (there, vital) {
        (true, true) => {
            let identify = || identify(export, drive.has_security_protocols());
            told(pages::vital(export, page, identify).ok_or(Sense::INVALID_FIELD_IN_CDB)?, allocation)
        }
        (true, false) => told(pages::standard_inquiry(export), allocation),
        (false, false) => told(pages::no_such_unit(), allocation),
        (false, true) => Err(Sense::NO_SUCH_UNIT),
    }
}

fn report_luns(cdb: &[u8; 16]) -> Planned {
    let allocation = number(&cdb[6..10]);
    if allocation < 16 || !matches!(cdb[2], 0..=2) {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    // Of well-known units there are none.
    let luns = if cdb[2] == 1 { 0 } else { 8 };
    let mut out = vec![0; 8 + luns];
    out[3] = luns as u8;
    told(out, allocation)
}

fn modes(export: &Export, cdb: &[u8; 16]) -> Planned {
    let long_header = cdb[0] == MODE_SENSE_10;
    let question = ModeQuestion {
        long_header,
        descriptor: cdb[1] & 8 == 0,
        long_descriptor: long_header && cdb[1] & 0x10 != 0,
        control: cdb[2] >> 6,
        page: cdb[2] & 0x3f,
        subpage: cdb[3],
    };
    let allocation = if long_header { number(&cdb[7..9]) } else { cdb[4].into() };
    told(pages::modes(export, question)?, allocation)
}

/// To stop is to stand by, and so is the standby condition. To start, and the active and the idle condition, wakes the drive.
/// Other conditions are of timers, which it has none of, or none at all.
fn start_stop(drive: &mut Drive, command: &Command) -> Planned {
    let (power_condition, load_eject, start) = (command.cdb[4] >> 4, command.cdb[4] & 2 != 0, command.cdb[4] & 1 != 0);
    match (power_condition, start) {
        _ if load_eject => Err(Sense::INVALID_FIELD_IN_CDB),
        (0, true) | (ACTIVE_CONDITION | IDLE_CONDITION, _) => {
            drive.wake();
            Ok(Plan::Answer(Answer::default()))
        }
        (0, false) | (STANDBY_CONDITION, _) => Ok(Plan::Task(Task::new([stand_by(command)], Then::Nothing, 0))),
        _ => Err(Sense::INVALID_FIELD_IN_CDB),
    }
}

fn log_sense(drive: &mut Drive, now: Nanos, cdb: &[u8; 16]) -> Planned {
    let (page, subpage, pointer) = (cdb[2] & 0x3f, cdb[3], u16::from_be_bytes([cdb[5], cdb[6]]));
    let log = if subpage == 0 && cdb[1] == 0 { pages::log(drive, now, page, pointer) } else { None };
    told(log.ok_or(Sense::INVALID_FIELD_IN_CDB)?, number(&cdb[7..9]))
}

fn service_action_in(drive: &Drive, cdb: &[u8; 16]) -> Planned {
    let allocation = number(&cdb[10..14]);
    match cdb[1] & 0x1f {
        READ_CAPACITY_16 => told(pages::capacity_16(drive.export()), allocation),
        GET_LBA_STATUS => {
            let most = allocation.min(MOST_TOLD_BYTES) as usize;
            let status = pages::lba_status(drive, number(&cdb[2..10]), most);
            told(status.map_err(|error| Sense::of(error, Op::Read))?, allocation)
        }
        _ => Err(Sense::INVALID_FIELD_IN_CDB),
    }
}

fn maintenance_in(drive: &Drive, cdb: &[u8; 16]) -> Planned {
    let allocation = number(&cdb[6..10]);
    match cdb[1] & 0x1f {
        REPORT_SUPPORTED_OPERATION_CODES => {
            let (options, timeouts) = (cdb[2] & 7, cdb[2] & 0x80 != 0);
            let action = u16::from_be_bytes([cdb[4], cdb[5]]);
            let out = match options {
                0 => Some(operations::all(drive, timeouts)),
                1..=3 => operations::one(drive, options, cdb[3], action, timeouts),
                _ => None,
            };
            told(out.ok_or(Sense::INVALID_FIELD_IN_CDB)?, allocation)
        }
        REPORT_SUPPORTED_TASK_MANAGEMENT if allocation < 4 => Err(Sense::INVALID_FIELD_IN_CDB),
        REPORT_SUPPORTED_TASK_MANAGEMENT => {
            // ABORT TASK, ABORT TASK SET, LOGICAL UNIT RESET, TARGET RESET.
            let long = cdb[2] & 0x80 != 0;
            let mut out = vec![0xca, 0, 0, 0];
            if long {
                out[3] = 12;
                out.resize(16, 0);
            }
            told(out, allocation)
        }
        _ => Err(Sense::INVALID_FIELD_IN_CDB),
    }
}

fn request(command: &Command, op: Op, extent: Extent) -> DriveRequest {
    DriveRequest::new(command.owner, command.cookie, op, extent.offset_bytes, extent.length_bytes)
}

fn stand_by(command: &Command) -> DriveRequest {
    DriveRequest { stands_by: true, ..request(command, Op::Flush, Extent::default()) }
}

/// The bytes of a range of blocks.
fn within(export: &Export, range: &BlockRange) -> Result<Extent, Sense> {
    let all = blocks(export);
    if range.lba > all || range.blocks > all - range.lba || range.lba == all && range.blocks > 0 {
        return Err(Sense::LBA_OUT_OF_RANGE);
    }
    let sector = u64::from(export.sector_bytes);
    Ok(Extent { offset_bytes: range.lba * sector, length_bytes: range.blocks * sector })
}

/// READ, WRITE, VERIFY, WRITE AND VERIFY.
fn blocks_moved(export: &Export, kind: Transfer, mut command: Command) -> Planned {
    let range = block_range(&command.cdb);
    // No protection information.
    if range.flags & 0xe0 != 0 {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    // In a read or a write these bits are others, which are not looked at.
    let byte_check = if matches!(kind, Transfer::Verify | Transfer::WriteAndVerify) { range.flags >> 1 & 3 } else { 0 };
    let compares =
        kind == Transfer::WriteAndVerify && byte_check & 1 == 1 || kind == Transfer::Verify && byte_check != 0;
    if byte_check == 2 || byte_check == 3 && kind == Transfer::WriteAndVerify {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let extent = within(export, &range)?;
    let sector = u64::from(export.sector_bytes);
    let carries = kind != Transfer::Verify || compares;
    if carries && extent.length_bytes > MOST_TRANSFER_BYTES {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    if !carries {
        let read = DriveRequest { cache_only: true, ..request(&command, Op::Read, extent) };
        return Ok(Plan::Task(Task::new([read], Then::Nothing, 0)));
    }
    if kind == Transfer::Read {
        return Ok(Plan::Task(Task::new([request(&command, Op::Read, extent)], Then::Give, 0)));
    }
    let wanted_bytes = if byte_check == 3 { sector.min(extent.length_bytes) } else { extent.length_bytes };
    // A host that sends less than the command is about has the rest left as it is.
    let whole_bytes = (command.data.len() as u64).min(wanted_bytes) / sector * sector;
    let mut data = std::mem::take(&mut command.data);
    data.truncate(whole_bytes as usize);
    let length_bytes = if byte_check == 3 && whole_bytes > 0 { extent.length_bytes } else { whole_bytes };
    let extent = Extent { length_bytes, ..extent };
    if kind == Transfer::Verify {
        let read = request(&command, Op::Read, extent);
        return Ok(Plan::Task(Task::new([read], Then::Compare(data), wanted_bytes)));
    }
    let verifies = kind == Transfer::WriteAndVerify;
    let then = if compares { Then::Compare(data.clone()) } else { Then::Nothing };
    let fua = verifies || range.flags & 8 != 0;
    let write = DriveRequest { data, fua, ..request(&command, Op::Write, extent) };
    let read = verifies.then(|| DriveRequest { cache_only: !compares, ..request(&command, Op::Read, extent) });
    Ok(Plan::Task(Task::new([write].into_iter().chain(read), then, wanted_bytes)))
}

fn write_same(export: &Export, mut command: Command) -> Planned {
    let range = block_range(&command.cdb);
    let (anchor, unmap) = (range.flags & 0x10 != 0, range.flags & 8 != 0);
    let no_data = command.cdb[0] == WRITE_SAME_16 && range.flags & 1 != 0;
    if range.flags & 0xe6 != 0
        || anchor
        || unmap && !export.trim
        || command.cdb[0] == WRITE_SAME_10 && range.flags & 1 != 0
    {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let extent = within(export, &range)?;
    if range.blocks == 0 || extent.length_bytes > MOST_SAME_BYTES {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let sector = export.sector_bytes as usize;
    let wanted_bytes = if no_data { 0 } else { sector as u64 };
    if !no_data && command.data.len() != sector {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let mut block = std::mem::take(&mut command.data);
    block.truncate(sector);
    let zeroes = no_data || block.iter().all(|byte| *byte == 0);
    // With UNMAP it may be a trim; but a drive may forget trims in a power cut, even behind a flush, and this is a write.
    let step = if zeroes {
        request(&command, Op::WriteZeroes, extent)
    } else {
        DriveRequest { data: block.repeat(range.blocks as usize), ..request(&command, Op::Write, extent) }
    };
    Ok(Plan::Task(Task::new([step], Then::Nothing, wanted_bytes)))
}

fn unmap(export: &Export, command: &Command) -> Planned {
    let length = number(&command.cdb[7..9]) as usize;
    if command.cdb[1] & 1 != 0 {
        return Err(Sense::INVALID_FIELD_IN_CDB);
    }
    let wanted_bytes = length as u64;
    let nothing = Ok(Plan::Answer(Answer { wanted_bytes, ..Answer::default() }));
    if length == 0 {
        return nothing;
    }
    let list = &command.data[..length.min(command.data.len())];
    if list.len() < 8 {
        return Err(Sense::PARAMETER_LIST_LENGTH);
    }
    let described = (number(&list[2..4]) as usize).min(list.len() - 8);
    let descriptors = list[8..8 + described].chunks_exact(16);
    if descriptors.len() > MOST_UNMAP_DESCRIPTORS as usize {
        return Err(Sense::INVALID_FIELD_IN_PARAMETERS);
    }
    let mut extents = Vec::new();
    let mut total_bytes = 0;
    for descriptor in descriptors {
        let range = BlockRange { lba: number(&descriptor[..8]), blocks: number(&descriptor[8..12]), flags: 0 };
        let extent = within(export, &range)?;
        total_bytes += extent.length_bytes;
        if extent.length_bytes > 0 {
            extents.push(extent);
        }
    }
    if total_bytes > MOST_UNMAP_BYTES {
        return Err(Sense::INVALID_FIELD_IN_PARAMETERS);
    }
    match trim(command, &extents) {
        Some(trim) => Ok(Plan::Task(Task::new([trim], Then::Nothing, wanted_bytes))),
        None => nothing,
    }
}

fn trim(command: &Command, extents: &[Extent]) -> Option<DriveRequest> {
    let (first, further) = extents.split_first()?;
    Some(DriveRequest { further: further.to_vec(), ..request(command, Op::Trim, *first) })
}

/// Bytes that a command of a security protocol is about.
fn security_bytes(cdb: &[u8; 16]) -> Result<u64, Sense> {
    let blocks = cdb[4] & 0x80 != 0;
    let bytes = number(&cdb[6..10]) * if blocks { 512 } else { 1 };
    if bytes > MOST_SECURITY_BYTES { Err(Sense::INVALID_FIELD_IN_CDB) } else { Ok(bytes) }
}

fn security_in(drive: &mut Drive, now: Nanos, cdb: &[u8; 16]) -> Planned {
    let bytes = security_bytes(cdb)?;
    let specific = u16::from_be_bytes([cdb[2], cdb[3]]);
    let mut out = drive.security_receive(now, cdb[1], specific, bytes as usize).map_err(security_sense)?;
    if cdb[4] & 0x80 != 0 {
        // What is asked for in blocks comes in whole blocks.
        out.resize(out.len().next_multiple_of(512), 0);
    }
    told(out, bytes)
}

fn security_out(drive: &mut Drive, now: Nanos, command: &Command) -> Planned {
    let cdb = &command.cdb;
    let wanted_bytes = security_bytes(cdb)?;
    let specific = u16::from_be_bytes([cdb[2], cdb[3]]);
    let Some(data) = command.data.get(..wanted_bytes as usize) else { return Err(Sense::INVALID_FIELD_IN_CDB) };
    drive.security_send(now, cdb[1], specific, data).map_err(security_sense)?;
    Ok(Plan::Answer(Answer { wanted_bytes, ..Answer::default() }))
}

fn security_sense(error: DriveError) -> Sense {
    match error {
        // The protocol is a field of the command.
        DriveError::NotSupported => Sense::INVALID_FIELD_IN_CDB,
        error => Sense::of(error, Op::Write),
    }
}

fn pass_through(drive: &mut Drive, now: Nanos, command: &Command) -> Planned {
    let ata = PassThrough::read(&command.cdb, drive.export().sector_bytes)?;
    let wanted_bytes = if ata.takes_data() { ata.length_bytes } else { 0 };
    let over = |data, ata: &PassThrough| {
        let sense = ata.succeeded();
        Ok(Plan::Answer(Answer { data, sense, wanted_bytes }))
    };
    let steps = match ata.begin(now, drive, &command.data)? {
        Work::Data(data) => return over(vec![data], &ata),
        Work::Done => return over(Vec::new(), &ata),
        Work::PowerMode => return over(Vec::new(), &ata.with_power_mode(drive.stands_by())),
        Work::Flush => vec![request(command, Op::Flush, Extent::default())],
        Work::StandBy => vec![stand_by(command)],
        Work::Trim(extents) => trim(command, &extents).into_iter().collect(),
    };
    Ok(Plan::Task(Task::new(steps, Then::Nothing, wanted_bytes).of_ata(ata)))
}
