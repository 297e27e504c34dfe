//! A command that runs while the server serves it, on a private socket.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};

/// Starts a command with `$uri`, `$unixsocket` and `$control` in its environment, and `$iscsi` if there is such an address. One
/// word is a line for the shell. Of several the first is the program, and these names are replaced in the others. A byte
/// goes to `stop` when it ends.
///
/// # Errors
/// If it cannot be started.
pub fn start(
    command: &[String],
    socket: &Path,
    control: &Path,
    iscsi: Option<&str>,
    stop: UnixStream,
) -> std::io::Result<Captive> {
    let uri = uri(socket);
    let mut named: Vec<(&str, OsString)> =
        vec![("uri", uri.into()), ("unixsocket", socket.into()), ("control", control.into())];
    named.extend(iscsi.map(|url| ("iscsi", url.into())));
    let mut process = match command {
        [line] => {
            let mut process = Command::new("/bin/sh");
            process.arg("-c").arg(line);
            process
        }
        words => {
            let mut process = Command::new(&words[0]);
            for word in &words[1..] {
                let replaced = named.iter().fold(word.clone(), |word, (name, value)| {
                    word.replace(&format!("${name}"), &value.to_string_lossy())
                });
                process.arg(replaced);
            }
            process
        }
    };
    named.iter().for_each(|(name, value)| _ = process.env(name, value));
    let mut child: Child = process.spawn()?;
    let id = child.id();
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let status = child.wait();
        drop(sender.send(status));
        // The server looks when it comes to it; it may have stopped by itself.
        drop((&stop).write(&[0]));
    });
    Ok(Captive { ended, process: id })
}

/// A command that was started.
pub struct Captive {
    ended: Receiver<std::io::Result<ExitStatus>>,
    process: u32,
}

impl Captive {
    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    /// If that cannot be known.
    pub fn status(&self) -> std::io::Result<Option<ExitStatus>> {
        self.ended.try_recv().map_or(Ok(None), |status| status.map(Some))
    }

    /// Ends it.
    pub fn end(&self) {
        if let Some(process) = rustix::process::Pid::from_raw(self.process as i32) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    }
}

/// The address of a unix socket for NBD clients.
#[must_use]
pub fn uri(socket: &Path) -> String {
    let mut escaped = String::new();
    for byte in socket.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => escaped.push(*byte as char),
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    format!("nbd+unix:///?socket={escaped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_escaped() {
        assert_eq!(uri(Path::new("/run/a b&c")), "nbd+unix:///?socket=/run/a%20b%26c");
    }
}
