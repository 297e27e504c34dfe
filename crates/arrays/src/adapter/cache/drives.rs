//! The drives behind the adapter: how many writes each may have outstanding, and has.
//!
//! What a drive has no place for waits at the adapter, where a read can go first.

use ssdlab_device::Device;

/// See the module's own page. Drives are numbered as [`Device::drives_with`] does.
#[derive(Clone, Debug)]
pub struct Drives {
    most: Vec<usize>,
    outstanding: Vec<usize>,
}

impl Drives {
    /// At most so many writes for each drive, and no more than it takes commands at once.
    pub fn of(device: &dyn Device, most_writes: u32) -> Self {
        let depths = device.drive_queue_depths();
        Drives {
            most: depths.iter().map(|&depth| most_writes.min(depth).max(1) as usize).collect(),
            outstanding: vec![0; depths.len()],
        }
    }

    /// Whether no drive may have another write.
    pub fn are_full(&self) -> bool {
        self.outstanding.iter().zip(&self.most).all(|(has, most)| has >= most)
    }

    /// Whether every drive that holds some of these bytes may have another write.
    pub fn have_room(&self, device: &dyn Device, offset_bytes: u64, length_bytes: u64) -> bool {
        let mut room = true;
        device.drives_with(offset_bytes, length_bytes, &mut |drive| room &= self.outstanding[drive] < self.most[drive]);
        room
    }

    pub fn sent(&mut self, device: &dyn Device, offset_bytes: u64, length_bytes: u64) {
        device.drives_with(offset_bytes, length_bytes, &mut |drive| self.outstanding[drive] += 1);
    }

    pub fn ended(&mut self, device: &dyn Device, offset_bytes: u64, length_bytes: u64) {
        device.drives_with(offset_bytes, length_bytes, &mut |drive| self.outstanding[drive] -= 1);
    }

    /// How many of these bytes, in pieces that end at multiples of `piece_bytes`, lie on the drives that the first piece is on: each
    /// drive has write commands of its own.
    pub fn with_the_first(&self, device: &dyn Device, offset_bytes: u64, length_bytes: u64, piece_bytes: u64) -> u64 {
        if self.most.len() == 1 {
            return length_bytes;
        }
        let end = offset_bytes + length_bytes;
        let piece_at = |from: u64| {
            let to = ((from / piece_bytes + 1) * piece_bytes).min(end);
            let mut drives = 0u64;
            device.drives_with(from, to - from, &mut |drive| drives |= 1 << (drive % 64));
            (drives, to)
        };
        let (first, mut reached) = piece_at(offset_bytes);
        while reached < end {
            let (drives, to) = piece_at(reached);
            if drives != first {
                break;
            }
            reached = to;
        }
        reached - offset_bytes
    }

    /// The power has gone: nothing is outstanding.
    pub fn power_cut(&mut self) {
        self.outstanding.fill(0);
    }
}
