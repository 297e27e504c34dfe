//! Device expressions: what is read, what is built, and how wrong ones are pointed at.

use std::path::Path;

use ssdlab_catalog::{DIE_PREFIX, DeviceRecipe, DeviceTemplate, Parts, array_names, device, drive_names, resolve};
use ssdlab_device::Request;
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;

const SSD: &str = "jmf667h-toshiba-128gb";

/// The message about a wrong expression, with the words that it underlines.
fn wrong(text: &str) -> (String, String) {
    let error = device(text).map(|recipe| recipe.name).unwrap_err();
    let place = error.place.as_ref().unwrap_or_else(|| panic!("{text}: {error}"));
    let marked = place.text.chars().skip(place.column - 1).take(place.width).collect();
    (error.to_string(), marked)
}

fn stripe(recipe: &DeviceRecipe) -> u64 {
    match recipe.parts {
        Parts::Raid0 { stripe_bytes, .. } => stripe_bytes,
        _ => panic!("{recipe:?}"),
    }
}

/// A FLUSH is answered at once only if the energy carries the buffer, whatever the collector is at; in small as well.
#[test]
fn capacitors_that_are_said_to_protect_everything_do() {
    let mut drives = 0;
    for name in drive_names() {
        let whole = device(name).unwrap();
        for recipe in [whole.small(8), Some(whole)].into_iter().flatten() {
            let Parts::Ssd(drive) = &recipe.parts else { panic!("{name} is a drive") };
            let Some(spec) = &drive.spec.power_loss else { continue };
            if spec.protects == ssdlab_ssd::Protection::Everything {
                drives += 1;
                let least = ssdlab_ssd::energy_to_save_mj(&drive.spec, &drive.die.spec).expect("plain firmware");
                assert!(spec.energy_mj >= Some(least), "{name}: {least} mJ");
            }
        }
    }
    assert!(drives >= 2, "{drives}");
}

/// What is at rest is safe if every die can end the longest program that there is, in its slowest place, while all are at one.
#[test]
fn capacitors_that_are_said_to_protect_data_at_rest_do() {
    let mut drives = 0;
    for name in drive_names() {
        let recipe = device(name).unwrap();
        let Parts::Ssd(drive) = &recipe.parts else { panic!("{name} is a drive") };
        let Some(spec) = &drive.spec.power_loss else { continue };
        if spec.protects == ssdlab_ssd::Protection::Nothing {
            continue;
        }
        drives += 1;
        let die = &drive.die.spec;
        let modes = [&die.modes.slc, &die.modes.mlc, &die.modes.tlc].into_iter().flatten();
        let programs_us = modes.flat_map(|mode| &mode.program_us).chain(&die.timing.program_us);
        let slowest = die.variation.as_ref().map_or(1.0, |variation| variation.slowest(1.0).program);
        let longest_s = programs_us.copied().fold(0.0, f64::max) * slowest / 1e6;
        let die_mw = die.power.as_ref().map_or(82.5, |power| power.supply_v * power.program_current_ma);
        let least_mj = longest_s * (spec.controller_mw + die_mw * f64::from(drive.spec.flash.dies));
        let energy_mj = spec.energy_mj.expect("it is required") * spec.energy_left_percent / 100.0;
        assert!(energy_mj >= least_mj, "{name}: {energy_mj} mJ of {least_mj}");
    }
    assert!(drives >= 8, "{drives}");
}

#[test]
fn a_drive_in_small_has_an_eighth_of_the_bytes_and_the_same_share_to_spare() {
    for name in ["jmf667h-imft-256gb", "m600-128gb", "840-evo-250gb", "x25-m-80gb"] {
        let whole = device(name).unwrap();
        let small = whole.small(8).unwrap_or_else(|| panic!("{name} cannot be made small"));
        let (whole, small) = (whole.build(1).unwrap(), small.build(1).unwrap());
        let bytes = |d: &dyn ssdlab_device::Device| d.info().capacity_bytes as f64;
        assert!((bytes(&*small) * 8.0 / bytes(&*whole) - 1.0).abs() < 1e-4, "{name}");
        let spare = |d: &dyn ssdlab_device::Device| d.info().over_provisioning_percent.unwrap();
        assert!((spare(&*small) - spare(&*whole)).abs() < 1.0, "{name}: {} and {}", spare(&*small), spare(&*whole));
    }
    assert!(device("spinpoint-f1-1tb").unwrap().small(8).is_none(), "a disk has other proportions");
}

