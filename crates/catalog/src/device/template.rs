//! A device with places for changes: what a sweep makes its devices of.
//!
//! A change of a drive's key holds for every SSD of the device. [`DEVICE`] puts another device in its place.

use std::path::{Path, PathBuf};

use ssdlab_core::input;
use toml::Value;

use super::reader::{device_beside, device_of_text};
use super::{DeviceRecipe, Parts};
use crate::diagnostic::Diagnostic;
use crate::keys::Origin;
use crate::template::{DIE_PREFIX, Refusal, Template};

/// The key whose value is another device: a name or a device expression.
pub const DEVICE: &str = "device";

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
    /// A key or a value that does not exist, or a device that cannot be; without a place.
    pub fn set(&self, changes: &[(String, String)]) -> Result<DeviceRecipe, Diagnostic> {
        let mut values = Vec::new();
        for (key, text) in changes {
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
        restate(&mut recipe, changes);
        // A changed device must not be mistaken for the one it was made from.
        let changes: Vec<String> = changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
        recipe.name = format!("{} with {}", recipe.name, changes.join(", "));
        Ok(recipe)
    }

    fn change(&self, recipe: &mut DeviceRecipe, changes: &[(String, Value)]) -> Result<(), Refusal> {
        if let Parts::Ssd(drive) = &mut recipe.parts {
            let template = self.ssds.iter().find(|t| t.name == drive.name).expect("there is one for each SSD");
            (drive.spec, drive.die.spec) = template.with(changes)?;
            return Ok(());
        }
        recipe.members_mut().try_for_each(|member| self.change(member, changes))
    }
}

/// Puts changed values into what a device says of its keys.
fn restate(recipe: &mut DeviceRecipe, changes: &[(String, String)]) {
    if let Parts::Ssd(drive) = &mut recipe.parts {
        for (key, value) in changes {
            let (rows, key) = match key.strip_prefix(DIE_PREFIX) {
                Some(key) => (&mut drive.die.rows, key),
                None => (&mut drive.rows, key.as_str()),
            };
            for row in rows.iter_mut().filter(|row| row.key == key) {
                row.value.clone_from(value);
                row.origin = Origin::Source("set on the command line".to_owned());
            }
        }
        return;
    }
    recipe.members_mut().for_each(|member| restate(member, changes));
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
    fn another_device_takes_the_place() {
        let recipe = changed("ideal-32die", DEVICE, "raid0(ideal-32die*3)").unwrap();
        assert_eq!((recipe.name.as_str(), recipe.drives()), ("raid0(ideal-32die*3)", 3));
        for wrong in [Value::from(3), Value::from("raid0(ideal-32die)"), Value::from("ideal-33die")] {
            assert!(matches!(changed("ideal-32die", DEVICE, wrong), Err(Refusal::Value { key, .. }) if key == DEVICE));
        }
    }
}
