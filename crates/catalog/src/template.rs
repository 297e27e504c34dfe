//! A drive with places for changes: what a sweep makes its drives of.
//!
//! A change names a key as the drive file does (`gc.policy`), a key of its die file with [`DIE_PREFIX`] in front
//! (`die.geometry.pages_per_block`), or [`OVER_PROVISIONING`].

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use ssdlab_core::nearest;
use ssdlab_keys::{KeyTable, SpecError};
use ssdlab_nand::{DieSpec, die_keys};
use ssdlab_ssd::{DriveSpec, drive_keys};
use toml::{Table, Value};

use crate::diagnostic::Diagnostic;
use crate::embedded::find;
use crate::explain::{explain, help_for_value};
use crate::keys::{OVER_PROVISIONING, key_at};
use crate::kind::{DIE, DRIVE};
use crate::load::merged;
use crate::resolve::{Die, Drive, RESERVED_BLOCKS, die, locate, missing_die, read_die, read_file, resolve};

/// What stands before the keys of a die file.
pub const DIE_PREFIX: &str = "die.";

/// Whether a drive has such a key outside of all sections, as `capacity_bytes`.
#[must_use]
pub fn is_key_without_section(key: &str) -> bool {
    !key.contains('.') && (key == OVER_PROVISIONING || drive_keys().keys.iter().any(|k| k.path == key))
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Template {
    /// As [`Drive::name`].
    pub name: String,
    /// The drive without any change.
    pub drive: Drive,
    table: Table,
    /// Where files that the drive names lie.
    folder: Option<PathBuf>,
    known: Vec<String>,
}

/// Why a changed drive cannot be had.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The value given for `key` is none of that key's values: a slip of whoever wrote it.
    Value { key: String, problem: Diagnostic },
    /// Every value can be read, but there can be no such drive.
    Impossible(SpecError),
}

impl Template {
    /// Finds and reads a drive as [`resolve`] does.
    ///
    /// # Errors
    /// As [`resolve`].
    pub fn open(device: &str) -> Result<Template, Diagnostic> {
        let (file, text, folder) = locate(device)?;
        Self::of(resolve(device)?, &file, &text, folder)
    }

    /// Of a drive that was read from `text`; `folder` is that of the files that it names.
    ///
    /// # Errors
    /// As [`resolve`].
    pub(crate) fn of(drive: Drive, file: &str, text: &str, folder: Option<PathBuf>) -> Result<Template, Diagnostic> {
        let table = merged(&DRIVE, file, text)?;
        let mut known: Vec<String> = drive_keys().keys.iter().map(|key| key.path.clone()).collect();
        known.extend(die_keys().keys.iter().map(|key| format!("{DIE_PREFIX}{}", key.path)));
        known.push(OVER_PROVISIONING.to_owned());
        Ok(Template { name: drive.name.clone(), drive, table, folder, known })
    }

