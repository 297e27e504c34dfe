//! `ssdlab attach`: a simulated device as a real one, for other programs.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use ssdlab_attach::{
    CutPlan, Drive, Export, Limits, Listener, Lock, OnCut, Protocol, Server, ServerOptions, captive, iscsi,
    lateness_line, lateness_warning, serial,
};
use ssdlab_bench::parse_bytes;
use ssdlab_catalog::{by_file_names, device};
use ssdlab_contents::{
    ContentDevice, ContentOptions, DriveState, FoundImage, Header, Image, ImageContents, ImageError, MediaKey, Resumed,
    Store, TrimmedReads, lay_out, resume, saved_at_rest,
};
use ssdlab_core::{Nanos, SECOND, UNIT_BYTES};
use ssdlab_device::{Device, DeviceInfo, Security};
use ssdlab_opal::{Geometry, Identity, Tper};

use crate::attach_args::{AttachArgs, AttachPrefill, TrimmedArg, is_option};
use crate::failure::Failure;
use crate::memory::say_if_scarce;
use crate::output::{complain, print};
use crate::progress::is_ignored;

/// A command that was told to end and does not is ended after so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nobody has told the process to end.
const NO_SIGNAL: usize = 0;
const NEEDS_SPACE: &str = "an image needs free space on its disk; with --read-only it needs none, and stays as it is";

pub fn run(args: &AttachArgs) -> Result<(), Failure> {
    options_before_run(args)?;
    image_is_there(args)?;
    let is_cut = !args.cut_at.is_empty() || args.cut_every.is_some();
    if args.off_for.is_some() && !is_cut {
        return Err(Failure::bad_input("--off-for is about --cut-at and --cut-every, and neither is there")
            .help("leave it out, or give one of them"));
    }
    let recipe = device(&args.device)?;
    let memory = memory(&args.memory)?;
    let remote = |address: &&SocketAddr| !address.ip().is_loopback() && !args.allow_remote;
    if let Some(address) = args.listen.iter().chain(&args.iscsi).find(remote) {
        return Err(Failure::bad_input(format!("{address} can be reached from other machines"))
            .help("use 127.0.0.1 or --socket; --allow-remote if that is meant: there is neither TLS nor a password"));
    }
    say_if_scarce(&recipe);
    let mut inner = recipe.build(args.seed)?;
    let info = inner.info().clone();
    if info.capacity_bytes > Store::MAX_CAPACITY_BYTES {
        return Err(Failure::bad_input(format!("{} has 16 TiB or more", recipe.name)).help("attach a smaller device"));
    }
    if inner.plug().is_none() && is_cut {
        return Err(Failure::bad_input(format!("{} has no plug that can be pulled", recipe.name))
            .help("leave --cut-at and --cut-every out"));
    }
    let failed = |e: std::io::Error| Failure::run(format!("cannot serve {}: {e}", recipe.name));
    // Before anything is made: what is then left by a signal is ours to remove.
    let (stop, stopper) = UnixStream::pair().map_err(failed)?;
    let told = Arc::new(AtomicUsize::new(NO_SIGNAL));
    // As other commands leave them.
    let heard = [SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal)).collect::<Vec<_>>();
    // Before the others: it is known who has sent a signal once it is known that one has come.
    let from_keys = heard.iter().filter(|&&signal| signal == SIGINT);
    let mut interrupts = SignalsInfo::<WithRawSiginfo>::new(from_keys).map_err(failed)?;
    for signal in heard {
        signal_hook::flag::register_usize(signal, Arc::clone(&told), signal as usize).map_err(failed)?;
        signal_hook::low_level::pipe::register(signal, stopper.try_clone().map_err(failed)?).map_err(failed)?;
    }
    let mut places = Places::choose(args)?;
    let export = Export {
        serial: serial(&by_file_names(&recipe.name), args.seed),
        trimmed_reads_zeroes: args.trimmed == TrimmedArg::Zeroes,
        ..Export::new(&DeviceInfo { name: recipe.name.clone(), ..info }, args.read_only)
    };
    // Whoever comes before the drive is ready waits.
    let (listener, mut uris) = places.listener()?;
    let mut listeners = vec![(Protocol::Nbd, listener)];
    let mut url = None;
    if let Some(address) = args.iscsi {
        let (listener, address) = iscsi_listener(address, &export)?;
        listeners.push((Protocol::Iscsi, listener));
        uris = format!("{uris}, {address}");
        url = Some(address);
    }
    let control = places.control_listener().map_err(failed)?;
    let mut made = NewImage::default();
    let may_go_on = || told.load(Ordering::Relaxed) == NO_SIGNAL;
    let (device, now, lock) = contents(args, inner, &recipe.name, &mut made, &may_go_on)?;
    let drive = Drive::new(device, export, memory);
    let drive = match lock {
        Some(lock) => drive.with_lock(lock),
        None => drive,
    };
    let options = ServerOptions {
        limits: Limits { connections: args.connections.into(), ..Limits::default() },
        time_scale: args.time_scale,
        on_cut: if args.errors { OnCut::Errors } else { OnCut::HangUp },
        cuts: CutPlan {
            at: args.cut_at.clone(),
            every: args.cut_every.unwrap_or(0),
            off_for: args.off_for.unwrap_or(SECOND),
        },
        notice: complain,
    };
    let begin = || -> Result<_, Failure> {
        if !may_go_on() {
            return Err(Failure::run(format!("stopped before {} was served", recipe.name)));
        }
        Ok(match args.run.as_slice() {
            [] => {
                match print(&format!("{}: {uris}, control {}\n", recipe.name, places.control.display())) {
                    // Whoever does not read this may use the drive all the same.
                    Ok(()) | Err(Failure::ReaderGone) => None,
                    Err(failure) => return Err(failure),
                }
            }
            command => {
                let started = captive::start(command, &places.socket, &places.control, url.as_deref(), stopper);
                Some(started.map_err(|e| cannot_run(command, &e))?)
            }
        })
    };
    let captive = match begin() {
        Ok(begun) => begun,
        Err(failure) => {
            // Nobody has pulled its plug.
            drop(close(drive, now));
            return Err(failure);
        }
    };
    made.keep();
    let served = Server::new(drive, now, listeners, Some(control), stop, options).and_then(Server::run);
    let told = match told.load(Ordering::Relaxed) {
        // Without a server the command is told to end as we are by whoever manages services.
        NO_SIGNAL if served.is_err() => SIGTERM as usize,
        told => told,
    };
    if let (Some(captive), true) = (&captive, told != NO_SIGNAL) {
        // What no process has sent.
        let by_key = interrupts.pending().any(|signal| signal.si_code > 0);
        captive.pass_on(told as i32, by_key && told == SIGINT as usize);
    }
    drop(places);
    let (drive, now, statistics, snapshots) = match served {
        Ok(served) => served,
        Err(e) => {
            // How the command ends tells nothing of the server.
            captive.into_iter().for_each(|captive| drop(conclude(&captive, true)));
            return Err(failed(e));
        }
    };
    let warning = lateness_warning(&statistics, &drive, args.time_scale);
    let closed = close(drive, now);
    // After that, so that the drive is safe first.
    snapshots.wait();
    complain(&lateness_line(&statistics));
    warning.iter().for_each(|warning| complain(&format!("warning: {warning}")));
    // Also if the drive could not be closed.
    let concluded = captive.map_or(Ok(()), |captive| conclude(&captive, told != NO_SIGNAL));
    closed.and(concluded)
}

