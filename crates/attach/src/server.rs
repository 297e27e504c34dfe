//! The one thread that does everything: it waits for sockets and for the device, moves bytes, and lets time pass.
//!
//! Sockets never block, buffers are bounded, and nothing that a client does is waited for: a client can only stop itself.
//! Completions leave at their time: the thread sleeps until a little before the next event of the device, and then looks at
//! sockets and clock in turn.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use ssdlab_contents::{ImageError, MediaKey, PAGE_BYTES, UnfinishedImage};
use ssdlab_core::{Nanos, format_duration};
use ssdlab_device::{Device, Security};

use crate::blame::blame;
use crate::came_back;
use crate::client::{Client, Step};
use crate::clock::{Clock, instant};
use crate::connection::{Connection, Life};
use crate::control::{ControlConnection, Order};
use crate::cuts::{CutPlan, Cuts, Due};
use crate::drive::Drive;
use crate::iscsi::IscsiClient;
use crate::limits::Limits;
use crate::lock::Lock;
use crate::nbd::NbdClient;
use crate::request::Outcome;
use crate::status::{self, Statistics, View};
use crate::stream::Listener;

/// How long before an event of the device the thread stops sleeping.
const SPIN: Duration = Duration::from_micros(50);
/// The thread looks around at least so often.
const TICK: Duration = Duration::from_millis(100);
/// With nothing under way, work inside the device is caught up with so often.
const IDLE_STEP: Duration = Duration::from_millis(20);
/// It is seen so often whether an image whose disk was full has room again.
const LOOK_FOR_SPACE: Duration = Duration::from_secs(1);
/// What the drive has counted goes into the image so often, after commands and without any.
const KEEP_TOTALS: Duration = Duration::from_secs(1);
const KEEP_TOTALS_IDLE: Duration = Duration::from_secs(60);
/// What a client has said is taken for so long; then it is the turn of the others.
const TURN: Duration = Duration::from_millis(1);
/// Of a client that has hung up.
const HUNG_UP: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(HUNG_UP_ASKED);
/// What of that is told only if it is asked for.
#[cfg(target_os = "linux")]
const HUNG_UP_ASKED: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const HUNG_UP_ASKED: PollFlags = PollFlags::empty();
/// Clients of the control socket.
const MOST_CONTROLS: usize = 8;

/// What a cut does to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCut {
    /// Nothing is answered, connections close, and new ones are refused until the power is back.
    HangUp,
    /// Every request fails.
    Errors,
}

/// What clients of a listener speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Nbd,
    Iscsi,
}

/// What can be chosen.
pub struct ServerOptions {
    pub limits: Limits,
    pub time_scale: f64,
    pub on_cut: OnCut,
    pub cuts: CutPlan,
    /// Hears what the user should know at once, a line each.
    pub notice: fn(&str),
}

/// See the module's own page.
pub struct Server {
    drive: Drive,
    clock: Clock,
    options: ServerOptions,
    statistics: Statistics,
    connections: BTreeMap<u64, Connection>,
    ready_at: Nanos,
    listeners: Vec<(Protocol, Listener)>,
    control: Option<Listener>,
    controls: Vec<ControlConnection>,
    /// A byte stops the server, or its end.
    stop: UnixStream,
    cuts: Cuts,
    erasing: Option<Erasing>,
    snapshots: Snapshots,
    /// Whether the user has heard that the image cannot be written; and when it is tried again.
    told_of_image: bool,
    next_look: Option<Instant>,
    /// When the drive's totals were kept last, and how many requests it had served then.
    totals_kept: (Instant, u64),
    now: Nanos,
    next_id: u64,
    outcomes: Vec<Outcome>,
    /// When the replies that are about to be written were due.
    due: Vec<Nanos>,
}

