//! Where a trace comes from: a file, or bytes that are held; as it is, or compressed by gzip or zstd.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ssdlab_core::{Nanos, Op, input};

use super::error::TraceError;
use super::format::Format;
use super::reader::TraceReader;
use super::table;

/// The longest trace that is taken from standard input, in bytes. It is held in memory, as a replay reads it twice.
pub const MAX_HELD_BYTES: u64 = 1 << 30;
/// No trace shrinks to less than one in so many of its bytes; what claims to was made to fill a reader.
const MAX_EXPANSION: u64 = 2000;
/// Expansion is not looked at before so many bytes.
const TRUSTED_BYTES: u64 = 1 << 30;

const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// How a frame of zstd begins that holds no data, after a byte of 0x50 to 0x5F. `pzstd` begins a file with one.
const SKIPPED: [u8; 3] = [0x2A, 0x4D, 0x18];
/// How files begin that are packed in a way that is not unpacked here.
const OTHERS: [(&str, &[u8]); 4] =
    [("xz", b"\xFD7zX"), ("bzip2", b"BZh"), ("zip", b"PK\x03\x04"), ("lz4", b"\x04\x22\x4D\x18")];

/// A trace that can be read as often as need be.
#[derive(Clone, PartialEq, Eq)]
pub enum TraceSource {
    File(PathBuf),
    /// All bytes of it, and its name in messages.
    Held {
        name: String,
        bytes: Arc<[u8]>,
    },
    /// Requests that were never a file; see [`TraceSource::table`].
    Table(Arc<[u8]>),
}

/// A reader of a [`TraceSource`].
pub type SourceReader = TraceReader<Box<dyn Read>>;

impl TraceSource {
    /// Takes in all that `input` yields.
    ///
    /// # Errors
    /// If it cannot be read, or is longer than [`MAX_HELD_BYTES`].
    pub fn hold(name: &str, input: impl Read) -> Result<Self, TraceError> {
        let mut bytes = Vec::new();
        let read = input.take(MAX_HELD_BYTES + 1).read_to_end(&mut bytes).and_then(|n| match n as u64 {
            n if n > MAX_HELD_BYTES => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it is longer than {} MiB; give the trace as a file", MAX_HELD_BYTES >> 20),
            )),
            _ => Ok(()),
        });
        read.map_err(|source| TraceError::Read { file: name.to_owned(), source })?;
        Ok(TraceSource::Held { name: name.to_owned(), bytes: bytes.into() })
    }

    /// Requests that a program holds: when they arrive, what they are, offsets and lengths in bytes.
    #[must_use]
    pub fn table(requests: impl ExactSizeIterator<Item = (Nanos, Op, u64, u64)>) -> Self {
        let mut rows = Vec::with_capacity(requests.len() * table::ROW_BYTES);
        for (at, op, offset_bytes, length_bytes) in requests {
            table::push(&mut rows, at, op, offset_bytes, length_bytes);
        }
        TraceSource::Table(rows.into())
    }

    /// Its name in messages: the path as given.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            TraceSource::File(path) => path.display().to_string(),
            TraceSource::Held { name, .. } => name.clone(),
            TraceSource::Table(_) => "table".to_owned(),
        }
    }

    /// The last part of the name.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self {
            TraceSource::File(path) => {
                path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
            }
            TraceSource::Held { name, .. } => name.clone(),
            TraceSource::Table(_) => "table".to_owned(),
        }
    }

    /// Opens it. Without a format, it is recognised from the first bytes. A table has its own, whatever is given.
    ///
    /// # Errors
    /// If it cannot be read, is no file, is empty, or is of no known format.
    pub fn open(&self, format: Option<Format>) -> Result<SourceReader, TraceError> {
        let name = self.name();
        let opened: io::Result<Box<dyn Read>> = match self {
            TraceSource::File(path) => {
                input::open_regular(path).and_then(|file| decompressed(Box::new(BufReader::new(file))))
            }
            TraceSource::Held { bytes, .. } => decompressed(Box::new(Cursor::new(Arc::clone(bytes)))),
            TraceSource::Table(rows) => Ok(Box::new(Cursor::new(Arc::clone(rows)))),
        };
        let format = if matches!(self, TraceSource::Table(_)) { Some(Format::Table) } else { format };
        match opened {
            Ok(reader) => TraceReader::new(&name, reader, format),
            Err(source) => Err(TraceError::Read { file: name, source }),
        }
    }
}

impl From<&Path> for TraceSource {
    fn from(path: &Path) -> Self {
        TraceSource::File(path.to_owned())
    }
}

impl fmt::Debug for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// What `input` says once it is decompressed, if it begins as gzip or zstd files do.
fn decompressed(mut input: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut start = Vec::new();
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    if let Some((name, _)) = OTHERS.iter().find(|other| start.starts_with(other.1)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is compressed by {name}; unpack it, or compress it by gzip or zstd"),
        ));
    }
    let skipped = start.split_first().is_some_and(|(first, rest)| first & 0xF0 == 0x50 && rest == SKIPPED);
    let (gzip, zstd) = (start.starts_with(&GZIP), skipped || start == ZSTD);
    let all = Cursor::new(start).chain(input);
    if gzip {
        return Ok(Box::new(Bounded::new(MultiGzDecoder::new, all)));
    }
    if zstd {
        return Ok(Box::new(Bounded::new(Frames::new, all)));
    }
    Ok(Box::new(all))
}

