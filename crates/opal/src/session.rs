//! A session with one of the SPs, and the methods that a host invokes in it.

use std::ops::Range as Lbas;

use ssdlab_core::Nanos;

use crate::access::{self, opens};
use crate::aces::Columns;
use crate::memory::{ByteTable, Locking, Memory};
use crate::object::{Geometry, Object, account, account_mut, class_of, has_authority, is_class};
use crate::packet::SessionNumbers;
use crate::ranges;
use crate::sp::{Sp, methods};
use crate::status::Status;
use crate::tokens::Value;
use crate::uid::{
    ACTIVATE, ANYBODY, AUTHENTICATE, GEN_KEY, GET, GET_ACL, NEXT, RANDOM, REVERT, REVERT_SP, SET, Uid, table, uid,
};

/// Bytes that Random gives at most.
const MOST_RANDOM_BYTES: u64 = 32;
/// The optional parameter of RevertSP: the global range keeps its key.
const KEEP_GLOBAL_RANGE_KEY: u64 = 0x06_0000;

/// What becomes of the drive's data by a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Erased {
    #[default]
    Nothing,
    /// These sectors have another key.
    Sectors(Vec<Lbas<u64>>),
    /// All of them have.
    Everything,
}

/// What a method does to the data, which takes a while.
#[derive(Default)]
pub struct Change {
    pub erased: Erased,
    /// Memory as it was, if anything is erased.
    pub before: Option<Box<Memory>>,
}

/// What a method answers.
pub struct Answer {
    pub results: Vec<Value>,
    pub change: Change,
    /// The drive ends the session when it has answered.
    pub ends_session: bool,
}

impl Answer {
    fn of(results: Vec<Value>) -> Answer {
        Answer { results, change: Change::default(), ends_session: false }
    }

    fn erasing(erased: Erased) -> Answer {
        Answer { change: Change { erased, before: None }, ..Answer::of(Vec::new()) }
    }
}

/// What was, should it not hold.
struct Transaction {
    before: Box<Memory>,
    authorities: Vec<Uid>,
}

/// See the module's own page.
pub struct Session {
    pub numbers: SessionNumbers,
    pub sp: Sp,
    writes: bool,
    /// Who has shown a PIN.
    authorities: Vec<Uid>,
    transaction: Option<Transaction>,
    /// When the host has last said something.
    pub heard: Nanos,
    /// A host that says nothing for so long has gone.
    pub timeout: Nanos,
}

/// What a host begins a session with.
#[derive(Clone, Copy)]
pub struct Begin {
    pub sp: Sp,
    pub writes: bool,
    pub authority: Uid,
    pub timeout: Nanos,
}

/// Shows a PIN.
///
/// # Errors
/// As [`crate::memory::Account::authenticate`]; an authority without a PIN needs none, unless it is a class.
pub fn authenticate(memory: &mut Memory, sp: Sp, authority: Uid, pin: Option<&[u8]>) -> Result<(), Status> {
    if authority == ANYBODY {
        return Ok(());
    }
    let account = account_mut(memory, sp, authority).ok_or(Status::NotAuthorized)?;
    account.authenticate(pin.unwrap_or_default())
}

impl Session {
    #[must_use]
    pub fn new(begin: Begin, numbers: SessionNumbers, now: Nanos) -> Session {
        let Begin { sp, writes, authority, timeout } = begin;
        Session { numbers, sp, writes, authorities: vec![authority], transaction: None, heard: now, timeout }
    }

    /// Whether somebody has shown to be this authority, or one of this class, and still is it.
    fn is(&self, memory: &Memory, authority: Uid) -> bool {
        let sp = self.sp;
        let counts = |&&shown: &&Uid| account(memory, sp, shown).is_none_or(|account| account.enabled);
        let shown = self.authorities.iter().filter(counts);
        authority == ANYBODY
            || shown.into_iter().any(|&shown| shown == authority || class_of(sp, shown) == Some(authority))
    }

