//! Text of the protocol: keys and values, and what is agreed on about each.

/// Bytes of a text that comes in several PDUs, and keys in it.
const MOST_TEXT_BYTES: usize = 64 << 10;
const MOST_KEYS: usize = 128;

/// Data of one PDU that we take.
pub const OWN_SEGMENT_BYTES: u32 = 256 << 10;
const OWN_BURST_BYTES: u32 = 1 << 20;
const OWN_FIRST_BURST_BYTES: u32 = 64 << 10;
/// Data of a PDU that a client takes unless it says more.
const DEFAULT_SEGMENT_BYTES: u32 = 8192;
/// RFC 7143, without what RFC 7144 adds.
const OWN_PROTOCOL_LEVEL: u32 = 1;

/// What is answered to a key that is not known, and to one that is not accepted.
pub const NOT_UNDERSTOOD: &str = "NotUnderstood";
pub const REJECTED: &str = "Reject";

/// What was agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub initial_r2t: bool,
    pub immediate_data: bool,
    /// Data of one PDU that the client takes.
    pub segment_bytes: u32,
    pub burst_bytes: u32,
    pub first_burst_bytes: u32,
}

impl Default for Parameters {
    /// As the standard has it where nothing is said.
    fn default() -> Self {
        Parameters {
            initial_r2t: true,
            immediate_data: true,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            burst_bytes: 256 << 10,
            first_burst_bytes: 64 << 10,
        }
    }
}

/// Text that comes in pieces.
#[derive(Default)]
pub struct TextInput {
    bytes: Vec<u8>,
}

impl TextInput {
    /// Takes a piece. Returns false if there is too much of it.
    #[must_use]
    pub fn add(&mut self, data: &[u8]) -> bool {
        self.bytes.extend_from_slice(data);
        self.bytes.len() <= MOST_TEXT_BYTES
    }

    /// Keys and values of the whole text. `None` if it is none.
    #[must_use]
    pub fn take(&mut self) -> Option<Vec<(String, String)>> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut pairs = Vec::new();
        for pair in bytes.split(|byte| *byte == 0).filter(|pair| !pair.is_empty()) {
            let (key, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
            if key.is_empty() || pairs.len() == MOST_KEYS {
                return None;
            }
            pairs.push((key.to_owned(), value.to_owned()));
        }
        Some(pairs)
    }
}

/// Adds a key and its value to a text.
pub fn put(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    out.extend_from_slice(value.as_bytes());
    out.push(0);
}

