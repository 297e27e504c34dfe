//! What a controller's firmware does about errors, as keys of a drive file.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::{KeyTable, SpecError};

use crate::ldpc::code::LdpcCode;

/// Error correction: one of `bch` and `ldpc`, then retries, then parity. Absent: flash never errs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Error correction"))]
pub struct EccSpec {
    /// User data of a codeword; divides 4096. An LDPC code is shortened to it, and taken to fail as often as at its
    /// full length.
    #[schemars(range(min = 1, max = 65_536))]
    pub codeword_bytes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bch: Option<BchSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldpc: Option<LdpcSpec>,
    #[serde(default)]
    pub retry: RetrySpec,
    /// Data pages that share a parity page (RAID 5 over dies), from which a page is rebuilt that nothing else reads. The parity
    /// itself is neither stored nor programmed here: its room is not taken off, unless the file does so with
    /// `mapping.reserved_blocks_per_1000` (the Ultra II, with a stripe of five, does not), and its programs, one in
    /// `parity_stripe` + 1, are missing. Absent: no parity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4095), extend("x-unit" = "pages"))]
    pub parity_stripe: Option<u32>,
}

/// A BCH code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "BCH code"))]
pub struct BchSpec {
    /// Wrong bits of a codeword that can be corrected, t.
    pub correctable_bits: u32,
    /// From the last byte of a codeword to corrected data, where the first read did not decode; what decodes at once is taken as decoded
    /// on its way.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub decode_us: f64,
}

/// An LDPC code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "LDPC code"))]
pub struct LdpcSpec {
    /// One of the codes whose decoding is tabulated.
    pub code: LdpcCode,
    /// Sensings of the deepest soft decision: 0 stands for hard decision only; 7 are tried after 3.
    #[schemars(extend("enum" = [0, 3, 7]))]
    pub soft_reads: u32,
    /// An iteration of the decoder.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub iteration_us: f64,
    /// What comes before the first iteration: from the last byte of a codeword to data in which nothing is wrong. As the iterations,
    /// of reads alone whose first decision did not decode.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub setup_us: f64,
    /// Whether soft decisions add to what was sensed before, or start afresh.
    pub progressive: bool,
}

/// Reading again at shifted references. Absent: no retries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Read retries"))]
pub struct RetrySpec {
    /// Reads at shifted references before anything else is tried: steps of the die's retry table, one sensing and one
    /// transfer each.
    #[schemars(range(min = 0, max = MAX_RETRIES))]
    pub max_retries: u32,
    /// Share of the remaining shift that one of them makes up for.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub recovered_per_retry_percent: f64,
    /// Reads that can be retried, or read again in any other way, at the same time: a processor sets the references of each
    /// step and looks at what came of it, and the other reads wait. Absent: every die by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 512), extend("x-unit" = "reads"))]
    pub at_once: Option<u32>,
    /// Whether the plain read is at references that follow what all cells of a block have lost alike with time
    /// (`drift_rber_per_year` of the die): if not, only retries win it back. Absent: they do.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub follows_drift: bool,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// Every key of `[ecc]`.
fn ecc_keys() -> &'static KeyTable {
    static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<EccSpec>);
    &KEYS
}

impl Default for RetrySpec {
    /// No retries.
    fn default() -> Self {
        RetrySpec { max_retries: 0, recovered_per_retry_percent: 0.0, at_once: None, follows_drift: true }
    }
}

impl EccSpec {
    /// Bytes of parity that a page of `page_bytes` of user data carries.
    #[must_use]
    pub fn parity_bytes(&self, page_bytes: u32) -> u32 {
        let codewords = u64::from(page_bytes / self.codeword_bytes.max(1));
        let bits = match (&self.bch, &self.ldpc) {
            (Some(bch), _) => {
                crate::bch::Bch::new(self.codeword_bytes, bch.correctable_bits).map_or(0, |b| b.parity_bits())
            }
            (None, Some(ldpc)) => ldpc.code.codeword_bits() - ldpc.code.data_bits(),
            (None, None) => 0,
        };
        u32::try_from((codewords * u64::from(bits)).div_ceil(8)).unwrap_or(u32::MAX)
    }

