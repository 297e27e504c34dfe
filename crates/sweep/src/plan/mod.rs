//! A plan: the drives to build, the tests to put them through, and what to draw. `docs/sweeps.md` has the format.

mod expand;
mod file;
mod schema;

use std::path::Path;
use std::sync::Arc;

use ssdlab_bench::fio_run::Prefill;
use ssdlab_bench::plan::PlanJob;
pub use ssdlab_bench::suite::Better;
use ssdlab_bench::suite::better_end;
use ssdlab_bench::suite::{find_test, stands_for};
use ssdlab_catalog::claims::setting;
use ssdlab_catalog::{DeviceTemplate, Diagnostic, parse};
use ssdlab_core::{input, nearest};
use ssdlab_workload::fio::JobFile;

use crate::fio::FIO_METRICS;
use crate::point::Point;
use crate::swept::{Axis, Cell};
use crate::task::{Task, What};
use expand::Variations;
use file::{ChartsFile, PlanFile, PlanText, PrefillWord, TestEntry};
pub use schema::plan_schema;

/// Two metrics or keys that cannot both be had.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    pub x: String,
    pub y: String,
    pub x_better: Better,
    pub y_better: Better,
}

/// What to draw. Empty: what is usual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Charts {
    pub metrics: Vec<String>,
    pub x: Vec<String>,
    pub pareto: Vec<Pareto>,
}

/// A plan, read and checked: nothing of it can fail any more but a point by itself.
#[derive(Clone, Debug)]
pub struct Plan {
    pub title: String,
    /// As the plan names it; random numbers depend on it as they do in a test of that drive.
    pub drive: String,
    /// What `[set]` changes for every point: keys and values.
    pub fixed: Vec<(String, String)>,
    pub axes: Vec<Axis>,
    pub tasks: Vec<Task>,
    pub seeds: Vec<u64>,
    pub charts: Charts,
    /// In the order of the table: rows of the list, then the grid with its last key fastest, then tests, then seeds.
    pub points: Vec<Point>,
}

impl Plan {
    /// Reads a plan and everything that it names.
    ///
    /// # Errors
    /// What is wrong with it, and at which line.
    pub fn open(path: &str) -> Result<Plan, Diagnostic> {
        Plan::parse(path, &Plan::text(Path::new(path))?)
    }

    /// The text of a plan.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn text(path: &Path) -> Result<String, Diagnostic> {
        input::read_text(path).map_err(|e| {
            Diagnostic::new(format!("cannot read the plan {}: {e}", path.display()))
                .help("give the path of a readable .toml file, which is UTF-8 text of at most 4 MiB")
        })
    }

    /// As [`Plan::open`], of a text; `file` is its path, beside which other files are looked for.
    ///
    /// # Errors
    /// As [`Plan::open`].
    pub fn parse(file: &str, text: &str) -> Result<Plan, Diagnostic> {
        let read: PlanFile = parse(file, text, "docs/sweeps.md")?;
        let text = PlanText::new(file, text);
        text.check_once()?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let template = DeviceTemplate::open(&read.drive, folder).map_err(|e| {
            // A drive file, and an expression, point at their own line.
            if e.place.is_some() { e } else { text.at_value(e, "drive") }
        })?;
        let seeds = read.seeds.unwrap_or_else(|| vec![1]);
        if seeds.is_empty() {
            return Err(
                text.at_value(Diagnostic::new("no seed").help("leave `seeds` out for one run with seed 1"), "seeds")
            );
        }
        if let Some(i) = (1..seeds.len()).find(|&i| seeds[..i].contains(&seeds[i])) {
            let error = Diagnostic::new(format!("seed {} is there twice", seeds[i]))
                .help("runs of one seed are the same run: give each seed once");
            return Err(text.at_value(error, &format!("seeds[{i}]")));
        }
        if let Some(i) = seeds.iter().position(|&seed| seed > MAX_SEED) {
            let error = Diagnostic::new(format!("seed {} has more digits than a table's numbers can hold", seeds[i]))
                .help(format!("use 0 to {MAX_SEED}"));
            return Err(text.at_value(error, &format!("seeds[{i}]")));
        }
        let tasks = tasks(&read.test, &text, folder)?;
        let variations = Variations::of(&text, read.list.len(), &template, &tasks, &seeds)?;
        // Before the points, of which there may be so many that making them takes minutes.
        let charts = charts(read.charts, &text, &variations.axes, &tasks)?;
        let points = variations.points(&text, &template, &read.drive, &tasks, &seeds)?;
        let axes = variations.axes;
        let stem = Path::new(file).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let fixed = text.below("set").into_iter().map(|(key, value)| (key.to_owned(), Cell::of(value).text)).collect();
        Ok(Plan { title: read.title.unwrap_or(stem), drive: read.drive, fixed, axes, tasks, seeds, charts, points })
    }
}

