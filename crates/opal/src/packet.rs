//! Packets of TCG Storage (Core Specification 2.01, section 3.2.3): a ComPacket with one packet with one subpacket of data.

use thiserror::Error;

/// Bytes of the three headers.
pub const HEADS_BYTES: usize = COM_HEAD_BYTES + PACKET_HEAD_BYTES + SUBPACKET_HEAD_BYTES;
const COM_HEAD_BYTES: usize = 20;
const PACKET_HEAD_BYTES: usize = 24;
const SUBPACKET_HEAD_BYTES: usize = 12;

/// Which session a packet belongs to, by the numbers of both sides; 0 and 0: the session manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionNumbers {
    pub tper: u32,
    pub host: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    #[error("a packet that is cut short")]
    Short,
    #[error("a packet for another ComID")]
    ForAnother,
    #[error("a subpacket that is no data")]
    NoData,
}

/// The session and the tokens of a ComPacket. `None`: it carries nothing.
///
/// # Errors
/// If its lengths do not fit into each other, or it is not for this ComID.
pub fn read(bytes: &[u8], com_id: u16) -> Result<Option<(SessionNumbers, &[u8])>, PacketError> {
    let u32_at = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    if bytes.len() < COM_HEAD_BYTES {
        return Err(PacketError::Short);
    }
    if bytes[4..8] != extended(com_id) {
        return Err(PacketError::ForAnother);
    }
    let within = |from: usize, length: u32, end: usize| {
        from.checked_add(length as usize).filter(|&found| found <= end).ok_or(PacketError::Short)
    };
    let end = within(COM_HEAD_BYTES, u32_at(16), bytes.len())?;
    if end == COM_HEAD_BYTES {
        return Ok(None);
    }
    let data = COM_HEAD_BYTES + PACKET_HEAD_BYTES;
    if end < data {
        return Err(PacketError::Short);
    }
    let numbers = SessionNumbers { tper: u32_at(20), host: u32_at(24) };
    let end = within(data, u32_at(40), end)?;
    if end < data + SUBPACKET_HEAD_BYTES {
        return Err(PacketError::Short);
    }
    if bytes[data + 6..data + 8] != [0, 0] {
        return Err(PacketError::NoData);
    }
    let tokens = data + SUBPACKET_HEAD_BYTES;
    let end = within(tokens, u32_at(data + 8), end)?;
    Ok(Some((numbers, &bytes[tokens..end])))
}

/// A ComPacket with these tokens.
#[must_use]
pub fn write(com_id: u16, numbers: SessionNumbers, tokens: &[u8]) -> Vec<u8> {
    let padded = tokens.len().next_multiple_of(4);
    let mut bytes = head(com_id, 0, 0, PACKET_HEAD_BYTES + SUBPACKET_HEAD_BYTES + padded);
    bytes.extend_from_slice(&numbers.tper.to_be_bytes());
    bytes.extend_from_slice(&numbers.host.to_be_bytes());
    // Sequence number, kind of acknowledgement, acknowledgement: not used.
    bytes.extend_from_slice(&[0; 12]);
    bytes.extend_from_slice(&((SUBPACKET_HEAD_BYTES + padded) as u32).to_be_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&(tokens.len() as u32).to_be_bytes());
    bytes.extend_from_slice(tokens);
    bytes.resize(HEADS_BYTES + padded, 0);
    bytes
}

/// A ComPacket that carries nothing. `outstanding`: bytes that are still to come, of which `least` must be asked for.
#[must_use]
pub fn empty(com_id: u16, outstanding: u32, least: u32) -> Vec<u8> {
    head(com_id, outstanding, least, 0)
}

fn head(com_id: u16, outstanding: u32, least: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(&extended(com_id));
    for number in [outstanding, least, length as u32] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    bytes
}

/// The ComID with its extension, of which there is none.
#[must_use]
pub fn extended(com_id: u16) -> [u8; 4] {
    let [high, low] = com_id.to_be_bytes();
    [high, low, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: SessionNumbers = SessionNumbers { tper: 0x1234, host: 0x41 };

    #[test]
    fn tokens_come_back_and_lengths_are_those_of_the_specification() {
        let packet = write(0x1000, NUMBERS, &[0xfa, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(packet.len(), 20 + 24 + 12 + 8);
        assert_eq!(packet[16..20], [0, 0, 0, 44], "the packet and its head");
        assert_eq!(packet[40..44], [0, 0, 0, 20], "the subpacket, padded to four bytes");
        assert_eq!(packet[52..56], [0, 0, 0, 5], "its data, without padding");
        assert_eq!(read(&packet, 0x1000), Ok(Some((NUMBERS, &[0xfa, 0xff, 0xff, 0xff, 0xff][..]))));
        assert_eq!(read(&empty(0x1000, 0, 0), 0x1000), Ok(None));
    }

    #[test]
    fn lengths_that_do_not_fit_into_each_other_are_refused() {
        let good = write(0x1000, NUMBERS, &[0xfa]);
        assert_eq!(read(&good, 0x1001), Err(PacketError::ForAnother));
        (0..good.len())
            .for_each(|length| assert_eq!(read(&good[..length], 0x1000), Err(PacketError::Short), "{length}"));
        for at in [16, 40, 52] {
            for wrong in [[0, 0, 1, 0], [0xff; 4]] {
                let mut packet = good.clone();
                packet[at..at + 4].copy_from_slice(&wrong);
                assert_eq!(read(&packet, 0x1000), Err(PacketError::Short), "a length at {at}");
            }
        }
        let mut credit = good.clone();
        credit[50..52].copy_from_slice(&[0x80, 0x01]);
        assert_eq!(read(&credit, 0x1000), Err(PacketError::NoData));
    }
}
