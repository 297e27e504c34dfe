use std::sync::atomic::AtomicBool;

use serde_json::Value;
use ssdlab_core::{MICROSECOND, MILLISECOND, Nanos, Op, SECOND};
use ssdlab_device::{Completion, Device};
use ssdlab_workload::{Command, Source};

use super::meter::EntryMeter;
use super::task::{Step, Task};
use super::*;
use crate::model::{ModelDevice, ModelSpec};

/// 8 ways: reads of 100 us, writes of 20 us into a cache that empties at 100 MB/s.
fn run(text: &str) -> FioReport {
    try_run(text, FioOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn try_run(text: &str, options: FioOptions) -> Result<FioReport, FioError> {
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    run_file(&file, &ModelSpec::default(), options, &Monitor::silent())
}

/// Runs all stages and returns the meters, which know more than the report.
fn entries(text: &str) -> Vec<EntryMeter> {
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let (mut device, monitor) = (ModelDevice::new(ModelSpec::default()), Monitor::silent());
    let plan = Plan::new(&file, device.info().capacity_bytes, 1).unwrap_or_else(|e| panic!("{e}"));
    let mut entries = plan.entries();
    let mut host = Host::new(&mut device, &monitor);
    for stage in plan.stages {
        engine::run(&mut host, stage, &mut entries, &mut [], &mut AllLogs::new(&no_jobs(), &mut NoLogs))
            .unwrap_or_else(|e| panic!("{e}"));
    }
    entries
}

/// For runs that log nothing.
fn no_jobs() -> JobFile {
    JobFile::parse("none.fio", "[none]").unwrap_or_else(|e| panic!("{e}"))
}

struct List(std::vec::IntoIter<Command>);

impl Source for List {
    fn next(&mut self) -> Option<Command> {
        self.0.next()
    }
}

/// Runs these commands of one job, and returns their completions in the order of sending.
fn completions(ops: &[Op], depth: u32, change: impl FnOnce(&mut Task<List>)) -> Vec<Completion> {
    let command = |(i, &op): (usize, &Op)| match op {
        Op::Flush => Command::FLUSH,
        _ => Command { op, offset_bytes: i as u64 * 4096, length_bytes: 4096, fua: false },
    };
    let commands: Vec<Command> = ops.iter().enumerate().map(command).collect();
    let mut task = Task::new(List(commands.into_iter()), 0, depth);
    change(&mut task);
    let (mut device, monitor) = (ModelDevice::new(ModelSpec::default()), Monitor::silent());
    let mut entries = [EntryMeter::new(vec![(0, 1)], 0, depth, 1)];
    engine::run(
        &mut Host::new(&mut device, &monitor),
        vec![task],
        &mut entries,
        &mut [],
        &mut AllLogs::new(&no_jobs(), &mut NoLogs),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    // So few are all among the slowest.
    let mut all = entries[0].all.slowest().to_vec();
    all.sort_by_key(|c| c.tag);
    all
}

fn sent(completions: &[Completion]) -> Vec<Nanos> {
    completions.iter().map(|c| c.submitted / MICROSECOND).collect()
}

#[test]
fn a_flush_waits_for_nothing_and_holds_back_what_follows_until_it_has_completed() {
    let c = completions(&[Op::Write, Op::Flush, Op::Write, Op::Read], 8, |_| {});
    // The flush ends when 4 KiB have drained at 100 MB/s.
    assert_eq!((c[1].op, c[1].submitted, c[1].completed), (Op::Flush, 0, 40_960));
    assert_eq!((c[2].submitted, c[3].submitted), (40_960, 40_960));
}

#[test]
fn think_time_begins_when_everything_in_flight_has_completed() {
    let think = |after| {
        move |t: &mut Task<List>| {
            t.think = 500 * MICROSECOND;
            t.think_after = after;
        }
    };
    assert_eq!(sent(&completions(&[Op::Read; 3], 1, think(1))), [0, 600, 1200]);
    assert_eq!(sent(&completions(&[Op::Read; 5], 1, think(2))), [0, 100, 700, 800, 1400]);
    // Four at once complete together, and pause together; three of them count for the next pause, which the fifth begins.
    assert_eq!(sent(&completions(&[Op::Read; 6], 4, think(1))), [0, 0, 0, 0, 600, 1200]);
}

#[test]
fn think_time_sets_the_rate_of_a_job() {
    let report = run("[j]\nrw=randread\nnorandommap\nthinktime=600\nthinktime_blocks=4\ntime_based\nruntime=1");
    assert_eq!(report.jobs[0].reads().iops, 4000.0);
}

#[test]
fn rates_are_kept_by_count_and_by_bytes_and_for_each_operation() {
    let base = "[j]\nbs=4k\nnorandommap\ntime_based\nruntime=2\nioengine=libaio\niodepth=4\n";
    let by_count = run(&format!("{base}rw=randread\nrate_iops=500"));
    assert_eq!(by_count.jobs[0].reads().total_ios, 1000);
    assert_eq!((by_count.jobs[0].reads().iops_min, by_count.jobs[0].reads().iops_max), (500, 500));
    assert_eq!(by_count.jobs[0].reads().runtime, 2000);
    let by_bytes = run(&format!("{base}rw=randread\nrate=1m"));
    assert_eq!(by_bytes.jobs[0].reads().total_ios, 512);
    // The mix rules: the direction that is slower for its share holds back the other.
    let mixed = run(&format!("{base}rw=randrw\nrwmixread=50\nrate_iops=1000,100"));
    let job = &mixed.jobs[0];
    assert!((195..=201).contains(&job.writes().total_ios), "{}", job.writes().total_ios);
    assert!((150..=250).contains(&job.reads().total_ios), "{}", job.reads().total_ios);
}

#[test]
fn a_start_delay_and_a_ramp_come_before_what_is_measured() {
    let entries = entries(
        "[global]\nrw=randread\nnorandommap\ntime_based\nruntime=1\n[now]\n[later]\nstartdelay=2\n[warm]\nramp_time=3",
    );
    let times: Vec<_> = entries.iter().map(|e| (e.all.began() / SECOND, e.all.elapsed())).collect();
    assert_eq!(times, [(0, SECOND), (2, SECOND), (3, SECOND)]);
    // Three jobs of one place each share eight ways.
    assert!(entries.iter().all(|e| e.all.requests() == 10_000));
}

#[test]
fn a_stonewall_waits_for_every_job_before_it() {
    let e = entries("[global]\nrw=read\nbs=4k\n[a]\nsize=400k\n[b]\nsize=4m\n[c]\nstonewall\nsize=40k");
    let end = |i: usize| e[i].all.began() + e[i].all.elapsed();
    assert_eq!((e[0].all.began(), e[1].all.began()), (0, 0));
    assert!(end(0) < end(1));
    assert_eq!(e[2].all.began(), end(1));
    assert_eq!((e[1].group, e[2].group), (0, 1));
}

#[test]
fn commands_in_flight_at_the_end_of_the_runtime_are_waited_for_and_counted() {
    let e = entries("[j]\nrw=randread\nnorandommap\nioengine=libaio\niodepth=8\ntime_based\nruntime=150us");
    assert_eq!((e[0].all.requests(), e[0].all.elapsed()), (16, 200 * MICROSECOND));
    // An idle job runs to the end of its runtime.
    let e = entries("[j]\nrw=randread\nnorandommap\nrate_iops=1\ntime_based\nruntime=2500ms");
    assert_eq!((e[0].all.requests(), e[0].runtime()), (3, 2500 * MILLISECOND));
}

#[test]
fn flushes_are_counted_apart_among_the_writes_and_at_the_end() {
    let report = run("[j]\nrw=write\nbs=4k\nsize=256k\nfsync=4\nend_fsync=1\nioengine=libaio\niodepth=4");
    let job = &report.jobs[0];
    assert_eq!((job.writes().total_ios, job.sync.total_ios), (64, 15));
    assert_eq!(job.sync.lat_ns.count, 15);
    assert!(report.to_text().contains("  fsync/fdatasync/sync_file_range:\n    sync "));
    // Nothing was written: nothing to flush.
    assert_eq!(run("[j]\nrw=read\nsize=256k\nend_fsync=1").jobs[0].sync.total_ios, 0);
}

/// As in fio.
#[test]
fn the_flush_at_the_end_of_a_pass_is_sent_and_takes_time_but_is_not_counted() {
    // Writes of 20 us into a cache that drains at 100 MB/s.
    for options in ["size=2m", "size=2m\nverify=crc32c", "time_based\nsize=4m\nruntime=10ms"] {
        let [plain, flushed] = [0, 1].map(|flush| {
            let entry = entries(&format!("[j]\nrw=write\nbs=4k\nend_fsync={flush}\n{options}")).remove(0);
            assert_eq!(entry.all.op(Op::Flush).latency.count(), 0, "{options}");
            entry.times_of(&[Op::Write]).1 / MILLISECOND
        });
        assert!(plain <= 11 && flushed >= 19, "{options}: {plain} ms, {flushed} ms with a flush");
    }
}

#[test]
fn a_rate_of_less_than_a_command_a_second_is_kept_at_random_times_too() {
    let report = run("[j]\nrw=randread\nbs=64k\nsize=4m\nrate=100\nrate_process=poisson\nruntime=10000\n");
    let reads = report.jobs[0].reads().total_ios;
    assert!((5..30).contains(&reads), "{reads} of about 15");
}

#[test]
fn sizes_loops_and_io_sizes_say_how_much_is_transferred() {
    for (options, kib) in [("size=1m", 1024), ("size=1m\nloops=3", 3072), ("size=1m\nio_size=256k", 256)] {
        let report = run(&format!("[j]\nrw=write\nbs=16k\n{options}"));
        assert_eq!(report.jobs[0].writes().io_kbytes, kib, "{options}");
    }
}

#[test]
fn clones_are_reported_one_by_one_or_as_a_group() {
    let text = |options: &str| {
        format!("[j]\nrw=randread\nnorandommap\nnumjobs=4\ntime_based\nruntime=1\n{options}\n[k]\nnew_group\nsize=4k")
    };
    let apart = run(&text(""));
    assert_eq!(apart.jobs.iter().map(|j| j.groupid).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
    assert!(apart.jobs[..4].iter().all(|j| j.reads().iops == 10_000.0 && j.reads().bw_agg == 25.0));
    let together = run(&text("group_reporting"));
    let job = &together.jobs[0];
    assert_eq!((together.jobs.len(), job.reads().total_ios, job.reads().runtime), (2, 40_000, 1000));
    assert_eq!((job.reads().iops, job.reads().iops_mean, job.reads().iops_samples), (40_000.0, 40_000.0, 2));
    assert!(together.to_text().contains("\nj: (groupid=0, jobs=4): err= 0:"));
}

/// As in fio: the mean of the samples, of all bytes over the longest time.
#[test]
fn the_share_of_a_group_is_of_its_longest_time() {
    let base = "[global]\nrw=randread\nnorandommap\ntime_based\nrate=1m\n";
    let report = run(&format!("{base}[a]\nruntime=1\n[b]\nruntime=3\n[c]\nstonewall\nruntime=1\n"));
    let shares: Vec<f64> = report.jobs.iter().map(|job| job.reads().bw_agg).collect();
    assert!(
        shares[..2].iter().all(|share| (share - 75.0).abs() < 0.1) && (shares[2] - 100.0).abs() < 0.5,
        "{shares:?}"
    );
    assert!(report.to_text().contains("per=75.0"));
}

#[test]
fn the_line_of_a_group_has_the_rate_of_its_only_job_however_short_the_run() {
    // Four reads of 100 us: the milliseconds that are printed have none of it.
    let text = run("[j]\nrw=read\nbs=4k\nsize=16k\n").to_text();
    let rate = |line: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(line)).unwrap_or_else(|| panic!("{line}: {text}"));
        let from = line.to_lowercase().find("bw=").unwrap() + 3;
        line[from..].split(' ').next().unwrap().to_owned()
    };
    assert_eq!(rate("READ:"), rate("read:"), "{text}");
}

#[test]
fn a_result_of_staggered_jobs_has_the_time_that_its_rates_are_of() {
    let text =
        "[global]\nrw=randread\nnorandommap\ngroup_reporting\ntime_based\nruntime=1\nsize=4m\n[j]\n[k]\nstartdelay=2\n";
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let run = run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent())
        .unwrap_or_else(|e| panic!("{e}"));
    let figure = |key: &str| run.outcomes[0].metrics[key].value;
    let requests = run.report.jobs[0].reads().total_ios as f64;
    assert!(figure("duration") > 2.9, "the second job begins later: {}", figure("duration"));
    assert!((figure("iops") * figure("duration") - requests).abs() < 1.0, "{} {requests}", figure("iops"));
}

#[test]
fn thousands_of_clones_run_side_by_side() {
    let report = run("[j]\nrw=randread\nnorandommap\nnumjobs=4096\ngroup_reporting\ntime_based\nruntime=200ms");
    // Eight ways of 100 us, and what was in flight when the runtime ended; the last eight came at that instant.
    assert_eq!(report.jobs[0].reads().total_ios, 16_000 + 4096 - 8);
}

#[test]
fn a_job_that_does_not_fit_is_refused_with_its_line_before_anything_runs() {
    let e = try_run("[fits]\nsize=4k\n[j]\nrw=read\nsize=65m", FioOptions::default()).err().map(|e| e.to_string());
    let e = e.unwrap_or_default();
    assert!(e.starts_with("test.fio:5: job `j`: size 68157440 bytes from byte 0 reaches beyond the drive"), "{e}");
}

#[test]
fn what_jobs_read_is_written_first_and_nothing_else() {
    let file = "[global]\nbs=4k\n[a]\nrw=read\nsize=8k\n[b]\nrw=randrw\noffset=4k\nsize=8k\n[c]\nrw=randread\noffset=1m\n\
                size=4k\n[d]\nrw=write\noffset=2m\nsize=4k";
    let parsed = JobFile::parse("test.fio", file).unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(&parsed, 64 << 20, 1).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.read_spans(), [(0, 12 << 10), (1 << 20, (1 << 20) + 4096)]);
    let bytes = |prefill| {
        let report = try_run(file, FioOptions { prefill, ..FioOptions::default() });
        report.unwrap_or_else(|e| panic!("{e}")).ssdlab.prefilled_bytes
    };
    assert_eq!(bytes(Prefill::Read), 16 << 10);
    assert_eq!(bytes(Prefill::Drive), ModelSpec::default().capacity_bytes);
    assert_eq!(bytes(Prefill::Nothing), 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    let json = |seed| {
        let text = "[j]\nrw=randwrite\nbssplit=4k/50:64k/50\nsize=32m\nioengine=libaio\niodepth=8";
        let report = try_run(text, FioOptions { seed, ..FioOptions::default() }).unwrap_or_else(|e| panic!("{e}"));
        report.to_json().unwrap_or_else(|e| panic!("{e}"))
    };
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

#[test]
fn a_drive_that_keeps_no_timeline_is_refused_before_it_is_filled() {
    let file = JobFile::parse("test.fio", "[a]\nrw=read\nsize=1m\n").unwrap();
    let options = FioOptions { timeline: true, ..FioOptions::default() };
    // Whoever fills a drive hears of it.
    let cancel = AtomicBool::new(true);
    let error = run_file(&file, &ModelSpec::default(), options, &Monitor::new(&|_| {}, &cancel)).expect_err("refused");
    assert!(matches!(&error, FioError::Bench(BenchError::Unsuitable(_))), "{error}");
}

#[test]
fn a_cancelled_run_stops() {
    let cancel = AtomicBool::new(true);
    let file = JobFile::parse("t", "[j]\nrw=write\ntime_based\nruntime=1h").unwrap_or_else(|e| panic!("{e}"));
    let monitor = Monitor::new(&|_| {}, &cancel);
    let e = run_file(&file, &ModelSpec::default(), FioOptions::default(), &monitor).err();
    assert!(matches!(&e, Some(FioError::Bench(e)) if e.is_cancelled()), "{e:?}");
}

#[test]
fn the_json_has_every_field_that_fio_plot_reads() {
    let text = "[global]\nrw=randread\nbs=4k\nsize=1m\n[a]\nioengine=libaio\niodepth=4\nrw=randrw\n[b]\nnumjobs=2";
    let json = run(text).to_json().unwrap_or_else(|e| panic!("{e}"));
    let document: Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}"));
    assert!(document["fio version"].as_str().is_some_and(|v| v.starts_with("ssdlab-")));
    // fio-plot lays the global options over those of each job, so only what holds for all may stand there.
    assert_eq!(document["global options"], serde_json::json!({"bs": "4k", "size": "1m"}));
    let jobs = document["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(jobs.len(), 3);
    let option = |job: &Value, key: &str| job["job options"][key].as_str().map(str::to_owned).unwrap_or_default();
    let options = |job: &Value| ["rw", "bs", "iodepth", "numjobs"].map(|key| option(job, key));
    assert_eq!(options(&jobs[0]), ["randrw", "4k", "4", "1"]);
    assert_eq!(options(&jobs[1]), ["randread", "4k", "1", "2"]);
    for job in jobs {
        for table in ["latency_ns", "latency_us", "latency_ms", "iodepth_level", "iodepth_submit", "iodepth_complete"] {
            assert!(job[table].is_object(), "{table}");
        }
        let shares = ["latency_ns", "latency_us", "latency_ms"].iter().flat_map(|t| job[*t].as_object());
        let sum: f64 = shares.flat_map(|t| t.values()).filter_map(Value::as_f64).sum();
        assert!((sum - 100.0).abs() < 1e-9, "the latency bins hold {sum} %");
        assert!(job["usr_cpu"].is_number() && job["sys_cpu"].is_number() && job["jobname"].is_string());
        for direction in ["read", "write", "trim"] {
            let d = &job[direction];
            for key in ["bw", "iops", "iops_stddev", "bw_mean", "bw_dev", "total_ios", "io_bytes", "runtime"] {
                assert!(d[key].is_number(), "{direction} {key}");
            }
            assert!(d["lat_ns"]["mean"].is_number() && d["lat_ns"]["stddev"].is_number());
            assert_eq!(d["clat_ns"]["N"], d["total_ios"]);
        }
        let percentiles = job["read"]["clat_ns"]["percentile"].as_object();
        assert!(percentiles.is_some_and(|p| p.len() == 17 && p.contains_key("99.990000")));
        // Every microsecond has a cause.
        let causes = job["read"]["ssdlab"]["time_us"].as_object();
        let sum: f64 = causes.map(|c| c.values().filter_map(Value::as_f64).sum()).unwrap_or_default();
        let mean = job["read"]["lat_ns"]["mean"].as_f64().unwrap_or_default() / 1e3;
        assert!((sum - mean).abs() < 1e-6, "{sum} of {mean} us");
    }
}

#[test]
fn the_normal_layout_is_fios() {
    let report = run("[reads]\nrw=randread\nbs=4k\nnorandommap\nioengine=libaio\niodepth=16\ntime_based\nruntime=2");
    let text = report.to_text();
    let expected = "\
reads: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=ssdlab, iodepth=16
ssdlab-0.1.0
Starting 1 process

reads: (groupid=0, jobs=1): err= 0: pid=0: on model
  read: IOPS=80.0k, BW=313MiB/s (328MB/s)(625MiB/2000msec)
    clat (nsec): min=100000, max=200000, avg=199995.00, stdev=707.07
     lat (nsec): min=100000, max=200000, avg=199995.00, stdev=707.07
";
    assert!(text.starts_with(expected), "{text}");
    for line in [
        "     | 70.00th=[  200], 80.00th=[  200], 90.00th=[  200], 95.00th=[  200],",
        "   bw (  KiB/s): min=320000, max=320000, per=100.00%, avg=320000.00, stdev= 0.00, samples=4",
        "   iops        : min=80000, max=80000, avg=80000.00, stdev= 0.00, samples=4",
        "  lat (usec)   : 250=100.00%",
        "     issued rwts: total=160008,0,0,0 short=0,0,0,0 dropped=0,0,0,0",
        "Run status group 0 (all jobs):",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
}

/// All logs of a run, by name.
fn logs(text: &str) -> std::collections::BTreeMap<String, String> {
    #[derive(Default)]
    struct Kept(std::collections::BTreeMap<String, String>);
    impl LogSink for Kept {
        fn append(&mut self, name: &str, text: &str) -> std::io::Result<()> {
            self.0.entry(name.to_owned()).or_default().push_str(text);
            Ok(())
        }
    }
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let mut kept = Kept::default();
    run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut kept, &Monitor::silent())
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(kept.0.keys().cloned().collect::<Vec<_>>(), log_names(&file));
    kept.0
}

#[test]
fn each_entry_is_a_result_with_the_figures_of_the_report() {
    let text = "[global]\nsize=4m\ntime_based\nruntime=3\nioengine=libaio\niodepth=4\n[reads]\nrw=randread\n[both]\nrw=randrw\n\
                stonewall\n[both]\nnumjobs=2\nrw=randwrite\nfsync=1\n";
    let file = JobFile::parse("folder/three.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let run =
        run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent()).unwrap();
    let names: Vec<&str> = run.outcomes.iter().map(|o| o.variant.as_str()).collect();
    assert_eq!(names, ["reads", "both", "both (2)", "both (3)"]);
    for (out, job) in run.outcomes.iter().zip(&run.report.jobs) {
        let figure = |key: &str| out.metrics.get(key).map_or(0.0, |m| m.value);
        let both = |f: fn(&Direction) -> f64| job.directions().map(|(_, d)| f(d)).sum::<f64>();
        assert!((figure("iops") - both(|d| d.iops)).abs() < 1.0, "{} against {}", figure("iops"), both(|d| d.iops));
        let writes = job.directions().find(|(word, _)| *word == "write").map_or(0, |(_, d)| d.clat_ns.max);
        assert_eq!(figure("latency_max_write") * 1e3, writes as f64);
        assert!(out.method.contains("Then three.fio was run"), "{}", out.method);
        let rate = out.charts.iter().find(|c| c.id == "iops-over-time").expect("the chart of the rate");
        let points = &rate.series[0].points;
        assert_eq!((points.len(), points[0][0]), (6, 0.5), "three seconds in windows of half a second");
    }
    let single = JobFile::parse("one.fio", "[w]\nrw=randwrite\nsize=4m\n").unwrap_or_else(|e| panic!("{e}"));
    let run = run_file_logging(&single, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent())
        .unwrap();
    assert!(run.outcomes[0].metrics.contains_key("waf"), "one entry did all the writes");
}

/// The result of the first entry of a file.
fn first_outcome(text: &str, options: FioOptions) -> Outcome {
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let run = run_file_logging(&file, &ModelSpec::default(), options, &mut NoLogs, &Monitor::silent());
    run.unwrap_or_else(|e| panic!("{e}")).outcomes.remove(0)
}

#[test]
fn a_result_says_what_else_than_its_options_decides_on_its_figures() {
    let said = |text: &str, options| {
        let out = first_outcome(text, options);
        [PREFILL, REST, OTHER_JOBS].map(|key| out.params[key].to_string())
    };
    let usual = FioOptions::default();
    let unfilled = FioOptions { prefill: Prefill::Nothing, ..usual };
    let reads = "[a]\nrw=randread\nsize=4m\n";
    assert_eq!(said(reads, usual), ["\"read\"", "10.0", "\"none\""]);
    assert_eq!(said(reads, unfilled), ["\"none\"", "0.0", "\"none\""]);
    // What reads nothing is not filled for it.
    assert_eq!(said("[a]\nrw=write\nsize=4m\n", usual), ["\"none\"", "0.0", "\"none\""]);
    let beside = |before: &str, after: &str| said(&format!("{before}{reads}{after}"), unfilled)[2].clone();
    let b = "[b]\nrw=randwrite\nsize=4m\n";
    assert_ne!(beside("", b), beside("", ""));
    assert_ne!(beside("", b), beside("", &format!("{b}iodepth=4\nioengine=libaio\n")));
    assert_ne!(beside("", b), said(&format!("{reads}stonewall\n{b}stonewall\n"), unfilled)[2]);
    // Comments, text and names of files are of no account, and the job's own options are beside it.
    assert_eq!(beside("", b), beside("", &format!("# like that\n{b}description=b\nfilename=/dev/x\nwrite_bw_log=b\n")));
    assert_eq!(beside("", b), said(&format!("{reads}bs=8k\n{b}"), unfilled)[2]);
}

#[test]
fn what_is_trimmed_is_not_told_as_moved() {
    let of = |rw: &str| first_outcome(&format!("[a]\nrw={rw}\nbs=64k\nsize=4m\n"), FioOptions::default());
    let note = "Bandwidth is that of the reads and writes alone; IOPS count the trims, too.".to_owned();
    let (trims, both, writes) = (of("randtrim"), of("trimwrite"), of("randwrite"));
    assert!(!trims.metrics.contains_key("bandwidth") && trims.metrics["iops"].value > 0.0, "{:?}", trims.metrics);
    assert_eq!([&trims, &both, &writes].map(|out| out.notes.contains(&note)), [false, true, false]);
    let block = |out: &Outcome| out.metrics["bandwidth"].value * 1e6 / out.metrics["iops"].value;
    assert!((block(&both) - 32_768.0).abs() < 1.0 && (block(&writes) - 65_536.0).abs() < 1.0, "{}", block(&both));
}

#[test]
fn little_that_was_laid_out_is_not_told_as_nothing() {
    let method = |rest| {
        let options = FioOptions { rest, ..FioOptions::default() };
        first_outcome("[a]\nrw=randread\nsize=4m\n", options).method
    };
    let rested = method(None);
    assert!(rested.contains("4.194 MB were written in sequence, and it rested for 10.00 s."), "{rested}");
    let at_once = method(Some(0));
    assert!(at_once.contains("4.194 MB were written in sequence. Then"), "{at_once}");
}

#[test]
fn logs_have_a_line_for_each_command_or_for_each_period() {
    let base = "[j]\nrw=randread\nnorandommap\nbs=4k\nwrite_bw_log=x\nwrite_iops_log=x\nwrite_lat_log\n";
    let each = logs(&format!("{base}number_ios=3\nlog_offset=1"));
    // 4 KiB in 100 us are 40,000 KiB/s, which fio writes of periods; of a command it writes 1000 bytes a second.
    let first = each["x_bw.1.log"].lines().next().unwrap_or_default();
    assert!(first.starts_with("0, 40960, 0, 4096, ") && first.split(", ").count() == 6, "{first}");
    assert_eq!(each["j_clat.1.log"].lines().filter(|l| l.contains(", 100000, 0, 4096, ")).count(), 3);
    assert_eq!(each["x_iops.1.log"].lines().filter(|l| l.contains(", 1, 0, 4096, ")).count(), 3);
    let mean = logs(&format!("{base}time_based\nruntime=2\nlog_avg_msec=500\nnumjobs=2"));
    assert_eq!(
        mean["x_iops.2.log"],
        "500, 10000, 0, 0, 0\n1000, 10000, 0, 0, 0\n1500, 10000, 0, 0, 0\n2000, 10000, 0, 0, 0\n"
    );
    assert_eq!(mean["x_bw.1.log"].lines().next(), Some("500, 40000, 0, 0, 0"));
    assert_eq!(mean["j_lat.1.log"].lines().next(), Some("500, 100000, 0, 0, 0"));
    assert_eq!(mean["j_slat.1.log"].lines().next(), Some("500, 0, 0, 0, 0"));
    // Of a period that a clone does not see to its end latencies are told, and no rates, as in fio.
    let cut = logs(&format!("{base}time_based\nruntime=750ms\nlog_avg_msec=500"));
    assert_eq!(cut["j_lat.1.log"], "500, 100000, 0, 0, 0\n750, 100000, 0, 0, 0\n");
    assert_eq!((cut["j_clat.1.log"].lines().count(), cut["j_slat.1.log"].lines().count()), (2, 2));
    assert_eq!((cut["x_bw.1.log"].lines().count(), cut["x_iops.1.log"].as_str()), (1, "500, 10000, 0, 0, 0\n"));
    let short = logs(&format!("{base}time_based\nruntime=100ms\nlog_avg_msec=500"));
    assert_eq!((short["j_lat.1.log"].as_str(), short["x_bw.1.log"].as_str()), ("100, 100000, 0, 0, 0\n", ""));
    // Together in one file.
    let one = logs(&format!("{base}time_based\nruntime=1\nlog_avg_msec=500\nnumjobs=2\nper_job_logs=0"));
    assert_eq!(one["x_iops.log"].lines().count(), 4);
}

#[test]
fn reads_and_writes_are_reported_together_where_that_is_asked_for() {
    let base = "[j]\nrw=randrw\nbs=4k\nsize=4m\n";
    let (apart, mixed) = (run(base), run(&format!("{base}unified_rw_reporting=mixed")));
    let both = run(&format!("{base}unified_rw_reporting=both"));
    let json = |r: &FioReport| serde_json::from_str::<Value>(&r.to_json().unwrap_or_default()).unwrap_or_default();
    let all = apart.jobs[0].reads().total_ios + apart.jobs[0].writes().total_ios;
    assert_eq!(json(&mixed)["jobs"][0]["mixed"]["total_ios"], all);
    assert!(json(&mixed)["jobs"][0].get("read").is_none() && json(&apart)["jobs"][0].get("mixed").is_none());
    assert_eq!(json(&both)["jobs"][0]["mixed"]["total_ios"], all);
    assert!(json(&both)["jobs"][0]["read"]["total_ios"].as_u64() > Some(0));
    assert!(mixed.to_text().contains("  mixed: IOPS=") && mixed.to_text().contains("  MIXED: bw="));
}

#[test]
fn json_plus_has_every_bin_and_terse_every_field() {
    let report = run("[j]\nrw=randread\nbs=4k\nsize=4m\nioengine=libaio\niodepth=128\npercentile_list=50:99.9");
    let plus: Value = serde_json::from_str(&report.to_json_plus().unwrap_or_default()).unwrap_or_default();
    let clat = &plus["jobs"][0]["read"]["clat_ns"];
    let bins = clat["bins"].as_object().cloned().unwrap_or_default();
    assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), 1024);
    assert!(bins.keys().all(|ns| ns.parse::<f64>().is_ok_and(|ns| (ns / 100_000.0).round() >= 1.0)));
    assert_eq!(
        clat["percentile"].as_object().map(|p| p.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["50.000000".to_owned(), "99.900000".to_owned()])
    );
    // Keys stand in fio's order, numbers in rising order.
    let (text, json) = (report.to_json_plus().unwrap_or_default(), report.to_json().unwrap_or_default());
    let from = text.find("\"bins\"").expect("bins are told");
    let lines = text[from..].lines().skip(1).take_while(|line| !line.contains('}'));
    let told: Vec<u64> = lines.map(|line| line.split('"').nth(1).unwrap_or_default().parse().unwrap_or(0)).collect();
    let digits = |ns: u64| ns.to_string().len();
    assert!(told.len() == bins.len() && told.is_sorted() && digits(told[0]) < digits(told[told.len() - 1]), "{told:?}");
    let depths = |text: &str| {
        text[text.find("iodepth_level").unwrap_or(0)..].lines().take(8).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(depths(&text), depths(&json));
    let terse = report.to_terse();
    // As fio 3 without disks: 5 fields, 2 x 41, 5 of the processor, 7 depths, 10 + 12 latencies.
    assert_eq!(terse.trim_end().split(';').count(), 5 + 2 * 41 + 5 + 7 + 22, "{terse}");
    assert!(terse.starts_with("3;ssdlab-") && terse.contains(";50.000000%="));
}

#[test]
fn a_flow_shares_commands_by_weight_and_leaves_the_rest_to_who_stays() {
    let text = "[global]\nrw=randread\nnorandommap\nioengine=libaio\niodepth=16\ntime_based\nruntime=1\n[a]\nflow=1\n[b]\nflow=8\n";
    let report = run(text);
    let ios = |i: usize| report.jobs[i].reads().total_ios;
    assert!((7.8..8.2).contains(&(ios(1) as f64 / ios(0) as f64)), "{} {}", ios(0), ios(1));
    let report = run(&format!("{text}runtime=500ms"));
    // When the heavier job has ended, the other has the drive for itself.
    assert!(report.jobs[0].reads().total_ios > 35_000, "{}", report.jobs[0].reads().total_ios);
}

#[test]
fn arrivals_of_a_poisson_process_have_their_rate_and_spread() {
    let text = "[j]\nrw=randread\nnorandommap\nioengine=libaio\niodepth=64\ntime_based\nruntime=20\nrate_iops=500\n";
    let report = run(&format!("{text}rate_process=poisson"));
    let ios = report.jobs[0].reads().total_ios as f64;
    assert!((ios / 10_000.0 - 1.0).abs() < 0.03, "{ios}");
    let logs = logs(&format!("{text}rate_process=poisson\nwrite_lat_log=l\nlog_avg_msec=100"));
    assert!(logs["l_lat.1.log"].lines().count() >= 199);
    // In windows of half a second, 250 with a deviation of sqrt(250).
    let deviation = report.jobs[0].reads().iops_stddev / 2.0;
    assert!((10.0..22.0).contains(&deviation), "{deviation}");
    assert_eq!(run(text).jobs[0].reads().iops_stddev, 0.0);
    // What a pause takes is not caught up: half a second of requests, half a second of rest.
    let pauses =
        run(&format!("{text}rate_process=poisson\nthinktime=500ms\nthinktime_blocks=250\nrate_ignore_thinktime=1"));
    let ios = pauses.jobs[0].reads().total_ios as f64;
    assert!((ios / 5_000.0 - 1.0).abs() < 0.06, "{ios}");
}

/// A read takes 100 us: at depth 1 more than 10,000 a second are too many, and of fewer some come while another is under way.
#[test]
fn a_rate_whose_commands_wait_for_the_queue_says_how_many_and_for_how_long() {
    let said = |more: &str| {
        let text = format!("[j]\nrw=randread\nnorandommap\ntime_based\nruntime=1\n{more}\n");
        let file = JobFile::parse("test.fio", &text).unwrap_or_else(|e| panic!("{e}"));
        let run =
            run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent());
        let FioRun { report, outcomes, searches, .. } = run.unwrap_or_else(|e| panic!("{e}"));
        assert!(report.ssdlab.notices.starts_with(&searches), "{:?}", report.ssdlab.notices);
        assert!(searches.iter().all(|said| outcomes[0].notes.contains(said)), "{:?}", outcomes[0].notes);
        searches
    };
    // The first is sent when it is due. The last one sent was due by 12,500 a second, and sent by 10,000.
    let late = "j: 9999 commands were due while the queue was full, and the longest waited 199.98 ms: latencies count from \
                when a command is sent, as in fio";
    assert_eq!(said("rate_iops=12500"), [late]);
    // What comes behind a command of the other direction that is not due yet waits for that, by milliseconds. What is due with it
    // waits for the few that were held back before.
    let mixed = said("rw=randrw\nrate_iops=500,500");
    assert!(mixed.len() == 1 && !mixed[0].contains(" ms:"), "{mixed:?}");
    let poisson = said("rate_iops=9000\nrate_process=poisson");
    assert!(poisson.len() == 1 && poisson[0].contains(" commands were due while the queue was full"), "{poisson:?}");
    for none in [
        "rate_iops=9000",
        "ioengine=libaio\niodepth=64\nrate_iops=9000\nrate_process=poisson",
        // What a pause has held back did not wait for the queue.
        "rate_iops=1000\nthinktime=5ms\nthinktime_blocks=100",
        "",
    ] {
        assert_eq!(said(none), <[&str; 0]>::default(), "{none}");
    }
}

