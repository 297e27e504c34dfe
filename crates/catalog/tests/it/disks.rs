//! Disks of the catalog, and disk files of one's own.

use ssdlab_catalog::{disk, disk_names, parse_disk};

#[test]
fn every_disk_of_the_catalog_can_be_built_and_says_what_it_is() {
    let names: Vec<&str> = disk_names().collect();
    assert_eq!(names, ["raptor-wd360gd-36gb", "spinpoint-f1-1tb", "travelstar-7k200-120gb", "ultrastar-15k300-73gb"]);
    for name in names {
        let recipe = disk(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((recipe.name.as_str(), recipe.rows[0].key.as_str()), (name, "kind"));
        let device = recipe.build(1).unwrap_or_else(|e| panic!("{e}"));
        let info = device.info();
        assert_eq!((info.name.as_str(), info.kind, info.description.as_str()), (name, "hdd", recipe.description()));
        assert_eq!(info.capacity_bytes, recipe.spec.capacity_bytes);
    }
}

#[test]
fn a_disk_that_there_is_not_gets_the_nearest_name() {
    let error = disk("spinpoint-f1-2tb").expect_err("there is none").to_string();
    assert!(
        error.starts_with("error: there is no disk `spinpoint-f1-2tb`\n  = help: did you mean spinpoint-f1-1tb?"),
        "{error}"
    );
}

#[test]
fn a_disk_of_one_s_own_builds_on_one_of_the_catalog() {
    let text = "base = \"raptor-wd360gd-36gb\"\n[controller]\nqueue_depth = 32 # what if it had a queue\n";
    let own = parse_disk("my.toml", text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(own.spec.controller.queue_depth, 32);
    assert_eq!(own.description(), "raptor-wd360gd-36gb with the changes of my.toml");
    assert_eq!(own.spec.media, disk("raptor-wd360gd-36gb").unwrap_or_else(|e| panic!("{e}")).spec.media);
}

#[test]
fn errors_point_at_the_line() {
    let text = "base = \"raptor-wd360gd-36gb\"\n[media]\ntrack_skew_us = 9000.0\n";
    let error = parse_disk("my.toml", text).expect_err("more than a turn").to_string();
    assert_eq!(
        error,
        "error: media.track_skew_us: 9000 µs are a turn or more\n --> my.toml:3:17\n  |\n3 | track_skew_us = 9000.0\n  \
         |                 ^^^^^^\n  = help: use less than 6000 µs, which a turn takes"
    );
    let error = parse_disk("my.toml", "base = \"raptor-wd360gd-36gb\"\n[cache]\nsegment_mib = 1\n")
        .expect_err("no such key")
        .to_string();
    assert!(error.contains("unknown key `segment_mib`") && error.contains("`segment_kib`"), "{error}");
    let error = parse_disk("my.toml", "kind = \"disk\"\n").expect_err("it lacks everything").to_string();
    assert!(error.contains("missing key `description`") && error.contains("docs/disks.md"), "{error}");
}
