use std::collections::BTreeMap;
use std::fs;

use ssdlab_catalog::claims;

use super::folder::place_new;
use super::*;
use crate::sensitivity::Bar;

fn prediction() -> Prediction {
    let figure = |title: &str, test: &str, metric: &str, value: f64, band: Option<[f64; 2]>| Predicted {
        title: title.to_owned(),
        test: test.to_owned(),
        settings: BTreeMap::new(),
        metric: metric.to_owned(),
        unit: "MB/s".to_owned(),
        value,
        band,
        hangs_on: vec!["gc.policy".to_owned()],
    };
    let mut made = Prediction {
        schema: SCHEMA.to_owned(),
        device: "bx200-480gb".to_owned(),
        version: "0.1.0".to_owned(),
        model: "0123456789abcdef".to_owned(),
        drive_digest: drive_digest("bx200-480gb").unwrap(),
        seed: 1,
        quick: false,
        bands_quick: true,
        varied_by_percent: 20.0,
        varied_keys: Vec::new(),
        figures: vec![
            figure("write rate at first", "slc-cache", "stage1_bandwidth", 480.0, Some([450.0, 500.0])),
            figure("write rate after that", "slc-cache", "stage2_bandwidth", 128.0, Some([100.0, 150.0])),
            figure("sequential read", "sequential-read", "bandwidth", 530.0, None),
        ],
        without: BTreeMap::new(),
        not_tried: Vec::new(),
        seal: String::new(),
    };
    made.seal = made.digest();
    made
}

#[test]
fn a_changed_prediction_is_refused() {
    let text = serde_json::to_string_pretty(&prediction()).unwrap();
    assert_eq!(Prediction::parse("p.json", &text).unwrap(), prediction());
    // One that an earlier program made is read as well.
    let earlier = Prediction { schema: EARLIER_SCHEMA.to_owned(), ..prediction() };
    let earlier = Prediction { seal: earlier.digest(), ..earlier };
    assert_eq!(Prediction::parse("p.json", &serde_json::to_string(&earlier).unwrap()).unwrap(), earlier);
    let changed = text.replace("128.0", "64.0");
    assert_ne!(changed, text);
    let error = Prediction::parse("p.json", &changed).unwrap_err().to_string();
    assert_eq!(error, "p.json: it was changed after it was made");
    // What the digest does not know is not its word.
    let added = text.replacen("\"seed\"", "\"measured\": 64.0, \"seed\"", 1);
    let error = Prediction::parse("p.json", &added).unwrap_err().to_string();
    assert!(error.starts_with("p.json: it is no prediction: unknown field `measured`"), "{error}");
}

