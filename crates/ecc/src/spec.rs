//! What a controller's firmware does about errors, as keys of a drive file.

use serde::{Deserialize, Serialize};
use ssdlab_nand::SpecError;

use crate::ldpc::code::LdpcCode;

/// Error correction of a drive: one of `bch` and `ldpc`, then retries, then parity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EccSpec {
    /// User data of one codeword; a page holds a whole number of codewords. An LDPC code is shortened to it, and taken to
    /// fail as often as at its full length.
    pub codeword_bytes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bch: Option<BchSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldpc: Option<LdpcSpec>,
    #[serde(default)]
    pub retry: RetrySpec,
    /// Data pages that share one parity page (RAID 5 over dies); absent: no parity. The parity costs one page in
    /// `parity_stripe` + 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity_stripe: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BchSpec {
    /// Bits that can be corrected in a codeword, t.
    pub correctable_bits: u32,
    /// From the last byte of a codeword to corrected data, microseconds.
    pub decode_us: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LdpcSpec {
    pub code: LdpcCode,
    /// Reads of the deepest soft decision: 0 (hard decision only), 3 or 7. Seven are tried after three.
    pub soft_reads: u32,
    /// One iteration of the decoder, microseconds.
    pub iteration_us: f64,
    /// From the last byte of a codeword to corrected data when nothing is wrong, microseconds.
    pub setup_us: f64,
    /// Soft decisions keep what was sensed before and add to it. Otherwise each starts afresh.
    pub progressive: bool,
}

/// Reading again at shifted references.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrySpec {
    /// Steps in the die's retry table that the firmware walks through, one sensing and one transfer each.
    pub max_retries: u32,
    /// Share of the remaining shift that one step makes up for, in per cent.
    pub recovered_per_retry_percent: f64,
}

impl Default for RetrySpec {
    /// No retries.
    fn default() -> Self {
        RetrySpec { max_retries: 0, recovered_per_retry_percent: 0.0 }
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

    /// Checks what no single field can.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        let range = |key: &str, v: f64, low: f64, high: f64, unit: &str| {
            if (low..=high).contains(&v) {
                Ok(())
            } else {
                Err(SpecError::new(key, format!("{v}{unit} is impossible"), format!("use {low} to {high}{unit}")))
            }
        };
        match (&self.bch, &self.ldpc) {
            (Some(bch), None) => {
                crate::bch::Bch::new(self.codeword_bytes, bch.correctable_bits).map_err(|e| match e.key.as_str() {
                    "correctable_bits" => SpecError { key: "bch.correctable_bits".to_owned(), ..e },
                    _ => e,
                })?;
                range("bch.decode_us", bch.decode_us, 0.0, 1e4, " us")?;
            }
            (None, Some(ldpc)) => {
                let holds = ldpc.code.data_bits() / 8;
                if self.codeword_bytes == 0 || self.codeword_bytes > holds {
                    return Err(SpecError::new(
                        "codeword_bytes",
                        format!("{} bytes do not fit the code {}", self.codeword_bytes, ldpc.code.name()),
                        format!("use 1 to {holds} bytes"),
                    ));
                }
                if ![0, 3, 7].contains(&ldpc.soft_reads) {
                    return Err(SpecError::new(
                        "ldpc.soft_reads",
                        format!("{} reads have no decoder table", ldpc.soft_reads),
                        "use 0, 3 or 7",
                    ));
                }
                range("ldpc.iteration_us", ldpc.iteration_us, 0.0, 1e4, " us")?;
                range("ldpc.setup_us", ldpc.setup_us, 0.0, 1e4, " us")?;
            }
            _ => {
                let problem = if self.bch.is_some() { "both bch and ldpc are given" } else { "no code is given" };
                return Err(SpecError::new("codeword_bytes", problem, "give one of [ecc.bch] and [ecc.ldpc]"));
            }
        }
        range("retry.max_retries", f64::from(self.retry.max_retries), 0.0, f64::from(MAX_RETRIES), "")?;
        range("retry.recovered_per_retry_percent", self.retry.recovered_per_retry_percent, 0.0, 100.0, " %")?;
        range("parity_stripe", f64::from(self.parity_stripe.unwrap_or(1)), 1.0, 4095.0, " pages")
    }
}

/// Most retries that a ladder has rungs for.
pub const MAX_RETRIES: u32 = 24;
