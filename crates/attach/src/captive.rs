//! A command that runs while the server serves it, on a private socket.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// Starts a command with `$uri`, `$unixsocket` and `$control` in its environment, and `$iscsi` if there is such an address. One
/// word is a line for the shell. Of several the first is the program, and these names are replaced in the others. A byte
/// goes to `stop` when it ends.
///
/// Without a terminal it has a process group of its own, so that all that it starts can be told to end with it. At a terminal it
/// shares ours: keys reach both, and only the group in front may read.
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
    let has_group = !has_terminal();
    if has_group {
        process.process_group(0);
    }
    let mut child: Child = process.spawn()?;
    let id = Pid::from_child(&child);
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let status = child.wait();
        drop(sender.send(status));
        // The server looks when it comes to it; it may have stopped by itself.
        drop((&stop).write(&[0]));
    });
    Ok(Captive { ended, process: id, has_group })
}

/// Whether this process has a terminal, wherever its input comes from.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// A command that was started.
pub struct Captive {
    ended: Receiver<std::io::Result<ExitStatus>>,
    process: Pid,
    /// Whether it is the leader of a process group of its own.
    has_group: bool,
}

impl Captive {
    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    /// If that cannot be known.
    pub fn status(&self) -> std::io::Result<Option<ExitStatus>> {
        self.ended.try_recv().map_or(Ok(None), |status| status.map(Some))
    }

    /// Whether nothing runs any more that [`Captive::end`] would end, once the command itself has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        !self.has_group || test_kill_process_group(self.process).is_err()
    }

    /// Passes on the signal by which this process was told to end. `by_key`: the terminal has sent it.
    pub fn pass_on(&self, signal: i32, by_key: bool) {
        // The key has told a command of our group already, and a second signal tells some to drop everything.
        if by_key && !self.has_group {
            return;
        }
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.send(signal);
        }
    }

    /// Ends it, with its whole group if it has one.
    pub fn end(&self) {
        self.send(Signal::KILL);
    }

    fn send(&self, signal: Signal) {
        let send = if self.has_group { kill_process_group } else { kill_process };
        // It may have ended by itself.
        let _ = send(self.process, signal);
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
