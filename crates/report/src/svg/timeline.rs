//! What the parts of a device did side by side, each in a row of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ssdlab_bench::Axis;
use ssdlab_bench::host::SlowestSeen;
use ssdlab_core::{CAUSES, Cause, Nanos};
use ssdlab_device::{Stretch, Track, Work};

use super::canvas::{Anchor, Canvas, coord};
use super::scale::{Extent, Role, Scale};
use super::skin::{self, Skin, hatch_definitions, rules};
use super::{Layout, Measures};
use crate::number;
use crate::text;
use crate::timeline::lanes::lanes;
use crate::timeline::words::words;

/// A stretch that is wider is drawn by itself, in a file with its name; what is narrower is drawn by the column.
const BY_ITSELF: f64 = 3.0;
const COLUMN: f64 = 1.0;
/// A hair of ground between neighbours.
const GAP: f64 = 0.5;
/// Heights of a row, by how many rows there are.
const HEIGHTS: [(usize, f64); 4] = [(16, 16.0), (48, 9.0), (128, 5.0), (usize::MAX, 3.0)];
/// More commands side by side are counted, not drawn.
const MOST_LANES: usize = 64;

/// Rows of one height under a common name.
struct Group<'a> {
    name: String,
    /// The name of each row, and its stretches; without a name the row belongs to the one above.
    rows: Vec<(&'a str, Vec<&'a Stretch>)>,
    left_out: usize,
}

/// Room around it.
#[derive(Clone, Copy)]
struct Frame {
    m: Measures,
    pad: f64,
    /// Where rows begin; what names them stands before.
    left: f64,
    right: f64,
    /// Stretches have their names, which a reader sees who points at them.
    named: bool,
    skin: Skin,
}

impl Frame {
    fn of(layout: Layout, skin: Skin) -> Self {
        let m = layout.measures();
        let (m, pad) = match layout {
            Layout::File => (Measures { width: 1200.0, ..m }, 20.0),
            _ => (m, 0.0),
        };
        let left = pad + m.font * if layout == Layout::Phone { 6.0 } else { 8.5 };
        Frame { m, pad, left, right: m.width - pad - 6.0, named: layout == Layout::File, skin }
    }
}

/// What it is called.
pub(crate) fn title(device: &str) -> String {
    format!("What {device} did while its slowest request waited")
}

/// Draws it as one `<svg>`; a file has its title and sentence inside.
pub(crate) fn draw(seen: &SlowestSeen, device: &str, sentence: &str, layout: Layout, skin: Skin) -> String {
    let f = Frame::of(layout, skin);
    let m = f.m;
    let mut canvas = Canvas::default();
    let title = title(device);
    let mut y = 2.0;
    if skin == Skin::File {
        y = 14.0;
        for (line, size, class) in lines(&title, sentence, m) {
            y += size * 1.5;
            canvas.text(f.pad, y, size, Anchor::Start, class, &line);
        }
        y += 10.0;
    }
    y = legend(&mut canvas, seen, f, y) + 8.0;
    let top = y;
    let time = Time::of(seen, f);
    let request = &seen.request;
    let own = Stretch {
        from: request.submitted,
        to: request.completed,
        work: Work::Command { command: *request, has_ended: true },
    };
    let slowest = Group { name: String::new(), rows: vec![("slowest request", vec![&own])], left_out: 0 };
    let groups: Vec<Group<'_>> = [slowest].into_iter().chain(groups(&seen.timeline.tracks)).collect();
    let count: usize = groups.iter().map(|g| g.rows.iter().filter(|row| !row.0.is_empty()).count()).sum();
    let height = HEIGHTS.iter().find(|(most, _)| count <= *most).map_or(3.0, |(_, height)| *height);
    let size = m.font * 0.85;
    // Where the last name ends.
    let mut names_end = y;
    for group in &groups {
        if !group.name.is_empty() {
            y = y.max(names_end) + m.font * 1.5;
            canvas.text(f.pad, y, m.font, Anchor::Start, "b", &group.name);
            y += 4.0;
            names_end = y;
        }
        let is_lanes = group.rows.iter().any(|row| row.0.is_empty());
        let height = if is_lanes { (120.0 / group.rows.len() as f64).clamp(1.5, 6.0) } else { height };
        // The name of lanes is that of all of them, and stands at the first. Any other stands at the middle of its row, where it may
        // be higher than that.
        let middle = if is_lanes { size / 2.0 } else { height / 2.0 };
        y = y.max(names_end + size / 2.0 - middle);
        let mut free_from = 0.0;
        for (name, stretches) in &group.rows {
            if !name.is_empty() && y >= free_from {
                let at = y + middle + size * 0.35;
                canvas.text(f.left - 8.0, at, size, Anchor::End, "l", &text::fit(name, size, f.left - f.pad - 8.0));
                free_from = y + size;
                names_end = y + middle + size / 2.0;
            }
            let gap = if height > 4.0 { 1.5 } else { 0.5 };
            row(&mut canvas, &time, stretches, (y, height - gap), f);
            y += height;
        }
        if group.left_out > 0 {
            y += m.font;
            let more = format!("and {} more commands", group.left_out);
            canvas.text(f.left, y, m.font * 0.85, Anchor::Start, "t", &more);
        }
        y += 6.0;
    }
    let bottom = y;
    veil(&mut canvas, &time, f, seen.timeline.complete_from, (top, bottom));
    let y = axis(&mut canvas, &time, f, top, bottom);
    let mut out = String::new();
    let (w, h) = (coord(m.width), coord(y + 12.0));
    let (title, sentence) = (text::escape(&title), text::escape(sentence));
    if skin == Skin::Page {
        let _ = write!(
            out,
            "<svg class=\"chart {}\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{title}: {sentence}\">{}</svg>",
            layout.name(),
            canvas.body
        );
        return out;
    }
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         aria-labelledby=\"t d\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" font-stretch=\"condensed\">\
         <title id=\"t\">{title}</title><desc id=\"d\">{sentence}</desc>{}<style>\n{}</style>\
         <rect width=\"100%\" height=\"100%\" class=\"p\"/>{}</svg>\n",
        hatch_definitions(),
        rules(Skin::File),
        canvas.body
    );
    out
}

