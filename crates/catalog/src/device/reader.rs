//! From what stands where a drive name can stand to a device that can be built.

use std::fs;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use ssdlab_arrays::adapter_keys;
use ssdlab_bench::parse_bytes;
use ssdlab_bench::suite::TestDef;
use ssdlab_core::{input, nearest};
use ssdlab_device::{Device, name_of_file};
use toml::Table;

use super::expression::{Argument, MAX_DEPTH, MAX_DEVICES, Node, parse};
use super::{DeviceRecipe, Parts};
use crate::adapter::{Unfit, adapter_names, key_named, parse_adapter, read_adapter};
use crate::diagnostic::{Diagnostic, Place};
use crate::disk::{Disk, disk, disk_names, parse_disk};
use crate::embedded::{ADAPTERS, ARRAYS, DISKS, DRIVES, EmbeddedFile, find};
use crate::explain::Problem;
use crate::keys::keys_of;
use crate::load;
use crate::resolve::{Drive, drive_names, drive_of, locate, read_file};

/// What a message calls the place of an expression that was not in a file.
pub const DEVICE_ARGUMENT: &str = "DEVICE";

const RAID0: &str = "raid0";
const RANGES: &str = "ranges";
/// The key of the last range, which takes what is left.
const REST: &str = "rest";
/// What hosts of 2009 took by default (ICH7R), and the published best for three drives without a cache.
const DEFAULT_STRIPE: u64 = 128 << 10;

/// Where an expression stands.
#[derive(Clone)]
struct Origin<'a> {
    file: &'a str,
    /// The whole text of the file, or the expression.
    text: &'a str,
    /// Of the expression in the text.
    begin: usize,
    /// Folder that paths begin at.
    folder: &'a Path,
    /// Files that name files.
    depth: usize,
}

/// Finds and reads a device: a name of the catalog, the path of a `.toml` file, or a device expression.
///
/// # Errors
/// If there is no such device (with the nearest names), the expression is wrong (pointing into it), or a file that it
/// names cannot be read or built. Real devices are not opened.
pub fn device(text: &str) -> Result<DeviceRecipe, Diagnostic> {
    device_beside(text, Path::new(""))
}

/// A new device of the catalog that tests measure others by, as [`ssdlab_bench::Lab::reference`] asks for it: `None` if the
/// catalog has no drive or disk of that name.
///
/// # Errors
/// Why it cannot be built: never, unless its file is wrong.
pub fn reference(name: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
    if !drive_names().chain(disk_names()).any(|known| known == name) {
        return Ok(None);
    }
    let recipe = device(name).map_err(|d| d.to_string())?;
    recipe.build(seed).map(Some).map_err(|d| d.to_string())
}

/// Everything that decides on what a test measures others by: nothing for most tests.
#[must_use]
pub fn reference_identity(test: &TestDef) -> Option<Value> {
    test.reference.and_then(|name| device(name).ok()).map(|recipe| recipe.identity())
}

/// What stands for a device as one would write it by hand, which is the name of the device.
#[must_use]
pub fn as_written(text: &str) -> String {
    spelled(text, &|_| None)
}

/// The same with each file by its one path: what names the same files in the same way is the same.
#[must_use]
pub fn one_spelling(text: &str) -> String {
    spelled(text, &|name| fs::canonicalize(name).ok().map(|path| path.display().to_string()))
}

/// The same with each file by its name alone: where it lies makes no other device of it.
#[must_use]
pub fn by_file_names(text: &str) -> String {
    match text.contains('(') {
        true => spelled(text, &|name| Some(name_of_file(name).to_owned())),
        false => name_of_file(text.trim()).to_owned(),
    }
}

/// `path`: what stands for the path of a file.
fn spelled(text: &str, path: &dyn Fn(&str) -> Option<String>) -> String {
    let trimmed = text.trim();
    if Path::new(trimmed).exists() {
        return path(trimmed).unwrap_or_else(|| trimmed.to_owned());
    }
    let of_file = |name: &str| name.ends_with(".toml").then(|| path(name)).flatten();
    parse(trimmed).map_or_else(|_| trimmed.to_owned(), |node| node.renamed(&of_file).to_string())
}

