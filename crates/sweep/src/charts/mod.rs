//! The page of a sweep: each metric against each key, Pareto fronts, and what did not work out.

mod axis;
mod front;

use ssdlab_bench::{Axis as ChartAxis, Chart, Mark, Series};
use ssdlab_report::{SweepFigure, SweepPage, SweepRow, SweepSection, SweepTable};

use crate::idle::keys_without_effect;
use crate::plan::{Pareto, Plan, usually_better};
use crate::point::PointResult;
use crate::run::{State, is_unfinished};
use crate::swept::{Axis, Cell};
use crate::table::{metric, metric_keys, reason, status, test_notes};
use crate::task::What;
use axis::{key_label, key_with_value, lower_first, spans_decades, spread_evenly_by_ratio};

/// What is drawn if the plan does not say, as far as there is: of runs that begin on a fresh drive and have a last part, that part;
/// else of tests, and of fio jobs.
const USUAL_OF_LAST_PART: [&str; 3] = ["waf_tail", "iops_mean_tail", "latency_p99_tail"];
const USUAL_METRICS: [&str; 9] = [
    "waf",
    "iops",
    "latency_p99",
    "read_iops",
    "read_latency_p99_9",
    "write_iops",
    "write_latency_p99_9",
    "mixed_iops",
    "mixed_latency_p99_9",
];
/// More panels than this are too many to compare; some are left out, evenly.
const MOST_PANELS: usize = 6;
/// More lines than this in one picture cannot be told apart.
const MOST_SERIES: usize = 8;
const MOST_REASONS: usize = 40;
const MOST_NAMED: usize = 8;

/// What the charts know of a plan and its results.
pub(crate) struct Data<'a> {
    pub plan: &'a Plan,
    pub states: &'a [State],
    /// Keys that take more than one value.
    pub varied: Vec<usize>,
    /// Metrics with their units.
    pub metrics: Vec<(String, String)>,
    /// The file that has everything.
    pub table: String,
}

/// The page; `files` are those that lie beside it, first the one that has every point.
#[must_use]
pub fn page(plan: &Plan, states: &[State], version: &str, files: Vec<String>) -> SweepPage {
    let varied = (0..plan.axes.len()).filter(|&a| plan.axes[a].values.len() > 1).collect();
    let table = files.first().cloned().unwrap_or_else(|| "results.csv".to_owned());
    let data = Data { plan, states, varied, metrics: metric_keys(states), table };
    let mut sections = Vec::new();
    for task in 0..plan.tasks.len() {
        sections.extend(fronts(&data, task));
        sections.extend(metric_sections(&data, task));
    }
    sections.extend(said_by_tests(&data));
    sections.extend(without_result(&data));
    let finished = states.iter().filter(|s| status(s) == "finished").count();
    let unfinished = is_unfinished(states);
    SweepPage {
        command: "sweep".to_owned(),
        title: if unfinished { format!("{} (unfinished)", plan.title) } else { plan.title.clone() },
        deck: format!("{finished} of {} points of one base drive, {}", states.len(), plan.drive),
        version: version.to_owned(),
        facts: facts(&data),
        notes: notes(&data),
        sections,
        files,
    }
}

fn facts(data: &Data) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = data
        .plan
        .axes
        .iter()
        .map(|axis| {
            let values: Vec<&str> = axis.values.iter().map(|v| v.text.as_str()).collect();
            (axis.key.clone(), values.join(", "))
        })
        .collect();
    if !data.plan.fixed.is_empty() {
        let fixed: Vec<String> = data.plan.fixed.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        facts.push(("the same for all".to_owned(), fixed.join(", ")));
    }
    for task in &data.plan.tasks {
        let text = match &task.what {
            What::Test { def, settings } => {
                let settings: Vec<String> = settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
                format!("{}{}{}", def.title, if settings.is_empty() { "" } else { ": " }, settings.join(", "))
            }
            What::Job { .. } => "a fio job file".to_owned(),
        };
        facts.push((task.name.clone(), text));
    }
    let seeds: Vec<String> = data.plan.seeds.iter().map(u64::to_string).collect();
    facts.push(("seeds".to_owned(), seeds.join(", ")));
    facts
}

