//! A server in a thread, and a client that speaks the protocol byte by byte.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ssdlab_attach::nbd::words::*;
use ssdlab_attach::{
    CutPlan, Drive, Export, Limits, Listener, OnCut, Order, Protocol, Server, ServerOptions, Statistics,
};
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::Nanos;
use ssdlab_device::Device;

use crate::steady::Steady;

pub struct Running {
    pub path: PathBuf,
    stop: UnixStream,
    thread: Option<JoinHandle<(Drive, Nanos, Statistics)>>,
    thread_name: String,
}

pub fn options() -> ServerOptions {
    let (limits, cuts) = (Limits::default(), CutPlan::default());
    ServerOptions { limits, time_scale: 1.0, on_cut: OnCut::HangUp, cuts, notice: |_| () }
}

pub fn serve(device: Steady, options: ServerOptions) -> Running {
    serve_with(device, options, 1 << 30, false)
}

pub fn serve_with(device: Steady, options: ServerOptions, memory: u64, read_only: bool) -> Running {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ssdlab-test-{}-{number}", std::process::id()));
    let control = path.with_extension("ctl");
    let export = Export::new(device.info(), read_only);
    let device = ContentDevice::new(Box::new(device), ContentOptions::default());
    let drive = Drive::new(device, export, memory);
    let (stop, stopper) = UnixStream::pair().unwrap();
    let listener = Listener::Unix(UnixListener::bind(&path).unwrap());
    let control = Some(Listener::Unix(UnixListener::bind(control).unwrap()));
    let iscsi = Listener::Unix(UnixListener::bind(path.with_extension("iscsi")).unwrap());
    let listeners = vec![(Protocol::Nbd, listener), (Protocol::Iscsi, iscsi)];
    let server = Server::new(drive, 0, listeners, control, stop, options).unwrap();
    let thread_name = format!("serve-{number}");
    let thread = std::thread::Builder::new().name(thread_name.clone()).spawn(move || {
        let (drive, now, statistics, snapshots) = server.run().unwrap();
        snapshots.wait();
        (drive, now, statistics)
    });
    Running { path, stop: stopper, thread: Some(thread.unwrap()), thread_name }
}

impl Running {
    pub fn connect(&self) -> Client {
        let stream = UnixStream::connect(&self.path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream, structured: false, cookie: 0 }
    }

    /// A client that is through the handshake.
    pub fn client(&self) -> Client {
        let mut client = self.connect();
        client.greet(3);
        client.go();
        client
    }

    pub fn structured_client(&self) -> Client {
        let mut client = self.connect();
        client.greet(3);
        client.agree_on_structured();
        let data = [&name(""), &1u32.to_be_bytes()[..], &name("base:allocation")].concat();
        let replies = client.option(OPT_SET_META_CONTEXT, &data);
        assert_eq!(replies[0].0, REP_META_CONTEXT);
        client.go();
        client
    }

    pub fn order(&self, order: &Order) -> serde_json::Value {
        self.line(&order.line())
    }

    pub fn line(&self, line: &str) -> serde_json::Value {
        let mut stream = UnixStream::connect(self.path.with_extension("ctl")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while answer.last() != Some(&b'\n') {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).unwrap(), 1, "the server hung up");
            answer.push(byte[0]);
        }
        serde_json::from_slice(&answer).unwrap()
    }

    /// Time of a processor that the server has taken so far.
    #[cfg(target_os = "linux")]
    pub fn processor_time(&self) -> Duration {
        let is_its = |task: &PathBuf| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == self.thread_name)
        };
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let task = tasks.into_iter().find(is_its).expect("it runs");
        let told = std::fs::read_to_string(task.join("schedstat")).unwrap();
        Duration::from_nanos(told.split_whitespace().next().unwrap().parse().unwrap())
    }

    /// Tells the server to end.
    pub fn end(&self) {
        (&self.stop).write_all(&[0]).unwrap();
    }

    /// Ends the server in good order.
    pub fn stop(self) -> Statistics {
        self.stop_and_keep().2
    }

    /// The same; the drive, and its time.
    pub fn stop_and_keep(mut self) -> (Drive, Nanos, Statistics) {
        // It may have ended.
        drop((&self.stop).write_all(&[0]));
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
        drop(std::fs::remove_file(self.path.with_extension("ctl")));
        drop(std::fs::remove_file(self.path.with_extension("iscsi")));
    }
}

pub struct Client {
    pub stream: UnixStream,
    pub structured: bool,
    cookie: u64,
}