fn lines(title: &str, sentence: &str, m: Measures) -> Vec<(String, f64, &'static str)> {
    let heads = text::wrap(title, m.font * 1.35, m.width - 40.0).into_iter().map(|line| (line, m.font * 1.35, "b"));
    let rest = text::wrap(sentence, m.font, m.width - 40.0).into_iter().map(|line| (line, m.font, "t"));
    heads.chain(rest).collect()
}

/// The tracks with their rows: commands in as many lanes as they need, everything else in a row for each part.
fn groups(tracks: &[Track]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut drive = "";
    for track in tracks {
        // A drive that had nothing to do has a heading, too.
        let is_next = track.drive != drive;
        drive = &track.drive;
        let name = if is_next { track.drive.clone() } else { String::new() };
        let is_commands = track.stretches.iter().any(|s| matches!(s.work, Work::Command { .. }));
        if is_commands {
            let (rows, left_out) = rows_of(&track.part, &track.stretches);
            groups.push(Group { name, rows, left_out });
            continue;
        }
        let row = (track.part.as_str(), track.stretches.iter().collect());
        let kind = |part: &str| part.split(' ').next().map(str::to_owned);
        match groups.last_mut() {
            Some(group) if !is_next && group.rows.last().is_some_and(|last| kind(last.0) == kind(&track.part)) => {
                group.rows.push(row)
            }
            _ => groups.push(Group { name, rows: vec![row], left_out: 0 }),
        }
    }
    groups
}

/// A row for each lane, and how many stretches have none.
fn rows_of<'a>(name: &'a str, stretches: &'a [Stretch]) -> (Vec<(&'a str, Vec<&'a Stretch>)>, usize) {
    let mut rows: Vec<(&str, Vec<&Stretch>)> = Vec::new();
    let mut left_out = 0;
    for (stretch, lane) in stretches.iter().zip(lanes(stretches, MOST_LANES)) {
        match lane {
            Some(lane) if lane == rows.len() => rows.push((if lane == 0 { name } else { "" }, vec![stretch])),
            Some(lane) => rows[lane].1.push(stretch),
            None => left_out += 1,
        }
    }
    (rows, left_out)
}

