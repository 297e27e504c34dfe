//! The promises that the files of `catalog/` make.

use std::collections::BTreeMap;

use ssdlab_bench::suite::find_test;
use ssdlab_bench::{ClaimKind, Outcome};
use ssdlab_catalog::{
    Drive, Origin, SpecRow, adapter, adapter_names, claims, die, die_names, disk, disk_names, drive_names, resolve,
};

fn rows_of_everything() -> Vec<(String, SpecRow)> {
    let drives = drive_names().flat_map(|name| {
        let drive = resolve(name).unwrap_or_else(|e| panic!("{e}"));
        drive.rows.into_iter().map(move |row| (name.to_owned(), row))
    });
    let dies = die_names().flat_map(|name| {
        let die = die(name).unwrap_or_else(|e| panic!("{e}"));
        die.rows.into_iter().map(move |row| (name.to_owned(), row))
    });
    let disks = disk_names().flat_map(|name| {
        let disk = disk(name).unwrap_or_else(|e| panic!("{e}"));
        disk.rows.into_iter().map(move |row| (name.to_owned(), row))
    });
    let adapters = adapter_names().flat_map(|name| {
        let adapter = adapter(name).expect("it is of the catalog").unwrap_or_else(|e| panic!("{e}"));
        adapter.rows.into_iter().map(move |row| (name.to_owned(), row))
    });
    drives.chain(dies).chain(disks).chain(adapters).collect()
}

#[test]
fn every_value_of_every_file_has_a_source_or_a_reasoned_estimate() {
    let rows = rows_of_everything();
    assert!(rows.len() > 300, "only {} values were found", rows.len());
    for (file, row) in rows {
        let text = match &row.origin {
            Origin::Source(text) | Origin::Estimate(text) => text,
            Origin::Unstated => panic!("{file}: {} has no source", row.key),
        };
        assert!(text.len() >= 5, "{file}: {}: `{text}` says nothing", row.key);
    }
}

/// No source has such a value: what was published of something else decided it.
#[test]
fn what_was_chosen_with_a_figure_in_view_is_an_estimate() {
    for (file, row) in rows_of_everything() {
        if let Origin::Source(text) = &row.origin {
            assert!(!text.contains("chosen with"), "{file}: {}: `{text}`", row.key);
        }
    }
}

#[test]
fn quantities_with_a_dimension_carry_their_unit_in_the_key() {
    const PLAIN: &[&str] = &[
        "compression.max_ratio",
        // Counts, names and switches.
        "flash.dies",
        "link.pcie.lanes",
        "controller.channels",
        "controller.ways",
        "controller.queue_depth",
        "geometry.planes",
        "geometry.bits_per_cell",
        "geometry.pages_per_block",
        "geometry.blocks_per_plane",
        "gc.start_free_superblocks",
        "controller.programs_at_once",
        "features.program_passes",
        "features.suspend.most_per_operation",
        "log_blocks.open_logs",
        "log_blocks.merges_at_once",
        "log_blocks.stripe_superblocks",
        "log_blocks.banks",
        "log_blocks.relocate_after_merges",
        "gc.victims_per_start",
        "gc.buffer_superpages",
        "gc.rows_per_read",
        "gc.background_free_superblocks",
        "gc.choices",
        "wear.rated_program_erase_cycles",
        "modes.slc.rated_program_erase_cycles",
        "modes.mlc.rated_program_erase_cycles",
        "mapping.journal_rows_per_checkpoint_row",
        "mapping.journal_limit_rows",
        "mapping.map_cache_kib",
        "wear_levelling.static_spread_erases",
        "ecc.parity_stripe",
        "ecc.bch.correctable_bits",
        "ecc.ldpc.soft_reads",
        "ecc.retry.max_retries",
        "ecc.retry.at_once",
        "refresh.after_block_reads",
        "media.heads",
        "media.zone_cylinders",
        "media.zone_sectors_per_track",
        "cache.read_segments",
        "cache.write_segments",
        "ports",
        "cache.drive_queue_depth",
    ];
    const UNITS: &[&str] = &[
        "_us",
        "_ms",
        "_percent",
        "_per_minute",
        "_days",
        "_ppm",
        "_bytes",
        "_kib",
        "_mib",
        "_per_s",
        "_per_1000",
        "_per_10000",
        "_v",
        "_ma",
        "_ua",
        "_mw",
        "_pj_per_byte",
        "_uw_per_mib",
        "_gb",
        "_mj",
        "_c",
        "_k",
        "_j_per_k",
        "_k_per_w",
    ];
    for (file, row) in rows_of_everything() {
        let is_number = row.value.starts_with(|c: char| c.is_ascii_digit() || c == '[');
        // Error rates, their powers, and the cycles and references that they are stated for, have none.
        let named = row.key.starts_with("errors.")
            || UNITS.iter().any(|unit| row.key.ends_with(unit))
            || PLAIN.contains(&row.key.as_str());
        assert!(!is_number || named, "{file}: {} = {} has no unit", row.key, row.value);
    }
}