/// A string of the protocol.
pub fn name(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

impl Client {
    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn take_many(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Whether the server has hung up.
    pub fn is_gone(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(e) => e.kind() == ErrorKind::ConnectionReset,
        }
    }

    pub fn greet(&mut self, flags: u32) {
        assert_eq!(u64::from_be_bytes(self.take()), INIT_MAGIC);
        assert_eq!(u64::from_be_bytes(self.take()), OPTION_MAGIC);
        assert_eq!(u16::from_be_bytes(self.take()), 3);
        self.stream.write_all(&flags.to_be_bytes()).unwrap();
    }

    pub fn send_option(&mut self, option: u32, data: &[u8]) {
        let mut out = OPTION_MAGIC.to_be_bytes().to_vec();
        out.extend_from_slice(&option.to_be_bytes());
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
        self.stream.write_all(&out).unwrap();
    }

    /// Replies up to the acknowledgement or the error.
    pub fn option(&mut self, option: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send_option(option, data);
        let mut replies = Vec::new();
        loop {
            assert_eq!(u64::from_be_bytes(self.take()), OPTION_REPLY_MAGIC);
            assert_eq!(u32::from_be_bytes(self.take()), option);
            let kind = u32::from_be_bytes(self.take());
            let length = u32::from_be_bytes(self.take());
            replies.push((kind, self.take_many(length as usize)));
            if kind == REP_ACK || kind >= 0x8000_0000 {
                return replies;
            }
        }
    }

    pub fn agree_on_structured(&mut self) {
        assert_eq!(self.option(OPT_STRUCTURED_REPLY, &[]), [(REP_ACK, vec![])]);
        self.structured = true;
    }

    pub fn go(&mut self) {
        let replies = self.option(OPT_GO, &[name(""), vec![0, 0]].concat());
        assert_eq!(replies.last().unwrap().0, REP_ACK);
    }

    /// Sends a request; returns its cookie.
    pub fn send(&mut self, command: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let mut out = REQUEST_MAGIC.to_be_bytes().to_vec();
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&command.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&offset.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(data);
        self.stream.write_all(&out).unwrap();
        self.cookie
    }

    /// The next reply: cookie, error, and what kind of chunk with what in it. `read_bytes`: of data in a simple reply.
    pub fn reply(&mut self, read_bytes: usize) -> (u64, u32, u16, Vec<u8>) {
        let magic = u32::from_be_bytes(self.take());
        if magic == SIMPLE_REPLY_MAGIC {
            let error = u32::from_be_bytes(self.take());
            let cookie = u64::from_be_bytes(self.take());
            let data = if error == 0 { self.take_many(read_bytes) } else { Vec::new() };
            return (cookie, error, 0, data);
        }
        assert_eq!(magic, STRUCTURED_REPLY_MAGIC);
        assert_eq!(u16::from_be_bytes(self.take()), REPLY_FLAG_DONE);
        let kind = u16::from_be_bytes(self.take());
        let cookie = u64::from_be_bytes(self.take());
        let length = u32::from_be_bytes(self.take());
        let data = self.take_many(length as usize);
        let error = if kind == REPLY_ERROR { u32::from_be_bytes(data[..4].try_into().unwrap()) } else { 0 };
        (cookie, error, kind, data)
    }

    /// A request that carries no data; returns its error.
    pub fn ask(&mut self, command: u16, flags: u16, offset: u64, length: u32) -> u32 {
        let cookie = self.send(command, flags, offset, length, &[]);
        let reply = self.reply(0);
        assert_eq!(reply.0, cookie);
        reply.1
    }

    pub fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> u32 {
        let cookie = self.send(CMD_WRITE, flags, offset, data.len() as u32, data);
        let reply = self.reply(0);
        assert_eq!(reply.0, cookie);
        reply.1
    }

    /// # Errors
    /// The error of the reply.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        self.read_flagged(0, offset, length)
    }

    pub fn read_flagged(&mut self, flags: u16, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        let cookie = self.send(CMD_READ, flags, offset, length, &[]);
        let (found, error, kind, data) = self.reply(length as usize);
        assert_eq!(found, cookie);
        match (error, kind) {
            (0, 0) => Ok(data),
            (0, REPLY_OFFSET_DATA) => {
                assert_eq!(u64::from_be_bytes(data[..8].try_into().unwrap()), offset);
                assert_eq!(data.len(), 8 + length as usize);
                Ok(data[8..].to_vec())
            }
            (error, _) => Err(error),
        }
    }

    /// Extents of `base:allocation`.
    pub fn block_status(&mut self, flags: u16, offset: u64, length: u32) -> Result<Vec<(u32, u32)>, u32> {
        self.send(CMD_BLOCK_STATUS, flags, offset, length, &[]);
        let (_, error, kind, data) = self.reply(0);
        if error != 0 {
            return Err(error);
        }
        assert_eq!((kind, &data[..4]), (REPLY_BLOCK_STATUS, &1u32.to_be_bytes()[..]));
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        Ok(data[4..].chunks_exact(8).map(|e| (number(&e[..4]), number(&e[4..]))).collect())
    }
}

pub fn options_with_scale(time_scale: f64) -> ServerOptions {
    ServerOptions { time_scale, ..options() }
}

/// The machine's time: what is served in real time is checked in real time.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Instant {
    Instant::now()
}