    /// Every key that can be changed, in the order of the files.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.known
    }

    /// # Errors
    /// If there is no such key, with the nearest; without a place.
    pub fn check_key(&self, key: &str) -> Result<(), Diagnostic> {
        if self.known.iter().any(|k| k == key) {
            return Ok(());
        }
        let error = Diagnostic::new(format!("a drive has no key `{key}`"));
        let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
        let same_last: Vec<&str> = self.known.iter().map(String::as_str).filter(|k| last(k) == last(key)).collect();
        let close = if same_last.is_empty() { nearest(key, self.known.iter().map(String::as_str)) } else { same_last };
        let error =
            if close.is_empty() { error } else { error.help(format!("did you mean `{}`?", close.join("` or `"))) };
        Err(error.help(format!(
            "keys are those of a drive file, those of its die file with `{DIE_PREFIX}` in front (docs/drive-files.md), and \
             {OVER_PROVISIONING}"
        )))
    }

    /// The drive with these changes, checked as a drive file is.
    ///
    /// # Errors
    /// See [`Refusal`].
    ///
    /// # Panics
    /// If a key does not pass [`Template::check_key`].
    pub fn with(&self, changes: &[(String, Value)]) -> Result<(DriveSpec, DieSpec), Refusal> {
        self.check_translation(changes)?;
        let mut drive_table = self.table.clone();
        for (key, value) in changes.iter().filter(|(key, _)| !key.starts_with(DIE_PREFIX) && key != OVER_PROVISIONING) {
            set(&mut drive_table, key, value.clone());
        }
        let mut drive: DriveSpec = read(&drive_table, "", drive_keys())?;
        let mut die_table = self.die_table(&drive.flash.die)?;
        for (key, value) in changes {
            if let Some(key) = key.strip_prefix(DIE_PREFIX) {
                set(&mut die_table, key, value.clone());
            }
        }
        let die: DieSpec = read(&die_table, DIE_PREFIX, die_keys())?;
        // By the key that was changed: that of the die file stands behind a prefix here.
        let of_die = |e: SpecError| Refusal::Impossible(SpecError { key: format!("{DIE_PREFIX}{}", e.key), ..e });
        die.validate().map_err(of_die)?;
        if let Some((_, value)) = changes.iter().find(|(key, _)| key == OVER_PROVISIONING) {
            let is_changed = |wanted: &str| changes.iter().any(|(key, _)| key == wanted);
            provision(&mut drive, &die, value, is_changed)?;
        }
        drive.validate(&die).map_err(Refusal::Impossible)?;
        Ok((drive, die))
    }

    /// Refuses keys of the translation that the drive does not have.
    fn check_translation(&self, changes: &[(String, Value)]) -> Result<(), Refusal> {
        let blocks = self.drive.spec.log_blocks.is_some();
        for (key, _) in changes {
            let (section, own) = match key.split_once('.') {
                Some((section @ ("gc" | "mapping"), _)) if blocks && key != RESERVED_BLOCKS => (section, "log_blocks"),
                Some((section @ "log_blocks", _)) if !blocks => (section, "mapping] and [gc"),
                _ => continue,
            };
            let problem = Diagnostic::new(format!("{} has no section [{section}]", self.name))
                .help(format!("it translates by [{own}]: docs/drive-files.md explains both kinds"));
            return Err(Refusal::Value { key: key.clone(), problem });
        }
        Ok(())
    }

    /// The die type that a drive names, with its values and their sources.
    ///
    /// # Errors
    /// As [`Template::with`].
    pub(crate) fn die_named(&self, name: &str) -> Result<Die, Refusal> {
        let read = || match find(DIE.catalog, name) {
            Some(_) => die(name),
            None => {
                let path = self.path_of_die(name);
                read_die(&path, &path, &read_file(&path, "die")?)
            }
        };
        read().map_err(|problem| Refusal::Value { key: "flash.die".to_owned(), problem })
    }

    fn path_of_die(&self, name: &str) -> String {
        self.folder.clone().unwrap_or_default().join(name).display().to_string()
    }

    fn die_table(&self, name: &str) -> Result<Table, Refusal> {
        let refuse = |problem: Diagnostic| Refusal::Value { key: "flash.die".to_owned(), problem };
        if let Some(file) = find(DIE.catalog, name) {
            return merged(&DIE, file.path, file.text).map_err(refuse);
        }
        if !name.ends_with(".toml") {
            return Err(refuse(missing_die(Diagnostic::new(format!("there is no die type `{name}`")), name)));
        }
        let path = self.path_of_die(name);
        let text = read_file(&path, "die").map_err(refuse)?;
        merged(&DIE, &path, &text).map_err(refuse)
    }
}

/// The key of a drive whose flash is built to an exact spare.
const EXACT_SPARE: &str = "flash.exact_spare_per_10000";
/// Per cent of spare area beyond which no drive is thought of.
const MOST_PERCENT: f64 = 10_000.0;
/// One unit of the map, whatever its size.
const LEAST_CAPACITY: u64 = 32 << 10;