fn notes(data: &Data) -> Vec<String> {
    let count = |of: &str| data.states.iter().filter(|s| status(s) == of).count();
    let mut notes = Vec::new();
    for (what, text) in [
        ("impossible", "cannot be built or tested; they are missing from the charts, and their reasons are below"),
        ("failed", "failed, which is a bug; they are missing from the charts"),
        (
            "not run",
            "have not been run: the sweep was stopped, and what is drawn and compared here is what was finished by then",
        ),
    ] {
        if count(what) > 0 {
            notes.push(format!("{} of {} points {text}.", count(what), data.states.len()));
        }
    }
    for (task, about) in data.plan.tasks.iter().enumerate() {
        let unsteady: Vec<usize> = data.rows(task).filter(|&row| data.is_unsettled(row)).collect();
        if !unsteady.is_empty() {
            let points = if unsteady.len() == 1 { "1 point".to_owned() } else { format!("{} points", unsteady.len()) };
            notes.push(format!(
                "{}: {points} did not reach a steady state{}. Charts and intervals have what the test measured by its end; \
                 on fronts such points beat nobody, and stand beside them.",
                about.name,
                data.named(&unsteady)
            ));
        }
    }
    notes.extend(without_effect(data));
    for key in data.plan.charts.metrics.iter().filter(|key| !data.is_measured(key)) {
        notes.push(format!("No point has {key}: there is no chart of it."));
    }
    if positions(data).is_empty() {
        notes.push(format!(
            "No key takes more than one value: there is nothing to draw figures against, and no trade-off between drives. {} has \
             every run.",
            data.table
        ));
    } else if data.plan.seeds.len() > 1 {
        let seeds = data.plan.seeds.len();
        let of = match is_unfinished(data.states) {
            true => format!("the runs finished so far, of up to {seeds} seeds"),
            false => format!("{seeds} seeds"),
        };
        notes.push(format!(
            "Charts show means of {of}, and fronts are decided between points that differ by more than the 95 % intervals \
             of their means; {} has every run.",
            data.table
        ));
    }
    notes
}

/// Charts would show them as flat lines, or as lines one upon the other.
fn without_effect(data: &Data) -> Option<String> {
    let idle = keys_without_effect(data.plan, data.states);
    (!idle.is_empty()).then(|| {
        format!(
            "{} moved nothing: points that differ in nothing else have the same figures to the last digit.",
            idle.join(" and ")
        )
    })
}

