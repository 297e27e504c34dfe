//! One initiator: its login, its commands on their way in, at the drive and on their way out.
//!
//! Memory of data on their way in is bounded: by the window of commands for those that come unasked, by
//! [`Limits::held_bytes`] for those that are asked for, one command excepted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ssdlab_core::Nanos;

use super::keys::{NOT_UNDERSTOOD, OWN_SEGMENT_BYTES, Parameters, REJECTED, Reply, TextInput, put};
use super::login::{self, Login, LoginStep};
use super::names::target_name;
use super::pdu::{Header, Pdu, take};
use super::transfers::Incoming;
use super::words::*;
use crate::client::{Client, Load, Step};
use crate::drive::Drive;
use crate::input::Input;
use crate::limits::Limits;
use crate::output::Output;
use crate::request::Outcome;
use crate::scsi::words::{STATUS_CHECK_CONDITION, STATUS_GOOD};
use crate::scsi::{self, Answer, Command, LogicalUnit, Progress, Sense, Task};

/// Data of a PDU of the login.
const MOST_LOGIN_BYTES: usize = 8192;
/// Commands under way.
const WINDOW: u32 = 128;
/// Task management functions that wait for the end of commands.
const MOST_FUNCTIONS: usize = 16;

/// A command that was not answered.
struct Open {
    tag: u32,
    lun: u64,
    /// As it came: what is sent of the command has it again.
    lun_field: [u8; 8],
    cdb: [u8; 16],
    /// What the initiator expects to be transferred.
    expected_bytes: u32,
    reads: bool,
    writes: bool,
    /// It does not count in the window.
    immediate: bool,
    state: State,
}

enum State {
    /// Its data are coming.
    Collecting(Incoming),
    /// Of `held_bytes`.
    AtDrive { task: Task, held_bytes: u64 },
    /// At the drive, and nobody waits for it; `held_bytes` as above.
    Aborted { held_bytes: u64 },
}

/// A task management function that waits for the end of commands, a reset for those of all clients.
struct Function {
    tag: u32,
    waits_for: BTreeSet<u64>,
}

enum Phase {
    Login(Box<Login>),
    FullFeature,
}

/// See the module's own page.
pub struct IscsiClient {
    id: u64,
    /// The address that it has come to.
    portal: String,
    limits: Limits,
    input: Input,
    phase: Phase,
    parameters: Parameters,
    discovery: bool,
    session: Vec<u8>,
    connection: u16,
    unit: Option<LogicalUnit>,
    stat_sn: u32,
    expected_cmd_sn: u32,
    tasks: BTreeMap<u64, Open>,
    tags: BTreeMap<u32, u64>,
    next_cookie: u64,
    /// Commands that count in the window; commands whose data are coming.
    counted: u32,
    collecting: u32,
    /// Commands whose data may be asked for, in order; bytes that those have which were asked.
    to_ask: VecDeque<u64>,
    asked_bytes: u64,
    functions: Vec<Function>,
    text: TextInput,
    load: Load,
}

impl IscsiClient {
    /// An initiator that has just come on the connection of this number, to this address.
    #[must_use]
    pub fn new(id: u64, portal: String, limits: Limits) -> Self {
        IscsiClient {
            id,
            portal,
            limits,
            input: Input::default(),
            phase: Phase::Login(Box::new(Login::new())),
            parameters: Parameters::default(),
            discovery: false,
            session: Vec::new(),
            connection: 0,
            unit: None,
            stat_sn: 0,
            expected_cmd_sn: 0,
            tasks: BTreeMap::new(),
            tags: BTreeMap::new(),
            next_cookie: 0,
            counted: 0,
            collecting: 0,
            to_ask: VecDeque::new(),
            asked_bytes: 0,
            functions: Vec::new(),
            text: TextInput::default(),
            load: Load::default(),
        }
    }

    fn window(&self) -> u32 {
        self.limits.requests.clamp(1, WINDOW)
    }