/// Where a device answers at once, no cause is missing.
#[test]
fn what_took_no_time_lacks_no_cause() {
    let mut report = run("[j]\nrw=randread\nnorandommap\nnumber_ios=10\n");
    let reads = report.jobs[0].read.as_mut().unwrap_or_else(|| panic!("it has read"));
    (reads.clat_ns.mean, reads.ssdlab) = (0.0, TimeShares::default());
    assert!(report.to_text().contains("  j: read: 0.0\n"), "{}", report.to_text());
    report.jobs[0].read.as_mut().unwrap_or_else(|| panic!("it has read")).clat_ns.mean = 1.0;
    assert!(report.to_text().contains("  j: read: 0.0, of which the device does not say where it went\n"));
}

#[test]
fn a_latency_target_finds_the_depth_that_meets_it() {
    // 8 ways of 100 us: at depth 8 every read takes 100 us, at depth 9 the ninth waits.
    let text = "[j]\nrw=randread\nnorandommap\nioengine=libaio\niodepth=64\nlatency_target=110\nlatency_window=50000\nlatency_percentile=99\n";
    let text = format!("{text}time_based\n");
    let report = run(&format!("{text}runtime=60"));
    let job = &report.jobs[0];
    assert!(job.reads().runtime < 1_000, "ended when it was found: {}", job.reads().runtime);
    assert_eq!((job.latency_target, job.latency_window, job.latency_depth), (110_000, 50_000, 8));
    let text_of = |report: &FioReport| {
        let text = report.to_text();
        (
            text.contains("ioengine=ssdlab, iodepth=64\n"),
            text.lines().find(|l| l.contains(" latency   : ")).map(str::to_owned),
        )
    };
    let line = "     latency   : target=110000, window=50000, percentile=99.00%, depth=8".to_owned();
    assert_eq!(text_of(&report), (true, Some(line)));
    assert!(report.ssdlab.notices.is_empty(), "{:?}", report.ssdlab.notices);
    // What is reported is a window at that depth, without the search.
    assert_eq!((job.reads().runtime, job.reads().total_ios, job.reads().clat_ns.max), (50, 4_000, 100_000));
    // Every read below 300 us: depth 24, whatever 32 have left in flight.
    let three = run(&format!("{text}runtime=60")
        .replace("target=110", "target=300")
        .replace("percentile=99", "percentile=100"));
    assert_eq!((three.jobs[0].latency_depth, three.jobs[0].reads().clat_ns.max), (24, 300_000));
    let missed = run(&format!("{text}runtime=60").replace("target=110", "target=99"));
    let said = "j: latency_target is missed: not even at depth 1 do 99 % of the commands take at most 99.0 us";
    assert_eq!((missed.jobs[0].latency_depth, &*missed.ssdlab.notices), (1, &[said.to_owned()][..]));
    let long = run(&format!("{text}runtime=3\nlatency_run=1"));
    assert_eq!(long.jobs[0].reads().runtime, 3_000);
}

