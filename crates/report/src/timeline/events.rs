//! The Trace Event Format, which Perfetto and Chrome draw.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use ssdlab_bench::host::SlowestSeen;
use ssdlab_core::{Nanos, to_us};
use ssdlab_device::{Completion, Stretch, Work};

use super::lanes::lanes;
use super::words::{described, slowest_text};

/// What every such file begins with.
pub const TIMELINE_BEGINS: &str = r#"{"displayTimeUnit":"ns","otherData":{"schema":"ssdlab.timeline/1""#;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    display_time_unit: &'static str,
    other_data: OtherData<'a>,
    trace_events: Vec<Event>,
}

#[derive(Serialize)]
struct OtherData<'a> {
    schema: &'static str,
    version: &'a str,
    device: &'a str,
    /// The request, and where its time went.
    slowest: String,
    /// What stands before this time of the file may not be all.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from_us: Option<f64>,
}

/// A stretch (`X`), or a name (`M`).
#[derive(Serialize)]
struct Event {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// The document. Its time 0 is the beginning of what is shown.
pub fn timeline_json(seen: &SlowestSeen, device: &str, version: &str) -> String {
    let mut writer = Writer { begin: seen.from, events: Vec::new(), parts: BTreeMap::new() };
    let slowest = slowest_text(seen);
    writer.part("the slowest request", "", &[command_stretch(&seen.request)]);
    for track in &seen.timeline.tracks {
        let group = track.part.split(' ').next().unwrap_or_default();
        let group = match group {
            "die" => "dies",
            "channel" => "channels",
            group => group,
        };
        let group = if track.drive.is_empty() { group.to_owned() } else { format!("{} {group}", track.drive) };
        writer.part(&group, &track.part, &track.stretches);
    }
    let complete_from = seen.timeline.complete_from;
    let document = Document {
        display_time_unit: "ns",
        other_data: OtherData {
            schema: "ssdlab.timeline/1",
            version,
            device,
            slowest,
            complete_from_us: (complete_from > seen.from).then(|| to_us(complete_from - seen.from)),
        },
        trace_events: writer.events,
    };
    serde_json::to_string(&document).expect("numbers and text have a form in JSON") + "\n"
}

fn command_stretch(c: &Completion) -> Stretch {
    Stretch { from: c.submitted, to: c.completed, work: Work::Command { command: *c, has_ended: true } }
}

struct Writer {
    begin: Nanos,
    events: Vec<Event>,
    /// By group of parts: its number, and how many lanes it has.
    parts: BTreeMap<String, (usize, usize)>,
}

impl Writer {
    /// A part of a group, in as many lanes as its stretches need to lie beside each other.
    fn part(&mut self, group: &str, name: &str, stretches: &[Stretch]) {
        let pid = self.group(group);
        let mut tids: Vec<usize> = Vec::new();
        for (stretch, lane) in stretches.iter().zip(lanes(stretches, usize::MAX)) {
            let lane = lane.expect("there is no end of lanes");
            if lane == tids.len() {
                tids.push(self.lane(group, if lane == 0 { name.to_owned() } else { String::new() }));
            }
            let tid = tids[lane];
            let (title, cat, args) = described(&stretch.work);
            let from = stretch.from.max(self.begin);
            let (ts, dur) = (to_us(from - self.begin), to_us(stretch.to.saturating_sub(from)));
            self.events.push(Event {
                name: title,
                cat: Some(cat),
                ph: "X",
                ts: Some(ts),
                dur: Some(dur),
                pid,
                tid,
                args,
            });
        }
    }

    fn group(&mut self, group: &str) -> usize {
        if let Some((pid, _)) = self.parts.get(group) {
            return *pid;
        }
        let pid = self.parts.len() + 1;
        self.parts.insert(group.to_owned(), (pid, 0));
        self.name("process_name", "name", json!(group), pid, 0);
        self.name("process_sort_index", "sort_index", json!(pid), pid, 0);
        pid
    }

    fn lane(&mut self, group: &str, name: String) -> usize {
        let (pid, lanes) = self.parts.get_mut(group).expect("the group was named");
        *lanes += 1;
        let (pid, tid) = (*pid, *lanes);
        if !name.is_empty() {
            self.name("thread_name", "name", json!(name), pid, tid);
        }
        self.name("thread_sort_index", "sort_index", json!(tid), pid, tid);
        tid
    }

