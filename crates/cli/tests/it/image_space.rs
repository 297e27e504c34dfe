//! An attached drive whose image has no space for a while.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ssdlab_contents::Image;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const NO_SPACE: u32 = 28;
const CHUNK: u64 = 64 << 10;

/// A client of NBD that sends one request after the other.
struct Client(UnixStream);

impl Client {
    fn come(socket: &Path) -> Client {
        let mut stream = UnixStream::connect(socket).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        // No zeroes behind the answer; the export without a name.
        stream.write_all(&3_u32.to_be_bytes()).unwrap();
        stream.write_all(&[&b"IHAVEOPT"[..], &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat()).unwrap();
        stream.read_exact(&mut [0; 10]).unwrap();
        Client(stream)
    }

    /// Returns the error, and what was read.
    fn ask(&mut self, command: u16, offset: u64, length: u64, data: &[u8]) -> (u32, Vec<u8>) {
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend([[0; 2], command.to_be_bytes()].concat());
        request.extend([7_u64.to_be_bytes(), offset.to_be_bytes()].concat());
        request.extend((length as u32).to_be_bytes());
        self.0.write_all(&[&request, data].concat()).unwrap();
        let mut reply = [0; 16];
        self.0.read_exact(&mut reply).unwrap();
        let error = u32::from_be_bytes(reply[4..8].try_into().unwrap());
        let mut found = vec![0; if command == READ && error == 0 { length as usize } else { 0 }];
        self.0.read_exact(&mut found).unwrap();
        (error, found)
    }

    fn write(&mut self, chunk: u64) -> u32 {
        self.ask(WRITE, chunk * CHUNK, CHUNK, &vec![chunk as u8 + 1; CHUNK as usize]).0
    }
}

fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("not within a minute: {what}");
}

fn place() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image-space");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(folder.join("small")).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in");
    for name in ["small.toml", "small-die.toml"] {
        std::fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    folder
}

/// The image lies in a small file system of its own. What was answered is in it when the server is killed, too.
#[test]
fn writes_fail_while_the_image_has_no_space_and_go_on_once_it_has() {
    let can = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this machine does not let its users mount file systems of their own");
        return;
    }
    let folder = place();
    // Paths of sockets are short.
    let socket = std::env::temp_dir().join(format!("ssdlab-space-{}", std::process::id()));
    let line = format!(
        "mount -t tmpfs -o size=8m none small && head -c 3000000 /dev/zero >small/filler\n\
         {} attach ./small.toml --image small/d.ssd --socket {} 2>said & server=$!\n\
         wait_for() {{ while [ ! -e $1 ]; do sleep 0.05; done; }}\n\
         wait_for room; rm small/filler; wait_for end; kill -9 $server; cp small/d.ssd d.ssd; touch ended",
        env!("CARGO_BIN_EXE_ssdlab"),
        socket.display()
    );
    let mut shell = Command::new("unshare");
    shell.args(["-rm", "sh", "-c", &line]).current_dir(&folder).stdout(Stdio::null());
    let mut shell = shell.spawn().unwrap();
    soon("it serves", || UnixStream::connect(&socket).is_ok());
    let mut client = Client::come(&socket);
    let answered = (0..200).take_while(|&chunk| client.write(chunk) == 0).count() as u64;
    assert!((10..150).contains(&answered), "{answered}");
    let flush = |client: &mut Client| client.ask(FLUSH, 0, 0, &[]).0;
    assert_eq!((client.write(0), client.write(180), flush(&mut client)), (NO_SPACE, NO_SPACE, NO_SPACE));
    let (error, found) = client.ask(READ, (answered - 1) * CHUNK, CHUNK, &[]);
    assert!(error == 0 && found.iter().all(|&byte| byte == answered as u8), "what was answered can be read");
    let said = || std::fs::read_to_string(folder.join("said")).unwrap();
    soon("it is said", || said().contains("its disk is full"));
    std::fs::write(folder.join("room"), "").unwrap();
    soon("it goes on", || client.write(answered) == 0);
    soon("that is said", || said().contains("has space again"));
    assert_eq!((client.write(answered + 1), flush(&mut client)), (0, 0));
    std::fs::write(folder.join("end"), "").unwrap();
    soon("it is killed", || folder.join("ended").exists());
    shell.wait().unwrap();
    for name in ["", ".ctl"] {
        drop(std::fs::remove_file(format!("{}{name}", socket.display())));
    }
    let said = said();
    let times = |what: &str| said.matches(what).count();
    assert_eq!(
        (times("notice: the image of"), times("its disk is full"), times("has space again")),
        (2, 1, 1),
        "{said}"
    );
    let contents = Image::inspect(&folder.join("d.ssd")).unwrap();
    for chunk in 0..answered + 2 {
        let page = contents.store.page((chunk * CHUNK / 4096) as u32);
        assert_eq!(page.map(|page| page[9]), Some(chunk as u8 + 1), "chunk {chunk}");
    }
}