fn values_that_matter(drive: &Drive) -> BTreeMap<String, String> {
    // Capacitors go with the dies.
    const MAY_DIFFER: &[&str] =
        &["description", "capacity_bytes", "flash.dies", "controller.dram_mib", "power_loss.energy_mj"];
    drive
        .rows
        .iter()
        .filter(|row| !MAY_DIFFER.contains(&row.key.as_str()))
        .map(|row| (row.key.clone(), row.value.clone()))
        .collect()
}

#[test]
fn drives_of_one_die_type_differ_only_in_dies_capacity_and_dram() {
    for (small, large) in [
        ("jmf667h-toshiba-128gb", "jmf667h-toshiba-256gb"),
        ("jmf667h-imft-128gb", "jmf667h-imft-256gb"),
        ("m600-128gb", "m600-256gb"),
        ("m600-512gb", "m600-1tb"),
        ("840-evo-120gb", "840-evo-250gb"),
    ] {
        let (small, large) = (resolve(small).unwrap(), resolve(large).unwrap());
        assert_eq!(values_that_matter(&small), values_that_matter(&large));
        assert_eq!(large.spec.flash.dies, 2 * small.spec.flash.dies);
    }
}

#[test]
fn the_m600_with_acceleration_is_the_one_without_and_its_cache() {
    let mut small = values_that_matter(&resolve("m600-128gb").unwrap());
    small.retain(|key, _| !key.starts_with("slc_cache."));
    assert_eq!(small, values_that_matter(&resolve("m600-512gb").unwrap()));
}

/// Whether the file of `drive` has an SLC cache.
fn is_accelerated(drive: &Drive) -> bool {
    drive.spec.slc_cache.is_some()
}

#[test]
fn within_a_family_only_dies_capacity_dram_and_what_is_published_of_the_cache_differ() {
    // The first of each family is laid beside every other; `cache` names what the sources give for each capacity apart.
    let families: [(&[&str], &[&str]); 9] = [
        (&["m600-128gb", "m600-256gb", "m600-512gb", "m600-1tb"], &[]),
        (&["840-evo-120gb", "840-evo-250gb", "840-evo-500gb", "840-evo-1tb"], &["slc_cache.capacity_gb"]),
        (&["850-evo-500gb", "850-evo-250gb"], &["slc_cache.capacity_gb"]),
        (&["860-qvo-1tb", "860-qvo-2tb"], &["slc_cache.capacity_gb"]),
        // Sixty-four dies need two behind each chip enable.
        (&["bx200-480gb", "bx200-240gb", "bx200-960gb"], &["slc_cache.capacity_gb", "controller.ways"]),
        (&["m550-256gb", "m550-128gb"], &[]),
        (&["mx100-256gb", "mx100-512gb"], &[]),
        // Three dies do not reach six channels.
        (&["600p-512gb", "600p-128gb", "600p-256gb", "600p-1tb"], &["slc_cache.capacity_gb", "controller.channels"]),
        (&["950-pro-512gb", "950-pro-256gb"], &[]),
    ];
    for (members, cache) in families {
        let family: Vec<Drive> = members.iter().map(|name| resolve(name).unwrap()).collect();
        let one = values_that_matter(&family[0]);
        for (name, drive) in members.iter().zip(&family).skip(1) {
            let other = values_that_matter(drive);
            let keys = one.keys().chain(other.keys());
            for key in keys.filter(|key| one.get(*key) != other.get(*key)) {
                let enabled = is_accelerated(&family[0]) != is_accelerated(drive) && key.starts_with("slc_cache.");
                assert!(enabled || cache.contains(&key.as_str()), "{name}: {key} differs from {}", members[0]);
            }
        }
    }
    // The specification has Dynamic Write Acceleration for the small capacities alone (AnandTech, M600 review).
    let accelerated = |name: &&str| is_accelerated(&resolve(name).unwrap());
    let m600: Vec<bool> = ["m600-128gb", "m600-256gb", "m600-512gb", "m600-1tb"].iter().map(accelerated).collect();
    assert_eq!(m600, [true, true, false, false]);
}

