//! The drive's end of the security protocols: what arrives, what is answered, and when.

use ssdlab_core::{MILLISECOND, Nanos, SECOND};
use thiserror::Error;

use crate::discovery::level_0;
use crate::memory::{ADMINS, Identity, Locking, MBR_BYTES, Memory, Reset, State, USERS};
use crate::object::Geometry;
use crate::packet::{self, HEADS_BYTES, SessionNumbers};
use crate::ranges;
use crate::session::{About, Begin, Change, Erased, Session, authenticate, may_sign, name_of, only, optional, undo};
use crate::sp::Sp;
use crate::status::{SUCCESS, Status};
use crate::tokens::{self, Message, Value, read_message};
use crate::uid::{ANYBODY, PROPERTIES, SESSION_MANAGER, START_SESSION, SYNC_SESSION, Uid};

pub use crate::memory::PAGE_BYTES;

/// Where the drive is spoken to.
const COM_ID: u16 = 0x1000;
/// The security protocols: which there are, sessions, and what resets them.
const PROTOCOL_LIST: u8 = 0;
const PROTOCOL_SESSIONS: u8 = 1;
const PROTOCOL_COM_IDS: u8 = 2;
const COM_ID_DISCOVERY: u16 = 1;
const COM_ID_TPER_RESET: u16 = 4;

/// Bytes of a ComPacket that the drive takes and gives.
const MOST_PACKET_BYTES: usize = 64 << 10;
/// Bytes that a host takes unless it has said more.
const LEAST_PACKET_BYTES: u64 = 2048;
/// A host that says nothing for so long has gone, unless it has asked for another time. Estimates: Opal leaves all three to the
/// maker, who may let a drive wait for ever.
const SESSION_TIMEOUT: Nanos = 120 * SECOND;
const LEAST_SESSION_TIMEOUT: Nanos = 5 * SECOND;
const MOST_SESSION_TIMEOUT: Nanos = 600 * SECOND;

/// The parameter of Properties.
const HOST_PROPERTIES: u64 = 0;
/// Parameters of StartSession that may be left out (Core Specification, section 5.2.3.1); others are not known here.
const HOST_CHALLENGE: u64 = 0;
const HOST_SIGNING_AUTHORITY: u64 = 3;
const SESSION_TIMEOUT_ASKED: u64 = 5;

/// Where the pages of [`Tper::take_changed`] begin: the state, the shadow, and the data store.
const STATE_PAGE: u32 = 0;
const STATE_PAGES: u32 = 16;
const MBR_PAGE: u32 = 0x1_0000;
const DATA_STORE_PAGE: u32 = 0x2_0000;

/// What a host's command meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Allowed,
    Locked,
    /// A read of the shadow of the master boot record.
    Shadow,
}

/// Why a command of a security protocol is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("the drive has no such security protocol")]
    NoProtocol,
    #[error("a security protocol has no such field")]
    BadField,
    #[error("the answer to the last packet has not been fetched")]
    Sequence,
}

/// Pages that cannot be those of a drive's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("what the drive keeps of its passwords and ranges is damaged")]
pub struct DamagedPages;

fn written(state: &State) -> Vec<u8> {
    let mut bytes = postcard::to_stdvec(state).expect("memory is made of what can be written");
    bytes.extend(state.pin_lengths());
    bytes
}

/// Of an earlier form nothing stands behind the state itself.
fn read_state(saved: &[u8]) -> Result<State, DamagedPages> {
    let (mut state, lengths) = postcard::take_from_bytes::<State>(saved).map_err(|_| DamagedPages)?;
    if lengths.is_empty() || state.set_pin_lengths(lengths) { Ok(state) } else { Err(DamagedPages) }
}

fn state_pages(saved: &[u8]) -> Vec<Page> {
    let mut bytes = (saved.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(saved);
    assert!(bytes.len() <= STATE_PAGES as usize * PAGE_BYTES, "a state of {} bytes", bytes.len());
    bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES), 0);
    (STATE_PAGE..).zip(bytes.chunks(PAGE_BYTES).map(|page| Some(page.to_vec()))).collect()
}

/// The answer to a message of a session whose change could not be kept.
fn failing(stream: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match read_message(stream).ok()? {
        Message::Call { .. } => tokens::write_results(&mut out, &[], Status::Fail as u64),
        Message::EndTransaction(_) => tokens::write_transaction(&mut out, false, Status::Fail as u64),
        Message::StartTransaction(_) | Message::EndOfSession => return None,
    }
    Some(out)
}

