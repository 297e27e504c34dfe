//! The folder that a command writes into: checked whole before any work, and nothing in it overwritten that ssdlab did
//! not write.
//!
//! What ssdlab knows of the folder stands in its sub-folder `.ssdlab`:
//!
//! | file | what |
//! |---|---|
//! | `lock` | held while a command writes here, so that no two do |
//! | `written.json` | every file that ssdlab wrote, with a digest of its content, and the command whose run has not ended |
//! | `tests/` | finished tests of a run that has not ended ([`crate::finished`]) |

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use ssdlab_core::input;
use ssdlab_report::unfinished_name;
use ssdlab_sweep::{StoreError, digest, write_whole};

use crate::args::ReportArgs;
use crate::failure::Failure;

const OWN: &str = ".ssdlab";
const LOCK: &str = "lock";
const WRITTEN: &str = "written.json";
const TESTS: &str = "tests";
/// Folder within, for what is not whole ([`OutputFolder::write`]).
pub const UNFINISHED: &str = "unfinished";
const SCHEMA: &str = "ssdlab.written/1";
/// How the schema of every version begins.
const SCHEMA_NAME: &str = "ssdlab.written/";
/// Depth of folders within a folder of ours: `series/DRIVE/file`.
const MAX_DEPTH: u32 = 8;

/// What a command writes: names at the top of the folder.
#[derive(Clone, Copy, Debug)]
pub struct Writes {
    pub command: &'static str,
    pub files: &'static [&'static str],
    /// Folders in which every file is written by ssdlab.
    pub folders: &'static [&'static str],
    /// Folders whose files tell themselves apart from others, by name and digest.
    pub stores: &'static [&'static str],
}

impl Writes {
    /// A review and what it consists of on disk.
    pub const REVIEW: Writes = Writes::page_or_part("review");
    /// The same of a job file.
    pub const RUN: Writes = Writes::page_or_part("run");

    /// Nothing but finished tests, while the command runs.
    pub const fn nothing(command: &'static str) -> Writes {
        Writes { command, files: &[], folders: &[], stores: &[] }
    }

    /// A command that writes a page as a review does.
    pub const fn page(command: &'static str) -> Writes {
        Writes { command, files: &["index.html", "results.json"], folders: &["series", "charts"], stores: &[] }
    }

    /// The same of one whose page may lack something ([`OutputFolder::write`]).
    const fn page_or_part(command: &'static str) -> Writes {
        Writes { folders: &["series", "charts", UNFINISHED], ..Writes::page(command) }
    }

    const fn leaves_nothing(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty() && self.stores.is_empty()
    }

    /// What to do about what is another's. What leaves nothing replaces nothing either.
    const fn help_in_the_way(&self) -> &'static str {
        if self.leaves_nothing() {
            "choose another folder"
        } else {
            "choose another folder, or replace what is there with --force"
        }
    }
}

/// What ssdlab has written into a folder.
#[derive(Debug, Default)]
struct Known {
    /// Digests by path within the folder.
    files: BTreeMap<String, String>,
    /// The command that wrote them, if it is known.
    command: Option<String>,
    /// The command of a run that has begun here and not ended: what it has kept is its own.
    begun: Option<String>,
    /// That run had begun to write: whatever stands at the names that it writes is its own.
    writing: bool,
}

/// A folder that this command may write to, and no other at the same time.
#[derive(Debug)]
pub struct OutputFolder {
    dir: PathBuf,
    writes: Writes,
    known: Known,
    /// Another command, whose run had not ended before this one began, and whether it had begun to write.
    begun_before: Option<(String, bool)>,
    /// Finished tests that others had kept here by then.
    tests_before: usize,
    /// Made by this command.
    is_new: bool,
    /// Whether files that ssdlab did not write may be overwritten.
    force: bool,
    /// `None`: the folder is another process's.
    lock: Option<File>,
}