/// As in fio, whose clones each leave out their search; what one did that has not ended its search counts whole.
#[test]
fn clones_of_one_entry_that_search_a_depth_have_the_figures_of_their_last_windows() {
    let text = "[j]\nrw=randread\nnorandommap\nioengine=libaio\niodepth=2\nlatency_target=110\nlatency_window=50000\ntime_based\n\
                numjobs=3\nruntime=60\n";
    let [apart, together] = ["", "group_reporting\n"].map(|more| run(&format!("{text}{more}")));
    let (clones, job) = (apart.jobs.iter().map(|job| job.reads()), &together.jobs[0]);
    assert!(clones.clone().all(|reads| reads.runtime == 50 && reads.iops == 20_000.0), "{clones:?}");
    let reads = job.reads();
    assert_eq!((reads.runtime, reads.total_ios, reads.iops, job.latency_depth), (50, 3_000, 60_000.0, 2));
    assert_eq!(reads.total_ios, clones.map(|reads| reads.total_ios).sum::<u64>());
    let said = "j: its figures are those of a window of each clone at the depth that it has found; these need not be the same time";
    assert_eq!(together.ssdlab.notices, [said]);
    // The first is in its last window when the second, which began later, is cut short.
    let text = "[global]\nrw=randread\nnorandommap\nlatency_target=110\nlatency_window=1000000\ntime_based\ngroup_reporting\n\
                ioengine=libaio\niodepth=1\n[a]\nruntime=60\n[b]\nstartdelay=750ms\nruntime=600ms\n";
    let job = &run(text).jobs[0];
    let reads = job.reads();
    assert_eq!((reads.runtime, reads.total_ios, job.job_runtime), (1_000, 16_000, 1_000));
    // Windows of the one go to the nearest of the other: half a second of the second, then 100 ms of it with 750 of the first.
    assert_eq!((reads.iops_samples, reads.iops_min, reads.iops_max), (2, 10_000, 17_000));
}