/// A page of what is kept without power: its number, and its bytes; `None`: zeroes.
pub type Page = (u32, Option<Vec<u8>>);

/// What is waiting to be fetched.
struct Response {
    packet: Vec<u8>,
    /// When it is there.
    ready: Nanos,
}

/// What a drive has kept, as it was at a time. See [`Tper::checkpoint`].
pub struct Checkpoint(Memory);

/// A change that ends with an erase, and has not happened if the power goes before. If no session is there any more, the host has
/// reset the drive since, and nobody waits for the answer.
struct Pending {
    before: Box<Memory>,
    ends_session: bool,
}

/// What is answered instead if the last command's change cannot be kept.
struct Failure {
    numbers: SessionNumbers,
    tokens: Vec<u8>,
    /// The session that the command has ended. It goes on.
    ended: Option<Session>,
}

/// See the module's own page.
pub struct Tper {
    geometry: Geometry,
    memory: Memory,
    /// The state that was last given out to be kept. A new drive has nothing to keep.
    kept: Option<Vec<u8>>,
    session: Option<Session>,
    /// Number of the session that was begun last.
    last_session: u32,
    /// Bytes of a ComPacket that the host takes.
    host_packet_bytes: u64,
    response: Option<Response>,
    /// The answer of [`PROTOCOL_COM_IDS`].
    management: Option<Vec<u8>>,
    pending: Option<Pending>,
    failure: Option<Failure>,
}

