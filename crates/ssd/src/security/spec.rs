//! The section `[encryption]` of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::SpecError;

/// Encryption at rest: all that comes to flash is encrypted with a media key which the drive has drawn itself. It costs no time: the
/// engine lies in the way of the data, and keeps up with the link. An erase changes the key. Absent: the drive does not encrypt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Encryption"))]
pub struct EncryptionSpec {
    /// The cipher. Images hold pages in XTS mode, whatever mode the drive itself uses.
    pub cipher: Cipher,
    /// How long a crypto erase takes.
    #[serde(default = "default_crypto_erase")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub crypto_erase_ms: f64,
    /// Whether hosts can give the drive passwords, and lock ranges of it. Only `ssdlab attach` asks for them: no test of the bench
    /// locks anything, and a lock costs a command no time.
    #[serde(default)]
    pub locking: Locking,
}

impl EncryptionSpec {
    /// # Errors
    /// If a drive that does not encrypt has ranges with keys of their own.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.cipher == Cipher::None && self.locking != Locking::None {
            return Err(SpecError::new(
                "encryption.locking",
                "a drive that does not encrypt has no keys for its ranges",
                "use `none`, or a cipher",
            ));
        }
        Ok(())
    }
}

/// How a drive is locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Locking {
    /// Not at all.
    #[default]
    #[serde(rename = "none")]
    None,
    /// TCG Opal 2.0: a global range and eight others, each with a key of its own.
    #[serde(rename = "opal-2.0")]
    Opal2,
}

/// A cipher of an engine that encrypts at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Cipher {
    /// AES with keys of 256 bits.
    #[serde(rename = "aes-256")]
    Aes256,
    /// The drive does not encrypt: for one that is made from one that does.
    #[serde(rename = "none")]
    None,
}

/// Estimate: a key is drawn, and the table of keys with the erase point is programmed twice, which takes milliseconds; the map in
/// DRAM is cleared, which takes tens of them. Windows allows a drive 2 s to erase a band (the eDrive requirements,
/// Device.Storage.Hd.EDrive).
fn default_crypto_erase() -> f64 {
    100.0
}
