//! From keys and values to points.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use ssdlab_bench::plan::PlanJob;
use ssdlab_catalog::claims::setting;
use ssdlab_catalog::{DEVICE, DEVICE_ARGUMENT, DeviceTemplate, Diagnostic, Refusal};
use toml::Value;

use super::file::{PlanText, key_path};
use crate::point::{Built, Point};
use crate::swept::{Axis, Cell, TEST_PREFIX};
use crate::task::{Task, What};

/// More points than anyone waits for: a slip.
const MAX_POINTS: usize = 100_000;

/// A change of one key and where the plan says so.
#[derive(Clone)]
struct Change {
    key: String,
    value: Value,
    path: String,
    /// Its place among the values of its axis, which is one for all spellings of a value.
    cell: Cell,
}

impl Change {
    /// The same of two that stand for one value; of a parameter, for one of all tests.
    fn identity(&self, tasks: &[Task]) -> String {
        let resolved = |task: &Task| match (&task.what, self.key.strip_prefix(TEST_PREFIX)) {
            (What::Test { def, .. }, Some(key)) => {
                let params = def.resolve(&[(key.to_owned(), setting(&self.value))], false).ok()?;
                Some(format!("{:?}", params.to_json()))
            }
            _ => None,
        };
        let of_tests: Option<Vec<String>> = tasks.iter().map(resolved).collect();
        match of_tests {
            Some(params) if !params.is_empty() => params.join("\n"),
            _ => Cell::of(&self.value).identity(),
        }
    }

    /// The section in which it stands.
    fn section(&self) -> &'static str {
        match self.path.split(['.', '[']).next() {
            Some("list") => "[[list]]",
            Some("grid") => "[grid]",
            _ => "[set]",
        }
    }
}

/// What a plan varies, read and checked, before any drive is made of it.
pub(super) struct Variations {
    fixed: Vec<Change>,
    rows: Vec<Vec<Change>>,
    grid: Vec<Vec<Change>>,
    /// Every key that the plan sweeps, in its order.
    pub axes: Vec<Axis>,
    count: usize,
}

impl Variations {
    /// `rows` are those of the list.
    pub fn of(
        text: &PlanText,
        rows: usize,
        template: &DeviceTemplate,
        tasks: &[Task],
        seeds: &[u64],
    ) -> Result<Self, Diagnostic> {
        let fixed = changes(text, "set");
        let mut rows = list(text, rows, tasks)?;
        let mut grid = grid(text, tasks)?;
        check_keys(text, template, tasks, fixed.iter().chain(rows.iter().flatten()).chain(grid.iter().flatten()))?;
        let count =
            grid.iter().map(Vec::len).fold(rows.len().max(1) * tasks.len() * seeds.len(), usize::saturating_mul);
        if count > MAX_POINTS {
            return Err(Diagnostic::new(format!("the plan has {count} points"))
                .help(format!("a sweep has at most {MAX_POINTS}: leave out keys or values")));
        }
        let axes = axes(rows.iter_mut().flatten().chain(grid.iter_mut().flatten()), tasks);
        Ok(Variations { fixed, rows, grid, axes, count })
    }

    /// Every point.
    pub fn points(
        &self,
        text: &PlanText,
        template: &DeviceTemplate,
        drive: &str,
        tasks: &[Task],
        seeds: &[u64],
    ) -> Result<Vec<Point>, Diagnostic> {
        let common = Common { text, template, drive, fixed: &self.fixed, tasks, seeds };
        let mut points = Vec::with_capacity(self.count);
        let empty = [Vec::new()];
        for row in if self.rows.is_empty() { &empty[..] } else { &self.rows[..] } {
            let mut at = vec![0; self.grid.len()];
            loop {
                let of_grid = self.grid.iter().zip(&at).map(|(values, &i)| &values[i]);
                let swept: Vec<&Change> = row.iter().chain(of_grid).collect();
                common.add_points(&swept, &mut points)?;
                if !next(&mut at, &self.grid) {
                    break;
                }
            }
        }
        for (i, point) in points.iter_mut().enumerate() {
            point.number = i + 1;
        }
        Ok(points)
    }
}