    fn log_in(&mut self, drive: &Drive, out: &mut Output) -> Step {
        let pdu = match take(&mut self.input, MOST_LOGIN_BYTES) {
            Ok(Some(pdu)) => pdu,
            Ok(None) => return Step::Wait,
            Err(_) => return Step::Broken,
        };
        let window = self.window();
        let Phase::Login(login) = &mut self.phase else { return Step::Broken };
        if pdu.header.code() != LOGIN {
            return Step::Broken;
        }
        let mut answer = Vec::new();
        let handle = (self.id % 0xffff) as u16 + 1;
        let step = login.step(&pdu, &target_name(drive.export()), window, handle, &mut answer);
        out.push(answer);
        match step {
            LoginStep::Goes => Step::Went,
            LoginStep::Failed => Step::Broken,
            LoginStep::Done(agreed) => {
                (self.stat_sn, self.expected_cmd_sn) = (login.stat_sn, login.cmd_sn);
                self.parameters = agreed.parameters;
                self.discovery = agreed.discovery;
                (self.session, self.connection) = (agreed.session, agreed.connection);
                self.unit = (!agreed.discovery).then(|| LogicalUnit::new(drive));
                self.phase = Phase::FullFeature;
                Step::LoggedIn
            }
        }
    }

    /// Puts in what every PDU that is numbered says of numbers.
    fn number(&mut self, header: &mut Header) {
        header.put_u32(24, self.stat_sn);
        self.stat_sn = self.stat_sn.wrapping_add(1);
        self.say_window(header);
    }

    fn say_window(&self, header: &mut Header) {
        header.put_u32(28, self.expected_cmd_sn);
        header.put_u32(32, self.last_cmd_sn());
    }

    fn last_cmd_sn(&self) -> u32 {
        self.expected_cmd_sn.wrapping_add(self.window() - self.counted).wrapping_sub(1)
    }

    fn reject(&mut self, reason: u8, pdu: &Pdu, out: &mut Output) {
        let mut header = Header::new(REJECT, FINAL, NO_TAG);
        header.0[2] = reason;
        self.number(&mut header);
        out.push(header.bytes(&pdu.header.0));
    }

    /// It has broken the protocol, and hears of what.
    fn break_off(&mut self, reason: u8, pdu: &Pdu, out: &mut Output) -> Step {
        self.reject(reason, pdu, out);
        Step::Broken
    }

    fn take_pdu(&mut self, now: Nanos, drive: &mut Drive, pdu: Pdu, out: &mut Output) -> Step {
        let (header, code) = (pdu.header, pdu.header.code());
        if code == DATA_OUT {
            return self.take_data(now, drive, &pdu, out);
        }
        let known = matches!(code, NOP_OUT | SCSI_COMMAND | TASK_MANAGEMENT | TEXT | LOGOUT);
        if !known {
            return self.break_off(REJECT_NOT_SUPPORTED, &pdu, out);
        }
        if self.discovery && matches!(code, SCSI_COMMAND | TASK_MANAGEMENT) {
            return self.break_off(REJECT_PROTOCOL_ERROR, &pdu, out);
        }
        // It has no number of its own, so that the next command would be taken for one that is there already.
        if code == NOP_OUT && header.task_tag() == NO_TAG && !header.is_immediate() {
            return self.break_off(REJECT_INVALID_FIELD, &pdu, out);
        }
        if !header.is_immediate() {
            let number = header.u32_at(24);
            let ahead = number.wrapping_sub(self.expected_cmd_sn);
            if ahead != 0 {
                let in_window = ahead <= self.last_cmd_sn().wrapping_sub(self.expected_cmd_sn) && ahead < 1 << 31;
                // Beyond the window, or there already: as if it had not come. With one connection there are no gaps.
                let full = self.counted >= self.window();
                return if in_window && !full { self.break_off(REJECT_PROTOCOL_ERROR, &pdu, out) } else { Step::Went };
            }
            if self.counted >= self.window() {
                return Step::Went;
            }
            self.expected_cmd_sn = number.wrapping_add(1);
        }
        match code {
            NOP_OUT => self.nop(&pdu, out),
            SCSI_COMMAND => self.command(now, drive, pdu, out),
            TASK_MANAGEMENT => self.manage(now, drive, &pdu, out),
            TEXT => self.take_text(drive, &pdu, out),
            _ => self.log_out(drive, &pdu, out),
        }
    }