impl OutputFolder {
    /// Checks the folder, makes it if need be, and removes what a run that was killed left half written.
    ///
    /// # Errors
    /// If something stands in the way: of the wrong kind, not writable, at work for another command, or (without
    /// `force`) not written by ssdlab.
    pub fn open(dir: &Path, writes: Writes, force: bool) -> Result<Self, Failure> {
        let is_new = !exists(dir).map_err(|e| refused(dir, dir, &e))?;
        check_parents(dir)?;
        fs::create_dir_all(dir).map_err(|e| refused(dir, dir, &e))?;
        let own = dir.join(OWN);
        match fs::symlink_metadata(&own) {
            Ok(meta) if !meta.is_dir() => return Err(in_the_way(dir, OWN, "a file or link", "a folder")),
            Ok(_) => {}
            Err(_) => fs::create_dir(&own).map_err(|e| refused(dir, &own, &e))?,
        }
        for (name, wanted) in [(LOCK, Kind::File), (WRITTEN, Kind::File), (TESTS, Kind::Folder)] {
            let path = own.join(name);
            match kind(&path).map_err(|e| refused(dir, &path, &e))? {
                Some(found) if found != wanted => {
                    return Err(in_the_way(dir, &format!("{OWN}/{name}"), found.words(), wanted.words()));
                }
                _ => {}
            }
        }
        let lock_path = own.join(LOCK);
        // What stands there is not emptied: it may be somebody else's.
        let lock = File::options().read(true).write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(|e| refused(dir, &lock_path, &e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::bad_input(format!("another ssdlab is writing to {}", dir.display()))
                    .help("wait for its end, or choose another folder"));
            }
            // A file system without locks: nothing to be done about it.
            Err(TryLockError::Error(_)) => {}
        }
        let known = match Record::read(&own.join(WRITTEN)) {
            Record::None => Known::default(),
            Record::Known(known) => known,
            Record::Foreign(_) if force && !writes.leaves_nothing() => Known::default(),
            Record::Foreign(what) => {
                let what = format!("{} {what}", own.join(WRITTEN).display());
                return Err(Failure::bad_input(what).help(writes.help_in_the_way()));
            }
        };
        let begun_before = known.begun.clone().filter(|begun| begun != writes.command);
        let begun_before = begun_before.map(|begun| (begun, known.writing));
        let (dir, lock) = (dir.to_owned(), Some(lock));
        let mut folder = OutputFolder { dir, writes, known, begun_before, tests_before: 0, is_new, force, lock };
        folder.sweep_up();
        folder.check()?;
        folder.tests_before = folder.count_tests();
        // Before any work: if this process is killed, others must know whose run it was.
        folder.known.writing &= folder.is_of_this_command();
        folder.known.begun = Some(writes.command.to_owned());
        folder.save().map_err(|e| Failure::bad_input(e.to_string()).help("choose another folder"))?;
        Ok(folder)
    }

    /// The folder that `--out` names, for a page as a review writes it.
    ///
    /// # Errors
    /// As [`OutputFolder::open`].
    pub fn for_report(command: &'static str, args: &ReportArgs) -> Result<Option<Self>, Failure> {
        args.out.as_deref().map(|dir| Self::open(dir, Writes::page(command), args.force)).transpose()
    }

    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Leaves the folder to the process that this one was forked from: it stays as it is, and locked as long as that one
    /// keeps it.
    pub fn disown(mut self) {
        self.lock = None;
    }

    /// Where finished tests are kept.
    pub fn tests(&self) -> PathBuf {
        self.dir.join(OWN).join(TESTS)
    }

    fn count_tests(&self) -> usize {
        fs::read_dir(self.tests()).map_or(0, Iterator::count)
    }

    /// Removes what a run leaves when it is killed while it writes: a folder in which a review grew, and files beside their place.
    /// Beside these, the folder is the user's, and the others are ours.
    fn sweep_up(&self) {
        let names = [&*self.dir, Path::new(UNFINISHED)].map(unfinished_name);
        let is_staging = |begin: &str| names.iter().any(|name| begin == name);
        for folder in [true, false].map(|is_whole| self.place(is_whole)) {
            sweep(&folder, &|begin, is_folder| {
                if is_folder { is_staging(begin) } else { self.writes.files.contains(&begin) }
            });
        }
        let stores = self.writes.stores.iter().map(|s| self.dir.join(s));
        for folder in [self.dir.join(OWN), self.tests()].into_iter().chain(stores) {
            sweep(&folder, &|begin, is_folder| begin.ends_with(".json") && !is_folder);
        }
    }

    fn check(&self) -> Result<(), Failure> {
        self.check_kind()?;
        self.writes
            .files
            .iter()
            .chain(self.writes.folders)
            .chain(self.writes.stores)
            .try_for_each(|name| self.check_name(name))
    }

    /// What stands at a name that the command writes.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        let path = self.dir.join(name);
        let is_file = self.writes.files.contains(&name);
        match kind(&path).map_err(|e| refused(&self.dir, &path, &e))? {
            None => Ok(()),
            Some(Kind::File) if is_file => self.check_file(name),
            Some(other) if is_file => Err(in_the_way(&self.dir, name, other.words(), "a file")),
            Some(Kind::Folder) if self.writes.stores.contains(&name) => self.check_writable(&path),
            Some(Kind::Folder) => self.check_folder(name, 0),
            Some(other) => Err(in_the_way(&self.dir, name, other.words(), "a folder")),
        }
    }

    /// Whether the run that had not ended was of this command.
    fn is_of_this_command(&self) -> bool {
        self.known.begun.as_deref() == Some(self.writes.command)
    }

    /// What another kind of command has written here would be taken for left over from this one, and removed.
    fn check_kind(&self) -> Result<(), Failure> {
        let force = self.force;
        let Writes { command, files, folders, stores } = self.writes;
        let help = self.writes.help_in_the_way();
        if let Some(begun) = self.known.begun.as_deref().filter(|_| !force && !self.is_of_this_command()) {
            let what = format!("in {} a run of {} has not ended", self.dir.display(), named(begun));
            return Err(Failure::bad_input(what).help(help));
        }
        let is_there = |path: &str| exists(&self.dir.join(path)).unwrap_or(false);
        let is_own = |path: &str| {
            let top = path.split('/').next().unwrap_or(path);
            files.contains(&path) || folders.contains(&top) || stores.contains(&top)
        };
        let by_another =
            self.known.command.as_deref().is_some_and(|known| known != command) && !self.writes.leaves_nothing();
        let other = self.known.files.keys().find(|path| (by_another || !is_own(path)) && is_there(path));
        match other {
            Some(path) if !force => Err(Failure::bad_input(format!(
                "{} is what {} has written",
                self.dir.join(path).display(),
                named(self.known.command.as_deref().unwrap_or_default())
            ))
            .help(help)),
            _ => Ok(()),
        }
    }

    fn check_folder(&self, within: &str, depth: u32) -> Result<(), Failure> {
        let path = self.dir.join(within);
        self.check_writable(&path)?;
        for entry in fs::read_dir(&path).map_err(|e| refused(&self.dir, &path, &e))? {
            let entry = entry.map_err(|e| refused(&self.dir, &path, &e))?;
            let name = format!("{within}/{}", entry.file_name().to_string_lossy());
            match kind(&entry.path()).map_err(|e| refused(&self.dir, &entry.path(), &e))? {
                None => {}
                Some(Kind::File) => self.check_file(&name)?,
                Some(Kind::Folder) if depth < MAX_DEPTH => self.check_folder(&name, depth + 1)?,
                Some(other) => return Err(in_the_way(&self.dir, &name, other.words(), "a file of ssdlab")),
            }
        }
        Ok(())
    }

    fn check_writable(&self, folder: &Path) -> Result<(), Failure> {
        let probe = folder.join(format!(".ssdlab-can-write.partial-{}", std::process::id()));
        fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).map_err(|e| refused(&self.dir, folder, &e))
    }

    fn check_file(&self, name: &str) -> Result<(), Failure> {
        if self.force || self.known.writing && self.is_of_this_command() {
            return Ok(());
        }
        let problem = match self.known.files.get(name) {
            Some(known) if file_digest(&self.dir.join(name)).is_ok_and(|found| found == *known) => return Ok(()),
            Some(_) => "was changed after ssdlab had written it",
            None => "was not written by ssdlab",
        };
        Err(Failure::bad_input(format!("{} {problem}", self.dir.join(name).display()))
            .help("choose another folder, or overwrite it with --force"))
    }

    /// Writes what came of a run with `write`, which is given the folder and returns what it has written there. What is
    /// not whole goes into a folder within, and the whole one of an earlier run stays; the next whole one takes the place
    /// of both.
    ///
    /// # Errors
    /// Those of `write`; if others have put something there since the folder was opened; if it cannot be written down what is
    /// here.
    pub fn write<T>(
        &mut self,
        is_whole: bool,
        write: impl FnOnce(&Path) -> Result<(T, Vec<PathBuf>), Failure>,
    ) -> Result<T, Failure> {
        let place = self.place(is_whole);
        if is_whole {
            self.check().map_err(Failure::after_a_run)?;
            let names: Vec<&str> = self.writes.files.iter().chain(self.writes.folders).copied().collect();
            let (written, files) = self.write_noted(&names, || write(&place))?;
            self.written(&files)?;
            return Ok(written);
        }
        // Whatever stands beside the folder within stays.
        self.check_name(UNFINISHED).map_err(Failure::after_a_run)?;
        let (written, files) = self.write_noted(&[UNFINISHED], || write(&place))?;
        let files: Vec<PathBuf> = files.iter().map(|file| Path::new(UNFINISHED).join(file)).collect();
        self.written_within(UNFINISHED, &files)?;
        Ok(written)
    }

    /// As [`OutputFolder::write`] of what is not whole, where that has names of its own beside those of the whole one: whatever
    /// stands at others stays.
    ///
    /// # Errors
    /// As [`OutputFolder::write`].
    pub fn write_beside<T>(
        &mut self,
        names: &[&str],
        write: impl FnOnce(&Path) -> Result<(T, Vec<PathBuf>), Failure>,
    ) -> Result<T, Failure> {
        names.iter().try_for_each(|name| self.check_name(name)).map_err(Failure::after_a_run)?;
        let dir = self.dir.clone();
        let (written, files) = self.write_noted(names, || write(&dir))?;
        self.written_beside(&files)?;
        Ok(written)
    }

    /// Where [`OutputFolder::write`] writes.
    pub fn place(&self, is_whole: bool) -> PathBuf {
        if is_whole { self.dir.clone() } else { self.dir.join(UNFINISHED) }
    }

    /// Writes at these names. While it does so, whatever stands there is ours; if it fails, only what it has brought is.
    fn write_noted<T>(&mut self, names: &[&str], write: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        // Of a run that was killed while it wrote, all that stands there was ours before.
        let all_is_ours = self.known.writing && self.is_of_this_command();
        let before = if all_is_ours { BTreeMap::new() } else { self.digests_at(names) };
        if all_is_ours {
            // At other names, too, and that has to be known when this write has ended.
            let all = self.writes.files.iter().chain(self.writes.folders).copied();
            let others: Vec<&str> = all.filter(|name| !names.contains(name)).collect();
            self.know(self.digests_at(&others));
        }
        self.note_writing()?;
        write().inspect_err(|_| {
            let mut brought = self.digests_at(names);
            brought.retain(|file, digest| before.get(file) != Some(digest));
            self.know(brought);
            self.known.writing = false;
            // Where this cannot be noted either, all that stands there stays ours, as after the end of a process.
            let _ = self.save();
        })
    }

    /// That these files are of this command.
    fn know(&mut self, files: BTreeMap<String, String>) {
        if !files.is_empty() {
            self.known.command = Some(self.writes.command.to_owned());
            self.begun_before = None;
            self.known.files.extend(files);
        }
    }

    /// Digests of the files that stand at these names, and in folders of these names.
    fn digests_at(&self, names: &[&str]) -> BTreeMap<String, String> {
        let mut digests = BTreeMap::new();
        let mut left: Vec<(String, u32)> = names.iter().map(|&name| (name.to_owned(), 0)).collect();
        while let Some((name, depth)) = left.pop() {
            let path = self.dir.join(&name);
            match kind(&path) {
                Ok(Some(Kind::File)) => digests.extend(file_digest(&path).ok().map(|digest| (name, digest))),
                Ok(Some(Kind::Folder)) if depth <= MAX_DEPTH => {
                    let within = fs::read_dir(&path).into_iter().flatten().flatten();
                    left.extend(within.map(|e| (format!("{name}/{}", e.file_name().to_string_lossy()), depth + 1)));
                }
                _ => {}
            }
        }
        digests
    }

    fn note_writing(&mut self) -> Result<(), Failure> {
        self.known.begun = Some(self.writes.command.to_owned());
        self.known.writing = true;
        self.save().map_err(unsaved)
    }

    /// Says that these files, and no others, are what ssdlab has written here. What an earlier run wrote and this one
    /// did not is removed.
    ///
    /// # Errors
    /// If that cannot be written down, or a file that was written cannot be read.
    fn written(&mut self, files: &[PathBuf]) -> Result<(), Failure> {
        let now = self.digests(files)?;
        self.replace(now)
    }

    /// As [`OutputFolder::written`], of what is written into a folder within: what stands beside that stays.
    ///
    /// # Errors
    /// As [`OutputFolder::written`].
    fn written_within(&mut self, within: &str, files: &[PathBuf]) -> Result<(), Failure> {
        let beside = self.known.files.iter().filter(|(file, _)| !Path::new(file).starts_with(within));
        let mut now: BTreeMap<String, String> = beside.map(|(file, digest)| (file.clone(), digest.clone())).collect();
        now.extend(self.digests(files)?);
        self.replace(now)
    }

    fn replace(&mut self, now: BTreeMap<String, String>) -> Result<(), Failure> {
        for (old, digest) in &self.known.files {
            let path = self.dir.join(old);
            let unchanged = || file_digest(&path).is_ok_and(|found| found == *digest);
            if !now.contains_key(old) && kind(&path).is_ok_and(|k| k == Some(Kind::File)) && unchanged() {
                // A file that stays is only out of date; the next run tries again.
                let _ = fs::remove_file(&path);
                for folder in path.ancestors().skip(1).take_while(|f| *f != self.dir) {
                    // Only if nothing else is in it.
                    let _ = fs::remove_dir(folder);
                }
            }
        }
        self.end_with(now)
    }

    /// Says that these files are what ssdlab has written here beside what an earlier run wrote.
    ///
    /// # Errors
    /// As [`OutputFolder::written`].
    fn written_beside(&mut self, files: &[PathBuf]) -> Result<(), Failure> {
        let mut all = self.known.files.clone();
        all.extend(self.digests(files)?);
        self.end_with(all)
    }

    /// Says that these files are what is here of ssdlab, and that no run is under way.
    fn end_with(&mut self, files: BTreeMap<String, String>) -> Result<(), Failure> {
        self.known = Known { files, command: Some(self.writes.command.to_owned()), begun: None, writing: false };
        self.begun_before = None;
        self.save().map_err(unsaved)
    }

    fn digests(&self, files: &[PathBuf]) -> Result<BTreeMap<String, String>, Failure> {
        let of = |file: &PathBuf| match file_digest(&self.dir.join(file)) {
            Ok(digest) => Ok((slashed(file), digest)),
            Err(e) => Err(refused(&self.dir, file, &e)),
        };
        files.iter().map(of).collect()
    }

    fn save(&self) -> Result<(), StoreError> {
        let document = json!({
            "schema": SCHEMA,
            "command": self.known.command,
            "begun": self.known.begun,
            "writing": self.known.writing,
            "files": self.known.files,
        });
        write_whole(&self.dir.join(OWN).join(WRITTEN), format!("{document:#}\n").as_bytes())
    }

    /// Removes the folder of what ssdlab knows, without what is not ours: others may have put files there.
    fn remove_own(&self) {
        let own = self.dir.join(OWN);
        if let Record::Known(_) = Record::read(&own.join(WRITTEN)) {
            let _ = fs::remove_file(own.join(WRITTEN));
        }
        // We hold the lock, and write nothing into it.
        if fs::symlink_metadata(own.join(LOCK)).is_ok_and(|meta| meta.is_file() && meta.len() == 0) {
            let _ = fs::remove_file(own.join(LOCK));
        }
        // Only if nothing else is in them.
        let _ = fs::remove_dir(own.join(TESTS));
        let _ = fs::remove_dir(own);
    }
}