/// As in fio 3.33, whichever ends last.
#[test]
fn a_group_tells_of_the_latency_target_of_its_last_job() {
    let head = "[global]\nrw=randread\nnorandommap\nsize=1m\nioengine=libaio\ngroup_reporting\n";
    let with = "iodepth=4\nlatency_target=10ms\nlatency_window=5000\nlatency_percentile=50\nruntime=1\ntime_based\n";
    let told = |jobs: &str| {
        let job = &run(&format!("{head}{jobs}")).jobs[0];
        (job.latency_target, job.latency_window, job.latency_percentile, job.latency_depth)
    };
    assert_eq!(told(&format!("[a]\niodepth=8\n[b]\n{with}")), (10_000_000, 5000, 50.0, 4));
    assert_eq!(told(&format!("[a]\n{with}[b]\niodepth=8\n")), (0, 0, 100.0, 8));
}

#[test]
fn a_job_that_is_over_within_its_ramp_says_that_nothing_was_measured() {
    let run = |ramp: &str| {
        let text = format!("[j]\nrw=write\nbs=4k\nsize=1m\nramp_time={ramp}\n");
        let file = JobFile::parse("test.fio", &text).unwrap_or_else(|e| panic!("{e}"));
        let run =
            run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent());
        run.unwrap_or_else(|e| panic!("{e}"))
    };
    let over = run("60");
    assert_eq!(over.report.jobs[0].writes().total_ios, 0);
    let said = &over.report.ssdlab.notices[0];
    assert!(said.starts_with("j: it was over before its ramp_time, 60.00 s, had passed"), "{said}");
    assert!(over.outcomes[0].notes.contains(said) && over.searches.contains(said));
    let measured = run("0");
    assert!(measured.report.jobs[0].writes().total_ios == 256 && measured.searches.is_empty());
    // Neither is it when the ramp would be over while others run.
    let beside = run("2\n[other]\nrw=read\ntime_based\nruntime=3\nnew_group");
    assert!(beside.searches[0].starts_with("j: it was over before its ramp_time, 2.00 s"), "{:?}", beside.searches);
    let about_waf = |note: &String| note.starts_with("Write amplification");
    assert!(!beside.outcomes[0].notes.iter().any(about_waf), "{:?}", beside.outcomes[0].notes);
}