#[test]
fn the_die_type_is_all_that_tells_toshiba_drives_from_imft_drives() {
    let mut toshiba = values_that_matter(&resolve("jmf667h-toshiba-128gb").unwrap());
    let imft = values_that_matter(&resolve("jmf667h-imft-128gb").unwrap());
    toshiba.insert("flash.die".into(), imft["flash.die"].clone());
    assert_eq!(toshiba, imft);
}

#[test]
fn the_black2_is_the_reference_drive_with_another_policy_of_collection() {
    let reference = values_that_matter(&resolve("jmf667h-imft-128gb").unwrap());
    let black2 = values_that_matter(&resolve("wd-black2-120gb").unwrap());
    for (key, value) in &black2 {
        assert!(reference.get(key) == Some(value) || key.starts_with("gc."), "{key} = {value} differs");
    }
    assert_ne!(reference, black2);
}

#[test]
fn flash_errs_and_is_refreshed_on_every_drive_whose_map_can_be_corrected() {
    let mut without = Vec::new();
    for name in drive_names() {
        let spec = resolve(name).unwrap_or_else(|e| panic!("{e}")).spec;
        assert_eq!(spec.ecc.is_some(), spec.refresh.is_some(), "{name}");
        if spec.ecc.is_none() && spec.log_blocks.is_none() && spec.compression.is_none() {
            without.push(name);
        }
    }
    assert_eq!(without, ["ideal-16k-32die", "ideal-32die"], "flash of these never errs, by definition");
}

#[test]
fn capacities_are_those_of_the_industry_s_formula() {
    for (name, gigabytes) in [
        ("jmf667h-toshiba-128gb", 128),
        ("jmf667h-toshiba-256gb", 240),
        ("jmf667h-imft-128gb", 128),
        ("jmf667h-imft-256gb", 256),
        ("wd-black2-120gb", 120),
        ("m600-128gb", 128),
        ("m600-256gb", 256),
        ("m600-512gb", 512),
        ("m600-1tb", 1024),
        ("840-evo-120gb", 120),
        ("840-evo-250gb", 250),
        ("840-evo-500gb", 500),
        ("sm2256-500gb", 500),
        ("mx100-256gb", 256),
        ("m550-256gb", 256),
        ("m500-240gb", 240),
        ("m500dc-480gb", 480),
        ("bx100-500gb", 500),
        ("ultra-ii-240gb", 240),
        ("850-evo-500gb", 500),
        ("850-evo-250gb", 250),
        ("intel-530-240gb", 240),
        ("840-evo-1tb", 1000),
        ("bx200-240gb", 240),
        ("bx200-480gb", 480),
        ("bx200-960gb", 960),
        ("sm2256-toshiba-a19-240gb", 240),
        ("sp550-240gb", 240),
        ("m550-128gb", 128),
        ("mx100-512gb", 512),
        ("ultra-ii-480gb", 480),
        ("extreme-ii-240gb", 240),
    ] {
        // IDEMA LBA1-03.
        let sectors = 97_696_368 + 1_953_504 * (gigabytes - 50);
        assert_eq!(resolve(name).unwrap().spec.capacity_bytes, sectors * 512, "{name}");
    }
}

