//! The objects of both SPs: which there are, and what their rows say.

use crate::aces;
use crate::expression::Expression;
use crate::memory::{ADMINS as MOST_ADMINS, Account, Memory, RANGES, Resets, TRY_LIMIT, USERS as MOST_USERS};
use crate::sp::{Sp, methods, range_name};
use crate::status::Status;
use crate::tokens::Value;
use crate::uid::{
    ADMIN_OF_ADMIN_SP, ADMIN_SP, ADMIN_TEMPLATE, ADMINS, ADMINS_FROM, ANYBODY, BASE_TEMPLATE, GLOBAL_RANGE, LOCKING_SP,
    LOCKING_TEMPLATE, MAKERS, PIN_MSID, PSID, RANGES_FROM, SID, THIS_SP, USERS, USERS_FROM, Uid, pin_of, row_of, table,
    table_of, uid,
};

/// Something that methods are invoked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    ThisSp,
    /// A whole table, as [`crate::uid::NEXT`] goes through it.
    Rows(u32),
    /// A row of the templates of this SP.
    SpTemplate(u32),
    /// A row of the methods.
    MethodId(Uid),
    /// A row of all templates.
    Template(Uid),
    SecretProtect,
    /// What is said of a table.
    Table(u32),
    SpInfo,
    /// A row of the table of SPs.
    Sp(Sp),
    TperInfo,
    Ace(u32),
    Authority(Uid),
    /// Of this authority.
    Pin(Uid),
    MsidPin,
    LockingInfo,
    /// 0: the global one.
    Range(u32),
    MbrControl,
    Mbr,
    DataStore,
    /// Of this range.
    Key(u32),
}

/// What the host sees of the drive's sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub sectors: u64,
    pub sector_bytes: u32,
    /// Ranges begin and end at multiples of it.
    pub alignment_sectors: u64,
}

/// Names of the tables that each SP tells of.
const ADMIN_TABLES: [(u32, &str); 11] = [
    (table::TABLE, "Table"),
    (table::SP_INFO, "SPInfo"),
    (table::SP_TEMPLATES, "SPTemplates"),
    (table::METHOD_ID, "MethodID"),
    (table::ACCESS_CONTROL, "AccessControl"),
    (table::ACE, "ACE"),
    (table::AUTHORITY, "Authority"),
    (table::C_PIN, "C_PIN"),
    (table::TPER_INFO, "TPerInfo"),
    (table::TEMPLATE, "Template"),
    (table::SP, "SP"),
];
const LOCKING_TABLES: [(u32, &str); 15] = [
    (table::TABLE, "Table"),
    (table::SP_INFO, "SPInfo"),
    (table::SP_TEMPLATES, "SPTemplates"),
    (table::METHOD_ID, "MethodID"),
    (table::ACCESS_CONTROL, "AccessControl"),
    (table::ACE, "ACE"),
    (table::AUTHORITY, "Authority"),
    (table::C_PIN, "C_PIN"),
    (table::SECRET_PROTECT, "SecretProtect"),
    (table::LOCKING_INFO, "LockingInfo"),
    (table::LOCKING, "Locking"),
    (table::MBR_CONTROL, "MBRControl"),
    (table::MBR, "MBR"),
    (table::K_AES_256, "K_AES_256"),
    (table::DATA_STORE, "DataStore"),
];

fn tables(sp: Sp) -> &'static [(u32, &'static str)] {
    match sp {
        Sp::Admin => &ADMIN_TABLES,
        Sp::Locking => &LOCKING_TABLES,
    }
}

/// All templates: name, and how many SPs are made of it. One that is not activated counts.
const TEMPLATES: [(Uid, &str, u64); 3] =
    [(BASE_TEMPLATE, "Base", 2), (ADMIN_TEMPLATE, "Admin", 1), (LOCKING_TEMPLATE, "Locking", 1)];

