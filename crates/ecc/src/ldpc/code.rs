//! The codes that drives may name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A code of the catalog, by the name that drive files use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LdpcCode {
    /// CCSDS 131.0-B C2: 8176 bits, 7156 of them data, rate 0.875. Short of 1 KiB by 130 bytes: in a
    /// drive it protects 512 bytes or less.
    CcsdsC2,
    /// 18,240 bits, rate 0.90, four block rows of 40 circulants of 456 bits: 2 KiB of data (shortened by 35 bits) with
    /// 228 bytes of parity, which fits eight times into a 16 KiB page with 1872 spare bytes.
    #[serde(rename = "qc-2k")]
    Qc2k,
}

impl LdpcCode {
    pub const ALL: [LdpcCode; 2] = [LdpcCode::CcsdsC2, LdpcCode::Qc2k];

    /// The name in drive files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LdpcCode::CcsdsC2 => "ccsds-c2",
            LdpcCode::Qc2k => "qc-2k",
        }
    }

    /// Bits of a codeword.
    #[must_use]
    pub fn codeword_bits(self) -> u32 {
        match self {
            LdpcCode::CcsdsC2 => 8176,
            LdpcCode::Qc2k => 18_240,
        }
    }

    /// Data bits of a codeword: bits less the rank of the parity-check matrix.
    #[must_use]
    pub fn data_bits(self) -> u32 {
        match self {
            LdpcCode::CcsdsC2 => 7156,
            LdpcCode::Qc2k => 16_419,
        }
    }

    #[must_use]
    pub fn rate(self) -> f64 {
        f64::from(self.data_bits()) / f64::from(self.codeword_bits())
    }
}
