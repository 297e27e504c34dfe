//! Against fio itself: its own examples run, and what ssdlab calls unknown, fio does not know either. `make fio` installs
//! what these tests need.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ssdlab_workload::fio::option_table;

/// Of 6 GB: whole drives are soon read and written.
const DRIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cmd/endurance.in/small.toml");
/// Where Debian's `fio-examples` puts them.
const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// Examples that do not concern a plain block device, and the word of the error that says so.
const OTHERS: &[(&str, &str)] = &[
    ("cpp_null", "nothing"),
    ("cpuio", "processor"),
    ("dev-dax", "memory"),
    ("dfs", "object store"),
    ("e4defrag", "file system"),
    ("e4defrag2", "file system"),
    ("exec", "program"),
    ("falloc", "file system"),
    ("filecreate-ioengine", "files"),
    ("filedelete-ioengine", "files"),
    ("filestat-ioengine", "files"),
    ("ftruncate", "files"),
    ("gfapi", "file server"),
    ("gpudirect-rdmaio-client", "network"),
    ("gpudirect-rdmaio-server", "network"),
    ("http-s3", "object store"),
    ("http-s3-crypto", "object store"),
    ("http-s3-storage-class", "object store"),
    ("http-swift", "object store"),
    ("http-webdav", "object store"),
    ("ime", "file server"),
    ("libcufile-cufile", "graphics card"),
    ("libcufile-posix", "graphics card"),
    ("libhdfs", "file server"),
    ("libpmem", "memory"),
    ("librpma_apm-client", "memory"),
    ("librpma_apm-server", "memory"),
    ("librpma_gpspm-client", "memory"),
    ("librpma_gpspm-server", "memory"),
    ("libzbc-rand-write", "zoned drives"),
    ("libzbc-seq-read", "zoned drives"),
    ("mtd", "raw flash"),
    ("netio", "network"),
    ("netio_multicast", "network"),
    ("nfs", "ioengine=nfs"),
    ("null", "nothing"),
    ("pmemblk", "memory"),
    ("rados", "object store"),
    ("rdmaio-client", "network"),
    ("rdmaio-server", "network"),
    ("sg_verify", "SCSI commands"),
    ("sg_verify-fail", "SCSI commands"),
    ("sg_write_same_ndob", "SCSI commands"),
    ("uring-cmd-zoned", "zoned drives"),
    ("xnvme-zoned", "zoned drives"),
    ("zbd-rand-write", "zoned drives"),
    ("zbd-seq-read", "zoned drives"),
    ("zipf", "nothing"),
];

/// Values of the variables in the examples.
const VARIABLES: [&str; 4] = ["unixsocket=/run/nbd", "FIO_RW=randread", "FIO_IODEPTH=4", "FIO_BS=8k"];

fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(EXAMPLES).unwrap_or_else(|e| panic!("{EXAMPLES}: {e}; `make fio` installs it"));
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "fio"));
    files.sort();
    assert!(files.len() > 70, "{} examples", files.len());
    files
}

/// The example, with less to do: sizes and times are cut, the pattern stays.
fn shortened(example: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(example).unwrap()).into_owned();
    let timed = text.lines().any(|l| l.starts_with("runtime") || l.starts_with("timeout"));
    let lines = text.lines().map(|line| {
        if !timed && line.trim_start().starts_with('[') {
            return format!("{line}\nruntime=200ms");
        }
        let (key, value) = line.split_once('=').map_or((line.trim(), ""), |(k, v)| (k.trim(), v.trim()));
        let value = value.split([';', '#']).next().unwrap_or("").trim();
        match key {
            "runtime" | "timeout" => format!("{key}=200ms"),
            "ramp_time" => "ramp_time=50ms".to_owned(),
            "startdelay" => format!("startdelay={value}ms"),
            // 120 GB at distances of 124 GB: the same in MB.
            "size" | "io_size" | "filesize" | "offset" | "offset_increment" | "zonesize" | "zoneskip" => {
                let lower = value.to_ascii_lowercase();
                if lower.ends_with('g') { format!("{key}={}m", lower.trim_end_matches('g')) } else { line.to_owned() }
            }
            "loops" => "loops=2".to_owned(),
            "ss_dur" | "ss_ramp" => line.to_owned(),
            _ => line.to_owned(),
        }
    });
    lines.map(|l| l + "\n").collect()
}