/// The templates that an SP is made of.
fn templates(sp: Sp) -> [(Uid, &'static str); 2] {
    let own = match sp {
        Sp::Admin => (ADMIN_TEMPLATE, "Admin"),
        Sp::Locking => (LOCKING_TEMPLATE, "Locking"),
    };
    [(BASE_TEMPLATE, "Base"), own]
}

/// The row of the secrets that are protected: the column of keys (Opal SSC 2.01, section 4.3.1.10).
const SECRET_OF_KEYS: u32 = 0x1e;

/// The authorities of an SP, with their names.
fn authorities(sp: Sp) -> Vec<(Uid, String)> {
    let named = |authority, name: &str| (authority, name.to_owned());
    match sp {
        Sp::Admin => vec![
            named(ANYBODY, "Anybody"),
            named(ADMINS, "Admins"),
            named(MAKERS, "Makers"),
            named(SID, "SID"),
            named(ADMIN_OF_ADMIN_SP, "Admin1"),
            named(PSID, "PSID"),
        ],
        Sp::Locking => {
            let mut all = vec![named(ANYBODY, "Anybody"), named(ADMINS, "Admins")];
            let admins = (1..=MOST_ADMINS as u32).map(|k| (admin(k), format!("Admin{k}")));
            all.extend(admins);
            all.push(named(USERS, "Users"));
            all.extend((1..=MOST_USERS as u32).map(|k| (user(k), format!("User{k}"))));
            all
        }
    }
}

fn admin(number: u32) -> Uid {
    uid(table::AUTHORITY, ADMINS_FROM + number)
}

fn user(number: u32) -> Uid {
    uid(table::AUTHORITY, USERS_FROM + number)
}

/// Whether an SP has this authority.
#[must_use]
pub fn has_authority(sp: Sp, authority: Uid) -> bool {
    authorities(sp).iter().any(|known| known.0 == authority)
}

/// Where the account of an authority with a PIN is kept.
#[derive(Clone, Copy)]
enum Seat {
    Sid,
    Psid,
    Admin,
    LockingAdmin(usize),
    LockingUser(usize),
}

fn seat(sp: Sp, authority: Uid) -> Option<Seat> {
    let number = |from: u32, most: usize| {
        let row = (table_of(authority) == table::AUTHORITY).then(|| row_of(authority).wrapping_sub(from + 1) as usize);
        row.filter(|&number| number < most)
    };
    match (sp, authority) {
        (Sp::Admin, SID) => Some(Seat::Sid),
        (Sp::Admin, PSID) => Some(Seat::Psid),
        (Sp::Admin, ADMIN_OF_ADMIN_SP) => Some(Seat::Admin),
        (Sp::Admin, _) => None,
        (Sp::Locking, _) => {
            let admin = number(ADMINS_FROM, MOST_ADMINS).map(Seat::LockingAdmin);
            admin.or_else(|| number(USERS_FROM, MOST_USERS).map(Seat::LockingUser))
        }
    }
}

/// The class that an authority belongs to.
#[must_use]
pub fn class_of(sp: Sp, authority: Uid) -> Option<Uid> {
    match seat(sp, authority)? {
        Seat::Admin | Seat::LockingAdmin(_) => Some(ADMINS),
        Seat::LockingUser(_) => Some(USERS),
        Seat::Sid | Seat::Psid => None,
    }
}

/// The account of an authority that has a PIN.
pub fn account_mut(memory: &mut Memory, sp: Sp, authority: Uid) -> Option<&mut Account> {
    let state = &mut memory.state;
    Some(match seat(sp, authority)? {
        Seat::Sid => &mut state.sid,
        Seat::Psid => &mut state.psid,
        Seat::Admin => &mut state.admin,
        Seat::LockingAdmin(k) => &mut state.locking_mut().admins[k],
        Seat::LockingUser(k) => &mut state.locking_mut().users[k],
    })
}

/// As [`account_mut`], to be looked at.
#[must_use]
pub fn account(memory: &Memory, sp: Sp, authority: Uid) -> Option<&Account> {
    let state = &memory.state;
    Some(match seat(sp, authority)? {
        Seat::Sid => &state.sid,
        Seat::Psid => &state.psid,
        Seat::Admin => &state.admin,
        Seat::LockingAdmin(k) => &state.locking().admins[k],
        Seat::LockingUser(k) => &state.locking().users[k],
    })
}

/// Number of the range with this row, in the tables of ranges and of keys.
fn range_of_row(row: u32) -> Option<u32> {
    match row {
        GLOBAL_RANGE => Some(0),
        _ => Some(row.wrapping_sub(RANGES_FROM)).filter(|k| (1..=RANGES as u32).contains(k)),
    }
}

fn row_of_range(range: u32) -> u32 {
    if range == 0 { GLOBAL_RANGE } else { RANGES_FROM + range }
}

impl Object {
    /// The object of an SP by this name.
    #[must_use]
    pub fn find(sp: Sp, name: Uid) -> Option<Object> {
        if name == THIS_SP {
            return Some(Object::ThisSp);
        }
        let (table, row) = (table_of(name), row_of(name));
        let locking = sp == Sp::Locking;
        if row == 0 && tables(sp).iter().any(|known| known.0 == table) {
            return Some(match table {
                table::MBR => Object::Mbr,
                table::DATA_STORE => Object::DataStore,
                _ => Object::Rows(table),
            });
        }
        match table {
            table::TABLE => tables(sp).iter().any(|known| known.0 == row).then_some(Object::Table(row)),
            table::SP_INFO => (row == 1).then_some(Object::SpInfo),
            table::SP_TEMPLATES => matches!(row, 1 | 2).then_some(Object::SpTemplate(row)),
            table::METHOD_ID => methods(sp).iter().any(|known| known.0 == name).then_some(Object::MethodId(name)),
            table::TEMPLATE if !locking => {
                TEMPLATES.iter().any(|known| known.0 == name).then_some(Object::Template(name))
            }
            table::SECRET_PROTECT if locking => (row == SECRET_OF_KEYS).then_some(Object::SecretProtect),
            table::ACE => aces::find(sp, row).map(|_| Object::Ace(row)),
            table::AUTHORITY => has_authority(sp, name).then_some(Object::Authority(name)),
            table::C_PIN if !locking && name == PIN_MSID => Some(Object::MsidPin),
            table::C_PIN => {
                let mut all = authorities(sp).into_iter().map(|known| known.0);
                all.find(|&authority| has_pin(sp, authority) && pin_of(authority) == name).map(Object::Pin)
            }
            table::TPER_INFO if !locking => (row == 0x3_0001).then_some(Object::TperInfo),
            table::SP if !locking => match name {
                ADMIN_SP => Some(Object::Sp(Sp::Admin)),
                LOCKING_SP => Some(Object::Sp(Sp::Locking)),
                _ => None,
            },
            table::LOCKING_INFO if locking => (row == 1).then_some(Object::LockingInfo),
            table::LOCKING if locking => range_of_row(row).map(Object::Range),
            table::MBR_CONTROL if locking => (row == 1).then_some(Object::MbrControl),
            table::K_AES_256 if locking => range_of_row(row).map(Object::Key),
            _ => None,
        }
    }

    /// The rows of a table, in the order of their names.
    #[must_use]
    pub fn rows(sp: Sp, table: u32) -> Vec<Uid> {
        let ranges = || (0..=RANGES as u32).map(|k| uid(table, row_of_range(k)));
        let mut rows: Vec<Uid> = match table {
            table::TABLE => tables(sp).iter().map(|known| uid(table::TABLE, known.0)).collect(),
            table::SP_INFO => vec![uid(table, 1)],
            table::SP_TEMPLATES => vec![uid(table, 1), uid(table, 2)],
            table::METHOD_ID => methods(sp).iter().map(|known| known.0).collect(),
            table::TEMPLATE => TEMPLATES.iter().map(|known| known.0).collect(),
            table::SECRET_PROTECT => vec![uid(table, SECRET_OF_KEYS)],
            table::ACE => aces::all(sp).into_iter().map(|ace| uid(table, ace.row)).collect(),
            table::AUTHORITY => authorities(sp).into_iter().map(|known| known.0).collect(),
            table::C_PIN => {
                let with_pin =
                    authorities(sp).into_iter().map(|known| known.0).filter(|&authority| has_pin(sp, authority));
                with_pin.map(pin_of).chain((sp == Sp::Admin).then_some(PIN_MSID)).collect()
            }
            table::TPER_INFO => vec![uid(table, 0x3_0001)],
            table::SP => vec![ADMIN_SP, LOCKING_SP],
            table::LOCKING_INFO | table::MBR_CONTROL => vec![uid(table, 1)],
            table::LOCKING | table::K_AES_256 => ranges().collect(),
            _ => Vec::new(),
        };
        rows.sort_unstable();
        rows
    }

    /// What its row says, by column.
    #[must_use]
    pub fn row(self, memory: &Memory, sp: Sp, geometry: Geometry) -> Vec<(u64, Value)> {
        let text = |text: &str| Value::from(text);
        match self {
            Object::ThisSp | Object::Rows(_) | Object::Mbr | Object::DataStore => Vec::new(),
            Object::Table(number) => table_row(memory, sp, number),
            Object::SpInfo => vec![
                (0, uid_value(uid(table::SP_INFO, 1))),
                (1, uid_value(sp.uid())),
                (2, text(sp_name(sp))),
                (5, Value::Number(0)),
                (6, Value::Number(1)),
            ],
            Object::SpTemplate(row) => {
                let (template, name) = templates(sp)[row as usize - 1];
                vec![
                    (0, uid_value(uid(table::SP_TEMPLATES, row))),
                    (1, uid_value(template)),
                    (2, text(name)),
                    (3, Value::from(&[0, 0, 0, 2][..])),
                ]
            }
            Object::MethodId(method) => {
                let known = methods(sp).iter().find(|known| known.0 == method).expect("it was found among them");
                vec![(0, uid_value(method)), (1, text(known.1))]
            }
            Object::Template(template) => {
                let known = TEMPLATES.iter().find(|known| known.0 == template).expect("it was found among them");
                vec![
                    (0, uid_value(template)),
                    (1, text(known.1)),
                    (2, Value::Number(1)),
                    (3, known.2.into()),
                    (4, known.2.into()),
                ]
            }
            // By what they are protected the maker need not tell.
            Object::SecretProtect => vec![
                (0, uid_value(uid(table::SECRET_PROTECT, SECRET_OF_KEYS))),
                (1, uid_value(uid(table::TABLE, table::K_AES_256))),
                (2, Value::Number(3)),
            ],
            Object::Sp(which) => {
                let active = which == Sp::Admin || memory.state.locking.is_some();
                // Manufactured, or manufactured and not activated.
                let life = if active { 9 } else { 8 };
                vec![
                    (0, uid_value(which.uid())),
                    (1, text(sp_name(which))),
                    (6, Value::Number(life)),
                    (7, Value::Number(0)),
                ]
            }
            Object::TperInfo => vec![
                (0, uid_value(uid(table::TPER_INFO, 0x3_0001))),
                (4, Value::Number(1)),
                (5, Value::Number(1)),
                (7, Value::List(vec![text("Opal")])),
                (8, memory.state.programmatic_reset.into()),
            ],
            // Its columns are references to a table of columns, which Opal does not have.
            Object::Ace(row) => {
                let ace = aces::find(sp, row).expect("it was found among them");
                let name = text(&ace.name);
                vec![(0, uid_value(uid(table::ACE, row))), (1, name), (3, ace.expression(memory, sp).value())]
            }
            Object::Authority(authority) => authority_row(memory, sp, authority),
            Object::Pin(authority) => {
                let tries = account(memory, sp, authority).map_or(0, |account| account.tries.count());
                vec![
                    (0, uid_value(pin_of(authority))),
                    (1, text(&format!("C_PIN_{}", authority_name(sp, authority)))),
                    // No characters are excluded.
                    (4, uid_value(0)),
                    (5, Value::Number(TRY_LIMIT)),
                    (6, tries.into()),
                    (7, Value::Number(0)),
                ]
            }
            Object::MsidPin => {
                vec![(0, uid_value(PIN_MSID)), (1, text("C_PIN_MSID")), (3, memory.state.identity.msid.as_str().into())]
            }
            Object::LockingInfo => vec![
                (0, uid_value(uid(table::LOCKING_INFO, 1))),
                (2, Value::Number(1)),
                // Of the media, by the drive.
                (3, Value::Number(1)),
                (4, (RANGES as u64).into()),
                (7, true.into()),
                (8, u64::from(geometry.sector_bytes).into()),
                (9, geometry.alignment_sectors.into()),
                (10, Value::Number(0)),
            ],
            Object::Range(number) => range_row(memory, number),
            Object::Key(number) => vec![
                (0, uid_value(uid(table::K_AES_256, row_of_range(number)))),
                (1, text(&format!("{}_Key", range_name("K_AES_256", number)))),
                // XTS.
                (4, Value::Number(7)),
            ],
            Object::MbrControl => {
                let control = &memory.state.locking().mbr_control;
                vec![
                    (0, uid_value(uid(table::MBR_CONTROL, 1))),
                    (1, control.enabled.into()),
                    (2, control.done.into()),
                    (3, resets_value(control.done_on)),
                ]
            }
        }
    }

    /// Changes a column of its row. Ranges are looked at as a whole when all columns are set: see
    /// [`crate::ranges::check`].
    ///
    /// # Errors
    /// If the value is none for it.
    pub fn set(self, memory: &mut Memory, sp: Sp, column: u64, value: &Value) -> Result<(), Status> {
        let wrong = Status::InvalidParameter;
        let truth = || value.truth().ok_or(wrong);
        match (self, column) {
            (Object::Authority(authority), 5) => {
                let enabled = truth()?;
                if authority == MAKERS {
                    memory.state.makers_enabled = enabled;
                    return Ok(());
                }
                let account = account_mut(memory, sp, authority).ok_or(wrong)?;
                account.enabled = enabled;
            }
            (Object::Authority(authority), 2) => {
                let account = account_mut(memory, sp, authority).ok_or(wrong)?;
                account.common_name = common_name(value)?;
            }
            (Object::Pin(authority), 3) => {
                let secret = crate::memory::Secret::new(value.bytes().ok_or(wrong)?)?;
                account_mut(memory, sp, authority).ok_or(wrong)?.set_pin(secret);
            }
            (Object::TperInfo, 8) => memory.state.programmatic_reset = truth()?,
            (Object::Ace(row), 3) => {
                let expression = Expression::read(value, |authority| has_authority(sp, authority))?;
                memory.state.locking_mut().expressions.insert(row, expression);
            }
            (Object::Range(number), _) => {
                let range = &mut memory.state.locking_mut().ranges[number as usize];
                match column {
                    2 => range.common_name = common_name(value)?,
                    3 => range.first_lba = value.number().ok_or(wrong)?,
                    4 => range.lbas = value.number().ok_or(wrong)?,
                    5 => range.read_lock_enabled = truth()?,
                    6 => range.write_lock_enabled = truth()?,
                    7 => range.read_locked = truth()?,
                    8 => range.write_locked = truth()?,
                    9 => range.lock_on = resets(value)?,
                    _ => return Err(wrong),
                }
            }
            (Object::MbrControl, _) => {
                let control = &mut memory.state.locking_mut().mbr_control;
                match column {
                    1 => control.enabled = truth()?,
                    2 => control.done = truth()?,
                    3 => control.done_on = resets(value)?,
                    _ => return Err(wrong),
                }
            }
            _ => return Err(wrong),
        }
        Ok(())
    }
}

fn has_pin(sp: Sp, authority: Uid) -> bool {
    seat(sp, authority).is_some()
}

fn sp_name(sp: Sp) -> &'static str {
    match sp {
        Sp::Admin => "Admin",
        Sp::Locking => "Locking",
    }
}

