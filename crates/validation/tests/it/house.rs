//! The workspace is built as `docs/architecture.md` says.

use ssdlab_validation::house::manifests::{AT_THE_FACE, Crates, INSIDE, TOP};
use ssdlab_validation::house::{PAGE, REGENERATE, imports, page, workspace};

fn crates() -> Crates {
    Crates::read(&workspace()).expect("manifests that can be read")
}

#[test]
fn the_page_is_up_to_date() {
    let page = std::fs::read_to_string(workspace().join(PAGE)).expect("a page");
    let new = page::written(&page, &crates()).expect("both markers");
    assert!(page == new, "{PAGE} is out of date: run `{REGENERATE}`");
}

#[test]
fn nobody_reaches_what_it_may_not() {
    let crates = crates();
    for name in AT_THE_FACE.iter().chain(&INSIDE).chain(&[TOP]) {
        assert!(crates.0.contains_key(*name), "there is no crate {name} any more: the rules speak of another house");
    }
    assert_eq!(crates.trespasses(), [""; 0]);
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let circles = imports::circles(&workspace()).expect("sources that can be read");
    let told: Vec<String> = circles.iter().map(|(place, circle)| format!("{place}: {circle}")).collect();
    assert_eq!(told, [""; 0], "move what both need into a file of its own, or one file below the other");
}

/// A fault whose text is gone, or stands twice, would only come to light in the campaign, which takes an hour.
#[test]
fn every_deliberate_fault_is_in_the_sources_once() {
    let root = workspace();
    let list = std::fs::read_to_string(root.join("tests/mutants/faults.toml")).expect("a list of faults");
    let list: toml::Table = list.parse().expect("TOML");
    let faults = list["fault"].as_array().expect("faults");
    assert!(faults.len() >= 60, "{} faults", faults.len());
    for fault in faults {
        let text = |key: &str| fault[key].as_str().expect("a text");
        let source = std::fs::read_to_string(root.join(text("file"))).expect("a source");
        let found = source.matches(text("find")).count();
        assert_eq!(found, 1, "{} in tests/mutants/faults.toml looks for a text of {}", text("name"), text("file"));
        assert_ne!(text("find"), text("replace"), "{}", text("name"));
    }
}