/// That the list of what is here could not be written, when something has run.
fn unsaved(e: StoreError) -> Failure {
    Failure::run(e.to_string())
}

/// A command as messages name it; empty: it is not known which.
fn named(command: &str) -> String {
    if command.is_empty() { "another command of ssdlab".to_owned() } else { format!("`ssdlab {command}`") }
}

/// Removes from a folder what is named `NAME.partial-NUMBER`, of the names that are ours: they are given with whether it is a
/// folder.
fn sweep(folder: &Path, ours: &dyn Fn(&str, bool) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((begin, number)) = name.rsplit_once(".partial-") else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) && ours(begin, is_folder) {
            // What cannot be removed is in nobody's way.
            let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if self.lock.is_none() {
            return;
        }
        // Tests of another command's run are no result of this one.
        let of_others = if self.begun_before.is_some() { self.tests_before } else { 0 };
        if self.known.writing || self.count_tests() > of_others {
            return;
        }
        // Nothing came of the run: the folder is left as it was found, as far as that can be.
        let (begun, writing) = self.begun_before.take().unzip();
        let is_noted = self.known.begun != begun;
        (self.known.begun, self.known.writing) = (begun, writing.unwrap_or(false));
        if self.known.files.is_empty() && self.known.begun.is_none() {
            self.remove_own();
            if self.is_new {
                let _ = fs::remove_dir(&self.dir);
            }
        } else if is_noted {
            let _ = self.save();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Kind::File => "a file",
            Kind::Folder => "a folder",
            Kind::Link => "a symbolic link",
            Kind::Other => "a device or FIFO",
        }
    }
}