impl Data<'_> {
    /// Whether a row's test looked for a steady state and did not find it.
    pub(crate) fn is_unsettled(&self, row: usize) -> bool {
        metric(&self.states[row], "steady") == Some(0.0)
    }

    /// Which of these rows did not settle, in a sentence.
    fn unsettled_among(&self, rows: &[usize]) -> Option<String> {
        let unsettled: Vec<usize> = rows.iter().copied().filter(|&row| self.is_unsettled(row)).collect();
        (!unsettled.is_empty())
            .then(|| format!("Not settled: {} of {} runs{}.", unsettled.len(), rows.len(), self.named(&unsettled)))
    }

    /// The drives of these rows in brackets, each once; nothing if nothing tells them apart.
    fn named(&self, rows: &[usize]) -> String {
        let mut names: Vec<String> = Vec::new();
        for &row in rows {
            let name = self.name_of(row);
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        if names.len() > MOST_NAMED {
            names.truncate(MOST_NAMED);
            names.push("and others".to_owned());
        }
        if names.is_empty() { String::new() } else { format!(" ({})", names.join("; ")) }
    }

    /// The points of a task that have a figure.
    fn rows(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.states.len())
            .filter(move |&i| self.plan.points[i].task == task && status(&self.states[i]) == "finished")
    }

    pub(crate) fn cell(&self, row: usize, axis: usize) -> &Cell {
        &self.plan.points[row].cells[axis]
    }

    fn axis(&self, axis: usize) -> &Axis {
        &self.plan.axes[axis]
    }

    fn is_numeric(&self, axis: usize) -> bool {
        self.axis(axis).values.iter().all(|v| v.number.is_some())
    }

    /// A metric, a fact or a swept number of a row, with its unit.
    pub(crate) fn figure(&self, row: usize, name: &str) -> Option<f64> {
        let State::Done(PointResult::Finished { capacity_bytes, spare_percent, metrics, .. }) = &self.states[row]
        else {
            return None;
        };
        if let Some(m) = metrics.get(name) {
            return Some(m.value);
        }
        match name {
            "spare_percent" => *spare_percent,
            "capacity_bytes" => Some(*capacity_bytes as f64),
            _ => {
                let axis = self.plan.axes.iter().position(|a| a.key == name)?;
                self.cell(row, axis).number
            }
        }
    }

    pub(crate) fn unit(&self, name: &str) -> String {
        match self.metrics.iter().find(|m| m.0 == name) {
            Some(m) => m.1.clone(),
            None => axis::key_unit(name).to_owned(),
        }
    }

    fn is_measured(&self, name: &str) -> bool {
        self.metrics.iter().any(|m| m.0 == name)
    }

    /// What tells a row from its neighbours.
    pub(crate) fn name_of(&self, row: usize) -> String {
        let words: Vec<String> = self.varied.iter().map(|&a| self.with_value(a, &self.cell(row, a).text)).collect();
        words.join(", ")
    }

    fn with_value(&self, axis: usize, value: &str) -> String {
        key_with_value(&self.axis(axis).key, value, &self.plan.axes)
    }

    fn axis_label(&self, axis: usize) -> String {
        key_label(&self.axis(axis).key, &self.plan.axes)
    }

    fn label(&self, task: usize, name: &str) -> String {
        if !self.is_measured(name) {
            return key_label(name, &self.plan.axes);
        }
        self.plan.tasks[task].label(name)
    }

    /// The figure of the last part of a run that begins on a fresh drive, if the task has it; otherwise that of the whole run.
    fn of_last_part(&self, task: usize, last: &'static str, whole: &'static str) -> &'static str {
        if self.has_figure(task, last) { last } else { whole }
    }

    fn has_figure(&self, task: usize, key: &str) -> bool {
        self.rows(task).any(|row| metric(&self.states[row], key).is_some())
    }
}

/// Which key is laid along the axis, which makes lines, which makes panels; the rest join the lines' names.
struct Roles {
    x: usize,
    series: Vec<usize>,
    panel: Option<usize>,
}

fn roles(data: &Data, x: usize) -> Roles {
    let mut rest: Vec<usize> = data.varied.iter().copied().filter(|&a| a != x).collect();
    // Words make better lines than numbers do, and panels may be either.
    rest.sort_by_key(|&a| data.is_numeric(a));
    let panel = if rest.len() > 1 { Some(rest.remove(1)) } else { None };
    Roles { x, series: rest, panel }
}

fn metric_sections(data: &Data, task: usize) -> Vec<SweepSection> {
    let there = |key: &str| data.has_figure(task, key);
    let asked = &data.plan.charts.metrics;
    let usual = || {
        let of_last_part = USUAL_OF_LAST_PART.iter().any(|key| there(key));
        let usual = if of_last_part { &USUAL_OF_LAST_PART[..] } else { &USUAL_METRICS };
        let usual: Vec<String> = usual.iter().map(|m| (*m).to_owned()).collect();
        if usual.iter().any(|m| there(m)) { usual } else { data.metrics.iter().map(|m| m.0.clone()).collect() }
    };
    let metrics: Vec<String> = if asked.is_empty() { usual() } else { asked.clone() };
    let xs = positions(data);
    if xs.is_empty() {
        return Vec::new();
    }
    let several = data.plan.tasks.len() > 1;
    metrics
        .into_iter()
        .filter(|key| there(key))
        .map(|key| {
            let label = data.label(task, &key);
            let rows = xs.iter().map(|&x| metric_row(data, task, &key, &roles(data, x))).collect();
            let title = if several { format!("{label}: {}", data.plan.tasks[task].name) } else { label };
            SweepSection { title, text: String::new(), rows, tables: Vec::new() }
        })
        .collect()
}