#[test]
fn a_search_that_has_not_ended_tells_how_far_it_has_come() {
    let text = "[j]\nrw=randread\nnorandommap\nioengine=libaio\niodepth=64\nlatency_target=110\nlatency_window=50000\nruntime=120ms\ntime_based\n";
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let run = run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent());
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    // 1 and 2 were good, 4 was being tried.
    assert_eq!(run.report.jobs[0].latency_depth, 4);
    let said =
        "j: the search of latency_target had not ended when the job did: its depth, 4, is the one that was being tried";
    assert_eq!(run.searches, [said]);
    assert!(run.report.ssdlab.notices.contains(&said.to_owned()) && run.outcomes[0].notes.contains(&said.to_owned()));
}

/// Of jobs that are reported together, what is said of a search is that of the job that searched.
#[test]
fn what_is_said_of_a_search_is_of_the_job_that_searched() {
    let said = |search: &str| {
        let text = format!(
            "[global]\nrw=randread\nnorandommap\ntime_based\ngroup_reporting\nruntime=900ms\nioengine=libaio\niodepth=4\n[plain]\n\
             [search]\nlatency_window=50000\n{search}\n"
        );
        run(&text).ssdlab.notices
    };
    assert_eq!(
        said("latency_target=50"),
        ["search: latency_target is missed: not even at depth 1 do 100 % of the commands take at most 50.0 us"]
    );
    let not_ended = "search: the search of latency_target had not ended when the job did: its depth, 1, is the one that was being tried";
    assert_eq!(said("latency_target=110\nlatency_window=5000000"), [not_ended]);
    // The other job is in the figures whole.
    assert!(said("latency_target=110").is_empty());
}

#[test]
fn percentiles_are_of_what_is_asked_for() {
    let base = "[j]\nrw=randwrite\nbs=4k\nsize=4m\nfsync=64\npercentile_list=50\n";
    for (options, clat, lat) in [
        ("", true, false),
        ("lat_percentiles=1", true, true),
        ("clat_percentiles=0", false, false),
        ("clat_percentiles=0\nlat_percentiles=1", false, true),
    ] {
        let report = run(&format!("{base}{options}"));
        let (writes, text) = (report.jobs[0].writes(), report.to_text());
        assert_eq!((writes.clat_ns.percentile.is_some(), writes.lat_ns.percentile.is_some()), (clat, lat), "{options}");
        assert_eq!(
            (text.contains("    clat percentiles"), text.contains("    lat percentiles")),
            (clat, lat),
            "{text}"
        );
        assert_eq!(text.contains("    sync percentiles"), clat || lat, "{text}");
        assert_eq!(report.to_terse().contains(";50.000000%="), clat || lat, "{options}");
    }
    let both = run(&format!("{base}lat_percentiles=1"));
    let writes = both.jobs[0].writes();
    assert_eq!(writes.clat_ns.percentile, writes.lat_ns.percentile);
}

