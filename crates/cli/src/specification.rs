//! The specification of a device as the report shows it.

use std::collections::BTreeSet;

use ssdlab_catalog::{DeviceRecipe, Origin, Parts, SpecRow};
use ssdlab_report::{Member, ParameterCount, SpecRow as ReportRow};
use ssdlab_ssd::Protection;

/// Every value of the device itself, and of a drive those of its die file as well. Descriptions are left out: they are
/// the title.
pub fn specification(recipe: &DeviceRecipe) -> Vec<ReportRow> {
    let stated = rows(recipe).into_iter().filter(|row| row.key != "description");
    stated.chain(unprotected(recipe)).map(|row| report_row(&row)).collect()
}

/// What a power cut takes from a drive whose file does not speak of it: its value as a row of its own, since no other row says it.
fn unprotected(recipe: &DeviceRecipe) -> Option<SpecRow> {
    let Parts::Ssd(drive) = &recipe.parts else { return None };
    let key = "power_loss.protects";
    let is_silent = drive.spec.power_loss.is_none();
    let why = "the drive file says nothing of power cuts".to_owned();
    is_silent.then(|| SpecRow::of_drive(key, "nothing", Origin::Estimate(why))).flatten()
}

fn rows(recipe: &DeviceRecipe) -> Vec<SpecRow> {
    let die = match &recipe.parts {
        Parts::Ssd(drive) => drive.die.rows.as_slice(),
        _ => &[],
    };
    [recipe.rows().as_slice(), die].concat()
}

/// Keys that rates and the steady state hang on, the one that they hang on most first.
const HANGS_ON: [&str; 13] = [
    "mapping.reserved_blocks_per_1000",
    "gc.buffer_superpages",
    "gc.host_share",
    "gc.start_free_superblocks",
    "gc.policy",
    "slc_cache.policy",
    "log_blocks.scheme",
    "log_blocks.merges_at_once",
    "log_blocks.open_logs",
    "seek.average_read_ms",
    "media.zone_sectors_per_track",
    "timing.program_us",
    "controller.write_unit_us",
];

/// Those of them that nobody published, in words.
pub fn hangs_on(recipe: &DeviceRecipe) -> Vec<String> {
    let rows = rows(recipe);
    let is_estimate = |row: &&SpecRow| matches!(row.origin, Origin::Estimate(_));
    let estimate = |key| rows.iter().filter(is_estimate).find(|row| row.key == key).map(|row| row.heading.clone());
    let own = HANGS_ON.into_iter().filter_map(estimate);
    let of_members = recipe.counted_members().into_iter().flat_map(|(_, member)| hangs_on(member));
    let mut headings: Vec<String> = Vec::new();
    for heading in own.chain(of_members) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings
}

/// What a device is made of, level by level: equal members once, with their number.
pub fn members(recipe: &DeviceRecipe) -> Vec<Member> {
    let member = |(count, recipe): (usize, &DeviceRecipe)| Member {
        name: recipe.name.clone(),
        count,
        specification: specification(recipe),
        members: members(recipe),
    };
    recipe.counted_members().into_iter().map(member).collect()
}

/// What a device is in a few words each: controller, medium, link, and how much of the model is estimated.
pub fn traits(recipe: &DeviceRecipe, specification: &[ReportRow], members: &[Member]) -> Vec<String> {
    let mut traits = Vec::new();
    match &recipe.parts {
        Parts::Ssd(drive) => {
            let (spec, die) = (&drive.spec, &drive.die.spec);
            let cells =
                ["SLC", "MLC", "TLC", "QLC"].get(die.geometry.bits_per_cell as usize - 1).copied().unwrap_or("flash");
            traits.push(format!("{}, {} channels", spec.controller.name, spec.controller.channels));
            traits.push(format!("{} dies of {cells}", spec.flash.dies));
            traits.push(if spec.log_blocks.is_some() { "log-block mapping" } else { "page-level mapping" }.to_owned());
            if let Some(used) = spec.used.as_ref().filter(|used| used.life_percent > 0.0) {
                traits.push(format!("used before: {} % of its rated life", used.life_percent));
            }
        }
        Parts::Disk(disk) => {
            let media = &disk.spec.media;
            traits.push(format!("hard disk, {} rpm", media.rotations_per_minute));
            traits.push(format!("{} heads", media.heads));
        }
        _ => traits.extend(recipe.counted_members().iter().map(|(count, m)| format!("{count} × {}", m.name))),
    }
    let mut parameters = ParameterCount::default();
    parameters.add(&mut BTreeSet::new(), &recipe.name, specification, members);
    traits.push(format!("{} of {} parameters are estimates", parameters.estimates, parameters.all));
    traits
}

/// What the collector of a drive that maps by pages empties at once: a block of every plane of every die, or of a group of them.
pub fn superblock_bytes(recipe: &DeviceRecipe) -> Option<u64> {
    let Parts::Ssd(drive) = &recipe.parts else { return None };
    let g = &drive.die.spec.geometry;
    let block = u64::from(g.pages_per_block) * u64::from(g.page_bytes);
    let dies = u64::from(drive.spec.superblock_dies());
    let striped =
        drive.spec.log_blocks.is_none() && drive.spec.mapping.superblock != ssdlab_ftl::SuperblockSpan::OneDie;
    striped.then(|| block * u64::from(g.planes) * dies)
}