/// As [`device`], with paths that begin at `folder`.
pub(super) fn device_beside(text: &str, folder: &Path) -> Result<DeviceRecipe, Diagnostic> {
    let trimmed = text.trim();
    let is_file = trimmed.ends_with(".toml") && folder.join(trimmed).exists();
    if is_file || !trimmed.contains(['(', ')', '*']) && ![RAID0, RANGES].contains(&trimmed) {
        return named(&beside(folder, trimmed), 0);
    }
    Origin { file: DEVICE_ARGUMENT, text: trimmed, begin: 0, folder, depth: 0 }.read(trimmed)
}

/// The path of a file, or a name of the catalog as it is.
fn beside(folder: &Path, name: &str) -> String {
    if name.ends_with(".toml") { folder.join(name).display().to_string() } else { name.to_owned() }
}

/// A device of the catalog or of a file.
fn named(name: &str, depth: usize) -> Result<DeviceRecipe, Diagnostic> {
    if let Some(file) = find(ARRAYS, name) {
        return array_file(name, file.path, file.text, Path::new(""), depth);
    }
    if find(ADAPTERS, name).is_some() {
        return Err(nothing_attached(name));
    }
    if find(DISKS, name).is_some() {
        return disk(name).map(disk_recipe);
    }
    let (file, text, folder) = locate(name)?;
    of_text(name, &file, &text, folder.as_deref(), depth)
}

/// Reads a device from the text of a file, which is called `file` in messages and need not exist.
pub(super) fn device_of_text(file: &str, text: &str) -> Result<DeviceRecipe, Diagnostic> {
    of_text(file, file, text, Path::new(file).parent(), 0)
}

fn of_text(
    name: &str,
    file: &str,
    text: &str,
    folder: Option<&Path>,
    depth: usize,
) -> Result<DeviceRecipe, Diagnostic> {
    match kind_of(text).as_deref() {
        None => Ok(ssd(drive_of(name, file, text, folder)?)),
        Some("disk") => parse_disk(file, text).map(disk_recipe),
        Some("array") => array_file(name, file, text, folder.unwrap_or(Path::new("")), depth),
        // What is wrong with the file comes first.
        Some("adapter") => Err(parse_adapter(file, text).err().unwrap_or_else(|| nothing_attached(name))),
        Some(other) => {
            let known = ["disk", "array", "adapter"];
            let place = keys_of(text).into_iter().find(|key| key.path == "kind").map_or(0..0, |key| key.value);
            let error = Diagnostic::new(format!("there is no kind of device `{other}`"));
            Err(did_you_mean(error.at(Place::new(file, text, place)), other, known)
                .help("kinds are \"disk\", \"array\" and \"adapter\"; the file of an SSD has none"))
        }
    }
}

fn ssd(drive: Drive) -> DeviceRecipe {
    DeviceRecipe {
        name: drive.name.clone(),
        description: drive.spec.description.clone(),
        parts: Parts::Ssd(Box::new(drive)),
        functions: Vec::new(),
        place: None,
    }
}

/// What kind of device a file says that it is of, or else that which it builds on; an SSD's has none.
fn kind_of(text: &str) -> Option<String> {
    let table: Table = toml::from_str(text).ok()?;
    if let Some(kind) = table.get("kind") {
        return kind.as_str().map(str::to_owned);
    }
    let base = table.get("base")?.as_str()?;
    let is_of = |(files, kind): (&'static [EmbeddedFile], &str)| find(files, base).map(|_| kind.to_owned());
    [(DISKS, "disk"), (ADAPTERS, "adapter")].into_iter().find_map(is_of)
}

fn nothing_attached(name: &str) -> Diagnostic {
    Diagnostic::new(format!("`{name}` is an adapter with nothing attached"))
        .help(format!("name the device, as in {name}(NAME) or {name}({RAID0}(NAME*2))"))
}

fn disk_recipe(disk: Disk) -> DeviceRecipe {
    DeviceRecipe {
        name: disk.name.clone(),
        description: disk.spec.description.clone(),
        parts: Parts::Disk(Box::new(disk)),
        functions: Vec::new(),
        place: None,
    }
}

/// A file that gives a device expression a name.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrayFile {
    #[serde(rename = "kind")]
    _kind: String,
    /// A line for people.
    description: String,
    device: toml::Spanned<String>,
}

