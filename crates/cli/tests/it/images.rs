//! Images of encrypting drives on the command line.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ssdlab_contents::{Image, ReservedPage};
use ssdlab_opal::{Geometry, Identity, Tper};
use ssdlab_testkit::opal::*;

use crate::program::{says, ssdlab};

/// A folder with a small drive that encrypts, and one that does not.
fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("images").join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in");
    std::fs::copy(from.join("small-die.toml"), folder.join("small-die.toml")).unwrap();
    let small = std::fs::read_to_string(from.join("small.toml")).unwrap();
    for (name, cipher, locking) in
        [("encrypts", "aes-256", "none"), ("plain", "none", "none"), ("locks", "aes-256", "opal-2.0")]
    {
        let text = format!("{small}\n[encryption]\ncipher = \"{cipher}\"\nlocking = \"{locking}\"\n");
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

fn info(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&says(folder, &["image", "info", "d.ssd", "--json"])).unwrap()
}

/// Serves the drive while a line of the shell runs; `$ctl` stands for orders to it.
fn attach(folder: &Path, drive: &str, line: &str) -> Output {
    let ctl = format!("{} ctl $control", env!("CARGO_BIN_EXE_ssdlab"));
    let line = line.replace("$ctl", &ctl);
    ssdlab(folder, &["attach", drive, "--image", "d.ssd", "--run", &line])
}

#[test]
fn an_encrypting_drive_has_an_encrypted_image_and_each_erase_changes_its_key() {
    let folder = place("erased");
    let output = attach(&folder, "./encrypts.toml", "$ctl erase --crypto && $ctl erase && $ctl --json status");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("crypto") && told.contains("secure"), "{told}");
    assert!(told.contains("\"media_key_changes\":2") || told.contains("\"media_key_changes\": 2"), "{told}");
    let found = info(&folder);
    assert_eq!(found["encryption"], serde_json::json!({ "cipher": "AES-256-XTS", "key_changes": 2 }));
    assert_eq!(found["erased_since"], false);
    let told = says(&folder, &["image", "info", "d.ssd"]);
    assert!(told.contains("AES-256-XTS; the key stands in the file; changes of it so far: 2"), "{told}");
    assert!(says(&folder, &["image", "check", "d.ssd"]).contains("every checksum of them matches"));
    let told = says(&folder, &["image", "erase", "d.ssd"]);
    assert_eq!(
        told,
        "d.ssd: erased, and its media key changed; an erase that the drive has is carried out when it is attached next\n"
    );
    let found = info(&folder);
    assert_eq!((&found["encryption"]["key_changes"], &found["erased_since"]), (&3.into(), &true.into()));
    assert!(attach(&folder, "./encrypts.toml", "$ctl snapshot s.ssd").status.success());
    let found = info(&folder);
    assert_eq!((&found["encryption"]["key_changes"], &found["erased_since"]), (&3.into(), &false.into()));
    let key = |file: &str| std::fs::read(folder.join(file)).unwrap()[2048..2048 + 72].to_vec();
    let (own, copy) = (key("d.ssd"), key("s.ssd"));
    assert!(own[..8] == copy[..8] && own[8..] != copy[8..], "a snapshot has a key of its own");
}

#[test]
fn a_drive_that_does_not_encrypt_says_so_and_can_be_erased_all_the_same() {
    let folder = place("plain");
    let output = attach(&folder, "./plain.toml", "$ctl erase --crypto");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("plain.toml does not encrypt what it stores, and has no crypto erase"), "{told}");
    assert!(attach(&folder, "./plain.toml", "$ctl erase").status.success());
    assert_eq!(info(&folder)["encryption"], serde_json::Value::Null);
    assert!(says(&folder, &["image", "info", "d.ssd"]).contains("encryption     none"));
    let told = says(&folder, &["image", "erase", "d.ssd"]);
    assert_eq!(told, "d.ssd: erased; an erase that the drive has is carried out when it is attached next\n");
    assert!(attach(&folder, "./plain.toml", "true").status.success());
    // On a drive that encrypts, the image becomes encrypted.
    let output = ssdlab(&folder, &["attach", "./encrypts.toml", "--image", "d.ssd", "--new-drive", "--run", "true"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("it has been written anew with a key"), "{told}");
    assert_eq!(info(&folder)["encryption"]["key_changes"], 0);
    // And is that drive's from then on.
    assert_eq!(info(&folder)["device"], "./encrypts.toml");
    let told = attach(&folder, "./encrypts.toml", "true");
    assert!(!String::from_utf8_lossy(&told.stderr).contains("was made for"), "{told:?}");
}