/// Where a time lies.
struct Time {
    scale: Scale,
    /// The request was sent then; times are told from there on.
    zero: Nanos,
    /// Nanoseconds of the unit, and its name.
    unit: (f64, &'static str),
    ends: Nanos,
    begins: Nanos,
}

impl Time {
    fn of(seen: &SlowestSeen, f: Frame) -> Self {
        let (begins, ends) = (seen.from, seen.request.completed);
        let zero = seen.request.submitted;
        let unit = match ends - begins {
            0..2_000_000 => (1e3, "µs"),
            2_000_000..2_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let told = |at: Nanos| (at as f64 - zero as f64) / unit.0;
        let axis = Axis { min: Some(told(begins)), max: Some(told(ends)), ..Axis::linear("", "") };
        let extent = Extent::of([told(begins), told(ends)]);
        let scale = Scale::new(&axis, extent, Role::Position, f.m.ticks_x, &[]).between(f.left, f.right);
        Time { scale, zero, unit, ends, begins }
    }

    fn at(&self, time: Nanos) -> f64 {
        self.scale.at((time as f64 - self.zero as f64) / self.unit.0)
    }
}

/// What a stretch is coloured by: a cause, by its number, or that it is a command.
fn colour(work: &Work) -> usize {
    work.cause().map_or(COMMAND, |cause| cause as usize)
}

const COMMAND: usize = CAUSES.len();

fn fill(colour: usize) -> String {
    if colour == COMMAND { "f5".to_owned() } else { format!("k{colour}") }
}

/// Stretches of one row, each colour one path: pages hold thousands of them.
#[derive(Default)]
struct Dashes {
    /// By colour, and whether it is pale: the path so far, and where it has ended, in tenths.
    paths: BTreeMap<(usize, bool), (String, i64)>,
}

impl Dashes {
    fn add(&mut self, ink: (usize, bool), y: f64, from: f64, to: f64) {
        let [from, to] = [from, to].map(|x| (x * 10.0).round() as i64);
        let to = to.max(from + 1);
        let tenths = |t: i64| coord(t as f64 / 10.0);
        let (path, at) = self.paths.entry(ink).or_default();
        if path.is_empty() {
            let _ = write!(path, "M{} {}", tenths(from), coord(y));
        } else {
            let _ = write!(path, "m{} 0", tenths(from - *at));
        }
        let _ = write!(path, "h{}", tenths(to - from));
        *at = to;
    }

    fn draw(self, canvas: &mut Canvas, height: f64, skin: Skin) {
        for ((colour, is_pale), (path, _)) in self.paths {
            let ink = match skin {
                Skin::Page if colour == COMMAND => "var(--s5)".to_owned(),
                Skin::Page => format!("var(--k{colour})"),
                Skin::File if colour == COMMAND => skin::SERIES[5].0.to_owned(),
                Skin::File => skin::CAUSE_COLOURS[colour].0.to_owned(),
            };
            let opacity = if is_pale { ";stroke-opacity:0.35" } else { "" };
            canvas
                .path(&path, &format!("fill=\"none\" style=\"stroke:{ink};stroke-width:{}{opacity}\"", coord(height)));
        }
    }
}

fn row(canvas: &mut Canvas, time: &Time, stretches: &[&Stretch], (y, height): (f64, f64), f: Frame) {
    let left = time.at(time.begins);
    let mut dashes = Dashes::default();
    let mut columns = Columns::default();
    let middle = y + height / 2.0;
    for stretch in stretches.iter().filter(|s| s.to > time.begins && s.from < time.ends) {
        let (from, to) = (time.at(stretch.from.max(time.begins)), time.at(stretch.to.min(time.ends)));
        let colour = colour(&stretch.work);
        if to - from < BY_ITSELF {
            columns.add(colour, from - left, to - left);
        } else if f.named {
            columns.flush(&mut dashes, middle, left);
            canvas.bar(from, y, to - from - GAP, height, &(fill(colour), 0), &told(stretch, time));
        } else {
            columns.flush(&mut dashes, middle, left);
            dashes.add((colour, false), middle, from, to - GAP);
        }
    }
    columns.flush(&mut dashes, middle, left);
    dashes.draw(canvas, height, f.skin);
}

/// What is too narrow to be drawn by itself: columns, each in the colour of what takes most of it, pale where that is less than a quarter:
/// left out, a part that is busy again and again would seem idle.
#[derive(Default)]
struct Columns {
    /// In order: the column, the colour, and how much of the column it takes.
    parts: Vec<(usize, usize, f64)>,
}

impl Columns {
    fn add(&mut self, colour: usize, mut from: f64, to: f64) {
        while from < to {
            let column = (from / COLUMN) as usize;
            let end = ((column + 1) as f64 * COLUMN).min(to).max(from + 1e-6);
            let same = |part: &&mut (usize, usize, f64)| part.0 == column && part.1 == colour;
            match self.parts.iter_mut().rev().take_while(|part| part.0 == column).find(same) {
                Some(part) => part.2 += end - from,
                None => self.parts.push((column, colour, end - from)),
            }
            from = end;
        }
    }