    fn nop(&mut self, pdu: &Pdu, out: &mut Output) -> Step {
        let tag = pdu.header.task_tag();
        if tag != NO_TAG {
            let mut header = Header::new(NOP_IN, FINAL, tag);
            header.put_lun_field(pdu.header.lun_field());
            header.put_u32(20, NO_TAG);
            self.number(&mut header);
            out.push(header.bytes(&pdu.data[..pdu.data.len().min(self.parameters.segment_bytes as usize)]));
        }
        Step::Went
    }

    fn command(&mut self, now: Nanos, drive: &mut Drive, pdu: Pdu, out: &mut Output) -> Step {
        let (header, flags) = (pdu.header, pdu.header.flags());
        let (last, reads, writes) = (flags & FINAL != 0, flags & READS != 0, flags & WRITES != 0);
        let (tag, expected_bytes) = (header.task_tag(), header.u32_at(20));
        if self.tags.contains_key(&tag) {
            self.reject(REJECT_TASK_IN_PROGRESS, &pdu, out);
            return Step::Went;
        }
        if header.is_immediate() && self.tasks.len() >= 2 * self.window() as usize {
            self.reject(REJECT_TOO_MANY_IMMEDIATE, &pdu, out);
            return Step::Went;
        }
        if tag == NO_TAG || !writes && (!last || !pdu.data.is_empty()) {
            return self.break_off(REJECT_INVALID_FIELD, &pdu, out);
        }
        let wanted_bytes = if writes { u64::from(expected_bytes).min(scsi::MOST_DATA_BYTES) } else { 0 };
        let too_many_kinds = reads && writes || pdu.has_additional;
        let Pdu { data, .. } = pdu;
        let Ok(incoming) = Incoming::new(data, wanted_bytes, !last, &self.parameters) else {
            let pdu = Pdu { header, has_additional: false, data: Vec::new() };
            return self.break_off(REJECT_PROTOCOL_ERROR, &pdu, out);
        };
        let mut cdb = [0; 16];
        cdb.copy_from_slice(&header.0[32..48]);
        let (immediate, lun, lun_field) = (header.is_immediate(), header.lun(), header.lun_field());
        self.counted += u32::from(!immediate);
        let state = State::Aborted { held_bytes: 0 };
        let open = Open { tag, lun, lun_field, cdb, expected_bytes, reads, writes, immediate, state };
        if too_many_kinds {
            // Commands both ways, and such of more than 16 bytes, are not known.
            drive.count_failed(None);
            self.answer(open, Answer::failed(Sense::INVALID_OPERATION), out);
            return Step::Went;
        }
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        self.tags.insert(tag, cookie);
        if incoming.is_whole() {
            self.tasks.insert(cookie, open);
            self.execute(now, drive, cookie, incoming.into_data(), out);
        } else {
            self.collecting += 1;
            if incoming.needs_request() {
                self.to_ask.push_back(cookie);
            }
            self.tasks.insert(cookie, Open { state: State::Collecting(incoming), ..open });
            self.ask(out);
        }
        Step::Went
    }

    /// Asks for data of the commands whose turn it is.
    fn ask(&mut self, out: &mut Output) {
        while let Some(&cookie) = self.to_ask.front() {
            let Some(Open { state: State::Collecting(incoming), .. }) = self.tasks.get(&cookie) else {
                self.to_ask.pop_front();
                continue;
            };
            let wanted_bytes = incoming.wanted_bytes();
            if self.asked_bytes > 0 && self.asked_bytes + wanted_bytes > self.limits.held_bytes {
                return;
            }
            self.to_ask.pop_front();
            self.asked_bytes += wanted_bytes;
            self.ask_for(cookie, out);
        }
    }