impl Server {
    /// A server of a drive at its time `now`, which begins with [`Server::run`].
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn new(
        mut drive: Drive,
        now: Nanos,
        listeners: Vec<(Protocol, Listener)>,
        control: Option<Listener>,
        stop: UnixStream,
        options: ServerOptions,
    ) -> std::io::Result<Server> {
        listeners.iter().try_for_each(|(_, listener)| listener.set_nonblocking())?;
        drive.begin(now);
        control.as_ref().map_or(Ok(()), Listener::set_nonblocking)?;
        stop.set_nonblocking(true)?;
        Ok(Server {
            drive,
            clock: Clock::start(now, options.time_scale),
            cuts: Cuts::new(options.cuts.clone()),
            erasing: None,
            snapshots: Snapshots::default(),
            told_of_image: false,
            next_look: None,
            totals_kept: (instant(), 0),
            options,
            statistics: Statistics::default(),
            connections: BTreeMap::new(),
            ready_at: now,
            listeners,
            control,
            controls: Vec::new(),
            stop,
            now,
            next_id: 0,
            outcomes: Vec::new(),
            due: Vec::new(),
        })
    }

    /// Serves until it is told to stop. Returns the drive, which may still be at parts of requests, its time, what is known of the
    /// server, and the snapshots that it has begun: they are cut short if nobody waits for them.
    ///
    /// # Errors
    /// If the system refuses to wait.
    pub fn run(mut self) -> std::io::Result<(Drive, Nanos, Statistics, Snapshots)> {
        precise_timers();
        self.clock = Clock::start(self.now, self.options.time_scale);
        loop {
            let ready = self.wait()?;
            self.pass_time();
            if ready.stop {
                self.pass_time();
                // Nobody hears of it any more.
                self.drive.owners().into_iter().for_each(|owner| self.drive.abandon(owner));
                return Ok((self.drive, self.now, self.statistics, self.snapshots));
            }
            let now = instant();
            for (listener, _) in ready.listeners.iter().enumerate().filter(|(_, came)| **came) {
                self.accept(listener, now);
            }
            for &(id, came) in &ready.connections {
                self.serve(id, came, now);
            }
            self.serve_controls(&ready, now);
            self.planned_cuts();
            self.pass_time();
            self.keep_totals(now);
            self.watch_image(now);
            self.answer_erase();
            self.write(now);
            self.throw_out(now);
        }
    }

    /// Lets the device's time pass to the clock's, and takes its replies.
    fn pass_time(&mut self) {
        self.now = self.clock.now().max(self.now);
        if !self.drive.device.has_power() {
            return;
        }
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.drive.advance(self.now, &mut outcomes);
        for outcome in outcomes.drain(..) {
            let due = self.hand_over(outcome);
            self.due.extend(due);
        }
        self.outcomes = outcomes;
    }

    /// Tells a client how its request has ended. Returns when it should know.
    fn hand_over(&mut self, outcome: Outcome) -> Option<Nanos> {
        let due = outcome.due;
        let connection = self.connections.get_mut(&outcome.owner)?;
        connection.ended(self.now, &mut self.drive, outcome);
        Some(due)
    }

    /// When something will be due that no socket tells of.
    fn timeout(&self) -> Duration {
        let mut timeout = TICK;
        if let Some(at) = self.cuts.next() {
            timeout = timeout.min(self.clock.wall(self.clock.since_start(self.now), at));
        }
        if let Some(erasing) = &self.erasing {
            timeout = timeout.min(self.clock.wall(self.now, erasing.ready));
        }
        if self.drive.device.has_power()
            && let Some(at) = self.drive.next_event()
        {
            let until = self.clock.wall(self.now, at);
            timeout = timeout.min(if self.drive.under_way() > 0 { until } else { until.max(IDLE_STEP) });
        }
        if self.connections.values().any(|c| c.has_input() && c.may_ask(&self.options.limits)) {
            // What was read before its turn has come.
            timeout = Duration::ZERO;
        }
        timeout
    }

