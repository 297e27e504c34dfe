//! `ssdlab claims`: published figures beside simulated ones.

use serde_json::json;
use ssdlab_bench::plan::PlanJob;
use ssdlab_bench::suite::find_test;
use ssdlab_catalog::claims::{self, Claim, ClaimRow, ClaimState};
use ssdlab_catalog::{array_names, disk_names, drive_names};

use crate::args::ClaimsArgs;
use crate::failure::Failure;
use crate::lab::{SimulatedDrive, drives};
use crate::output::{print, print_json, table};
use crate::plan::{self, param_failure};

pub fn run(args: &ClaimsArgs) -> Result<(), Failure> {
    let (seed, quick) = (args.common.seed, args.common.quick);
    let claims = claims::all();
    let names = if args.devices.is_empty() { published_drives(&claims) } else { args.devices.clone() };
    let drives = drives(&names, seed)?;
    let devices: Vec<&str> = drives.iter().map(SimulatedDrive::device).collect();
    for device in &devices {
        if !claims.iter().any(|claim| claim.concerns(device)) {
            return Err(Failure::bad_input(format!("the catalog has no published figures about {device}"))
                .help(format!("there are some about {}", published_drives(&claims).join(", "))));
        }
    }
    let jobs = needed_jobs(&claims, &devices)?;
    let mut results = plan::run(&drives, &jobs, args.threads, seed, quick)?;
    let mut judged = devices;
    if args.devices.is_empty() {
        judged.extend(claims::missing_drives(&claims));
    }
    let rows = claims::evaluate(&claims, &judged, &std::mem::take(&mut results.outcomes));
    if args.json {
        print_json(&json!({
            "schema": "ssdlab.claims/1",
            "version": env!("CARGO_PKG_VERSION"),
            "seed": seed,
            "quick": quick,
            "claims": rows,
        }))?;
    } else {
        print(&text(&rows))?;
    }
    results.conclude()?;
    let unexplained = rows.iter().filter(|row| row.is_unexplained_miss()).count();
    if args.strict && unexplained > 0 {
        return Err(Failure::run(format!("{unexplained} published figure(s) missed for no known reason")));
    }
    Ok(())
}

/// Every device that something was published about: drives and arrays in the catalog's order, then device expressions.
fn published_drives(claims: &[Claim]) -> Vec<String> {
    let named = drive_names().chain(disk_names()).chain(array_names());
    let mut devices: Vec<String> =
        named.filter(|name| claims.iter().any(|c| c.concerns(name))).map(str::to_owned).collect();
    for expression in claims.iter().flat_map(Claim::drives).filter(|name| name.contains('(')) {
        if !devices.iter().any(|known| known == expression) {
            devices.push(expression.to_owned());
        }
    }
    devices
}

/// Exactly the tests that the claims need.
fn needed_jobs(claims: &[Claim], devices: &[&str]) -> Result<Vec<PlanJob>, Failure> {
    claims::needed(claims, devices)
        .into_iter()
        .map(|run| {
            let lab = devices.iter().position(|d| *d == run.device).unwrap_or_default();
            let test = find_test(&run.test).map_err(param_failure)?;
            Ok(PlanJob { lab, test, variant: String::new(), settings: run.settings.into_iter().collect() })
        })
        .collect()
}

fn text(rows: &[ClaimRow]) -> String {
    let judged = |state: ClaimState| rows.iter().filter(move |row| row.state == state);
    let mut lines =
        vec![["state", "id", "drive", "what", "published", "here", "allowed", "why"].map(str::to_owned).to_vec()];
    for state in [ClaimState::Missed, ClaimState::Met, ClaimState::NotRun] {
        lines.extend(judged(state).map(|row| {
            vec![
                row.state.word().to_owned(),
                row.id.clone(),
                row.device.clone(),
                row.quantity.clone(),
                row.published.clone(),
                row.ours_text.clone(),
                row.tolerance.clone(),
                row.reason.clone(),
            ]
        }));
    }
    let mut text = table(&lines);
    if judged(ClaimState::NotSimulated).next().is_some() {
        text.push_str("\nNot simulated:\n");
        let rows: Vec<Vec<String>> = judged(ClaimState::NotSimulated)
            .map(|row| {
                vec![
                    format!("  {}", row.id),
                    row.device.clone(),
                    format!("{}: {}", row.quantity, row.published),
                    row.reason.clone(),
                ]
            })
            .collect();
        text.push_str(&table(&rows));
    }
    text.push_str(&format!(
        "\n{} met, {} missed ({} of them for a known reason), {} not run, {} not simulated\n",
        judged(ClaimState::Met).count(),
        judged(ClaimState::Missed).count(),
        judged(ClaimState::Missed).filter(|row| row.known_miss).count(),
        judged(ClaimState::NotRun).count(),
        judged(ClaimState::NotSimulated).count(),
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_that_a_claim_needs_exists_and_takes_its_parameters() {
        let claims = claims::all();
        let mut devices: Vec<&str> = drive_names().chain(disk_names()).chain(array_names()).collect();
        devices.extend(claims::missing_drives(&claims));
        let jobs = needed_jobs(&claims, &devices).unwrap_or_else(|e| panic!("{e}"));
        assert!(jobs.len() > 20);
        for job in &jobs {
            job.check(false).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
