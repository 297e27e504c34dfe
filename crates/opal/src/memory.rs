//! What the drive keeps of its passwords, ranges and tables while it has no power.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hmac::Hmac;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::expression::Expression;
use crate::status::Status;

/// Administrators of the Locking SP. As in all drives of the catalog that say so: the least that Opal asks for.
pub const ADMINS: usize = 4;
/// Users of the Locking SP: one for each range, and one more.
pub const USERS: usize = 9;
/// Ranges beside the global one. Opal asks for 8.
pub const RANGES: usize = 8;
/// Bytes of a PIN.
pub const MOST_PIN_BYTES: usize = 32;
/// Bytes of a common name.
pub const MOST_NAME_BYTES: usize = 32;
/// Wrong tries in a row after which an authority is locked out until the next power cycle. Estimate: Opal leaves it to
/// the maker.
pub const TRY_LIMIT: u64 = 5;
/// Bytes of the shadow of the master boot record: the least that Opal asks for.
pub const MBR_BYTES: u64 = 128 << 20;
/// Bytes of the table for whatever the host likes: the least that Opal asks for.
pub const DATA_STORE_BYTES: u64 = 10 << 20;

/// Access control elements whose expression can be changed: four for each range, two for each user, five others.
const MOST_EXPRESSIONS: usize = 4 * (RANGES + 1) + 2 * USERS + 5;

/// Rounds of hashing of a stored PIN. Few: what is protected is the bytes of a PIN that somebody uses elsewhere too, in
/// the file of a simulated drive.
const ROUNDS: u32 = 2_000;

/// What is kept instead of the length of a PIN that is not known.
const UNKNOWN_LENGTH: u8 = 0xff;

/// A stored PIN: salted and hashed (PBKDF2 with HMAC-SHA-256, RFC 8018).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Secret {
    salt: [u8; 16],
    hash: [u8; 32],
    /// Bytes of the PIN: the hash is the same with zeroes behind it. Kept beside the state ([`State::pin_lengths`]); `None` of one
    /// that an earlier program has kept.
    #[serde(skip)]
    pin_bytes: Option<u8>,
}

impl Secret {
    /// # Errors
    /// [`Status::InvalidParameter`] if the PIN is too long, [`Status::Fail`] without random numbers.
    pub fn new(pin: &[u8]) -> Result<Secret, Status> {
        if pin.len() > MOST_PIN_BYTES {
            return Err(Status::InvalidParameter);
        }
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| Status::Fail)?;
        Ok(Secret { salt, hash: hash(pin, &salt), pin_bytes: Some(pin.len() as u8) })
    }

    /// A PIN that everybody may know: its salt follows from it, so that a new drive is the same each time.
    #[must_use]
    pub fn of_maker(pin: &[u8]) -> Secret {
        let digest = Sha256::digest(pin);
        let salt = digest[..16].try_into().expect("a digest has 32 bytes");
        Secret { salt, hash: hash(pin, &salt), pin_bytes: Some(pin.len() as u8) }
    }

    #[must_use]
    pub fn is(&self, pin: &[u8]) -> bool {
        let found = hash(pin, &self.salt);
        // Every byte is looked at.
        let same = found.iter().zip(&self.hash).fold(0, |all, (a, b)| all | (a ^ b)) == 0;
        same && self.pin_bytes.is_none_or(|bytes| usize::from(bytes) == pin.len())
    }
}

fn hash(pin: &[u8], salt: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    pbkdf2::pbkdf2::<Hmac<Sha256>>(pin, salt, ROUNDS, &mut out).expect("any length is a key of HMAC");
    out
}

/// Wrong tries of a PIN in a row. Gone with the power.
///
/// A copy of memory counts together with what it is a copy of: a change that is taken back brings the PIN of before back with all
/// tries that there were of it. Whatever gives an authority another PIN gives it a count of its own.
#[derive(Clone, Debug, Default)]
pub struct Tries(Arc<AtomicU64>);

impl Tries {
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// An authority with a PIN.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub secret: Secret,
    pub enabled: bool,
    pub common_name: Vec<u8>,
    #[serde(skip)]
    pub tries: Tries,
}

