//! Job files on drives that cannot take what they send.

use ssdlab_bench::Monitor;
use ssdlab_bench::fio_run::{FioOptions, Prefill, run_file};
use ssdlab_workload::fio::JobFile;

use crate::replay::Other;

/// A drive that fails the test if it is sent what it refuses, and what comes of a job file on it.
fn run(lab: &Other, prefill: Prefill, text: &str) -> Result<(), String> {
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let options = FioOptions { prefill, ..FioOptions::default() };
    run_file(&file, lab, options, &Monitor::silent()).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn a_drive_that_may_only_be_read_is_sent_nothing_of_jobs_that_write() {
    let lab = Other(|info| info.read_only = true);
    let reads = "[r]\nrw=randread\nsize=1m\n";
    for (later, told) in [
        ("rw=write", Err("write: the device may only be read")),
        ("rw=randrw\nrwmixread=99", Err("write: the device may only be read")),
        ("rw=randrw\nrwmixread=100", Ok(())),
        ("rw=write\nverify=crc32c\nverify_only", Ok(())),
    ] {
        let text = format!("{reads}[later]\nstonewall\nsize=1m\n{later}\n");
        assert_eq!(run(&lab, Prefill::Nothing, &text), told.map_err(str::to_owned), "{later}");
    }
    let lab = Other(|info| (info.read_only, info.supports_trim) = (true, true));
    let trims = format!("{reads}[t]\nstonewall\nrw=randtrim\nsize=1m\n");
    assert_eq!(run(&lab, Prefill::Nothing, &trims), Err("trim: the device may only be read".to_owned()));
}

#[test]
fn blocks_that_are_no_whole_sectors_of_the_drive_are_refused_before_it_is_filled() {
    let lab = Other(|info| info.sector_bytes = 4096);
    let small = Err("job `s` sends 512 bytes at once, and other takes multiples of 4096 bytes".to_owned());
    for (sizes, told) in [
        ("bs=4k", Ok(())),
        ("bs=512", small.clone()),
        ("bsrange=512-4k", small.clone()),
        ("bssplit=512/50:4k/50", small),
        // Of writes, which there are none of.
        ("bs=4k,512", Ok(())),
    ] {
        let text = format!("[r]\nrw=read\nsize=1m\n[s]\nstonewall\nrw=randread\nsize=1m\n{sizes}\n");
        assert_eq!(run(&lab, Prefill::Read, &text), told, "{sizes}");
    }
}