/// Applies [`OVER_PROVISIONING`].
fn provision(
    drive: &mut DriveSpec,
    die: &DieSpec,
    value: &Value,
    is_changed: impl Fn(&str) -> bool,
) -> Result<(), Refusal> {
    let refuse = |what: String, help: &str| {
        let problem = Diagnostic::new(what).help(help);
        Err(Refusal::Value { key: OVER_PROVISIONING.to_owned(), problem })
    };
    let percent = match value {
        Value::Integer(v) => *v as f64,
        Value::Float(v) => *v,
        other => {
            return refuse(format!("{other} does not fit here"), "give a number: per cent of the capacity sold");
        }
    };
    if !(0.0..=MOST_PERCENT).contains(&percent) {
        let help = "give more than 0, and 10,000 at most: per cent of the capacity sold";
        return refuse(format!("{percent} % is no spare area"), help);
    }
    if is_changed(EXACT_SPARE) {
        return refuse(
            "over-provisioning and flash.exact_spare_per_10000 cannot both be chosen".to_owned(),
            "they are the same in other units: leave one of the two out",
        );
    }
    if drive.flash.exact_spare_per_10000.is_some() {
        let steps = libm::round(percent * 100.0);
        if (percent * 100.0 - steps).abs() > 1e-6 {
            return refuse(
                format!("{percent} % cannot be built exactly"),
                "this drive's flash is built to an exact spare, in steps of 0.01 %",
            );
        }
        let least = drive_keys().key(EXACT_SPARE).and_then(|key| key.range.least).unwrap_or(0.0);
        if steps < least {
            return Err(too_little(percent, "this drive's flash is built to an exact spare", least / 100.0));
        }
        drive.flash.exact_spare_per_10000 = Some(steps as u32);
    } else if is_changed("capacity_bytes") {
        return refuse(
            "over-provisioning and capacity_bytes cannot both be chosen".to_owned(),
            "this drive's flash is given, so its spare area decides on its capacity: leave one of the two out",
        );
    } else {
        // What else may be wrong with the drive comes first: no capacity follows from flash that cannot be.
        drive.capacity_bytes = LEAST_CAPACITY;
        drive.validate(die).map_err(|error| Refusal::Impossible(without_capacity(drive, die, error)))?;
        let (usable, unit) = (drive.usable_bytes(die), u64::from(drive.mapping.unit_bytes()));
        drive.capacity_bytes = (usable as f64 / (1.0 + percent / 100.0)) as u64 / unit * unit;
        if let Err(error) = drive.validate(die) {
            let always_spare = u64::from(drive.spare_superblocks_needed()) * drive.superblock_bytes(die);
            let most = usable.saturating_sub(always_spare) / unit * unit;
            if drive.capacity_bytes == 0 {
                let problem = format!("{percent} % leaves no capacity to sell");
                return Err(Refusal::Impossible(SpecError::new(OVER_PROVISIONING, problem, "use less")));
            }
            if drive.capacity_bytes <= most {
                return Err(Refusal::Impossible(SpecError { key: OVER_PROVISIONING.to_owned(), ..error }));
            }
            let least = libm::ceil((usable as f64 / most as f64 - 1.0) * 1e4) / 100.0;
            if least > MOST_PERCENT {
                return Err(Refusal::Impossible(nothing_to_sell(drive, die)));
            }
            return Err(too_little(percent, &error.problem, least));
        }
    }
    Ok(())
}

/// What is wrong with a drive that is too small for the least capacity, which nobody has asked for.
fn without_capacity(drive: &DriveSpec, die: &DieSpec, error: SpecError) -> SpecError {
    // Too few free superblocks, or a number of them that no drive has, is another matter than too many beside a capacity.
    let cache_fits = || drive.slc_cache.as_ref().is_none_or(|c| c.validate(die, &drive.gc, &drive.mapping).is_ok());
    let is_about_capacity = match error.key.as_str() {
        "capacity_bytes" => true,
        "gc.start_free_superblocks" => drive_keys().check(drive).is_ok() && cache_fits(),
        _ => false,
    };
    if is_about_capacity { nothing_to_sell(drive, die) } else { error }
}

fn nothing_to_sell(drive: &DriveSpec, die: &DieSpec) -> SpecError {
    let kept_free = u64::from(drive.spare_superblocks_needed()) * drive.superblock_bytes(die);
    let problem = format!(
        "{} bytes of the flash are usable, and collection and cache keep {kept_free} of them free: no capacity is left to sell",
        drive.usable_bytes(die)
    );
    SpecError::new(OVER_PROVISIONING, problem, "use more flash, or keep less free (gc.start_free_superblocks)")
}

fn too_little(percent: f64, why: &str, least: f64) -> Refusal {
    let expected = format!("use {least} to 10,000 per cent of the capacity sold");
    Refusal::Impossible(SpecError::new(OVER_PROVISIONING, format!("{percent} % is too little: {why}"), expected))
}

/// Sets the value of a dotted path.
fn set(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((section, rest)) => {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            match inner {
                Value::Table(inner) => set(inner, rest, value),
                other => panic!("{section} is {other}, not a section: `{path}` was not checked"),
            }
        }
    }
}