/// Whether it is a drive that takes writes into cells at one bit each first.
pub const fn has_slc_cache(recipe: &DeviceRecipe) -> bool {
    matches!(&recipe.parts, Parts::Ssd(drive) if drive.spec.slc_cache.is_some())
}

/// Writes that caches without a battery answer for at most before the drives behind them have them; `None`: there is none.
pub fn lost_with_power_bytes(recipe: &DeviceRecipe) -> Option<u64> {
    let of_this = match &recipe.parts {
        Parts::Adapter(adapter, _) => adapter.spec.cache.as_ref().filter(|cache| !cache.battery),
        _ => None,
    };
    let of_this =
        of_this.map(|cache| (u64::from(cache.capacity_mib) << 20) * u64::from(cache.dirty_limit_percent) / 100);
    let of_members = recipe
        .counted_members()
        .into_iter()
        .filter_map(|(count, member)| Some(count as u64 * lost_with_power_bytes(member)?));
    of_this.into_iter().chain(of_members).reduce(|a, b| a + b)
}

/// Whether a FLUSH is answered before what it is for is safe: by a drive that is made to lie, or by a cache with a battery before
/// drives that answer from caches of their own.
pub fn loses_flushed(recipe: &DeviceRecipe) -> bool {
    let here = match &recipe.parts {
        Parts::Ssd(drive) => {
            drive.spec.power_loss.as_ref().is_some_and(|power| power.flush_lies) && answers_early(recipe)
        }
        Parts::Adapter(adapter, behind) => {
            adapter.spec.cache.as_ref().is_some_and(|cache| cache.battery && cache.drive_write_cache)
                && answers_early(behind)
        }
        _ => false,
    };
    here || recipe.counted_members().into_iter().any(|(_, member)| loses_flushed(member))
}

/// Whether it answers writes that a power cut takes. What capacitors for everything feed counts as safe.
fn answers_early(recipe: &DeviceRecipe) -> bool {
    let here = match &recipe.parts {
        Parts::Ssd(drive) => {
            let protects = drive.spec.power_loss.as_ref().map_or(Protection::Nothing, |power| power.protects);
            drive.spec.write_buffer.write_cache && protects != Protection::Everything
        }
        Parts::Disk(disk) => disk.spec.cache.write_back,
        // Drives behind one that makes them write through answer late, and so does its own with a battery.
        Parts::Adapter(adapter, _) => match &adapter.spec.cache {
            Some(cache) if cache.battery && !cache.drive_write_cache => return false,
            Some(cache) => !cache.battery,
            None => false,
        },
        _ => false,
    };
    here || recipe.counted_members().into_iter().any(|(_, member)| answers_early(member))
}