#[test]
fn an_image_in_use_and_what_is_none_are_not_erased() {
    let folder = place("in-use");
    let line = format!("{} image erase d.ssd; true", env!("CARGO_BIN_EXE_ssdlab"));
    let output = attach(&folder, "./encrypts.toml", &line);
    assert!(String::from_utf8_lossy(&output.stderr).contains("d.ssd: in use by another process"));
    std::fs::write(folder.join("letter"), [b'a'; 9000]).unwrap();
    let output = ssdlab(&folder, &["image", "erase", "letter"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("letter: not an image"));
    assert_eq!(std::fs::read(folder.join("letter")).unwrap(), [b'a'; 9000]);
}

/// The next drive that fits must not hear of a power cut that never was.
#[test]
fn a_drive_that_is_refused_leaves_the_image_as_it_was() {
    let folder = place("refused");
    assert!(attach(&folder, "./plain.toml", "true").status.success());
    let before = std::fs::read(folder.join("d.ssd")).unwrap();
    for args in
        [["./plain.toml", "--seed", "2"], ["ideal-32die", "--seed", "1"], ["./plain.toml", "--prefill", "drive"]]
    {
        let output = ssdlab(&folder, &[&["attach"], &args[..], &["--image", "d.ssd", "--run", "true"]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(std::fs::read(folder.join("d.ssd")).unwrap() == before, "{args:?}: {told}");
    }
    // Nor is anything of it gone when there is no new file for a new drive.
    std::fs::write(folder.join("d.ssd.ssdlab-new"), "a letter").unwrap();
    let output = ssdlab(&folder, &["attach", "./encrypts.toml", "--image", "d.ssd", "--new-drive", "--run", "true"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("d.ssd.ssdlab-new is there"), "{told}");
    assert!(std::fs::read(folder.join("d.ssd")).unwrap() == before, "{told}");
    std::fs::remove_file(folder.join("d.ssd.ssdlab-new")).unwrap();
    let output = attach(&folder, "./plain.toml", "rm d.ssd");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("removed, replaced or cut short"), "{told}");
}

/// Other systems have no such names.
#[test]
#[cfg(target_os = "linux")]
fn files_whose_names_are_no_text_are_told_of() {
    use std::os::unix::ffi::OsStrExt;
    let folder = place("names");
    assert!(attach(&folder, "./plain.toml", "true").status.success());
    let of = |before: &[&str], name: &[u8], behind: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        command.args(before).arg(std::ffi::OsStr::from_bytes(name)).args(behind).current_dir(&folder);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), told)
    };
    let renamed = |name: &[u8]| folder.join(std::ffi::OsStr::from_bytes(name));
    std::fs::rename(folder.join("d.ssd"), renamed(b"d\xff.ssd")).unwrap();
    let (code, told) = of(&["image", "info"], b"d\xff.ssd", &["--json"]);
    assert!(code == Some(0) && told.contains("\"image\": \"d\u{fffd}.ssd\""), "{told}");
    std::fs::rename(folder.join("plain.toml"), renamed(b"p\xff.toml")).unwrap();
    let (code, told) = of(&["check"], b"p\xff.toml", &[]);
    assert!(code == Some(2) && told.contains("p\u{fffd}.toml is not valid Unicode"), "{told}");
}

