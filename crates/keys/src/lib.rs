//! What a drive or die file can say: each key declared once.
//!
//! A key is a field of a struct that derives [`schemars::JsonSchema`]. All that is known of it stands at the field:
//!
//! | what | where it is declared |
//! |---|---|
//! | meaning | the doc comment |
//! | range | `#[schemars(range(min = …, max = …))]`; for lists, `inner(range(…))` |
//! | other limits | `#[schemars(extend("multipleOf" = …))]`, `"enum"`, `"exclusiveMinimum"` |
//! | unit | the ending of the name ([`unit_of_ending`]), else `#[schemars(extend("x-unit" = "…"))]` |
//! | heading | the name in words, else `#[schemars(extend("x-heading" = "…"))]`; a section needs one |
//! | default | `#[serde(default)]` |
//! | names that a value can be | the variants of an enum: all with a doc comment, or none |
//!
//! A [`KeyTable`] holds them all in the order of declaration. It checks the values of a spec ([`KeyTable::check`]),
//! so a drive is refused alike whether it came from a file or was built by a program. Headings, tables of keys in the
//! documentation and the published JSON Schema ([`KeyTable::file_schema`]) come from it, too.
//!
//! Not here: rules about several keys. Each spec has them in its own `validate`.

mod check;
mod error;
mod identity;
mod number;
mod order;
mod schema;
mod table;

pub use error::SpecError;
pub use table::{Choice, Key, KeyTable, Kind, Range, Section, Unit, unit_of_ending};
