//! The specification of a drive as the report shows it.

use ssdlab_catalog::{Drive, Origin, SpecRow};
use ssdlab_report::SpecRow as ReportRow;

/// Every value of the drive file, then of its die file. Descriptions are left out: they are the title.
pub fn specification(drive: &Drive) -> Vec<ReportRow> {
    drive.rows.iter().chain(&drive.die.rows).filter(|row| row.key != "description").map(report_row).collect()
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
    use ssdlab_catalog::{drive_names, resolve};

    use super::*;

    #[test]
    fn keys_become_words_and_their_endings_units() {
        let rows = specification(&resolve("jmf667h-imft-128gb").unwrap());
        let found = |section: &str, key: &str| rows.iter().find(|r| r.section == section && r.key == key).unwrap();
        assert_eq!(found("Die timing", "erase").unit, "ms");
        assert_eq!(found("Flash bus", "speed").unit, "MT/s");
        assert_eq!(found("Garbage collection", "start free superblocks").unit, "");
        assert!(rows.iter().all(|r| !r.value.starts_with('[')));
    }

    #[test]
    fn no_drive_shows_a_raw_key() {
        for name in drive_names() {
            let drive = resolve(name).unwrap();
            let rows = specification(&drive);
            assert_eq!(
                rows.len() + 2,
                drive.rows.len() + drive.die.rows.len(),
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
}