#[test]
fn in_small_a_capacity_is_whole_units_and_a_range_is_no_longer_than_its_device() {
    let template = DeviceTemplate::open("860-qvo-1tb", Path::new("")).unwrap();
    let changes = [("mapping.unit_kib", "16"), ("capacity_bytes", "1000204877824")];
    let whole = template.set(&changes.map(|(key, value)| (key.to_owned(), value.to_owned()))).unwrap();
    let small = whole.small(8).expect("an eighth of it is rounded to its units");
    assert!(small.capacity_bytes().is_multiple_of(16 << 10));
    let pair = "raid0(jmf667h-imft-128gb*2)";
    let bytes = device(pair).unwrap().capacity_bytes();
    let ranges = device(&format!("ranges(0-{bytes}={pair}, rest=jmf667h-imft-128gb)")).unwrap();
    assert!(ranges.small(8).is_some(), "its stripes leave a little less of an eighth");
}

#[test]
fn an_array_in_small_is_one_of_drives_in_small_behind_a_cache_in_small() {
    let small = |text: &str| device(text).unwrap().small(8);
    for name in ["a-data-trio-arc-1280ml", "jmf667h-pair", "ranges(0-8GB=m600-128gb, rest=memoright-gt-64gb)"] {
        let (whole, small) = (device(name).unwrap(), small(name).unwrap());
        assert!((small.capacity_bytes() as f64 * 8.0 / whole.capacity_bytes() as f64 - 1.0).abs() < 1e-4, "{name}");
        assert_eq!(small.build(1).unwrap().info().capacity_bytes, small.capacity_bytes(), "{name}");
    }
    let cache_mib = |recipe: &DeviceRecipe| match &recipe.parts {
        Parts::Adapter(adapter, _) => adapter.spec.cache.as_ref().map(|cache| cache.capacity_mib),
        _ => panic!("{recipe:?}"),
    };
    assert_eq!(cache_mib(&small("a-data-trio-arc-1280ml").unwrap()), Some(256));
    assert_eq!(cache_mib(&small("a-data-trio-ich10r").unwrap()), None);
    assert!(small("arc-1200(raptor-wd360gd-36gb)").is_none() && small("a-data-and-spinpoint").is_none());
}

#[test]
fn a_drive_that_maps_by_log_blocks_has_room_for_its_logs_in_small() {
    let mapped_so = |name: &&str| device(name).unwrap().ssds()[0].spec.log_blocks.is_some();
    let names: Vec<&str> = drive_names().filter(mapped_so).collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let small = device(name).unwrap().small(8).unwrap_or_else(|| panic!("{name} cannot be made small"));
        let spec = &small.ssds()[0].spec;
        let log_blocks = spec.log_blocks.as_ref().unwrap();
        assert!(log_blocks.open_logs >= log_blocks.stripe_superblocks.max(log_blocks.merges_at_once), "{name}");
    }
}

#[test]
fn a_block_in_small_takes_its_share_of_the_time_whatever_its_edges() {
    let die_of = |recipe: &DeviceRecipe| recipe.ssds()[0].die.spec.clone();
    let whole = device("m600-256gb").unwrap();
    let (whole, small) = (die_of(&whole), die_of(&whole.small(8).unwrap()));
    let block_us = |die: &ssdlab_nand::DieSpec, times_us: &[f64]| -> f64 {
        let g = &die.geometry;
        let kind = |page| g.page_order.kind_index(page, g.pages_per_block, g.bits_per_cell);
        (0..g.pages_per_block).map(|page| times_us[kind(page)]).sum()
    };
    for (whole_us, small_us) in [
        (block_us(&whole, &whole.timing.program_us), block_us(&small, &small.timing.program_us)),
        (block_us(&whole, &whole.timing.read_us), block_us(&small, &small.timing.read_us)),
    ] {
        assert!((small_us * 8.0 / whole_us - 1.0).abs() < 1e-9, "{whole_us} {small_us}");
    }
    let slc_share = |die: &ssdlab_nand::DieSpec| {
        f64::from(die.mode(ssdlab_nand::CellMode::Slc).unwrap().pages_per_block)
            / f64::from(die.geometry.pages_per_block)
    };
    assert!((slc_share(&small) - slc_share(&whole)).abs() < 0.01, "an SLC cache in small holds its share");
}