#[test]
fn a_prediction_is_made_once() {
    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let path = prediction().write(&folder).unwrap();
    assert!(path.ends_with("bx200-480gb.json"));
    assert!(matches!(prediction().write(&folder), Err(PredictionError::Exists(_))));
    assert_eq!(read_predictions(&folder).unwrap(), [prediction()]);
    let mut in_small = Prediction { quick: true, ..prediction() };
    in_small.seal = in_small.digest();
    assert!(in_small.write(&folder).unwrap().ends_with("bx200-480gb.2.json"));
    assert!(matches!(in_small.write(&folder), Err(PredictionError::Exists(_))));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_prediction_has_its_name_when_it_is_whole_and_replaces_none() {
    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-placed-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.json");
    // What is written beside it cannot be: then its name is not taken either, not even for a moment.
    let beside = folder.join(format!("a.json.new-{}", std::process::id()));
    fs::create_dir(&beside).unwrap();
    fs::write(&path, "first").unwrap();
    assert!(matches!(place_new(&path, b"second"), Err(PredictionError::Io(_))));
    fs::remove_dir(&beside).unwrap();
    assert!(matches!(place_new(&path, b"second"), Err(PredictionError::Exists(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    fs::remove_file(&path).unwrap();
    place_new(&path, b"third").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "third");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_better_drive_file_makes_a_prediction_of_its_own_that_stands_beside_the_first() {
    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-again-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    prediction().write(&folder).unwrap();
    let mut better = Prediction { drive_digest: "another".to_owned(), ..prediction() };
    better.figures[0].value = 490.0;
    better.seal = better.digest();
    let path = better.write(&folder).unwrap();
    assert!(path.ends_with("bx200-480gb.2.json"));
    assert!(matches!(better.write(&folder), Err(PredictionError::Exists(_))));
    let both = read_predictions(&folder).unwrap();
    assert_eq!(both, [prediction(), better]);
    let table = beside_figures(&both, &[]);
    let rows: Vec<&str> = table.lines().filter(|l| l.contains("write rate at first")).collect();
    assert!(rows[0].starts_with("| bx200-480gb | write rate at first | 480 MB/s"), "{table}");
    assert!(rows[1].starts_with("| bx200-480gb (2) | write rate at first | 490 MB/s"), "{table}");
    let judged = beside_figures(&both, &claims::all());
    assert!(judged.contains("\nWithin the band: 1 of 2 published figures.\n"), "{judged}");
    let again = "\nWithin the band of a later prediction of the same drive: 1 of 2 published figures.\n";
    assert!(judged.contains(again), "{judged}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_quick_prediction_made_first_leaves_the_whole_one_the_first() {
    let quick = Prediction { quick: true, ..prediction() };
    let all = [quick, prediction()];
    let table = beside_figures(&all, &claims::all());
    assert!(table.contains("| bx200-480gb, quick | write rate at first |"), "{table}");
    assert!(table.contains("| bx200-480gb | write rate at first |") && !table.contains("(2)"), "{table}");
    assert!(table.contains("\nWithin the band: 1 of 2 published figures.\n"), "{table}");
    assert!(!table.contains("later prediction"), "{table}");
    // What stands beside nothing is told of once.
    let nothing = beside_figures(&all.map(|p| Prediction { figures: Vec::new(), ..p }), &claims::all());
    assert_eq!(nothing.matches("Published of bx200-480gb, but beside nothing predicted").count(), 1, "{nothing}");
}

#[test]
fn a_pure_number_has_no_band_in_proportion() {
    let all = crate::figures::predicted();
    let found = |title: &str, unit: &str| {
        let figure = all.iter().find(|figure| figure.title == title).unwrap();
        let of_it = FigureSensitivity {
            title: title.to_owned(),
            test: figure.test.name.to_owned(),
            settings: figure.settings.clone(),
            metric: figure.metric.clone(),
            unit: unit.to_owned(),
            value: 0.5,
            low: 0.4,
            high: 0.75,
            bars: vec![Bar { key: "gc.policy".into(), value: "greedy".into(), unit: String::new(), sides: Vec::new() }],
            varied: 1,
            seeds: 2,
        };
        let (figures, left_out) = (vec![of_it], Vec::new());
        let all = Sensitivity { device: String::new(), varied: Vec::new(), figures, left_out };
        predicted(figure, 0.8, unit, &all)
    };
    // In proportion it would go on to 1.2.
    let regular = found("how regular it is", "ratio");
    assert_eq!((regular.band, regular.hangs_on), (None, vec!["gc.policy".to_owned()]));
    let [low, high] = found("sequential read", "MB/s").band.unwrap();
    assert!((low - 0.64).abs() < 1e-9 && (high - 1.2).abs() < 1e-9);
}

#[test]
fn a_drive_is_predicted_again_only_by_another_file_and_only_blind() {
    let may = |device: &str, before: &[Prediction]| may_be_predicted(device, false, before, &claims::all()).unwrap();
    // A first prediction, too, is none of a drive whose figures stand in the catalog.
    for known in ["bx200-480gb", "sm2256-500gb"] {
        assert!(matches!(may(known, &[]), Err(PredictionError::NotBlind(_))), "{known}");
    }
    let older = |device: &str, digest: &str| Prediction {
        device: device.to_owned(),
        drive_digest: digest.to_owned(),
        ..prediction()
    };
    assert!(may("bx200-240gb", &[]).is_ok());
    let same = older("bx200-240gb", &drive_digest("bx200-240gb").unwrap());
    assert!(matches!(may("bx200-240gb", &[same]), Err(PredictionError::Exists(_))));
    assert!(may("bx200-240gb", &[older("bx200-240gb", "another")]).is_ok());
    // Who has tried it in small may make the prediction still.
    let in_small = Prediction { quick: true, ..older("bx200-240gb", &drive_digest("bx200-240gb").unwrap()) };
    assert!(may("bx200-240gb", &[in_small]).is_ok());
    let known = may("bx200-480gb", &[older("bx200-480gb", "another")]);
    assert!(matches!(known, Err(PredictionError::NotBlind(_))));
}

#[test]
fn the_same_file_is_the_same_drive_by_whatever_path() {
    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-path-{}", std::process::id()));
    fs::create_dir_all(folder.join("sub")).unwrap();
    let text = "base = \"bx200-240gb\"\ndescription = \"mine\" # none\n";
    let (first, second) = (folder.join("mine.toml"), folder.join("sub/other.toml"));
    fs::write(&first, text).unwrap();
    fs::write(&second, text).unwrap();
    let [first, second] = [first, second].map(|path| path.display().to_string());
    let mut made = Prediction { device: first.clone(), drive_digest: drive_digest(&first).unwrap(), ..prediction() };
    made.seal = made.digest();
    assert!(made.write(&folder.join("p")).unwrap().ends_with("mine.json"));
    for device in [&first, &second] {
        let again = may_be_predicted(device, false, std::slice::from_ref(&made), &[]).unwrap();
        assert!(matches!(again, Err(PredictionError::Exists(_))), "{device}");
    }
    // Another file of this name makes the second prediction of the drive, and finds its place after the runs.
    let device = folder.join("sub/mine.toml").display().to_string();
    let better = Prediction { device, drive_digest: "another".to_owned(), ..made };
    let better = Prediction { seal: better.digest(), ..better };
    assert!(better.write(&folder.join("p")).unwrap().ends_with("mine.2.json"));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_prediction_that_was_renamed_or_whose_first_is_missing_is_told_of() {
    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-renamed-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let path = prediction().write(&folder).unwrap();
    for name in ["bx200-480gb.2.json", "other.json"] {
        fs::rename(&path, folder.join(name)).unwrap();
        let error = read_predictions(&folder).unwrap_err().to_string();
        let told = "it is of bx200-480gb: it was renamed, or bx200-480gb.json is missing";
        assert!(error.ends_with(told), "{error}");
        fs::rename(folder.join(name), &path).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn hits_misses_and_figures_without_a_publication_all_have_a_row() {
    let table = beside_figures(&[prediction()], &claims::all());
    let row = |title: &str| table.lines().find(|l| l.contains(title)).unwrap_or_else(|| panic!("{table}"));
    assert!(row("write rate at first").contains("| -2 % | yes |"), "{table}");
    assert!(row("write rate after that").contains("| +100 % | **no** |"), "{table}");
    assert!(row("sequential read").contains("| – | – | – |"), "{table}");
    let bands = "Bands of bx200-480gb: of `gc.` alone; they are too narrow by what all other estimates would add.";
    assert!(!table.contains("too narrow"), "{table}");
    let few = Prediction { varied_keys: vec!["gc.".to_owned()], ..prediction() };
    assert!(beside_figures(&[few], &[]).contains(bands));
    let left_out = LeftOut { key: "gc.policy".into(), value: "fifo".into(), reason: "no such drive".into() };
    let some = Prediction { not_tried: vec![left_out], ..prediction() };
    let told = "Bands of bx200-480gb: without `gc.policy` = fifo, which could not be tried.";
    assert!(beside_figures(&[some], &[]).contains(told));
    assert!(table.ends_with("Within the band: 1 of 2 published figures.\n"), "{table}");
}

#[test]
fn no_published_figure_goes_without_a_row() {
    let claims = claims::all();
    // Another review of the same, a figure that has no band, and one that was said not to be there.
    let at_first = claims.iter().position(|claim| {
        claim.concerns("bx200-480gb")
            && matches!(&claim.check, Check::Value(c) if c.test == "slc-cache" && c.metric == "stage1_bandwidth")
    });
    let mut other = claims[at_first.unwrap()].clone();
    let Check::Value(check) = &mut other.check else { unreachable!("it is a value") };
    check.value = 400.0;
    let mut claims = claims;
    claims.push(other);
    let mut made = prediction();
    made.figures[1].band = None;
    let table = beside_figures(std::slice::from_ref(&made), &claims);
    let rows: Vec<&str> = table.lines().filter(|l| l.contains("write rate at first")).collect();
    assert!(rows.len() == 2 && rows[0].contains("| yes |") && rows[1].contains("| 400 MB/s | +20 % | **no** |"));
    assert!(table.ends_with("Within the band: 1 of 3 published figures; 1 of them had no band.\n"), "{table}");

    made.figures.remove(1);
    made.without.insert("write rate after that".to_owned(), "the drive has none".to_owned());
    let table = beside_figures(std::slice::from_ref(&made), &claims);
    assert!(table.contains("| write rate after that | none | – | 64 MB/s | – | **no** |"), "{table}");
    assert!(table.contains("1 of 3 published figures; 1 of them, it was predicted, would not be there"), "{table}");

    made.without.clear();
    let table = beside_figures(&[made], &claims);
    let told = "Published of bx200-480gb, but beside nothing predicted: ";
    let line = table.lines().find(|line| line.starts_with(told)).unwrap_or_else(|| panic!("{table}"));
    assert!(line.contains("64 MB/s") && !line.contains("490"), "{line}");

    let quick = Prediction { quick: true, ..prediction() };
    let table = beside_figures(&[quick], &claims);
    assert!(table.contains("| 64 MB/s | +100 % | not judged |") && !table.contains("Within"), "{table}");
}

#[test]
fn a_published_bound_of_a_predicted_figure_is_judged_and_counted_apart() {
    let bounds = |bounds: &str| {
        let file = format!(
            "[[claim]]\nid = \"mine\"\ndevices = [\"bx200-480gb\"]\nquantity = \"sequential read\"\npublished = \"p\"\n\
             source = \"s\"\ncheck.range = {{ test = \"sequential-read\", metric = \"bandwidth\", unit = \"MB/s\", {bounds} }}"
        );
        claims::parse("f.toml", &file).unwrap()
    };
    let table = |claims: &[Claim]| beside_figures(&[prediction()], claims);
    for (bound, row) in [
        ("at_least = 500.0", "| at least 500 MB/s | – | bound met |"),
        ("at_most = 500.0", "| at most 500 MB/s | – | **bound missed** |"),
        ("at_least = 500.0, at_most = 540.0", "| 500 MB/s to 540 MB/s | – | bound met |"),
    ] {
        let table = table(&bounds(bound));
        assert!(table.contains(row) && !table.contains("beside nothing predicted"), "{table}");
        assert!(!table.contains("Within the band"), "{table}");
    }
    let both = [bounds("at_least = 500.0"), bounds("at_most = 500.0")].concat();
    let table = table(&both);
    assert!(table.ends_with("\nBounds met by the figures: 1 of 2 that were published.\n"), "{table}");
    let quick = beside_figures(&[Prediction { quick: true, ..prediction() }], &both);
    assert!(quick.contains("| at least 500 MB/s | – | not judged |") && !quick.contains("Bounds met"), "{quick}");
    // Of what was said not to be there, a bound was published.
    let mut without = prediction();
    let gone = without.figures.pop().unwrap();
    without.without.insert(gone.title, "the drive has none".to_owned());
    let table = beside_figures(&[without], &both);
    assert!(table.contains("| none | – | at least 500 MB/s | – | **bound missed** |"), "{table}");
}

#[test]
fn a_figure_of_a_file_stands_beside_its_prediction_and_forbids_another() {
    let figure = claims::all().into_iter().find(|claim| {
        claim.concerns("bx200-480gb")
            && matches!(&claim.check, Check::Value(c) if c.test == "slc-cache" && c.metric == "stage1_bandwidth")
    });
    let of_file = [figure.unwrap().renamed(|_| "files/mine.toml".to_owned())];
    let made = Prediction { device: "./files/mine.toml".to_owned(), ..prediction() };
    let table = beside_figures(&[made], &of_file);
    assert!(table.contains("| 490 MB/s | -2 % | yes |"), "{table}");

    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-own-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("mine.toml");
    fs::write(&path, "base = \"bx200-240gb\"\ndescription = \"mine\" # none\n").unwrap();
    let may = may_be_predicted(&path.display().to_string(), false, &[], &of_file).unwrap();
    assert!(matches!(may, Err(PredictionError::NotBlind(_))));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_a_figure_leaves_to_the_test_does_not_keep_it_from_its_prediction() {
    let of_value = |claim: &Claim| claim.concerns("bx200-480gb") && matches!(&claim.check, Check::Value(_));
    let mut own = claims::all().into_iter().find(of_value).expect("it is in the catalog");
    let Check::Value(check) = &mut own.check else { unreachable!("it is a value") };
    (check.test, check.metric, check.unit) = ("random-read".into(), "iops".into(), "IOPS".into());
    check.value = 90_000.0;
    check.params.clear();
    let claims = [own];
    // 32 at a time are what the test does without being told.
    let mut made = prediction();
    let at_depth = |depth: &str| BTreeMap::from([("queue_depth".to_owned(), depth.to_owned())]);
    (made.figures[0].test, made.figures[0].metric) = ("random-read".to_owned(), "iops".to_owned());
    made.figures[0].settings = at_depth("32");
    let table = beside_figures(std::slice::from_ref(&made), &claims);
    assert!(table.contains("90,000 IOPS") && !table.contains("beside nothing predicted"), "{table}");
    made.figures[0].settings = at_depth("1");
    let table = beside_figures(&[made], &claims);
    assert!(table.contains("beside nothing predicted"), "{table}");
}

#[test]
fn a_number_written_otherwise_is_no_other_drive_file() {
    let folder = std::env::temp_dir().join(format!("ssdlab-prediction-number-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |value: &str| {
        let path = folder.join("mine.toml");
        let text = format!("base = \"bx200-240gb\"\n[controller]\nread_unit_us = {value} # estimate: mine\n");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let of = |value: &str| drive_digest(&file(value)).unwrap();
    assert_eq!([of("6.0"), of("6.00"), of("0x6")], [of("6"), of("6"), of("6")]);
    assert_ne!(of("6.5"), of("6"));
    // One that was made when the spelling counted is still of its file.
    let older = Prediction { drive_digest: drive_digest_as_written(&file("6")).unwrap(), ..prediction() };
    assert_ne!(older.drive_digest, of("6"));
    let again = may_be_predicted(&file("6"), false, std::slice::from_ref(&older), &[]).unwrap();
    assert!(matches!(again, Err(PredictionError::Exists(_))));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn another_reason_for_an_estimate_is_another_drive_file() {
    assert_ne!(drive_digest("bx200-480gb").unwrap(), drive_digest("bx200-240gb").unwrap());
}
