//! The specification of a drive as the report shows it: sections, words for keys, units, sources.

use ssdlab_catalog::{Drive, Origin, SpecRow};
use ssdlab_report::SpecRow as ReportRow;

const SECTIONS: &[(&str, &str)] = &[
    ("", "Drive"),
    ("flash", "Flash"),
    ("link", "Host link"),
    ("controller", "Controller"),
    ("write_buffer", "Write buffer"),
    ("mapping", "Mapping"),
    ("gc", "Garbage collection"),
    ("wear_levelling", "Wear levelling"),
    ("geometry", "Die geometry"),
    ("timing", "Die timing"),
    ("bus", "Flash bus"),
    ("wear", "Die wear"),
    ("modes.slc", "Die as pseudo-SLC"),
    ("modes.mlc", "Die at two bits a cell"),
    ("power", "Die power"),
];

/// Endings of keys that are units, with the unit as printed.
const UNITS: &[(&str, &str)] = &[
    ("_bytes", "B"),
    ("_kib", "KiB"),
    ("_mib", "MiB"),
    ("_us", "µs"),
    ("_ms", "ms"),
    ("_ma", "mA"),
    ("_v", "V"),
    ("_per_1000", "‰"),
    ("_per_10000", "per 10,000"),
    ("mega_transfers_per_s", "MT/s"),
];

/// Every value of the drive file, then of its die file. Descriptions are left out: they are the title.
pub fn specification(drive: &Drive) -> Vec<ReportRow> {
    drive.rows.iter().chain(&drive.die.rows).filter(|row| row.key != "description").map(report_row).collect()
}

fn report_row(row: &SpecRow) -> ReportRow {
    let (section, key) = row.key.rsplit_once('.').unwrap_or(("", &row.key));
    let heading = SECTIONS.iter().find(|(name, _)| *name == section);
    let (source, estimate) = match &row.origin {
        Origin::Source(text) => (text.clone(), false),
        Origin::Estimate(reason) => (reason.clone(), true),
        Origin::Unstated => ("not stated in the drive file".to_owned(), false),
    };
    let unit = UNITS.iter().find(|(ending, _)| key.ends_with(ending));
    let name = match unit {
        Some((ending, _)) if key != *ending => key.trim_end_matches(ending),
        _ => key,
    };
    ReportRow {
        section: heading.map_or(section, |(_, words)| words).to_owned(),
        key: name.replace('_', " "),
        value: row.value.trim_matches(['[', ']']).to_owned(),
        unit: unit.map_or("", |(_, unit)| unit).to_owned(),
        source,
        estimate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_words_and_their_endings_units() {
        let row = |key: &str, value: &str| {
            report_row(&SpecRow { key: key.into(), value: value.into(), origin: Origin::Estimate("because".into()) })
        };
        let read = row("timing.read_us", "[60.0, 90.0]");
        assert_eq!(
            (read.section.as_str(), read.key.as_str(), read.value.as_str(), read.unit.as_str()),
            ("Die timing", "read", "60.0, 90.0", "µs")
        );
        assert!(read.estimate && read.source == "because");
        let bus = row("bus.mega_transfers_per_s", "333.0");
        assert_eq!((bus.key.as_str(), bus.unit.as_str()), ("mega transfers per s", "MT/s"));
    }

    #[test]
    fn every_section_of_a_drive_has_a_heading() {
        let drive = ssdlab_catalog::resolve("jmf667h-imft-128gb").unwrap();
        for row in specification(&drive) {
            assert!(SECTIONS.iter().any(|(_, heading)| *heading == row.section), "{}", row.section);
        }
    }
}
