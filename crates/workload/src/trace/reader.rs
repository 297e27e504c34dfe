//! The streaming reader: places for errors, relative times, numbers for devices.

use std::collections::BTreeMap;
use std::io::{BufReader, ErrorKind, Read};
use std::sync::Arc;

use ssdlab_core::{Nanos, Op, input};

use super::error::TraceError;
use super::format::Format;
use super::lines::{self, Line};
use super::{Parsed, Raw, blkparse, csv, detect, iolog, mqsim, msr, spc, table, vscsi};

/// What stands in every header of a tar archive, and where.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");
/// Bytes looked at to recognise a format.
const WINDOW_BYTES: usize = 64 * 1024;

/// Devices of a trace at most.
pub const MAX_DEVICES: usize = 1 << 16;
/// Longest name of a device, in bytes: that of the longest path.
const LONGEST_NAME: usize = 4096;
/// The longest message about a line or record, in characters.
const LONGEST_PROBLEM: usize = 400;

/// A request of a trace. Addresses are as recorded: they may lie beyond any drive and need not be whole sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Arrival after the first request of the trace; never smaller than that of the request before.
    pub at: Nanos,
    pub op: Op,
    /// Index into [`TraceReader::devices`].
    pub device: u32,
    /// Zero for a flush.
    pub offset_bytes: u64,
    /// Zero for a flush, at least one otherwise.
    pub length_bytes: u64,
    /// Force unit access, where the format says so.
    pub fua: bool,
}

/// What the time stamps of a trace are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Requests that are stamped earlier than one before them, and by how much at most.
    pub backwards: u64,
    pub farthest_back: Nanos,
    /// Requests that bear the very stamp of the one before them.
    pub together: u64,
    /// What all stamps lie whole multiples of apart; zero if they are all the same.
    pub grain: Nanos,
}

impl Stamps {
    /// Takes in one that lies so long after the latest so far, or before it.
    fn add(&mut self, after: Result<u64, u64>) {
        let (Ok(apart) | Err(apart)) = after;
        match after {
            Ok(0) => self.together += 1,
            Ok(_) => {}
            Err(back) => {
                self.backwards += 1;
                self.farthest_back = self.farthest_back.max(back);
            }
        }
        let (mut grain, mut rest) = (self.grain, apart);
        while rest > 0 {
            (grain, rest) = (rest, grain % rest);
        }
        self.grain = grain;
    }
}

/// The reader's source: what was looked at to recognise the format, then the rest.
type Input<R> = BufReader<std::io::Chain<std::io::Cursor<Vec<u8>>, R>>;

/// Yields the requests of a trace, then nothing; after an error, nothing more.
#[derive(Debug)]
pub struct TraceReader<R> {
    file: String,
    input: Input<R>,
    format: Format,
    buffer: Vec<u8>,
    /// Lines or bytes read so far.
    position: u64,
    finished: bool,
    /// A line that is not empty was read.
    line_seen: bool,
    summary: blkparse::Summary,
    /// Time of the last wait of a version 2 iolog.
    wait_clock: u128,
    first: Option<u128>,
    last: Nanos,
    devices: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, u32>,
    stamps: Stamps,
    skipped: u64,
}

impl<R: Read> TraceReader<R> {
    /// Reads a trace from anything; `file` is its name in error messages.
    ///
    /// # Errors
    /// If it cannot be read, is empty, or is of no known format.
    pub fn new(file: &str, mut input: R, format: Option<Format>) -> Result<Self, TraceError> {
        let mut start = Vec::new();
        let read = input.by_ref().take(WINDOW_BYTES as u64).read_to_end(&mut start);
        read.map_err(|source| TraceError::Read { file: file.to_owned(), source })?;
        let mark_bytes = start.len() - input::without_mark(&start).len();
        if start.len() == mark_bytes {
            return Err(TraceError::Empty { file: file.to_owned() });
        }
        if start.get(TAR_MAGIC.0..).is_some_and(|rest| rest.starts_with(TAR_MAGIC.1)) {
            let what = "it is a tar archive; give one of the files in it";
            let source = std::io::Error::new(ErrorKind::InvalidData, what);
            return Err(TraceError::Read { file: file.to_owned(), source });
        }
        let format = format.or_else(|| detect::detect(&start));
        let format = format.ok_or_else(|| TraceError::UnknownFormat { file: file.to_owned() })?;
        // In a binary format these bytes are numbers.
        if format.record_bytes().is_none() {
            start.drain(..mark_bytes);
        }
        Ok(TraceReader {
            file: file.to_owned(),
            input: BufReader::new(std::io::Cursor::new(start).chain(input)),
            format,
            buffer: Vec::new(),
            position: 0,
            finished: false,
            line_seen: false,
            summary: blkparse::Summary::default(),
            wait_clock: 0,
            first: None,
            last: 0,
            devices: Vec::new(),
            numbers: BTreeMap::new(),
            stamps: Stamps::default(),
            skipped: 0,
        })
    }

    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Names of the devices seen so far, as the trace writes them, in the order of their first request.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &str> {
        self.devices.iter().map(|name| &**name)
    }

    /// What the time stamps are like so far.
    #[must_use]
    pub fn stamps(&self) -> Stamps {
        self.stamps
    }

    /// Lines or records so far that are well-formed but no requests to a drive.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Fills the buffer with the next line or record; false at the end.
    fn fill(&mut self) -> Result<bool, TraceError> {
        match self.format.record_bytes() {
            None => self.fill_line(),
            Some(size) => self.fill_record(size),
        }
    }