#[test]
fn claims_about_drives_that_are_not_there_are_not_simulated_and_say_so() {
    let mut claim = claims::all().into_iter().find(|c| c.id == "M005").unwrap();
    claim.devices = vec!["m600-4tb".to_owned()];
    let all = [claim];
    assert_eq!(claims::missing_drives(&all), ["m600-4tb"]);
    let rows = claims::evaluate(&all, &["m600-4tb"], &[]);
    assert_eq!(rows[0].state, claims::ClaimState::NotSimulated);
    assert_eq!(rows[0].reason, "m600-4tb is not in the catalog");
}

#[test]
fn claims_speak_of_drives_that_exist_and_leave_the_fourth_drive_to_prediction() {
    let all = claims::all();
    assert!(all.len() > 100);
    for claim in &all {
        assert!(!claim.drives().is_empty(), "{} speaks of no drive", claim.id);
        // A set or an adapter is an expression over drives.
        for drive in claim.drives().into_iter().filter(|d| !d.contains('(')) {
            assert!(drive_names().chain(disk_names()).any(|name| name == drive), "{}: {drive}", claim.id);
        }
        assert!(
            !matches!(claim.check, claims::Check::Value(_)) || !claim.concerns("jmf667h-imft-128gb"),
            "{} gives away a row that is to be predicted",
            claim.id
        );
    }
    let headline: Vec<&str> = all.iter().filter(|c| c.headline).map(|c| c.id.as_str()).collect();
    assert_eq!(headline.len(), 69, "{headline:?}");
}

#[test]
fn facts_about_the_drives_are_met_without_running_anything() {
    let all = claims::all();
    let devices: Vec<&str> = drive_names().collect();
    let rows = claims::evaluate(&all, &devices, &[]);
    let facts = rows
        .iter()
        .filter(|row| row.tolerance == "as built")
        .inspect(|row| assert_eq!(row.state, claims::ClaimState::Met, "{row:?}"))
        .count();
    assert!(facts > 30, "only {facts} facts");
}

#[test]
fn a_reason_for_a_miss_is_about_one_figure() {
    for claim in claims::all().iter().filter(|claim| claim.known_miss.is_some()) {
        assert!(claim.devices.len() < 2, "{} would hide a miss of another drive", claim.id);
    }
}

/// The tests as they are run for the claims, at full length.
#[test]
fn tests_have_the_published_parameters() {
    let all = claims::all();
    let devices: Vec<&str> = all.iter().flat_map(claims::Claim::drives).collect();
    let ran = |run: claims::NeededRun| {
        let settings: Vec<(String, String)> = run.settings.into_iter().collect();
        let params = find_test(&run.test).and_then(|def| def.resolve(&settings, false)).expect(&run.test);
        Outcome { test: run.test, device: run.device, params: params.to_json(), ..Outcome::default() }
    };
    let outcomes: Vec<Outcome> = claims::needed(&all, &devices).into_iter().map(ran).collect();
    let rows = claims::evaluate(&all, &devices, &outcomes);
    let methods = rows
        .iter()
        // What a test decides while it runs is not known before.
        .filter(|row| row.tolerance == "the same parameters")
        .filter(|row| !["\"auto\"", "\"by-form\""].iter().any(|left| row.ours_text.contains(left)))
        .inspect(|row| assert_eq!(row.state, claims::ClaimState::Met, "{row:?}"))
        .count();
    assert!(methods > 15, "only {methods} methods");
}

/// What a key's row says of where its value comes from.
fn text_of(row: &SpecRow) -> &str {
    match &row.origin {
        Origin::Source(text) | Origin::Estimate(text) => text,
        Origin::Unstated => "",
    }
}

