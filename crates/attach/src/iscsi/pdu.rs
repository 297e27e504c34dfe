//! PDUs as bytes: a header of 48 bytes, additional headers, data in whole words.

use crate::input::Input;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 48;

/// The header of a PDU, whose fields stand in a few places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(pub [u8; HEADER_BYTES]);

impl Header {
    /// A header of this operation code and these flags, with a tag.
    #[must_use]
    pub fn new(code: u8, flags: u8, task_tag: u32) -> Self {
        let mut header = Header([0; HEADER_BYTES]);
        (header.0[0], header.0[1]) = (code, flags);
        header.put_u32(16, task_tag);
        header
    }

    /// The operation code, without the bit for immediate delivery.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.0[0] & 0x3f
    }

    #[must_use]
    pub fn is_immediate(&self) -> bool {
        self.0[0] & super::words::IMMEDIATE != 0
    }

    #[must_use]
    pub fn flags(&self) -> u8 {
        self.0[1]
    }

    #[must_use]
    pub fn task_tag(&self) -> u32 {
        self.u32_at(16)
    }

    /// Of a login or a logout: the number of the connection.
    #[must_use]
    pub fn connection(&self) -> u16 {
        u16::from_be_bytes([self.0[20], self.0[21]])
    }

    #[must_use]
    pub fn data_bytes(&self) -> usize {
        usize::from(self.0[5]) << 16 | usize::from(self.0[6]) << 8 | usize::from(self.0[7])
    }

    fn additional_bytes(&self) -> usize {
        4 * usize::from(self.0[4])
    }

    #[must_use]
    pub fn u32_at(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    pub fn put_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// The field of the logical unit, as it stands there.
    #[must_use]
    pub fn lun_field(&self) -> [u8; 8] {
        let mut field = [0; 8];
        field.copy_from_slice(&self.0[8..16]);
        field
    }

    pub fn put_lun_field(&mut self, field: [u8; 8]) {
        self.0[8..16].copy_from_slice(&field);
    }

    /// The number of the logical unit; none that is there if it is not of a single level.
    #[must_use]
    pub fn lun(&self) -> u64 {
        let lun = self.lun_field();
        match (lun[0] >> 6, lun[2..].iter().all(|byte| *byte == 0)) {
            (0 | 1, true) => u64::from(lun[0] & 0x3f) << 8 | u64::from(lun[1]),
            _ => u64::MAX,
        }
    }

    /// The bytes of a PDU whose data end with this header's number of bytes: header, and room for the data.
    #[must_use]
    pub fn bytes(&self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + data.len().next_multiple_of(4));
        out.extend_from_slice(&self.with_length(data.len()).0);
        out.extend_from_slice(data);
        out.resize(HEADER_BYTES + data.len().next_multiple_of(4), 0);
        out
    }

    /// The header of a PDU with so many bytes of data.
    #[must_use]
    pub fn with_length(mut self, data_bytes: usize) -> Header {
        let [_, high, middle, low] = (data_bytes as u32).to_be_bytes();
        (self.0[5], self.0[6], self.0[7]) = (high, middle, low);
        self
    }
}

/// A PDU that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    pub header: Header,
    /// Whether there were additional headers: nothing that is known has any.
    pub has_additional: bool,
    pub data: Vec<u8>,
}

/// A PDU has more data than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub Header);

/// The next PDU, if it has come whole.
///
/// # Errors
/// If it has more than `most_bytes` of data.
pub fn take(input: &mut Input, most_bytes: usize) -> Result<Option<Pdu>, TooLong> {
    let Some(header) = input.bytes().first_chunk::<HEADER_BYTES>().copied().map(Header) else { return Ok(None) };
    let data_bytes = header.data_bytes();
    if data_bytes > most_bytes {
        return Err(TooLong(header));
    }
    let from = HEADER_BYTES + header.additional_bytes();
    let whole = from + data_bytes.next_multiple_of(4);
    let Some(bytes) = input.bytes().get(..whole) else { return Ok(None) };
    let data = bytes[from..from + data_bytes].to_vec();
    input.consume(whole);
    Ok(Some(Pdu { header, has_additional: from > HEADER_BYTES, data }))
}