fn authority_name(sp: Sp, authority: Uid) -> String {
    authorities(sp).into_iter().find(|known| known.0 == authority).map_or_else(String::new, |known| known.1)
}

fn authority_row(memory: &Memory, sp: Sp, authority: Uid) -> Vec<(u64, Value)> {
    let account = account(memory, sp, authority);
    let enabled = match authority {
        MAKERS => memory.state.makers_enabled,
        _ => account.is_none_or(|account| account.enabled),
    };
    let common_name = match authority {
        PSID => b"PhysicalDriveOwner".as_slice(),
        _ => account.map_or(&[][..], |account| &account.common_name),
    };
    vec![
        (0, uid_value(authority)),
        (1, Value::from(authority_name(sp, authority).as_str())),
        (2, common_name.into()),
        (3, is_class(authority).into()),
        (4, uid_value(class_of(sp, authority).unwrap_or(0))),
        (5, enabled.into()),
        // No messages are encrypted, hashed or signed, and no certificate is shown.
        (6, Value::Number(0)),
        (7, Value::Number(0)),
        (8, false.into()),
        // By a password, or not at all.
        (9, Value::Number(has_pin(sp, authority).into())),
        (10, uid_value(if has_pin(sp, authority) { pin_of(authority) } else { 0 })),
        (11, uid_value(0)),
        (12, uid_value(0)),
    ]
}

