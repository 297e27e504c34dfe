//! What compressed traces hold: gzip and zstd, streamed.
//!
//! A damaged file is an error, never other requests: checksums are compared (zstd can do without, its program does not).
//! What a reader holds is bounded, and what it gives, by the size of the file.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// No trace shrinks to less than one in so many of its bytes; what claims to was made to fill a reader.
const MAX_EXPANSION: u64 = 2000;
/// Expansion is not looked at before so many bytes.
const TRUSTED_BYTES: u64 = 1 << 30;
/// The largest window of a zstd frame, all of which is held. The `zstd` program takes as much without being asked.
const MAX_WINDOW_BYTES: u64 = 128 << 20;

/// With the method, of which there is one: a binary trace may begin with the first two by chance.
const GZIP: [u8; 3] = [0x1F, 0x8B, 8];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// How a frame of zstd begins that holds no data, after a byte of 0x50 to 0x5F. `pzstd` begins a file with one.
const SKIPPED: [u8; 3] = [0x2A, 0x4D, 0x18];
/// How files begin that are packed in a way that is not unpacked here.
const OTHERS: [(&str, &[u8]); 4] =
    [("xz", b"\xFD7zX"), ("bzip2", b"BZh"), ("zip", b"PK\x03\x04"), ("lz4", b"\x04\x22\x4D\x18")];

/// What `input` says once it is decompressed, if it begins as gzip or zstd files do.
pub(super) fn decompressed(mut input: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut start = Vec::new();
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    if let Some((name, _)) = OTHERS.iter().find(|other| start.starts_with(other.1)) {
        return Err(invalid(format!("it is compressed by {name}; unpack it, or compress it by gzip or zstd")));
    }
    let skipped = start.split_first().is_some_and(|(first, rest)| first & 0xF0 == 0x50 && rest == SKIPPED);
    let (gzip, zstd) = (start.starts_with(&GZIP), skipped || start == ZSTD);
    let all = Cursor::new(start).chain(input);
    if gzip {
        return Ok(Box::new(Bounded::new(Members::new, all)));
    }
    if zstd {
        return Ok(Box::new(Bounded::new(Frames::new, all)));
    }
    Ok(Box::new(all))
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem)
}

/// Of data that are not as `program` (gzip or zstd) writes them.
fn broken(program: &str, e: impl fmt::Display) -> io::Error {
    invalid(format!("its {program} data are broken: {e}; `{program} -t` tests them"))
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
            return Err(invalid(format!("it grows to more than {MAX_EXPANSION} times its size when decompressed")));
        }
        Ok(n)
    }
}

/// The members of a gzip file, one after the other. Zeroes behind one, with which tapes fill their blocks, are passed over.
struct Members<R> {
    /// `None` behind the last one.
    member: Option<GzDecoder<BufReader<R>>>,
}

impl<R: Read> Members<R> {
    fn new(input: R) -> Self {
        Members { member: Some(GzDecoder::new(BufReader::new(input))) }
    }

    /// Begins the member that follows in `input`, if one does.
    fn begin(&mut self, mut input: BufReader<R>) -> io::Result<()> {
        loop {
            let held = match input.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(held) => held,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let zeroes = held.iter().take_while(|byte| **byte == 0).count();
            let next = held.get(zeroes).copied();
            input.consume(zeroes);
            match next {
                None => {}
                Some(first) if first == GZIP[0] => break,
                Some(_) => return Err(broken("gzip", "they are followed by something else")),
            }
        }
        self.member = Some(GzDecoder::new(input));
        Ok(())
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member
            && !buffer.is_empty()
        {
            let n = member.read(buffer).map_err(|e| match e.kind() {
                ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => broken("gzip", e),
                _ => e,
            })?;
            if n > 0 {
                return Ok(n);
            }
            if let Some(ended) = self.member.take() {
                self.begin(ended.into_inner())?;
            }
        }
        Ok(0)
    }
}

/// Keeps the error of a read that has failed, since a decoder takes every error for one of the data.
struct Noted<R> {
    inner: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|e| {
            let kind = e.kind();
            if kind != ErrorKind::Interrupted {
                self.failed = Some(e);
            }
            kind.into()
        })
    }
}