fn report_row(row: &SpecRow) -> ReportRow {
    let (source, estimate) = match &row.origin {
        Origin::Source(text) => (text.clone(), false),
        Origin::Estimate(reason) => (reason.clone(), true),
        Origin::Unstated => ("not stated in the drive file".to_owned(), false),
    };
    ReportRow {
        section: row.section.clone(),
        key: row.heading.clone(),
        value: row.value.trim_matches(['[', ']']).to_owned(),
        unit: row.unit.clone(),
        source,
        estimate,
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_catalog::{array_names, device, drive_names, resolve};

    use super::*;

    #[test]
    fn keys_become_words_and_their_endings_units() {
        let rows = specification(&device("jmf667h-imft-128gb").unwrap());
        let found = |section: &str, key: &str| rows.iter().find(|r| r.section == section && r.key == key).unwrap();
        assert_eq!(found("Die timing", "erase").unit, "ms");
        assert_eq!(found("Flash bus", "speed").unit, "MT/s");
        assert_eq!(found("Garbage collection", "start free superblocks").unit, "");
        assert!(rows.iter().all(|r| !r.value.starts_with('[')));
    }

    #[test]
    fn what_rates_hang_on_are_keys_that_there_are_and_of_a_drive_those_that_are_estimates() {
        let disk = device("spinpoint-f1-1tb").unwrap().rows();
        for key in HANGS_ON {
            let is_of_flash = [ssdlab_ssd::drive_keys(), ssdlab_nand::die_keys()].iter().any(|t| t.key(key).is_some());
            assert!(is_of_flash || disk.iter().any(|row| row.key == key), "{key}");
        }
        let of = |name: &str| hangs_on(&device(name).unwrap());
        assert_eq!(of("jmf667h-toshiba-128gb")[..3], ["reserved blocks", "buffer superpages", "host share"]);
        // How programs differ from die to die, an estimate too, is not how long they take.
        let is_of_programs = |key: &String| key.starts_with("program ");
        let rows = specification(&device("jmf667h-toshiba-128gb").unwrap());
        assert!(rows.iter().any(|row| row.estimate && is_of_programs(&row.key)));
        assert!(!of("jmf667h-toshiba-128gb").iter().any(is_of_programs));
        assert_eq!(of("mtron-pro-7000-32gb"), ["scheme", "merges at once", "write unit"]);
        assert_eq!(of("spinpoint-f1-1tb"), ["average read", "zone sectors per track"]);
    }

    #[test]
    fn a_cache_without_a_battery_says_what_it_answers_for() {
        let of = |text: &str| lost_with_power_bytes(&device(text).unwrap());
        let one = 2048 * (1 << 20) * 90 / 100;
        assert_eq!(of("a-data-trio-arc-1280ml"), Some(one));
        assert_eq!(of("raid0(arc-1280ml(spinpoint-f1-1tb)*2)"), Some(2 * one));
        assert_eq!(of("arc-1280ml(spinpoint-f1-1tb, cache.battery=true)"), None);
        assert_eq!((of("a-data-trio-ich10r"), of("m550-256gb")), (None, None));
    }

    #[test]
    fn a_battery_before_drives_that_answer_early_does_not_keep_a_flush() {
        let of = |text: &str| loses_flushed(&device(text).unwrap());
        let told = |behind: &str, own_caches: bool| {
            of(&format!("arc-1280ml({behind}, cache.battery=true, cache.drive_write_cache={own_caches})"))
        };
        for behind in ["spinpoint-f1-1tb", "raid0(m550-256gb*2)", "raid0(m500dc-480gb, spinpoint-f1-1tb)"] {
            assert!(told(behind, true) && !told(behind, false), "{behind}");
        }
        assert!(!told("m500dc-480gb", true), "capacitors keep what it has answered");
        assert!(!of("arc-1280ml(spinpoint-f1-1tb)"), "without a battery a FLUSH reaches the drives");
        assert!(of("raid0(arc-1280ml(spinpoint-f1-1tb, cache.battery=true)*2)"), "of each member");
    }

    #[test]
    fn a_drive_whose_file_is_silent_about_power_cuts_has_a_row_that_says_what_it_protects() {
        let of = |name: &str| {
            let rows = specification(&device(name).unwrap());
            let found: Vec<ReportRow> = rows.into_iter().filter(|row| row.key == "protects").collect();
            assert_eq!(found.len(), 1, "{name}");
            (found[0].section.clone(), found[0].value.clone(), found[0].estimate)
        };
        assert_eq!(of("a-data-300-32gb"), ("Power loss".into(), "nothing".into(), true));
        assert_eq!(of("m500dc-480gb").1, "everything");
    }

    #[test]
    fn cells_of_four_bits_have_their_name() {
        let drive = device("860-qvo-1tb").unwrap();
        let told = traits(&drive, &specification(&drive), &members(&drive));
        assert!(told.iter().any(|t| t.ends_with("dies of QLC")), "{told:?}");
    }

    #[test]
    fn a_set_has_the_parameters_of_its_members_each_kind_once() {
        let of = |name: &str| {
            let recipe = device(name).unwrap();
            (traits(&recipe, &specification(&recipe), &members(&recipe)).pop().unwrap(), hangs_on(&recipe))
        };
        let ((one, hangs), (set, of_set)) = (of("m600-256gb"), of("raid0(m600-256gb*2)"));
        let counts = |told: &str| -> Vec<usize> { told.split(' ').filter_map(|word| word.parse().ok()).collect() };
        assert_eq!(counts(&set)[0], counts(&one)[0], "{set}");
        assert!(counts(&set)[1] > counts(&one)[1] && counts(&set)[1] < counts(&one)[1] + 10, "{set}");
        assert_eq!(of_set, hangs);
    }

    #[test]
    fn no_drive_shows_a_raw_key() {
        for name in drive_names() {
            let drive = resolve(name).unwrap();
            let rows = specification(&device(name).unwrap());
            let unsaid = usize::from(drive.spec.power_loss.is_none());
            assert_eq!(
                rows.len() + 2,
                drive.rows.len() + drive.die.rows.len() + unsaid,
                "{name}: only descriptions are left out"
            );
            for row in rows {
                for words in [&row.section, &row.key] {
                    assert!(!words.is_empty() && !words.contains(['_', '.']), "{name}: `{words}` is no heading");
                }
                assert!(row.section.starts_with(char::is_uppercase), "{name}: `{}` is no heading", row.section);
            }
        }
    }

    #[test]
    fn an_array_has_its_own_values_and_those_of_each_kind_of_member() {
        for name in array_names() {
            let recipe = device(name).unwrap();
            assert!(!specification(&recipe).is_empty() && !members(&recipe).is_empty(), "{name}");
        }
        let recipe = device("raid0(raid0(ideal-32die*2), ideal-32die)").unwrap();
        let found = members(&recipe);
        let names: Vec<(usize, &str)> = found.iter().map(|m| (m.count, m.name.as_str())).collect();
        assert_eq!(names, [(1, "raid0(ideal-32die*2)"), (1, "ideal-32die")]);
        assert_eq!(found[0].members[0].count, 2);
        assert_eq!(found[0].members[0].specification, found[1].specification);
        assert!(specification(&recipe).iter().any(|row| row.key == "stripe" && row.value == "128"));
    }
}