    /// Draws what has gathered, neighbours of one colour as one.
    fn flush(&mut self, dashes: &mut Dashes, y: f64, left: f64) {
        let mut run: Option<((usize, bool), usize, usize)> = None;
        let mut draw = |run: Option<((usize, bool), usize, usize)>| {
            if let Some((ink, first, end)) = run {
                dashes.add(ink, y, left + first as f64 * COLUMN, left + end as f64 * COLUMN);
            }
        };
        for parts in self.parts.chunk_by(|a, b| a.0 == b.0) {
            let &(column, colour, share) =
                parts.iter().reduce(|a, b| if b.2 > a.2 { b } else { a }).expect("a column has a part");
            let ink = (colour, share < COLUMN / 4.0);
            run = match run {
                Some((before, first, end)) if before == ink && end == column => Some((before, first, column + 1)),
                other => {
                    draw(other);
                    Some((ink, column, column + 1))
                }
            };
        }
        draw(run);
        self.parts.clear();
    }
}

/// For the tooltip.
fn told(stretch: &Stretch, time: &Time) -> String {
    let (title, details) = words(&stretch.work);
    let told = |at: Nanos| number::trimmed((at as f64 - time.zero as f64) / time.unit.0, 3);
    format!("{title}{details}: {} to {} {}", told(stretch.from), told(stretch.to), time.unit.1)
}

/// Swatches of what occurs. Returns where they end.
fn legend(canvas: &mut Canvas, seen: &SlowestSeen, f: Frame, top: f64) -> f64 {
    let m = f.m;
    let stretches = seen.timeline.tracks.iter().flat_map(|track| &track.stretches);
    let found: BTreeSet<Cause> = stretches.filter_map(|s| s.work.cause()).collect();
    let entries = found.into_iter().map(|cause| (format!("k{}", cause as usize), cause.label()));
    let (mut x, mut y) = (f.pad, top + m.font);
    for (class, name) in entries.chain([("f5".to_owned(), "a command")]) {
        let room = 22.0 + text::width(name, m.font) * 1.14 + 16.0;
        if x > f.pad && x + room > f.right {
            x = f.pad;
            y += m.font * 1.6;
        }
        canvas.rect(x, y - m.font * 0.8, 16.0, 12.0, &class);
        canvas.text(x + 22.0, y, m.font, Anchor::Start, "l", name);
        x += room;
    }
    y + m.font * 0.6
}

/// Over what is no longer known as a whole: a gap there does not say that a die was idle.
fn veil(canvas: &mut Canvas, time: &Time, f: Frame, complete_from: Nanos, (top, bottom): (f64, f64)) {
    if complete_from <= time.begins {
        return;
    }
    let (from, to) = (time.at(time.begins), time.at(complete_from.min(time.ends)));
    let _ = write!(
        canvas.body,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"q\" fill-opacity=\".85\"/>",
        coord(from),
        coord(top),
        coord(to - from),
        coord(bottom - top)
    );
    let words = "not all of this is kept";
    let (size, middle) = (f.m.font, (from + to) / 2.0);
    let width = text::width(words, size) * 1.14;
    let x = middle.clamp(f.left + width / 2.0, f.right - width / 2.0);
    canvas.pill(x - width / 2.0 - 4.0, (top + bottom) / 2.0 - size, width + 8.0, size * 1.5);
    canvas.text(x, (top + bottom) / 2.0, size, Anchor::Middle, "l", words);
}

/// A time in whole and parts of the unit: nobody says -1K microseconds.
fn time_label(value: f64) -> String {
    if value.abs() >= 1_000.0 { number::grouped(value, 0) } else { number::significant(value) }
}

/// Grid and times below; the stretch of the request is marked over all rows. Returns where it ends.
fn axis(canvas: &mut Canvas, time: &Time, f: Frame, top: f64, bottom: f64) -> f64 {
    let m = f.m;
    let mut lines = String::new();
    for tick in &time.scale.ticks {
        let at = time.scale.at(tick.value);
        let _ = write!(lines, "M{} {}V{}", coord(at), coord(top), coord(bottom));
        canvas.text(at, bottom + m.font * 1.25, m.font * 0.9, Anchor::Middle, "t", &time_label(tick.value));
    }
    let (from, to) = (time.at(time.zero), time.at(time.ends));
    let band = format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"z\"/>",
        coord(from),
        coord(top),
        coord(to - from),
        coord(bottom - top)
    );
    canvas.body.insert_str(0, &format!("{band}<path d=\"{lines}\" class=\"g\"/>"));
    let y = bottom + m.font * 2.8;
    let title = format!("{} since the request was sent", time.unit.1);
    canvas.text((f.left + f.right) / 2.0, y, m.font, Anchor::Middle, "t", &title);
    y
}

// A cause has a colour by its number.
const _: () = assert!(skin::CAUSE_COLOURS.len() == CAUSES.len());