    fn name(&mut self, what: &str, key: &str, value: Value, pid: usize, tid: usize) {
        let args = Map::from_iter([(key.to_owned(), value)]);
        self.events.push(Event { name: what.to_owned(), cat: None, ph: "M", ts: None, dur: None, pid, tid, args });
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::{Breakdown, Cause, Op};
    use ssdlab_device::{Status, Timeline, Track};

    use super::*;

    fn command(submitted: Nanos, completed: Nanos) -> Completion {
        let mut breakdown = Breakdown::default();
        breakdown.add(Cause::Erase, completed - submitted);
        let (op, status) = (Op::Write, Status::Ok);
        Completion { tag: 1, op, status, offset_bytes: 8192, length_bytes: 4096, submitted, completed, breakdown }
    }

    #[test]
    fn rows_of_a_drive_without_commands_stand_under_its_own_name() {
        let drive = |name: &str, commands: &[Completion]| {
            let commands =
                Track { stretches: commands.iter().map(command_stretch).collect(), ..Track::new("commands") };
            let tracks = [commands, Track::new("die 0"), Track::new("die 1")];
            let tracks = tracks.into_iter().filter(|track| track.part != "commands" || !track.stretches.is_empty());
            Timeline { tracks: tracks.collect(), complete_from: 0 }.of_drive(name)
        };
        let request = command(1_000, 9_000);
        let timeline = drive("0: busy", &[request]).beside(drive("1: idle", &[])).beside(drive("2: idle", &[]));
        let seen = SlowestSeen { request, from: 500, timeline, slower: None, starting: 0 };
        let svg = crate::timeline_svg(&seen, "a set");
        let at = |text: &str| svg.find(&format!(">{text}</text>")).unwrap_or_else(|| panic!("{text}: {svg}"));
        assert!(at("0: busy") < at("die 0") && at("die 0") < at("1: idle") && at("1: idle") < at("2: idle"), "{svg}");
        assert!(svg.rfind(">die 0</text>").unwrap() > at("2: idle"), "{svg}");
    }

    /// Rows of many are lower than letters: a name that stands a row further down names the wrong die.
    #[test]
    fn names_stand_at_the_middle_of_their_rows() {
        let erase = Stretch {
            from: 1_000,
            to: 9_000,
            work: Work::Flash { what: "erase".into(), cause: Cause::Erase, block: Some(7), page: None },
        };
        let die = |n: usize| Track { stretches: vec![erase.clone()], ..Track::new(format!("die {n}")) };
        for dies in [4, 20, 60, 200] {
            let timeline = Timeline { tracks: (0..dies).map(die).collect(), complete_from: 0 };
            let seen = SlowestSeen { request: command(1_000, 9_000), from: 500, timeline, slower: None, starting: 0 };
            let svg = crate::timeline_svg(&seen, "a drive");
            let number = |of: &str, key: &str| -> f64 {
                let (_, after) = of.split_once(&format!(" {key}=\"")).unwrap_or_else(|| panic!("{key}: {of}"));
                after.split('"').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{key}: {of}"))
            };
            let mut named = 0;
            for (before, after) in (0..dies).filter_map(|n| svg.split_once(&format!(">die {n}</text>"))) {
                let name = &before[before.rfind("<text").expect("a text")..];
                let row = &after[after.find("<rect").expect("its erase is drawn behind its name")..];
                let middle = number(name, "y") - 0.35 * number(name, "font-size");
                let of_row = number(row, "y") + number(row, "height") / 2.0;
                assert!((middle - of_row).abs() < 1.0, "of {dies}: {name} at {middle}, its row at {of_row}");
                named += 1;
            }
            assert!(named >= dies / 5, "{named} of {dies}");
        }
    }

    #[test]
    fn times_below_a_picture_are_in_the_unit_that_is_written_below_them() {
        let request = command(1_500_000, 1_900_000);
        let seen = SlowestSeen { request, from: 0, timeline: Timeline::default(), slower: None, starting: 0 };
        let svg = crate::timeline_svg(&seen, "a drive");
        let labelled = |text: &str| svg.contains(&format!(">{text}</text>"));
        assert!(labelled("µs since the request was sent") && labelled("-1,000") && labelled("0"), "{svg}");
        assert!(!svg.contains("K</text>"), "{svg}");
    }

    #[test]
    fn the_file_begins_as_it_should_and_commands_side_by_side_have_lanes() {
        let both = [command(1_000, 9_000), command(2_000, 3_500)];
        let stretch = |c: &Completion| command_stretch(c);
        let commands = Track { stretches: both.iter().map(stretch).collect(), ..Track::new("commands") };
        let erase = Stretch {
            from: 500,
            to: 8_000,
            work: Work::Flash { what: "erase".into(), cause: Cause::Erase, block: Some(7), page: None },
        };
        let die = Track { stretches: vec![erase], ..Track::new("die 3") };
        let timeline = Timeline { tracks: vec![commands, die], complete_from: 0 };
        let seen = SlowestSeen { request: both[0], from: 1_000, timeline, slower: None, starting: 0 };
        assert!(!crate::timeline_svg(&seen, "a drive").contains("not all of this is kept"));
        let partial = Timeline { complete_from: 5_000, ..seen.timeline.clone() };
        let partial = SlowestSeen { timeline: partial, ..seen.clone() };
        assert!(crate::timeline_svg(&partial, "a drive").contains("not all of this is kept"));
        assert!(timeline_json(&partial, "a drive", "0.1.0").contains(r#""complete_from_us":4.0"#));
        let text = timeline_json(&seen, "a drive", "0.1.0");
        assert!(text.starts_with(TIMELINE_BEGINS), "{text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["otherData"]["slowest"], "write of 4096 bytes at offset 8192, 8.0 us: 8.0 us behind erases");
        let events = value["traceEvents"].as_array().expect("a list");
        let drawn: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
        let at: Vec<_> =
            drawn.iter().map(|e| (e["pid"].as_u64(), e["tid"].as_u64(), e["ts"].as_f64(), e["dur"].as_f64())).collect();
        let some = |pid, tid, ts, dur| (Some(pid), Some(tid), Some(ts), Some(dur));
        assert_eq!(at, [some(1, 1, 0.0, 8.0), some(2, 1, 0.0, 8.0), some(2, 2, 1.0, 1.5), some(3, 1, 0.0, 7.0)]);
        assert_eq!((&drawn[3]["name"], &drawn[3]["args"]["block"]), (&json!("erase"), &json!(7)));
    }
}