/// What `--memory` says, in bytes.
fn memory(text: &str) -> Result<u64, Failure> {
    let no_size = || Failure::bad_input(format!("`{text}` is no size")).help("as in 4GiB");
    let bytes = parse_bytes(text).filter(|&bytes| bytes > 0).ok_or_else(no_size)?;
    if bytes < UNIT_BYTES {
        return Err(Failure::bad_input(format!("--memory {text}: {bytes} bytes hold no page of {UNIT_BYTES}"))
            .help("a number without a unit is one of bytes; with a unit it is as in 4GiB"));
    }
    Ok(bytes)
}

/// What goes on with an image, or only reads it, makes none.
fn image_is_there(args: &AttachArgs) -> Result<(), Failure> {
    let Some(image) = args.image.as_deref().filter(|image| !image.exists()) else { return Ok(()) };
    let option = match (args.read_only, args.new_drive) {
        (true, _) => "--read-only",
        (_, true) => "--new-drive",
        _ => return Ok(()),
    };
    Err(Failure::bad_input(format!("{}: there is no such image", image.display()))
        .help(format!("name one that is there; without {option} a new one is made")))
}

/// An image that was made now: it goes with this, unless it is kept.
#[derive(Default)]
struct NewImage(Option<PathBuf>);

impl NewImage {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for NewImage {
    fn drop(&mut self) {
        // What cannot be removed is an image like any other.
        self.0.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// A line for the shell with more words behind it is taken for the name of a program.
fn cannot_run(command: &[String], error: &std::io::Error) -> Failure {
    let failure = Failure::bad_input(format!("cannot run {}: {error}", command[0]));
    match command {
        [line, word, ..] if line.contains(char::is_whitespace) => failure.help(format!(
            "with `{word}` behind it, '{line}' is the name of a program; alone it is a line for the shell"
        )),
        _ => failure,
    }
}

/// What stands behind `--run CMD` goes to the command, also what looks like an option of `attach`. A line for the shell takes
/// nothing behind it, so that such an option is certainly in the wrong place.
fn options_before_run(args: &AttachArgs) -> Result<(), Failure> {
    let Some((command, others)) = args.run.split_first() else { return Ok(()) };
    let Some(option) = others.iter().find(|word| is_option(word)) else { return Ok(()) };
    if command.contains(char::is_whitespace) && !Path::new(command).exists() {
        return Err(Failure::bad_input(format!(
            "`{option}` stands behind --run, which takes everything that follows it"
        ))
        .help(format!(
            "options of attach stand before --run: `ssdlab attach {} {option} … --run '{command}'`",
            args.device
        )));
    }
    complain(&format!(
        "notice: `{option}` stands behind --run, and goes to {command}; options of attach stand before --run"
    ));
    Ok(())
}

/// Where iSCSI clients come in, and how they say it.
fn iscsi_listener(address: SocketAddr, export: &Export) -> Result<(Listener, String), Failure> {
    let cannot = |e| Failure::bad_input(format!("cannot listen on {address}: {e}"));
    let listener = TcpListener::bind(address).map_err(cannot)?;
    let url = iscsi::url(listener.local_addr().map_err(cannot)?, export);
    Ok((Listener::Tcp(listener), url))
}

/// The device with its bytes, its time, and its locks if it has some. An image is changed only once it is known to fit; one that is
/// `made` is told.
fn contents(
    args: &AttachArgs,
    mut inner: Box<dyn Device>,
    name: &str,
    made: &mut NewImage,
    may_go_on: &dyn Fn() -> bool,
) -> Result<(ContentDevice, Nanos, Option<Lock>), Failure> {
    let capacity_bytes = inner.info().capacity_bytes;
    let fresh = || match args.prefill {
        AttachPrefill::None => Store::new(capacity_bytes),
        AttachPrefill::Drive => Store::written_once(capacity_bytes),
    };
    let encrypts = inner.security().is_some_and(Security::encrypts);
    let path = args.image.as_deref();
    let wrong = |e: ImageError| {
        let failure = Failure::bad_input(format!("{}: {e}", path.unwrap_or(Path::new("")).display()));
        if matches!(e, ImageError::NoSpace) { failure.help(NEEDS_SPACE) } else { failure }
    };
    let find = if args.read_only { Image::find_to_read } else { Image::find };
    let there = path.filter(|path| path.exists());
    // Before all that it holds is read; what is wrong with it is told then.
    if let Some((path, header)) = there.and_then(|path| Some((path, Image::header(path).ok()?))) {
        check_capacity(path, &header, name, capacity_bytes)?;
    }
    let found = there.map(find).transpose().map_err(wrong)?;
    let (has_plug, mut image) = (inner.plug().is_some(), None);
    let mut store = match (&found, path) {
        (Some(found), Some(path)) => {
            check_fit(args, path, &found.contents, name, capacity_bytes)?;
            found.contents.store.clone()
        }
        (_, Some(path)) => {
            let store = fresh();
            let key = encrypts.then(|| MediaKey::random(0)).transpose();
            let key = key.map_err(|e| Failure::run(format!("there are no random numbers for a media key: {e}")))?;
            image = Some(Image::create(path, name, image_number(), &store, key).map_err(wrong)?);
            made.0 = Some(path.to_owned());
            store
        }
        (_, None) => fresh(),
    };
    let contents = found.as_ref().map(|found| &found.contents).filter(|_| !args.new_drive);
    let lock = lock(inner.as_mut(), name, args.seed, contents)?;
    let saved = contents.and_then(|contents| Some((contents.state.as_ref()?, contents.header.clean)));
    let is_new = saved.is_none();
    let Resumed { ready: now, cut, lost } = match saved {
        Some((state, clean)) if has_plug => go_on(inner.as_mut(), &mut store, state, clean, may_go_on)?,
        _ => {
            let laid_out = lay_out(inner.as_mut(), &mut store, 0, may_go_on);
            let ready = laid_out.map_err(|e| Failure::run(format!("{name} could not be filled: {e}")))?;
            Resumed { ready, cut: None, lost: Vec::new() }
        }
    };
    let is_as_saved = saved.is_some_and(|(state, clean)| clean && state.since.is_empty() && !state.erased);
    // The state of the drive goes into its image before anything is changed. That of a cut is better than what the drive would keep
    // now, which has counted that its power is back.
    let state = || if is_as_saved { None } else { cut.or_else(|| saved_at_rest(&*inner, now)) };
    let totals = inner.plug_seen().map(|plug| plug.totals(now));
    let mut read = None;
    match found {
        Some(found) if args.read_only => read = Some(found.keep_locked()),
        Some(found) if args.new_drive => {
            let (was_encrypted, had_locks) = (found.contents.header.key.is_some(), !found.contents.reserved.is_empty());
            let mut begun = found.for_new_drive(name, &store, state().as_deref(), encrypts).map_err(wrong)?;
            keep_totals(&mut begun, totals).map_err(wrong)?;
            image = Some(begun);
            if encrypts && !was_encrypted {
                complain(WAS_PLAIN);
            }
            if had_locks {
                complain("notice: the new drive has none of the passwords and locked ranges of the old one");
            }
        }
        Some(found) => {
            let found = if is_new { found.called(name).map_err(wrong)? } else { found };
            image = Some(begin(found, encrypts, (&store, &lost), state(), totals).map_err(wrong)?);
        }
        None => {
            if let (Some(image), Some(state)) = (&mut image, state()) {
                image.append_state(&state).and_then(|()| keep_totals(image, totals)).map_err(wrong)?;
            }
        }
    }
    let trimmed = match args.trimmed {
        TrimmedArg::Zeroes => TrimmedReads::Zeroes,
        TrimmedArg::OldData => TrimmedReads::OldData,
    };
    let options = ContentOptions { trimmed, ..ContentOptions::default() };
    let mut device = ContentDevice::with_store(inner, options, store);
    image.into_iter().for_each(|image| device.set_image(image));
    read.into_iter().for_each(|image| device.set_read_image(image));
    Ok((device, now, lock))
}

const WAS_PLAIN: &str = "notice: the image was not encrypted, as the drive is: it has been written anew with a key";

/// The image goes on with this state of its drive, if that is another one, and hears of pages of the store that are lost there. One
/// that was closed is closed if that fails: nobody has pulled the plug.
fn begin(
    found: FoundImage,
    encrypts: bool,
    (store, lost): (&Store, &[u32]),
    state: Option<Vec<u8>>,
    totals: Option<Vec<u8>>,
) -> Result<Image, ImageError> {
    let was_closed = found.contents.header.clean;
    let (mut image, contents) = found.begin()?;
    let write = || {
        if encrypts && !image.is_encrypted() {
            image.encrypt(&contents.store)?;
            complain(WAS_PLAIN);
        }
        // Before the state: if the process ends in between, all of it is done once more.
        lost.iter().try_for_each(|&page| image.append(store, page..page + 1))?;
        state.map_or(Ok(()), |state| image.append_state(&state))?;
        keep_totals(&mut image, totals)
    };
    match write() {
        Ok(()) => Ok(image),
        Err(e) => {
            if was_closed {
                drop(image.close());
            }
            Err(e)
        }
    }
}

/// What the drive has counted by now is in its image.
fn keep_totals(image: &mut Image, totals: Option<Vec<u8>>) -> Result<(), ImageError> {
    totals.map_or(Ok(()), |totals| {
        image.set_totals(totals);
        image.commit()
    })
}

/// The passwords and ranges of a drive that has some, as they were left.
fn lock(
    drive: &mut dyn Device,
    name: &str,
    seed: u64,
    contents: Option<&ImageContents>,
) -> Result<Option<Lock>, Failure> {
    if !drive.security().is_some_and(Security::has_opal) {
        return Ok(None);
    }
    let info = drive.info();
    let geometry = Geometry {
        sectors: info.capacity_bytes / u64::from(info.sector_bytes),
        sector_bytes: info.sector_bytes,
        // A range has pages of its own.
        alignment_sectors: UNIT_BYTES / u64::from(info.sector_bytes),
    };
    let mut tper = Tper::new(Identity::of(&by_file_names(name), seed), geometry);
    if let Some(reserved) = contents.map(|contents| &contents.reserved).filter(|reserved| !reserved.is_empty()) {
        let loaded = tper.load(reserved.pages().map(|(number, page)| (number, page.to_vec())));
        loaded.map_err(|e| {
            Failure::bad_input(format!("the image cannot go on: {e}")).help(
                "attach the drive that it was made for; --new-drive puts the bytes onto a new one, without passwords",
            )
        })?;
    }
    Ok(Some(Lock::new(tper)))
}

/// Whether an image can be of this device; says what a user should know of it.
fn check_fit(
    args: &AttachArgs,
    path: &Path,
    contents: &ImageContents,
    name: &str,
    capacity_bytes: u64,
) -> Result<(), Failure> {
    let header = &contents.header;
    check_capacity(path, header, name, capacity_bytes)?;
    if args.prefill == AttachPrefill::Drive {
        return Err(Failure::bad_input("--prefill drive would overwrite the image").help("leave it out"));
    }
    if by_file_names(&header.device) != by_file_names(name) {
        complain(&format!("notice: the image was made for {}", header.device));
    }
    if contents.torn_bytes > 0 {
        complain(&format!("notice: the last {} bytes of the image were cut short", contents.torn_bytes));
    }
    Ok(())
}

fn check_capacity(path: &Path, header: &Header, name: &str, capacity_bytes: u64) -> Result<(), Failure> {
    if header.capacity_bytes == capacity_bytes {
        return Ok(());
    }
    let (path, found) = (path.display(), header.capacity_bytes);
    Err(Failure::bad_input(format!("{path} is an image of {found} bytes, {name} has {capacity_bytes}"))
        .help(format!("attach {}, for which it was made", header.device)))
}

/// The drive becomes the one that the image holds.
fn go_on(
    drive: &mut dyn Device,
    store: &mut Store,
    state: &DriveState,
    clean: bool,
    may_go_on: &dyn Fn() -> bool,
) -> Result<Resumed, Failure> {
    let resumed = resume(drive, store, state, clean, may_go_on).map_err(|e| match e {
        _ if !may_go_on() => Failure::run("stopped while the drive in the image was made ready"),
        e if e.is_of_another_drive() => Failure::bad_input(format!("the image holds another drive: {e}"))
            .help("attach the drive that it was made for, with its seed; --new-drive puts the bytes onto a new one"),
        e => Failure::bad_input(format!("the image cannot go on: {e}"))
            .help("--new-drive puts its bytes onto a new drive"),
    })?;
    if !clean {
        let pages: u64 = state.since.iter().map(|change| u64::from(change.pages.end - change.pages.start)).sum();
        complain(&format!(
            "notice: the process that had the image ended without closing it. That counts as a power cut; {pages} pages that \
             had been changed since the drive was saved were written to it again"
        ));
    }
    Ok(resumed)
}

/// Ends what is at the device, shuts the drive down, and closes the image.
fn close(mut drive: Drive, mut now: Nanos) -> Result<(), Failure> {
    if !drive.device.has_power() {
        now = drive.restore(now);
    }
    let mut outcomes = Vec::new();
    while drive.under_way() > 0 {
        let next = drive.next_event();
        now = next.ok_or_else(|| Failure::run("the drive stopped with requests under way"))?.max(now);
        drive.advance(now, &mut outcomes);
        outcomes.clear();
    }
    drive.device.put_away(now);
    if let Some(error) = drive.device.image_error() {
        return Err(Failure::run(format!("the image could not be written: {error}")));
    }
    let image = drive.device.take_image();
    if image.as_ref().is_some_and(|image| !image.is_in_place()) {
        return Err(Failure::run(
            "the image was removed, replaced or cut short by another program: what was written is lost",
        ));
    }
    image.map_or(Ok(()), Image::close).map_err(|e| Failure::run(format!("the image could not be closed: {e}")))
}

/// What tells an image from every other.
#[expect(clippy::disallowed_methods, reason = "numbers of images shall differ from run to run")]
pub fn image_number() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

/// The command's exit code is ours. What it leaves running goes on, unless it was `told` to end: that is for all of it.
#[expect(clippy::disallowed_methods, reason = "how long a command is waited for is no result")]
fn conclude(captive: &captive::Captive, told: bool) -> Result<(), Failure> {
    let asked = Instant::now();
    let mut ended = None;
    loop {
        if ended.is_none() {
            ended = captive.status().map_err(|e| Failure::run(format!("the command's end is not known: {e}")))?;
        }
        let is_over = ended.is_some() && (!told || captive.is_gone());
        if !is_over && asked.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        }
        if !is_over {
            captive.end();
        }
        let Some(status) = ended else { return Err(Failure::run("stopped while the command was running")) };
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        return if code == 0 { Ok(()) } else { Err(Failure::Command(code as u8)) };
    }
}

/// Where sockets are. They go when this does.
struct Places {
    /// Unix sockets are here, if there is nothing else to say.
    socket: PathBuf,
    tcp: Option<SocketAddr>,
    control: PathBuf,
    /// What was bound.
    bound: Vec<Bound>,
    private: Option<PathBuf>,
}

/// A socket of ours: another one at its path has other numbers.
struct Bound {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Places {
    fn choose(args: &AttachArgs) -> Result<Places, Failure> {
        let beside = |socket: &Path| {
            let mut beside = socket.as_os_str().to_owned();
            beside.push(".ctl");
            PathBuf::from(beside)
        };
        let control = args.control.clone().or_else(|| args.socket.as_deref().map(beside));
        if let (Some(socket), true) = (&args.socket, args.socket == control) {
            return Err(Failure::bad_input(format!("{} is given twice", socket.display()))
                .help("the control socket needs a path of its own"));
        }
        args.socket.iter().chain(&control).try_for_each(|given| free(given))?;
        // Once nothing more is refused: it would stay.
        let needs_private = args.socket.is_none() && (args.listen.is_none() || control.is_none());
        let private = needs_private.then(private_folder).transpose()?;
        let in_private = private.as_ref().map(|folder| folder.join("nbd"));
        let socket = args.socket.clone().or(in_private).unwrap_or_default();
        let control = control.unwrap_or_else(|| beside(&socket));
        Ok(Places { socket, tcp: args.listen, control, bound: Vec::new(), private })
    }