impl Account {
    #[must_use]
    pub fn of_maker(pin: &[u8], enabled: bool) -> Account {
        Account { secret: Secret::of_maker(pin), enabled, common_name: Vec::new(), tries: Tries::default() }
    }

    /// Another authority with the same PIN.
    fn another(&self) -> Account {
        Account { tries: Tries::default(), ..self.clone() }
    }

    /// Nobody has tried the new PIN yet.
    pub fn set_pin(&mut self, secret: Secret) {
        (self.secret, self.tries) = (secret, Tries::default());
    }

    /// # Errors
    /// [`Status::NotAuthorized`] if it is another PIN or the authority is not enabled; [`Status::AuthorityLockedOut`] after
    /// too many of these.
    pub fn authenticate(&mut self, pin: &[u8]) -> Result<(), Status> {
        if !self.enabled {
            return Err(Status::NotAuthorized);
        }
        if self.tries.count() >= TRY_LIMIT {
            return Err(Status::AuthorityLockedOut);
        }
        if !self.secret.is(pin) {
            self.tries.one_more();
            return Err(Status::NotAuthorized);
        }
        self.tries.forget();
        Ok(())
    }
}

/// Which resets something happens at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resets {
    pub power_cycle: bool,
    /// TPER_RESET.
    pub programmatic: bool,
}

impl Resets {
    pub const POWER_CYCLE: Resets = Resets { power_cycle: true, programmatic: false };

    #[must_use]
    pub fn has(self, reset: Reset) -> bool {
        match reset {
            Reset::PowerCycle => self.power_cycle,
            Reset::Programmatic => self.programmatic,
        }
    }
}

/// A reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    PowerCycle,
    Programmatic,
}

/// A locking range. The global one has neither begin nor length: it is all that no other one has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Range {
    pub common_name: Vec<u8>,
    pub first_lba: u64,
    /// 0: it has none.
    pub lbas: u64,
    pub read_lock_enabled: bool,
    pub write_lock_enabled: bool,
    pub read_locked: bool,
    pub write_locked: bool,
    pub lock_on: Resets,
}

impl Default for Range {
    fn default() -> Range {
        Range {
            common_name: Vec::new(),
            first_lba: 0,
            lbas: 0,
            read_lock_enabled: false,
            write_lock_enabled: false,
            read_locked: false,
            write_locked: false,
            lock_on: Resets::POWER_CYCLE,
        }
    }
}

impl Range {
    #[must_use]
    pub fn reads_refused(&self) -> bool {
        self.read_lock_enabled && self.read_locked
    }

    #[must_use]
    pub fn writes_refused(&self) -> bool {
        self.write_lock_enabled && self.write_locked
    }

    #[must_use]
    pub fn end_lba(&self) -> u64 {
        self.first_lba + self.lbas
    }
}

/// Whether the shadow of the master boot record stands before the drive's first sectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MbrControl {
    pub enabled: bool,
    pub done: bool,
    pub done_on: Resets,
}

/// The Locking SP after it was activated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Locking {
    pub admins: [Account; ADMINS],
    pub users: [Account; USERS],
    /// The global range first.
    pub ranges: [Range; RANGES + 1],
    pub mbr_control: MbrControl,
    /// Access control elements that are no longer as the maker has set them, by their rows.
    pub expressions: BTreeMap<u32, Expression>,
}

impl Locking {
    /// As it is when it is activated: Admin1 has the PIN of the SID.
    #[must_use]
    pub fn activated(sid: &Account) -> Locking {
        let nobody = |enabled| Account::of_maker(b"", enabled);
        let mut admins = std::array::from_fn(|_| nobody(false));
        admins[0] = Account { secret: sid.secret.clone(), ..nobody(true) };
        let other = nobody(false);
        Locking {
            admins,
            users: std::array::from_fn(|_| other.another()),
            ranges: std::array::from_fn(|_| Range::default()),
            mbr_control: MbrControl { enabled: false, done: false, done_on: Resets::POWER_CYCLE },
            expressions: BTreeMap::new(),
        }
    }