/// Zones with gaps lead behind the span, and what is read there was written first.
#[test]
fn what_is_read_behind_the_span_is_written_first() {
    let text = "[j]\nrw=read\nbs=4k\nsize=64k\nzonemode=strided\nzonesize=16k\nzoneskip=48k\n";
    let report = run(text);
    assert_eq!((report.jobs[0].reads().total_ios, report.ssdlab.prefilled_bytes), (16, 208 << 10));
}

#[test]
fn a_job_ends_when_its_rate_is_steady() {
    let text = "[j]\nrw=randread\nnorandommap\ntime_based\nruntime=1000\nss=iops:1%\nss_dur=5\nss_ramp=2\n";
    let report = run(text);
    let steady = report.jobs[0].steadystate.as_ref().expect("it was asked for");
    assert_eq!((steady.attained, steady.data.iops.len()), (1, 5));
    assert_eq!(report.jobs[0].reads().runtime, 7_000);
    // Seconds in which it has ended are none of its own.
    let report = run(&format!(
        "{}[next]\nstonewall\nrw=randread\nnorandommap\ntime_based\nruntime=5\n",
        text.replace("runtime=1000", "runtime=3500ms").replace("1%", "1")
    ));
    let steady = report.jobs[0].steadystate.as_ref().expect("it was asked for");
    assert_eq!((steady.attained, &*steady.data.iops), (0, &[10_000][..]));
    // Flushes are no commands that must settle.
    let flushed = run("[j]\nrw=write\nbs=4k\nfsync=1\ntime_based\nruntime=20\nss=iops:5%\nss_dur=3\n");
    let steady = flushed.jobs[0].steadystate.as_ref().expect("it was asked for");
    let (seconds, writes) = (steady.data.iops_mean, flushed.jobs[0].writes().iops_min as f64);
    assert!((seconds / writes - 1.0).abs() < 0.02, "{seconds} {writes}");
}

#[test]
fn jobs_end_with_others_and_wait_for_others() {
    let text = "[global]\nrw=read\nbs=4k\n[a]\nsize=400k\nexitall\n[b]\nsize=40m\n[c]\nstonewall\nsize=400k\n";
    let e = entries(text);
    assert_eq!(e[0].all.requests(), 100);
    assert!(e[1].all.requests() <= 101, "{}", e[1].all.requests());
    assert_eq!(e[2].all.requests(), 100, "the next stage runs");
    // As in fio, it makes no difference in which of them it stands: whichever ends first ends others.
    let in_the_last = text.replace("exitall\n", "") + "exitall\n";
    let e = entries(&in_the_last);
    assert!(e[0].all.requests() == 100 && e[1].all.requests() <= 101, "{}", e[1].all.requests());
    assert_eq!(e[2].all.requests(), 100);
    // Nor in which section, nor what it says (fio 3.33).
    for text in [text.replace("exitall\n", "") + "[global]\nexitall\n", text.replace("exitall", "exitall=0")] {
        assert!(entries(&text)[1].all.requests() <= 101, "{text}");
    }
    let all = run(&text.replace("exitall", "exitall\nexit_what=all"));
    assert_eq!(all.jobs.iter().map(|job| &*job.jobname).collect::<Vec<_>>(), ["a", "b"]);
    let waits = entries("[global]\nrw=read\nbs=4k\n[a]\nsize=400k\nnumjobs=2\n[b]\nwait_for=a\nsize=40k\n");
    let end = |i: usize| waits[i].all.began() + waits[i].all.elapsed();
    assert_eq!(waits[2].all.began(), end(0).max(end(1)));
}

#[test]
fn what_others_keep_from_beginning_is_told_and_has_no_figures() {
    // In groups of their own: one that is ended by another ends those of its group in turn, as in fio.
    let run = |what: &str| {
        let text = format!(
            "[global]\nrw=randread\ntime_based\nnorandommap\n[a]\nruntime=1\nexitall\nexit_what={what}\n[b]\nruntime=3\nnew_group\n\
             [c]\nruntime=3\nwait_for=a\nnew_group\n[d]\nruntime=3\nstartdelay=2\nnew_group\n[e]\nstonewall\nruntime=1\n"
        );
        let file = JobFile::parse("test.fio", &text).unwrap_or_else(|e| panic!("{e}"));
        run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent())
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let names = |run: &FioRun| run.report.jobs.iter().map(|job| job.jobname.clone()).collect::<Vec<_>>();
    let all = run("all");
    let said = "c, d, e did not begin: a job that ends others (exitall) had ended before";
    assert_eq!(names(&all), ["a", "b"]);
    assert_eq!((&*all.report.ssdlab.notices, &*all.searches), (&[said.to_owned()][..], &[said.to_owned()][..]));
    assert!(all.outcomes.len() == 2 && all.outcomes[1].notes.contains(&said.to_owned()));
    assert!(!all.report.to_text().contains("\nc: "));
    assert_eq!(all.report.jobs[1].reads().runtime, 1000);
    // What waits does not run at the same time as what has ended.
    for (what, runtimes) in [("stonewall", [1000, 1000, 3000, 3000, 1000]), ("group", [1000, 3000, 3000, 3000, 1000])] {
        let jobs = run(what).report.jobs;
        assert_eq!(jobs.iter().map(|job| job.job_runtime).collect::<Vec<_>>(), runtimes, "{what}");
    }
}

/// Neither does it flush what it has never written.
#[test]
fn a_job_that_is_ended_before_its_start_delay_is_over_has_sent_nothing() {
    let text = "[global]\nrw=write\nbs=4k\nsize=64k\nend_fsync=1\n[a]\nexitall\n[b]\nstartdelay=2\n";
    assert_eq!(run(text).jobs.iter().map(|job| &*job.jobname).collect::<Vec<_>>(), ["a"]);
    let write = Command { op: Op::Write, offset_bytes: 0, length_bytes: 4096, fua: false };
    let mut task = Task::new(List(vec![write].into_iter()), 0, 1);
    (task.start_delay, task.end_flush) = (2 * SECOND, true);
    task.start(0);
    assert_eq!(task.step(0), Step::WaitUntil(2 * SECOND));
    task.close(SECOND);
    assert_eq!(task.step(SECOND), Step::Ended);
}

/// As in fio.
#[test]
fn a_direction_of_a_group_has_the_time_and_the_windows_of_the_clones_that_did_it() {
    let text = "[global]\nioengine=libaio\nbs=4k\nsize=4m\nnorandommap\ntime_based\ngroup_reporting\n[a]\nrw=randread\niodepth=4\n\
                runtime=2\n[b]\nrw=randwrite\nrate_iops=1000\nruntime=3250ms\n";
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let grouped =
        run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent())
            .unwrap_or_else(|e| panic!("{e}"));
    let apart = run(&text.replace("group_reporting\n", ""));
    let job = &grouped.report.jobs[0];
    let of = |d: &Direction| (d.runtime, d.total_ios, d.bw, d.bw_min, d.bw_samples, d.iops_mean);
    assert_eq!(of(job.reads()), of(apart.jobs[0].reads()));
    assert_eq!(of(job.writes()), of(apart.jobs[1].writes()));
    assert_eq!((job.reads().runtime, job.writes().runtime, job.job_runtime), (2000, 3250, 3250));
    let text = grouped.report.to_text();
    assert!(text.contains("run=2000-2000msec") && text.contains("run=3250-3250msec"), "{text}");
    let chart = grouped.outcomes[0].charts.iter().find(|c| c.id == "iops-over-time").expect("the chart of the rate");
    assert_eq!(chart.series.iter().map(|s| s.points.len()).collect::<Vec<_>>(), [4, 6]);
    // Writes that begin late and end within a window have a sample all the same.
    let late = run(
        "[global]\nbs=4k\nsize=4m\nnorandommap\ntime_based\ngroup_reporting\n[a]\nrw=randread\nruntime=3\n[b]\nrw=randwrite\n\
         startdelay=2\nruntime=200ms\nrate_iops=100\n",
    );
    let writes = late.jobs[0].writes();
    assert_eq!((writes.runtime, writes.iops_samples, writes.iops_min), (200, 1, 100));
}

#[test]
fn of_a_range_of_start_delays_each_clone_draws_its_own() {
    let began = |options: &str| {
        let text = format!("[j]\nrw=randread\nnumjobs=3\nsize=64k\nstartdelay=1-3\n{options}\n");
        entries(&text).iter().map(|e| e.all.began()).collect::<Vec<_>>()
    };
    let first = began("");
    assert!(first.iter().all(|at| (SECOND..=3 * SECOND).contains(at)), "{first:?}");
    assert!(first[0] != first[1] && first[1] != first[2]);
    assert_eq!(began(""), first);
    assert_ne!(began("randseed=9"), first);
    assert_eq!(began("startdelay=2"), [2 * SECOND; 3]);
}

