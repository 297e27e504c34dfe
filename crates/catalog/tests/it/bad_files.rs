//! What a user is told about a drive file that is wrong: one error, its place, and what would be right.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ssdlab_catalog::resolve;

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        // Tests run side by side, and one makes several.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ssdlab-bad-files-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The message for a drive file, without the folder in front of file names.
fn message(test: &str, text: &str) -> String {
    let folder = Folder::new(test);
    let path = folder.write("my.toml", text);
    let error = resolve(&path).expect_err("the file is wrong").to_string();
    error.replace(&format!("{}/", folder.0.display()), "")
}

const BASE: &str = "base = \"jmf667h-imft-128gb\"\n";

fn complete(change: impl Fn(String) -> String) -> String {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/drives/jmf667h-imft-128gb.toml"))
        .unwrap();
    change(text)
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest() {
    let error = message("unknown", &format!("{BASE}\n[controller]\nchanels = 4\n"));
    assert!(
        error.starts_with(
            "error: unknown key `chanels`\n --> my.toml:4:1\n  |\n4 | chanels = 4\n  | ^^^^^^^\n  = help: did you mean `channels`?\n  = help: known keys here: name, channels,"
        ),
        "{error}"
    );
}

#[test]
fn the_same_in_a_file_without_a_base() {
    let error = message("unknown-plain", &complete(|t| t.replace("[gc]", "[gc]\nvictimes = 3")));
    assert!(error.starts_with("error: unknown key `victimes`\n"), "{error}");
    assert!(error.contains("\n   | ^^^^^^^^\n"), "{error}");
}

#[test]
fn a_wrong_unit_is_led_to_the_right_key() {
    let error = message("unit", &format!("{BASE}capacity_gb = 120\n"));
    assert!(error.contains("2 | capacity_gb = 120\n  | ^^^^^^^^^^^"), "{error}");
    assert!(error.contains("the unit is wrong: use `capacity_bytes`, in bytes"), "{error}");
}

#[test]
fn a_wrong_type_points_at_the_value() {
    let error = message("type", &format!("{BASE}[flash]\ndies = \"eight\"\n"));
    assert!(error.contains("error: the text \"eight\" does not fit here\n --> my.toml:3:8\n"), "{error}");
    assert!(error.contains("give a whole number, 1 to 512"), "{error}");
    let error = message("too-wide", &format!("{BASE}[controller]\nreads_in_a_row = 70000\n"));
    assert!(error.contains("the number 70000 does not fit here") && error.contains("1 to 65,535 reads"), "{error}");
}

#[test]
fn negative_and_overflowing_numbers_are_refused() {
    let error = message("negative", &format!("{BASE}[flash]\ndies = -8\n"));
    assert!(error.contains("--> my.toml:3:8"), "{error}");
    let error = message("overflow", &format!("{BASE}capacity_bytes = 99999999999999999999\n"));
    assert!(error.contains("--> my.toml:2:18"), "{error}");
    let error = message("nan", &format!("{BASE}[link]\nhost_turnaround_us = nan\n"));
    assert!(error.contains("--> my.toml:3:22"), "{error}");
}

#[test]
fn an_unknown_policy_lists_the_policies() {
    let error = message("variant", &format!("{BASE}[gc]\npolicy = \"gready\"\n"));
    assert!(error.contains("error: unknown value \"gready\"\n --> my.toml:3:10\n"), "{error}");
    assert!(error.contains("did you mean \"greedy\"?"), "{error}");
    assert!(
        error.contains("possible values: greedy, fifo, d-choices, cost-benefit, random, windowed-greedy"),
        "{error}"
    );
}

#[test]
fn all_keys_that_are_missing_are_told_at_once() {
    let error = message("missing", "description = \"mine\"\ncapacity_bytes = 1000\n[flash]\ndie = \"x\"\n");
    assert!(error.starts_with("error: missing key `dies`\n --> my.toml:3:1\n"), "{error}");
    let (_, all) = error.rsplit_once(" keys are missing in all: ").expect("they are told");
    assert!(all.starts_with("flash.dies, ") && all.contains("link.generation"), "{all}");
    assert!(!all.contains("flash.die,") && !all.contains("capacity_bytes"), "what is there is not missing: {all}");
    assert!(!all.contains("gc.") && !all.contains("log_blocks."), "one of them is needed, not both: {all}");
    let text = "description = \"mine\"\ncapacity_bytes = 1000\n[gc]\npolicy = \"fifo\"\n";
    assert!(message("missing", text).contains("gc.frontier"), "of a section that is there all is needed");
    // One alone stands in the first line already.
    let one = complete(|t| t.replace("dies = ", "# dies = "));
    assert!(!message("missing", &one).contains("in all"), "{}", message("missing", &one));
}

#[test]
fn what_is_no_name_is_told_the_names() {
    for value in ["3", "true", "[\"fifo\"]", "{}"] {
        let error = message("no-name", &format!("{BASE}[gc]\npolicy = {value}\n"));
        assert!(error.starts_with("error: this does not fit here\n --> my.toml:3:"), "{error}");
        assert!(error.contains("give one of these in double quotes: greedy, fifo, "), "{error}");
    }
}

#[test]
fn another_number_is_not_taken_for_a_slip() {
    let error = message("generation", &format!("{BASE}[link]\ngeneration = \"pcie-6\"\n"));
    assert!(error.contains("unknown value \"pcie-6\"") && !error.contains("did you mean"), "{error}");
    assert!(error.contains("possible values: sata-1.5g,"), "{error}");
}

#[test]
fn a_list_of_sections_is_refused_where_it_begins() {
    for text in [format!("{BASE}[[gc]]\npolicy = \"fifo\"\n"), complete(|t| t.replace("[gc]", "[[gc]]"))] {
        let error = message("list", &text);
        assert!(error.starts_with("error: `gc` is one section, not a list\n"), "{error}");
        assert!(error.contains("| [[gc]]\n") && error.contains("^^^^^^\n") && error.contains("write [gc]"), "{error}");
    }
}

#[test]
fn a_base_that_is_a_file_is_told_to_be_one_of_the_catalog() {
    let error = message("base-file", "base = \"other.toml\"\n");
    assert!(error.starts_with("error: there is no drive `other.toml`\n --> my.toml:1:8\n"), "{error}");
    assert!(
        error.ends_with("  = help: a file builds on a drive of the catalog, which is named without folder and ending"),
        "{error}"
    );
}

#[test]
fn texts_have_an_end() {
    let long = "x".repeat(100_000);
    let error = message("long", &format!("{BASE}description = \"{long}\"\n"));
    assert!(error.starts_with("error: description: a text of 100000 characters is too long"), "{error:.200}");
    assert!(error.len() < 1000, "{}", error.len());
}

#[test]
fn no_ways_are_the_mistake_themselves() {
    let error = message("ways", &format!("{BASE}[controller]\nways = 0\n"));
    assert!(error.starts_with("error: controller.ways: 0 is impossible"), "{error}");
}

#[test]
fn serial_ata_has_32_tags() {
    let error = message("tags", &format!("{BASE}[controller]\nqueue_depth = 33\n"));
    assert!(error.starts_with("error: controller.queue_depth: Serial ATA has 32 tags"), "{error}");
}

#[test]
fn a_missing_key_is_named() {
    let error = message("missing", &complete(|t| t.replace("dies = 8 ", "# dies = 8 ")));
    assert!(error.starts_with("error: missing key `dies`\n --> my.toml:4:1\n"), "{error}");
}

#[test]
fn a_missing_die_type_is_answered_with_those_there_are() {
    let error = message("die", &format!("{BASE}[flash]\ndie = \"imft-20nm-128gbit\"\n"));
    assert!(
        error.contains("error: flash.die: there is no die type `imft-20nm-128gbit`\n --> my.toml:3:7\n"),
        "{error}"
    );
    assert!(error.contains("did you mean imft-20nm-128gbit-mlc?"), "{error}");
    let error = message("die-file", &format!("{BASE}[flash]\ndie = \"dies/none.toml\"\n"));
    assert!(error.contains("there is no file dies/none.toml\n --> my.toml:3:7\n"), "{error}");
}

#[test]
fn an_impossible_geometry_points_into_the_die_file() {
    let folder = Folder::new("geometry");
    folder.write("die.toml", "base = \"ideal\"\n[geometry]\npage_bytes = 5000\n");
    let drive = folder.write("my.toml", &format!("{BASE}[flash]\ndie = \"die.toml\"\n"));
    let error = resolve(&drive).unwrap_err().to_string();
    assert!(error.starts_with("error: geometry.page_bytes: 5000 is not a multiple of 4096 B"), "{error}");
    assert!(error.contains("die.toml:3:14\n"), "{error}");
    assert!(error.contains("= help: use a multiple of 4096 B, from 4096 to 65,536"), "{error}");
}

#[test]
fn sizes_beyond_any_simulation_are_refused() {
    let error = message("large", "base = \"ideal-32die\"\ncapacity_bytes = 17592186040320\n");
    assert!(error.contains("17592186040320 bytes are 4294967295 units of 4 KiB\n --> my.toml:2:18\n"), "{error}");
    let error = message("larger", "base = \"ideal-32die\"\ncapacity_bytes = 175921860403200\n");
    assert!(error.contains("175921860403200 B is impossible\n --> my.toml:2:18\n"), "{error}");
    let folder = Folder::new("huge");
    folder.write(
        "die.toml",
        "base = \"toshiba-a19nm-64gbit-mlc\"\n[geometry]\nblocks_per_plane = 1048576\npages_per_block = 4096\n",
    );
    let drive = folder.write("my.toml", &format!("{BASE}[flash]\ndie = \"die.toml\"\ndies = 32\n"));
    let error = resolve(&drive).unwrap_err().to_string();
    assert!(error.contains("bytes of flash are more than can be simulated"), "{error}");
    let folder = Folder::new("planes");
    folder.write("die.toml", "base = \"toshiba-a19nm-64gbit-mlc\"\n[geometry]\nplanes = 3\n");
    let drive = folder.write("my.toml", &format!("{BASE}[flash]\ndie = \"die.toml\"\n"));
    let error = resolve(&drive).unwrap_err().to_string();
    assert!(error.contains("planes x page_bytes must be"), "{error}");
}

#[test]
fn no_spare_block_points_at_the_capacity() {
    let error = message("spare", &format!("{BASE}capacity_bytes = 140660178944\n"));
    assert!(error.contains("leave no spare superblock"), "{error}");
    assert!(error.contains(" --> my.toml:2:18\n"), "{error}");
    // The capacity comes from the base, the cause is in the file: the line that names the base is shown.
    let error = message("spare-base", &format!("{BASE}[flash]\ndies = 4\n"));
    assert!(error.contains(" --> my.toml:1:8\n"), "{error}");
    assert!(error.contains("capacity_bytes comes from the base: state it in this file, too\n"), "{error}");
}

#[test]
fn superblocks_kept_free_are_told_by_their_own_key() {
    let error = message("start-free", &format!("{BASE}[gc]\nstart_free_superblocks = 100\n"));
    assert!(
        error.starts_with("error: gc.start_free_superblocks: with 100 free superblocks, open ones and "),
        "{error}"
    );
    assert!(error.contains("--> my.toml:3:26") && error.contains("or a smaller capacity_bytes"), "{error}");
    let most: u32 = error.split_once("use at most ").unwrap().1.split(',').next().unwrap().parse().unwrap();
    let of = |free: u32| {
        let folder = Folder::new(&format!("start-free-{free}"));
        resolve(&folder.write("my.toml", &format!("{BASE}[gc]\nstart_free_superblocks = {free}\n")))
    };
    // Which blocks are bad is not known yet: what is advised leaves room for all that may be.
    assert!(of(most).is_ok() && of(most + 10).is_err());
    // None that is free would make room for this.
    let error = message("too-much", &format!("{BASE}capacity_bytes = 137438953472\n"));
    assert!(error.starts_with("error: capacity_bytes: "), "{error}");
}

#[test]
fn a_cache_that_is_set_aside_is_told_as_what_takes_the_room() {
    let of = |capacity_gb: f64| {
        let folder = Folder::new(&format!("cache-{capacity_gb}"));
        let text = format!("base = \"840-evo-120gb\"\n[slc_cache]\ncapacity_gb = {capacity_gb:?}\n");
        resolve(&folder.write("my.toml", &text)).map_err(|error| error.to_string())
    };
    assert!(of(3.0).is_ok());
    // From one that takes a little too much: fewer free superblocks would leave no room to fold it.
    let errors: Vec<String> = (30..=100).filter_map(|tenths| of(f64::from(tenths) / 10.0).err()).collect();
    assert!(errors.len() > 40);
    for error in &errors {
        assert!(
            error.starts_with("error: capacity_bytes: 120034123776 bytes on 140928614400 bytes of flash ("),
            "{error}"
        );
        assert!(error.contains(" set aside for the SLC cache) leave no spare superblock"), "{error}");
        assert!(error.contains("or more flash, or a smaller slc_cache.capacity_gb"), "{error}");
    }
}

#[test]
fn what_is_kept_in_dram_fits_into_it() {
    let error = message("cache", &format!("{BASE}[mapping]\nmap_cache_kib = 131073\n"));
    assert!(
        error.starts_with("error: mapping.map_cache_kib: 131073 KiB do not fit into the 128 MiB of DRAM"),
        "{error}"
    );
    assert!(error.contains("--> my.toml:3:17") && error.contains("use at most 131072 KiB"), "{error}");
    let error = message("buffer", &format!("{BASE}[write_buffer]\ncapacity_kib = 1048576\n"));
    assert!(error.starts_with("error: write_buffer.capacity_kib: 1048576 KiB do not fit"), "{error}");
}

#[test]
fn parity_without_room_is_told_by_the_key_of_the_code() {
    let text = "base = \"ultra-ii-240gb\"\n[ecc.bch]\ncorrectable_bits = 200\n";
    let error = message("parity", text);
    assert!(error.starts_with("error: ecc.bch.correctable_bits: "), "{error}");
    assert!(error.contains("3 | correctable_bits = 200") && error.contains("use at most "), "{error}");
    let most = error.split_once("use at most ").unwrap().1.split(',').next().unwrap().to_owned();
    let folder = Folder::new("parity-fits");
    let fits = resolve(&folder.write("my.toml", &text.replace("200", &most)));
    assert!(fits.is_ok(), "{}", fits.unwrap_err());
}

#[test]
fn a_file_of_another_kind_is_told_as_that() {
    let folder = Folder::new("kinds");
    let drive = complete(|t| t.replace("die = \"imft-20nm-128gbit-mlc\"", "die = \"other.toml\""));
    let die = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/nand/ideal.toml")).unwrap();
    for other in [complete(|t| t), BASE.to_owned()] {
        folder.write("other.toml", &other);
        let error = resolve(&folder.write("my.toml", &drive)).expect_err("a drive is no die").to_string();
        let error = error.replace(&format!("{}/", folder.0.display()), "");
        assert!(
            error.starts_with("error: flash.die: other.toml describes a drive, not a die type\n --> my.toml:"),
            "{error}"
        );
        let error = ssdlab_catalog::parse_die("other.toml", &other).unwrap_err().to_string();
        assert!(
            error.starts_with("error: this file describes a drive, and a die type is wanted\n --> other.toml:"),
            "{error}"
        );
    }
    let error = message("die", &die);
    assert!(error.starts_with("error: this file describes a die type, and a drive is wanted\n"), "{error}");
    // A slip is no other kind.
    let error = ssdlab_catalog::parse_die("my.toml", &die.replace("[timing]", "[timings]")).unwrap_err().to_string();
    assert!(error.contains("unknown key `timings`"), "{error}");
}

#[test]
fn the_translation_of_a_base_is_left_out_by_without() {
    let blocks = "[log_blocks]\nscheme = \"bast\"\nopen_logs = 4\nstripe_superblocks = 1\n";
    let error = message("blocks", &format!("{BASE}{blocks}"));
    assert!(error.contains("has no effect on a drive with [log_blocks]"), "{error}");
    assert!(error.contains("without = [\"mapping\", \"gc\"]"), "{error}");
    let gc = complete(|t| t[t.find("[gc]").unwrap()..].split("\n\n").next().unwrap().to_owned());
    let error = message("pages", &format!("base = \"mtron-mobi-3000-16gb\"\n{gc}\n"));
    assert!(error.contains("[gc] has no effect on a drive with [log_blocks]"), "{error}");
    assert!(error.contains("without = [\"log_blocks\"]"), "{error}");
}

#[test]
fn dies_of_the_catalog_raise_no_doubts_and_slips_of_unit_do() {
    for name in ssdlab_catalog::die_names() {
        assert_eq!(ssdlab_catalog::die(name).unwrap().spec.doubts(), <[&str; 0]>::default(), "{name}");
    }
    let doubts = |section: &str| {
        let text = format!("base = \"imft-20nm-64gbit-mlc\"\n[timing]\n{section}\n");
        ssdlab_catalog::parse_die("my.toml", &text).unwrap().spec.doubts().join("; ")
    };
    assert_eq!(
        doubts("erase_ms = 3800"),
        "timing.erase_ms: an erase of 3800 ms is longer than that of any flash for storage"
    );
    assert_eq!(doubts("erase_ms = 0.003"), "timing.erase_ms: an erase of 0.003 ms is shorter than a read of 75 µs");
    assert_eq!(
        doubts("program_us = [0.7, 1.9]"),
        "timing.program_us: a program of 0.7 µs is shorter than a read of 75 µs"
    );
    // Media without erase, whose writes are slower than their reads, or as fast.
    for (read, program) in [("0.035", "0.035"), ("0.2", "2")] {
        assert_eq!(
            doubts(&format!("read_us = [{read}, {read}]\nprogram_us = [{program}, {program}]\nerase_ms = 0")),
            ""
        );
    }
}

#[test]
fn features_that_a_drive_never_uses_are_doubted_and_none_of_the_catalog_has_one() {
    for name in ssdlab_catalog::drive_names() {
        let drive = ssdlab_catalog::resolve(name).unwrap();
        assert_eq!(drive.spec.doubts(&drive.die.spec), <[&str; 0]>::default(), "{name}");
    }
    let mut drive = ssdlab_catalog::resolve("860-qvo-1tb").unwrap();
    drive.spec.controller.reads_first = false;
    let doubts = drive.spec.doubts(&drive.die.spec);
    let says = |key: &str| doubts.iter().any(|doubt| doubt.starts_with(key));
    assert!(says("features.suspend of the die has no effect where host reads do not go first"), "{doubts:?}");
    assert_eq!(says("features.cache_read_busy_us"), drive.die.spec.features.cache_read_busy_us.is_some());
}

#[test]
fn a_missing_base_is_answered_with_the_nearest() {
    let error = message("base", "base = \"jmf667h-imft\"\n");
    assert!(error.contains("error: there is no drive `jmf667h-imft`\n --> my.toml:1:8\n"), "{error}");
    assert!(error.contains("did you mean jmf667h-imft-128gb or jmf667h-imft-256gb"), "{error}");
}

/// From a fixed cache to a dynamic one: what only the fixed one has must go.
#[test]
fn a_file_leaves_keys_and_sections_of_its_base_out() {
    let base = "base = \"600p-512gb\"\n";
    let dynamic = "[slc_cache]\npolicy = \"dynamic\"\nkeep_free_per_1000 = 70\nhost_while_folding = \"native\"\n";
    let error = message("with", &format!("{base}{dynamic}"));
    assert!(
        error.contains("comes from the base: state it in this file, too, or leave it out with `without`"),
        "{error}"
    );
    let folder = Folder::new("without");
    let text = format!("{base}without = [\"slc_cache\"]\n{dynamic}");
    let drive = resolve(&folder.write("my.toml", &text)).unwrap_or_else(|e| panic!("{e}"));
    assert!(drive.rows.iter().all(|row| row.key != "slc_cache.when_full"), "nor is it shown");
    for list in ["[\"gc.policy\", \"gc\"]", "[\"gc\", \"gc.policy\"]"] {
        let gc = complete(|t| t[t.find("[gc]").unwrap()..].split("\n\n").next().unwrap().to_owned());
        let text = format!("{BASE}without = {list}\n{gc}\n");
        assert!(resolve(&folder.write("order.toml", &text)).is_ok(), "{list}");
    }
    for (name, text, says) in [
        ("none", format!("{base}without = [\"slc_cash\"]\n"), "there is no `slc_cash` in 600p-512gb"),
        ("words", format!("{base}without = \"ecc\"\n"), "`without` does not fit here"),
    ] {
        let error = message(name, &text);
        assert!(error.contains(says) && error.contains(" --> my.toml:2:11\n"), "{error}");
    }
    let alone = complete(|text| text.replacen("[flash]", "without = [\"ecc\"]\n[flash]", 1));
    let error = message("alone", &alone);
    assert!(error.contains("there is no `base`"), "{error}");
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    let error = message("syntax", &format!("{BASE}[flash\n"));
    assert!(error.starts_with("error: this is not TOML: "), "{error}");
    assert!(error.contains(" --> my.toml:2:7\n"), "{error}");
    let error = message("twice", &format!("{BASE}base = \"ideal-32die\"\n"));
    assert!(error.contains(" --> my.toml:2:1\n"), "{error}");
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let folder = Folder::new("binary");
    let path = folder.0.join("my.toml");
    fs::write(&path, [b'a', 0xff, 0xfe]).unwrap();
    let error = resolve(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("it is not text: byte 1 is not UTF-8"), "{error}");
}

#[test]
fn real_devices_and_other_files_are_refused_untouched() {
    let folder = Folder::new("real");
    let path = folder.write("disk.img", "precious");
    let error = resolve(&path).unwrap_err().to_string();
    assert!(error.contains("this takes simulated drives alone"), "{error}");
    assert!(error.contains("nothing was written"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert!(resolve("/dev/null").unwrap_err().what.contains("is a device, and"));
    assert!(resolve("/").unwrap_err().what.contains("is a folder"));
}

#[test]
fn the_longest_write_into_a_cache_is_a_length_and_belongs_to_a_cache_that_is_set_aside() {
    let largest = |base: &str, kib: u32| {
        message("largest-write", &format!("base = \"{base}\"\n[slc_cache]\nlargest_write_kib = {kib}\n"))
    };
    for (kib, problem) in
        [(0, "0 KiB is impossible"), (18, "18 is not a multiple of 4 KiB"), (32_772, "32772 KiB is impossible")]
    {
        let error = largest("sm2256-500gb", kib);
        let start = format!("error: slc_cache.largest_write_kib: {problem}\n --> my.toml:3:21\n");
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains("use a multiple of 4 KiB, from 4 to 32,768, or leave it out"), "{error}");
    }
    let error = largest("m600-128gb", 16);
    assert!(error.contains("slc_cache.largest_write_kib: has no effect with policy = \"dynamic\""), "{error}");
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let error = resolve("jmf667-toshiba-128gb").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "error: there is no drive `jmf667-toshiba-128gb`\n  = help: did you mean jmf667h-toshiba-128gb"
        ),
        "{error}"
    );
    let error = resolve("toshiba-a19nm-64gbit-mlc").unwrap_err().to_string();
    assert!(error.contains("is a die type"), "{error}");
    let error = resolve("nowhere/nothing").unwrap_err().to_string();
    assert!(error.contains("there is no such file"), "{error}");
}

