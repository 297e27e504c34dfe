//! A job on a drive of a given capacity: which bytes it works on, and whether they exist.

use ssdlab_core::{Rng, SECOND, SECTOR_BYTES};

use super::error::JobFileError;
use super::job::{Amount, Job, RandomDistribution, Rw};
use super::source::JobSource;
use crate::pattern::{Distribution, Extent, Mix, Order, Pattern};

/// The bytes that a clone of a job works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start_bytes: u64,
    pub length_bytes: u64,
}

impl Span {
    /// Whether another lies within it.
    #[must_use]
    pub fn holds(self, other: Span) -> bool {
        let end = |span: Span| span.start_bytes + span.length_bytes;
        self.start_bytes <= other.start_bytes && end(other) <= end(self)
    }

    /// Whether it is the whole of a drive.
    fn is_whole(self, capacity_bytes: u64) -> bool {
        self.start_bytes == 0 && self.length_bytes == capacity_bytes
    }
}

/// Where a clone begins, the bytes from there to the end of its file, and the length of that.
struct Room {
    start: u64,
    left: u64,
    file_bytes: u64,
    /// Which clone it is, for messages.
    at: String,
}

/// Per cent of a number of bytes.
fn share(of: u64, percent: u32) -> u64 {
    (u128::from(of) * u128::from(percent) / 100) as u64
}

impl Job {
    pub(super) fn error(&self, option: &str, problem: String) -> JobFileError {
        let spot = self.spots.get(option).unwrap_or(&self.spot);
        JobFileError::Job { file: spot.file.to_string(), line: spot.line, job: self.name.clone(), problem }
    }

    /// What can be checked without a drive.
    pub(super) fn check(&self) -> Result<(), JobFileError> {
        if self.time_based && self.runtime.is_none() {
            return Err(self.error("time_based", "time_based needs a runtime greater than zero".into()));
        }
        if self.size == Some(Amount::Bytes(0)) || self.size == Some(Amount::Percent(0)) {
            return Err(self.error("size", "size is zero; leave it out for the whole drive".into()));
        }
        if self.strided && self.zone_bytes == 0 {
            return Err(self.error("zonemode", "zonemode=strided needs a zonesize".into()));
        }
        if !self.strided && self.zone_bytes != 0 {
            return Err(self.error("zonesize", "zonesize needs zonemode=strided".into()));
        }
        if self.write_fua && self.engine.name != "sg" {
            return Err(self.error("writefua", "writefua belongs to ioengine=sg; use sync=1".into()));
        }
        // As in fio, there are no more files than names of them.
        if self.files > 1 && !self.given.contains_key("filename") {
            let problem = format!(
                "nrfiles: {0} files are {0} streams, one beside the other; write a job for each, with an offset and a size",
                self.files
            );
            return Err(self.error("nrfiles", problem));
        }
        if self.rw_run > 1 && !self.rw.is_random() {
            return Err(self.error("rw", "the number of blocks from each place is for random patterns".into()));
        }
        if self.latency_target > 0 && (self.latency_window == 0 || self.latency_percentile <= 0.0) {
            return Err(self.error("latency_target", "latency_target needs a latency_window".into()));
        }
        if self.steady_state.is_some() && self.steady_duration < 2 * SECOND {
            let problem =
                "steadystate needs steadystate_duration: the time over which the rate must be steady, at least 2 s";
            return Err(self.error("steadystate", problem.into()));
        }
        if self.rate_iops.iter().zip(&self.rate_bytes).any(|(iops, bytes)| iops.is_some() && bytes.is_some()) {
            return Err(self.error("rate", "rate and rate_iops exclude each other; use one of them".into()));
        }
        if self.poisson && self.rate_iops.iter().chain(&self.rate_bytes).all(Option::is_none) {
            return Err(self.error("rate_process", "rate_process=poisson needs rate_iops or rate".into()));
        }
        Ok(())
    }

    /// The smallest and the largest block of the operations that occur.
    fn blocks(&self) -> (u64, u64) {
        let sizes = self.sizes();
        let used = || sizes.iter().zip(self.mix().uses()).filter(|s| s.1).map(|s| s.0);
        let min = used().map(|s| s.min_bytes()).min().unwrap_or(SECTOR_BYTES);
        let max = used().map(|s| s.max_bytes()).max().unwrap_or(SECTOR_BYTES);
        (min, max)
    }