/// Reads a file that has been put together; a problem is that of the key it is about.
pub(crate) fn read<T: DeserializeOwned>(table: &Table, prefix: &str, known: &KeyTable) -> Result<T, Refusal> {
    Value::Table(table.clone()).try_into().or_else(|_| {
        // Once more from text: only there does an error have a place, and so a key.
        let text = table.to_string();
        toml::from_str(&text).map_err(|error| {
            let problem = explain(&error, &[]);
            let at = problem.span.map_or(0, |span| span.start);
            let key = key_at(&text, at).map_or(String::new(), |k| k.path);
            let mut diagnostic = Diagnostic::new(problem.what);
            diagnostic.help = help_for_value(&error, &text, known).map_or(problem.help, |help| vec![help]);
            Refusal::Value { key: format!("{prefix}{key}"), problem: diagnostic }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: &str, value: impl Into<Value>) -> (String, Value) {
        (key.to_owned(), value.into())
    }

    #[test]
    fn every_value_of_the_catalog_has_a_key_that_can_be_changed() {
        let template = Template::open("jmf667h-toshiba-128gb").unwrap();
        for row in &template.drive.rows {
            template.check_key(&row.key).unwrap_or_else(|e| panic!("{e}"));
        }
        for row in &template.drive.die.rows {
            template.check_key(&format!("die.{}", row.key)).unwrap_or_else(|e| panic!("{e}"));
        }
        // And those that files may leave out.
        for key in ["flash.exact_spare_per_10000", "gc.choices", "wear_levelling.static_spread_erases"] {
            template.check_key(key).unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!(template.keys().iter().filter(|k| *k == "gc.policy").count(), 1);
    }

    #[test]
    fn an_unknown_key_is_led_to_the_right_one() {
        let template = Template::open("ideal-32die").unwrap();
        let help = |key: &str| template.check_key(key).unwrap_err().help[0].clone();
        assert_eq!(help("gc.polcy"), "did you mean `gc.policy`?");
        assert_eq!(help("nand.pages_per_block"), "did you mean `die.geometry.pages_per_block`?");
        assert!(help("over_provisioning").contains("`over_provisioning_percent`"));
    }

    #[test]
    fn changes_reach_drive_and_die_and_nothing_else() {
        let template = Template::open("ideal-16k-32die").unwrap();
        assert_eq!(template.with(&[]).unwrap(), (template.drive.spec.clone(), template.drive.die.spec.clone()));
        let changes = [change("gc.policy", "fifo"), change("die.geometry.pages_per_block", 64)];
        let (drive, die) = template.with(&changes).unwrap();
        assert_eq!((drive.gc.policy, die.geometry.pages_per_block), (ssdlab_ftl::VictimPolicy::Fifo, 64));
        assert_eq!(drive.flash, template.drive.spec.flash);
    }

    #[test]
    fn over_provisioning_moves_the_flash_of_an_exact_drive_and_the_capacity_of_any_other() {
        let exact = Template::open("ideal-16k-32die").unwrap();
        let (drive, _) = exact.with(&[change(OVER_PROVISIONING, 12.5)]).unwrap();
        assert_eq!(drive.flash.exact_spare_per_10000, Some(1250));
        assert_eq!(drive.capacity_bytes, exact.drive.spec.capacity_bytes);
        let real = Template::open("jmf667h-toshiba-128gb").unwrap();
        let (drive, die) = real.with(&[change(OVER_PROVISIONING, 28)]).unwrap();
        let spare = drive.usable_bytes(&die) as f64 / drive.capacity_bytes as f64 - 1.0;
        assert!((spare - 0.28).abs() < 1e-6 && drive.flash == real.drive.spec.flash, "{spare}");
    }

    #[test]
    fn a_slip_and_an_impossible_drive_are_told_apart() {
        let template = Template::open("jmf667h-toshiba-128gb").unwrap();
        let slip = |key: &str, value: Value| match template.with(&[(key.to_owned(), value)]) {
            Err(Refusal::Value { key, problem }) => (key, problem.what),
            other => panic!("{other:?}"),
        };
        assert_eq!(slip("gc.policy", "gready".into()), ("gc.policy".into(), "unknown value \"gready\"".into()));
        assert_eq!(slip("flash.dies", (-1).into()).0, "flash.dies");
        assert_eq!(slip("die.timing.erase_ms", "slow".into()).0, "die.timing.erase_ms");
        assert_eq!(slip("flash.die", "no-such".into()).0, "flash.die");
        assert_eq!(slip(OVER_PROVISIONING, "much".into()).0, OVER_PROVISIONING);
        let both = [change(OVER_PROVISIONING, 7), change("capacity_bytes", 4096)];
        assert!(matches!(template.with(&both), Err(Refusal::Value { .. })));
        let no_time = template.with(&[change("die.timing.erase_ms", f64::NAN)]);
        assert!(matches!(&no_time, Err(Refusal::Impossible(e)) if e.key == "die.timing.erase_ms"), "{no_time:?}");
        let nothing_spare = template.with(&[change(OVER_PROVISIONING, 0)]);
        assert!(
            matches!(&nothing_spare, Err(Refusal::Impossible(e)) if e.key == OVER_PROVISIONING),
            "{nothing_spare:?}"
        );
    }

    #[test]
    fn too_little_spare_is_told_as_that_with_the_least_that_is_accepted() {
        for (drive, percent) in [("ideal-32die", 0.5), ("840-evo-120gb", 0.1), ("jmf667h-toshiba-128gb", 0.0)] {
            let template = Template::open(drive).unwrap();
            let Err(Refusal::Impossible(error)) = template.with(&[change(OVER_PROVISIONING, percent)]) else {
                panic!("{percent} % of {drive} is accepted");
            };
            assert_eq!(error.key, OVER_PROVISIONING);
            assert!(error.problem.starts_with(&format!("{percent} % is too little: ")), "{error}");
            let least = error.expected.strip_prefix("use ").and_then(|rest| rest.split(' ').next()).unwrap();
            let least: f64 = least.parse().unwrap();
            let steps_off = |steps: f64| libm::round(least * 100.0 + steps) / 100.0;
            assert!(template.with(&[change(OVER_PROVISIONING, steps_off(0.0))]).is_ok(), "{drive}: {error}");
            assert!(template.with(&[change(OVER_PROVISIONING, steps_off(-1.0))]).is_err(), "{drive}: {error}");
        }
    }

    #[test]
    fn spare_of_flash_that_cannot_be_is_the_fault_of_the_flash() {
        let template = Template::open("840-evo-120gb").unwrap();
        for (key, value) in [
            ("flash.dies", 0),
            ("die.geometry.planes", 0),
            ("die.geometry.page_bytes", 0),
            ("mapping.unit_kib", 0),
            ("mapping.reserved_blocks_per_1000", 5000),
        ] {
            let refused = template.with(&[change(OVER_PROVISIONING, 7), change(key, value)]);
            assert!(matches!(&refused, Err(Refusal::Impossible(e)) if e.key == key), "{key}: {refused:?}");
        }
        let on_die = [
            change(OVER_PROVISIONING, 7),
            change("slc_cache.policy", "on-die"),
            change("mapping.superblock", "all-dies"),
        ];
        assert!(matches!(template.with(&on_die), Err(Refusal::Impossible(_))));
    }

    #[test]
    fn flash_that_leaves_nothing_to_sell_is_told_without_a_capacity_that_nobody_gave() {
        let template = Template::open("840-evo-120gb").unwrap();
        for (key, value) in [("die.geometry.blocks_per_plane", 30), ("gc.start_free_superblocks", 2000)] {
            let refused = template.with(&[change(OVER_PROVISIONING, 7), change(key, value)]);
            let Err(Refusal::Impossible(error)) = refused else { panic!("{key}: {refused:?}") };
            assert_eq!(error.key, OVER_PROVISIONING, "{key}: {error}");
            assert!(error.problem.ends_with("no capacity is left to sell"), "{key}: {error}");
            assert!(!error.to_string().contains("32768") && !error.to_string().contains("capacity_bytes"), "{error}");
        }
        // A number that no drive has, and too few, are told as ever.
        for value in [0, 1] {
            let refused = template.with(&[change(OVER_PROVISIONING, 7), change("gc.start_free_superblocks", value)]);
            assert!(
                matches!(&refused, Err(Refusal::Impossible(e)) if e.key == "gc.start_free_superblocks"),
                "{value}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_capacity_that_follows_from_the_spare_area_is_whole_units() {
        let template = Template::open("860-qvo-1tb").unwrap();
        for unit_kib in [4, 16] {
            let changes = [change(OVER_PROVISIONING, 7), change("mapping.unit_kib", unit_kib)];
            let (drive, _) = template.with(&changes).unwrap();
            assert!(drive.capacity_bytes.is_multiple_of(u64::from(drive.mapping.unit_bytes())));
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_told_the_range_of_its_key() {
        let template = Template::open("840-evo-120gb").unwrap();
        let help = |key: &str, value: Value| match template.with(&[(key.to_owned(), value)]) {
            Err(Refusal::Value { problem, .. }) => problem.help,
            other => panic!("{other:?}"),
        };
        assert_eq!(help("controller.channels", (-1).into()), ["give a whole number, 1 to 32"]);
        let most = drive_keys().key("controller.reads_in_a_row").unwrap().range_in_words();
        assert_eq!(help("controller.reads_in_a_row", 70_000.into()), [format!("give a whole number, {most} reads")]);
        assert_eq!(help("die.timing.erase_ms", "slow".into())[0].split(',').next(), Some("give a number"));
        for value in [3.into(), true.into(), Value::Array(Vec::new()), Value::Table(Table::new())] {
            let help = help("gc.policy", value);
            assert!(help[0].starts_with("give one of these in double quotes: greedy, fifo, "), "{help:?}");
        }
    }
}