#[test]
fn what_would_be_waited_for_at_its_other_end_is_no_image() {
    let folder = place("fifo");
    assert!(Command::new("mkfifo").arg(folder.join("f")).status().unwrap().success());
    for what in ["info", "check", "erase"] {
        let output = ssdlab(&folder, &["image", what, "f"]);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What a drive keeps whose owner has locked its global range.
fn locked_pages(capacity_bytes: u64) -> Vec<ReservedPage> {
    let label = Identity { msid: "what anybody reads".into(), psid: "on the label".into() };
    let geometry = Geometry { sectors: capacity_bytes / 512, sector_bytes: 512, alignment_sectors: 8 };
    let mut tper = Tper::new(label.clone(), geometry);
    let mut session = 0;
    let mut say = |tokens: &[u8]| {
        let host = if session == 0 { 0 } else { 0x41 };
        tper.send(0, 1, COM_ID, &packet(session, host, tokens)).unwrap();
        let answer = tper.receive(0, 1, COM_ID, 4096).unwrap();
        let tokens = &answer[56..56 + usize::from(answer[55])];
        session = match session {
            0 => u32::from(u16::from_be_bytes([tokens[23], tokens[24]])),
            _ if tokens == [0xfa] => 0,
            session => session,
        };
        assert!(tokens == [0xfa] || status(tokens) == 0);
    };
    let begin = |sp: u64, who: u64| {
        let pin = b(label.msid.as_bytes());
        call(0xff, 0xff02, &[n(0x41), u(sp), n(1), name(n(0), pin), name(n(3), u(who))])
    };
    say(&begin(ADMIN_SP, SID));
    say(&call(LOCKING_SP, ACTIVATE, &[]));
    say(&[0xfa]);
    say(&begin(LOCKING_SP, ADMIN1));
    say(&call(GLOBAL_RANGE, SET, &[values(&[(5, n(1)), (6, n(1))])]));
    tper.pages()
}

#[test]
fn a_locked_drive_is_locked_when_its_image_goes_on_and_a_new_one_is_not() {
    let folder = place("locked");
    let status = |args: &[&str], line: &str| -> serde_json::Value {
        let line = line.replace("$ctl", &format!("{} ctl $control", env!("CARGO_BIN_EXE_ssdlab")));
        let all = [&["attach", "./locks.toml", "--image", "d.ssd"], args, &["--run", &line]].concat();
        serde_json::from_str(&says(&folder, &all)).unwrap()
    };
    let found = status(&[], "$ctl --json status");
    assert_eq!((&found["locking"]["state"], &found["locking"]["ssc"]), (&"not activated".into(), &"Opal 2.0".into()));
    assert_eq!(found["locking"]["psid"].as_str().map(str::len), Some(32));
    assert!(!says(&folder, &["image", "info", "d.ssd"]).contains("passwords"));
    let (mut image, contents) = Image::open(&folder.join("d.ssd")).unwrap();
    image.append_reserved(&locked_pages(contents.header.capacity_bytes)).unwrap();
    image.close().unwrap();
    assert!(says(&folder, &["image", "info", "d.ssd"]).contains("its passwords and locked ranges"));
    let found = status(&[], "$ctl snapshot s.ssd >/dev/null && $ctl --json status");
    assert_eq!((&found["locking"]["state"], &found["locking"]["psid"]), (&"locked".into(), &"on the label".into()));
    // So is a snapshot, and no erase gets past the lock.
    std::fs::rename(folder.join("s.ssd"), folder.join("d.ssd")).unwrap();
    assert_eq!(status(&[], "$ctl --json status")["locking"]["state"], "locked");
    for erase in ["$ctl erase", "$ctl erase --crypto"] {
        let output = attach(&folder, "./locks.toml", erase);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && told.contains("has locking activated"), "{told}");
    }
    assert_eq!(status(&["--new-drive"], "$ctl --json status")["locking"]["state"], "not activated");
    assert_eq!(status(&[], "$ctl --json status")["locking"]["state"], "not activated", "nor is it when it goes on");
    assert!(status_of_plain(&folder)["locking"].is_null());
}

fn status_of_plain(folder: &Path) -> serde_json::Value {
    let line = format!("{} ctl $control --json status", env!("CARGO_BIN_EXE_ssdlab"));
    serde_json::from_str(&says(folder, &["attach", "./encrypts.toml", "--run", &line])).unwrap()
}

/// Nor was one that could not be erased.
#[test]
fn a_drive_that_could_not_be_served_was_not_cut() {
    let folder = place("not-served");
    assert!(attach(&folder, "./encrypts.toml", "true").status.success());
    let is_closed = || says(&folder, &["image", "info", "d.ssd"]).contains("closed in good order");
    for wrong in [&["--socket", "no-such-folder/nbd"][..], &["--run", "./no-such-program", "a"]] {
        let output = ssdlab(&folder, &[&["attach", "./encrypts.toml", "--image", "d.ssd"], wrong].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains("cannot ") && is_closed(), "{told}");
    }
    std::fs::write(folder.join("d.ssd.ssdlab-new"), "a letter").unwrap();
    let output = ssdlab(&folder, &["image", "erase", "d.ssd"]);
    assert!(output.status.code() == Some(2) && is_closed());
}

/// What it holds can be had whatever its disk is like, and others can look at it meanwhile.
#[test]
fn an_attach_that_serves_nothing_leaves_no_image() {
    let folder = place("none");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let refused = |options: &[&str]| {
        let output = ssdlab(&folder, &[&["attach", "./plain.toml", "--image", "x.ssd"], options].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && !folder.join("x.ssd").exists(), "{options:?}: {error}");
        error
    };
    assert!(refused(&["--read-only", "--run", "true"]).contains("x.ssd: there is no such image"));
    assert!(refused(&["--new-drive", "--run", "true"]).contains("without --new-drive a new one is made"));
    assert!(refused(&["--listen", &taken]).contains("cannot listen on"));
    assert!(refused(&["--iscsi", &taken, "--run", "true"]).contains("cannot listen on"));
    assert!(refused(&["--run", "no such program", "x"]).contains("cannot run no such program"));
}

#[test]
fn an_attach_that_is_stopped_while_it_fills_leaves_nothing() {
    let folder = place("stopped");
    std::fs::create_dir(folder.join("tmp")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
    command.args(["attach", "m600-256gb", "--image", "x.ssd", "--prefill", "drive"]).current_dir(&folder);
    let mut server = command.env("TMPDIR", folder.join("tmp")).stderr(Stdio::null()).spawn().unwrap();
    while !folder.join("x.ssd").exists() {
        assert!(server.try_wait().unwrap().is_none(), "the server ended");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(1));
    assert!(!folder.join("x.ssd").exists());
    assert_eq!(std::fs::read_dir(folder.join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_drive_that_is_served_read_only_leaves_its_image_as_it_was() {
    let folder = place("read-only");
    assert!(attach(&folder, "./encrypts.toml", "$ctl cut; $ctl restore; kill -9 $PPID").status.code().is_none());
    let before = std::fs::read(folder.join("d.ssd")).unwrap();
    assert_eq!(info(&folder)["clean"], false);
    let program = env!("CARGO_BIN_EXE_ssdlab");
    let line = format!(
        "{program} ctl $control cut && {program} ctl $control restore && {program} image check d.ssd \
         && ! {program} image erase d.ssd && ! {program} attach ./encrypts.toml --image d.ssd --run true"
    );
    let output = ssdlab(&folder, &["attach", "./encrypts.toml", "--read-only", "--image", "d.ssd", "--run", &line]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches("d.ssd: in use by another process").count(), 2, "{told}");
    assert!(std::fs::read(folder.join("d.ssd")).unwrap() == before);
    assert!(attach(&folder, "./encrypts.toml", "true").status.success());
    assert_eq!(info(&folder)["clean"], true);
}