    /// From where clone `clone` begins to where its file ends, which is as long as so much of the drive.
    fn room(&self, capacity_bytes: u64, clone: u32) -> Result<Room, JobFileError> {
        let (min_block, _) = self.blocks();
        let offset = |amount: Amount| match amount {
            Amount::Bytes(n) => n,
            Amount::Percent(p) => share(capacity_bytes, p),
        };
        let step = offset(self.offset_increment).checked_mul(u64::from(clone));
        let sum = step.and_then(|s| s.checked_add(offset(self.offset)));
        // As in fio, the sum is rounded, and not what it is made of.
        let has_percent = [self.offset, self.offset_increment].iter().any(|a| matches!(a, Amount::Percent(1..)));
        let start = if has_percent { sum.and_then(|s| s.checked_next_multiple_of(min_block)) } else { sum };
        let at = if clone > 0 { format!(" (clone {clone}, with offset_increment)") } else { String::new() };
        let start = start.filter(|&s| s < capacity_bytes).ok_or_else(|| {
            let where_ = start.map_or("beyond 2^64".to_owned(), |s| s.to_string());
            self.error(
                "offset",
                format!("begins at byte {where_}{at}, but the drive ends at {capacity_bytes}; reduce offset"),
            )
        })?;
        if start % SECTOR_BYTES != 0 {
            return Err(self.error("offset", format!("begins at byte {start}{at}, which is not a multiple of 512")));
        }
        // Its file begins where the drive does, and ends there at the latest.
        let file_bytes = match self.filesize {
            None => capacity_bytes,
            Some(Amount::Percent(p)) => share(capacity_bytes, p),
            Some(Amount::Bytes(n)) if n <= capacity_bytes => n,
            Some(Amount::Bytes(n)) => {
                let problem = format!("a file of {n} bytes, but the drive has {capacity_bytes}; reduce filesize");
                return Err(self.error("filesize", problem));
            }
        };
        let Some(left) = file_bytes.checked_sub(start).filter(|&left| left > 0) else {
            return Err(self.error(
                "offset",
                format!("begins at byte {start}{at}, but the file ends at {file_bytes}; reduce offset"),
            ));
        };
        Ok(Room { start, left, file_bytes, at })
    }

    /// Where clone `clone` (from 0) works on a drive of `capacity_bytes`.
    ///
    /// A size in per cent is that of the whole drive, but ends where the drive ends; a size in bytes must fit. A job with a file
    /// (`filesize`) works in all of it, or in so many per cent.
    /// Where it begins is rounded up to the smallest block if any of it is in per cent, a size in per cent down.
    ///
    /// # Errors
    /// If the span begins or ends beyond the drive, is not made of sectors, or does not hold a block.
    pub fn span(&self, capacity_bytes: u64, clone: u32) -> Result<Span, JobFileError> {
        let (min_block, max_block) = self.blocks();
        let Room { start, left, file_bytes, at } = self.room(capacity_bytes, clone)?;
        let length = match self.size {
            None => left / SECTOR_BYTES * SECTOR_BYTES,
            Some(Amount::Percent(p)) => {
                let length = share(file_bytes, p).min(left);
                length - length % min_block
            }
            // As in fio, it works in all of its file, and `size` is how much it sends.
            Some(Amount::Bytes(_)) if self.filesize.is_some() => left / SECTOR_BYTES * SECTOR_BYTES,
            Some(Amount::Bytes(n)) if n <= left => n - n % SECTOR_BYTES,
            Some(Amount::Bytes(n)) => {
                return Err(self.error(
                    "size",
                    format!(
                        "size {n} bytes from byte {start}{at} reaches beyond the drive, which has {capacity_bytes} bytes; \
                         at most {left} fit"
                    ),
                ));
            }
        };
        if length < max_block {
            return Err(self.error(
                "size",
                format!("the span of {length} bytes holds no block of {max_block} bytes; increase size or reduce bs"),
            ));
        }
        Ok(Span { start_bytes: start, length_bytes: length })
    }