fn tasks(entries: &[TestEntry], text: &PlanText, folder: &Path) -> Result<Vec<Task>, Diagnostic> {
    if entries.is_empty() {
        return Err(Diagnostic::new(format!("{} has no test", text.file))
            .help("add [[test]] with name = \"steady-state\" (`ssdlab list tests` shows all), or job = \"file.fio\""));
    }
    let mut tasks =
        entries.iter().enumerate().map(|(i, entry)| task(i, entry, text, folder)).collect::<Result<Vec<_>, _>>()?;
    Task::tell_apart(&mut tasks).map_err(|i| {
        let error = Diagnostic::new(format!("the plan has {} twice", tasks_name(&entries[i])));
        text.at_value(error.help("leave one out, or give it other parameters"), &format!("test[{i}]"))
    })?;
    Ok(tasks)
}

fn tasks_name(entry: &TestEntry) -> &str {
    entry.name.as_deref().or(entry.job.as_deref()).unwrap_or_default()
}

fn task(i: usize, entry: &TestEntry, text: &PlanText, folder: &Path) -> Result<Task, Diagnostic> {
    let path = |key: &str| format!("test[{i}].{key}");
    let given = text.below(&path("set"));
    match (&entry.name, &entry.job) {
        (Some(name), None) => {
            let def = find_test(name).map_err(|e| text.at_value(e.into(), &path("name")))?;
            if entry.prefill.is_some() {
                let error =
                    Diagnostic::new("`prefill` is for fio jobs").help("tests have parameters of their own: [test.set]");
                return Err(text.at_key(error, &path("prefill")));
            }
            let settings: Vec<(String, String)> =
                given.iter().map(|(key, value)| ((*key).to_owned(), setting(value))).collect();
            // One by one, so that the message can point at it.
            for (key, value) in &settings {
                let job =
                    PlanJob { lab: 0, test: def, variant: String::new(), settings: vec![(key.clone(), value.clone())] };
                job.check(false).map_err(|e| text.at_parameter(e, &path(&format!("set.{key}"))))?;
            }
            Ok(Task { name: name.clone(), what: What::Test { def, settings } })
        }
        (None, Some(job)) => {
            if let Some((key, _)) = given.first() {
                let error = Diagnostic::new("a fio job has no parameters but those of its file");
                return Err(text.at_key(error, &path(&format!("set.{key}"))));
            }
            let found = folder.join(job);
            let file = JobFile::open(&found).map_err(|e| {
                let error = Diagnostic::from(&e);
                if error.place.is_some() { error } else { text.at_value(error, &path("job")) }
            })?;
            let prefill = match entry.prefill {
                None | Some(PrefillWord::Read) => Prefill::Read,
                Some(PrefillWord::Drive) => Prefill::Drive,
                Some(PrefillWord::None) => Prefill::Nothing,
            };
            Ok(Task { name: job.clone(), what: What::Job { file: Arc::new(file), prefill } })
        }
        _ => {
            let error = Diagnostic::new("a test has either a `name` or a `job`")
                .help("name = \"steady-state\" for a test of the bench, job = \"file.fio\" for a fio job file");
            Err(text.at_value(error, &format!("test[{i}]")))
        }
    }
}