#[test]
fn verification_waits_until_everything_is_written() {
    let report = run("[j]\nrw=randwrite\nbs=4k\nsize=4m\nioengine=libaio\niodepth=16\nverify=crc32c\n");
    assert_eq!((report.jobs[0].reads().total_ios, report.jobs[0].writes().total_ios), (1024, 1024));
}

#[test]
fn what_takes_no_time_has_no_rate() {
    let file = JobFile::parse("test.fio", "[j]\nrw=randread\nsize=64k\n").unwrap_or_else(|e| panic!("{e}"));
    let options = FioOptions { prefill: Prefill::Nothing, ..FioOptions::default() };
    let at_once = ModelSpec { read: 0, read_picos_per_byte: 0, ..ModelSpec::default() };
    let run = run_file_logging(&file, &at_once, options, &mut NoLogs, &Monitor::silent());
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    let said = "j: it took no simulated time, so that it has no rates: where there are some, 0 stands for them";
    assert_eq!(run.report.ssdlab.notices, [said]);
    assert_eq!((run.report.jobs[0].reads().total_ios, run.report.jobs[0].reads().iops), (16, 0.0));
    let metrics = &run.outcomes[0].metrics;
    assert!(!metrics.contains_key("iops") && !metrics.contains_key("bandwidth") && metrics.contains_key("duration"));
}

/// As in fio, whose rates are by what each direction took.
#[test]
fn what_verification_takes_is_none_of_the_writes_time() {
    let text = "[j]\nrw=write\nbs=64k\nsize=48m\nverify=crc32c\n";
    for more in ["rate_iops=,512\n", "loops=2\n", "fsync=8\nioengine=libaio\niodepth=16\n"] {
        let file = JobFile::parse("test.fio", &format!("{text}{more}")).unwrap_or_else(|e| panic!("{e}"));
        let options = FioOptions { prefill: Prefill::Nothing, ..FioOptions::default() };
        let run = run_file_logging(&file, &ModelSpec::default(), options, &mut NoLogs, &Monitor::silent());
        let run = run.unwrap_or_else(|e| panic!("{e}"));
        let (job, text) = (&run.report.jobs[0], run.report.to_text());
        let (writes, reads) = (job.writes(), job.reads());
        assert!((writes.runtime + reads.runtime).abs_diff(job.job_runtime) <= 1, "{text}");
        assert!((writes.iops * writes.runtime as f64 / 1e3 / writes.total_ios as f64 - 1.0).abs() < 0.01, "{text}");
        let page = run.outcomes[0].metrics["iops"].value;
        assert!((page / writes.iops - 1.0).abs() < 1e-6, "the page says {page}");
        assert!(text.contains(&format!("run={0}-{0}msec", reads.runtime)), "{text}");
        if more.starts_with("rate") {
            assert!(writes.runtime.abs_diff(1498) <= 1 && reads.runtime < 1_000, "{text}");
            assert!((run.outcomes[0].metrics["asked_iops"].value - 512.0).abs() < 1e-9);
        }
        if more.starts_with("fsync") {
            assert!(reads.runtime * 2 < writes.runtime, "{text}");
        }
    }
    // Windows of the one have none of the other's zeros.
    let job = &run(&format!("{text}rate_iops=,512\n")).jobs[0];
    assert!(job.writes().iops_min > 500 && job.writes().iops_samples == 2, "{job:?}");
    assert!(job.reads().iops_min > 0, "{job:?}");
}

#[test]
fn what_is_written_after_a_pass_of_verification_is_in_the_chart_up_to_a_cut() {
    let text = "[j]\nrw=write\nbs=64k\nsize=8m\nrate_iops=,64\nloops=2\nverify=crc32c\nruntime=3500ms\n";
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let run = run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent());
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    let chart = run.outcomes[0].charts.iter().find(|c| c.id == "iops-over-time").expect("the chart of the rate");
    let written = chart.series.iter().find(|s| s.name == "write").map_or(&[][..], |s| &s.points);
    assert!(written.len() == 7 && written[6][1] > 60.0, "{written:?}");
    assert_eq!(run.report.jobs[0].writes().bw_samples, 7);
}

/// As in fio.
#[test]
fn neither_pauses_nor_rates_hold_back_a_pass_of_verification() {
    let run = |text: &str| {
        let file = JobFile::parse("test.fio", &format!("[j]\nrw=write\nbs=4k\n{text}\n")).expect("it is right");
        let run =
            run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent());
        run.unwrap_or_else(|e| panic!("{e}"))
    };
    // Reads of 100 us.
    for (text, writes, reads) in [
        ("size=128k\nthinktime=10ms\nverify=crc32c", 320, 3),
        ("size=512k\nrate=512k,50m\nverify=crc32c", 9, 12),
        ("size=512k\nrate_iops=128,12800\nrate_process=poisson\nverify=crc32c", 10, 12),
        ("size=64k\nthinktime=10ms\nloops=2\nverify=crc32c", 320, 3),
    ] {
        let run = run(text);
        let job = &run.report.jobs[0];
        let times = (job.writes().runtime, job.reads().runtime);
        assert!(times.0.abs_diff(writes) <= 3 && times.1.abs_diff(reads) <= 1, "{text}: {times:?}");
    }
    let only = run("size=64k\nthinktime=20ms\nrate=64k\nverify=crc32c\nverify_only");
    assert_eq!((only.report.jobs[0].job_runtime, only.report.jobs[0].reads().total_ios), (1, 16));
    assert!(!only.outcomes[0].metrics.contains_key("asked_bandwidth"));
    assert!(only.outcomes[0].notes.iter().all(|note| !note.contains("thinktime")));
    // A backlog is read among the writes, and pauses as they do.
    let backlog = run("size=128k\nthinktime=10ms\nverify=crc32c\nverify_backlog=8");
    assert!(backlog.report.jobs[0].reads().runtime > 500, "{}", backlog.report.jobs[0].reads().runtime);
    // What was read back is none of the reads that a rate is for.
    let mixed = run("rw=rw\nsize=512k\nrate=1m\nverify=crc32c\nloops=2");
    assert!(mixed.report.jobs[0].job_runtime.abs_diff(512) < 80, "{}", mixed.report.jobs[0].job_runtime);
}

/// Stops a run when the monitor has been asked so many times.
fn stopped_after(asked: u32, text: &str) -> Result<FioRun, FioError> {
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let (cancel, left) = (AtomicBool::new(false), std::cell::Cell::new(asked));
    let report = |_: f64| {
        left.set(left.get() - 1);
        if left.get() == 0 {
            cancel.store(true, std::sync::atomic::Ordering::Relaxed);
            left.set(u32::MAX);
        }
    };
    let monitor = Monitor::new(&report, &cancel);
    let options = FioOptions { prefill: Prefill::Nothing, ..FioOptions::default() };
    run_file_logging(&file, &ModelSpec::default(), options, &mut NoLogs, &monitor)
}

