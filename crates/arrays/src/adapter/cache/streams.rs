//! Sequential reads of the host, and what to read ahead of them.

/// Streams that are followed.
const MOST: usize = 8;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Streams {
    capacity_bytes: u64,
    read_ahead_bytes: u64,
    /// Where the last streams ended, and how far ahead of them has been read.
    streams: [(u64, u64); MOST],
    /// Whose place a new one takes.
    next: usize,
}

impl Streams {
    pub fn new(capacity_bytes: u64, read_ahead_bytes: u64) -> Self {
        Streams { capacity_bytes, read_ahead_bytes, streams: [(0, 0); MOST], next: 0 }
    }

    /// The host has read. If that goes on where a stream ended, and more can be read now: from where to where.
    pub fn follow(&mut self, offset_bytes: u64, length_bytes: u64, can_read: bool) -> Option<(u64, u64)> {
        let ahead = self.read_ahead_bytes;
        let end = offset_bytes + length_bytes;
        let Some(stream) = self.streams.iter_mut().find(|s| s.0 == offset_bytes && s.1 > 0) else {
            self.streams[self.next] = (end, end);
            self.next = (self.next + 1) % MOST;
            return None;
        };
        stream.0 = end;
        let from = stream.1.max(end);
        let to = (end + ahead).min(self.capacity_bytes);
        if ahead == 0 || from >= to || from - end > ahead / 2 || !can_read {
            return None;
        }
        stream.1 = to;
        Some((from, to))
    }

    /// The power has gone: what was followed is forgotten.
    pub fn power_cut(&mut self) {
        *self = Streams::new(self.capacity_bytes, self.read_ahead_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_ahead_of_whenever_half_of_that_is_used_up() {
        let mut streams = Streams::new(300, 100);
        assert_eq!(streams.follow(0, 10, true), None, "it may be one read alone");
        assert_eq!(streams.follow(10, 10, true), Some((20, 120)));
        assert_eq!(streams.follow(20, 40, true), None);
        assert_eq!(streams.follow(60, 10, false), None, "reads are held back");
        assert_eq!(streams.follow(70, 10, true), Some((120, 180)));
        assert_eq!(streams.follow(80, 180, true), Some((260, 300)), "the device ends there");
    }

    #[test]
    fn a_stream_that_has_not_gone_on_for_long_is_forgotten() {
        let mut streams = Streams::new(1 << 20, 100);
        streams.follow(0, 10, true);
        for k in 1..MOST as u64 {
            streams.follow(k * 1000, 10, true);
        }
        assert!(streams.follow(10, 10, true).is_some());
        streams.follow(MOST as u64 * 1000, 10, true);
        assert_eq!(streams.follow(20, 10, true), None);
    }
}