    fn ask_for(&mut self, cookie: u64, out: &mut Output) {
        let Some(open) = self.tasks.get_mut(&cookie) else { return };
        let State::Collecting(incoming) = &mut open.state else { return };
        let wanted = incoming.ask(&self.parameters);
        let mut header = Header::new(READY_TO_TRANSFER, FINAL, open.tag);
        header.put_lun_field(open.lun_field);
        header.put_u32(20, transfer_tag(cookie));
        header.put_u32(24, self.stat_sn);
        self.say_window(&mut header);
        header.put_u32(36, wanted.number);
        header.put_u32(40, wanted.offset_bytes);
        header.put_u32(44, wanted.length_bytes);
        out.push(header.bytes(&[]));
    }

    fn take_data(&mut self, now: Nanos, drive: &mut Drive, pdu: &Pdu, out: &mut Output) -> Step {
        // Data of commands that were aborted, or answered before all had come, are of no use.
        let Some(&cookie) = self.tags.get(&pdu.header.task_tag()) else { return Step::Went };
        let Some(open) = self.tasks.get_mut(&cookie) else { return Step::Went };
        let State::Collecting(incoming) = &mut open.state else {
            return self.break_off(REJECT_PROTOCOL_ERROR, pdu, out);
        };
        let asked = incoming.was_asked();
        if incoming.take(pdu, transfer_tag(cookie), &self.parameters).is_err() {
            return self.break_off(REJECT_INVALID_FIELD, pdu, out);
        }
        if incoming.needs_request() {
            if asked {
                self.ask_for(cookie, out);
            } else {
                self.to_ask.push_back(cookie);
                self.ask(out);
            }
        } else if incoming.is_whole() {
            let state = std::mem::replace(&mut open.state, State::Aborted { held_bytes: 0 });
            let State::Collecting(incoming) = state else { return Step::Broken };
            self.collected(asked, incoming.wanted_bytes());
            self.execute(now, drive, cookie, incoming.into_data(), out);
            self.ask(out);
        }
        Step::Went
    }

    /// A command waits for data no longer. `asked`: they were asked for.
    fn collected(&mut self, asked: bool, wanted_bytes: u64) {
        self.collecting -= 1;
        if asked {
            self.asked_bytes -= wanted_bytes;
        }
    }

    /// All data of a command are there.
    fn execute(&mut self, now: Nanos, drive: &mut Drive, cookie: u64, data: Vec<u8>, out: &mut Output) {
        let (Some(open), Some(unit)) = (self.tasks.get(&cookie), &mut self.unit) else { return };
        let sends_none = !open.writes && open.expected_bytes > 0;
        let command = Command { owner: self.id, cookie, lun: open.lun, cdb: open.cdb, data, sends_none };
        let progress = unit.begin(now, drive, command);
        self.progressed(cookie, progress, out);
    }

    fn progressed(&mut self, cookie: u64, progress: Progress, out: &mut Output) {
        match progress {
            Progress::Waits { task, held_bytes } => {
                self.load.requests += 1;
                self.load.held_bytes += held_bytes;
                if let Some(open) = self.tasks.get_mut(&cookie) {
                    open.state = State::AtDrive { task, held_bytes };
                }
            }
            Progress::Done(answer) => {
                if let Some(open) = self.tasks.remove(&cookie) {
                    self.tags.remove(&open.tag);
                    self.answer(open, answer, out);
                }
            }
        }
    }

    /// Data and status of a command that has ended.
    fn answer(&mut self, open: Open, answer: Answer, out: &mut Output) {
        self.counted -= u32::from(!open.immediate);
        let expected = u64::from(open.expected_bytes);
        let found: u64 = answer.data.iter().map(|piece| piece.len() as u64).sum();
        let moved = if open.writes { answer.wanted_bytes } else { found.max(answer.wanted_bytes) };
        let (residual_flag, residual) = match moved.cmp(&expected) {
            std::cmp::Ordering::Less => (UNDERFLOW, expected - moved),
            std::cmp::Ordering::Equal => (0, 0),
            std::cmp::Ordering::Greater => (OVERFLOW, moved - expected),
        };
        let residual = u32::try_from(residual).unwrap_or(u32::MAX);
        let given = if open.reads { found.min(expected) } else { 0 };
        let collapsed = answer.sense.is_none() && given > 0;
        let mut data_sn = 0;
        if given > 0 {
            let status = collapsed.then_some((residual_flag, residual));
            data_sn = self.send_data(&open, answer.data, given, status, out);
        }
        if collapsed {
            return;
        }
        let mut header = Header::new(SCSI_RESPONSE, FINAL | residual_flag, open.tag);
        header.0[3] = if answer.sense.is_some() { STATUS_CHECK_CONDITION } else { STATUS_GOOD };
        self.number(&mut header);
        header.put_u32(36, data_sn);
        header.put_u32(44, residual);
        let sense = answer.sense.map_or_else(Vec::new, |sense| {
            let sense = sense.bytes();
            [&(sense.len() as u16).to_be_bytes()[..], &sense].concat()
        });
        out.push(header.bytes(&sense));
    }

