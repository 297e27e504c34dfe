//! What the drive tells of itself to anybody: Level 0 discovery (Opal SSC 2.01, section 3.1.1).

use crate::memory::{ADMINS, DATA_STORE_BYTES, State, USERS};
use crate::object::Geometry;

/// Features, as the header has none of them.
const HEADER_BYTES: usize = 48;

/// The answer. `com_id`: where the drive is spoken to.
#[must_use]
pub fn level_0(state: &State, geometry: Geometry, com_id: u16) -> Vec<u8> {
    let mut features = Vec::new();
    // Sessions with one command at a time, and streams.
    feature(&mut features, 0x0001, 1, &{
        let mut tper = [0; 12];
        tper[0] = 0x11;
        tper
    });
    feature(&mut features, 0x0002, 1, &locking(state));
    feature(&mut features, 0x0003, 1, &geometry_reported(geometry));
    // Codes rise.
    feature(&mut features, 0x0202, 1, &data_store());
    feature(&mut features, 0x0203, 1, &opal(com_id));
    let mut bytes = ((HEADER_BYTES + features.len() - 4) as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&1_u32.to_be_bytes());
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend(features);
    bytes
}

fn feature(out: &mut Vec<u8>, code: u16, version: u8, data: &[u8]) {
    out.extend_from_slice(&code.to_be_bytes());
    out.push(version << 4);
    out.push(data.len() as u8);
    out.extend_from_slice(data);
}

fn locking(state: &State) -> [u8; 12] {
    let mut flags = 1 | 1 << 3;
    if let Some(locking) = &state.locking {
        let control = &locking.mbr_control;
        flags |= 1 << 1 | u8::from(locking.is_locked()) << 2;
        // What is not enabled is not done either.
        flags |= u8::from(control.enabled) << 4 | u8::from(control.enabled && control.done) << 5;
    }
    let mut data = [0; 12];
    data[0] = flags;
    data
}

fn geometry_reported(geometry: Geometry) -> [u8; 28] {
    let mut data = [0; 28];
    data[0] = 1;
    data[8..12].copy_from_slice(&geometry.sector_bytes.to_be_bytes());
    data[12..20].copy_from_slice(&geometry.alignment_sectors.to_be_bytes());
    data
}

fn opal(com_id: u16) -> [u8; 16] {
    let mut data = [0; 16];
    data[0..2].copy_from_slice(&com_id.to_be_bytes());
    data[2..4].copy_from_slice(&1_u16.to_be_bytes());
    data[5..7].copy_from_slice(&(ADMINS as u16).to_be_bytes());
    data[7..9].copy_from_slice(&(USERS as u16).to_be_bytes());
    // The PIN of the SID is that of the maker, when it is new and when it is reverted: 0 and 0.
    data
}

fn data_store() -> [u8; 12] {
    let mut data = [0; 12];
    data[2..4].copy_from_slice(&1_u16.to_be_bytes());
    data[4..8].copy_from_slice(&(DATA_STORE_BYTES as u32).to_be_bytes());
    data[8..12].copy_from_slice(&1_u32.to_be_bytes());
    data
}