    fn wait(&mut self) -> std::io::Result<Ready> {
        let timeout = self.timeout().saturating_sub(SPIN);
        let mut fds = vec![PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN)];
        fds.extend(self.listeners.iter().map(|(_, l)| PollFd::from_borrowed_fd(l.as_fd(), PollFlags::IN)));
        let control = self.control.as_ref();
        fds.extend(control.map(|l| PollFd::from_borrowed_fd(l.as_fd(), PollFlags::IN)));
        fds.extend(self.controls.iter().map(|c| PollFd::from_borrowed_fd(c.stream.as_fd(), c.wants())));
        let wants = |c: &Connection| {
            let mut wants = PollFlags::empty();
            wants.set(PollFlags::IN, c.may_say_more(&self.options.limits));
            wants.set(PollFlags::OUT, c.has_output());
            wants.set(HUNG_UP_ASKED, c.is_held_up(&self.options.limits));
            wants
        };
        // Of the others a hang-up would be told again and again.
        let waited_for = |c: &Connection| !wants(c).is_empty() || c.is_held_up(&self.options.limits);
        let polled = self.connections.values().filter(|c| waited_for(c));
        fds.extend(polled.map(|c| PollFd::from_borrowed_fd(c.stream.as_fd(), wants(c))));
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let mut came = fds.iter().map(PollFd::revents);
        let mut next = || came.next().unwrap_or(PollFlags::empty());
        let stop = !next().is_empty();
        let listeners = self.listeners.iter().map(|_| !next().is_empty()).collect();
        let control_listener = control.is_some() && !next().is_empty();
        let controls = self.controls.iter().map(|_| !next().is_empty()).collect();
        let mut of = |c| if waited_for(c) { next() } else { PollFlags::empty() };
        let connections = self.connections.iter().map(|(&id, c)| (id, of(c))).collect();
        Ok(Ready { stop, listeners, control_listener, controls, connections })
    }

    fn accept(&mut self, listener: usize, now: Instant) {
        for _ in 0..16 {
            let (protocol, listener) = &self.listeners[listener];
            let stream = match listener.accept() {
                Ok(stream) => stream,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let refused = !self.drive.device.has_power() && self.options.on_cut == OnCut::HangUp;
            let clients = self.connections.len() + self.left_behind();
            if refused || clients >= self.options.limits.connections {
                self.statistics.disconnected += 1;
                continue;
            }
            self.statistics.connections += 1;
            self.next_id += 1;
            let client: Box<dyn Client> = match protocol {
                Protocol::Nbd => Box::new(NbdClient::new(self.next_id)),
                Protocol::Iscsi => {
                    Box::new(IscsiClient::new(self.next_id, stream.local_address(), self.options.limits))
                }
            };
            self.connections.insert(self.next_id, Connection::new(self.next_id, stream, client, now));
        }
    }

    /// Clients that are gone while the drive is still at what they have asked for, with their data.
    fn left_behind(&self) -> usize {
        self.drive.owners().iter().filter(|owner| !self.connections.contains_key(owner)).count()
    }

    /// Reads what a client has sent, and starts what it asks for.
    fn serve(&mut self, id: u64, came: PollFlags, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let mut life = Life::Goes;
        if !came.is_empty() && connection.may_say_more(&self.options.limits) {
            life = connection.read(now);
        } else if came.intersects(HUNG_UP) && connection.is_held_up(&self.options.limits) {
            life = Life::Ended;
        }
        let turn_ends = instant() + TURN;
        while life == Life::Goes && self.connections[&id].may_ask(&self.options.limits) {
            let connection = self.connections.get_mut(&id).expect("it is there");
            let resets = self.drive.resets();
            let step = connection.step(self.now, &mut self.drive);
            if self.drive.resets() != resets {
                let others = self.connections.iter_mut().filter(|other| *other.0 != id);
                others.for_each(|(_, other)| other.drive_was_reset(&mut self.drive));
            }
            match step {
                Step::Wait => break,
                Step::Leaves => break,
                Step::Went if instant() >= turn_ends => break,
                Step::Went => {}
                Step::LoggedIn => self.end_earlier(id),
                Step::Broken => {
                    self.statistics.disconnected += 1;
                    self.drive.abandon(id);
                    break;
                }
            }
        }
        if life == Life::Ended {
            self.end(id);
        }
    }

    /// Ends a connection. What it has asked for goes no further, unless it has said goodbye and left the server to it.
    fn end(&mut self, id: u64) {
        if self.connections.remove(&id).is_some_and(|connection| !connection.is_to_be_served()) {
            self.drive.abandon(id);
        }
    }

    /// Ends those of which this holds. Returns how many they were.
    fn end_those(&mut self, ends: impl Fn(&Connection) -> bool) -> usize {
        let ended: Vec<u64> = self.connections.values().filter(|c| ends(c)).map(|c| c.id).collect();
        ended.iter().for_each(|&id| self.end(id));
        ended.len()
    }

    /// Who comes again does not need the connection that it had before.
    fn end_earlier(&mut self, id: u64) {
        let Some(session) = self.connections[&id].session().map(<[u8]>::to_vec) else { return };
        self.end_those(|c| c.id != id && c.session() == Some(&session));
    }

    fn write(&mut self, now: Instant) {
        let mut ended = Vec::new();
        for connection in self.connections.values_mut() {
            if connection.write(now) == Life::Ended {
                ended.push(connection.id);
            }
        }
        ended.into_iter().for_each(|id| self.end(id));
        if !self.due.is_empty() {
            let written = self.clock.now();
            for due in self.due.drain(..) {
                self.statistics.lateness.record(self.clock.wall(due, written).as_nanos() as Nanos);
            }
        }
    }

    fn throw_out(&mut self, now: Instant) {
        let limits = self.options.limits;
        self.end_those(|c| c.has_heard_all(now));
        self.statistics.disconnected += self.end_those(|c| c.is_stalled(now, &limits)) as u64;
    }

    fn planned_cuts(&mut self) {
        if !self.drive.device.has_plug() {
            return;
        }
        let now = self.clock.since_start(self.now);
        match self.cuts.due(now, self.drive.device.has_power()) {
            Some(Due::Cut) => self.cut(),
            Some(Due::Restore) => self.restore(),
            None => {}
        }
    }

    fn keep_totals(&mut self, now: Instant) {
        let (last, served) = self.totals_kept;
        let after = if self.drive.requests_served() == served { KEEP_TOTALS_IDLE } else { KEEP_TOTALS };
        if now.saturating_duration_since(last) >= after {
            self.drive.device.keep_totals(self.drive.device_time(self.now));
            self.totals_kept = (now, self.drive.requests_served());
        }
    }

    /// Writes to an image whose disk was full once there is space, and tells of both.
    fn watch_image(&mut self, now: Instant) {
        let device = &mut self.drive.device;
        if device.image_is_full() && self.next_look.is_none_or(|at| at <= now) {
            device.catch_up_image();
            self.next_look = Some(now + LOOK_FOR_SPACE);
        }
        let name = &self.drive.export().name;
        match self.drive.device.image_error() {
            Some(error) if !self.told_of_image => {
                let until = if self.drive.device.image_is_full() { "until there is space" } else { "from now on" };
                (self.options.notice)(&format!(
                    "notice: the image of {name} cannot be written: {error}. Writes, trims and flushes fail {until}; what was \
                     answered before is in it"
                ));
            }
            None if self.told_of_image => {
                (self.options.notice)(&format!("notice: the image of {name} has space again: writes go on"));
            }
            _ => return,
        }
        self.told_of_image = !self.told_of_image;
    }

    /// Pulls the plug.
    fn cut(&mut self) {
        self.pass_time();
        self.statistics.cuts += 1;
        let lost = self.drive.cut(self.now);
        let at = status::seconds(self.clock.since_start(self.now));
        (self.options.notice)(&format!(
            "notice: the power of {} was cut at {at:.3} s, with {} requests under way",
            self.drive.export().name,
            lost.len()
        ));
        match self.options.on_cut {
            OnCut::HangUp => self.connections.clear(),
            OnCut::Errors => {
                for outcome in lost {
                    self.hand_over(outcome);
                }
            }
        }
        self.due.clear();
        if let Some(mut erasing) = self.erasing.take() {
            let what = match erasing.crypto {
                true if self.drive.device.key_changes() == erasing.changes => "the erase has not happened",
                true => "the drive is erased",
                false => "the drive is erased, and erases the rest of its blocks when the power is back",
            };
            erasing.control.answer(Err(format!("the power went before the erase had ended: {what}")));
            self.controls.push(erasing.control);
        }
    }

    /// Puts it back.
    fn restore(&mut self) {
        self.now = self.clock.now().max(self.now);
        self.ready_at = self.drive.restore(self.now);
        self.statistics.last_mount = Some(self.ready_at - self.now);
        self.cuts.restored();
        let device = &self.drive.device;
        if let Some((counts, places)) = device.after_cut().zip(device.after_cut_places()) {
            (self.options.notice)(&format!(
                "notice: the power of {} is back at {:.3} s; it is ready after {}; {}",
                self.drive.export().name,
                status::seconds(self.clock.since_start(self.now)),
                format_duration(self.ready_at - self.now),
                came_back::sentence(&counts, places)
            ));
        }
    }

    fn serve_controls(&mut self, ready: &Ready, now: Instant) {
        let mut came = ready.controls.iter().copied();
        for mut control in std::mem::take(&mut self.controls) {
            if came.next().unwrap_or(false) {
                control.read(now);
            }
            if let Some(line) = control.next_line() {
                match Order::read(&line) {
                    Ok(Order::Snapshot { path, number }) => {
                        self.snapshot(control, path, number);
                        continue;
                    }
                    Ok(Order::Erase { crypto }) => match self.erase(crypto) {
                        Ok((ready, changes)) => {
                            self.erasing = Some(Erasing { began: self.now, ready, crypto, changes, control });
                            continue;
                        }
                        Err(error) => control.answer(Err(error)),
                    },
                    Ok(order) => control.answer(self.obey(&order)),
                    Err(error) => control.answer(Err(error)),
                }
            }
            control.write();
            if !control.has_ended(now) {
                self.controls.push(control);
            }
        }
        if ready.control_listener
            && let Some(Ok(stream)) = self.control.as_ref().map(Listener::accept)
        {
            self.admit_control(ControlConnection::new(stream, now));
        }
    }

    /// Where there are many clients already, the one that has said nothing for longest has to go.
    fn admit_control(&mut self, control: ControlConnection) {
        if self.controls.len() >= MOST_CONTROLS {
            let silent = |(at, control): (usize, &ControlConnection)| control.silent_since().map(|since| (since, at));
            match self.controls.iter().enumerate().filter_map(silent).min() {
                Some((_, at)) => drop(self.controls.remove(at)),
                None => return,
            }
        }
        self.controls.push(control);
    }

    /// Begins an erase of everything. Returns when it will have ended, and how often the media key had been changed before.
    fn erase(&mut self, crypto: bool) -> Result<(Nanos, u64), String> {
        if !self.drive.device.has_power() {
            return Err("the power is off".into());
        }
        self.pass_time();
        let name = self.drive.export().name.clone();
        if self.drive.export().read_only {
            return Err(format!("{name} is served read-only"));
        }
        if self.erasing.is_some() {
            return Err("an erase is under way already".into());
        }
        if self.now < self.ready_at {
            return Err("the drive is not ready yet: it is recovering".into());
        }
        if self.drive.under_way() > 0 {
            let requests = self.drive.under_way();
            return Err(format!("{requests} requests are under way: an erase needs a drive at rest"));
        }
        if self.drive.device.security().is_none() {
            return Err(format!("{name} has no erase"));
        }
        if self.drive.lock().is_some_and(|lock| lock.tper().is_activated()) {
            return Err(format!(
                "{name} has locking activated (TCG Opal): it is erased by GenKey, Revert and RevertSP only"
            ));
        }
        let device = &mut self.drive.device;
        if let Some(error) = device.image_error() {
            return Err(format!("the image of {name} cannot be written: {error}"));
        }
        if crypto && !device.encrypts() {
            return Err(format!("{name} does not encrypt what it stores, and has no crypto erase"));
        }
        let changes = device.key_changes();
        let ready = if crypto { device.crypto_erase(self.now) } else { device.secure_erase(self.now) };
        if crypto && device.key_changes() == changes {
            return Err(format!("{name} is worn out and read-only: it stays as it is"));
        }
        Ok((ready, changes))
    }

    /// Tells who waits for an erase that it has ended.
    fn answer_erase(&mut self) {
        let Some(mut erasing) = self.erasing.take_if(|erasing| erasing.ready <= self.now) else { return };
        let answer = match self.drive.device.image_error() {
            Some(error) => Err(format!("the drive is erased, but its image could not be written: {error}")),
            None => Ok(serde_json::json!({
                "erased": if erasing.crypto { "crypto" } else { "secure" },
                "took_ms": (erasing.ready - erasing.began) as f64 / 1e6,
                "media_key_changes": self.drive.device.encrypts().then(|| self.drive.device.key_changes()),
            })),
        };
        erasing.control.answer(answer);
        self.controls.push(erasing.control);
    }

    /// Writes an image of the bytes as they are now, and of the drive with a plug, while the server goes on: pages are shared
    /// until they change. Not without power: only what the drive says when its power is back tells what its pages are.
    fn snapshot(&mut self, mut control: ControlConnection, path: std::path::PathBuf, number: u64) {
        if !self.drive.device.has_power() {
            let what = "the power is off, and what the cut has taken back shows when it is on again: restore it before the snapshot";
            control.answer(Err(what.into()));
            return self.controls.push(control);
        }
        self.pass_time();
        if self.drive.device.is_erasing() {
            control.answer(Err("an erase is under way".into()));
            return self.controls.push(control);
        }
        // A copy of the key would outlive an erase: the image has one of its own.
        let changes = self.drive.device.encrypts().then(|| self.drive.device.key_changes());
        let store = self.drive.device.store().clone();
        let copy = self.drive.device.copy_to_save(self.drive.device_time(self.now));
        let name = self.drive.export().name.clone();
        let reserved = self.drive.lock().map_or_else(Vec::new, Lock::pages);
        let thread = std::thread::spawn(move || {
            let with_drive = copy.is_some();
            let key = changes.map(MediaKey::random).transpose().map_err(ImageError::Io);
            let image = key.and_then(|key| UnfinishedImage::create(&path, &name, number, &store, key));
            let written = image.and_then(|mut image| {
                copy.map_or(Ok(()), |copy| image.image().append_state(&copy.save()))?;
                image.image().append_reserved(&reserved)?;
                image.finish_closed()
            });
            let stored_bytes = store.stored_pages() * PAGE_BYTES as u64;
            let told =
                || serde_json::json!({ "snapshot": path, "stored_bytes": stored_bytes, "with_drive": with_drive });
            let answer = written.map(|()| told()).map_err(|e| format!("{}: {e}", path.display()));
            control.answer_patiently(answer);
        });
        self.snapshots.add(thread);
    }

    fn obey(&mut self, order: &Order) -> Result<serde_json::Value, String> {
        let plugged = |server: &Server| match server.drive.device.has_plug() {
            true => Ok(()),
            false => Err(format!("{} has no plug that can be pulled", server.drive.export().name)),
        };
        match order {
            Order::Status | Order::Snapshot { .. } | Order::Erase { .. } => {}
            Order::Smart => return status::smart(&mut self.view()),
            Order::Blame => return Ok(blame(&self.view())),
            Order::Timeline => return status::timeline(&mut self.view()),
            Order::Cut => {
                plugged(self)?;
                if !self.drive.device.has_power() {
                    return Err("the power is off already".into());
                }
                self.cut();
            }
            Order::Restore => {
                plugged(self)?;
                if self.drive.device.has_power() {
                    return Err("the power is on already".into());
                }
                self.restore();
            }
        }
        Ok(status::status(&mut self.view()))
    }

    fn view(&mut self) -> View<'_> {
        View {
            drive: &mut self.drive,
            clock: self.clock,
            statistics: &self.statistics,
            connections: self.connections.values().filter(|c| c.is_client()).count(),
            now: self.now,
            ready_at: self.ready_at,
        }
    }
}

/// Snapshots that are being written.
#[derive(Default)]
pub struct Snapshots {
    threads: Vec<JoinHandle<()>>,
}

impl Snapshots {
    fn add(&mut self, thread: JoinHandle<()>) {
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(thread);
    }

    /// Until they are whole, or their clients know why not.
    pub fn wait(self) {
        // A thread that has panicked has said so.
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// An erase of everything, and who waits for its end.
struct Erasing {
    began: Nanos,
    ready: Nanos,
    crypto: bool,
    /// Of the media key, before.
    changes: u64,
    control: ControlConnection,
}

/// What a wait has brought.
struct Ready {
    stop: bool,
    listeners: Vec<bool>,
    control_listener: bool,
    controls: Vec<bool>,
    connections: Vec<(u64, PollFlags)>,
}

/// By default Linux lets a sleeping thread sleep 50 µs longer.
fn precise_timers() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
}