#[test]
fn a_base_is_changed_key_by_key_and_keeps_its_sources() {
    let folder = Folder::new("overlay");
    folder.write("fast.toml", "base = \"imft-20nm-128gbit-mlc\"\n[timing]\nerase_ms = 1.5 # datasheet, p. 9\n");
    let path = folder.write("my.toml", &format!("{BASE}[flash]\ndie = \"fast.toml\"\n[gc]\npolicy = \"fifo\"\n"));
    let drive = resolve(&path).unwrap();
    let reference = resolve("jmf667h-imft-128gb").unwrap();
    assert_eq!(drive.die.spec.timing.erase_ms, 1.5);
    assert_eq!(drive.die.spec.geometry, reference.die.spec.geometry);
    assert_eq!(drive.spec.controller, reference.spec.controller);
    assert_ne!(drive.spec.description, reference.spec.description);
    let shown: Vec<&str> = drive.rows.iter().filter(|r| r.key == "gc.policy").map(|r| r.value.as_str()).collect();
    assert_eq!(shown, ["fifo"]);
    assert_eq!(drive.rows.len(), reference.rows.len());
}

#[test]
fn every_file_of_the_catalog_is_a_base() {
    let base = |name: &str| format!("base = \"{name}\"\ndescription = \"mine\"\n");
    for name in ssdlab_catalog::drive_names() {
        let built = ssdlab_catalog::parse_drive("my.toml", &base(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let drive = resolve(name).unwrap();
        let spec = ssdlab_ssd::DriveSpec { description: "mine".to_owned(), ..drive.spec };
        assert_eq!((built.spec, built.rows.len()), (spec, drive.rows.len()), "{name}");
    }
    for name in ssdlab_catalog::die_names() {
        let built = ssdlab_catalog::parse_die("my.toml", &base(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let die = ssdlab_catalog::die(name).unwrap();
        let spec = ssdlab_nand::DieSpec { description: "mine".to_owned(), ..die.spec };
        assert_eq!((built.spec, built.rows.len()), (spec, die.rows.len()), "{name}");
    }
}

#[test]
fn a_list_stands_nowhere_for_a_section() {
    for (text, path, line) in [
        (format!("{BASE}[ecc]\nbch = [20, 9.0]\n"), "ecc.bch", "| bch = [20, 9.0]\n"),
        (format!("{BASE}gc = [\"fifo\"]\n"), "gc", "| gc = [\"fifo\"]\n"),
        (format!("{BASE}[[ecc.bch]]\ncorrectable_bits = 20\n"), "ecc.bch", "| [[ecc.bch]]\n"),
        (format!("{BASE}slc_cache = []\n"), "slc_cache", "| slc_cache = []\n"),
    ] {
        let error = message("lists", &text);
        assert!(error.contains(&format!("`{path}` is one section, not a list")) && error.contains(line), "{error}");
        assert!(error.contains(&format!("write [{path}], and its keys below")), "{error}");
    }
}
