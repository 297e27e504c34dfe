//! Where a trace comes from: a file, or bytes that are held; as it is, or compressed ([`super::compressed`]).

use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use ssdlab_core::{Nanos, Op, input};

use super::compressed::decompressed;
use super::error::TraceError;
use super::format::Format;
use super::reader::TraceReader;
use super::table;

/// The longest trace that is taken from standard input, in bytes. It is held in memory, as a replay reads it twice.
pub const MAX_HELD_BYTES: u64 = 1 << 30;

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

    /// How long it is now, in bytes.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn length_bytes(&self) -> Result<u64, TraceError> {
        match self {
            TraceSource::File(path) => match fs::metadata(path) {
                Ok(of_file) => Ok(of_file.len()),
                Err(source) => Err(TraceError::Read { file: self.name(), source }),
            },
            TraceSource::Held { bytes, .. } | TraceSource::Table(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Opens it. Without a format, it is recognised from the first bytes. A table has its own, whatever is given.
    ///
    /// # Errors
    /// If it cannot be read, is no file, is empty, or is of no known format.
    pub fn open(&self, format: Option<Format>) -> Result<SourceReader, TraceError> {
        self.open_up_to(u64::MAX, format)
    }

    /// As [`TraceSource::open`], as if nothing stood behind so many bytes: a file that grows is read twice as the same.
    ///
    /// # Errors
    /// As [`TraceSource::open`].
    pub fn open_up_to(&self, bytes: u64, format: Option<Format>) -> Result<SourceReader, TraceError> {
        let name = self.name();
        let opened: io::Result<Box<dyn Read>> = match self {
            TraceSource::File(path) => {
                input::open_regular(path).and_then(|file| decompressed(Box::new(BufReader::new(file.take(bytes)))))
            }
            TraceSource::Held { bytes: held, .. } => decompressed(Box::new(Cursor::new(Arc::clone(held)).take(bytes))),
            TraceSource::Table(rows) => Ok(Box::new(Cursor::new(Arc::clone(rows)).take(bytes))),
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
