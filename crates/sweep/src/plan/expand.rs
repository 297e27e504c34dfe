//! From keys and values to points.

use std::collections::BTreeSet;

use ssdlab_bench::plan::PlanJob;
use ssdlab_catalog::{DEVICE, DeviceTemplate, Diagnostic, Refusal};
use toml::Value;

use super::file::{PlanText, key_path};
use super::setting;
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
}

/// Every key that the plan sweeps, and every point.
pub(super) fn expand(
    text: &PlanText,
    template: &DeviceTemplate,
    drive: &str,
    tasks: &[Task],
    seeds: &[u64],
) -> Result<(Vec<Axis>, Vec<Point>), Diagnostic> {
    let fixed = changes(text, "set");
    let rows = list(text)?;
    let grid = grid(text)?;
    check_keys(text, template, tasks, fixed.iter().chain(rows.iter().flatten()).chain(grid.iter().flatten()))?;
    let count = grid.iter().map(Vec::len).fold(rows.len().max(1) * tasks.len() * seeds.len(), usize::saturating_mul);
    if count > MAX_POINTS {
        return Err(Diagnostic::new(format!("the plan has {count} points"))
            .help(format!("a sweep has at most {MAX_POINTS}: leave out keys or values")));
    }
    let common = Common { text, template, drive, fixed: &fixed, tasks, seeds };
    let mut axes = Axes::default();
    let mut points = Vec::with_capacity(count);
    let empty = [Vec::new()];
    for row in if rows.is_empty() { &empty[..] } else { &rows[..] } {
        let mut at = vec![0; grid.len()];
        loop {
            let swept: Vec<&Change> = row.iter().chain(grid.iter().zip(&at).map(|(values, &i)| &values[i])).collect();
            axes.note(&swept);
            common.add_points(&swept, &mut points)?;
            if !next(&mut at, &grid) {
                break;
            }
        }
    }
    for (i, point) in points.iter_mut().enumerate() {
        point.number = i + 1;
    }
    Ok((axes.axes, points))
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

fn changes(text: &PlanText, section: &str) -> Vec<Change> {
    let of = |(key, value): (&str, &Value)| Change {
        key: key.to_owned(),
        value: value.clone(),
        path: format!("{section}.{key}"),
    };
    text.below(section).into_iter().map(of).collect()
}

/// The rows of [[list]]: all with the same keys.
fn list(text: &PlanText) -> Result<Vec<Vec<Change>>, Diagnostic> {
    let mut rows: Vec<Vec<Change>> = Vec::new();
    loop {
        let section = format!("list[{}]", rows.len());
        let row = changes(text, &section);
        let Some(first) = rows.first() else {
            if row.is_empty() {
                return Ok(rows);
            }
            rows.push(row);
            continue;
        };
        if row.is_empty() {
            return Ok(rows);
        }
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
        let ordered = first.iter().filter_map(|c| row.iter().find(|own| own.key == c.key).cloned()).collect();
        rows.push(ordered);
    }
}

/// The keys of [grid], each with its values.
fn grid(text: &PlanText) -> Result<Vec<Vec<Change>>, Diagnostic> {
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
            for (i, value) in values.iter().enumerate() {
                if !seen.insert(value.to_string()) {
                    let error = Diagnostic::new(format!("{value} stands twice")).help("name each value once");
                    return Err(text.at_value(error, &format!("{path}[{i}]")));
                }
            }
            let of = |(i, value): (usize, &Value)| Change {
                key: key.to_owned(),
                value: value.clone(),
                path: format!("{path}[{i}]"),
            };
            Ok(values.iter().enumerate().map(of).collect())
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
            let error =
                Diagnostic::new(format!("`{}` is swept, but the fio job {} has no parameters", change.key, task.name));
            return Err(text.at_key(error, key_path(&change.path)));
        };
        if settings.iter().any(|(k, _)| k == key) {
            let error = Diagnostic::new(format!("`{key}` is set for test {} and swept as well", def.name));
            return Err(text.at_key(error, key_path(&change.path)));
        }
        let settings = vec![(key.to_owned(), setting(&change.value))];
        let job = PlanJob { lab: 0, test: def, variant: String::new(), settings };
        job.check(false).map_err(|e| text.at_parameter(e, &change.path))?;
    }
    Ok(())
}

/// Keys with their values, each once, in the order of the plan.
#[derive(Default)]
struct Axes {
    axes: Vec<Axis>,
    /// What they have: the axis, the text, and the bits of the number.
    seen: BTreeSet<(usize, String, Option<u64>)>,
}

impl Axes {
    fn note(&mut self, swept: &[&Change]) {
        for change in swept {
            let cell = Cell::of(&change.value);
            let at = self.axes.iter().position(|axis| axis.key == change.key).unwrap_or_else(|| {
                self.axes.push(Axis { key: change.key.clone(), values: Vec::new() });
                self.axes.len() - 1
            });
            if self.seen.insert((at, cell.text.clone(), cell.number.map(f64::to_bits))) {
                self.axes[at].values.push(cell);
            }
        }
    }
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
                if key == DEVICE && problem.place.is_some() {
                    // An expression points at its own words.
                    return Err(problem);
                }
                let problem = Diagnostic { what: format!("{key}: {}", problem.what), ..problem };
                return Err(self.text.at_value(problem, path));
            }
        };
        let name =
            of_drive.iter().find(|(key, _)| key == DEVICE).and_then(|(_, value)| value.as_str()).unwrap_or(self.drive);
        let parameters: Vec<(String, String)> =
            all().filter_map(|c| Some((c.key.strip_prefix(TEST_PREFIX)?.to_owned(), setting(&c.value)))).collect();
        for (index, task) in self.tasks.iter().enumerate() {
            for &seed in self.seeds {
                let cells = swept.iter().map(|c| Cell::of(&c.value)).collect();
                points.push(Point::new(name, cells, index, task, &parameters, seed, built.clone()));
            }
        }
        Ok(())
    }
}
