//! `docs/fio-jobs.md` lists every option as the parser's own table has it.

use std::fmt::Write as _;
use std::path::PathBuf;

use ssdlab_workload::fio::{OptionUse, option_table};

const BEGIN: &str = "<!-- options: begin";
const END: &str = "<!-- options: end -->";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio-jobs.md")
}

/// The tables as they should stand in the page.
fn tables() -> String {
    let mut text = String::from("\n| option | value | default | meaning |\n|---|---|---|---|\n");
    for option in option_table().filter(|o| o.usage == OptionUse::Supported) {
        let names: Vec<String> =
            std::iter::once(&option.name).chain(option.aliases).map(|name| format!("`{name}`")).collect();
        let value = if option.value.is_empty() { "switch" } else { option.value };
        writeln!(text, "| {} | {value} | {} | {} |", names.join(", "), option.default, option.help).unwrap();
    }
    text.push_str("\n## Options that are ignored\n\nThey are accepted and named in a notice.\n\n");
    text.push_str("| option | why |\n|---|---|\n");
    for option in option_table().filter(|o| o.usage == OptionUse::Ignored) {
        let names: Vec<String> =
            std::iter::once(&option.name).chain(option.aliases).map(|name| format!("`{name}`")).collect();
        writeln!(text, "| {} | {} |", names.join(", "), option.help).unwrap();
    }
    text.push_str("\n## Options that are refused\n\n");
    text.push_str("They would change what a drive is sent, and ssdlab does not do what they ask for. ");
    text.push_str(
        "With the tables above, these are all options that fio had in August 2026 (3.42), but for those of its profiles: what is in none of them, it did not know either.\n\n",
    );
    text.push_str("| option | why |\n|---|---|\n");
    for option in option_table().filter(|o| o.usage == OptionUse::Refused) {
        let names: Vec<String> =
            std::iter::once(&option.name).chain(option.aliases).map(|name| format!("`{name}`")).collect();
        writeln!(text, "| {} | {} |", names.join(", "), option.help).unwrap();
    }
    text.push('\n');
    text
}

/// The page up to the tables, the tables, and the rest.
fn page() -> (String, String, String) {
    let text = std::fs::read_to_string(path()).unwrap();
    let begin = text.find(BEGIN).expect("the page marks where the tables begin");
    let begin = begin + text[begin..].find('\n').expect("the mark ends its line") + 1;
    let end = text.find(END).expect("the page marks where the tables end");
    (text[..begin].to_owned(), text[begin..end].to_owned(), text[end..].to_owned())
}

#[test]
fn the_page_lists_the_options_of_the_table() {
    let (_, found, _) = page();
    assert!(
        found == tables(),
        "docs/fio-jobs.md is out of date; run `cargo test -p ssdlab-workload --test it -- --ignored option_docs`"
    );
}

#[test]
#[ignore = "no test but a tool: writes the tables into docs/fio-jobs.md, which another test compares"]
fn write_the_tables() {
    let (before, _, after) = page();
    std::fs::write(path(), before + &tables() + &after).unwrap();
}
