//! The control socket: a line in, a line of JSON out.

use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use serde_json::{Value, json};

use crate::stream::Stream;

/// Bytes of a line.
const MOST_BYTES: usize = 8192;
/// A client that says nothing for so long is hung up on.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the server is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    Status,
    Smart,
    Blame,
    /// What was done while the slowest request since the last such order waited.
    Timeline,
    Cut,
    Restore,
    /// `crypto`: by changing the media key.
    Erase {
        crypto: bool,
    },
    /// `number`: of the new image.
    Snapshot {
        path: PathBuf,
        number: u64,
    },
}

impl Order {
    /// The line that says it.
    #[must_use]
    pub fn line(&self) -> String {
        let words = match self {
            Order::Status => json!(["status"]),
            Order::Smart => json!(["smart"]),
            Order::Blame => json!(["blame"]),
            Order::Timeline => json!(["timeline"]),
            Order::Cut => json!(["cut"]),
            Order::Restore => json!(["restore"]),
            Order::Erase { crypto: false } => json!(["erase"]),
            Order::Erase { crypto: true } => json!(["erase", "crypto"]),
            Order::Snapshot { path, number } => json!(["snapshot", path, number]),
        };
        format!("{words}\n")
    }

    /// # Errors
    /// If the line says nothing that is known.
    pub fn read(line: &str) -> Result<Order, String> {
        let words: Vec<Value> = serde_json::from_str(line).map_err(|_| "not an order".to_owned())?;
        let word = |k: usize| words.get(k).and_then(Value::as_str);
        match (word(0), words.len()) {
            (Some("status"), 1) => Ok(Order::Status),
            (Some("smart"), 1) => Ok(Order::Smart),
            (Some("blame"), 1) => Ok(Order::Blame),
            (Some("timeline"), 1) => Ok(Order::Timeline),
            (Some("cut"), 1) => Ok(Order::Cut),
            (Some("restore"), 1) => Ok(Order::Restore),
            (Some("erase"), 1) => Ok(Order::Erase { crypto: false }),
            (Some("erase"), 2) if word(1) == Some("crypto") => Ok(Order::Erase { crypto: true }),
            (Some("snapshot"), 3) => {
                let path = word(1).ok_or("not a path")?.into();
                let number = words[2].as_u64().ok_or("not a number")?;
                Ok(Order::Snapshot { path, number })
            }
            _ => Err("not an order".to_owned()),
        }
    }
}

/// Whoever gives orders.
pub struct ControlConnection {
    pub stream: Stream,
    input: Vec<u8>,
    output: Vec<u8>,
    heard: Instant,
    ended: bool,
}

impl ControlConnection {
    #[must_use]
    pub fn new(stream: Stream, now: Instant) -> Self {
        ControlConnection { stream, input: Vec::new(), output: Vec::new(), heard: now, ended: false }
    }

    /// When the client said something last; `None` while an answer is on its way to it.
    #[must_use]
    pub fn silent_since(&self) -> Option<Instant> {
        self.output.is_empty().then_some(self.heard)
    }

    #[must_use]
    pub fn wants(&self) -> PollFlags {
        if self.output.is_empty() { PollFlags::IN } else { PollFlags::OUT }
    }

    pub fn read(&mut self, now: Instant) {
        let mut bytes = [0; 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.input.extend_from_slice(&bytes[..count]);
                self.ended |= self.input.len() > MOST_BYTES;
                self.heard = now;
            }
            Err(e) => self.ended |= !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    /// The next line, unless an answer is still on its way.
    pub fn next_line(&mut self) -> Option<String> {
        let end = self.input.iter().position(|&b| b == b'\n').filter(|_| self.output.is_empty())?;
        let line: Vec<u8> = self.input.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    }

    pub fn answer(&mut self, answer: Result<Value, String>) {
        let value = answer.unwrap_or_else(|error| json!({ "error": error }));
        self.output.extend_from_slice(format!("{value}\n").as_bytes());
        self.write();
    }

    /// From a thread that may wait for the client.
    pub fn answer_patiently(&mut self, answer: Result<Value, String>) {
        if self.stream.set_blocking().is_ok() {
            self.answer(answer);
        }
    }

    pub fn write(&mut self) {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(e) => {
                    self.ended |= !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
                    return;
                }
            }
        }
    }

    #[must_use]
    pub fn has_ended(&self, now: Instant) -> bool {
        self.ended || now - self.heard > PATIENCE
    }
}
