//! Predictions that were made stay as they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use ssdlab_catalog::claims;
use ssdlab_forecast::{beside_figures, read_predictions, with_table};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_prediction_is_as_it_was_made_and_on_the_page() {
    let predictions = read_predictions(&repository().join("predictions")).unwrap_or_else(|e| panic!("{e}"));
    let page = std::fs::read_to_string(repository().join("docs/blind-predictions.md")).unwrap();
    let anew = with_table(&page, &beside_figures(&predictions, &claims::all())).expect("the page has its markers");
    assert_eq!(page, anew, "`make predictions` writes the table");
}

#[test]
fn no_commit_has_changed_renamed_or_removed_a_prediction() {
    let mut git = Command::new("git");
    git.current_dir(repository());
    git.args(["log", "--format=%h", "--diff-filter=MDRT", "--no-renames", "--", "predictions"]);
    let Ok(log) = git.output() else { return };
    // Of an unpacked archive there is no history to look at.
    if log.status.success() {
        let commits = String::from_utf8_lossy(&log.stdout).into_owned();
        assert_eq!(commits, "", "these commits touched predictions that were there");
    }
}