impl Tper {
    /// Of a drive out of the factory.
    #[must_use]
    pub fn new(identity: Identity, geometry: Geometry) -> Tper {
        let state = State::new(identity);
        let kept = Some(written(&state));
        Tper {
            geometry,
            memory: Memory::new(state),
            kept,
            session: None,
            last_session: 0x1000,
            host_packet_bytes: LEAST_PACKET_BYTES,
            response: None,
            management: None,
            pending: None,
            failure: None,
        }
    }

    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.memory.state.identity
    }

    /// Takes back what was kept: the drive is as it is when its power comes back.
    ///
    /// # Errors
    /// If these are no pages of such a drive. It is as new then.
    pub fn load(&mut self, pages: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Result<(), DamagedPages> {
        let mut memory = Memory::new(State::new(self.identity().clone()));
        let mut state = Vec::new();
        for (number, bytes) in pages {
            if bytes.len() != PAGE_BYTES {
                return Err(DamagedPages);
            }
            if number < MBR_PAGE {
                let at = number as usize * PAGE_BYTES;
                // They come in order.
                if at < state.len() || number >= STATE_PAGES {
                    return Err(DamagedPages);
                }
                // Nobody keeps pages of zeroes.
                state.resize(at, 0);
                state.extend(bytes);
                continue;
            }
            let (table, first) = match number < DATA_STORE_PAGE {
                true => (&mut memory.mbr, MBR_PAGE),
                false => (&mut memory.data_store, DATA_STORE_PAGE),
            };
            let at = u64::from(number - first) * PAGE_BYTES as u64;
            if at + PAGE_BYTES as u64 > table.bytes() {
                return Err(DamagedPages);
            }
            table.write(at, &bytes);
        }
        if !state.is_empty() {
            let length = u32::from_le_bytes(state[..4].try_into().expect("four bytes")) as usize;
            state.resize(STATE_PAGES as usize * PAGE_BYTES, 0);
            let saved = state[4..].get(..length).ok_or(DamagedPages)?;
            memory.state = read_state(saved)?;
            let locking = memory.state.locking.as_ref();
            let lie = locking.is_none_or(|locking| ranges::check(locking, self.geometry).is_ok());
            if !lie || !memory.state.is_sound() {
                return Err(DamagedPages);
            }
        }
        if memory.state.locking.is_none() {
            // Nobody has them any more.
            memory.revert_locking();
        }
        memory.mbr.take_changed();
        memory.data_store.take_changed();
        memory.reset(Reset::PowerCycle);
        (self.memory, self.kept) = (memory, None);
        Ok(())
    }

    /// The pages that were changed since this was asked last; they belong together. With an erase under way they are those that
    /// are to be kept when it ends. Nothing while a transaction is open: what it changes may still not hold.
    pub fn take_changed(&mut self) -> Vec<Page> {
        if self.session.as_ref().is_some_and(|session| session.before_transaction().is_some()) {
            return Vec::new();
        }
        let mut all = Vec::new();
        let saved = written(&self.memory.state);
        if self.kept.as_ref() != Some(&saved) {
            all.extend(state_pages(&saved));
            self.kept = Some(saved);
        }
        for (table, first) in [(&mut self.memory.mbr, MBR_PAGE), (&mut self.memory.data_store, DATA_STORE_PAGE)] {
            let changed = table.take_changed();
            all.extend(changed.into_iter().map(|(number, page)| (first + number, page.map(|page| page.to_vec()))));
        }
        all
    }

    /// All pages that are kept, as they are when nothing is under way; none of a drive that nobody has taken into possession.
    #[must_use]
    pub fn pages(&self) -> Vec<Page> {
        let memory = self.in_force();
        let saved = written(&memory.state);
        let mut all = match saved == written(&State::new(memory.state.identity.clone())) {
            true => Vec::new(),
            false => state_pages(&saved),
        };
        for (table, first) in [(&memory.mbr, MBR_PAGE), (&memory.data_store, DATA_STORE_PAGE)] {
            all.extend(table.pages().map(|(number, page)| (first + number, Some(page.to_vec()))));
        }
        all
    }

    /// Memory as it is for everybody: without what a transaction has changed that is still open, or a method whose erase has not
    /// ended.
    fn in_force(&self) -> &Memory {
        if let Some(pending) = &self.pending {
            return &pending.before;
        }
        self.session.as_ref().and_then(Session::before_transaction).unwrap_or(&self.memory)
    }

    /// Whether the passwords and locks of the Locking SP are in use.
    #[must_use]
    pub fn is_activated(&self) -> bool {
        self.in_force().state.locking.is_some()
    }

    /// Whether any range refuses reads or writes.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.in_force().state.locking.as_ref().is_some_and(Locking::is_locked)
    }

    /// Whether the shadow of the master boot record stands before the drive's first sectors.
    #[must_use]
    pub fn has_shadow(&self) -> bool {
        let locking = self.in_force().state.locking.as_ref();
        locking.is_some_and(|locking| locking.mbr_control.enabled && !locking.mbr_control.done)
    }

    /// What a host's command on these sectors meets. A command on sectors of several ranges needs the right of each.
    #[must_use]
    pub fn access(&self, first_lba: u64, lbas: u64, writes: bool) -> Access {
        let Some(locking) = &self.in_force().state.locking else { return Access::Allowed };
        if self.has_shadow() {
            let end = self.shadow_lbas();
            if first_lba < end {
                // Nobody writes there, and a read ends within the shadow.
                return if !writes && first_lba + lbas <= end { Access::Shadow } else { Access::Locked };
            }
        }
        if ranges::refused(locking, first_lba, lbas, writes) { Access::Locked } else { Access::Allowed }
    }

    /// The first sector behind this one for which another rule may hold: where the shadow ends, or a range begins or ends.
    #[must_use]
    pub fn next_edge(&self, lba: u64) -> u64 {
        let shadow = self.has_shadow().then(|| self.shadow_lbas());
        let ranges = self.in_force().state.locking.iter().flat_map(|locking| &locking.ranges[1..]);
        let edges = ranges.filter(|range| range.lbas > 0).flat_map(|range| [range.first_lba, range.end_lba()]);
        edges.chain(shadow).filter(|&edge| edge > lba).min().unwrap_or(u64::MAX)
    }

    /// Sectors before which the shadow stands.
    fn shadow_lbas(&self) -> u64 {
        (MBR_BYTES / u64::from(self.geometry.sector_bytes)).min(self.geometry.sectors)
    }

    /// Reads the shadow from this byte of the drive on.
    ///
    /// # Panics
    /// Behind its end; see [`Access::Shadow`].
    pub fn read_shadow(&self, at: u64, into: &mut [u8]) {
        self.in_force().mbr.read(at, into);
    }

    /// The drive's power has come back. An erase that had not ended has not happened.
    pub fn power_cycled(&mut self) {
        if let Some(pending) = self.pending.take() {
            undo(&mut self.memory, *pending.before);
        }
        self.reset_stack();
        self.management = None;
        self.memory.reset(Reset::PowerCycle);
    }

    /// The host has reset the drive, or its protocol stack: no session is left, nor an answer. An erase under way goes on, and no
    /// session begins before it has ended.
    pub fn reset_stack(&mut self) {
        self.end_session();
        (self.response, self.failure) = (None, None);
        self.host_packet_bytes = LEAST_PACKET_BYTES;
    }

    fn end_session(&mut self) {
        if let Some(session) = self.session.take() {
            session.close(&mut self.memory);
        }
    }

    /// The erase that [`Tper::send`] has asked for has ended, at this time: its answer can be fetched then, unless there was a reset.
    ///
    /// # Panics
    /// If none was asked for.
    pub fn erased(&mut self, at: Nanos) {
        let pending = self.pending.take().expect("no erase is under way");
        let Some(session) = &mut self.session else { return };
        session.heard = at;
        self.response.as_mut().expect("a method has an answer").ready = at;
        if pending.ends_session {
            self.session = None;
        }
    }

    /// The erase could not be kept: the method has failed, and what it has changed is as it was. The data may be gone.
    ///
    /// # Panics
    /// If none was asked for.
    pub fn not_erased(&mut self, at: Nanos) {
        let pending = self.pending.take().expect("no erase is under way");
        undo(&mut self.memory, *pending.before);
        self.session.iter_mut().for_each(|session| session.heard = at);
        self.fail(at);
    }

    /// Memory as it is, to be held against what the next command makes of it.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.in_force().clone())
    }

    /// Whether the last command has done no more than to open locks, or to take the shadow away: what is lost of that with the power
    /// leaves the drive locked.
    #[must_use]
    pub fn has_only_unlocked(&self, since: &Checkpoint) -> bool {
        let before = &since.0;
        let (mut state, old) = (self.memory.state.clone(), &before.state);
        if let (Some(locking), Some(old)) = (&mut state.locking, &old.locking) {
            for (range, old) in locking.ranges.iter_mut().zip(&old.ranges) {
                range.read_locked |= old.read_locked;
                range.write_locked |= old.write_locked;
            }
            locking.mbr_control.done &= old.mbr_control.done;
        }
        let same_tables = self.memory.mbr.is_same(&before.mbr) && self.memory.data_store.is_same(&before.data_store);
        same_tables && written(&state) == written(old)
    }

    /// What the last command has changed could not be kept: it has failed, and all is as it was. `false`: it has no answer that
    /// could say so.
    pub fn not_kept(&mut self, now: Nanos, before: Checkpoint) -> bool {
        undo(&mut self.memory, before.0);
        self.fail(now)
    }

    fn fail(&mut self, now: Nanos) -> bool {
        let Some(Failure { numbers, tokens, ended }) = self.failure.take() else { return false };
        if ended.is_some() {
            self.session = ended;
        }
        self.respond(now, numbers, &tokens);
        true
    }

    /// Whether an erase was asked for and has not ended.
    #[must_use]
    pub fn is_erasing(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a host waits for the answer to a method that erases.
    fn is_awaited(&self) -> bool {
        self.pending.is_some() && self.session.is_some()
    }

    /// TRUSTED SEND and its like. What it returns has to be erased next, and be told by [`Tper::erased`]; until then the host
    /// is told to wait.
    ///
    /// # Errors
    /// If the command is aborted. A packet that cannot be understood is no error: it is not answered.
    pub fn send(&mut self, now: Nanos, protocol: u8, specific: u16, data: &[u8]) -> Result<Erased, Refused> {
        if self.pending.is_none() {
            // That of an erase under way may still be needed.
            self.failure = None;
        }
        match (protocol, specific) {
            (PROTOCOL_SESSIONS, COM_ID) => {
                self.time_out(now);
                if self.response.is_some() {
                    return Err(Refused::Sequence);
                }
                if data.len() > MOST_PACKET_BYTES.next_multiple_of(512) {
                    return Err(Refused::BadField);
                }
                Ok(self.packet(now, data))
            }
            (PROTOCOL_COM_IDS, COM_ID_TPER_RESET) => {
                if !self.in_force().state.programmatic_reset {
                    return Err(Refused::BadField);
                }
                self.reset_stack();
                // Whether an erase that is under way will have happened or not.
                let before = self.pending.iter_mut().map(|pending| &mut *pending.before);
                before.chain([&mut self.memory]).for_each(|memory| memory.reset(Reset::Programmatic));
                Ok(Erased::Nothing)
            }
            (PROTOCOL_COM_IDS, COM_ID) => self.manage(now, data).map(|()| Erased::Nothing),
            (PROTOCOL_SESSIONS | PROTOCOL_COM_IDS, _) => Err(Refused::BadField),
            _ => Err(Refused::NoProtocol),
        }
    }

    /// A host that has gone leaves neither a session nor an answer in the way of the next one.
    fn time_out(&mut self, now: Nanos) {
        if self.is_awaited() {
            return;
        }
        let since = |at: Nanos| now.saturating_sub(at);
        let gone = match (&self.session, &self.response) {
            (Some(session), _) => since(session.heard) > session.timeout,
            (None, response) => response.as_ref().is_some_and(|response| since(response.ready) > SESSION_TIMEOUT),
        };
        if gone {
            self.end_session();
            self.response = None;
        }
    }

    /// HANDLE_COMID_REQUEST: whether the ComID is in use, and a reset of what is under way there. Any other request is taken, and
    /// has no answer.
    fn manage(&mut self, now: Nanos, data: &[u8]) -> Result<(), Refused> {
        self.time_out(now);
        let head: &[u8; 8] = data.first_chunk().ok_or(Refused::BadField)?;
        let (com_id, request) = head.split_at(4);
        if com_id != packet::extended(COM_ID) {
            return Err(Refused::BadField);
        }
        let mut answer = head.to_vec();
        self.management = match request {
            // Issued, or taken by a session; then three times, which it does not tell.
            [0, 0, 0, 1] => {
                answer.extend_from_slice(&[0, 0, 0, 0x22, 0, 0, 0, if self.session.is_some() { 3 } else { 2 }]);
                answer.resize(12 + 0x22, 0);
                Some(answer)
            }
            [0, 0, 0, 2] => {
                self.reset_stack();
                answer.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0]);
                Some(answer)
            }
            _ => None,
        };
        Ok(())
    }

    /// TRUSTED RECEIVE and its like: at most so many bytes. What the host has no room for it may ask for again.
    ///
    /// # Errors
    /// If the command is aborted.
    pub fn receive(&mut self, now: Nanos, protocol: u8, specific: u16, most_bytes: usize) -> Result<Vec<u8>, Refused> {
        let mut bytes = match (protocol, specific) {
            (PROTOCOL_LIST, 0) => {
                let mut bytes = vec![0; 6];
                bytes.extend_from_slice(&[0, 3, PROTOCOL_LIST, PROTOCOL_SESSIONS, PROTOCOL_COM_IDS]);
                bytes
            }
            // No certificate.
            (PROTOCOL_LIST, 1) => vec![0; 4],
            (PROTOCOL_SESSIONS, COM_ID_DISCOVERY) => level_0(&self.in_force().state, self.geometry, COM_ID),
            (PROTOCOL_SESSIONS, COM_ID) => {
                self.time_out(now);
                self.fetch(now, most_bytes)
            }
            (PROTOCOL_COM_IDS, COM_ID) => match &self.management {
                Some(answer) if answer.len() > most_bytes => answer.clone(),
                Some(_) => self.management.take().expect("it is there"),
                None => {
                    let mut nothing = vec![0; 16];
                    nothing[..2].copy_from_slice(&COM_ID.to_be_bytes());
                    nothing
                }
            },
            (PROTOCOL_LIST | PROTOCOL_SESSIONS | PROTOCOL_COM_IDS, _) => return Err(Refused::BadField),
            _ => return Err(Refused::NoProtocol),
        };
        bytes.truncate(most_bytes);
        Ok(bytes)
    }

    fn fetch(&mut self, now: Nanos, most_bytes: usize) -> Vec<u8> {
        let waits = self.is_awaited();
        match &self.response {
            None => packet::empty(COM_ID, 0, 0),
            // Something is coming: ask again.
            Some(response) if waits || response.ready > now => packet::empty(COM_ID, 1, 0),
            Some(response) if response.packet.len() > most_bytes => {
                let bytes = response.packet.len() as u32;
                packet::empty(COM_ID, bytes, bytes)
            }
            Some(_) => self.response.take().expect("it is there").packet,
        }
    }

    /// A packet of the host.
    fn packet(&mut self, now: Nanos, data: &[u8]) -> Erased {
        let Ok(Some((numbers, stream))) = packet::read(data, COM_ID) else { return Erased::Nothing };
        if numbers == SessionNumbers::default() {
            self.session_manager(now, stream);
            return Erased::Nothing;
        }
        if self.session.as_ref().is_none_or(|session| session.numbers != numbers) {
            return Erased::Nothing;
        }
        let mut out = Vec::new();
        let (change, ends_session) = self.in_session(now, stream, &mut out);
        self.respond(now, numbers, &out);
        // With an erase the session ends once that has ended.
        let ended = self.session.take_if(|_| ends_session && change.before.is_none());
        self.failure = failing(stream).map(|tokens| Failure { numbers, tokens, ended });
        self.pending = change.before.map(|before| Pending { before, ends_session });
        change.erased
    }

    fn respond(&mut self, now: Nanos, numbers: SessionNumbers, out: &[u8]) {
        self.response = Some(Response { packet: packet::write(COM_ID, numbers, out), ready: now });
    }

    /// What a session says; whether it ends, and what is to be erased.
    fn in_session(&mut self, now: Nanos, stream: &[u8], out: &mut Vec<u8>) -> (Change, bool) {
        let most_bytes = (self.host_packet_bytes as usize).saturating_sub(HEADS_BYTES);
        let about = About { geometry: self.geometry, most_bytes };
        let session = self.session.as_mut().expect("a packet of a session that is there");
        session.heard = now;
        let transaction = |out: &mut Vec<u8>, begins: bool, result: Result<(), Status>| {
            let status = result.map_or_else(|status| status as u64, |()| SUCCESS);
            tokens::write_transaction(out, begins, status);
            (Change::default(), false)
        };
        match read_message(stream) {
            Ok(Message::EndOfSession) => {
                tokens::write_end_of_session(out);
                self.end_session();
                (Change::default(), true)
            }
            Ok(Message::StartTransaction(_)) => {
                let begun = session.begin(&self.memory);
                transaction(out, true, begun)
            }
            Ok(Message::EndTransaction(status)) => {
                let ended = session.end(&mut self.memory, status == 0);
                transaction(out, false, ended)
            }
            Ok(Message::Call { object, method, parameters, status: 0 }) => {
                let (object, method) = (Uid::from_be_bytes(object), Uid::from_be_bytes(method));
                match session.call(&mut self.memory, about, object, method, &parameters) {
                    Ok(answer) => {
                        tokens::write_results(out, &answer.results, SUCCESS);
                        if out.len() > most_bytes {
                            out.clear();
                            tokens::write_results(out, &[], Status::ResponseOverflow as u64);
                        }
                        (answer.change, answer.ends_session)
                    }
                    Err(status) => {
                        tokens::write_results(out, &[], status as u64);
                        (Change::default(), false)
                    }
                }
            }
            // A host that takes its call back, or cannot be understood: the session is over (Core Specification, 3.3.7).
            Ok(Message::Call { .. }) | Err(_) => {
                tokens::write_end_of_session(out);
                self.end_session();
                (Change::default(), true)
            }
        }
    }

    /// What a host says outside of sessions.
    fn session_manager(&mut self, now: Nanos, stream: &[u8]) {
        let Ok(Message::Call { object, method, parameters, status: 0 }) = read_message(stream) else { return };
        if Uid::from_be_bytes(object) != SESSION_MANAGER {
            return;
        }
        let (answers, results) = match Uid::from_be_bytes(method) {
            PROPERTIES => (PROPERTIES, self.properties(&parameters)),
            START_SESSION => {
                let numbers = self.start_session(now, &parameters);
                (SYNC_SESSION, numbers.map(|of| vec![u64::from(of.host).into(), u64::from(of.tper).into()]))
            }
            _ => return,
        };
        let status = results.as_ref().map_or_else(|&status| status as u64, |_| SUCCESS);
        let (manager, results) = (SESSION_MANAGER.to_be_bytes(), results.unwrap_or_default());
        let mut out = Vec::new();
        tokens::write_call(&mut out, manager, answers.to_be_bytes(), &results, status);
        self.respond(now, SessionNumbers::default(), &out);
    }

    /// What both sides take. Properties of the host that the drive does not know are none of its business.
    fn properties(&mut self, parameters: &[Value]) -> Result<Vec<Value>, Status> {
        only(parameters, &[HOST_PROPERTIES])?;
        let theirs = optional(parameters, HOST_PROPERTIES, Value::list)?;
        let most = MOST_PACKET_BYTES as u64;
        let ours: [(&str, u64); 13] = [
            ("MaxComPacketSize", most),
            ("MaxResponseComPacketSize", most),
            ("MaxPacketSize", most - 20),
            ("MaxIndTokenSize", most - HEADS_BYTES as u64),
            ("MaxPackets", 1),
            ("MaxSubpackets", 1),
            ("MaxMethods", 1),
            ("MaxSessions", 1),
            ("MaxTransactionLimit", 1),
            // Everybody of an SP.
            ("MaxAuthentications", (ADMINS + USERS + 1) as u64),
            ("DefSessionTimeout", SESSION_TIMEOUT / MILLISECOND),
            ("MaxSessionTimeout", MOST_SESSION_TIMEOUT / MILLISECOND),
            ("MinSessionTimeout", LEAST_SESSION_TIMEOUT / MILLISECOND),
        ];
        let text = |(name, number): (&str, u64)| Value::named(name, number);
        let mut results = vec![Value::List(ours.into_iter().map(text).collect())];
        if let Some(theirs) = theirs {
            let said = |name: &str| {
                theirs.iter().find_map(|value| match value {
                    Value::Named(found, value) if found.bytes() == Some(name.as_bytes()) => value.number(),
                    _ => None,
                })
            };
            // What is in a ComPacket fits in by itself. Of what the host does not say, the ComPacket decides.
            let with_heads = [("MaxPacketSize", 20), ("MaxIndTokenSize", HEADS_BYTES as u64)];
            let within = with_heads.into_iter().filter_map(|(name, heads)| Some(said(name)?.saturating_add(heads)));
            let packet = within.fold(said("MaxComPacketSize").unwrap_or(0), u64::min).clamp(LEAST_PACKET_BYTES, most);
            // Packets are padded to four bytes.
            let packet = packet & !3;
            self.host_packet_bytes = packet;
            let host = [
                ("MaxComPacketSize", packet),
                ("MaxPacketSize", packet - 20),
                ("MaxIndTokenSize", packet - HEADS_BYTES as u64),
                ("MaxPackets", 1),
                ("MaxSubpackets", 1),
                ("MaxMethods", 1),
            ];
            results.push(Value::named(HOST_PROPERTIES, Value::List(host.into_iter().map(text).collect())));
        }
        Ok(results)
    }

    fn start_session(&mut self, now: Nanos, parameters: &[Value]) -> Result<SessionNumbers, Status> {
        let wrong = Status::InvalidParameter;
        let [host, sp, writes, others @ ..] = parameters else { return Err(wrong) };
        let host = host.number().and_then(|number| u32::try_from(number).ok()).ok_or(wrong)?;
        let sp = name_of(sp).ok_or(wrong)?;
        let sp = [Sp::Admin, Sp::Locking].into_iter().find(|known| known.uid() == sp).ok_or(wrong)?;
        let writes = writes.truth().ok_or(wrong)?;
        if sp == Sp::Locking && !self.is_activated() {
            return Err(wrong);
        }
        if self.session.is_some() || self.pending.is_some() {
            return Err(Status::NoSessionsAvailable);
        }
        only(others, &[HOST_CHALLENGE, HOST_SIGNING_AUTHORITY, SESSION_TIMEOUT_ASKED])?;
        let pin = optional(others, HOST_CHALLENGE, Value::bytes)?;
        let authority = optional(others, HOST_SIGNING_AUTHORITY, name_of)?.unwrap_or(ANYBODY);
        if !may_sign(sp, authority) {
            return Err(wrong);
        }
        // What the SP itself has to say of it (SPSessionTimeout) is 0, which does not count; no host can change that.
        let timeout = optional(others, SESSION_TIMEOUT_ASKED, |asked| asked.number()?.checked_mul(MILLISECOND))?;
        let timeout = timeout.unwrap_or(SESSION_TIMEOUT);
        if !(LEAST_SESSION_TIMEOUT..=MOST_SESSION_TIMEOUT).contains(&timeout) {
            return Err(wrong);
        }
        authenticate(&mut self.memory, sp, authority, pin)?;
        self.last_session = self.last_session.wrapping_add(1).max(0x1000);
        let numbers = SessionNumbers { tper: self.last_session, host };
        self.session = Some(Session::new(Begin { sp, writes, authority, timeout }, numbers, now));
        Ok(numbers)
    }
}