#[test]
fn an_expression_has_one_name_however_it_is_written() {
    let recipe = device(&format!(" raid0( {SSD} *2,stripe= 64KiB )")).unwrap();
    assert_eq!(recipe.name, format!("raid0({SSD}*2, stripe=64KiB)"));
    assert_eq!(device(&recipe.name).unwrap().name, recipe.name);
    assert_eq!((stripe(&recipe), recipe.drives()), (65_536, 2));
    assert_eq!(stripe(&device(&format!("raid0({SSD}, {SSD})")).unwrap()), 128 << 10);
    assert_eq!(recipe.description, format!("RAID 0 of 2 × {SSD}"));
}

#[test]
fn what_is_built_has_the_capacity_that_was_said() {
    let expressions = [
        format!("raid0({SSD}*3)"),
        format!("raid0(raid0({SSD}*2, stripe=4KiB), jmf667h-imft-128gb, stripe=1MiB)"),
        format!("ranges(0-30GB={SSD}, rest=raid0({SSD}*2))"),
        format!("ranges(0-2048={SSD}, 2048-4096={SSD})"),
        format!("ranges(0-2048={SSD}*1, rest=raid0({SSD}*1, {SSD}))"),
        format!("{SSD}*1"),
    ];
    for text in expressions.into_iter().chain(array_names().map(str::to_owned)) {
        let recipe = device(&text).unwrap_or_else(|e| panic!("{e}"));
        let mut built = recipe.build(1).unwrap_or_else(|e| panic!("{e}"));
        let capacity = built.info().capacity_bytes;
        assert_eq!((capacity, built.info().name.as_str()), (recipe.capacity_bytes(), recipe.name.as_str()));
        assert!(built.submit(0, Request::read(1, capacity, 512)).is_err(), "{text}");
        let length = capacity.min(1 << 20);
        built.submit(0, Request::read(1, capacity - length, length)).unwrap();
        let mut done = Vec::new();
        built.advance_to_completion(u64::MAX, &mut done);
        assert_eq!((done.len(), built.check_books()), (1, Ok(())), "{text}");
    }
}

#[test]
fn members_are_specimens_of_their_own_and_the_same_each_time() {
    let recipe = device(&format!("raid0({SSD}*3)")).unwrap();
    let seeds = |seed: u64| {
        let seen = std::cell::RefCell::new(Vec::new());
        let build = |drive: &ssdlab_catalog::Drive, seed: u64| {
            seen.borrow_mut().push(seed);
            Ok(Box::new(ssdlab_ssd::Ssd::new(&drive.name, &drive.spec, &drive.die.spec, seed)?) as Box<_>)
        };
        recipe.build_with(seed, &build).unwrap();
        seen.into_inner()
    };
    let first = seeds(1);
    assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2], "{first:?}");
    assert_eq!(first, seeds(1));
    assert_ne!(first, seeds(2));
}

#[test]
fn wrong_expressions_are_pointed_at() {
    let (message, marked) = wrong("raid0(jmf667h-toshiba-128g*2)");
    assert_eq!(marked, "jmf667h-toshiba-128g");
    assert!(message.contains("did you mean jmf667h-toshiba-128gb"), "{message}");
    let (message, marked) = wrong(&format!("riad0({SSD}*2)"));
    assert!(marked == "riad0" && message.contains("did you mean raid0?"), "{message}");
    assert_eq!(wrong(&format!("{SSD}(2)")).1, SSD);
    assert_eq!(wrong(&format!("raid0({SSD}*2, strip=4KiB)")).1, "strip");
    assert_eq!(wrong(&format!("raid0({SSD}*2, stripe=x)")).1, "x");
    assert_eq!(wrong(&format!("raid0({SSD}*2, stripe=4KiB, stripe=4KiB)")).1, "stripe");
    assert_eq!(wrong(&format!("raid0({SSD})")).1, format!("raid0({SSD})"));
    assert_eq!(wrong(&format!("{SSD}*2")).1, "2");
    assert_eq!(wrong("raid0").1, "raid0");
    assert_eq!(wrong(&format!("raid0({SSD}*40, {SSD}*40)")).1, format!("{SSD}*40"));
    assert_eq!(wrong(&format!("raid0(raid0({SSD}*33)*2)")).1, format!("raid0(raid0({SSD}*33)*2)"));
    assert_eq!(wrong(&format!("ranges(0-1GB={SSD}, {SSD})")).1, SSD);
    assert_eq!(wrong(&format!("ranges(0-1GB={SSD}, 2GB-3GB={SSD})")).1, "2GB-3GB");
    assert_eq!(wrong(&format!("ranges(rest={SSD}, rest={SSD})")).1, "rest");
    assert_eq!(wrong(&format!("ranges(all={SSD}, rest={SSD})")).1, "all");
    assert_eq!(wrong(&format!("ranges(0-0={SSD}, rest={SSD})")).1, "0-0");
}

