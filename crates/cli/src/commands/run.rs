//! `ssdlab run`: a fio job file on a drive.

use serde_json::json;
use ssdlab_bench::{Lab as _, Monitor, explain};
use ssdlab_device::Device as _;
use ssdlab_workload::fio::JobFile;

use crate::args::{OutputFormat, RunArgs};
use crate::failure::Failure;
use crate::fio;
use crate::lab::SimulatedDrive;
use crate::output::{print, print_json};
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let file = JobFile::open(&args.job).map_err(|e| Failure::BadInput(fio::diagnostic(&e)))?;
    let drive = SimulatedDrive::new(&args.device, args.seed)?;
    let mut device = drive.fresh(args.seed).map_err(Failure::run)?;
    for notice in file.notices() {
        eprintln!("notice: {notice}");
    }
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let report = |done: f64| bar.set(done);
    let reports = fio::run(&file, &mut device, args.seed, &Monitor::new(&report, &CANCEL))?;
    drop(bar);
    if args.output_format == OutputFormat::Normal {
        return print(&fio::normal(&reports));
    }
    let mut document = fio::json(&file, &reports);
    let ours = &mut document["ssdlab"];
    ours["version"] = json!(env!("CARGO_PKG_VERSION"));
    ours["seed"] = json!(args.seed);
    ours["device"] = json!(drive.reviewed.facts);
    ours["waf"] = json!(device.counters().waf());
    let where_the_time_went: Vec<_> = reports
        .iter()
        .map(|r| {
            json!({
                "jobname": r.name,
                "time_shares": explain::time_shares(&r.name, &r.all),
                "slowest": explain::slowest(&r.all),
            })
        })
        .collect();
    ours["jobs"] = json!(where_the_time_went);
    print_json(&document)
}