    fn fill_line(&mut self) -> Result<bool, TraceError> {
        match lines::read(&mut self.input, &mut self.buffer) {
            Ok(Line::End) => Ok(false),
            Ok(Line::Text) => {
                self.position += 1;
                Ok(true)
            }
            Ok(Line::TooLong) => {
                self.position += 1;
                Err(self.problem("the line is longer than 64 KiB; is this a text trace?".into()))
            }
            Err(source) => Err(TraceError::Read { file: self.file.clone(), source }),
        }
    }

    fn fill_record(&mut self, size: usize) -> Result<bool, TraceError> {
        self.buffer.resize(size, 0);
        let mut have = 0;
        while have < size {
            match self.input.read(&mut self.buffer[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(TraceError::Read { file: self.file.clone(), source });
                }
            }
        }
        if have == 0 {
            return Ok(false);
        }
        self.position += have as u64;
        if have < size {
            self.position += (size - have) as u64;
            return Err(self.problem(format!("the file ends after {have} of the record's {size} bytes")));
        }
        Ok(true)
    }

    /// An error at the line or record just read.
    fn problem(&self, problem: String) -> TraceError {
        let file = self.file.clone();
        let problem = input::shortened(&problem, LONGEST_PROBLEM).into_owned();
        match self.format.record_bytes() {
            None => {
                let text = String::from_utf8_lossy(&self.buffer).trim_end().to_owned();
                TraceError::Line { file, line: self.position, text, problem }
            }
            Some(size) => TraceError::Record { file, byte: self.position - size as u64, problem },
        }
    }

    fn read(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        while self.fill()? {
            let buffer = std::mem::take(&mut self.buffer);
            let record = match self.parse(&buffer) {
                Ok(Parsed::Request(raw)) => self.record(&raw).map(Some),
                Ok(Parsed::Skipped) => {
                    self.skipped += 1;
                    Ok(None)
                }
                Ok(Parsed::Summary) => Ok(None),
                Err(problem) => Err(problem),
            };
            self.buffer = buffer;
            match record {
                Ok(None) => {}
                Ok(record) => return Ok(record),
                Err(problem) => return Err(self.problem(problem)),
            }
        }
        Ok(None)
    }

    fn parse<'a>(&mut self, bytes: &'a [u8]) -> Result<Parsed<'a>, String> {
        match self.format {
            Format::Table => return table::parse(bytes),
            Format::VscsiV1 | Format::VscsiV2 => return vscsi::parse(bytes, self.format),
            _ => {}
        }
        let line = std::str::from_utf8(bytes).map_err(|_| "the line is not UTF-8 text".to_owned())?.trim();
        if line.is_empty() {
            return Ok(Parsed::Skipped);
        }
        let is_first = !std::mem::replace(&mut self.line_seen, true);
        match self.format {
            Format::IologV2 | Format::IologV3 if is_first => {
                let expected = if self.format == Format::IologV2 { iolog::HEADER_V2 } else { iolog::HEADER_V3 };
                iolog::header(line, expected)?;
                Ok(Parsed::Skipped)
            }
            Format::Msr | Format::Spc | Format::Alibaba | Format::Tencent | Format::Systor | Format::CloudPhysics
                if is_first && csv::is_heading(line) =>
            {
                Ok(Parsed::Skipped)
            }
            Format::Alibaba | Format::Tencent | Format::Systor | Format::CloudPhysics => csv::parse(line, self.format),
            Format::IologV2 => iolog::parse_v2(line, &mut self.wait_clock),
            Format::IologV3 => iolog::parse_v3(line),
            Format::Msr => msr::parse(line),
            Format::Mqsim => mqsim::parse(line),
            Format::Blkparse => blkparse::parse(line, &mut self.summary),
            Format::Spc => spc::parse(line),
            Format::VscsiV1 | Format::VscsiV2 | Format::Table => Err("a binary format has no lines".into()),
        }
    }

    fn record(&mut self, raw: &Raw) -> Result<TraceRecord, String> {
        let latest = self.first.map(|first| first + u128::from(self.last));
        let first = *self.first.get_or_insert(raw.at);
        let after_first = raw.at.saturating_sub(first);
        let at = Nanos::try_from(after_first)
            .map_err(|_| "arrives more than 584 years after the first request".to_owned())?;
        if let Some(latest) = latest {
            let apart = u64::try_from(raw.at.abs_diff(latest)).unwrap_or(u64::MAX);
            self.stamps.add(if raw.at < latest { Err(apart) } else { Ok(apart) });
        }
        self.last = at.max(self.last);
        let device = match self.numbers.get(raw.device) {
            Some(&n) => n,
            None if self.devices.len() == MAX_DEVICES => {
                return Err(format!("is of one device more than the {MAX_DEVICES} that a trace can have"));
            }
            None if raw.device.len() > LONGEST_NAME => {
                return Err(format!(
                    "the name of its device has {} bytes; at most {LONGEST_NAME} are possible",
                    raw.device.len()
                ));
            }
            None => {
                let n = self.devices.len() as u32;
                let name: Arc<str> = Arc::from(raw.device);
                self.devices.push(Arc::clone(&name));
                self.numbers.insert(name, n);
                n
            }
        };
        Ok(TraceRecord {
            at: self.last,
            op: raw.op,
            device,
            offset_bytes: raw.offset_bytes,
            length_bytes: raw.length_bytes,
            fua: raw.fua,
        })
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<TraceRecord, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let result = self.read().transpose();
        self.finished = !matches!(result, Some(Ok(_)));
        result
    }
}