    /// Sends `given` bytes. `status`: success goes with the last of them, with what is said of the residue. Returns the
    /// number of PDUs.
    fn send_data(
        &mut self,
        open: &Open,
        pieces: Vec<Vec<u8>>,
        given: u64,
        status: Option<(u8, u32)>,
        out: &mut Output,
    ) -> u32 {
        let (segment, burst) = (u64::from(self.parameters.segment_bytes), u64::from(self.parameters.burst_bytes));
        let (mut at, mut data_sn) = (0, 0);
        for piece in pieces {
            let piece_bytes = piece.len() as u64;
            let mut piece = Some(piece);
            let mut from = 0;
            while from < piece_bytes && at < given {
                let left_of_burst = burst - at % burst;
                let length = (piece_bytes - from).min(segment).min(left_of_burst).min(given - at);
                let last = at + length == given;
                let ends_burst = length == left_of_burst;
                let mut header = Header::new(DATA_IN, if last || ends_burst { FINAL } else { 0 }, open.tag);
                header.put_lun_field(open.lun_field);
                header.put_u32(20, NO_TAG);
                match status.filter(|_| last) {
                    Some((residual_flag, residual)) => {
                        header.0[1] |= HAS_STATUS | residual_flag;
                        header.0[3] = STATUS_GOOD;
                        header.put_u32(44, residual);
                        self.number(&mut header);
                    }
                    None => self.say_window(&mut header),
                }
                header.put_u32(36, data_sn);
                header.put_u32(40, at as u32);
                let data = match &mut piece {
                    whole if from == 0 && length == piece_bytes => whole.take(),
                    part => part.as_ref().map(|part| part[from as usize..(from + length) as usize].to_vec()),
                };
                let padding = length.next_multiple_of(4) - length;
                out.push(header.with_length(length as usize).0.to_vec());
                out.push(data.unwrap_or_default());
                out.push(vec![0; padding as usize]);
                from += length;
                at += length;
                data_sn += 1;
            }
        }
        data_sn
    }

    /// Forgets a command, which goes no further. Returns whether the drive is still at it.
    fn abort(&mut self, drive: &mut Drive, cookie: u64) -> bool {
        let Some(open) = self.tasks.get_mut(&cookie) else { return false };
        self.tags.remove(&open.tag);
        let (tag_counts, state) =
            (!open.immediate, std::mem::replace(&mut open.state, State::Aborted { held_bytes: 0 }));
        match state {
            State::Collecting(incoming) => {
                let asked = incoming.was_asked();
                self.tasks.remove(&cookie);
                self.collected(asked, incoming.wanted_bytes());
                self.counted -= u32::from(tag_counts);
                false
            }
            State::AtDrive { held_bytes, .. } => {
                drive.give_up(self.id, cookie);
                open.state = State::Aborted { held_bytes };
                self.counted -= u32::from(tag_counts);
                true
            }
            State::Aborted { held_bytes } => {
                open.state = State::Aborted { held_bytes };
                true
            }
        }
    }

    fn abort_all(&mut self, drive: &mut Drive) {
        let cookies: Vec<u64> = self.tasks.keys().copied().collect();
        cookies.into_iter().for_each(|cookie| _ = self.abort(drive, cookie));
    }