/// The next combination, the last key fastest; false after the last.
fn next(at: &mut [usize], grid: &[Vec<Change>]) -> bool {
    for i in (0..at.len()).rev() {
        at[i] += 1;
        if at[i] < grid[i].len() {
            return true;
        }
        at[i] = 0;
    }
    false
}

/// The axes of what is swept. Of two spellings of a value, all that is told has the first.
fn axes<'a>(swept: impl Iterator<Item = &'a mut Change>, tasks: &[Task]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    let mut seen: BTreeMap<(usize, String), Cell> = BTreeMap::new();
    for change in swept {
        let at = axes.iter().position(|axis| axis.key == change.key).unwrap_or_else(|| {
            axes.push(Axis { key: change.key.clone(), values: Vec::new() });
            axes.len() - 1
        });
        match seen.entry((at, change.identity(tasks))) {
            Entry::Occupied(first) => change.cell = first.get().clone(),
            Entry::Vacant(place) => {
                place.insert(change.cell.clone());
                axes[at].values.push(change.cell.clone());
            }
        }
    }
    axes
}

fn changes(text: &PlanText, section: &str) -> Vec<Change> {
    let of = |(key, value): (&str, &Value)| Change {
        key: key.to_owned(),
        value: value.clone(),
        path: format!("{section}.{key}"),
        cell: Cell::of(value),
    };
    text.below(section).into_iter().map(of).collect()
}

/// The rows of [[list]], so many: all with the same keys, and no two alike.
fn list(text: &PlanText, count: usize, tasks: &[Task]) -> Result<Vec<Vec<Change>>, Diagnostic> {
    let mut rows: Vec<Vec<Change>> = Vec::new();
    let mut seen = BTreeSet::new();
    let identities = |row: &[Change]| -> Vec<String> { row.iter().map(|change| change.identity(tasks)).collect() };
    for i in 0..count {
        let section = format!("list[{i}]");
        let row = changes(text, &section);
        if row.is_empty() {
            let error = Diagnostic::new("this row of the list has no keys").help("give it some, or leave it out");
            return Err(text.at_value(error, &section));
        }
        let Some(first) = rows.first() else {
            seen.insert(identities(&row));
            rows.push(row);
            continue;
        };
        if let Some(missing) = first.iter().find(|c| row.iter().all(|own| own.key != c.key)) {
            let error = Diagnostic::new(format!("this row of the list has no `{}`", missing.key))
                .help("every row of [[list]] has the same keys, so that they become columns");
            return Err(text.at_value(error, &section));
        }
        if let Some(extra) = row.iter().find(|own| first.iter().all(|c| own.key != c.key)) {
            let error = Diagnostic::new(format!("the first row of the list has no `{}`", extra.key))
                .help("every row of [[list]] has the same keys, so that they become columns");
            return Err(text.at_key(error, &extra.path));
        }
        // In the order of the first row.
        let ordered: Vec<Change> =
            first.iter().filter_map(|c| row.iter().find(|own| own.key == c.key).cloned()).collect();
        if !seen.insert(identities(&ordered)) {
            let error = Diagnostic::new("this row of the list is there twice")
                .help("the same run twice tells nothing new: give each row once, and several `seeds` for repeats");
            return Err(text.at_value(error, &section));
        }
        rows.push(ordered);
    }
    Ok(rows)
}

/// The keys of [grid], each with its values.
fn grid(text: &PlanText, tasks: &[Task]) -> Result<Vec<Vec<Change>>, Diagnostic> {
    text.below("grid")
        .into_iter()
        .map(|(key, value)| {
            let path = format!("grid.{key}");
            let Value::Array(values) = value else {
                let error = Diagnostic::new(format!("`{key}` is no list of values"))
                    .help(format!("write {key} = [{value}], or put it into [set] if it shall not vary"));
                return Err(text.at_value(error, &path));
            };
            if values.is_empty() {
                return Err(text.at_value(Diagnostic::new(format!("`{key}` has no values")), &path));
            }
            let mut seen = BTreeSet::new();
            let of = |(i, value): (usize, &Value)| Change {
                key: key.to_owned(),
                value: value.clone(),
                path: format!("{path}[{i}]"),
                cell: Cell::of(value),
            };
            let values: Vec<Change> = values.iter().enumerate().map(of).collect();
            if let Some(again) = values.iter().find(|change| !seen.insert(change.identity(tasks))) {
                let error = Diagnostic::new(format!("{} stands twice", again.value)).help("name each value once");
                return Err(text.at_value(error, &again.path));
            }
            Ok(values)
        })
        .collect()
}