    /// Whether the parity of a page has room in its spare bytes. Keys of errors are relative to this section.
    ///
    /// # Errors
    /// If it has not.
    pub fn validate_parity(&self, page_bytes: u32, spare_bytes: u32) -> Result<(), SpecError> {
        let parity = self.parity_bytes(page_bytes);
        if parity <= spare_bytes {
            return Ok(());
        }
        let elsewhere = "a die with larger spare areas";
        let (key, expected) = match &self.bch {
            // Parity grows in step with what can be corrected.
            Some(bch) => match u64::from(bch.correctable_bits) * u64::from(spare_bytes) / u64::from(parity) {
                0 => ("bch.correctable_bits", format!("use {elsewhere}")),
                most => ("bch.correctable_bits", format!("use at most {most}, or {elsewhere}")),
            },
            None => ("ldpc.code", format!("use a code with less parity, larger codewords, or {elsewhere}")),
        };
        let problem = format!("{parity} bytes of parity a page do not fit into its {spare_bytes} spare bytes");
        Err(SpecError::new(key, problem, expected))
    }

    /// Hard-decision BCH on 1 KiB with as many parity bits and nothing behind it, to compare with; `None` if this is BCH
    /// itself.
    #[must_use]
    pub fn hard_bch(&self) -> Option<EccSpec> {
        /// A codeword of 1 KiB and its parity have fewer than 2^14 bits, which makes 14 bits of parity for each
        /// correctable one.
        const BITS_PER_ERROR: u32 = 14;
        self.ldpc.as_ref()?;
        let correctable_bits = self.parity_bytes(self.codeword_bytes) * 8 * 1024 / self.codeword_bytes / BITS_PER_ERROR;
        Some(EccSpec {
            codeword_bytes: 1024,
            bch: Some(BchSpec { correctable_bits, decode_us: 0.0 }),
            ldpc: None,
            retry: RetrySpec::default(),
            parity_stripe: None,
        })
    }

    /// Checks every value by itself, then what no single value can tell. Keys of errors are relative to this section.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        ecc_keys().check(self)?;
        match (&self.bch, &self.ldpc) {
            (Some(bch), None) => {
                crate::bch::Bch::new(self.codeword_bytes, bch.correctable_bits).map(|_| ()).map_err(|e| {
                    match e.key.as_str() {
                        "correctable_bits" => SpecError { key: "bch.correctable_bits".to_owned(), ..e },
                        _ => e,
                    }
                })
            }
            (None, Some(ldpc)) => {
                let holds = ldpc.code.data_bits() / 8;
                if self.codeword_bytes <= holds {
                    return Ok(());
                }
                Err(SpecError::new(
                    "codeword_bytes",
                    format!("{} bytes do not fit the code {}", self.codeword_bytes, ldpc.code.name()),
                    // The largest divisor of a page that fits.
                    format!("use {} or less, a divisor of 4096", 1 << holds.ilog2()),
                ))
            }
            (Some(_), Some(_)) => Err(SpecError::new(
                "ldpc",
                "both bch and ldpc are given",
                "give one of [ecc.bch] and [ecc.ldpc]; what a base has is left out with `without`",
            )),
            (None, None) => {
                Err(SpecError::new("codeword_bytes", "no code is given", "give one of [ecc.bch] and [ecc.ldpc]"))
            }
        }
    }
}

/// Most retries that a ladder has rungs for.
pub const MAX_RETRIES: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_of_a_page_is_that_of_all_its_codewords() {
        let ecc = EccSpec {
            codeword_bytes: 1024,
            bch: Some(BchSpec { correctable_bits: 40, decode_us: 0.0 }),
            ldpc: None,
            retry: RetrySpec::default(),
            parity_stripe: None,
        };
        // 14 bits for each of 40 errors make 70 bytes.
        assert_eq!([1024, 4096, 16_384].map(|page_bytes| ecc.parity_bytes(page_bytes)), [70, 280, 1120]);
        assert_eq!(ecc.validate_parity(4096, 280), Ok(()));
        let error = ecc.validate_parity(4096, 279).unwrap_err();
        assert_eq!((error.key.as_str(), error.expected.contains("at most 39,")), ("bch.correctable_bits", true));
        let of_39 = EccSpec { bch: Some(BchSpec { correctable_bits: 39, decode_us: 0.0 }), ..ecc };
        assert_eq!(of_39.validate_parity(4096, 279), Ok(()));
    }
}