    /// The bytes that clone `clone` may go to on a drive of `capacity_bytes`: its span, and what lies behind it where gaps between
    /// zones take it there.
    ///
    /// # Errors
    /// As [`Job::span`].
    pub fn reach(&self, capacity_bytes: u64, clone: u32) -> Result<Span, JobFileError> {
        let pattern = self.pattern(capacity_bytes, clone)?;
        let span = Span { start_bytes: pattern.start_bytes, length_bytes: pattern.span_bytes };
        let walk = self.walk(self.room(capacity_bytes, clone)?.left);
        let zones = walk.and_then(|walk| walk.strided);
        Ok(zones.map_or(span, |zones| Span { length_bytes: zones.reach_bytes(&pattern), ..span }))
    }

    /// Whether it writes at random, more than once over its span, and each time the same blocks in the same order.
    pub(super) fn writes_passes_again(&self, capacity_bytes: u64) -> bool {
        // One that does not fit is refused, and sends nothing.
        let Ok(pattern) = self.pattern(capacity_bytes, 0) else { return false };
        let passes = match pattern.extent {
            Extent::Passes(passes) => passes > 1,
            Extent::Bytes(bytes) => bytes > pattern.span_bytes,
            Extent::Endless => true,
        };
        let keeps_a_map = pattern.order == Order::Random(Distribution::EachBlockOnce) && !self.leaves_order();
        passes && keeps_a_map && pattern.repeats && self.rw.writes()
    }

    pub(super) fn mix(&self) -> Mix {
        match self.rw {
            Rw::Read | Rw::RandRead => Mix::Read,
            Rw::Write | Rw::RandWrite => Mix::Write,
            Rw::Trim | Rw::RandTrim => Mix::Trim,
            Rw::ReadWrite | Rw::RandRw => Mix::ReadWrite { read_percent: self.read_percent },
            Rw::TrimWrite | Rw::RandTrimWrite => Mix::TrimWrite,
        }
    }

    fn order(&self) -> Order {
        if !self.rw.is_random() {
            return Order::Sequential;
        }
        let (min, max) = self.blocks();
        // As in fio, any alignment of its own turns the map off.
        let aligned =
            self.block_align.iter().zip(self.sizes()).any(|(a, sizes)| a.is_some_and(|a| a != sizes.min_bytes()));
        // Reads and writes that begin at different places cannot share a map, and a walk leaves it.
        let smallest = self.sizes().map(|sizes| sizes.min_bytes());
        let apart = self.rw == Rw::RandRw && smallest[0] != smallest[1] || min != max && self.leaves_order();
        let has_map = !(self.norandommap || aligned || apart);
        let uniform = if has_map { Distribution::EachBlockOnce } else { Distribution::Uniform };
        Order::Random(self.distribution.to_pattern(uniform))
    }

    /// The access pattern of clone `clone` on a drive of `capacity_bytes`.
    ///
    /// # Errors
    /// As [`Job::span`].
    pub fn pattern(&self, capacity_bytes: u64, clone: u32) -> Result<Pattern, JobFileError> {
        let span = self.span(capacity_bytes, clone)?;
        Ok(Pattern {
            start_bytes: span.start_bytes,
            span_bytes: span.length_bytes,
            order: self.order(),
            mix: self.mix(),
            sizes: self.sizes(),
            align_bytes: self.block_align,
            align_offset_bytes: 0,
            extent: self.extent(span.length_bytes, span.is_whole(capacity_bytes)),
            short_tail: false,
            one_place: false,
            repeats: self.repeats_passes(),
            fua: self.sync || self.write_fua,
        })
    }