fn charts(read: ChartsFile, text: &PlanText, axes: &[Axis], tasks: &[Task]) -> Result<Charts, Diagnostic> {
    let unknown = |what: &str, name: &str, known: &[String], path: &str| {
        let mut error = Diagnostic::new(format!("{what} `{name}`"));
        let close = nearest(name, known.iter().map(String::as_str));
        if !close.is_empty() {
            error = error.help(format!("did you mean {}?", close.join(" or ")));
        }
        text.at_value(error.help(format!("there are {}", known.join(", "))), path)
    };
    let keys: Vec<String> = axes.iter().map(|a| a.key.clone()).collect();
    let metrics = declared_metrics(tasks);
    let unit_of = |name: &str| metrics.iter().find(|m| stands_for(&m.0, name)).map(|m| m.1);
    let is_metric = |name: &str| unit_of(name).is_some();
    let known_metrics: Vec<String> = metrics.iter().map(|m| m.0.clone()).collect();
    for (i, name) in read.metrics.iter().flatten().enumerate() {
        if !is_metric(name) {
            return Err(unknown(
                "no test of the plan has a metric",
                name,
                &known_metrics,
                &format!("charts.metrics[{i}]"),
            ));
        }
    }
    for (i, key) in read.x.iter().flatten().enumerate() {
        if !keys.contains(key) {
            return Err(unknown("the plan does not sweep", key, &keys, &format!("charts.x[{i}]")));
        }
    }
    let mut pareto = Vec::new();
    for (i, p) in read.pareto.into_iter().enumerate() {
        for (key, name) in [("x", &p.x), ("y", &p.y)] {
            let numeric = |a: &Axis| a.values.iter().all(|v| v.number.is_some());
            let is_key = axes.iter().any(|a| a.key == *name && numeric(a));
            if !is_key && !is_metric(name) && !FACTS.contains(&name.as_str()) {
                let mut known = known_metrics.clone();
                known.extend(FACTS.map(str::to_owned));
                known.extend(axes.iter().filter(|a| numeric(a)).map(|a| a.key.clone()));
                return Err(unknown("there is no figure", name, &known, &format!("charts.pareto[{i}].{key}")));
            }
        }
        let better = |given: Option<Better>, name: &str| {
            given.unwrap_or_else(|| usually_better(name, unit_of(name).unwrap_or_default()))
        };
        pareto.push(Pareto { x_better: better(p.x_better, &p.x), y_better: better(p.y_better, &p.y), x: p.x, y: p.y });
    }
    Ok(Charts { metrics: read.metrics.unwrap_or_default(), x: read.x.unwrap_or_default(), pareto })
}

/// The table's numbers are doubles: beyond this, two seeds could look like one.
const MAX_SEED: u64 = 1 << 53;

/// What is known of a drive as it was built.
pub(crate) const FACTS: [&str; 2] = ["capacity_bytes", "spare_percent"];

/// What a plan draws has more of it where it is better, or less: most of what is counted is counted because less of it is.
pub(crate) fn usually_better(name: &str, unit: &str) -> Better {
    let sold = name == "capacity_bytes";
    better_end(name, unit).unwrap_or(if sold { Better::Higher } else { Better::Lower })
}

/// The figures that tests of the plan may have, with their units.
fn declared_metrics(tasks: &[Task]) -> Vec<(String, &'static str)> {
    let mut names: Vec<(String, &'static str)> = Vec::new();
    for task in tasks {
        let own: Vec<(String, &'static str)> = match &task.what {
            What::Test { def, .. } => {
                def.all_metrics().flat_map(|m| m.keys().map(|key| (key.to_owned(), m.unit))).collect()
            }
            What::Job { .. } => FIO_METRICS.iter().map(|&(key, unit)| (key.to_owned(), unit)).collect(),
        };
        for name in own {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}