fn array_file(name: &str, file: &str, text: &str, folder: &Path, depth: usize) -> Result<DeviceRecipe, Diagnostic> {
    let read: ArrayFile = load::parse(file, text, "docs/arrays.md")?;
    let span = read.device.span();
    if depth == MAX_DEPTH {
        return Err(Diagnostic::new("files that name files that name files: too deep")
            .at(Place::new(file, text, span))
            .help("a file must not name itself, nor one that leads back to it"));
    }
    // Only where the text has no escapes can be pointed into it.
    let plain = text.get(span.start + 1..span.end.saturating_sub(1)) == Some(read.device.as_ref().as_str());
    let origin = if plain {
        Origin { file, text, begin: span.start + 1, folder, depth: depth + 1 }
    } else {
        Origin { file, text: read.device.as_ref(), begin: 0, folder, depth: depth + 1 }
    };
    let device = origin.read(read.device.as_ref())?;
    Ok(DeviceRecipe { name: name.to_owned(), description: read.description, ..device })
}

impl Origin<'_> {
    fn read(&self, expression: &str) -> Result<DeviceRecipe, Diagnostic> {
        let node = parse(expression).map_err(|problem| self.diagnostic(problem))?;
        self.one(&node)
    }

    fn diagnostic(&self, problem: Problem) -> Diagnostic {
        let place = self.place(problem.span.unwrap_or(0..0));
        problem.help.into_iter().fold(Diagnostic::new(problem.what).at(place), Diagnostic::help)
    }

    fn place(&self, span: Range<usize>) -> Place {
        Place::new(self.file, self.text, span.start + self.begin..span.end + self.begin)
    }

    fn wrong(&self, what: impl Into<String>, span: &Range<usize>) -> Diagnostic {
        Diagnostic::new(what).at(self.place(span.clone()))
    }

    /// A device that stands by itself, not so many of it.
    fn one(&self, node: &Node) -> Result<DeviceRecipe, Diagnostic> {
        if let Some((count, span)) = node.count.as_ref().filter(|(count, _)| *count > 1) {
            let help = format!("make an array of them, as in {RAID0}(NAME*{count})");
            return Err(self.wrong(format!("{count} devices where one is needed"), span).help(help));
        }
        self.single(node)
    }

    /// What a node is, without its count.
    fn single(&self, node: &Node) -> Result<DeviceRecipe, Diagnostic> {
        match (node.name.as_str(), &node.arguments) {
            (RAID0, Some(arguments)) => self.raid0(node, arguments),
            (RANGES, Some(arguments)) => self.ranges(node, arguments),
            (RAID0 | RANGES, None) => Err(self
                .wrong(format!("`{}` needs devices", node.name), &node.name_span)
                .help(format!("name them in parentheses, as in {}", example(&node.name)))),
            (name, None) => self.named(name, &node.name_span),
            (name, Some(arguments)) if self.is_adapter(name) => self.adapter(node, arguments),
            (name, Some(_)) => Err(self.not_made_of_devices(name, &node.name_span)),
        }
    }

    fn not_made_of_devices(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        if [DRIVES, DISKS, ARRAYS].iter().any(|files| find(files, name).is_some()) {
            return self
                .wrong(format!("`{name}` is a device, and not made of others"), span)
                .help("leave the parentheses out");
        }
        let known: Vec<&str> = [RAID0, RANGES].into_iter().chain(adapter_names()).collect();
        let error = self.wrong(format!("nothing that is made of devices is called `{name}`"), span);
        did_you_mean(error, name, known.iter().copied()).help(format!("there are {}", known.join(", ")))
    }

    fn named(&self, name: &str, span: &Range<usize>) -> Result<DeviceRecipe, Diagnostic> {
        named(&beside(self.folder, name), self.depth).map_err(|error| {
            // A file points at its own line.
            if error.place.is_some() { error } else { error.at(self.place(span.clone())) }
        })
    }

    fn raid0(&self, node: &Node, arguments: &[Argument]) -> Result<DeviceRecipe, Diagnostic> {
        let mut stripe_bytes = None;
        let mut members = Vec::new();
        for Argument { key, node } in arguments {
            let Some((key, key_span)) = key else {
                let member = self.single(node)?;
                let count = node.count.as_ref().map_or(1, |(count, _)| *count);
                if members.len() + count > MAX_DEVICES {
                    let error = self.wrong(format!("more than {MAX_DEVICES} devices"), &node.span);
                    return Err(error.help(format!("use at most {MAX_DEVICES}")));
                }
                members.extend(std::iter::repeat_n(member, count));
                continue;
            };
            if key != "stripe" {
                let error = self.wrong(format!("{RAID0} has no setting `{key}`"), key_span);
                return Err(error.help("its only setting is stripe, as in stripe=128KiB"));
            }
            if stripe_bytes.is_some() {
                return Err(self.wrong("`stripe` is there twice", key_span).help("leave one of them out"));
            }
            stripe_bytes = Some(self.bytes(node)?);
        }
        if members.len() < 2 {
            let error = self.wrong(format!("{RAID0} of {} device(s)", members.len()), &node.span);
            return Err(error.help(format!("use at least 2, as in {}", example(RAID0))));
        }
        self.array(node, Parts::Raid0 { stripe_bytes: stripe_bytes.unwrap_or(DEFAULT_STRIPE), members })
    }

    fn is_adapter(&self, name: &str) -> bool {
        let of_file = |text: String| kind_of(&text).as_deref() == Some("adapter");
        find(ADAPTERS, name).is_some()
            || name.ends_with(".toml") && input::read_text(Path::new(&beside(self.folder, name))).is_ok_and(of_file)
    }

    /// An adapter with one device, and other values for some of its keys.
    fn adapter(&self, node: &Node, arguments: &[Argument]) -> Result<DeviceRecipe, Diagnostic> {
        let mut changes: Vec<(&str, &str)> = Vec::new();
        let mut spans: Vec<(&str, &Range<usize>)> = Vec::new();
        let mut device: Option<DeviceRecipe> = None;
        for Argument { key, node: value } in arguments {
            let Some((key, key_span)) = key else {
                let several = value.count.as_ref().is_some_and(|(count, _)| *count > 1);
                if device.is_some() || several {
                    let error = self.wrong(format!("{} takes one device", node.name), &value.span);
                    return Err(error.help(format!("make several drives one, as in {}({RAID0}(NAME*2))", node.name)));
                }
                device = Some(self.single(value)?);
                continue;
            };
            let Some(path) = key_named(key) else {
                let known = adapter_keys().keys.iter().map(|k| k.split().1);
                let error = self.wrong(format!("an adapter has no key `{key}`"), key_span);
                return Err(did_you_mean(error, key, known).help("docs/arrays.md has the keys of an adapter"));
            };
            if value.arguments.is_some() || value.count.is_some() {
                let error = self.wrong(format!("`{value}` is no value of `{key}`"), &value.span);
                return Err(error.help(format!("values are plain, as in {key}={}", value.name)));
            }
            if changes.iter().any(|(before, _)| *before == path) {
                return Err(self.wrong(format!("`{key}` is there twice"), key_span).help("leave one of them out"));
            }
            changes.push((path, &value.name));
            spans.push((path, &value.span));
        }
        let Some(device) = device else {
            return Err(nothing_attached(&node.name).at(self.place(node.span.clone())));
        };
        let adapter = match find(ADAPTERS, &node.name) {
            Some(file) => read_adapter(&node.name, file.path, file.text, &changes),
            None => {
                let path = beside(self.folder, &node.name);
                let text = read_file(&path, "adapter").map_err(|e| e.at(self.place(node.span.clone())))?;
                read_adapter(&node.name, &path, &text, &changes)
            }
        };
        let adapter = adapter.map_err(|Unfit { problem, key }| {
            let given = spans.iter().find(|(path, _)| key.as_deref() == Some(*path)).map(|(_, span)| *span);
            // A file points at its own line.
            if problem.place.is_some() { problem } else { problem.at(self.place(given.unwrap_or(&node.span).clone())) }
        })?;
        if changes.iter().any(|(path, _)| path.starts_with("cache.")) && adapter.spec.cache.is_none() {
            let error = self.wrong(format!("{} has no cache", node.name), &node.span);
            return Err(error.help("leave the keys of a cache out"));
        }
        let (drives, ports) = (device.drives(), adapter.spec.ports);
        if drives > ports as usize {
            let error = self.wrong(format!("{drives} drives on the {ports} port(s) of {}", node.name), &node.span);
            return Err(error.help(format!("use at most {ports}, or an adapter with more ports")));
        }
        self.array(node, Parts::Adapter(Box::new(adapter), Box::new(device)))
    }

    fn ranges(&self, node: &Node, arguments: &[Argument]) -> Result<DeviceRecipe, Diagnostic> {
        let mut parts = Vec::new();
        let mut end = Some(0);
        for Argument { key, node } in arguments {
            let Some((key, key_span)) = key else {
                let error = self.wrong("a device without a range", &node.span);
                return Err(error.help(format!("say which, as in {}", example(RANGES))));
            };
            let Some(begin) = end else {
                return Err(self.wrong("a range behind the rest", key_span).help("`rest` comes last"));
            };
            end = self.range_end(key, key_span, begin)?;
            parts.push((self.one(node)?, end.map(|end| end - begin)));
        }
        if parts.len() < 2 {
            let error = self.wrong(format!("{RANGES} of {} device(s)", parts.len()), &node.span);
            return Err(error.help(format!("use at least 2, as in {}", example(RANGES))));
        }
        self.array(node, Parts::Ranges(parts))
    }

    /// Where a range ends that must begin at `begin`; `None`: with its device.
    fn range_end(&self, key: &str, span: &Range<usize>, begin: u64) -> Result<Option<u64>, Diagnostic> {
        if key == REST {
            return Ok(None);
        }
        let ends =
            key.split_once('-').and_then(|(from, to)| Some((parse_bytes(from.trim())?, parse_bytes(to.trim())?)));
        let Some((from, to)) = ends else {
            let error = self.wrong(format!("`{key}` is no range"), span);
            return Err(error.help("ranges look like 0-30GB, the last may be `rest`"));
        };
        if from != begin {
            let error = self.wrong(format!("the range begins at byte {from}, the one before it ends at {begin}"), span);
            return Err(error.help("ranges follow one another from byte 0 on"));
        }
        if to <= from {
            return Err(self.wrong("an empty range", span).help("the end of a range must lie behind its begin"));
        }
        Ok(Some(to))
    }

    fn bytes(&self, node: &Node) -> Result<u64, Diagnostic> {
        let plain = node.arguments.is_none() && node.count.is_none();
        parse_bytes(&node.name).filter(|&bytes| plain && bytes > 0).ok_or_else(|| {
            let error = self.wrong(format!("`{node}` is no size"), &node.span);
            error.help("sizes look like 128KiB, 1MiB or 65536")
        })
    }

    fn array(&self, node: &Node, parts: Parts) -> Result<DeviceRecipe, Diagnostic> {
        let name = Node { count: None, ..node.clone() }.to_string();
        let place = Some(Box::new(self.place(node.span.clone())));
        let recipe = DeviceRecipe { description: String::new(), name, parts, functions: Vec::new(), place };
        let drives = recipe.drives();
        if drives > MAX_DEVICES {
            let error = self.wrong(format!("{drives} drives"), &node.span);
            return Err(error.help(format!("use at most {MAX_DEVICES}")));
        }
        recipe.checked_capacity().map_err(|e| recipe.impossible(e.to_string()))?;
        Ok(DeviceRecipe { description: description(&recipe), ..recipe })
    }
}