/// What stands at a path, without following a link.
fn kind(path: &Path) -> io::Result<Option<Kind>> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Ok(Some(Kind::Link)),
        Ok(meta) if meta.is_dir() => Ok(Some(Kind::Folder)),
        Ok(meta) if meta.is_file() => Ok(Some(Kind::File)),
        Ok(_) => Ok(Some(Kind::Other)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn exists(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&e.kind()) => Ok(false),
        Err(e) => Err(e),
    }
}

/// The nearest part of the path that exists must be a folder.
fn check_parents(dir: &Path) -> Result<(), Failure> {
    for part in dir.ancestors() {
        let part = if part.as_os_str().is_empty() { Path::new(".") } else { part };
        match fs::metadata(part) {
            Ok(meta) if meta.is_dir() => return Ok(()),
            Ok(_) => return Err(refused(dir, part, &io::ErrorKind::NotADirectory.into())),
            // A part of the path further up may be a file.
            Err(e) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&e.kind()) => {}
            Err(e) => return Err(refused(dir, part, &e)),
        }
    }
    Ok(())
}

fn refused(dir: &Path, path: &Path, e: &io::Error) -> Failure {
    Failure::bad_input(format!("cannot write to the output folder {}: {}: {e}", dir.display(), path.display()))
        .help("choose another folder")
}