    fn manage(&mut self, now: Nanos, drive: &mut Drive, pdu: &Pdu, out: &mut Output) -> Step {
        let (header, function) = (pdu.header, pdu.header.flags() & 0x7f);
        let cookies: Vec<u64> = match function {
            ABORT_TASK => self.tags.get(&header.u32_at(20)).copied().into_iter().collect(),
            _ => self.tasks.keys().copied().collect(),
        };
        let of_unit = matches!(function, ABORT_TASK | ABORT_TASK_SET | LOGICAL_UNIT_RESET);
        let response = match function {
            // They do not count in the window.
            _ if self.functions.len() >= MOST_FUNCTIONS => FUNCTION_REJECTED,
            _ if of_unit && header.lun() != 0 => NO_SUCH_UNIT,
            ABORT_TASK if cookies.is_empty() => NO_SUCH_TASK,
            ABORT_TASK | ABORT_TASK_SET => FUNCTION_COMPLETE,
            LOGICAL_UNIT_RESET | TARGET_WARM_RESET => {
                if let Some(unit) = &mut self.unit {
                    unit.reset(drive);
                }
                FUNCTION_COMPLETE
            }
            // CLEAR TASK SET, too: of what others have under way, only a reset ends it. And TARGET COLD RESET, after which all
            // connections of all initiators would have to end.
            _ => FUNCTION_NOT_SUPPORTED,
        };
        if response != FUNCTION_COMPLETE {
            self.answer_function(header.task_tag(), response, out);
            return Step::Went;
        }
        let mut waits_for: BTreeSet<u64> = cookies.into_iter().filter(|cookie| self.abort(drive, *cookie)).collect();
        let is_reset = matches!(function, LOGICAL_UNIT_RESET | TARGET_WARM_RESET);
        // What others have at the drive may still change it.
        if is_reset && drive.settle(now, self.id, self.next_cookie) {
            waits_for.insert(self.next_cookie);
            self.next_cookie += 1;
        }
        self.functions.push(Function { tag: header.task_tag(), waits_for });
        self.end_functions(out);
        self.ask(out);
        Step::Went
    }

    /// Something has ended.
    fn waited_for(&mut self, cookie: u64, out: &mut Output) {
        self.functions.iter_mut().for_each(|function| _ = function.waits_for.remove(&cookie));
        self.end_functions(out);
    }

    /// Answers the functions that wait for nothing any more.
    fn end_functions(&mut self, out: &mut Output) {
        let (ended, waiting) = std::mem::take(&mut self.functions).into_iter().partition(|f| f.waits_for.is_empty());
        self.functions = waiting;
        let ended: Vec<Function> = ended;
        ended.iter().for_each(|function| self.answer_function(function.tag, FUNCTION_COMPLETE, out));
    }

    fn answer_function(&mut self, tag: u32, response: u8, out: &mut Output) {
        let mut header = Header::new(TASK_MANAGEMENT_RESPONSE, FINAL, tag);
        header.0[2] = response;
        self.number(&mut header);
        out.push(header.bytes(&[]));
    }

    fn take_text(&mut self, drive: &Drive, pdu: &Pdu, out: &mut Output) -> Step {
        if !self.text.add(&pdu.data) {
            return self.break_off(REJECT_PROTOCOL_ERROR, pdu, out);
        }
        let goes_on = pdu.header.flags() & CONTINUE != 0;
        // Whether more is to be agreed on after this text is for the initiator to say.
        let is_last = pdu.header.flags() & FINAL != 0 && !goes_on;
        let mut answer = Vec::new();
        if !goes_on {
            let Some(pairs) = self.text.take() else { return self.break_off(REJECT_PROTOCOL_ERROR, pdu, out) };
            for (key, value) in pairs {
                self.answer_key(drive, &key, &value, &mut answer);
            }
        }
        let mut header = Header::new(TEXT_RESPONSE, if is_last { FINAL } else { 0 }, pdu.header.task_tag());
        header.put_lun_field(pdu.header.lun_field());
        header.put_u32(20, if is_last { NO_TAG } else { 1 });
        self.number(&mut header);
        answer.truncate(self.parameters.segment_bytes as usize);
        out.push(header.bytes(&answer));
        Step::Went
    }