/// What an array is, for people.
fn description(recipe: &DeviceRecipe) -> String {
    let members: Vec<String> = recipe
        .counted_members()
        .into_iter()
        .map(|(count, member)| if count == 1 { member.name.clone() } else { format!("{count} × {}", member.name) })
        .collect();
    let members = members.join(", ");
    match &recipe.parts {
        Parts::Ssd(_) | Parts::Disk(_) => recipe.description.clone(),
        Parts::Raid0 { .. } => format!("RAID 0 of {members}"),
        Parts::Ranges(_) => format!("ranges on {members}"),
        Parts::Adapter(adapter, _) => format!("{members} on {}", adapter.spec.description),
    }
}

fn example(function: &str) -> String {
    match function {
        RANGES => format!("{RANGES}(0-30GB=NAME, {REST}=NAME)"),
        _ => format!("{RAID0}(NAME*2, stripe=128KiB)"),
    }
}

fn did_you_mean<'a>(error: Diagnostic, typed: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let close = nearest(typed, known);
    if close.is_empty() { error } else { error.help(format!("did you mean {}?", close.join(" or "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_spelling_in_every_expression() {
        let folder = std::env::temp_dir().join(format!("ssdlab-spelling-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("a.toml"), "base = \"ideal-32die\"\n").unwrap();
        let [one, other] = ["a.toml", "sub/../a.toml"].map(|name| folder.join(name).display().to_string());
        assert_ne!(one, other);
        for around in
            ["NAME", "raid0(NAME*2)", "arc-1280ml(raid0(ideal-32die, NAME, stripe=64KiB), cache.battery=true)"]
        {
            let spelled = |name: &str| one_spelling(&around.replace("NAME", name));
            assert_eq!(spelled(&one), spelled(&other), "{around}");
            assert_ne!(spelled(&one), spelled("ideal-32die"), "{around}");
        }
        assert_eq!(one_spelling("raid0( ideal-32die*2 )"), "raid0(ideal-32die*2)");
        assert_eq!(one_spelling("no-drive"), "no-drive");
        for (text, short) in [
            ("ideal-32die", "ideal-32die"),
            ("./sub/a.toml", "a.toml"),
            ("raid0(./a.toml*2, ideal-32die)", "raid0(a.toml*2, ideal-32die)"),
            ("../b.toml(raid0(/home/me/a.toml*2))", "b.toml(raid0(a.toml*2))"),
        ] {
            assert_eq!(by_file_names(text), short);
        }
        assert_eq!(as_written("raid0( ./a.toml*2,ideal-32die )"), "raid0(./a.toml*2, ideal-32die)");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_kind_that_there_is_not_is_marked_where_it_stands() {
        let text = "description = \"my raid5\"\nkind = \"raid5\"\n";
        let place = device_of_text("my.toml", text).unwrap_err().place.unwrap();
        assert_eq!((place.line, place.column, place.width), (2, 8, "\"raid5\"".len()));
    }

    #[test]
    fn what_builds_on_a_disk_or_adapter_is_one_without_saying_so() {
        let recipe = device_of_text("my.toml", "base = \"spinpoint-f1-1tb\"\n[cache]\nread_segments = 32\n");
        assert!(matches!(recipe.unwrap_or_else(|e| panic!("{e}")).parts, Parts::Disk(_)));
        let error = device_of_text("my.toml", "base = \"arc-1280ml\"\nports = 8\n").unwrap_err().to_string();
        assert!(error.starts_with("error: `my.toml` is an adapter with nothing attached\n"), "{error}");
        let error = device_of_text("my.toml", "base = \"arc-1280ml\"\nports = 0\n").unwrap_err().to_string();
        assert!(error.starts_with("error: ports: "), "{error}");
        let error = crate::parse_die("my.toml", "base = \"arc-1280ml\"\nports = 8\n").unwrap_err().to_string();
        assert!(error.starts_with("error: this file describes an adapter, and a die type is wanted\n"), "{error}");
    }
}