/// Bytes taken from the file so far, seen from both ends of a decoder.
#[derive(Clone, Default)]
struct Count(std::rc::Rc<std::cell::Cell<u64>>);

struct Counted<R> {
    inner: R,
    count: Count,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.0.set(self.count.0.get() + n as u64);
        Ok(n)
    }
}

/// A decoder that ends with an error when its output grows out of proportion.
struct Bounded<D> {
    decoder: D,
    taken: Count,
    given: u64,
}

impl<D: Read> Bounded<D> {
    fn new<R: Read>(decoder: impl FnOnce(Counted<R>) -> D, inner: R) -> Self {
        let taken = Count::default();
        Bounded { decoder: decoder(Counted { inner, count: taken.clone() }), taken, given: 0 }
    }
}

impl<D: Read> Read for Bounded<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.decoder.read(buffer)?;
        self.given += n as u64;
        if self.given > TRUSTED_BYTES && self.given / MAX_EXPANSION > self.taken.0.get() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it grows to more than {MAX_EXPANSION} times its size when decompressed"),
            ));
        }
        Ok(n)
    }
}

/// The frames of a zstd file, one after the other.
struct Frames<R> {
    input: BufReader<R>,
    decoder: FrameDecoder,
    within_frame: bool,
}

impl<R: Read> Frames<R> {
    fn new(input: R) -> Self {
        Frames { input: BufReader::new(input), decoder: FrameDecoder::new(), within_frame: false }
    }

    /// Begins the next frame; false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(e) => return Err(broken(e)),
            }
        }
        Ok(false)
    }
}

fn broken(e: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("its zstd data are broken: {e}"))
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if !self.within_frame {
                self.within_frame = self.begin()?;
                if !self.within_frame {
                    break;
                }
            }
            while self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
                let missing = buffer.len() - self.decoder.can_collect();
                self.decoder
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBytes(missing))
                    .map_err(broken)?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.within_frame = !self.decoder.is_finished();
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn requests(bytes: &[u8]) -> Result<usize, TraceError> {
        let reader = TraceSource::hold("-", bytes)?.open(None)?;
        reader.collect::<Result<Vec<_>, _>>().map(|all| all.len())
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn compressed_traces_are_read_as_what_they_hold_member_after_member() {
        let text = "1 0 8 16 1\n".repeat(100_000);
        assert_eq!(requests(text.as_bytes()).unwrap(), 100_000);
        for compress in [gzip, zstd] {
            let one = compress(text.as_bytes());
            assert_eq!(requests(&one).unwrap(), 100_000);
            assert_eq!(requests(&[one.clone(), one.clone()].concat()).unwrap(), 200_000);
            let cut = requests(&one[..one.len() - 20]);
            assert!(matches!(cut, Err(TraceError::Read { .. })), "{cut:?}");
        }
    }

    #[test]
    fn a_zstd_file_may_begin_with_frames_that_hold_no_data() {
        let frame = zstd("1 0 8 16 1\n".repeat(1000).as_bytes());
        for first in [0x50, 0x5F] {
            // As `pzstd` writes it: the size of the next frame, in four bytes.
            let skipped = [&[first, 0x2A, 0x4D, 0x18, 4, 0, 0, 0][..], &(frame.len() as u32).to_le_bytes()].concat();
            assert_eq!(requests(&[&skipped[..], &frame].concat()).unwrap(), 1000);
            assert_eq!(requests(&[&skipped[..], &frame, &skipped, &frame].concat()).unwrap(), 2000);
        }
    }

    #[test]
    fn what_is_packed_otherwise_is_refused_by_its_name() {
        for (start, name) in [(&b"\xFD7zXZ\0"[..], "by xz;"), (b"BZh91AY", "by bzip2;"), (b"PK\x03\x04\x14", "by zip;")]
        {
            let error = requests(&[start, &[7; 300]].concat()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("unpack it"), "{error}");
        }
        let mut archive = b"one.csv".to_vec();
        archive.resize(257, 0);
        archive.extend(b"ustar\x0000");
        archive.resize(512, 0);
        archive.extend(b"1 0 8 16 1\n");
        for packed in [gzip(&archive), archive] {
            let error = requests(&packed).unwrap_err().to_string();
            assert!(error.contains("a tar archive"), "{error}");
        }
    }

    #[test]
    fn what_grows_out_of_proportion_is_given_up() {
        struct Zeroes;
        impl Read for Zeroes {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'\n');
                Ok(buffer.len())
            }
        }
        let mut bomb = Bounded::new(|_| Zeroes, io::empty());
        let error = io::copy(&mut bomb, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("2000 times"), "{error}");
    }
}