#[test]
fn values_of_an_adapter_are_read_whole_or_refused() {
    let refused = |value: &str, marked: &str, told: &str| {
        let (message, at) = wrong(&format!("arc-1280ml({SSD}, {value})"));
        assert!(at == marked && message.contains(told), "{value}: `{at}` {message}");
        assert!(!message.contains("drive-files.md"), "{message}");
    };
    refused("capacity_mib=64*2", "64*2", "`64*2` is no value of `capacity_mib`");
    refused("capacity_mib=64(foo)", "64(foo)", "`64(foo)` is no value of `capacity_mib`");
    refused("capacity_mib=64, cache.capacity_mib=32", "cache.capacity_mib", "`cache.capacity_mib` is there twice");
    refused("capacity_mib=much", "much", "cache.capacity_mib: the text \"much\" does not fit here");
    refused("flush_policy=brust", "brust", "did you mean \"burst\"?");
    refused("capacity_mib=0", "0", "cache.capacity_mib");
    assert!(device(&format!("arc-1280ml({SSD}, capacity_mib=64)")).is_ok());
}

#[test]
fn what_cannot_be_built_is_pointed_at() {
    let refused = |text: &str| {
        let error = device(text).unwrap_err();
        (error.what, error.place.map(|place| place.column))
    };
    let (what, column) = refused(&format!("raid0(raid0({SSD}*2, stripe=1000)*2)"));
    assert!(what.contains("a stripe of 1000 bytes") && column == Some(7), "{what} {column:?}");
    let (what, _) = refused(&format!("ranges(0-900GB={SSD}, rest={SSD})"));
    assert!(what.contains("less than its range"), "{what}");
}

