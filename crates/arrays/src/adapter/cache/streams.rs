//! Sequential reads of the host, and what to read ahead of them.

/// Streams that are followed.
const MOST: usize = 8;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Streams {
    capacity_bytes: u64,
    read_ahead_bytes: u64,
    /// A new one takes the place of the one that has not gone on for longest.
    streams: [Stream; MOST],
    /// Reads so far.
    reads: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Where it ended, and how far ahead of it has been read. Before there was one: both 0.
    end: u64,
    ahead_to: u64,
    /// The number of its last read.
    last_read: u64,
}

impl Streams {
    pub fn new(capacity_bytes: u64, read_ahead_bytes: u64) -> Self {
        Streams { capacity_bytes, read_ahead_bytes, streams: [Stream::default(); MOST], reads: 0 }
    }

    /// The host has read. If that goes on where a stream ended, and more can be read now: from where to where.
    pub fn follow(&mut self, offset_bytes: u64, length_bytes: u64, can_read: bool) -> Option<(u64, u64)> {
        self.reads += 1;
        let (ahead, last_read) = (self.read_ahead_bytes, self.reads);
        let end = offset_bytes + length_bytes;
        let Some(stream) = self.streams.iter_mut().find(|s| s.end == offset_bytes && s.ahead_to > 0) else {
            let oldest = self.streams.iter_mut().min_by_key(|s| s.last_read).expect("there are places");
            *oldest = Stream { end, ahead_to: end, last_read };
            return None;
        };
        (stream.end, stream.last_read) = (end, last_read);
        let from = stream.ahead_to.max(end);
        let to = (end + ahead).min(self.capacity_bytes);
        if ahead == 0 || from >= to || from - end > ahead / 2 || !can_read {
            return None;
        }
        stream.ahead_to = to;
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
    fn a_new_stream_takes_the_place_of_the_one_that_has_not_gone_on_for_longest() {
        let mut streams = Streams::new(1 << 20, 100);
        for k in 0..MOST as u64 {
            streams.follow(k * 1000, 10, true);
        }
        assert!(streams.follow(10, 10, true).is_some());
        streams.follow(MOST as u64 * 1000, 10, true);
        assert_eq!(streams.follow(1010, 10, true), None, "it is forgotten");
        assert!(streams.follow(20, 100, true).is_some(), "it had just gone on");
    }
}