#[test]
fn what_a_stopped_run_has_done_is_reported_and_what_never_began_is_not() {
    let text = "[global]\nrw=randread\nnorandommap\ntime_based\n[a]\nruntime=2\n[b]\nstonewall\nruntime=100\n[c]\nwait_for=b\nruntime=1\n[d]\nstonewall\nruntime=1\n";
    let run = stopped_after(5, text).unwrap_or_else(|e| panic!("{e}"));
    let ran: Vec<(&str, f64)> = run.report.jobs.iter().map(|j| (&*j.jobname, j.reads().iops)).collect();
    assert_eq!(ran, [("a", 10_000.0), ("b", 10_000.0)]);
    assert_eq!(run.report.jobs[1].reads().runtime, 3_000);
    let stopped = "stopped: b ended before its time; c, d did not begin";
    assert_eq!(run.stopped.as_deref(), Some(stopped));
    assert_eq!(run.report.ssdlab.notices, [stopped]);
    let shortened: Vec<_> = run.outcomes.iter().map(|o| (&*o.variant, o.shortened.as_deref())).collect();
    assert_eq!(shortened, [("a", None), ("b", Some("stopped after 3.00 s."))]);
    assert!(run.outcomes.iter().all(|o| o.notes.contains(&stopped.to_owned())));
    let unfinished: Vec<_> = run.unfinished.iter().map(|u| (&*u.entry, &*u.why)).collect();
    let never = "it did not begin before the run was stopped";
    assert_eq!(unfinished, [("b", "it was stopped after 3.00 s"), ("c", never), ("d", never)]);
    // Of jobs that are reported together, one that never began leaves something open, too.
    for later in ["wait_for=b", "startdelay=100"] {
        let text = format!(
            "[global]\nrw=randread\nnorandommap\ntime_based\n[b]\nruntime=9\n[a]\nnew_group\ngroup_reporting\nruntime=1\n[c]\n\
             group_reporting\n{later}\nruntime=1\n"
        );
        let run = stopped_after(5, &text).unwrap_or_else(|e| panic!("{e}"));
        let unfinished: Vec<_> = run.unfinished.iter().map(|u| (&*u.entry, &*u.why)).collect();
        let some = "it was stopped before all of its jobs had begun";
        assert_eq!(unfinished, [("b", "it was stopped after 5.00 s"), ("a", some)], "{later}");
        let stopped = "stopped: b ended before its time; not every job that is reported with a began";
        assert_eq!(run.stopped.as_deref(), Some(stopped));
    }
    // That those which it ends would end others in turn makes no whole run of it.
    for text in [
        "[a]\nexitall\nexit_what=all\n[b]\nnew_group\n[c]\nstonewall\n",
        "[a]\nexitall\n[b]\nexit_what=all\n[c]\nstonewall\n",
    ] {
        let run = stopped_after(3, &format!("[global]\nrw=randread\nnorandommap\ntime_based\nruntime=9\n{text}"));
        let stopped = run.unwrap_or_else(|e| panic!("{e}")).stopped;
        assert_eq!(stopped.as_deref(), Some("stopped: a, b ended before its time; c did not begin"), "{text}");
    }
    // What waits for nothing but its last commands is whole.
    let text = "[b]\nrw=randread\nnorandommap\ntime_based\nruntime=5\n";
    let run = stopped_after(5, text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((run.stopped, run.unfinished.len(), run.outcomes[0].shortened.as_deref()), (None, 0, None));
}

#[test]
fn a_stopped_run_is_no_result_where_only_a_whole_one_counts() {
    let file = JobFile::parse("test.fio", "[j]\nrw=randread\nnorandommap\ntime_based\nruntime=9").expect("it is right");
    let cancel = AtomicBool::new(true);
    let options = FioOptions { prefill: Prefill::Nothing, ..FioOptions::default() };
    let error = run_file(&file, &ModelSpec::default(), options, &Monitor::new(&|_| {}, &cancel)).expect_err("stopped");
    assert!(matches!(&error, FioError::Bench(e) if e.is_cancelled()), "{error}");
}

/// Neither a ramp nor an earlier stage counts in what the drive wrote and drew while a job was measured.
#[test]
fn counters_of_an_entry_are_of_the_time_in_which_it_was_measured() {
    let outcomes = |text: &str| {
        let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
        let options = FioOptions { prefill: Prefill::Nothing, ..FioOptions::default() };
        run_file_logging(&file, &ModelSpec::default(), options, &mut NoLogs, &Monitor::silent())
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let global = "[global]\nrw=randread\nnorandommap\ntime_based\nruntime=2\nrate_iops=1000\n";
    let power = |run: &FioRun, entry: usize| run.outcomes[entry].metrics.get("power_mean").map(|m| m.value);
    let [plain, ramped] = ["[j]\n", "[j]\nramp_time=30\n"].map(|job| power(&outcomes(&format!("{global}{job}")), 0));
    let (plain, ramped) = (plain.expect("it is metered"), ramped.expect("it is metered"));
    assert!((ramped / plain - 1.0).abs() < 0.01, "{ramped} W after a ramp, {plain} without");
    // The pause behind the last read draws power, too, and is none of the job's duration.
    let idle = |reads: u32| {
        let text = format!("[j]\nrw=randread\nnorandommap\nsize=1m\nthinktime=100s\nnumber_ios={reads}\n");
        power(&outcomes(&text), 0).expect("it is metered")
    };
    assert!((idle(1) / idle(3) - 1.0).abs() < 0.01, "{} W for one read and its pause, {} for three", idle(1), idle(3));
    // Writes of a ramp alone, and of a stage before.
    let text = "[global]\nbs=4k\nsize=8m\n[fill]\nrw=write\n[again]\nstonewall\nrw=write\ntime_based\nramp_time=1\nruntime=1\n";
    let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
    let entries = entries(text);
    let written = |k: usize| entries[k].counted().expect("it was measured").0.host.write_bytes as f64;
    assert_eq!((file.jobs.len(), written(0)), (2, 8.0 * 1048576.0));
    let measured = entries[1].all.op(Op::Write).bytes as f64;
    assert!((written(1) / measured - 1.0).abs() < 0.01, "{} counted, {measured} measured", written(1));
}

#[test]
fn what_jobs_of_one_entry_ask_for_is_the_sum_if_each_asks() {
    let asked = |second: &str| {
        let text = format!(
            "[global]\nrw=read\nbs=64k\nsize=16m\ntime_based\nruntime=1\ngroup_reporting\n[a]\nrate=10m\nnumjobs=2\n[b]\n{second}\n"
        );
        let file = JobFile::parse("test.fio", &text).unwrap_or_else(|e| panic!("{e}"));
        let run =
            run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent())
                .unwrap_or_else(|e| panic!("{e}"));
        let outcome = &run.outcomes[0];
        let figure = |key: &str| outcome.metrics.get(key).map(|m| m.value);
        let pauses = outcome.notes.iter().any(|note| note.contains("thinktime"));
        (figure("asked_bandwidth"), figure("asked_iops"), pauses)
    };
    assert_eq!(asked("rate=100m"), (Some(125.829_12), Some(1920.0), false));
    assert_eq!(asked("thinktime=1ms"), (None, None, true));
    // A limit of writes is none of what another job reads.
    assert_eq!(asked("rw=write\nrate=,10m"), (Some(31.457_28), Some(480.0), false));
}

/// The slower direction holds back the other, and at random times fio sends whole commands a second.
#[test]
fn what_a_job_asks_for_is_what_it_sends_of_a_fast_drive() {
    for (text, asked) in [
        ("rw=randrw\nrwmixread=70\nrate_iops=1000", 1000.0 / 0.7),
        ("rw=randrw\nrwmixread=70\nrate_iops=1000,100", 100.0 / 0.3),
        ("rw=randrw\nrwmixread=50\nrate_iops=300,0", 600.0),
        ("rw=randtrimwrite\nrate_iops=200", 400.0),
        ("rw=randread\nrate=30k\nbs=8k\nrate_process=poisson", 3.0),
    ] {
        let job = format!("[j]\nsize=4m\nnorandommap\nioengine=libaio\niodepth=8\ntime_based\nruntime=200\n{text}\n");
        let file = JobFile::parse("test.fio", &job).unwrap_or_else(|e| panic!("{e}"));
        let run =
            run_file_logging(&file, &ModelSpec::default(), FioOptions::default(), &mut NoLogs, &Monitor::silent())
                .unwrap_or_else(|e| panic!("{e}"));
        let figure = |key: &str| run.outcomes[0].metrics.get(key).map_or(f64::NAN, |m| m.value);
        assert!((figure("asked_iops") / asked - 1.0).abs() < 1e-9, "{text}: {}", figure("asked_iops"));
        assert!((figure("iops") / asked - 1.0).abs() < 0.07, "{text}: {}", figure("iops"));
        if !text.contains("trim") {
            let bytes = figure("bandwidth") / figure("asked_bandwidth");
            assert!((bytes - figure("iops") / asked).abs() < 1e-6, "{text}: {bytes}");
        }
    }
}

#[test]
fn what_runs_beside_the_last_turn_counts_with_it() {
    let text = "[global]\nrw=randread\nnorandommap\ntime_based\nruntime=1\n[beside]\nruntime=3\n[fill]\nrw=write\n[check]\nwait_for=fill\n[alone]\nstonewall\nrw=trim\n";
    let report = run(text);
    let reads = report.last_together(|job| job.reads().total_ios > 0);
    assert_eq!(reads.iter().map(|job| &*job.jobname).collect::<Vec<_>>(), ["beside", "check"]);
    let before = run(&text.replace("runtime=3", "runtime=1"));
    let reads = before.last_together(|job| job.reads().total_ios > 0);
    assert_eq!(reads.iter().map(|job| &*job.jobname).collect::<Vec<_>>(), ["check"]);
}

#[test]
fn what_was_filled_in_sequence_is_no_steady_state_and_no_fresh_drive_either() {
    let text = "[global]\nbs=64k\n[fill]\nrw=write\nsize=4m\n[then]\nstonewall\nrw=randwrite\nsize=1m\n";
    let said = |text: &str, capacity_mib: u64, prefilled_mib: u64, written_mib: u64| {
        let file = JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"));
        let mut counters = ssdlab_device::Counters { flash: Some(Default::default()), ..Default::default() };
        counters.host.write_bytes = written_mib << 20;
        let facts = RunFacts {
            device: "d".to_owned(),
            capacity_bytes: capacity_mib << 20,
            seed: 1,
            begins: crate::lab::Begins::New,
            prefilled_bytes: prefilled_mib << 20,
            rested: 0,
            counters,
            measured: None,
        };
        facts.says_of_a_state_that_is_not_steady(&file, &entries(text)).unwrap_or_default()
    };
    let begins = |said: String, with: &str| assert!(said.starts_with(with), "{said}");
    begins(said(text, 4, 0, 5), "the drive was filled in sequence, and the jobs have written 25.0 % of it at random:");
    begins(
        said(text, 8, 0, 5),
        "the jobs have written 12.5 % of the drive at random: these are figures of a fresh one",
    );
    let alone = "[j]\nrw=randwrite\nbs=64k\nsize=1m\n";
    begins(said(alone, 8, 8, 1), "the drive was filled in sequence, and the jobs have written 12.5 % of it at random:");
    begins(said(alone, 8, 0, 1), "the jobs have written 12.5 % of the drive: these are figures of a fresh one");
    // Once all over at random, and nothing at random.
    assert_eq!((said(alone, 1, 1, 1), said("[j]\nrw=write\nbs=64k\nsize=1m\n", 8, 0, 1)), Default::default());
}