    /// Whether any range refuses reads or writes.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.ranges.iter().any(|range| range.reads_refused() || range.writes_refused())
    }

    /// The range that has this sector, by its number.
    #[must_use]
    pub fn range_of(&self, lba: u64) -> usize {
        (1..=RANGES).find(|&k| (self.ranges[k].first_lba..self.ranges[k].end_lba()).contains(&lba)).unwrap_or(0)
    }
}

/// What is printed on a drive's label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The PIN of the SID of a new drive, which anybody can read.
    pub msid: String,
    /// The PIN of the authority that can revert the drive whatever is forgotten, which nobody can read but on the label.
    pub psid: String,
}

impl Identity {
    /// Of the drive of this model with this seed: the same each time.
    #[must_use]
    pub fn of(model: &str, seed: u64) -> Identity {
        let pin = |what: &str| {
            let digest = Sha256::digest(format!("{what} of {model}, {seed}"));
            // Letters and digits that nobody mistakes for another on a label.
            const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
            digest.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
        };
        Identity { msid: pin("MSID"), psid: pin("PSID") }
    }
}

/// What is kept beside the byte tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    pub identity: Identity,
    pub sid: Account,
    pub psid: Account,
    /// The one administrator of the Admin SP.
    pub admin: Account,
    pub makers_enabled: bool,
    /// TPER_RESET has an effect.
    pub programmatic_reset: bool,
    /// `None`: the Locking SP is not activated.
    pub locking: Option<Locking>,
}

impl State {
    /// Out of the factory: the SID has the PIN of the maker.
    #[must_use]
    pub fn new(identity: Identity) -> State {
        State {
            sid: Account::of_maker(identity.msid.as_bytes(), true),
            psid: Account::of_maker(identity.psid.as_bytes(), true),
            identity,
            admin: Account::of_maker(b"", false),
            makers_enabled: true,
            programmatic_reset: false,
            locking: None,
        }
    }

    /// All authorities with a PIN, in order.
    fn accounts(&self) -> impl Iterator<Item = &Account> {
        let of_locking = self.locking.iter().flat_map(|locking| locking.admins.iter().chain(&locking.users));
        [&self.sid, &self.psid, &self.admin].into_iter().chain(of_locking)
    }

    fn accounts_mut(&mut self) -> impl Iterator<Item = &mut Account> {
        let of_locking =
            self.locking.iter_mut().flat_map(|locking| locking.admins.iter_mut().chain(&mut locking.users));
        [&mut self.sid, &mut self.psid, &mut self.admin].into_iter().chain(of_locking)
    }

    /// Bytes of each PIN, a byte each, to be kept beside the state.
    #[must_use]
    pub fn pin_lengths(&self) -> Vec<u8> {
        self.accounts().map(|account| account.secret.pin_bytes.unwrap_or(UNKNOWN_LENGTH)).collect()
    }

    /// Takes back what was kept beside the state. `false`: that cannot be.
    pub fn set_pin_lengths(&mut self, kept: &[u8]) -> bool {
        let may_be = |&length: &u8| length == UNKNOWN_LENGTH || usize::from(length) <= MOST_PIN_BYTES;
        let fits = kept.len() == self.accounts().count() && kept.iter().all(may_be);
        for (account, &length) in self.accounts_mut().zip(kept) {
            account.secret.pin_bytes = Some(length).filter(|&length| length != UNKNOWN_LENGTH);
        }
        fits
    }

    /// Whether it can be what a drive has kept: nothing is longer than a host could have made it. Where ranges lie is not looked at.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let short = |name: &Vec<u8>| name.len() <= MOST_NAME_BYTES;
        let locking = self.locking.as_ref().is_none_or(|locking| {
            locking.ranges.iter().all(|range| short(&range.common_name))
                && locking.expressions.len() <= MOST_EXPRESSIONS
                && locking.expressions.values().all(Expression::is_sound)
        });
        let label = [&self.identity.msid, &self.identity.psid];
        locking
            && self.accounts().all(|account| short(&account.common_name))
            && label.iter().all(|pin| pin.len() <= MOST_PIN_BYTES)
    }

    /// # Panics
    /// If the Locking SP is not activated: its sessions are only for one that is.
    #[must_use]
    pub fn locking(&self) -> &Locking {
        self.locking.as_ref().expect("a session of a Locking SP that is not activated")
    }

    /// As [`State::locking`], to be changed.
    pub fn locking_mut(&mut self) -> &mut Locking {
        self.locking.as_mut().expect("a session of a Locking SP that is not activated")
    }
}

