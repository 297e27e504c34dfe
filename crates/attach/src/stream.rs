//! Sockets of both kinds.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// Where clients come in.
pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// A client's socket.
pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// # Errors
    /// If the system refuses.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Listener::Unix(l) => l.set_nonblocking(true),
            Listener::Tcp(l) => l.set_nonblocking(true),
        }
    }

    /// A client that has come, ready to be used without blocking.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if nobody has; or the system's.
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Unix(l) => {
                let stream = l.accept()?.0;
                stream.set_nonblocking(true)?;
                Ok(Stream::Unix(stream))
            }
            Listener::Tcp(l) => {
                let stream = l.accept()?.0;
                stream.set_nonblocking(true)?;
                // A reply must not wait for the next one.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Stream {
    /// Where the client has come in, as a client could say it.
    #[must_use]
    pub fn local_address(&self) -> String {
        match self {
            Stream::Unix(_) => "localhost".to_owned(),
            Stream::Tcp(s) => s.local_addr().map_or_else(|_| "localhost".to_owned(), |address| address.to_string()),
        }
    }

    /// # Errors
    /// If the system refuses.
    pub fn set_blocking(&self) -> io::Result<()> {
        match self {
            Stream::Unix(s) => s.set_nonblocking(false),
            Stream::Tcp(s) => s.set_nonblocking(false),
        }
    }

    /// Tells the client that nothing more comes; what it sends can still be read.
    ///
    /// # Errors
    /// If it is gone.
    pub fn end_output(&self) -> io::Result<()> {
        match self {
            Stream::Unix(s) => s.shutdown(Shutdown::Write),
            Stream::Tcp(s) => s.shutdown(Shutdown::Write),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(l) => l.as_fd(),
            Listener::Tcp(l) => l.as_fd(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(s) => s.as_fd(),
            Stream::Tcp(s) => s.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(s) => s.read(buf),
            Stream::Tcp(s) => s.read(buf),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(s) => s.write(buf),
            Stream::Tcp(s) => s.write(buf),
        }
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Unix(s) => s.write_vectored(bufs),
            Stream::Tcp(s) => s.write_vectored(bufs),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