    /// Invokes a method.
    ///
    /// # Errors
    /// What the host is told then. Nothing has been changed, but tries have been counted.
    pub fn call(
        &mut self,
        memory: &mut Memory,
        about: About,
        object: Uid,
        method: Uid,
        parameters: &[Value],
    ) -> Result<Answer, Status> {
        // What is not there is no one's.
        let object = Object::find(self.sp, object).ok_or(Status::NotAuthorized)?;
        // Anybody may ask who may do what.
        if (object, method) == (Object::Rows(table::ACCESS_CONTROL), GET_ACL) {
            return get_acl(self.sp, parameters);
        }
        let list = access::list(self.sp, object, method).ok_or(Status::NotAuthorized)?;
        let open = access::open(memory, self.sp, &list, |authority| self.is(memory, authority));
        let changes = !matches!(method, GET | NEXT | RANDOM | AUTHENTICATE);
        // A byte table that may not be read is an error; columns that may not be read are left out.
        let may_be_empty = method == GET && !matches!(object, Object::Mbr | Object::DataStore);
        if open.is_empty() && !may_be_empty || changes && !self.writes {
            return Err(Status::NotAuthorized);
        }
        // Bytes are written whole or not at all.
        let before = (changes && byte_table(memory, object).is_none()).then(|| Box::new(memory.clone()));
        let answer = match method {
            GET => get(memory, self.sp, about, object, parameters, &open),
            SET => set(memory, self.sp, about, object, parameters, &open),
            NEXT => next(self.sp, object, parameters),
            RANDOM => random(parameters),
            AUTHENTICATE => self.authenticate(memory, parameters),
            GEN_KEY => gen_key(memory, about, object, parameters),
            ACTIVATE => activate(memory, object, parameters),
            REVERT | REVERT_SP => revert(memory, self.sp, about, object, parameters),
            _ => Err(Status::NotAuthorized),
        };
        // What is erased cannot be taken back, nor a session that has ended.
        let answer = answer.and_then(|answer| {
            let for_good = answer.ends_session || answer.change.erased != Erased::Nothing;
            if for_good && self.transaction.is_some() { Err(Status::Fail) } else { Ok(answer) }
        });
        match (answer, before) {
            (Ok(answer), before) => {
                let before = before.filter(|_| answer.change.erased != Erased::Nothing);
                Ok(Answer { change: Change { before, ..answer.change }, ..answer })
            }
            (Err(status), before) => {
                if let Some(before) = before {
                    *memory = *before;
                }
                Err(status)
            }
        }
    }