/// Bytes of a page of a byte table.
pub const PAGE_BYTES: usize = 4096;

/// A table of bytes. Pages of zeroes take no memory.
#[derive(Clone, Debug)]
pub struct ByteTable {
    bytes: u64,
    pages: BTreeMap<u32, Arc<[u8; PAGE_BYTES]>>,
    changed: BTreeSet<u32>,
}

type PageOf<'a> = (&'a u32, &'a Arc<[u8; PAGE_BYTES]>);

impl ByteTable {
    #[must_use]
    pub fn new(bytes: u64) -> ByteTable {
        ByteTable { bytes, pages: BTreeMap::new(), changed: BTreeSet::new() }
    }

    /// Whether another table holds the same.
    #[must_use]
    pub fn is_same(&self, other: &ByteTable) -> bool {
        let alike = |((a, x), (b, y)): (PageOf<'_>, PageOf<'_>)| a == b && (Arc::ptr_eq(x, y) || x == y);
        self.pages.len() == other.pages.len() && self.pages.iter().zip(&other.pages).all(alike)
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// # Panics
    /// If it ends before these bytes do.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        assert!(at + into.len() as u64 <= self.bytes, "bytes behind the end of a table");
        let mut rest = into;
        let mut at = at;
        while !rest.is_empty() {
            let within = at as usize % PAGE_BYTES;
            let count = rest.len().min(PAGE_BYTES - within);
            let (piece, behind) = rest.split_at_mut(count);
            match self.pages.get(&((at / PAGE_BYTES as u64) as u32)) {
                Some(page) => piece.copy_from_slice(&page[within..within + count]),
                None => piece.fill(0),
            }
            rest = behind;
            at += count as u64;
        }
    }

    /// # Panics
    /// As [`ByteTable::read`].
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        assert!(at + bytes.len() as u64 <= self.bytes, "bytes behind the end of a table");
        let mut rest = bytes;
        let mut at = at;
        while !rest.is_empty() {
            let within = at as usize % PAGE_BYTES;
            let (piece, behind) = rest.split_at(rest.len().min(PAGE_BYTES - within));
            let number = (at / PAGE_BYTES as u64) as u32;
            let mut page = self.pages.remove(&number).unwrap_or_else(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(&mut page)[within..within + piece.len()].copy_from_slice(piece);
            if page.iter().any(|&byte| byte != 0) {
                self.pages.insert(number, page);
            }
            self.changed.insert(number);
            rest = behind;
            at += piece.len() as u64;
        }
    }

    /// All zeroes.
    pub fn clear(&mut self) {
        self.changed.extend(std::mem::take(&mut self.pages).into_keys());
    }

    /// Every page counts as changed that differs from another table.
    pub fn changed_from(&mut self, other: &ByteTable) {
        let same = |number: &u32| match (self.pages.get(number), other.pages.get(number)) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a.is_none() && b.is_none(),
        };
        let all: BTreeSet<u32> = self.pages.keys().chain(other.pages.keys()).copied().collect();
        let differing: Vec<u32> = all.into_iter().filter(|number| !same(number)).collect();
        self.changed.extend(differing);
    }

    /// The pages that are not all zeroes.
    pub fn pages(&self) -> impl Iterator<Item = (u32, &[u8; PAGE_BYTES])> {
        self.pages.iter().map(|(&number, page)| (number, &**page))
    }

    /// The pages that were changed since this was asked last, as they are now; `None`: all zeroes.
    pub fn take_changed(&mut self) -> Vec<(u32, Option<&[u8; PAGE_BYTES]>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|number| (number, self.pages.get(&number).map(|page| &**page))).collect()
    }
}