    fn answer_key(&mut self, drive: &Drive, key: &str, value: &str, answer: &mut Vec<u8>) {
        match key {
            // Of all targets in a session for questions, of its own in a normal one.
            "SendTargets" if value == if self.discovery { "" } else { "All" } => put(answer, key, REJECTED),
            "SendTargets" => {
                let name = target_name(drive.export());
                if matches!(value, "" | "All") || value == name {
                    put(answer, "TargetName", &name);
                    put(answer, "TargetAddress", &format!("{},1", self.portal));
                }
            }
            "MaxRecvDataSegmentLength" | "InitiatorAlias" => {
                if self.parameters.agree(key, value) == Reply::Wrong {
                    put(answer, key, REJECTED);
                }
            }
            _ => put(answer, key, if login::is_key(key) { REJECTED } else { NOT_UNDERSTOOD }),
        }
    }

    fn log_out(&mut self, drive: &mut Drive, pdu: &Pdu, out: &mut Output) -> Step {
        let response = match pdu.header.flags() & 0x7f {
            LOGOUT_SESSION => LOGOUT_DONE,
            LOGOUT_CONNECTION if pdu.header.connection() == self.connection => LOGOUT_DONE,
            LOGOUT_CONNECTION => LOGOUT_NO_SUCH_CONNECTION,
            _ => LOGOUT_NO_RECOVERY,
        };
        let mut header = Header::new(LOGOUT_RESPONSE, FINAL, pdu.header.task_tag());
        header.0[2] = response;
        self.number(&mut header);
        out.push(header.bytes(&[]));
        if response != LOGOUT_DONE {
            return Step::Went;
        }
        self.abort_all(drive);
        Step::Leaves
    }
}

impl Client for IscsiClient {
    fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    fn filled(&mut self, bytes: usize) {
        self.input.filled(bytes);
    }

    fn step(&mut self, now: Nanos, drive: &mut Drive, out: &mut Output) -> Step {
        if self.in_handshake() {
            return self.log_in(drive, out);
        }
        match take(&mut self.input, OWN_SEGMENT_BYTES as usize) {
            Ok(Some(pdu)) => self.take_pdu(now, drive, pdu, out),
            Ok(None) => Step::Wait,
            Err(too_long) => {
                let pdu = Pdu { header: too_long.0, has_additional: false, data: Vec::new() };
                self.break_off(REJECT_PROTOCOL_ERROR, &pdu, out)
            }
        }
    }

    fn ended(&mut self, now: Nanos, drive: &mut Drive, outcome: Outcome, out: &mut Output) {
        let cookie = outcome.cookie;
        let Some(open) = self.tasks.get_mut(&cookie) else { return self.waited_for(cookie, out) };
        let state = std::mem::replace(&mut open.state, State::Aborted { held_bytes: 0 });
        self.load.requests -= 1;
        match state {
            State::AtDrive { task, held_bytes } => {
                self.load.held_bytes -= held_bytes;
                let progress = task.resume(now, drive, outcome);
                self.progressed(cookie, progress, out);
            }
            State::Aborted { held_bytes } => {
                self.load.held_bytes -= held_bytes;
                self.tasks.remove(&cookie);
                self.waited_for(cookie, out);
            }
            State::Collecting(_) => {}
        }
    }

    /// Its commands are forgotten, and the next one hears of the reset.
    fn drive_was_reset(&mut self, drive: &mut Drive) {
        self.abort_all(drive);
    }

    fn in_handshake(&self) -> bool {
        matches!(self.phase, Phase::Login(_))
    }

    fn in_request(&self) -> bool {
        !self.input.bytes().is_empty()
    }

    fn owes(&self) -> bool {
        self.in_request() || self.collecting > 0
    }

    fn load(&self) -> Load {
        self.load
    }

    fn session(&self) -> Option<&[u8]> {
        (!self.session.is_empty() && !self.discovery).then_some(&self.session)
    }
}

/// The tag by which data are asked for.
fn transfer_tag(cookie: u64) -> u32 {
    (cookie % u64::from(NO_TAG)) as u32
}