/// The keys that metrics are drawn against: of those that are varied the ones asked for, else every number, else the first.
fn positions(data: &Data) -> Vec<usize> {
    let varied = |key: &String| data.varied.iter().copied().find(|&a| data.axis(a).key == *key);
    let asked: Vec<usize> = data.plan.charts.x.iter().filter_map(varied).collect();
    if !asked.is_empty() {
        return asked;
    }
    let numeric: Vec<usize> = data.varied.iter().copied().filter(|&a| data.is_numeric(a)).collect();
    if numeric.is_empty() { data.varied.iter().copied().take(1).collect() } else { numeric }
}

/// At most so many of `n`, evenly, with the first and the last.
fn some_of(n: usize, most: usize) -> Vec<usize> {
    if n <= most { (0..n).collect() } else { (0..most).map(|i| i * (n - 1) / (most - 1)).collect() }
}

fn metric_row(data: &Data, task: usize, key: &str, roles: &Roles) -> SweepRow {
    let panels: Vec<Option<&Cell>> = match roles.panel {
        Some(axis) => {
            let values = &data.axis(axis).values;
            some_of(values.len(), MOST_PANELS).into_iter().map(|i| Some(&values[i])).collect()
        }
        None => vec![None],
    };
    let all: Vec<f64> = data.rows(task).filter_map(|i| metric(&data.states[i], key)).collect();
    let y = value_axis(&data.label(task, key), &data.unit(key), &all, mark_along(data, roles.x));
    let left_out = roles.panel.map_or(0, |axis| data.axis(axis).values.len() - panels.len());
    let figures = panels.iter().map(|panel| metric_figure(data, task, key, roles, *panel, &y)).collect();
    let mut heading = format!("Against {}", lower_first(&data.axis_label(roles.x)));
    if left_out > 0 {
        heading.push_str(&format!(" ({left_out} of the {} panels are left out)", left_out + panels.len()));
    }
    SweepRow { heading, figures }
}

/// Words have no places between them that a line could go through.
fn mark_along(data: &Data, x: usize) -> Mark {
    if data.is_numeric(x) { Mark::Line } else { Mark::Bars }
}

/// The axis of a figure. Bars are as long as their values, however far these reach.
fn value_axis(label: &str, unit: &str, values: &[f64], mark: Mark) -> ChartAxis {
    let is_log = mark != Mark::Bars && spans_decades(values);
    if is_log { ChartAxis::log(label, unit) } else { ChartAxis::linear(label, unit) }
}