/// Whether others are of this authority, and nobody is it.
#[must_use]
pub fn is_class(authority: Uid) -> bool {
    matches!(authority, ADMINS | MAKERS | USERS)
}

fn table_row(memory: &Memory, sp: Sp, number: u32) -> Vec<(u64, Value)> {
    let known = tables(sp).iter().find(|known| known.0 == number).expect("it was found among them");
    let bytes = match number {
        table::MBR => Some(memory.mbr.bytes()),
        table::DATA_STORE => Some(memory.data_store.bytes()),
        _ => None,
    };
    let rows = bytes.unwrap_or_else(|| Object::rows(sp, number).len() as u64);
    // Any byte of a table of bytes may be written by itself; by pages is better.
    let granularity = if bytes.is_some() { [1, crate::memory::PAGE_BYTES as u64] } else { [0, 0] };
    let mut row = vec![
        (0, uid_value(uid(table::TABLE, number))),
        (1, Value::from(known.1)),
        (4, Value::Number(if bytes.is_some() { 2 } else { 1 })),
        (7, rows.into()),
        (13, granularity[0].into()),
        (14, granularity[1].into()),
    ];
    // Nobody goes through the rows of access control, which have no names; how many there are is left open.
    row.retain(|&(column, _)| number != table::ACCESS_CONTROL || column != 7);
    row
}

