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
    // Of an unpacked archive there is no history to look at.
    if let Some(touched) = touched(&repository()) {
        assert_eq!(touched, "", "these commits, or files not yet committed, touched predictions that were there");
    }
}

/// Commits, merges included, and files of the work tree that changed, renamed or removed what was in `predictions`; `None`
/// without git, or without a history.
fn touched(repository: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let out = Command::new("git").current_dir(repository).args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    };
    let filter = ["--diff-filter=MDRT", "--no-renames"];
    let commits = git(&["log", "-m", "--format=%h", filter[0], filter[1], "--", "predictions"])?;
    let files = git(&["diff", "HEAD", "--name-status", filter[0], filter[1], "--", "predictions"])?;
    Some(commits + &files)
}

#[test]
fn no_prediction_was_committed_when_figures_of_its_drive_stood_in_the_catalog() {
    if let Some(known) = known_before(&repository()) {
        assert_eq!(known, [""; 0], "figures of these drives were known when they were predicted");
    }
}

/// Drives whose names stood in files of claims in the commit that brought their prediction; `None` without git, or without a
/// history.
fn known_before(repository: &Path) -> Option<Vec<String>> {
    let git = |args: &[&str]| {
        let out = Command::new("git").current_dir(repository).args(args).output().ok()?;
        // `git grep` ends with 1 if it finds nothing.
        out.status.code().is_some_and(|code| code < 2).then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    };
    let mut known = Vec::new();
    let mut commit = String::new();
    for line in git(&["log", "--format=commit %H", "--diff-filter=A", "--name-only", "--", "predictions"])?.lines() {
        if let Some(hash) = line.strip_prefix("commit ") {
            hash.clone_into(&mut commit);
        } else if let Some(file) = line.strip_prefix("predictions/").filter(|file| file.ends_with(".json")) {
            let drive = format!("\"{}\"", file.split('.').next().unwrap_or(file));
            let found = git(&["grep", "-l", "-F", "-e", &drive, &commit, "--", "catalog/claims"])?;
            if !found.is_empty() {
                known.push(file.to_owned());
            }
        }
    }
    Some(known)
}

#[test]
fn a_prediction_that_comes_with_its_figures_is_none() {
    let folder = std::env::temp_dir().join(format!("ssdlab-known-{}", std::process::id()));
    for inner in ["predictions", "catalog/claims"] {
        std::fs::create_dir_all(folder.join(inner)).unwrap();
    }
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        Command::new("git").current_dir(&folder).args(who).args(args).output().is_ok_and(|out| out.status.success())
    };
    if !git(&["init", "-q", "-b", "main"]) {
        return;
    }
    let commit = |files: &[(&str, &str)]| {
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        assert!(git(&["add", "."]) && git(&["commit", "-q", "-m", "a step"]));
    };
    commit(&[("predictions/a-1.json", "{}")]);
    commit(&[("catalog/claims/a.toml", "devices = [\"a-1\"]"), ("predictions/a.json", "{}")]);
    assert_eq!(known_before(&folder), Some(vec![]));
    commit(&[("predictions/a-1.2.json", "{}")]);
    let known = known_before(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(known, Some(vec!["a-1.2.json".to_owned()]));
}

#[test]
fn a_prediction_that_goes_in_a_merge_or_before_a_commit_is_missed() {
    let folder = std::env::temp_dir().join(format!("ssdlab-kept-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("predictions")).unwrap();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        Command::new("git").current_dir(&folder).args(who).args(args).output().is_ok_and(|out| out.status.success())
    };
    if !git(&["init", "-q", "-b", "main"]) {
        return;
    }
    let file = folder.join("predictions/a.json");
    let commit = |text: &str, name: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        assert!(git(&["add", "."]) && git(&["commit", "-q", "-m", name]));
    };
    commit("1", "first");
    assert!(git(&["checkout", "-q", "-b", "side"]));
    commit("2", "second");
    assert!(git(&["checkout", "-q", "main"]));
    commit("{}", "predictions/a.json");
    assert_eq!(touched(&folder).as_deref(), Some(""));
    std::fs::write(&file, "{ }").unwrap();
    assert_eq!(touched(&folder).as_deref(), Some("M\tpredictions/a.json\n"));
    assert!(git(&["checkout", "-q", "--", "predictions"]));
    // Added on one side, gone from the merge of both: no commit of either side has removed it.
    assert!(git(&["merge", "-q", "--no-ff", "--no-commit", "side"]));
    assert!(git(&["rm", "-q", "-f", "predictions/a.json"]) && git(&["commit", "-q", "-m", "merge"]));
    let told = touched(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_ne!(told.as_deref(), Some(""));
}