#[test]
fn a_value_chosen_with_a_figure_in_view_and_the_figure_name_each_other() {
    let rows = rows_of_everything();
    let of_file = |file: &str, key: &str| rows.iter().find(|(f, row)| f == file && row.key == key).map(|(_, row)| row);
    // A key of the drive's die begins with `die.`, as in the facts of claims.
    let row = |drive: &str, key: &str| match key.strip_prefix("die.") {
        Some(key) => of_file(of_file(drive, "flash.die")?.value.trim_matches('"'), key),
        // Of an adapter before other devices, its own file.
        None => of_file(drive.split('(').next().expect("a name"), key),
    };
    let claims = claims::all();
    let mut named = 0;
    for claim in &claims {
        for key in &claim.calibrates {
            named += 1;
            let chosen = claim
                .drives()
                .into_iter()
                .any(|drive| row(drive, key).is_some_and(|row| text_of(row).contains("in view")));
            assert!(chosen, "{}: no drive file says that {key} was chosen with a figure in view", claim.id);
        }
    }
    assert!(named > 40, "only {named} figures name keys that were chosen for them");

    // Drives of a family share their processor, and not every one of them has a published figure.
    for (file, chosen) in rows.iter().filter(|(_, row)| text_of(row).contains("in view")) {
        let calibrated = claims.iter().any(|claim| {
            let named = claim.calibrates.iter().filter(|key| key.strip_prefix("die.").unwrap_or(key) == chosen.key);
            let drives = claim.drives();
            named
                .into_iter()
                .any(|key| drives.iter().any(|drive| row(drive, key).is_some_and(|r| r.value == chosen.value)))
        });
        assert!(
            calibrated,
            "{file}: {} was chosen with a figure in view, but no claim says that it calibrates it",
            chosen.key
        );
    }
}

/// A figure of which another one says more would be counted twice: it says that it repeats that one.
#[test]
fn no_figure_is_counted_that_holds_wherever_another_one_does() {
    // Of each drive and figure, or pair of figures: what counts, and between which bounds it is met.
    let mut counted = BTreeMap::<String, Vec<(String, f64, f64)>>::new();
    for claim in claims::all() {
        if claim.repeats.is_some() || claim.kind() != ClaimKind::Measured {
            continue;
        }
        let (what, low, high) = match &claim.check {
            claims::Check::Value(v) => {
                let within = v.value * v.tolerance_percent / 100.0;
                (format!("{} {:?} {}", v.test, v.params, v.metric), v.value - within, v.value + within)
            }
            claims::Check::Range(r) => {
                let (low, high) = (r.at_least.unwrap_or(f64::NEG_INFINITY), r.at_most.unwrap_or(f64::INFINITY));
                (format!("{} {:?} {}", r.test, r.params, r.metric), low, high)
            }
            claims::Check::Order(o) => (format!("{:?} over {:?}", o.higher, o.lower), o.ratio_above, f64::INFINITY),
            _ => continue,
        };
        let devices = if claim.devices.is_empty() { vec![String::new()] } else { claim.devices.clone() };
        for device in devices {
            counted.entry(format!("{device} {what}")).or_default().push((claim.id.clone(), low, high));
        }
    }
    for (what, figures) in &counted {
        for (id, low, high) in figures {
            let says_more = |(other, l, h): &&(String, f64, f64)| other != id && l >= low && h <= high;
            let wider = figures.iter().find(says_more);
            assert_eq!(wider, None, "{id} holds wherever this one does: {what}");
        }
    }
    assert!(counted.len() > 150, "{} figures", counted.len());
}

#[test]
fn no_claim_has_a_bound_that_nothing_can_miss() {
    for claim in claims::all() {
        if let claims::Check::Range(range) = &claim.check {
            let trivial = range.at_least.is_none_or(|low| low <= 0.0) && range.at_most.is_none();
            assert!(!trivial, "{}: anything is at least {:?}", claim.id, range.at_least);
        }
        if let Some(id) = &claim.repeats {
            let can = claims::all().iter().any(|other| claim.can_repeat(other));
            assert!(can, "{}: no claim {id} about the same drives", claim.id);
        }
    }
}