fn in_the_way(dir: &Path, name: &str, found: &str, wanted: &str) -> Failure {
    Failure::bad_input(format!("{} is {found}, where {wanted} would be written", dir.join(name).display()))
        .help("remove it, or choose another folder")
}

fn file_digest(path: &Path) -> io::Result<String> {
    Ok(digest(&fs::read(path)?))
}

/// A path within the folder, the same on every system.
fn slashed(path: &Path) -> String {
    path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The list of what an earlier run has written.
enum Record {
    None,
    Known(Known),
    /// This program does not know what is ours: why not, in words behind the name of the file.
    Foreign(String),
}

impl Record {
    fn read(path: &Path) -> Record {
        if kind(path).is_ok_and(|found| found.is_none()) {
            return Record::None;
        }
        let text = match input::read_text(path) {
            Ok(text) => text,
            Err(e) => return Record::Foreign(format!("cannot be read: {e}")),
        };
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        match document["schema"].as_str() {
            Some(SCHEMA) => Record::Known(known(&document)),
            Some(schema) if schema.starts_with(SCHEMA_NAME) => {
                Record::Foreign("was written by another version of ssdlab".to_owned())
            }
            _ => Record::Foreign("is no list of ssdlab".to_owned()),
        }
    }
}

fn known(document: &Value) -> Known {
    let inside = |name: &str| Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
    let files = document["files"].as_object().into_iter().flatten();
    let files = files.filter_map(|(name, digest)| Some((name.clone(), digest.as_str()?.to_owned())));
    // Words are shown to the user.
    let name = |key: &str| {
        let word = document[key].as_str().filter(|c| c.len() < 20 && c.bytes().all(|b| b.is_ascii_lowercase()));
        word.map(str::to_owned)
    };
    Known {
        files: files.filter(|(name, _)| inside(name)).collect(),
        command: name("command"),
        begun: name("begun"),
        writing: document["writing"] == true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a process that is killed, which does not tidy up.
    fn kill(folder: OutputFolder) {
        folder.disown();
    }

    #[test]
    fn what_a_killed_run_leaves_is_that_of_its_command() {
        const SWEEP: Writes = Writes { command: "sweep", files: &["index.html"], folders: &[], stores: &["points"] };
        let dir = std::env::temp_dir().join(format!("ssdlab-killed-run-{}", std::process::id()));
        let open = |writes, force| OutputFolder::open(&dir, writes, force);
        let refused = |writes| open(writes, false).err().map(|e| e.to_string()).unwrap_or_default();
        // Before it has written anything.
        kill(open(Writes::REVIEW, false).unwrap_or_else(|e| panic!("{e}")));
        assert!(refused(SWEEP).contains("a run of `ssdlab review` has not ended"), "{}", refused(SWEEP));
        assert!(!refused(Writes::nothing("predict")).contains("--force"), "{}", refused(Writes::nothing("predict")));
        // While it wrote.
        let mut review = open(Writes::REVIEW, false).unwrap_or_else(|e| panic!("{e}"));
        review.note_writing().unwrap_or_else(|e| panic!("{e}"));
        fs::write(dir.join("index.html"), "half").unwrap();
        kill(review);
        assert!(refused(SWEEP).contains("a run of `ssdlab review` has not ended"), "{}", refused(SWEEP));
        // One that was allowed to replace it, and came to nothing.
        drop(open(SWEEP, true).unwrap_or_else(|e| panic!("{e}")));
        let mut review = open(Writes::REVIEW, false).unwrap_or_else(|e| panic!("{e}"));
        review.written(&[PathBuf::from("index.html")]).unwrap_or_else(|e| panic!("{e}"));
        drop(review);
        assert!(refused(SWEEP).contains("is what `ssdlab review` has written"), "{}", refused(SWEEP));
        // One that was allowed to replace it, and came to nothing.
        drop(open(SWEEP, true).unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(refused(Writes::REVIEW), "");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_others_put_there_during_the_run_is_not_overwritten() {
        let dir = std::env::temp_dir().join(format!("ssdlab-put-there-{}", std::process::id()));
        let open = |force| OutputFolder::open(&dir, Writes::REVIEW, force).unwrap_or_else(|e| panic!("{e}"));
        let page = dir.join("index.html");
        let write = |folder: &mut OutputFolder, is_whole| {
            folder.write(is_whole, |place| {
                fs::create_dir_all(place).unwrap();
                fs::write(place.join("index.html"), "ours").unwrap();
                Ok(((), vec![PathBuf::from("index.html")]))
            })
        };
        let mut folder = open(false);
        fs::write(&page, "mine").unwrap();
        let refused = write(&mut folder, true).unwrap_err();
        assert!(refused.to_string().contains("index.html was not written by ssdlab"), "{refused}");
        // Something has run.
        assert_eq!((refused.exit_code(), fs::read(&page).unwrap()), (1, b"mine".to_vec()));
        // What is not whole lies beside it.
        write(&mut folder, false).unwrap_or_else(|e| panic!("{e}"));
        drop(folder);
        assert_eq!(fs::read(&page).unwrap(), b"mine");
        fs::remove_file(&page).unwrap();
        let mut folder = open(false);
        fs::write(dir.join(UNFINISHED).join("index.html"), "mine").unwrap();
        let refused = write(&mut folder, false).unwrap_err();
        assert!(refused.to_string().contains("was changed after ssdlab had written it"), "{refused}");
        drop(folder);
        let mut folder = open(true);
        fs::write(&page, "mine").unwrap();
        write(&mut folder, true).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(fs::read(&page).unwrap(), b"ours");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn of_a_write_that_fails_only_what_it_has_brought_is_ours() {
        let dir = std::env::temp_dir().join(format!("ssdlab-failed-write-{}", std::process::id()));
        let open = || OutputFolder::open(&dir, Writes::REVIEW, false);
        let fails = |place: &Path| -> Result<((), Vec<PathBuf>), Failure> {
            fs::write(place.join("index.html"), "ours").unwrap();
            Err(Failure::run("the disk is full"))
        };
        let mut folder = open().unwrap_or_else(|e| panic!("{e}"));
        assert!(folder.write(true, fails).is_err());
        drop(folder);
        assert!(open().is_ok(), "what the failed run has written stands in no later one's way");
        let results = dir.join("results.json");
        fs::write(&results, "mine").unwrap();
        let told = open().err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told.contains("results.json was not written by ssdlab"), "{told}");
        assert_eq!(fs::read(&results).unwrap(), b"mine");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_a_killed_run_has_written_stays_ours_when_a_later_one_is_stopped() {
        const TABLE: &[&str] = &["results.csv", "unfinished.csv"];
        const SWEEP: Writes = Writes { command: "sweep", files: TABLE, folders: &["charts"], stores: &[] };
        let dir = std::env::temp_dir().join(format!("ssdlab-killed-then-stopped-{}", std::process::id()));
        let open = |writes: Writes| OutputFolder::open(&dir, writes, false).unwrap_or_else(|e| panic!("{e}"));
        let killed = |writes: Writes, files: [&str; 2]| {
            let mut folder = open(writes);
            folder.note_writing().unwrap_or_else(|e| panic!("{e}"));
            for file in files.map(|file| dir.join(file)) {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "half").unwrap();
            }
            kill(folder);
        };
        for succeeds in [true, false] {
            killed(SWEEP, ["results.csv", "charts/a.svg"]);
            let mut sweep = open(SWEEP);
            let stopped = sweep.write_beside(&["unfinished.csv"], |dir| {
                fs::write(dir.join("unfinished.csv"), "ours").unwrap();
                let done = ((), vec![PathBuf::from("unfinished.csv")]);
                if succeeds { Ok(done) } else { Err(Failure::run("the disk is full")) }
            });
            assert_eq!(stopped.is_ok(), succeeds);
            drop(sweep);
            drop(open(SWEEP));
            // What others put there since is not.
            fs::write(dir.join("results.csv"), "mine").unwrap();
            let told = OutputFolder::open(&dir, SWEEP, false).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(told.contains("results.csv was changed after ssdlab had written it"), "{told}");
            fs::remove_dir_all(&dir).unwrap();
        }
        killed(Writes::REVIEW, ["index.html", "series/a.csv"]);
        let mut review = open(Writes::REVIEW);
        let written = review.write(false, |place| {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join("index.html"), "ours").unwrap();
            Ok(((), vec![PathBuf::from("index.html")]))
        });
        written.unwrap_or_else(|e| panic!("{e}"));
        drop(review);
        drop(open(Writes::REVIEW));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_folder_of_another_version_is_refused_and_left_as_it_is() {
        let dir = std::env::temp_dir().join(format!("ssdlab-other-version-{}", std::process::id()));
        let list = dir.join(OWN).join(WRITTEN);
        let newer = r#"{ "schema": "ssdlab.written/2", "files": {} }"#;
        let refused = |writes, force| OutputFolder::open(&dir, writes, force).err().map(|e| e.to_string());
        fs::create_dir_all(dir.join(OWN)).unwrap();
        for (text, problem) in [(newer, "was written by another version of ssdlab"), ("[", "is no list of ssdlab")] {
            fs::write(&list, text).unwrap();
            for (writes, force) in [(Writes::REVIEW, false), (Writes::nothing("predict"), true)] {
                let told = refused(writes, force).unwrap_or_default();
                assert!(told.contains(&format!("{} {problem}", list.display())), "{told}");
            }
            assert_eq!(fs::read_to_string(&list).unwrap(), text);
        }
        assert_eq!(refused(Writes::REVIEW, true), None);
        assert!(!dir.join(OWN).exists(), "nothing came of the run that was allowed to replace it");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_others_have_put_beside_what_is_ours_stays() {
        let dir = std::env::temp_dir().join(format!("ssdlab-others-files-{}", std::process::id()));
        let others = ["index.html", ".ssdlab/notes.txt", ".ssdlab/lock"].map(|f| dir.join(f));
        fs::create_dir_all(dir.join(OWN)).unwrap();
        others.iter().for_each(|file| fs::write(file, "mine").unwrap());
        let told = OutputFolder::open(&dir, Writes::REVIEW, false).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told.contains("index.html was not written by ssdlab"), "{told}");
        assert!(others.iter().all(|file| fs::read(file).unwrap() == b"mine"));
        assert!(!dir.join(OWN).join(WRITTEN).exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_and_no_fifo_waited_for() {
        let dir = std::env::temp_dir().join(format!("ssdlab-links-{}", std::process::id()));
        let (own, precious) = (dir.join(OWN), dir.join("precious"));
        for name in [LOCK, WRITTEN, TESTS] {
            fs::create_dir_all(&own).unwrap();
            fs::write(&precious, "mine").unwrap();
            std::os::unix::fs::symlink(&precious, own.join(name)).unwrap();
            let told = OutputFolder::open(&dir, Writes::REVIEW, false).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(told.contains(&format!("{name} is a symbolic link, where a f")), "{told}");
            assert_eq!(fs::read(&precious).unwrap(), b"mine");
            fs::remove_dir_all(&own).unwrap();
        }
        fs::create_dir_all(&own).unwrap();
        let fifo = own.join(LOCK);
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let told = OutputFolder::open(&dir, Writes::REVIEW, false).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told.contains("lock is a device or FIFO, where a file would be written"), "{told}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_cannot_be_noted_before_anything_has_run_is_wrong_input() {
        let dir = std::env::temp_dir().join(format!("ssdlab-unnoted-{}", std::process::id()));
        // Stands in for a full disk.
        let in_the_way = dir.join(OWN).join(format!("{WRITTEN}.partial-{}", std::process::id()));
        fs::create_dir_all(in_the_way.join("file")).unwrap();
        let refused = OutputFolder::open(&dir, Writes::REVIEW, false).err();
        assert_eq!(refused.map(|e| e.exit_code()), Some(2));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_run_that_only_keeps_tests_is_of_its_command() {
        let dir = std::env::temp_dir().join(format!("ssdlab-keeps-tests-{}", std::process::id()));
        let predict = OutputFolder::open(&dir, Writes::nothing("predict"), false).unwrap_or_else(|e| panic!("{e}"));
        fs::create_dir_all(predict.tests()).unwrap();
        fs::write(predict.tests().join("0f.json"), "").unwrap();
        drop(predict);
        let open = |command| OutputFolder::open(&dir, Writes::nothing(command), false);
        let told = open("calibrate").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told.contains("a run of `ssdlab predict` has not ended"), "{told}");
        assert!(open("predict").is_ok());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn tests_that_a_run_has_kept_stay_its_own_whatever_comes_to_nothing_between() {
        const SWEEP: Writes = Writes { command: "sweep", files: &["index.html"], folders: &[], stores: &["points"] };
        let dir = std::env::temp_dir().join(format!("ssdlab-kept-tests-{}", std::process::id()));
        let open = |writes, force| OutputFolder::open(&dir, writes, force).unwrap_or_else(|e| panic!("{e}"));
        let begun = || match Record::read(&dir.join(OWN).join(WRITTEN)) {
            Record::Known(known) => known.begun,
            _ => None,
        };
        let review = open(Writes::REVIEW, false);
        fs::create_dir_all(review.tests()).unwrap();
        fs::write(review.tests().join("0f.json"), "").unwrap();
        drop(review);
        assert_eq!(begun().as_deref(), Some("review"), "it was stopped, and goes on from there");
        drop(open(SWEEP, true));
        assert_eq!(begun().as_deref(), Some("review"));
        drop(open(Writes::REVIEW, false));
        // What was kept after that is of the run that kept it.
        kill(open(SWEEP, true));
        let review = open(Writes::REVIEW, true);
        fs::write(review.tests().join("1e.json"), "").unwrap();
        drop(review);
        assert_eq!(begun().as_deref(), Some("review"));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_a_killed_run_leaves_goes_and_what_is_named_like_it_stays() {
        let dir = std::env::temp_dir().join(format!("ssdlab-sweep-up-{}", std::process::id()));
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let files = ["results.json.partial-3", ".ssdlab/written.json.partial-3", ".ssdlab/tests/0f.json.partial-3"];
        let staging = format!(".{name}.partial-1");
        let users =
            ["notes.json.partial-3", "mine.json.partial-4/file", "index.html.partial-5/file", "index.html.partial-"];
        for file in files.into_iter().chain(users).chain([&*format!("{staging}/index.html")]) {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        OutputFolder::open(&dir, Writes::REVIEW, false).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(files.map(|file| dir.join(file).exists()), [false; 3]);
        assert!(!dir.join(staging).exists());
        assert_eq!(users.map(|file| dir.join(file).exists()), [true; 4]);
        fs::remove_dir_all(dir).unwrap();
    }
}