    fn bind(&mut self, path: PathBuf) -> std::io::Result<Listener> {
        let listener = UnixListener::bind(&path)?;
        let meta = std::fs::symlink_metadata(&path)?;
        self.bound.push(Bound { path, device: meta.dev(), inode: meta.ino() });
        Ok(Listener::Unix(listener))
    }

    fn control_listener(&mut self) -> std::io::Result<Listener> {
        self.bind(self.control.clone())
    }

    fn listener(&mut self) -> Result<(Listener, String), Failure> {
        match self.tcp {
            Some(address) => {
                let cannot = |e| Failure::bad_input(format!("cannot listen on {address}: {e}"));
                let listener = TcpListener::bind(address).map_err(cannot)?;
                let uri = format!("nbd://{}", listener.local_addr().map_err(cannot)?);
                Ok((Listener::Tcp(listener), uri))
            }
            None => {
                let shown = self.socket.display().to_string();
                let cannot = |e| Failure::bad_input(format!("cannot listen on {shown}: {e}"));
                let path = std::path::absolute(&self.socket).map_err(&cannot)?;
                let uri = captive::uri(&path);
                Ok((self.bind(path).map_err(cannot)?, uri))
            }
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for Bound { path, device, inode } in &self.bound {
            // What another program has put there meanwhile is not ours, be it the socket of another server.
            let is_ours = |found: std::fs::Metadata| (found.dev(), found.ino()) == (*device, *inode);
            if std::fs::symlink_metadata(path).is_ok_and(is_ours) {
                drop(std::fs::remove_file(path));
            }
        }
        if let Some(folder) = &self.private {
            drop(std::fs::remove_dir(folder));
        }
    }
}

/// A socket that a server which was killed has left goes; anything else stays.
fn free(socket: &Path) -> Result<(), Failure> {
    let Ok(there) = std::fs::symlink_metadata(socket) else { return Ok(()) };
    let used = |what: &str| Failure::bad_input(format!("{}: {what}", socket.display())).help("choose another path");
    if !there.file_type().is_socket() {
        return Err(used("there is a file that is not a socket"));
    }
    if UnixStream::connect(socket).is_ok() {
        return Err(used("another server listens there"));
    }
    std::fs::remove_file(socket).map_err(|e| used(&e.to_string()))
}

fn private_folder() -> Result<PathBuf, Failure> {
    let mut last = None;
    for attempt in 0..100 {
        let folder = std::env::temp_dir().join(format!("ssdlab-{}-{attempt}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) => last = Some(e),
        }
    }
    let why = last.map_or_else(String::new, |e| e.to_string());
    Err(Failure::run(format!("cannot make a folder for the socket in {}: {why}", std::env::temp_dir().display())))
}