fn metric_figure(
    data: &Data,
    task: usize,
    key: &str,
    roles: &Roles,
    panel: Option<&Cell>,
    y: &ChartAxis,
) -> SweepFigure {
    let x_axis = data.axis(roles.x);
    let numeric = data.is_numeric(roles.x);
    let in_panel = |row: usize| match (roles.panel, panel) {
        (Some(axis), Some(value)) => data.cell(row, axis) == value,
        _ => true,
    };
    let has_figure = |&row: &usize| metric(&data.states[row], key).is_some();
    // Of all panels: a line has its place, and so its colour, in each of them. Lines are told apart by what was swept: two values can
    // look alike when they are rounded.
    let swept = |row: usize| -> Vec<&str> { roles.series.iter().map(|&a| data.cell(row, a).text.as_str()).collect() };
    let mut lines: Vec<(Vec<&str>, String)> = Vec::new();
    for row in data.rows(task).filter(has_figure) {
        let cells = swept(row);
        if !lines.iter().any(|line| line.0 == cells) {
            lines.push((cells, series_name(data, roles, row)));
        }
    }
    let names: Vec<String> = lines
        .iter()
        .map(|(cells, name)| match lines.iter().filter(|line| line.1 == *name).count() {
            1 => name.clone(),
            _ => format!("{name} ({})", cells.join(", ")),
        })
        .collect();
    // By name and place: sum and count, over seeds.
    let mut sums: Vec<Vec<(f64, f64, u32)>> = vec![Vec::new(); names.len()];
    let rows: Vec<usize> = data.rows(task).filter(|&row| in_panel(row)).collect();
    for &row in &rows {
        let Some(value) = metric(&data.states[row], key) else { continue };
        let cells = swept(row);
        let series = lines.iter().position(|line| line.0 == cells).expect("every row with a figure has one");
        let cell = data.cell(row, roles.x);
        let at = match cell.number {
            Some(v) if numeric => v,
            _ => x_axis.values.iter().position(|v| v == cell).unwrap_or(0) as f64,
        };
        match sums[series].iter_mut().find(|p| p.0.total_cmp(&at).is_eq()) {
            Some(p) => (p.1, p.2) = (p.1 + value, p.2 + 1),
            None => sums[series].push((at, value, 1)),
        }
    }
    let left_out = names.len().saturating_sub(MOST_SERIES);
    let series = names
        .into_iter()
        .zip(sums)
        .take(MOST_SERIES)
        .map(|(name, mut sums)| {
            sums.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series { name, points: sums.into_iter().map(|(x, sum, n)| [x, sum / f64::from(n)]).collect() }
        })
        .collect();
    let x_label = data.axis_label(roles.x);
    let unit = axis::key_unit(&x_axis.key);
    let mut x = if numeric && spread_evenly_by_ratio(x_axis) {
        // Without lines at powers of ten, steps of a ratio look like those of a sum.
        ChartAxis::log(&format!("{x_label}, logarithmic"), unit)
    } else {
        ChartAxis::linear(&x_label, unit)
    };
    if !numeric {
        x.categories = x_axis.values.iter().map(|v| v.text.clone()).collect();
    }
    let subject = match (roles.panel, panel) {
        (Some(axis), Some(value)) => data.with_value(axis, &value.text),
        _ => String::new(),
    };
    let id = format!("{}-{key}-by-{}-{subject}", data.plan.tasks[task].name, x_axis.key);
    SweepFigure {
        chart: Chart {
            id,
            title: if subject.is_empty() { data.label(task, key) } else { subject.clone() },
            caption: [left_out_lines(left_out, &data.table), data.unsettled_among(&rows)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            mark: mark_along(data, roles.x),
            x,
            y: y.clone(),
            series,
            overlay_drives: false,
        },
        subject: String::new(),
        point_names: Vec::new(),
        stepped: Vec::new(),
    }
}

fn left_out_lines(left_out: usize, table: &str) -> Option<String> {
    let (lines, are) = if left_out == 1 { ("line", "is") } else { ("lines", "are") };
    (left_out > 0).then(|| format!("{left_out} more {lines} {are} in {table}."))
}

/// Of so many rows, what a table leaves out.
fn left_out_rows(rows: usize, table: &str) -> String {
    match rows.checked_sub(MOST_REASONS) {
        Some(more) if more > 0 => format!("The first {MOST_REASONS}; {table} has {more} more."),
        _ => String::new(),
    }
}

fn series_name(data: &Data, roles: &Roles, row: usize) -> String {
    let words: Vec<String> = roles
        .series
        .iter()
        .map(|&a| {
            let text = &data.cell(row, a).text;
            let of_another = |&other: &usize| other != a && data.axis(other).values.iter().any(|v| v.text == *text);
            let told = data.with_value(a, text);
            // A word speaks for itself, unless another key has it as well.
            if told == *text && roles.series.iter().any(of_another) {
                format!("{} {text}", lower_first(&data.axis_label(a)))
            } else {
                told
            }
        })
        .collect();
    words.join(", ")
}

fn fronts(data: &Data, task: usize) -> Option<SweepSection> {
    let pareto =
        if data.plan.charts.pareto.is_empty() { usual_fronts(data, task) } else { data.plan.charts.pareto.clone() };
    let drawn: Vec<(SweepRow, SweepTable)> = pareto.iter().filter_map(|p| front::draw(data, task, p)).collect();
    if drawn.is_empty() {
        return None;
    }
    let several = data.plan.tasks.len() > 1;
    let title = if several { format!("Trade-offs: {}", data.plan.tasks[task].name) } else { "Trade-offs".to_owned() };
    let (rows, tables) = drawn.into_iter().unzip();
    Some(SweepSection {
        title,
        text: match data.plan.seeds.len() {
            0 | 1 => {
                "A point is on the front if no other point is at least as good in both figures and better in one. Each was run \
                 with one seed: which of two that lie close together is on it may be chance, which a plan with several seeds tells."
            }
            _ => {
                "A point is on the front if no other point is surely better in one figure, by more than the 95 % intervals of both \
                 means, and no worse in the mean of the other. Of a point with a single run so far nothing is sure."
            }
        }
        .to_owned(),
        rows,
        tables,
    })
}

/// Spare area costs flash; and fast drives may stutter.
fn usual_fronts(data: &Data, task: usize) -> Vec<Pareto> {
    let varies = |name: &str| {
        let mut values = data.rows(task).filter_map(|i| data.figure(i, name));
        values.next().is_some_and(|first| values.any(|v| (v - first).abs() > 0.01 * first.abs()))
    };
    let [waf_tail, iops_tail, latency_tail] = USUAL_OF_LAST_PART;
    let of = |last, whole| data.of_last_part(task, last, whole);
    let [waf, iops, latency] = [of(waf_tail, "waf"), of(iops_tail, "iops"), of(latency_tail, "latency_p99")];
    [("spare_percent", waf), (iops, latency)]
        .into_iter()
        .filter(|(x, y)| varies(x) && varies(y))
        .map(|(x, y)| Pareto {
            x: x.to_owned(),
            y: y.to_owned(),
            x_better: usually_better(x, &data.unit(x)),
            y_better: usually_better(y, &data.unit(y)),
        })
        .collect()
}

/// What tests say of their own figures: charts and table show these without it.
fn said_by_tests(data: &Data) -> Option<SweepSection> {
    let plan = data.plan;
    let of_files = plan
        .tasks
        .iter()
        .flat_map(|task| task.notices().into_iter().map(|notice| vec!["all".to_owned(), task.name.clone(), notice]));
    let of_points = data.states.iter().enumerate().flat_map(|(i, state)| {
        let row = move |note: &String| vec![plan.points[i].number.to_string(), plan.describe(i), note.clone()];
        test_notes(state).iter().map(row)
    });
    let said: Vec<Vec<String>> = of_files.chain(of_points).collect();
    if said.is_empty() {
        return None;
    }
    let text = left_out_rows(said.len(), &data.table);
    Some(SweepSection {
        title: "What the tests say of their figures".to_owned(),
        text,
        rows: Vec::new(),
        tables: vec![SweepTable {
            caption: "Notes".to_owned(),
            columns: [("Point", true), ("What", false), ("Note", false)]
                .map(|(n, numeric)| (n.to_owned(), numeric))
                .to_vec(),
            rows: said.into_iter().take(MOST_REASONS).collect(),
        }],
    })
}

fn without_result(data: &Data) -> Option<SweepSection> {
    let missing: Vec<usize> = (0..data.states.len()).filter(|&i| status(&data.states[i]) != "finished").collect();
    if missing.is_empty() {
        return None;
    }
    let rows = missing.iter().take(MOST_REASONS).map(|&i| {
        vec![
            data.plan.points[i].number.to_string(),
            data.plan.describe(i),
            status(&data.states[i]).to_owned(),
            reason(&data.states[i]).to_owned(),
        ]
    });
    let columns = [("Point", true), ("What", false), ("Status", false), ("Why", false)];
    let text = left_out_rows(missing.len(), &data.table);
    Some(SweepSection {
        title: "Points without a result".to_owned(),
        text,
        rows: Vec::new(),
        tables: vec![SweepTable {
            caption: "Reasons".to_owned(),
            columns: columns.map(|(name, numeric)| (name.to_owned(), numeric)).to_vec(),
            rows: rows.collect(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let is_log = |values: &[f64], mark| value_axis("IOPS", "IOPS", values, mark).log;
        assert!(is_log(&[1.0, 100.0], Mark::Line) && !is_log(&[1.0, 10.0], Mark::Line));
        assert!(!is_log(&[1.0, 100.0], Mark::Bars));
    }

    #[test]
    fn what_is_left_out_is_where_it_is_said_to_be() {
        let lines = |left_out| left_out_lines(left_out, "unfinished.csv");
        assert_eq!(lines(2).as_deref(), Some("2 more lines are in unfinished.csv."));
        assert_eq!((lines(1).as_deref(), lines(0)), (Some("1 more line is in unfinished.csv."), None));
        assert_eq!(left_out_rows(MOST_REASONS + 3, "results.csv"), "The first 40; results.csv has 3 more.");
        assert_eq!(left_out_rows(MOST_REASONS, "results.csv"), "");
    }
}