fn range_row(memory: &Memory, number: u32) -> Vec<(u64, Value)> {
    let range = &memory.state.locking().ranges[number as usize];
    vec![
        (0, uid_value(uid(table::LOCKING, row_of_range(number)))),
        (1, Value::from(range_name("Locking", number).as_str())),
        (2, range.common_name.as_slice().into()),
        (3, range.first_lba.into()),
        (4, range.lbas.into()),
        (5, range.read_lock_enabled.into()),
        (6, range.write_lock_enabled.into()),
        (7, range.read_locked.into()),
        (8, range.write_locked.into()),
        (9, resets_value(range.lock_on)),
        (10, uid_value(uid(table::K_AES_256, row_of_range(number)))),
    ]
}

/// How a row names another, or itself.
fn uid_value(name: Uid) -> Value {
    Value::from(&name.to_be_bytes()[..])
}

fn common_name(value: &Value) -> Result<Vec<u8>, Status> {
    let bytes = value.bytes().filter(|bytes| bytes.len() <= crate::memory::MOST_NAME_BYTES);
    bytes.map(<[u8]>::to_vec).ok_or(Status::InvalidParameter)
}

/// Types of resets, as a host writes them: 0 a power cycle, 3 TPER_RESET. The first one always counts (Opal SSC 2.01, sections
/// 4.3.5.2.2 and 4.3.5.3.1).
fn resets(value: &Value) -> Result<Resets, Status> {
    let list = value.list().ok_or(Status::InvalidParameter)?;
    let mut types: Vec<u64> =
        list.iter().map(|reset| reset.number().ok_or(Status::InvalidParameter)).collect::<Result<_, _>>()?;
    types.sort_unstable();
    match types[..] {
        [0] => Ok(Resets::POWER_CYCLE),
        [0, 3] => Ok(Resets { programmatic: true, ..Resets::POWER_CYCLE }),
        _ => Err(Status::InvalidParameter),
    }
}

fn resets_value(resets: Resets) -> Value {
    let all = [(resets.power_cycle, 0), (resets.programmatic, 3)];
    Value::List(all.into_iter().filter(|reset| reset.0).map(|reset| Value::Number(reset.1)).collect())
}
