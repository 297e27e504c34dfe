//! What a request, or a stretch of work, is in words.

use serde_json::{Map, Value, json};
use ssdlab_bench::explain;
use ssdlab_bench::host::SlowestSeen;
use ssdlab_core::{CAUSES, Op, format_duration, to_us};
use ssdlab_device::{Completion, Work};

/// The request in words, and where its time went: `write of 4096 bytes at offset 8192, 1.20 ms: 1.10 ms behind erases …`.
#[must_use]
pub fn slowest_text(seen: &SlowestSeen) -> String {
    let c = &seen.request;
    let why = if c.breakdown.sum() > 0 {
        explain::sentence_of_start(c.latency(), &c.breakdown, seen.starting)
    } else {
        format_duration(c.latency())
    };
    let slower = seen.slower.map_or(String::new(), |slower| {
        format!(" (the very slowest took {}: of many that followed each other, each slower than the one before, not every one is kept)", format_duration(slower))
    });
    format!("{}, {why}{slower}", command_text(c))
}

fn command_text(c: &Completion) -> String {
    match c.op {
        Op::Flush => "flush".to_owned(),
        op => format!("{} of {} bytes at offset {}", op.name(), c.length_bytes, c.offset_bytes),
    }
}

/// Its title, kind, and what a reader finds when it is opened.
pub fn described(work: &Work) -> (String, &'static str, Map<String, Value>) {
    let mut args = Map::new();
    match work {
        Work::Command { command: c, has_ended } => {
            args.insert("offset_bytes".into(), json!(c.offset_bytes));
            args.insert("length_bytes".into(), json!(c.length_bytes));
            if *has_ended {
                args.insert("latency_us".into(), json!(to_us(c.latency())));
                let parts = CAUSES.iter().filter(|&&cause| c.breakdown.get(cause) > 0);
                args.extend(parts.map(|&cause| (format!("{}_us", cause.key()), json!(to_us(c.breakdown.get(cause))))));
            } else {
                args.insert("state".into(), json!("under way when the slowest request ended"));
            }
            let name = if c.op == Op::Flush {
                "flush".to_owned()
            } else {
                format!("{} {}", c.op.name(), size(c.length_bytes))
            };
            (name, "command", args)
        }
        Work::Flash { what, block, page, .. } => {
            args.extend(block.map(|block| ("block".into(), json!(block))));
            args.extend(page.map(|page| ("page".into(), json!(page))));
            (what.to_string(), "flash", args)
        }
        Work::Transfer { die } => (format!("data of die {die}"), "transfer", args),
        Work::Other { what, .. } => (what.to_string(), "work", args),
    }
}

/// For people: the title, and on what.
pub fn words(work: &Work) -> (String, String) {
    let (title, _, _) = described(work);
    let details = match work {
        Work::Command { command, .. } => format!(" at offset {}", command.offset_bytes),
        Work::Flash { block: Some(block), page: Some(page), .. } => format!(", block {block}, page {page}"),
        Work::Flash { block: Some(block), .. } => format!(", block {block}"),
        _ => String::new(),
    };
    (title, details)
}

/// `4 KiB`, `512 B`.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 10) { format!("{} KiB", bytes >> 10) } else { format!("{bytes} B") }
}