fn yes_or_no(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

fn number(value: &str) -> Option<u32> {
    match value.strip_prefix("0x").or(value.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// A number of bytes that can be agreed on.
fn length(value: &str) -> Option<u32> {
    number(value).filter(|length| (512..1 << 24).contains(length))
}

/// Keys in the order in which they can be agreed on: what another one limits comes behind it.
pub fn in_order(pairs: &mut [(String, String)]) {
    pairs.sort_by_key(|(key, _)| key == "FirstBurstLength");
}

/// What is answered to a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is a declaration.
    Nothing,
    Value(String),
    /// The value cannot be agreed on.
    Wrong,
    /// There is no such key.
    Unknown,
}

impl Parameters {
    /// Takes an operational key of a login.
    pub fn agree(&mut self, key: &str, value: &str) -> Reply {
        let wrong = Reply::Wrong;
        let said = |value: &str| Reply::Value(value.to_owned());
        let bit = |bit: bool| said(if bit { "Yes" } else { "No" });
        match key {
            "HeaderDigest" | "DataDigest" => match value.split(',').any(|choice| choice == "None") {
                true => said("None"),
                false => wrong,
            },
            "MaxConnections" | "MaxOutstandingR2T" => match number(value) {
                Some(1..=0xffff) => said("1"),
                _ => wrong,
            },
            "iSCSIProtocolLevel" => match number(value) {
                Some(level @ 0..=31) => said(&level.min(OWN_PROTOCOL_LEVEL).to_string()),
                _ => wrong,
            },
            "ErrorRecoveryLevel" => match number(value) {
                Some(0..=2) => said("0"),
                _ => wrong,
            },
            "InitialR2T" => match yes_or_no(value) {
                Some(yes) => {
                    self.initial_r2t = yes;
                    bit(yes)
                }
                None => wrong,
            },
            "ImmediateData" => match yes_or_no(value) {
                Some(yes) => {
                    self.immediate_data = yes;
                    bit(yes)
                }
                None => wrong,
            },
            "DataPDUInOrder" | "DataSequenceInOrder" => yes_or_no(value).map_or(wrong, |_| said("Yes")),
            "IFMarker" | "OFMarker" => yes_or_no(value).map_or(wrong, |_| said("No")),
            "IFMarkInt" | "OFMarkInt" => said("Irrelevant"),
            "TaskReporting" => match value.split(',').any(|choice| choice == "RFC3720") {
                true => said("RFC3720"),
                false => said(REJECTED),
            },
            "MaxRecvDataSegmentLength" => match length(value) {
                Some(bytes) => {
                    self.segment_bytes = bytes;
                    Reply::Nothing
                }
                None => wrong,
            },
            "MaxBurstLength" => match length(value) {
                Some(bytes) => {
                    self.burst_bytes = bytes.min(OWN_BURST_BYTES);
                    said(&self.burst_bytes.to_string())
                }
                None => wrong,
            },
            "FirstBurstLength" => match length(value) {
                Some(bytes) => {
                    // No more than a burst, which was agreed on before ([`in_order`]).
                    self.first_burst_bytes = bytes.min(OWN_FIRST_BURST_BYTES).min(self.burst_bytes);
                    said(&self.first_burst_bytes.to_string())
                }
                None => wrong,
            },
            "DefaultTime2Wait" => match number(value) {
                Some(seconds) if seconds <= 3600 => said(&seconds.to_string()),
                _ => wrong,
            },
            "DefaultTime2Retain" => match number(value) {
                Some(seconds) if seconds <= 3600 => said("0"),
                _ => wrong,
            },
            "InitiatorAlias" => Reply::Nothing,
            _ => Reply::Unknown,
        }
    }

    /// The rules that hold between keys.
    pub fn settle(&mut self) {
        self.first_burst_bytes = self.first_burst_bytes.min(self.burst_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_number_and_the_weaker_promise_are_agreed_on() {
        let mut p = Parameters::default();
        let value = |text: &str| Reply::Value(text.to_owned());
        assert_eq!(p.agree("MaxBurstLength", "16776192"), value("1048576"));
        assert_eq!(p.agree("FirstBurstLength", "0x1000"), value("4096"));
        assert_eq!(p.agree("InitialR2T", "No"), value("No"));
        assert_eq!(p.agree("MaxRecvDataSegmentLength", "65536"), Reply::Nothing);
        assert_eq!(p.agree("HeaderDigest", "CRC32C,None"), value("None"));
        assert_eq!(p.agree("X-com.example", "1"), Reply::Unknown);
        assert_eq!(p.agree("MaxConnections", "8"), value("1"));
        assert_eq!(["0", "1", "2"].map(|level| p.agree("iSCSIProtocolLevel", level)), ["0", "1", "1"].map(value));
        let agreed = Parameters {
            initial_r2t: false,
            immediate_data: true,
            segment_bytes: 65536,
            burst_bytes: 1 << 20,
            first_burst_bytes: 4096,
        };
        assert_eq!(p, agreed);
        let wrong = [
            ("MaxBurstLength", "511"),
            ("HeaderDigest", "CRC32C"),
            ("InitialR2T", "yes"),
            ("MaxConnections", ""),
            ("MaxConnections", "0"),
            ("MaxOutstandingR2T", "65536"),
            ("iSCSIProtocolLevel", "32"),
        ];
        assert!(wrong.into_iter().all(|(key, value)| p.agree(key, value) == Reply::Wrong));
    }

    #[test]
    fn a_first_burst_is_no_longer_than_a_burst_in_whatever_order_they_come() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut pairs =
            [pair("FirstBurstLength", "65536"), pair("MaxBurstLength", "4096"), pair("ImmediateData", "Yes")];
        in_order(&mut pairs);
        let mut p = Parameters::default();
        let replies = pairs.map(|(key, value)| p.agree(&key, &value));
        let value = |text: &str| Reply::Value(text.to_owned());
        assert_eq!(replies, [value("4096"), value("Yes"), value("4096")]);
    }

    #[test]
    fn text_may_come_in_pieces_but_not_without_end() {
        let mut text = TextInput::default();
        assert!(text.add(b"A=1\0B="));
        assert!(text.add(b"2=3\0\0"));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(text.take(), Some(vec![pair("A", "1"), pair("B", "2=3")]));
        assert!(text.add(b"no value") && text.take().is_none());
        assert!(!text.add(&[b'a'; MOST_TEXT_BYTES + 1]));
    }
}
