//! `ssdlab ctl`: orders for a device that is attached.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::{Value, json};
use ssdlab_attach::{CONTROL_PATIENCE, Order};
use ssdlab_bench::host::SlowestSeen;

use crate::attach_args::{CtlArgs, CtlOrder};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::timeline::TimelineFile;

pub fn run(args: &CtlArgs) -> Result<(), Failure> {
    let timeline = TimelineFile::at(match &args.order {
        CtlOrder::Timeline { file } => Some(file.as_path()),
        _ => None,
    })?;
    let order = match &args.order {
        CtlOrder::Cut => Order::Cut,
        CtlOrder::Restore => Order::Restore,
        CtlOrder::Status => Order::Status,
        CtlOrder::Smart => Order::Smart,
        CtlOrder::Blame => Order::Blame,
        CtlOrder::Timeline { .. } => Order::Timeline,
        CtlOrder::Erase { crypto } => Order::Erase { crypto: *crypto },
        CtlOrder::Snapshot { image } => {
            let path =
                std::path::absolute(image).map_err(|e| Failure::bad_input(format!("{}: {e}", image.display())))?;
            if path.to_str().is_none() {
                return Err(Failure::bad_input(format!("{} is not valid Unicode", path.display()))
                    .help("give the snapshot another name: an order for an attached device is a line of text"));
            }
            Order::Snapshot { path, number: super::attach::image_number() }
        }
    };
    let answer = ask(args, &order)?;
    if let Some(error) = answer.get("error").and_then(Value::as_str) {
        return Err(Failure::run(error));
    }
    if let Order::Timeline = order {
        let strange = |why: &dyn Display| Failure::run(format!("the device answers what cannot be: {why}"));
        let seen: SlowestSeen = serde_json::from_value(answer["seen"].clone()).map_err(|e| strange(&e))?;
        seen.check().map_err(|why| strange(&why))?;
        let device = answer["device"].as_str().unwrap_or_default();
        let said = timeline.write(Some(&seen), device)?.unwrap_or_default();
        if let (true, CtlOrder::Timeline { file }) = (args.json, &args.order) {
            return print_json(&json!({ "device": device, "file": file.to_string_lossy(), "sentence": said }));
        }
        return print(&(said + "\n"));
    }
    if args.json {
        return print_json(&answer);
    }
    print(&match order {
        Order::Smart => smart(&answer),
        Order::Blame => blame(&answer),
        _ => status(&answer),
    })
}

/// No answer is as long: the longest are timelines, of which a drive has some tens of megabytes to tell.
const MOST_ANSWER_BYTES: u64 = 1 << 30;

fn ask(args: &CtlArgs, order: &Order) -> Result<Value, Failure> {
    let mut beside = args.socket.clone().into_os_string();
    beside.push(".ctl");
    let beside = PathBuf::from(beside);
    let path = if beside.exists() { &beside } else { &args.socket };
    let cannot = |e: std::io::Error| {
        Failure::bad_input(format!("{}: {e}", path.display())).help("give the socket that `ssdlab attach` names")
    };
    let stream = UnixStream::connect(path).map_err(cannot)?;
    // How long these take is the drive's affair.
    if !matches!(order, Order::Snapshot { .. } | Order::Erase { .. }) {
        stream.set_read_timeout(Some(CONTROL_PATIENCE)).map_err(cannot)?;
    }
    (&stream).write_all(order.line().as_bytes()).map_err(cannot)?;
    let mut line = String::new();
    BufReader::new(&stream).take(MOST_ANSWER_BYTES).read_line(&mut line).map_err(cannot)?;
    if line.len() as u64 == MOST_ANSWER_BYTES {
        return Err(Failure::run(format!("{} answers with more than a device has to say", path.display())));
    }
    serde_json::from_str(&line).map_err(|_| {
        Failure::bad_input(format!("{} is not the control socket of a device", path.display()))
            .help("give the socket that `ssdlab attach` names")
    })
}

/// A row for each value, with the names that lead to it.
fn rows(value: &Value, name: String) -> Vec<Vec<String>> {
    match value {
        Value::Object(fields) => {
            let path = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
            fields.iter().flat_map(|(key, value)| rows(value, path(key))).collect()
        }
        Value::Null => Vec::new(),
        Value::String(text) => vec![vec![name, text.clone()]],
        other => vec![vec![name, other.to_string()]],
    }
}

/// A table, and below it what is told in sentences.
fn status(answer: &Value) -> String {
    let after_cut = &answer["pages_after_last_cut"]["sentence"];
    let sentences = [("after the last cut", after_cut), ("warning", &answer["warning"])];
    let mut all = answer.clone();
    if let Some(fields) = all.as_object_mut() {
        fields.remove("warning");
        if let Some(pages) = fields.get_mut("pages_after_last_cut").and_then(Value::as_object_mut) {
            ["first", "sentence"].iter().for_each(|key| drop(pages.remove(*key)));
        }
    }
    let mut text = table(&rows(&all, String::new()));
    for (name, sentence) in sentences {
        text += &sentence.as_str().map_or_else(String::new, |sentence| format!("\n{name}: {sentence}\n"));
    }
    text
}

fn smart(answer: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let headings = ["ID#", "ATTRIBUTE_NAME", "VALUE", "WORST", "THRESH", "RAW_VALUE"];
    let mut all = vec![headings.map(str::to_owned).to_vec()];
    for attribute in answer["attributes"].as_array().into_iter().flatten() {
        all.push(["id", "name", "value", "worst", "threshold", "raw"].map(|key| text(&attribute[key])).to_vec());
    }
    format!(
        "{}\n{}\n{}",
        table(&all),
        table(&rows(&answer["nvme_smart_log"], String::new())),
        table(&rows(&answer["counters"], String::new()))
    )
}

fn blame(answer: &Value) -> String {
    let slow = answer["slow"].as_array().map_or(&[][..], Vec::as_slice);
    if slow.is_empty() {
        return "no slow request yet\n".to_owned();
    }
    let line = |s: &Value| {
        let number = |key: &str| s[key].as_f64().unwrap_or(0.0);
        let request = s["request"].as_str().unwrap_or("");
        let place = if request == "flush" {
            String::new()
        } else {
            format!(" of {} bytes at byte {}", s["length_bytes"], s["offset_bytes"])
        };
        format!("{:.6} s  {request}{place}: {}\n", number("at_s"), s["where"].as_str().unwrap_or(""))
    };
    let all = answer["summary"]["sentence"].as_str().map_or_else(String::new, |all| format!("{all}\n\n"));
    all + &slow.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_told_as_smartctl_tells_them() {
        let life = json!({
            "id": 202, "name": "Percent_Lifetime_Remain", "value": 97, "worst": 97, "threshold": 0, "raw": 3
        });
        let told = smart(&json!({ "attributes": [life], "nvme_smart_log": {}, "counters": {} }));
        let rows: Vec<Vec<&str>> = told.lines().take(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["ID#", "ATTRIBUTE_NAME", "VALUE", "WORST", "THRESH", "RAW_VALUE"]);
        assert_eq!(rows[1], ["202", "Percent_Lifetime_Remain", "97", "97", "0", "3"]);
    }
}