#[test]
fn a_file_gives_an_expression_a_name() {
    let folder = std::env::temp_dir().join(format!("ssdlab-arrays-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, device: &str| {
        let path = folder.join(name);
        std::fs::write(&path, format!("kind = \"array\"\ndescription = \"mine\"\ndevice = \"{device}\"\n")).unwrap();
        path.display().to_string()
    };
    let pair = write("pair.toml", &format!("raid0({SSD}*2)"));
    let recipe = device(&pair).unwrap();
    assert_eq!((recipe.name.as_str(), recipe.description.as_str(), recipe.drives()), (pair.as_str(), "mine", 2));
    // Paths begin where the file is.
    let two_pairs = write("two.toml", "raid0(pair.toml*2)");
    assert_eq!(device(&two_pairs).unwrap().drives(), 4);
    assert_eq!(device(&format!("raid0({pair}, {pair})")).unwrap().drives(), 4);
    let (message, marked) = wrong(&write("wrong.toml", &format!("raid0({SSD}*0)")));
    assert!(marked == "0" && message.contains("wrong.toml:3:"), "{message}");
    let (message, _) = wrong(&write("itself.toml", "raid0(itself.toml*2)"));
    assert!(message.contains("too deep"), "{message}");
    std::fs::write(folder.join("odd.toml"), "kind = \"aray\"\n").unwrap();
    let (message, marked) = wrong(&folder.join("odd.toml").display().to_string());
    assert!(marked == "\"aray\"" && message.contains("did you mean array?"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn anything_at_all_is_read_or_refused() {
    let mut rng = ssdlab_core::Rng::new(3);
    let pieces =
        ["raid0", "ranges", "ideal-32die", "(", ")", ",", "*", "=", "2", "stripe", "4KiB", "0-1GB", "rest", " ", "ä"];
    for _ in 0..20_000 {
        let text: String = (0..rng.below(12)).map(|_| pieces[rng.below(pieces.len() as u64) as usize]).collect();
        if let Err(error) = device(&text) {
            assert!(!error.help.is_empty(), "{error}");
        }
    }
}

/// Measured: `test random-read` of m600-1tb, which writes all of it first, peaks at 2.42 GB resident (docs/performance.md).
#[test]
fn memory_is_told_as_it_was_measured_and_adds_up_over_a_set() {
    let memory = |name: &str| ssdlab_catalog::device(name).unwrap_or_else(|e| panic!("{e}")).memory_bytes();
    let one = memory("m600-1tb");
    assert!((one as f64 / 2.42e9 - 1.0).abs() < 0.1, "{one}");
    assert_eq!(memory("arc-1280ml(raid0(m600-1tb*3, spinpoint-f1-1tb))"), 3 * one);
    // Of a drive with an exact spare the capacity decides how much flash there is.
    let template = DeviceTemplate::open("ideal-32die", Path::new("")).unwrap();
    let large = template.set(&[("capacity_bytes".to_owned(), "4TB".to_owned())]).unwrap_or_else(|e| panic!("{e}"));
    let least = large.capacity_bytes() / 4096 * 9;
    assert!((least..2 * least).contains(&large.memory_bytes()), "{}", large.memory_bytes());
}

/// Behind an adapter a device may be larger than what 32 bits count in 4 KiB.
#[test]
fn twenty_terabytes_behind_an_adapter_take_writes_at_their_end() {
    let recipe = device("arc-1280ml(raid0(spinpoint-f1-1tb*20))").unwrap();
    let mut device = recipe.build(1).unwrap();
    let end = device.info().capacity_bytes;
    assert!(end > 4096 << 32);
    device.submit(0, Request::write(1, end - 8192, 8192)).unwrap();
    let mut done = Vec::new();
    device.advance(10_000_000_000, &mut done);
    assert_eq!((done.len(), device.check_books()), (1, Ok(())));
}

#[test]
fn what_tests_measure_others_by_is_known() {
    use ssdlab_bench::suite::TESTS;
    use ssdlab_catalog::reference_identity;

    let marks: Vec<&str> = TESTS.iter().filter(|t| reference_identity(t).is_some()).map(|t| t.name).collect();
    assert_eq!(marks.len(), 5, "{marks:?}");
    assert!(marks.iter().all(|name| name.starts_with("storagemark-")));
    let desktop = TESTS.iter().find(|t| t.name == "storagemark-desktop").and_then(|t| reference_identity(t)).unwrap();
    assert_eq!(desktop, device("raptor-wd360gd-36gb").unwrap().identity());
}

/// What chance gives a drive that is no other's change hangs on its name; which device it is does not.
#[test]
fn two_sets_of_drives_that_are_drawn_as_two_models_are_two() {
    let folder = std::env::temp_dir().join(format!("ssdlab-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let set_of = |name: &str, text: &str| {
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        let file = file.display();
        (device(&file.to_string()).unwrap(), device(&format!("raid0({file}*2)")).unwrap())
    };
    let of_its_own = include_str!("../../../../catalog/drives/x25-m-80gb.toml");
    let changed = "base = \"m600-256gb\"\ndescription = \"mine\" # none\n";
    for (text, are_one) in [(of_its_own, false), (changed, true)] {
        let ((a, set_of_a), (b, set_of_b)) = (set_of("a", text), set_of("b", text));
        assert_eq!(a.identity(), b.identity());
        assert_eq!(a.named_identity() == b.named_identity(), are_one);
        assert_eq!(set_of_a.identity() == set_of_b.identity(), are_one);
        for (a, b) in [(&a, &b), (&set_of_a, &set_of_b)] {
            assert_eq!(a.identity_but_for_chance(), b.identity_but_for_chance());
            assert_eq!((a.drawn_as() == b.drawn_as(), a.drawn_as().len()), (are_one, a.drives()));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// As it is saved, and as results tell it.
#[test]
fn a_file_makes_one_device_by_each_of_its_paths() {
    let folder = std::env::temp_dir().join(format!("ssdlab-paths-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let own = include_str!("../../../../catalog/drives/x25-m-80gb.toml");
    let on_its_own_die = "base = \"ideal-32die\"\n[flash]\ndie = \"die.toml\"\n";
    for (file, text) in [
        ("ssd.toml", "base = \"ideal-32die\"\n[gc]\npolicy = \"fifo\"\n"),
        ("own.toml", own),
        ("die.toml", "base = \"ideal\"\n"),
        ("on-die.toml", on_its_own_die),
        ("disk.toml", "base = \"raptor-wd360gd-36gb\"\n[controller]\nqueue_depth = 32\n"),
        ("adapter.toml", "base = \"arc-1280ml\"\n[cache]\nbattery = true\n"),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    for text in [
        "FOLDER/ssd.toml",
        "FOLDER/own.toml",
        "FOLDER/on-die.toml",
        "FOLDER/disk.toml",
        "raid0(FOLDER/disk.toml*2)",
        "FOLDER/adapter.toml(raid0(FOLDER/disk.toml*2))",
    ] {
        let by = |way: &str| {
            let path = format!("{}{way}", folder.display());
            device(&text.replace("FOLDER", &path)).unwrap_or_else(|e| panic!("{e}"))
        };
        let (one, other) = (by(""), by("/sub/.."));
        assert_eq!(one.named_identity(), other.named_identity(), "{text}");
        let [mut saved, mut loaded] = [one, other].map(|recipe| recipe.build(1).unwrap_or_else(|e| panic!("{e}")));
        let plug = saved.plug().unwrap();
        plug.cut(0);
        let state = plug.save();
        assert_eq!(loaded.plug().unwrap().load(&state), Ok(()), "{text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_made_small_moves_data_as_often_for_being_read() {
    let template = DeviceTemplate::open("sm2256-500gb", Path::new("")).unwrap();
    let reads = |given: &str| {
        let change = ("refresh.after_block_reads".to_owned(), given.to_owned());
        let small = template.set(&[change]).unwrap_or_else(|e| panic!("{e}")).small(8).expect("it can be divided");
        small.ssds()[0].spec.refresh.as_ref().and_then(|refresh| refresh.after_block_reads)
    };
    assert_eq!([reads("80000"), reads("3")], [Some(10_000), Some(1)]);
}

#[test]
fn a_drive_is_made_small_whatever_key_that_it_divides_has_its_least_value() {
    let all_of_them = "heat.ambient_c = 25.0
        heat.heat_capacity_j_per_k = 7.5
        heat.sample_ms = 1000.0
        heat.thermal_resistance_k_per_w = 22.0
        heat.throttle_from_c = [75.0]
        heat.throttled_read_mb_per_s = [250.0]
        heat.throttled_write_mb_per_s = [60.0]
        mapping.journal_limit_rows = 8000
        mapping.map_cache_kib = 8000
        refresh.after_block_reads = 80000";
    let mut tried = Vec::new();
    for (name, given) in [("840-evo-120gb", all_of_them), ("memoright-gt-64gb", "")] {
        let template = DeviceTemplate::open(name, Path::new("")).unwrap();
        let given = given.lines().filter_map(|line| line.trim().split_once(" = "));
        let given: Vec<_> = given.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let whole = template.set(&given).unwrap_or_else(|e| panic!("{e}"));
        let small = whole.small(8).expect("it can be divided");
        let [whole, small] = [&whole, &small].map(DeviceRecipe::identity);
        for (part, prefix, table) in [("drive", "", drive_keys()), ("die", DIE_PREFIX, die_keys())] {
            let value =
                |of: &serde_json::Value, path: &str| of[part].pointer(&format!("/{}", path.replace('.', "/"))).cloned();
            let divided = table.keys.iter().filter(|key| value(&whole, &key.path) != value(&small, &key.path));
            // Of a single block or page there is no part.
            let divided = divided.filter(|key| key.path != "capacity_bytes" && !key.path.starts_with("geometry."));
            for (key, least) in divided.filter_map(|key| Some((format!("{prefix}{}", key.path), key.range.least?))) {
                let others = given.iter().filter(|(other, _)| *other != key).cloned();
                let changes: Vec<_> = others.chain([(key.clone(), least.to_string())]).collect();
                // Some must be larger for the sake of others.
                let Ok(whole) = template.set(&changes) else { continue };
                assert!(whole.small(8).is_some(), "{name} with {key} = {least}");
                tried.push(key);
            }
        }
    }
    for key in ["slc_cache.fold_pause_ms", "mapping.map_cache_kib", "heat.sample_ms", "die.timing.erase_ms"] {
        assert!(tried.iter().any(|tried| tried == key), "{key}: {tried:?}");
    }
    let mut whole = device("a-data-trio-arc-1280ml").unwrap();
    let Parts::Adapter(adapter, _) = &mut whole.parts else { panic!("{whole:?}") };
    adapter.spec.cache.as_mut().expect("it has one").capacity_mib = 1;
    assert!(whole.small(8).is_some());
}

/// When the device ends what it is asked for, in small.
fn ends(device: &str) -> Vec<u64> {
    let whole = ssdlab_catalog::device(device).unwrap();
    let mut drive = whole.small(8).expect("it can be had in small").build(1).unwrap();
    let mut done = Vec::new();
    let writes = (0..2000_u64).map(|k| Request::write(k, k * 131_072, 131_072));
    for request in writes {
        while drive.next_event().is_some() && done.len() + 32 <= request.tag as usize {
            drive.advance_to_completion(u64::MAX, &mut done);
        }
        let now = done.last().map_or(0, |c: &ssdlab_device::Completion| c.completed);
        drive.submit(now, request).unwrap();
    }
    drive.advance(u64::MAX / 2, &mut done);
    done.iter().map(|c| c.completed).collect()
}

/// Its file alone makes a drive another one: not what the file is called.
#[test]
fn a_file_that_changes_nothing_describes_the_specimen_of_its_base() {
    let folder = std::env::temp_dir().join(format!("ssdlab-specimens-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, changes: &str| {
        let path = folder.join(name);
        std::fs::write(&path, format!("base = \"m600-128gb\"\n{changes}")).unwrap();
        ends(path.to_str().unwrap())
    };
    let base = ends("m600-128gb");
    assert_eq!(base.len(), 2000);
    assert!(file("one.toml", "") == base && file("other.toml", "") == base);
    assert!(file("slower.toml", "[controller]\nwrite_command_us = 9.0\n") != base);
    std::fs::remove_dir_all(&folder).unwrap();
    // Siblings of the catalog are drawn by themselves.
    let drives = ["m600-128gb", "m600-256gb"].map(|name| ssdlab_catalog::resolve(name).unwrap());
    assert!(drives.iter().all(|drive| drive.model().drawn_as == drive.name));
}

/// The number of bytes that the help for a capacity names, if it names one.
fn bytes_of_help(help: &str) -> Option<u64> {
    let words: Vec<&str> = help.split([' ', ',']).collect();
    words.windows(2).find(|pair| pair[1] == "bytes").and_then(|pair| pair[0].parse().ok())
}

#[test]
fn a_capacity_that_a_message_names_is_taken() {
    let mut refused = 0;
    let drives = drive_names().map(|name| (name, resolve(name).unwrap_or_else(|e| panic!("{e}"))));
    // What drives with log blocks can have is known when they are built.
    for (name, drive) in drives.filter(|(_, drive)| drive.spec.log_blocks.is_none()) {
        let raw = drive.die.spec.raw_bytes() * u64::from(drive.spec.flash.dies);
        for asked in [raw / 4096 * 4096, raw * 2, 1 << 42, 1 << 44] {
            let of = |capacity_bytes| {
                let mut spec = drive.spec.clone();
                spec.capacity_bytes = capacity_bytes;
                spec.validate(&drive.die.spec)
            };
            let Some(error) = of(asked).err().filter(|error| error.key == "capacity_bytes") else { continue };
            refused += 1;
            let named = bytes_of_help(&error.expected).unwrap_or_else(|| panic!("{name}, {asked} bytes: {error}"));
            assert_eq!(of(named), Ok(()), "{name}: {named} bytes, by the help for {asked}: {error}");
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn an_adapter_whose_cache_would_be_smaller_in_small_than_what_it_reads_ahead_has_none() {
    let small = |read_ahead_kib: u32| {
        let text = format!("arc-1200({SSD}, cache.capacity_mib=8, cache.read_ahead_kib={read_ahead_kib})");
        device(&text).unwrap_or_else(|e| panic!("{e}")).small(8)
    };
    assert!(small(512).is_some() && small(1024).is_none());
}