#[test]
#[ignore = "needs Debian's fio-examples: `make fio`"]
fn fio_examples_of_plain_block_devices_run_and_the_others_are_refused_with_the_reason() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-examples");
    fs::create_dir_all(&folder).unwrap();
    let (mut ran, mut wrong) = (Vec::new(), Vec::new());
    for example in examples() {
        let stem = example.file_stem().unwrap().to_string_lossy().into_owned();
        let job = folder.join(example.file_name().unwrap());
        let text = shortened(&example);
        fs::write(&job, &text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        command.arg("run").arg(&job).arg(DRIVE).args(["--output-format", "json", "--log-dir"]).arg(&folder);
        let is_written =
            |value: &&&str| text.contains(&format!("${{{}}}", value.split('=').next().unwrap_or_default()));
        for value in VARIABLES.iter().filter(is_written) {
            command.args(["--var", value]);
        }
        command.arg("--force");
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        match OTHERS.iter().find(|o| o.0 == stem) {
            Some((_, why)) if output.status.code() == Some(2) && message.contains(why) => {}
            None if output.status.success() => {
                let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                let ios = |job: &serde_json::Value| {
                    ["read", "write", "trim"].iter().map(|d| job[d]["total_ios"].as_u64().unwrap_or(0)).sum::<u64>()
                };
                assert!(document["jobs"].as_array().unwrap().iter().map(ios).sum::<u64>() > 0, "{stem}");
                ran.push(stem);
            }
            _ => wrong.push(format!("{stem}: {:?}: {message}", output.status.code())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran.len() >= 35, "{} ran: {ran:?}", ran.len());
}

#[test]
#[ignore = "needs fio: `make fio`"]
fn every_option_of_fio_is_known() {
    let fio = |args: &[&str]| {
        let output = Command::new("fio").args(args).output().expect("fio is installed: `make fio`");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let names = |text: &str| -> BTreeSet<String> {
        let option = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
        text.lines().filter_map(option).filter(|n| !n.is_empty() && !n.contains(' ')).collect()
    };
    let mut known_to_fio = names(&fio(&["--cmdhelp=all"]));
    for engine in fio(&["--enghelp"]).lines().skip(1) {
        known_to_fio.extend(names(&fio(&[&format!("--enghelp={}", engine.trim())])));
    }
    for name in known_to_fio.clone() {
        let help = fio(&[&format!("--cmdhelp={name}")]);
        let alias = help.lines().find_map(|l| l.trim().strip_prefix("alias:").map(|a| a.trim().to_owned()));
        known_to_fio.extend(alias);
    }
    assert!(known_to_fio.len() > 220, "{}", known_to_fio.len());
    let ours: BTreeSet<String> = option_table()
        .flat_map(|o| std::iter::once(o.name).chain(o.aliases.iter().copied()))
        .map(str::to_owned)
        .collect();
    let missing: Vec<&String> = known_to_fio.difference(&ours).collect();
    assert!(missing.is_empty(), "fio knows {missing:?}");
}

/// Jobs that send the same number of reads, writes, trims and flushes here and there. `null` where a file knows no trims.
const SAME_COUNTS: &[&str] = &[
    "rw=write bs=4k size=1m",
    "rw=write bs=4k filesize=1m size=50%",
    "rw=write bs=4k filesize=16m offset=8m",
    "rw=write bs=4k filesize=1m size=3m",
    "rw=write bs=4k filesize=1m io_size=3m",
    "rw=write bs=4k filesize=16m size=50% offset=12m",
    "rw=randread bs=4k size=4m zonemode=strided zonesize=64k zonerange=1m",
    "rw=write bs=4k size=4m zonemode=strided zonesize=64k zoneskip=64k",
    "rw=randread bs=4k size=4m zonemode=strided zonesize=64k zonerange=64k zoneskip=64k io_size=8m",
    "rw=write bsrange=8k-8k bs=4k size=1m",
    "rw=randwrite bs=4k size=1m verify=crc32c",
    "rw=randwrite bs=4k size=1m io_size=256k loops=3 verify=crc32c",
    "rw=randwrite bs=4k size=1m io_size=768k loops=2 verify=crc32c",
    "rw=write:8k bs=4k size=1m",
    "rw=write:8k bs=4k size=1m loops=2",
    "rw=write:8k bs=4k size=1020k",
    "rw=write:8k bs=4k size=1012k",
    "rw=write:8k bs=4k size=1m io_size=2m",
    "rw=read:-8k bs=4k size=1m",
    "rw=write:12k bs=4k size=32k",
    "rw=write:8k bs=4k size=1020k io_size=2m",
    "rw=randread bs=4k filesize=16m size=1m loops=2",
    "rw=randwrite bs=4k filesize=16m size=1m io_size=3m",
    "rw=write:8k bs=4k filesize=16m size=4m loops=2",
    "rw=write:8k bs=4k filesize=16m size=8m offset=4m",
    "rw=write:8k bs=4k size=1m io_size=512k loops=2",
    "rw=write bs=4k size=1m fsync=4",
    "rw=write bs=4k size=1m fsync=5",
    "rw=write bs=4k size=1m fsync=4 fdatasync=8",
    "rw=write bs=4k size=1m number_ios=100 loops=3",
    "rw=randwrite bs=4k ba=8k size=16m",
    "rw=randwrite bs=4k size=8m loops=2",
    "ioengine=null rw=trimwrite bs=4k size=1m",
    "ioengine=null rw=trimwrite bs=4k size=1m number_ios=100",
    "ioengine=null rw=randtrimwrite bs=4k size=16m io_size=8m",
    "ioengine=null rw=randtrim bs=4k size=1m",
    "ioengine=null rw=trimwrite bs=4k size=256k io_size=768k loops=2",
    "ioengine=null rw=randtrimwrite bs=4k size=256k io_size=300k",
    "ioengine=null rw=randtrimwrite:2 bs=4k size=256k io_size=1m",
    "ioengine=null rw=randtrimwrite bs=4k size=256k io_size=1m random_distribution=zipf:1.2",
    "rw=write bs=4k size=256k verify=md5 do_verify=0 io_size=2m",
    "rw=randread:0 bs=4k size=256k loops=2",
    "rw=write bs=48k size=12m zonemode=strided zonesize=1m zoneskip=1m",
    "rw=write bs=4k size=256k verify=null",
    "rw=write bs=4k size=64k fsync=4 verify=md5",
    "rw=write bs=4k size=1m number_ios=0 loops=0 io_size=0% thinktime_blocks=0 flow=0 zonesize=0",
];

/// The same, nearly: sizes, times or an order are drawn.
const LIKE_COUNTS: &[&str] = &[
    "rw=rw:8k bs=4k size=1m loops=2",
    "rw=randwrite bsrange=4k-16k size=16m",
    "rw=write bsrange=4k-64k size=64m loops=2",
    "rw=randwrite bssplit=4k/50:16k/50 size=16m",
    "rw=randwrite bsrange=4k-10k norandommap size=16m",
    "rw=randwrite bsrange=4k-64k size=64m rate_iops=2000 runtime=2 time_based",
    "rw=randwrite bssplit=4k/50:64k/50 size=64m rate_iops=2000 runtime=2 time_based",
    "rw=randread bs=4k size=64m rate_iops=1000 number_ios=5 runtime=1 time_based",
    "rw=randread bs=4k size=64m rate_iops=100 thinktime=200ms thinktime_blocks=10 rate_ignore_thinktime=1 runtime=2 time_based",
    "rw=randread bs=4k size=64m rate_iops=100 thinktime=200ms thinktime_blocks=10 runtime=2 time_based",
    "rw=randread bs=4k size=64m rate=800k rate_process=poisson runtime=4 time_based",
    "ioengine=libaio iodepth=4 rw=randread bs=4k size=64m thinktime=100ms thinktime_blocks=10 runtime=2 time_based",
];

/// Of the first job of a JSON report: reads, writes, trims and flushes.
fn counts(report: &[u8]) -> [u64; 4] {
    // fio may say something before it.
    let text = String::from_utf8_lossy(report);
    let document: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).unwrap();
    ["read", "write", "trim", "sync"].map(|d| document["jobs"][0][d]["total_ios"].as_u64().unwrap_or(0))
}

#[test]
#[ignore = "needs fio: `make fio`"]
fn a_job_sends_as_much_as_with_fio() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-counts");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("file");
    let both = |options: &str| {
        let job = folder.join("job.fio");
        fs::write(&job, format!("[j]\n{}\n", options.replace(' ', "\n"))).unwrap();
        // Longer than any span, as a drive is.
        let _ = fs::remove_file(&file);
        fs::File::create(&file).and_then(|file| file.set_len(128 << 20)).unwrap();
        let json = ["--output-format", "json"];
        let theirs = Command::new("fio")
            .current_dir(&folder)
            .arg(&job)
            .arg(format!("--filename={}", file.display()))
            .args(json)
            .output();
        // Here there is no device that does nothing.
        fs::write(&job, format!("[j]\n{}\n", options.replace("ioengine=null ", "").replace(' ', "\n"))).unwrap();
        let ours =
            Command::new(env!("CARGO_BIN_EXE_ssdlab")).arg("run").arg(&job).arg(DRIVE).args(json).output().unwrap();
        assert!(ours.status.success(), "{options}: {}", String::from_utf8_lossy(&ours.stderr));
        (counts(&ours.stdout), counts(&theirs.expect("fio is installed: `make fio`").stdout))
    };
    let mut wrong = Vec::new();
    for options in SAME_COUNTS {
        let (ours, theirs) = both(options);
        if ours != theirs {
            wrong.push(format!("{options}: {ours:?}, fio {theirs:?}"));
        }
    }
    for options in LIKE_COUNTS {
        let (ours, theirs) = both(options);
        let near = |(a, b): (&u64, &u64)| a.abs_diff(*b) as f64 <= 0.1 * (*a).max(*b) as f64;
        if !ours.iter().zip(&theirs).all(near) {
            wrong.push(format!("{options}: {ours:?}, fio {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether each pass of a job of four over 256 blocks is the first one again: here and with fio, by their latency logs.
#[test]
#[ignore = "needs fio: `make fio`"]
fn passes_repeat_where_they_do_with_fio() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-passes");
    let offsets = |name: &str, mut command: Command| {
        let log = folder.join(format!("{name}_clat.1.log"));
        let _ = fs::remove_file(&log);
        let output = command.current_dir(&folder).output().expect("fio is installed: `make fio`");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(&log).unwrap();
        let offset = |line: &str| line.split(',').nth(4).unwrap().trim().parse::<u64>().unwrap();
        text.lines().map(offset).collect::<Vec<_>>()
    };
    fs::create_dir_all(&folder).unwrap();
    let mut wrong = Vec::new();
    for options in [
        "rw=randwrite loops=4",
        "rw=randread loops=4",
        "rw=randrw loops=4",
        "rw=randwrite io_size=4m",
        "rw=randwrite loops=4 randrepeat=0",
        "rw=randwrite loops=4 randseed=7",
        "rw=randwrite io_size=4m randrepeat=0",
        "rw=randwrite loops=4 norandommap",
        "rw=randread time_based runtime=2 rate_iops=600",
    ] {
        let job = folder.join("job.fio");
        let common = "bs=4k\nsize=1m\nlog_offset=1\nwrite_lat_log";
        let text = |log: &str| format!("[j]\n{}\n{common}={log}\n", options.replace(' ', "\n"));
        fs::write(&job, text("theirs")).unwrap();
        let mut fio = Command::new("fio");
        fio.arg(&job).arg("--filename=file").arg("--output-format=json");
        let theirs = offsets("theirs", fio);
        fs::write(&job, text("ours")).unwrap();
        let mut ssdlab = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        ssdlab.arg("run").arg(&job).arg(DRIVE).arg("--log-dir").arg(&folder).arg("--force");
        let ours = offsets("ours", ssdlab);
        let again = |all: &[u64]| all.chunks(256).take(4).map(|pass| pass == &all[..256]).collect::<Vec<_>>();
        if again(&ours) != again(&theirs) || ours.len() < 1024 || theirs.len() < 1024 {
            wrong.push(format!("{options}: {:?}, fio {:?}", again(&ours), again(&theirs)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