/// The frames of a zstd file, one after the other.
struct Frames<R> {
    input: BufReader<Noted<R>>,
    decoder: FrameDecoder,
    within_frame: bool,
}

/// In the fifth byte of a frame: it has no window of its own, and is held whole.
const IS_ONE_SEGMENT: u8 = 1 << 5;

impl<R: Read> Frames<R> {
    fn new(input: R) -> Self {
        let input = BufReader::new(Noted { inner: input, failed: None });
        Frames { input, decoder: FrameDecoder::new(), within_frame: false }
    }

    /// Why nothing more comes: the file cannot be read, or else `problem`.
    fn failed(&mut self, problem: impl fmt::Display) -> io::Error {
        self.input.get_mut().failed.take().unwrap_or_else(|| broken("zstd", problem))
    }

    /// Begins the next frame; false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            match self.input.fill_buf().map(<[u8]>::is_empty) {
                Ok(true) => return Ok(false),
                Ok(false) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.failed(e)),
            }
            // Four bytes that every frame begins with, what its header holds, and its window. No frame is shorter.
            let mut start = [0; 6];
            if self.input.read_exact(&mut start).is_err() {
                return Err(self.failed("they end within the header of a frame"));
            }
            // One that has had a frame takes smaller windows than `zstd` does, a new one any.
            self.decoder = FrameDecoder::new();
            match self.decoder.reset(start.chain(&mut self.input)) {
                Ok(()) => {}
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let passed = io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink());
                    if passed.ok() != Some(length.into()) {
                        return Err(self.failed("they end within a part to be passed over"));
                    }
                    continue;
                }
                Err(e) => return Err(self.failed(e)),
            }
            let window = if start[4] & IS_ONE_SEGMENT != 0 {
                self.decoder.content_size()
            } else {
                let base = 1_u64 << (10 + (start[5] >> 3));
                base + base / 8 * u64::from(start[5] & 7)
            };
            if window > MAX_WINDOW_BYTES {
                return Err(invalid(format!(
                    "zstd needs {} MiB of it at once, and at most {} MiB are taken; unpack it, or compress it without \
                     `--long`",
                    window.div_ceil(1 << 20),
                    MAX_WINDOW_BYTES >> 20
                )));
            }
            return Ok(true);
        }
    }

    /// Of a frame of which all was given: whether that is what was compressed. The decoder leaves it to its caller.
    fn check(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(said), Some(found)) if said != found => Err(broken("zstd", "a checksum does not fit")),
            _ => Ok(()),
        }
    }
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
                let decoded = self.decoder.decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBytes(missing));
                decoded.map_err(|e| self.failed(e))?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.within_frame = !self.decoder.is_finished();
            if !self.within_frame {
                self.check()?;
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::{TraceError, TraceSource, TraceSummary};
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

    /// A frame without a checksum: what its header holds, window or size of the content, and text in one raw block.
    fn frame(header: &[u8], text: &[u8]) -> Vec<u8> {
        let block = (text.len() as u32) << 3 | 1;
        [&ZSTD[..], header, &block.to_le_bytes()[..3], text].concat()
    }

    #[test]
    fn a_damaged_file_is_never_read_as_other_requests() {
        let text: String = (0..100_u64).map(|i| format!("{} 0 {} 16 1\n", i * i, i * 7919 % 4001)).collect();
        let digest = |bytes: &[u8]| -> Result<_, TraceError> {
            TraceSummary::read(&mut TraceSource::hold("-", bytes)?.open(None)?).map(|summary| summary.digest)
        };
        let sound = digest(text.as_bytes()).unwrap();
        for compress in [gzip, zstd] {
            let whole = compress(text.as_bytes());
            assert_eq!(digest(&whole).ok(), Some(sound));
            let mut refused = 0;
            for at in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[at] ^= 1;
                match digest(&damaged) {
                    // Nothing depends on some bits of a header.
                    Ok(read) => assert_eq!(read, sound, "byte {at} of {}", whole.len()),
                    Err(_) => refused += 1,
                }
            }
            assert!(refused + 10 > whole.len(), "{refused} of {}", whole.len());
        }
        let mut other = zstd(text.as_bytes());
        *other.last_mut().unwrap() ^= 1;
        let error = digest(&other).unwrap_err().to_string();
        assert!(error.contains("a checksum does not fit; `zstd -t` tests them"), "{error}");
    }

    #[test]
    fn frames_are_held_as_far_as_zstd_itself_holds_them_the_first_and_those_behind_it() {
        let text = b"1 0 8 16 1\n";
        let window = |descriptor: u8| frame(&[0, descriptor], text);
        let one_segment = |bytes: u32| frame(&[&[IS_ONE_SEGMENT | 2 << 6][..], &bytes.to_le_bytes()].concat(), text);
        for most in [window(17 << 3), one_segment(128 << 20)] {
            assert_eq!(requests(&most).unwrap(), 1);
            assert_eq!(requests(&[most.clone(), zstd(text), most].concat()).unwrap(), 3);
        }
        for (more, mebibytes) in
            [(window(17 << 3 | 1), "144"), (window(31 << 3), "2097152"), (one_segment((128 << 20) + 1), "129")]
        {
            for file in [more.clone(), [zstd(text), more].concat()] {
                let error = requests(&file).unwrap_err().to_string();
                assert!(error.contains(&format!("zstd needs {mebibytes} MiB of it at once")), "{error}");
            }
        }
    }

    /// As pzstd writes them before each of its frames.
    #[test]
    fn a_part_to_be_passed_over_that_is_cut_short_or_too_long_is_no_end() {
        let text = zstd(b"1 0 8 16 1\n");
        let part = |says: u32| [&0x184D_2A50_u32.to_le_bytes()[..], &says.to_le_bytes(), &[7; 4]].concat();
        assert_eq!(requests(&[part(4), text.clone(), part(4), text.clone()].concat()).unwrap(), 2);
        for cut in [[part(4), text.clone(), part(400), text.clone()].concat(), [text, part(5)].concat()] {
            let error = requests(&cut).unwrap_err().to_string();
            assert!(error.contains("zstd data are broken: they end within a part to be passed over"), "{error}");
        }
    }

    #[test]
    fn a_disk_that_cannot_be_read_is_told_and_not_taken_for_broken_data() {
        const EIO: i32 = 5;
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(EIO))
            }
        }
        let text = b"1 0 8 16 1\n".repeat(20);
        let frame = zstd(&text);
        let part = [&0x184D_2A50_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), &[7; 4]].concat();
        let zstd_file = [&part[..], &frame, &part, &frame].concat();
        for file in [zstd_file, gzip(&text).repeat(2)] {
            for read in 0..=file.len() {
                let input = Cursor::new(file[..read].to_vec()).chain(Failing);
                let outcome = decompressed(Box::new(input)).and_then(|mut all| all.read_to_end(&mut Vec::new()));
                let code = outcome.err().and_then(|e| e.raw_os_error());
                assert_eq!(code, Some(EIO), "after {read} bytes of {}", file.len());
            }
        }
        let error = requests(&[&frame[..], &frame[..3]].concat()).unwrap_err().to_string();
        assert!(error.contains("zstd data are broken: they end within the header of a frame"), "{error}");
    }

    #[test]
    fn zeroes_fill_a_gzip_file_and_what_else_stands_behind_its_members_is_told() {
        let member = gzip(b"1 0 8 16 1\n");
        // Longer than a buffer, and so that a member begins in the middle of one.
        for zeroes in [1, 100, 8192, 20_001] {
            let padded = [&member[..], &vec![0; zeroes]].concat();
            assert_eq!(requests(&padded).unwrap(), 1, "{zeroes}");
            assert_eq!(requests(&padded.repeat(2)).unwrap(), 2, "{zeroes}");
        }
        for other in [&b"garbage\n"[..], b"\0\0g", &[7; 300]] {
            let error = requests(&[&member[..], other].concat()).unwrap_err().to_string();
            assert!(error.contains("gzip data are broken: they are followed by something else"), "{error}");
        }
        let error = requests(&member[..member.len() - 1]).unwrap_err().to_string();
        assert!(error.contains("gzip data are broken: unexpected end of file"), "{error}");
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