/// All that is kept.
#[derive(Clone, Debug)]
pub struct Memory {
    pub state: State,
    pub mbr: ByteTable,
    pub data_store: ByteTable,
}

impl Memory {
    #[must_use]
    pub fn new(state: State) -> Memory {
        Memory { state, mbr: ByteTable::new(MBR_BYTES), data_store: ByteTable::new(DATA_STORE_BYTES) }
    }

    /// What the Locking SP keeps is as out of the factory, and not activated.
    pub fn revert_locking(&mut self) {
        self.state.locking = None;
        self.mbr.clear();
        self.data_store.clear();
    }

    /// The drive's power has come back, or the host has reset the TPer.
    pub fn reset(&mut self, reset: Reset) {
        if reset == Reset::PowerCycle {
            self.state.accounts().for_each(|account| account.tries.forget());
        }
        let Some(locking) = &mut self.state.locking else { return };
        // Opal has a reset by the host set both columns whatever is enabled. After a power cycle a real drive's were set only
        // where the lock is enabled (as sedutil lists a Samsung's).
        let whatever_is_enabled = reset != Reset::PowerCycle;
        for range in locking.ranges.iter_mut().filter(|range| range.lock_on.has(reset)) {
            range.read_locked |= range.read_lock_enabled || whatever_is_enabled;
            range.write_locked |= range.write_lock_enabled || whatever_is_enabled;
        }
        if locking.mbr_control.done_on.has(reset) {
            locking.mbr_control.done = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_bytes_across_pages_and_tells_which_changed() {
        let mut table = ByteTable::new(3 * PAGE_BYTES as u64);
        table.write(4000, &[5; 200]);
        let mut found = [9; 300];
        table.read(3950, &mut found);
        assert!(found[..50].iter().chain(&found[250..]).all(|&byte| byte == 0));
        assert!(found[50..250].iter().all(|&byte| byte == 5));
        let before = table.clone();
        assert_eq!(
            table.take_changed().iter().map(|page| (page.0, page.1.is_some())).collect::<Vec<_>>(),
            [(0, true), (1, true)]
        );
        assert!(table.take_changed().is_empty());
        table.write(4000, &[0; 200]);
        assert_eq!(table.take_changed(), [(0, None), (1, None)]);
        table.changed_from(&before);
        assert_eq!(table.take_changed().len(), 2);
        let mut back = before.clone();
        back.changed.clear();
        back.changed_from(&before);
        assert!(back.take_changed().is_empty());
    }

    #[test]
    fn an_authority_is_locked_out_after_too_many_tries_in_a_row() {
        let mut account = Account::of_maker(b"right", true);
        for _ in 0..TRY_LIMIT - 1 {
            assert_eq!(account.authenticate(b"wrong"), Err(Status::NotAuthorized));
        }
        assert_eq!(account.authenticate(b"right"), Ok(()));
        for _ in 0..TRY_LIMIT {
            assert_eq!(account.authenticate(b"wrong"), Err(Status::NotAuthorized));
        }
        assert_eq!(account.authenticate(b"right"), Err(Status::AuthorityLockedOut));
    }

    /// HMAC fills keys up with zeroes.
    #[test]
    fn a_pin_with_zeroes_behind_it_is_another_one() {
        for secret in [Secret::of_maker(b"right"), Secret::new(b"right").unwrap()] {
            assert!(secret.is(b"right") && !secret.is(b"right\0") && !secret.is(b"righ"));
        }
        assert!(Secret::of_maker(b"").is(b"") && !Secret::of_maker(b"").is(&[0; 32]));
    }

    /// Vector of PBKDF2 with HMAC-SHA-256 from Python's `hashlib`, with the rounds above.
    #[test]
    fn pins_are_hashed_as_the_standard_has_it() {
        let expected = "0c4300076fc67e6678a76faae5c73ac1";
        let found = hash(b"password", b"0123456789abcdef");
        let hex: String = found[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