    fn authenticate(&mut self, memory: &mut Memory, parameters: &[Value]) -> Result<Answer, Status> {
        let authority = parameters.first().and_then(name_of).ok_or(Status::InvalidParameter)?;
        if !has_authority(self.sp, authority) || is_class(authority) {
            return Err(Status::InvalidParameter);
        }
        only(&parameters[1..], &[0])?;
        let pin = optional(parameters, 0, Value::bytes)?;
        let shown = match authenticate(memory, self.sp, authority, pin) {
            Ok(()) => true,
            Err(Status::NotAuthorized) => false,
            Err(other) => return Err(other),
        };
        if shown && !self.authorities.contains(&authority) {
            self.authorities.push(authority);
        }
        Ok(Answer::of(vec![shown.into()]))
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Status::Fail`] within another one.
    pub fn begin(&mut self, memory: &Memory) -> Result<(), Status> {
        if self.transaction.is_some() {
            return Err(Status::Fail);
        }
        self.transaction =
            Some(Transaction { before: Box::new(memory.clone()), authorities: self.authorities.clone() });
        Ok(())
    }

    /// Ends a transaction.
    ///
    /// # Errors
    /// [`Status::Fail`] if there is none.
    pub fn end(&mut self, memory: &mut Memory, holds: bool) -> Result<(), Status> {
        let Transaction { before, authorities } = self.transaction.take().ok_or(Status::Fail)?;
        if !holds {
            undo(memory, *before);
            self.authorities = authorities;
        }
        Ok(())
    }

    /// The session ends: a transaction that is open does not hold.
    pub fn close(mut self, memory: &mut Memory) {
        if let Some(transaction) = self.transaction.take() {
            undo(memory, *transaction.before);
        }
    }

    /// Memory as it was before the transaction that is open: what that has changed may still not hold.
    #[must_use]
    pub fn before_transaction(&self) -> Option<&Memory> {
        self.transaction.as_ref().map(|transaction| &*transaction.before)
    }
}

/// Memory becomes what it was, and its tables know what that changes of them. Wrong tries count all the same
/// ([`crate::memory::Tries`]).
pub fn undo(memory: &mut Memory, mut before: Memory) {
    before.mbr.changed_from(&memory.mbr);
    before.data_store.changed_from(&memory.data_store);
    *memory = before;
}

/// What methods have to know of the drive.
#[derive(Clone, Copy)]
pub struct About {
    pub geometry: Geometry,
    /// Bytes of results that the host takes.
    pub most_bytes: usize,
}

/// The name of an object.
#[must_use]
pub fn name_of(value: &Value) -> Option<Uid> {
    value.bytes().and_then(|bytes| bytes.try_into().ok()).map(Uid::from_be_bytes)
}

/// # Errors
/// [`Status::InvalidParameter`] if there is any other than parameters of these names, or one of them twice.
pub fn only(parameters: &[Value], names: &[u64]) -> Result<(), Status> {
    let mut seen = Vec::new();
    for parameter in parameters {
        let Value::Named(name, _) = parameter else { return Err(Status::InvalidParameter) };
        let name = name.number().filter(|name| names.contains(name) && !seen.contains(name));
        seen.push(name.ok_or(Status::InvalidParameter)?);
    }
    Ok(())
}

/// What the parameter of this name says; `None`: it was left out.
///
/// # Errors
/// [`Status::InvalidParameter`] if it is no such value.
pub fn optional<'a, T>(
    parameters: &'a [Value],
    name: u64,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<Option<T>, Status> {
    Value::of_name(parameters, name).map(|value| read(value).ok_or(Status::InvalidParameter)).transpose()
}

/// Which access control elements open an object, or the SP, to a method.
fn get_acl(sp: Sp, parameters: &[Value]) -> Result<Answer, Status> {
    // The specifications do not say which status it is if there is no such row.
    let wrong = Status::InvalidParameter;
    let [object, method] = parameters else { return Err(wrong) };
    let object = name_of(object).and_then(|object| Object::find(sp, object)).ok_or(wrong)?;
    let method = name_of(method).filter(|&method| methods(sp).iter().any(|known| known.0 == method)).ok_or(wrong)?;
    let rows = access::list(sp, object, method).ok_or(wrong)?;
    let names = rows.into_iter().map(|row| Value::from(&uid(table::ACE, row).to_be_bytes()[..]));
    Ok(Answer::of(vec![Value::List(names.collect())]))
}

fn byte_table(memory: &mut Memory, object: Object) -> Option<&mut ByteTable> {
    match object {
        Object::Mbr => Some(&mut memory.mbr),
        Object::DataStore => Some(&mut memory.data_store),
        _ => None,
    }
}

fn get(
    memory: &mut Memory,
    sp: Sp,
    about: About,
    object: Object,
    parameters: &[Value],
    open: &[Columns],
) -> Result<Answer, Status> {
    let wrong = Status::InvalidParameter;
    let block = match parameters {
        [] => &[],
        [block] => block.list().ok_or(wrong)?,
        _ => return Err(wrong),
    };
    let of_bytes = matches!(object, Object::Mbr | Object::DataStore);
    only(block, if of_bytes { &[1, 2] } else { &[3, 4] })?;
    let limit = |of: u64| optional(block, of, Value::number);
    // Rows by 1 and 2, columns by 3 and 4.
    let ((first_row, last_row), (first, last)) = ((limit(1)?, limit(2)?), (limit(3)?, limit(4)?));
    if let Some(table) = byte_table(memory, object) {
        let first = first_row.unwrap_or(0);
        let last = last_row.unwrap_or(table.bytes() - 1);
        if first > last || last >= table.bytes() {
            return Err(wrong);
        }
        if last - first >= about.most_bytes as u64 {
            return Err(Status::ResponseOverflow);
        }
        let mut bytes = vec![0; (last - first + 1) as usize];
        table.read(first, &mut bytes);
        return Ok(Answer::of(vec![Value::Bytes(bytes)]));
    }
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(u64::MAX));
    if first > last {
        return Err(wrong);
    }
    let mut row = object.row(memory, sp, about.geometry);
    row.retain(|(column, _)| (first..=last).contains(column) && opens(open, *column));
    let row = row.into_iter().map(|(column, value)| Value::named(column, value)).collect();
    Ok(Answer::of(vec![Value::List(row)]))
}

fn set(
    memory: &mut Memory,
    sp: Sp,
    about: About,
    object: Object,
    parameters: &[Value],
    open: &[Columns],
) -> Result<Answer, Status> {
    let wrong = Status::InvalidParameter;
    // An object is a row already.
    only(parameters, if matches!(object, Object::Mbr | Object::DataStore) { &[0, 1] } else { &[1] })?;
    // Without values nothing changes.
    if let Some(table) = byte_table(memory, object) {
        let at = optional(parameters, 0, Value::number)?.unwrap_or(0);
        let bytes = optional(parameters, 1, Value::bytes)?.unwrap_or_default();
        let end = at.checked_add(bytes.len() as u64).filter(|&end| end <= table.bytes());
        if end.is_none() {
            return Err(wrong);
        }
        table.write(at, bytes);
        return Ok(Answer::of(Vec::new()));
    }
    let values = optional(parameters, 1, Value::list)?.unwrap_or_default();
    let before = memory.state.locking.clone();
    let mut columns = Vec::new();
    for value in values {
        let Value::Named(column, value) = value else { return Err(wrong) };
        let column = column.number().ok_or(wrong)?;
        if !opens(open, column) {
            return Err(Status::NotAuthorized);
        }
        // One twice has no order.
        if columns.contains(&column) {
            return Err(wrong);
        }
        columns.push(column);
        object.set(memory, sp, column, value)?;
    }
    let mut answer = Answer::of(Vec::new());
    if let (Object::Range(_), Some(before)) = (object, before) {
        let after = memory.state.locking();
        ranges::check(after, about.geometry)?;
        answer.change.erased = sectors(ranges::moved(&before, after, about.geometry.sectors));
    }
    Ok(answer)
}

fn sectors(all: Vec<Lbas<u64>>) -> Erased {
    if all.is_empty() { Erased::Nothing } else { Erased::Sectors(all) }
}

fn next(sp: Sp, object: Object, parameters: &[Value]) -> Result<Answer, Status> {
    let Object::Rows(table) = object else { return Err(Status::InvalidParameter) };
    only(parameters, &[0, 1])?;
    let rows = Object::rows(sp, table);
    let from = match optional(parameters, 0, name_of)? {
        Some(after) => rows.iter().position(|&row| row == after).ok_or(Status::InvalidParameter)? + 1,
        None => 0,
    };
    let count = optional(parameters, 1, Value::number)?.unwrap_or(u64::MAX);
    let count = count.min((rows.len() - from) as u64) as usize;
    let names = rows[from..from + count].iter().map(|row| Value::from(&row.to_be_bytes()[..])).collect();
    Ok(Answer::of(vec![Value::List(names)]))
}

fn random(parameters: &[Value]) -> Result<Answer, Status> {
    let [count] = parameters else { return Err(Status::InvalidParameter) };
    let count = count.number().filter(|&count| count <= MOST_RANDOM_BYTES);
    let mut bytes = vec![0; count.ok_or(Status::InvalidParameter)? as usize];
    getrandom::fill(&mut bytes).map_err(|_| Status::Fail)?;
    Ok(Answer::of(vec![Value::Bytes(bytes)]))
}

fn gen_key(memory: &Memory, about: About, object: Object, parameters: &[Value]) -> Result<Answer, Status> {
    let Object::Key(range) = object else { return Err(Status::InvalidParameter) };
    // Exponents and lengths are those of other keys.
    only(parameters, &[])?;
    let all = ranges::sectors_of(memory.state.locking(), range as usize, about.geometry.sectors);
    Ok(Answer::erasing(sectors(all)))
}

fn activate(memory: &mut Memory, object: Object, parameters: &[Value]) -> Result<Answer, Status> {
    // Parameters are those of feature sets that the drive does not have, single user mode and further data stores.
    only(parameters, &[])?;
    // Of an SP that is active already nothing changes.
    if object == Object::Sp(Sp::Locking) && memory.state.locking.is_none() {
        memory.state.locking = Some(Locking::activated(&memory.state.sid));
    }
    Ok(Answer::of(Vec::new()))
}

fn revert(memory: &mut Memory, sp: Sp, about: About, object: Object, parameters: &[Value]) -> Result<Answer, Status> {
    let sectors_in_all = about.geometry.sectors;
    let mut erased = Erased::Nothing;
    only(parameters, if object == Object::ThisSp { &[KEEP_GLOBAL_RANGE_KEY] } else { &[] })?;
    let keeps = optional(parameters, KEEP_GLOBAL_RANGE_KEY, Value::truth)?.unwrap_or(false);
    if let Some(locking) = &memory.state.locking {
        erased = Erased::Everything;
        if keeps {
            let global = &locking.ranges[0];
            if global.reads_refused() && global.writes_refused() {
                return Err(Status::Fail);
            }
            let others = 1..locking.ranges.len();
            erased = sectors(others.flat_map(|k| ranges::sectors_of(locking, k, sectors_in_all)).collect());
        }
    }
    memory.revert_locking();
    if object == Object::Sp(Sp::Admin) {
        memory.state = crate::memory::State::new(memory.state.identity.clone());
    }
    // The other SP's session goes on if only the Locking SP was reverted.
    let ends_session = sp == Sp::Locking || object == Object::Sp(Sp::Admin);
    Ok(Answer { ends_session, ..Answer::erasing(erased) })
}

/// Whether an authority may open a session of an SP by itself.
#[must_use]
pub fn may_sign(sp: Sp, authority: Uid) -> bool {
    !is_class(authority) && has_authority(sp, authority)
}