    /// How much of a span of `span_bytes` it asks for. As in fio, which looks after each pass over the span whether another block
    /// fits into `io_size` ([`Self::passes`]).
    fn extent(&self, span_bytes: u64, is_whole_drive: bool) -> Extent {
        let io_size = match self.io_size {
            Some(Amount::Bytes(n)) => n,
            Some(Amount::Percent(p)) => share(span_bytes, p),
            None => match (self.filesize, self.size) {
                (Some(_), Some(Amount::Bytes(n))) => n.min(span_bytes),
                _ => span_bytes,
            },
        };
        // As in fio, which does not look after the only pass whether more fits where it is to verify, but not now.
        let is_for_later = self.verify.is_some() && !self.do_verify && self.loops == 1;
        let ends_with_pass = is_for_later && !self.strided && !self.is_one_long_pass();
        let io_size = if ends_with_pass { io_size.min(span_bytes) } else { io_size };
        if self.time_based {
            Extent::Endless
        } else if let Some(walk_bytes) =
            self.walk_bytes(span_bytes).filter(|_| !is_whole_drive && io_size != span_bytes)
        {
            // A walk that steps to the end of the span is a pass.
            if io_size <= walk_bytes {
                Extent::Bytes(io_size.saturating_mul(self.loops))
            } else if self.io_size.is_none() {
                Extent::Passes(self.loops)
            } else if self.loops == 1 {
                Extent::Bytes(io_size)
            } else {
                Extent::Passes(self.loops.max(io_size.div_ceil(walk_bytes)))
            }
        } else if io_size == span_bytes {
            Extent::Passes(self.loops)
        } else if let Some(passes) = self.passes(span_bytes, io_size) {
            Extent::Passes(passes)
        } else {
            Extent::Bytes(io_size.saturating_mul(self.loops))
        }
    }

    /// What blocks of one size take that lie a step apart, up to the end of a span; `None`: there are none such.
    fn walk_bytes(&self, span_bytes: u64) -> Option<u64> {
        let (block, largest) = self.blocks();
        let steps = !self.rw.is_random() && !self.strided && block == largest;
        let step = u64::try_from(self.rw_step).ok().filter(|&step| steps && step > 0)?;
        Some((span_bytes.checked_sub(block)? / (block + step) + 1) * block)
    }

    /// Whether all of its `io_size` is one pass: as in fio, that of a random job without a map.
    fn is_one_long_pass(&self) -> bool {
        let keeps_a_map = self.rw_run <= 1 && self.order() == Order::Random(Distribution::EachBlockOnce);
        self.rw.is_random() && !keeps_a_map
    }

    /// How many whole passes an `io_size` above its span is, if it is so many: `loops` of them, and then others for as long as
    /// the largest block fits into what is left of `io_size`, towards which all counts that is trimmed, written and read back.
    /// `None` where the last one is cut short, or where a pass is of as much as `io_size` or of no fixed length.
    fn passes(&self, span_bytes: u64, io_size: u64) -> Option<u64> {
        let (block, largest) = self.blocks();
        let is_mixed = matches!(self.rw, Rw::ReadWrite | Rw::RandRw);
        let has_passes = !is_mixed && !self.strided && self.rw_step == 0 && !self.is_one_long_pass();
        let pass = span_bytes / block * block;
        if io_size < span_bytes || pass == 0 || !has_passes {
            return None;
        }
        let reads_back = self.verify.is_some() && self.do_verify && self.rw.writes();
        let trims_before = self.rw.trims() && self.rw.writes();
        let counted = pass.saturating_mul(1 + u64::from(reads_back) + u64::from(trims_before));
        let fitting = 1 + io_size.saturating_sub(largest) / counted;
        let is_cut = self.loops == 1 && fitting.saturating_mul(pass) > io_size;
        (!is_cut).then(|| self.loops.max(fitting))
    }

    /// What clone `clone` (from 0 to `numjobs - 1`) of this job, which is number `index` of its file, sends to a drive of
    /// `capacity_bytes`. Random numbers come from `randseed` or else from `rng`; jobs of one seed and clones differ.
    ///
    /// # Errors
    /// As [`Job::span`], or if the options contradict each other for this drive.
    pub fn source(
        &self,
        capacity_bytes: u64,
        (index, clone): (usize, u32),
        rng: &Rng,
    ) -> Result<JobSource, JobFileError> {
        let pattern = self.pattern(capacity_bytes, clone)?;
        let room_bytes = self.room(capacity_bytes, clone)?.left;
        let base = self.randseed.map_or_else(|| rng.clone(), Rng::new);
        let base = base.stream(&format!("job {index}")).stream(&format!("clone {clone}"));
        let option = match &self.distribution {
            RandomDistribution::Zoned(_) => "random_distribution",
            _ if self.strided => "zonesize",
            _ if self.rw_step != 0 => "rw",
            _ => "bs",
        };
        let is_whole_drive = self.span(capacity_bytes, clone)?.is_whole(capacity_bytes);
        JobSource::new(self, pattern, (room_bytes, is_whole_drive), base).map_err(|e| self.error(option, e.to_string()))
    }
}