fn check_keys<'a>(
    text: &PlanText,
    template: &DeviceTemplate,
    tasks: &[Task],
    changes: impl Iterator<Item = &'a Change>,
) -> Result<(), Diagnostic> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for change in changes {
        let home = change.path.split(['.', '[']).next().unwrap_or_default();
        if let Some((_, other)) = seen.iter().find(|(key, other)| *key == change.key && *other != home) {
            let error = Diagnostic::new(format!("`{}` stands in [{other}] and in [{home}]", change.key))
                .help("a key has one place");
            return Err(text.at_key(error, key_path(&change.path)));
        }
        seen.push((&change.key, home));
        match change.key.strip_prefix(TEST_PREFIX) {
            None => template.check_key(&change.key).map_err(|e| text.at_key(e, key_path(&change.path)))?,
            Some(key) => check_parameter(text, tasks, key, change)?,
        }
    }
    Ok(())
}

fn check_parameter(text: &PlanText, tasks: &[Task], key: &str, change: &Change) -> Result<(), Diagnostic> {
    for task in tasks {
        let What::Test { def, settings } = &task.what else {
            let error = Diagnostic::new(format!(
                "`{}` stands in {}, but the fio job {} has no parameters",
                change.key,
                change.section(),
                task.name
            ));
            return Err(text.at_key(error, key_path(&change.path)));
        };
        if settings.iter().any(|(k, _)| k == key) {
            let error = Diagnostic::new(format!(
                "`{key}` is set for test {} and stands in {} as well",
                def.name,
                change.section()
            ));
            return Err(text.at_key(error, key_path(&change.path)));
        }
        let settings = vec![(key.to_owned(), setting(&change.value))];
        let job = PlanJob { lab: 0, test: def, variant: String::new(), settings };
        job.check(false).map_err(|e| text.at_parameter(e, &change.path))?;
    }
    Ok(())
}

/// What the points of a plan have in common.
struct Common<'a> {
    text: &'a PlanText<'a>,
    template: &'a DeviceTemplate,
    drive: &'a str,
    fixed: &'a [Change],
    tasks: &'a [Task],
    seeds: &'a [u64],
}

impl Common<'_> {
    /// Every task and seed with these keys swept.
    fn add_points(&self, swept: &[&Change], points: &mut Vec<Point>) -> Result<(), Diagnostic> {
        let all = || self.fixed.iter().chain(swept.iter().copied());
        let of_drive: Vec<(String, Value)> =
            all().filter(|c| !c.key.starts_with(TEST_PREFIX)).map(|c| (c.key.clone(), c.value.clone())).collect();
        let built = match self.template.with(&of_drive) {
            Ok(recipe) => Ok(Built::of(recipe)),
            Err(Refusal::Impossible(error)) => Err(error.to_string()),
            Err(Refusal::Value { key, problem }) => {
                let change = all().find(|c| c.key == key || key.starts_with(&format!("{}.", c.key)));
                let path = change.map_or("drive", |c| c.path.as_str());
                // A device expression points at its own words, which are in the plan; or into a file of its own.
                let within = match &problem.place {
                    Some(place) if place.file == DEVICE_ARGUMENT => format!(" (at character {} of it)", place.column),
                    Some(_) if key == DEVICE => return Err(problem),
                    _ => String::new(),
                };
                let problem = Diagnostic { what: format!("{key}: {}{within}", problem.what), place: None, ..problem };
                return Err(self.text.at_value(problem, path));
            }
        };
        let name =
            of_drive.iter().find(|(key, _)| key == DEVICE).and_then(|(_, value)| value.as_str()).unwrap_or(self.drive);
        let parameters: Vec<(String, String)> =
            all().filter_map(|c| Some((c.key.strip_prefix(TEST_PREFIX)?.to_owned(), setting(&c.value)))).collect();
        for (index, task) in self.tasks.iter().enumerate() {
            for &seed in self.seeds {
                let cells = swept.iter().map(|c| c.cell.clone()).collect();
                points.push(Point::new(name, cells, index, task, &parameters, seed, built.clone()));
            }
        }
        Ok(())
    }
}
