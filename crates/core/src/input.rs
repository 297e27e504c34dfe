//! Files and words that people give: read only if they are files, only up to a limit, and shown without what would
//! move a terminal's cursor.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The longest file that is read as a whole (drive files, plans, job files). Real ones have some kilobytes.
pub const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Opens a file for reading. A folder, a device, a FIFO or a socket is refused before it is opened: opening a FIFO
/// would wait for its writer, and a device may never end.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::InvalidInput`] for what is no file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {}, not a file", kind_of_file(kind))));
    }
    File::open(path)
}

/// What stands at a path, in words: `a file`, `a folder`, `a FIFO`.
#[must_use]
pub fn kind_of_file(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        return "a folder";
    }
    if kind.is_file() {
        return "a file";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() {
            return "a block device";
        }
    }
    "a device"
}

/// All bytes of a file of at most [`MAX_TEXT_BYTES`], without a byte order mark.
///
/// # Errors
/// As [`open_regular`], and if the file is longer.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(open_regular(path)?)
}

/// As [`read_file`], as text.
///
/// # Errors
/// As [`read_file`], and [`io::ErrorKind::InvalidData`] with the first byte that is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text_of(read_file(path)?)
}

/// As [`read_text`], of anything that can be read: standard input.
///
/// # Errors
/// As [`read_text`].
pub fn read_text_from(input: impl io::Read) -> io::Result<String> {
    text_of(read_bounded(input)?)
}

fn read_bounded(input: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        let limit = MAX_TEXT_BYTES >> 20;
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {limit} MiB")));
    }
    let mark = without_mark(&bytes).len();
    bytes.drain(..bytes.len() - mark);
    Ok(bytes)
}

fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not text: byte {at} is not UTF-8"))
    })
}

/// The bytes behind a UTF-8 byte order mark, if there is one.
#[must_use]
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// Whether a character would move the cursor, change colours or turn the direction of writing.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// `text` with its unprintable characters escaped (`\x1b`, `\u{202e}`), but for those in `kept`.
#[must_use]
pub fn printable<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let escaped = |c: char| is_unprintable(c) && !kept.contains(&c);
    if !text.contains(escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escaped(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn escape(c: char, out: &mut String) {
    let written = match c {
        '\n' => out.write_str("\\n"),
        '\t' => out.write_str("\\t"),
        '\r' => out.write_str("\\r"),
        c if u32::from(c) < 0x80 => write!(out, "\\x{:02x}", u32::from(c)),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)),
    };
    written.expect("a String takes all that is written to it");
}

/// The longest piece of a file that a message quotes within a sentence, in characters.
const QUOTED: usize = 100;

/// `text` as a message quotes it: printable, and cut in its middle if it is long.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    shortened(text, QUOTED)
}

/// `text` in at most `longest` characters, cut in its middle, and printable.
#[must_use]
pub fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest || text.chars().nth(longest).is_none() {
        return printable(text, &[]);
    }
    let half = longest / 2;
    let head: String = text.chars().take(half).collect();
    let mut tail: Vec<char> = text.chars().rev().take(half).collect();
    tail.reverse();
    let tail: String = tail.into_iter().collect();
    Cow::Owned(format!("{} … {}", printable(&head, &[]), printable(&tail, &[])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_a_cursor_is_escaped_and_all_else_stays() {
        assert_eq!(printable("größe = 1µs\t# …", &['\t']), "größe = 1µs\t# …");
        assert_eq!(printable("a\x1b[2J\x07\u{9b}\u{202e}\x7f\n", &[]), "a\\x1b[2J\\x07\\u{9b}\\u{202e}\\x7f\\n");
    }

    #[test]
    fn a_long_text_keeps_its_two_ends() {
        assert_eq!(quoted("short"), "short");
        let long = format!("begin{}end", "x".repeat(20_000_000));
        let cut = quoted(&long);
        assert!(cut.starts_with("begin") && cut.ends_with("end") && cut.chars().count() <= QUOTED + 3, "{cut}");
        assert_eq!(quoted(&"ä".repeat(QUOTED)).chars().count(), QUOTED);
    }

    #[test]
    fn only_files_are_opened_and_only_short_ones_read() {
        let folder = std::env::temp_dir().join(format!("ssdlab-input-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let refused = |path: &Path| read_text(path).unwrap_err().to_string();
        assert_eq!(refused(&folder), "it is a folder, not a file");
        #[cfg(unix)]
        {
            let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
            assert_eq!(refused(&folder.join("socket")), "it is a socket, not a file");
        }
        #[cfg(unix)]
        assert_eq!(refused(Path::new("/dev/zero")), "it is a device, not a file");
        let file = folder.join("long");
        fs::write(&file, vec![b'a'; MAX_TEXT_BYTES as usize]).unwrap();
        assert_eq!(read_text(&file).unwrap().len() as u64, MAX_TEXT_BYTES);
        fs::write(&file, vec![b'a'; MAX_TEXT_BYTES as usize + 1]).unwrap();
        assert_eq!(refused(&file), "it is longer than 4 MiB");
        fs::write(&file, b"\xEF\xBB\xBFab").unwrap();
        assert_eq!(read_text(&file).unwrap(), "ab");
        fs::write(&file, b"ab\xff").unwrap();
        assert_eq!(refused(&file), "it is not text: byte 2 is not UTF-8");
        fs::remove_dir_all(folder).unwrap();
    }
}
