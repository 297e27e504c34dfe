//! A device with places for changes: what a sweep makes its devices of.
//!
//! A change of a drive's key holds for every SSD of the device. [`DEVICE`] puts another device in its place.

use std::path::{Path, PathBuf};

use serde::Serialize;
use ssdlab_core::input;
use ssdlab_keys::KeyTable;
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;
use toml::Value;

use super::reader::{device_beside, device_of_text};
use super::{DeviceRecipe, Parts};
use crate::diagnostic::Diagnostic;
use crate::keys::{OVER_PROVISIONING, Origin, SpecRow, row};
use crate::template::{DIE_PREFIX, Refusal, Template};

/// The key whose value is another device: a name or a device expression.
pub const DEVICE: &str = "device";

/// A function of a program that takes the place of a key in every drive that maps by pages.
#[derive(Clone, Debug)]
pub struct Function {
    /// The key, which is then not asked.
    pub key: &'static str,
    /// What the program calls the function's place, as in `victim`.
    pub argument: &'static str,
    /// The function's own name.
    pub name: String,
    /// A value for the key with which the function is asked, if no change gives one.
    pub stand_in: Option<&'static str>,
}

impl Function {
    /// As in the name of a changed device: `victim=oldest`.
    fn given(&self) -> String {
        format!("{}={}", self.argument, self.name)
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct DeviceTemplate {
    pub recipe: DeviceRecipe,
    /// One for each kind of SSD in it.
    ssds: Vec<Template>,
    folder: PathBuf,
}

impl DeviceTemplate {
    /// Finds and reads a device as [`crate::device`] does, with paths that begin at `folder`.
    ///
    /// # Errors
    /// As [`crate::device`].
    pub fn open(text: &str, folder: &Path) -> Result<Self, Diagnostic> {
        Self::of(device_beside(text, folder)?, folder)
    }

    /// As [`DeviceTemplate::open`], of the text of a file that is called `file` in messages, and which need not exist.
    ///
    /// # Errors
    /// As [`crate::device`]; if `file` does not end in `.toml`.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostic> {
        // Names of the catalog do not: what was published about them is not about this drive.
        if !file.ends_with(".toml") {
            return Err(Diagnostic::new(format!("`{}` is no name of a drive file", input::quoted(file)))
                .help("give it one that ends in .toml, such as drive.toml"));
        }
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let recipe = device_of_text(file, text)?;
        let ssds = match &recipe.parts {
            Parts::Ssd(drive) => {
                let drive = (**drive).clone();
                vec![Template::of(drive, file, text, Some(folder.to_owned()))?]
            }
            _ => return Self::of(recipe, folder),
        };
        Ok(DeviceTemplate { recipe, ssds, folder: folder.to_owned() })
    }

    fn of(recipe: DeviceRecipe, folder: &Path) -> Result<Self, Diagnostic> {
        let mut ssds: Vec<Template> = Vec::new();
        for drive in recipe.ssds() {
            if ssds.iter().all(|known| known.name != drive.name) {
                ssds.push(Template::open(&drive.name)?);
            }
        }
        Ok(DeviceTemplate { recipe, ssds, folder: folder.to_owned() })
    }

    /// # Errors
    /// If there is no such key, with the nearest; without a place.
    pub fn check_key(&self, key: &str) -> Result<(), Diagnostic> {
        if key == DEVICE {
            return Ok(());
        }
        match self.ssds.first() {
            Some(template) => template.check_key(key),
            None => Err(Diagnostic::new(format!("{} has no SSD with a key `{key}`", self.recipe.name))
                .help("values of SSDs can be changed here; those of a disk or an adapter are those of its file")),
        }
    }

    /// The device with these changes.
    ///
    /// # Errors
    /// See [`Refusal`].
    ///
    /// # Panics
    /// If a key does not pass [`DeviceTemplate::check_key`].
    pub fn with(&self, changes: &[(String, Value)]) -> Result<DeviceRecipe, Refusal> {
        let slip = |problem: Diagnostic| Refusal::Value { key: DEVICE.to_owned(), problem };
        let mut of_drives = changes.to_vec();
        let Some(at) = of_drives.iter().position(|(key, _)| key == DEVICE) else {
            let mut recipe = self.recipe.clone();
            self.change(&mut recipe, &of_drives)?;
            return Ok(recipe);
        };
        let (_, value) = of_drives.remove(at);
        let Some(text) = value.as_str() else {
            let problem = Diagnostic::new(format!("{value} does not fit here"));
            return Err(slip(problem.help("give a name or a device expression in double quotes")));
        };
        let other = Self::open(text, &self.folder).map_err(slip)?;
        let mut recipe = other.recipe.clone();
        other.change(&mut recipe, &of_drives)?;
        Ok(recipe)
    }

    /// The device with other values for keys of its drive files, as a command line gives them: a name may go without
    /// quotes, and a number of bytes have a unit. Its name says so.
    ///
    /// # Errors
    /// A key or a value that does not exist, [`DEVICE`], which only sweeps have, or a device that cannot be; without a place.
    pub fn set(&self, changes: &[(String, String)]) -> Result<DeviceRecipe, Diagnostic> {
        self.set_with(changes, &[])
    }

    /// The same where functions of a program take the place of keys: the device says so in its name, in the rows of those keys and in
    /// its identity. Who builds it puts them in.
    ///
    /// # Errors
    /// As [`DeviceTemplate::set`].
    pub fn set_with(&self, changes: &[(String, String)], functions: &[Function]) -> Result<DeviceRecipe, Diagnostic> {
        let is_given = |key: &str| changes.iter().any(|(given, _)| given == key);
        let stand_in = |function: &Function| Some((function.key.to_owned(), function.stand_in?.to_owned()));
        let stand_ins = functions.iter().filter(|function| !is_given(function.key)).filter_map(stand_in);
        let all: Vec<(String, String)> = changes.iter().cloned().chain(stand_ins).collect();
        let mut values = Vec::new();
        for (key, text) in &all {
            if key == DEVICE {
                return Err(Diagnostic::new("another device cannot be set in place of the one that is named")
                    .help("name the other one; the plan of a sweep may have `device` among its keys"));
            }
            self.check_key(key)?;
            let parsed = toml::from_str::<toml::Table>(&format!("value = {text}")).ok();
            let value = parsed.and_then(|mut table| table.remove("value"));
            let bytes = || key.ends_with("_bytes").then(|| ssdlab_bench::parse_bytes(text)).flatten();
            let value = value.or_else(|| bytes().and_then(|b| i64::try_from(b).ok()).map(Value::Integer));
            values.push((key.clone(), value.unwrap_or_else(|| Value::String(text.clone()))));
        }
        let mut recipe = self.with(&values).map_err(|refusal| match refusal {
            Refusal::Value { key, problem } => Diagnostic { what: format!("{key}: {}", problem.what), ..problem },
            Refusal::Impossible(error) => Diagnostic::new(error.to_string()),
        })?;
        restate(&mut recipe, &all);
        functions.iter().for_each(|function| restate_function(&mut recipe, function));
        recipe.functions = functions.iter().map(Function::given).collect();
        // A changed device must not be mistaken for the one it was made from.
        let changed = changes.iter().map(|(key, value)| format!("{key}={value}"));
        let given: Vec<String> = changed.chain(recipe.functions.iter().cloned()).collect();
        for said in [&mut recipe.name, &mut recipe.description] {
            *said = format!("{said} with {}", given.join(", "));
        }
        Ok(recipe)
    }

    fn change(&self, recipe: &mut DeviceRecipe, changes: &[(String, Value)]) -> Result<(), Refusal> {
        if let Parts::Ssd(drive) = &mut recipe.parts {
            let template = self.ssds.iter().find(|t| t.name == drive.name).expect("there is one for each SSD");
            let (spec, die) = template.with(changes)?;
            if spec.flash.die != drive.spec.flash.die {
                drive.die = template.die_named(&spec.flash.die)?;
            }
            let is_spare_asked = changes.iter().any(|(key, _)| key == OVER_PROVISIONING);
            drive.capacity_follows = is_spare_asked && spec.flash.exact_spare_per_10000.is_none();
            (drive.spec, drive.die.spec) = (spec, die);
            return Ok(());
        }
        recipe.members_mut().try_for_each(|member| self.change(member, changes))
    }
}

/// Puts changed values into what a device says of its keys, as the finished device has them.
fn restate(recipe: &mut DeviceRecipe, changes: &[(String, String)]) {
    if let Parts::Ssd(drive) = &mut recipe.parts {
        for (key, _) in changes {
            match key.strip_prefix(DIE_PREFIX) {
                Some(key) => put(&mut drive.die.rows, die_keys(), key, &drive.die.spec),
                None if key != OVER_PROVISIONING => put(&mut drive.rows, drive_keys(), key, &drive.spec),
                None if drive.spec.flash.exact_spare_per_10000.is_some() => {
                    put(&mut drive.rows, drive_keys(), "flash.exact_spare_per_10000", &drive.spec);
                }
                None => put(&mut drive.rows, drive_keys(), "capacity_bytes", &drive.spec),
            }
        }
        return;
    }
    recipe.members_mut().for_each(|member| restate(member, changes));
}

/// Puts a function into what a device says of the key whose place it takes.
fn restate_function(recipe: &mut DeviceRecipe, function: &Function) {
    if let Parts::Ssd(drive) = &mut recipe.parts {
        if drive.spec.log_blocks.is_none() {
            let source = format!("a function of a program ({}): the drive file is not asked", function.argument);
            let row = row(drive_keys(), function.key, &function.name, Origin::Source(source));
            row.into_iter().for_each(|row| put_row(&mut drive.rows, row));
        }
        return;
    }
    recipe.members_mut().for_each(|member| restate_function(member, function));
}

/// The value that a key has in `spec`, in its row or in a new one behind those of its section.
fn put(rows: &mut Vec<SpecRow>, keys: &KeyTable, key: &str, spec: &impl Serialize) {
    let Ok(values) = Value::try_from(spec) else { return };
    let Some(value) = key.split('.').try_fold(&values, |value, name| value.get(name)) else { return };
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = row(keys, key, &text, Origin::Source("set on the command line".to_owned()));
    row.into_iter().for_each(|row| put_row(rows, row));
}

/// In place of the row of its key, or behind those of its section.
fn put_row(rows: &mut Vec<SpecRow>, row: SpecRow) {
    match rows.iter().position(|known| known.key == row.key) {
        Some(place) => rows[place] = row,
        None => {
            let place = rows.iter().rposition(|known| known.section == row.section);
            rows.insert(place.map_or(rows.len(), |place| place + 1), row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, key: &str, value: impl Into<Value>) -> Result<DeviceRecipe, Refusal> {
        DeviceTemplate::open(text, Path::new("")).unwrap().with(&[(key.to_owned(), value.into())])
    }

    #[test]
    fn a_change_holds_for_every_ssd() {
        let recipe = changed("raid0(raid0(ideal-32die*2), ideal-16k-32die)", "gc.policy", "fifo").unwrap();
        let policies: Vec<_> = recipe.ssds().iter().map(|drive| drive.spec.gc.policy).collect();
        assert_eq!(policies, [ssdlab_ftl::VictimPolicy::Fifo; 3]);
    }

    fn set(text: &str, changes: &[(&str, &str)]) -> DeviceRecipe {
        let changes: Vec<(String, String)> =
            changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        DeviceTemplate::open(text, Path::new("")).unwrap().set(&changes).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn what_is_said_of_a_changed_drive_is_what_it_has() {
        let recipe = set(
            "jmf667h-toshiba-128gb",
            &[("capacity_bytes", "96GB"), ("gc.policy", "d-choices"), ("gc.choices", "4")],
        );
        let drive = recipe.ssds()[0];
        let value = |key: &str| drive.rows.iter().find(|row| row.key == key).map(|row| row.value.as_str());
        assert_eq!((value("capacity_bytes"), value("gc.choices")), (Some("96000000000"), Some("4")));
        let place = |key: &str| drive.rows.iter().position(|row| row.key == key).unwrap();
        let [before, here, policy] = [place("gc.choices") - 1, place("gc.choices"), place("gc.policy")];
        assert_eq!(drive.rows[before].section, drive.rows[here].section);
        assert!(policy < here);
        assert!(
            recipe.description.ends_with(" with capacity_bytes=96GB, gc.policy=d-choices, gc.choices=4"),
            "{}",
            recipe.description
        );
        let exact = set("ideal-32die", &[(OVER_PROVISIONING, "12.5")]);
        let row = exact.ssds()[0].rows.iter().find(|row| row.key == "flash.exact_spare_per_10000").unwrap();
        assert_eq!(row.value, "1250");
    }

    #[test]
    fn a_capacity_that_follows_from_the_spare_area_is_told_by_that() {
        let told =
            |changes| set("mtron-mobi-3000-16gb", changes).build(1).err().map(|e| e.to_string()).unwrap_or_default();
        let asked = told(&[(OVER_PROVISIONING, "0")]);
        assert!(asked.starts_with("error: over_provisioning_percent: too little: "), "{asked}");
        assert!(!asked.contains("capacity_bytes") && !asked.contains("mtron-mobi-3000-16gb.toml"), "{asked}");
        let sold = told(&[("capacity_bytes", "17179869184")]);
        assert!(sold.starts_with("error: capacity_bytes: "), "{sold}");
    }

    #[test]
    fn a_function_in_the_place_of_a_key_stands_where_the_key_did() {
        let function = |key, argument, stand_in| Function { key, argument, name: "mine".to_owned(), stand_in };
        let functions = [function("gc.policy", "victim", None), function("gc.host_share", "pacing", Some("balanced"))];
        let changes = [("gc.tie_break".to_owned(), "fifo".to_owned())];
        for device in ["ideal-16k-32die", "raid0(ideal-16k-32die*2)"] {
            let template = DeviceTemplate::open(device, Path::new("")).unwrap();
            let (plain, with) = (template.set(&changes).unwrap(), template.set_with(&changes, &functions).unwrap());
            assert_eq!(with.name, format!("{device} with gc.tie_break=fifo, victim=mine, pacing=mine"));
            assert_ne!(with.named_identity(), plain.named_identity(), "{device}");
            for drive in with.ssds() {
                assert_eq!(drive.spec.gc.host_share, ssdlab_ftl::HostShare::Balanced, "with which it is asked");
                for key in ["gc.policy", "gc.host_share"] {
                    let row = drive.rows.iter().find(|row| row.key == key).unwrap();
                    assert_eq!(row.value, "mine");
                    assert!(matches!(&row.origin, Origin::Source(text) if text.starts_with("a function of a program")));
                }
            }
        }
        let template = DeviceTemplate::open("ideal-16k-32die", Path::new("")).unwrap();
        let given = [("gc.host_share".to_owned(), "in-step".to_owned())];
        let with = template.set_with(&given, &functions[1..]).unwrap();
        assert_eq!(with.ssds()[0].spec.gc.host_share, ssdlab_ftl::HostShare::InStep, "what is given stays");
    }

    #[test]
    fn another_die_comes_with_its_own_values_and_sources() {
        let recipe = set("m600-128gb", &[("flash.die", "imft-20nm-128gbit-mlc"), ("die.timing.erase_ms", "7.5")]);
        let drive = recipe.ssds()[0];
        let other = crate::resolve::die("imft-20nm-128gbit-mlc").unwrap();
        assert_eq!(drive.die.name, other.name);
        assert_eq!(drive.die.rows.len(), other.rows.len());
        for (row, whole) in drive.die.rows.iter().zip(&other.rows) {
            if row.key == "timing.erase_ms" {
                assert_eq!(row.value, "7.5");
            } else {
                assert_eq!(row, whole);
            }
        }
    }

    #[test]
    fn a_text_does_not_take_the_name_of_a_drive_of_the_catalog() {
        let parse = |name| DeviceTemplate::parse(name, "base = \"ideal-32die\"\ncapacity_bytes = 67108864\n");
        assert_eq!(parse("mine.toml").unwrap().recipe.name, "mine.toml");
        for name in ["ideal-32die", "raid0(ideal-32die*2)", "mine", ""] {
            let error = parse(name).expect_err(name).to_string();
            assert!(error.contains("is no name of a drive file") && error.contains(".toml"), "{error}");
        }
    }

    #[test]
    fn the_device_that_is_named_is_the_one_that_is_set() {
        let template = DeviceTemplate::open("ideal-32die", Path::new("")).unwrap();
        let error = template.set(&[(DEVICE.to_owned(), "ideal-16k-32die".to_owned())]).unwrap_err();
        assert!(error.what.contains("in place of the one that is named"), "{error}");
    }

    #[test]
    fn another_device_takes_the_place() {
        let recipe = changed("ideal-32die", DEVICE, "raid0(ideal-32die*3)").unwrap();
        assert_eq!((recipe.name.as_str(), recipe.drives()), ("raid0(ideal-32die*3)", 3));
        for wrong in [Value::from(3), Value::from("raid0(ideal-32die)"), Value::from("ideal-33die")] {
            assert!(matches!(changed("ideal-32die", DEVICE, wrong), Err(Refusal::Value { key, .. }) if key == DEVICE));
        }
    }
}
