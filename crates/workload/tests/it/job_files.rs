//! What job files promise: fio's meaning, and an error with its place for everything else.

use ssdlab_core::{MICROSECOND, MILLISECOND, Op, Rng, SECOND};
use ssdlab_workload::fio::{Amount, JobFile, JobFileError, OptionUse, RandomDistribution, Rw, Span, option_table};
use ssdlab_workload::{BlockSizes, Command, Source};

const GIB: u64 = 1 << 30;

fn parse(text: &str) -> JobFile {
    JobFile::parse("test.fio", text).unwrap_or_else(|e| panic!("{e}"))
}

fn error(text: &str) -> String {
    JobFile::parse("test.fio", text).unwrap_err().to_string()
}

fn device_error(text: &str, capacity_bytes: u64) -> String {
    parse(text).jobs[0].source(capacity_bytes, (0, 0), &Rng::new(1)).unwrap_err().to_string()
}

fn commands(text: &str, capacity_bytes: u64, limit: usize) -> Vec<Command> {
    let mut source = parse(text).jobs[0].source(capacity_bytes, (0, 0), &Rng::new(1)).unwrap();
    std::iter::from_fn(|| source.next()).take(limit).collect()
}

#[test]
fn every_supported_option_is_understood() {
    let file = parse(
        "
; a comment
[global]
ioengine=libaio
direct=1
bs=8k,16k
[mixed] # with a comment behind it
description = a job with everything
readwrite=randrw
rwmixwrite=30
bsrange=4k-64k,8k-8k
blockalign=4k
size=50%
offset=10%
offset_increment=1g
io_size=2g
iodepth=32
numjobs=4
runtime=2m
time_based
ramp_time=500ms
random_distribution=zipf:1.2
norandommap=1
randseed=7
randrepeat=0
rate_iops=1000,500
thinktime=250
thinktime_blocks=8
fsync=32
fdatasync=64
end_fsync=1
wait_for_previous
group_reporting
new_group
loops=3
startdelay=5
",
    );
    let job = &file.jobs[0];
    assert_eq!((job.name.as_str(), job.description.as_deref()), ("mixed", Some("a job with everything")));
    assert_eq!((job.rw, job.read_percent), (Rw::RandRw, 70));
    let range = |min, max| BlockSizes::Range { min, max };
    assert_eq!(job.sizes(), [range(4096, 65_536), range(8192, 8192), range(8192, 8192)]);
    assert_eq!(job.block_align, [Some(4096); 3]);
    assert_eq!((job.size, job.offset), (Some(Amount::Percent(50)), Amount::Percent(10)));
    assert_eq!((job.offset_increment, job.io_size), (Amount::Bytes(GIB), Some(Amount::Bytes(2 * GIB))));
    assert_eq!((job.iodepth, job.numjobs, job.loops), (32, 4, 3));
    assert_eq!((job.runtime, job.ramp_time, job.startdelay), (Some(120 * SECOND), 500 * MILLISECOND, 5 * SECOND));
    assert_eq!(job.distribution, RandomDistribution::Zipf { theta: 1.2, center: None });
    assert_eq!((job.randseed, job.randrepeat, job.norandommap), (Some(7), false, true));
    assert_eq!(job.rate_iops, [Some(1000), Some(500), Some(500)]);
    assert_eq!(job.byte_rates(), [Some(1000 * 4096), Some(500 * 8192), Some(500 * 8192)]);
    assert_eq!(parse("[j]\nrate=10m\n").jobs[0].rate_bytes, [Some(10 << 20); 3]);
    assert_eq!((job.thinktime, job.thinktime_blocks), (250 * MICROSECOND, 8));
    assert_eq!((job.fsync, job.fdatasync, job.end_fsync), (32, 64, true));
    assert!(job.time_based && job.stonewall && job.group_reporting && job.new_group);
}

#[test]
fn each_global_section_affects_the_jobs_after_it_and_adds_to_those_before() {
    let file = parse("[global]\nbs=8k\niodepth=4\n[a]\n[global]\nbs=16k\n[b]\niodepth=2\n[c]\n");
    let seen: Vec<_> = file.jobs.iter().map(|j| (j.sizes()[0].min_bytes(), j.iodepth)).collect();
    assert_eq!(seen, [(8192, 4), (16_384, 2), (16_384, 4)]);
}

#[test]
fn a_section_is_global_if_its_name_begins_so() {
    let file = parse("[global]\nbs=8k\n[globals of reads]\niodepth=4\n[a]\n");
    let seen: Vec<_> = file.jobs.iter().map(|j| (j.name.as_str(), j.sizes()[0].min_bytes(), j.iodepth)).collect();
    assert_eq!(seen, [("a", 8192, 4)]);
}

#[test]
fn an_empty_place_of_a_rate_leaves_what_was() {
    let job = |options: &str| parse(&format!("[global]\n{options}\n")).jobs[0].clone();
    assert_eq!(job("rate=1m\n[a]\nrate=,2m").rate_bytes, [Some(1 << 20), Some(2 << 20), Some(2 << 20)]);
    assert_eq!(job("rate=1m\n[a]\nrate=,0,").rate_bytes, [Some(1 << 20), None, Some(1 << 20)]);
    assert_eq!(job("rate_iops=100\n[a]\nrate_iops=,0").rate_iops, [Some(100), None, None]);
}

#[test]
fn ignored_options_make_one_notice_in_alphabetical_order() {
    let file = parse("[global]\nioengine=libaio\ndirect=1\n[a]\nfilename=/dev/sdb\ndirect=1\n");
    assert_eq!(file.notices(), ["test.fio: ignored, as they do not concern the drive: direct, filename"]);
    // Those of fio after 3.33, too.
    let file = parse(
        "[a]\nfiletype=block\nrbd_encryption_format=luks2\nrbd_encryption_passphrase=/a\nverify_policy=fsynced\n",
    );
    assert_eq!(file.ignored().count(), 4);
    // To a drive with several streams these would be of account.
    let file = parse("[a]\nwrite_hint=short\nstream_id=1\ndirect=1\n");
    let said = [
        "test.fio: ignored, as they do not concern the drive: direct",
        "test.fio: ignored, as jobs name no streams: stream_id, write_hint",
    ];
    assert_eq!(file.notices(), said);
}

#[test]
fn an_unknown_option_is_an_error_with_its_line_and_the_nearest_name() {
    let message = error("[a]\nrw=read\niodpeth=4\n");
    assert_eq!(message, "test.fio:3: unknown option `iodpeth`; did you mean `iodepth`?");
    assert_eq!(error("[a]\nxyzzy_plugh=4\n"), "test.fio:2: unknown option `xyzzy_plugh`");
}

#[test]
fn bad_values_are_errors_that_say_what_would_be_right() {
    for (line, expected) in [
        ("rw=sideways", "randread"),
        ("bs=1000", "multiple of 512"),
        ("bs=4kib", "write `k` for 1024"),
        ("bs=", "needs a value"),
        ("iodepth=0", "1 to"),
        ("iodepth=-4", "negative"),
        ("size=99999999999999999999", "too large"),
        ("size=101%", "0% to 100%"),
        ("size=0", "leave it out"),
        ("runtime=5y", "use us, ms, s, m, h or d"),
        ("rwmixread=101", "0 to 100"),
        ("bssplit=4k/60:8k/60", "add up to 120"),
        ("random_distribution=zipf:1", "not 1"),
        ("random_distribution=zoned:50/10", "must make 100"),
        ("time_based", "needs a runtime"),
        ("size=${SIZE}", "the variable `SIZE` has no value"),
        ("numjobs=$ncpus", "`$ncpus` is a number of the machine"),
        ("bs=$pagesize*2", "write the number, or a variable"),
        ("zonemode=strided\nzonesize=0", "needs a zonesize"),
    ] {
        let message = error(&format!("[a]\n{line}\n"));
        assert!(message.starts_with("test.fio:2: ") && message.contains(expected), "{line}: {message}");
    }
}

#[test]
fn text_that_is_no_job_file_is_refused_with_its_place() {
    assert!(error("").contains("no job"));
    assert!(error("[global]\nbs=4k\n").contains("no job"));
    assert!(error("bs=4k\n[a]\n").starts_with("test.fio:1: "));
    assert!(error("[a]\n[b\n").starts_with("test.fio:2: "));
    assert!(error("[]\n").contains("section header"));
    assert!(error("[a]\ninclude other.fio\n").contains("cannot read other.fio"));
    let missing = JobFile::open(std::path::Path::new("/nonexistent.fio")).unwrap_err();
    assert!(matches!(missing, JobFileError::Read { .. }) && missing.to_string().contains("/nonexistent.fio"));
}

#[test]
fn a_job_beyond_the_drive_is_an_error_naming_the_option_and_its_line() {
    let message = device_error("[a]\nbs=4k\nsize=2g\n", GIB);
    assert!(message.starts_with("test.fio:3: job `a`: ") && message.contains("beyond the drive"), "{message}");
    assert!(device_error("[a]\noffset=2g\n", GIB).contains("the drive ends at 1073741824"));
    assert!(device_error("[a]\nbs=1m\nsize=4k\n", GIB).contains("holds no block"));
    let clones = parse("[a]\noffset_increment=100%\nnumjobs=2\n");
    assert!(clones.jobs[0].source(GIB, (0, 0), &Rng::new(1)).is_ok());
    assert!(clones.jobs[0].source(GIB, (0, 1), &Rng::new(1)).unwrap_err().to_string().contains("clone 1"));
}

#[test]
fn spans_follow_size_offset_and_clone() {
    let job = &parse("[a]\nsize=25%\noffset=10%\noffset_increment=128m\nnumjobs=3\n").jobs[0];
    let offset = (GIB / 10).next_multiple_of(4096);
    let expected = Span { start_bytes: offset + (256 << 20), length_bytes: GIB / 4 };
    assert_eq!(job.span(GIB, 2).unwrap(), expected);
    // A percentage ends where the drive ends.
    let rest = parse("[a]\nsize=100%\noffset=50%\n").jobs[0].span(GIB, 0).unwrap();
    assert_eq!(rest, Span { start_bytes: GIB / 2, length_bytes: GIB / 2 });
}

/// As in fio 3.33.
#[test]
fn of_places_in_per_cent_the_sum_is_rounded_up_to_a_block() {
    let starts = |options: &str| {
        let job = &parse(&format!("[a]\nbs=1m\nsize=100m\n{options}\n")).jobs[0];
        [0, 1, 2].map(|clone| job.span(6 << 30, clone).unwrap().start_bytes >> 20)
    };
    assert_eq!(starts("size=100%\noffset=90%\noffset_increment=3%"), [5530, 5714, 5899]);
    assert_eq!(starts("offset_increment=3%"), [0, 185, 369]);
    assert_eq!(starts("offset=100m\noffset_increment=3%"), [100, 285, 469]);
    assert_eq!(starts("offset=1%\noffset_increment=102912"), [62; 3]);
}

/// As in fio 3.33.
#[test]
fn of_some_numbers_zero_is_the_same_as_none() {
    let reads = |options: &str| {
        let all = sent(&format!("bs=4k\nsize=1m\nrw=randread\n{options}"));
        assert!(all.iter().all(|c| c.0 == Op::Read));
        all.len()
    };
    let plain = parse("[j]\n").jobs[0].clone();
    for options in [
        "number_ios=0",
        "loops=0",
        "thinktime_blocks=0",
        "flow=0",
        "zonesize=0\nzonerange=0",
        "io_size=0",
        "io_size=0%",
    ] {
        assert_eq!(reads(options), 256, "{options}");
        let job = parse(&format!("[j]\n{options}\n")).jobs[0].clone();
        assert_eq!((job.thinktime_blocks, job.loops, job.flow), (plain.thinktime_blocks, plain.loops, plain.flow));
    }
}

/// As in fio 3.33.
#[test]
fn no_block_from_each_random_place_is_a_sequence() {
    for (options, step) in [("", 4), ("\nnorandommap", 4), ("\nblockalign=8k", 4), ("\nrw_sequencer=identical", 0)] {
        let all = sent(&format!("bs=4k\nsize=64k\nloops=2\nrw=randread:0{options}"));
        assert!(all.iter().map(|c| c.1).eq((0..32).map(|block| block % 16 * step)), "{options}: {all:?}");
    }
}

#[test]
fn where_a_run_differs_from_fios_a_notice_says_so() {
    let notices = |options: &str| parse(&format!("[j]\nbs=4k\n{options}\n")).notices();
    let (end, sizes) = ("where they meet its end", "in the block size of trims");
    for (options, told) in [
        ("rw=randread\npercentage_random=50", Some(end)),
        ("rw=randread:8\nnorandommap", Some(end)),
        ("rw=randread:8\nrw_sequencer=identical", None),
        ("rw=randread:8\ntime_based\nruntime=1", None),
        ("rw=randread\npercentage_random=0", None),
        ("rw=randread\npercentage_random=100,50", None),
        ("rw=randrw\npercentage_random=100,50", Some(end)),
        ("rw=randtrimwrite\npercentage_random=100,50,100", None),
        ("rw=randtrimwrite:2", None),
        ("rw=randtrimwrite:3", Some(end)),
        ("rw=randread:0", None),
        ("rw=read\npercentage_random=50", None),
        ("rw=trimwrite\nbs=4k,8k,16k", Some(sizes)),
        ("rw=trimwrite\nbs=4k,8k", None),
        ("rw=write\nbs=4k,8k,16k", None),
    ] {
        let all = notices(options);
        assert_eq!(all.len(), usize::from(told.is_some()), "{options}: {all:?}");
        assert!(told.is_none_or(|told| all[0].contains(told)), "{options}: {all:?}");
    }
}

#[test]
fn a_random_job_covers_its_span_once_and_ends() {
    let all = commands("[a]\nrw=randwrite\nsize=1m\noffset=1m\n", GIB, usize::MAX);
    let mut blocks: Vec<u64> = all.iter().map(|c| c.offset_bytes / 4096).collect();
    blocks.sort_unstable();
    assert!(blocks.into_iter().eq(256..512));
}

#[test]
fn io_size_loops_and_time_based_decide_the_end() {
    let count = |text: &str| commands(text, GIB, 100_000).len();
    assert_eq!(count("[a]\nsize=1m\n"), 256);
    assert_eq!(count("[a]\nsize=1m\nloops=3\n"), 768);
    assert_eq!(count("[a]\nsize=1m\nio_size=64k\n"), 16);
    assert_eq!(count("[a]\nsize=1m\nio_size=2m\n"), 512);
    assert_eq!(count("[a]\nrw=randread\nsize=1m\nio_size=2m\nnorandommap\n"), 512);
    assert_eq!(count("[a]\nrw=rw\nsize=1m\n"), 256);
    // Passes of three blocks, the last of them cut short where only one is asked for (fio 3.33).
    let of_14k = |end: &str| count(&format!("[a]\nrw=write\nbs=4k\nsize=14k\n{end}\n"));
    let told =
        ["io_size=17k", "io_size=24k\nloops=2", "io_size=28k", "io_size=30k", "io_size=36k\nloops=2"].map(of_14k);
    assert_eq!(told, [5, 6, 7, 8, 9]);
    assert_eq!(count("[a]\nrw=randread\nbs=4k\nsize=14k\nio_size=60k\nnorandommap\nloops=2\n"), 30);
    assert_eq!(count("[a]\nrw=write\nbs=64k\nsize=1020k\nio_size=1980k\n"), 30);
    // Trims and writes both count towards another pass; of each, so many (fio 3.33).
    let pairs = |options: &str| count(&format!("[a]\nrw=trimwrite\nbs=4k\nsize=256k\n{options}\n")) / 2;
    for (options, blocks) in [
        ("io_size=384k", 64),
        ("io_size=512k\nrw=randtrimwrite", 64),
        ("io_size=512k\nloops=2", 128),
        ("io_size=768k", 128),
        ("io_size=768k\nloops=2", 128),
        ("io_size=1028k", 192),
        ("io_size=1m\nloops=3", 192),
        ("io_size=128k\nloops=3", 96),
        ("io_size=1m\nrw=randtrimwrite", 128),
        ("io_size=1m\nrw=randtrimwrite\nnorandommap", 256),
        ("io_size=1m\nrw=randtrimwrite:2", 256),
        ("io_size=1m\nrw=randtrimwrite\nblockalign=8k", 256),
        ("io_size=1m\nrw=randtrimwrite\nrandom_distribution=zipf:1.2", 256),
    ] {
        assert_eq!(pairs(options), blocks, "{options}");
    }
    // Nor is it otherwise with several sizes.
    let trimmed = |options: &str| {
        let all = sent(&format!("rw=trimwrite\nbsrange=4k-8k\nsize=256k\n{options}"));
        all.iter().filter(|c| c.0 == Op::Trim).map(|c| c.2).sum::<u64>()
    };
    for (options, kib) in [("384k", 256), ("520k", 512), ("1m", 512), ("1500k", 768), ("1m\nloops=3", 768)] {
        assert_eq!(trimmed(&format!("io_size={options}")), kib, "{options}");
        assert_eq!(trimmed(&format!("io_size={options}\nrw=randtrimwrite")), kib, "{options}");
    }
    // What is to be verified later is one pass, unless there is none (fio 3.33).
    let for_later = |options: &str| count(&format!("[a]\nbs=4k\nsize=256k\nverify=md5\ndo_verify=0\n{options}\n"));
    for (options, blocks) in [
        ("rw=write\nio_size=2m", 64),
        ("rw=randwrite\nio_size=1m", 64),
        ("rw=randrw\nio_size=1m", 64),
        ("rw=write:4k\nio_size=1m", 32),
        ("rw=trimwrite\nio_size=2m", 128),
        ("rw=write\nio_size=1m\nloops=2", 256),
        ("rw=write\nio_size=128k\nloops=3", 96),
        ("rw=randwrite\nio_size=1m\nnorandommap", 256),
        ("rw=write\nio_size=1m\nzonemode=strided\nzonesize=64k\nzoneskip=64k", 256),
    ] {
        assert_eq!(for_later(options), blocks, "{options}");
    }
    assert_eq!(count("[a]\nrw=trimwrite\nbs=4k\nsize=256k\nio_size=1m\nverify=md5\n"), 3 * 128);
    assert_eq!(count("[a]\nsize=1m\ntime_based\nruntime=10\n"), 100_000);
}

#[test]
fn each_pass_of_a_job_is_the_first_one_again_unless_it_is_told_otherwise() {
    let passes = |options: &str, many: usize| {
        let sent: Vec<_> = commands(&format!("[a]\nbs=4k\nsize=1m\n{options}\n"), GIB, 256 * many)
            .iter()
            .map(|c| (c.op, c.offset_bytes, c.length_bytes))
            .collect();
        assert_eq!(sent.len(), 256 * many, "{options}");
        sent.chunks(256).map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    for options in ["rw=randwrite", "rw=randread", "rw=randrw", "rw=randrw\nrwmixread=30"] {
        let once = &passes(options, 1)[0];
        for end in ["loops=3", "io_size=3m"] {
            let all = passes(&format!("{options}\n{end}"), 3);
            assert!(all.iter().all(|pass| pass == once), "{options}, {end}");
            let all = passes(&format!("{options}\n{end}\nrandrepeat=0"), 3);
            assert!(all[0] == *once && all[1] != *once && all[2] != all[1], "{options}, {end}");
            // As in fio, a seed of its own rules over randrepeat.
            let all = passes(&format!("{options}\n{end}\nrandseed=7"), 3);
            assert!(all[1] != all[0] && all[2] != all[1], "{options}, {end}");
        }
        let all = passes(&format!("{options}\ntime_based\nruntime=10"), 3);
        assert!(all[0] == *once && all[1] != *once && all[2] != all[1], "{options}");
    }
    // Blocks that may come twice have no passes.
    let all = passes("rw=randwrite\nnorandommap\nloops=2", 2);
    assert_ne!(all[0], all[1]);
}

#[test]
fn passes_that_overwrite_the_same_blocks_are_told_where_the_drive_has_them() {
    let told = |options: &str| parse(&format!("[a]\nrw=randwrite\n{options}\n")).notices_on(GIB).len();
    for options in
        ["size=1m\nloops=2", "size=1m\nio_size=2m", "size=10%\nio_size=200m", "io_size=2g", "io_size=60%\nloops=2"]
    {
        assert_eq!(told(options), 1, "{options}");
    }
    for options in [
        "size=1m",
        "size=1m\nio_size=1m",
        "size=1m\nloops=2\nrandrepeat=0",
        "size=1m\nloops=2\nrandseed=1",
        "size=1m\nloops=2\nnorandommap",
        "size=1m\nloops=2\nrw=randread",
        "size=1m\nloops=2\nba=8k",
        "size=1m\nloops=2\nio_size=512k",
        "io_size=900m",
        "size=2g\nloops=2",
    ] {
        assert_eq!(told(options), 0, "{options}");
    }
    assert!(parse("[a]\nrw=randwrite\nloops=2\n").notices().is_empty(), "which drive is not known");
    // What `check` asks for, which knows no drive.
    let on_any = |options: &str| parse(&format!("[a]\nrw=randwrite\n{options}\n")).notices_on(1 << 60).len();
    for (options, told) in
        [("size=1m\nloops=2", 1), ("size=1m\nio_size=2m", 1), ("io_size=2g", 0), ("size=10%\nio_size=2g", 0)]
    {
        assert_eq!(on_any(options), told, "{options}");
    }
}

#[test]
fn a_range_of_block_sizes_rules_over_one_in_whatever_order_they_stand() {
    for options in ["bs=64k\nbsrange=4k-8k,16k-32k", "bsrange=4k-8k,16k-32k\nbs=64k"] {
        let range = |min: u64, max: u64| BlockSizes::Range { min: min << 10, max: max << 10 };
        assert_eq!(parse(&format!("[a]\n{options}\n")).jobs[0].sizes(), [range(4, 8), range(16, 32), range(16, 32)]);
    }
    let global = parse("[global]\nbsrange=,16k-32k,\n[a]\nbs=64k\nbssplit=,,4k/100\n").jobs[0].sizes();
    let split = BlockSizes::Split(vec![(4096, 100)]);
    assert_eq!(global, [BlockSizes::Fixed(65_536), BlockSizes::Range { min: 16_384, max: 32_768 }, split]);
}

/// As fio does.
#[test]
fn sizes_of_a_split_are_multiples_of_its_smallest() {
    let sizes = |split: &str| parse(&format!("[a]\nbssplit={split}\n")).jobs[0].sizes()[1].clone();
    assert_eq!(sizes("3k/50:4k/50"), BlockSizes::Split(vec![(3072, 50), (3072, 50)]));
    assert_eq!(sizes("3k/0:8k/100"), BlockSizes::Split(vec![(3072, 0), (6144, 100)]));
    let all = sent("rw=write\nbssplit=4k/50:6k/50\nsize=256k");
    assert!(all.len() == 64 && all.iter().all(|c| c.2 == 4), "{all:?}");
}

#[test]
fn a_queue_empties_no_further_than_it_is_told() {
    let low = |options: &str| parse(&format!("[a]\nioengine=libaio\niodepth=32\n{options}\n")).jobs[0].low();
    assert_eq!(["", "iodepth_low=0", "iodepth_low=32", "iodepth_low=99"].map(low), [31; 4]);
    assert_eq!(low("iodepth_low=8"), 8);
}

#[test]
fn a_job_that_goes_on_for_its_time_does_not_count() {
    let base = "[a]\nrw=randread\nsize=1m\nnumber_ios=5\n";
    assert_eq!(commands(base, GIB, 1000).len(), 5);
    assert_eq!(commands(&format!("{base}time_based\nruntime=1\n"), GIB, 1000).len(), 1000);
}

#[test]
fn passes_of_many_sizes_and_those_that_are_verified_repeat_too() {
    let sent = |options: &str| commands(&format!("[a]\nsize=1m\n{options}\n"), GIB, 100_000);
    for options in ["rw=randwrite\nbsrange=4k-16k", "rw=write\nbsrange=4k-16k", "rw=randwrite\nbs=4k\nverify=crc32c"] {
        let once = sent(options);
        let twice = sent(&format!("{options}\nloops=2"));
        assert_eq!((twice.len(), &twice[..once.len()], &twice[once.len()..]), (2 * once.len(), &once[..], &once[..]));
        let other = sent(&format!("{options}\nloops=2\nrandrepeat=0"));
        assert!(other[..once.len()] == once[..] && other[once.len()..] != once[..], "{options}");
    }
}

#[test]
fn a_pass_in_sequence_ends_with_blocks_that_still_fit() {
    for (sizes, smallest) in
        [("bsrange=4k-64k", 4096), ("bsrange=4k-10k", 4096), ("bssplit=4k/1:1m/99", 4096), ("bssplit=1m/99:8k/1", 8192)]
    {
        let all = commands(&format!("[a]\nrw=write\nsize=5m\n{sizes}\nloops=20\n"), GIB, 1_000_000);
        let mut at = 0;
        for c in &all {
            assert!(c.offset_bytes == at, "{sizes}: {} at {}", c.length_bytes, c.offset_bytes);
            at += c.length_bytes;
            at = if (5 << 20) - at < smallest { 0 } else { at };
            assert!(at <= 5 << 20);
        }
        assert_eq!(at, 0, "{sizes}");
        assert_eq!(all.iter().filter(|c| c.offset_bytes == 0).count(), 20, "{sizes}");
    }
}

#[test]
fn a_remainder_shorter_than_a_block_is_left_out_as_fio_does() {
    let all = commands("[a]\nrw=write\nbs=64k\nsize=100k\n", GIB, usize::MAX);
    assert_eq!(all.len(), 1);
}

#[test]
fn fsync_puts_a_flush_after_every_so_many_writes() {
    let ops: Vec<Op> =
        commands("[a]\nrw=write\nsize=24k\nfsync=2\nfdatasync=3\n", GIB, usize::MAX).iter().map(|c| c.op).collect();
    use Op::{Flush as F, Write as W};
    assert_eq!(ops, [W, W, F, W, F, W, F, W, W], "none behind the last, and one for both");
    let fua = commands("[a]\nrw=write\nsync=1\n", GIB, 1);
    assert!(fua[0].fua);
}

#[test]
fn clones_and_seeds_differ_and_randseed_fixes_them() {
    let job = |text: &str| parse(text).jobs[0].clone();
    let offsets = |text: &str, clone, seed| -> Vec<u64> {
        let mut source = job(text).source(GIB, (0, clone), &Rng::new(seed)).unwrap();
        (0..8).map(|_| source.next().unwrap().offset_bytes).collect()
    };
    let plain = "[a]\nrw=randread\nnumjobs=2\n";
    assert_eq!(offsets(plain, 0, 1), offsets(plain, 0, 1));
    assert_ne!(offsets(plain, 0, 1), offsets(plain, 1, 1));
    assert_ne!(offsets(plain, 0, 1), offsets(plain, 0, 2));
    let fixed = "[a]\nrw=randread\nrandseed=5\n";
    assert_eq!(offsets(fixed, 0, 1), offsets(fixed, 0, 2));
    // Jobs of one file that have it from [global] do not go to the same places.
    let both = parse("[global]\nrw=randread\nrandseed=5\n[a]\n[b]\n");
    let of = |index: usize| {
        let mut source = both.jobs[index].source(GIB, (index, 0), &Rng::new(1)).unwrap();
        (0..8).map(|_| source.next().unwrap().offset_bytes).collect::<Vec<_>>()
    };
    assert_ne!(of(0), of(1));
}

#[test]
fn stonewalls_make_stages_and_groups() {
    let file = parse("[a]\n[b]\n[c]\nstonewall\n[d]\nnew_group\n[e]\n");
    assert_eq!(file.stages(), [0..2, 2..5]);
    assert_eq!(file.group_ids(), [0, 0, 1, 2, 2]);
}

#[test]
fn doubtful_units_are_noticed() {
    let file = parse("[a]\nsize=1gib\n");
    assert_eq!(file.jobs[0].size, Some(Amount::Bytes(1_000_000_000)));
    assert!(file.notices()[0].contains("powers of 1000"));
    let base = parse("[a]\nsize=1gib\nkb_base=1000\n");
    assert_eq!((base.jobs[0].size, base.notices().len()), (Some(Amount::Bytes(GIB)), 0));
}

#[test]
fn the_example_job_files_run_on_a_128_gb_drive() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/jobs");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = JobFile::open(&path).unwrap_or_else(|e| panic!("{e}"));
        for job in &file.jobs {
            let mut source = job.source(128_035_676_160, (0, 0), &Rng::new(1)).unwrap_or_else(|e| panic!("{e}"));
            assert!((0..1000).all(|_| source.next().is_some()), "{}: {}", path.display(), job.name);
        }
        seen += 1;
    }
    assert!(seen >= 6, "{seen} examples in {folder}");
}

#[test]
fn the_table_of_options_explains_every_option() {
    for option in option_table() {
        assert!(!option.help.is_empty(), "{}", option.name);
        if option.usage == OptionUse::Supported {
            assert!(!option.default.is_empty(), "{}", option.name);
        }
    }
}

#[test]
fn reads_and_writes_of_different_alignment_run_without_a_map() {
    let all = commands("[a]\nrw=randrw\nbs=4k\nblockalign=4k,8k\nsize=1m\n", GIB, usize::MAX);
    assert_eq!(all.len(), 256);
    assert!(all.iter().all(|c| c.op == Op::Read || c.offset_bytes % 8192 == 0));
}

/// All commands of the first job, clone 0, on a drive of 1 GiB: operation, place and length in KiB.
fn sent(options: &str) -> Vec<(Op, u64, u64)> {
    let file = parse(&format!("[j]\n{options}\n"));
    let mut source = file.jobs[0].source(GIB, (0, 0), &Rng::new(1)).unwrap_or_else(|e| panic!("{e}"));
    std::iter::from_fn(|| source.next()).map(|c| (c.op, c.offset_bytes / 1024, c.length_bytes / 1024)).collect()
}

#[test]
fn a_pattern_with_an_offset_goes_backwards_or_leaves_holes() {
    let places = |options: &str| sent(options).iter().map(|c| c.1).collect::<Vec<_>>();
    assert_eq!(places("rw=read:-8k\nbs=4k\nsize=20k\noffset=20k"), [32, 28, 24, 20, 32]);
    // As in fio, from the drive's first block.
    assert_eq!(places("rw=write:-8k\nbs=4k\nsize=20k"), [0, 12, 8, 4, 0]);
    assert_eq!(places("rw=read:-4k\nbs=4k\nsize=20k"), [0; 5]);
    assert_eq!(places("rw=write:12k\nbs=4k\nsize=32k"), [0, 16]);
    assert_eq!(places("rw=write:12k\nbs=4k\nsize=32k\nloops=2"), [0, 16, 0, 16]);
    assert_eq!(places("rw=write:12k\nbs=4k\nsize=32k\nio_size=40k").len(), 10);
    assert_eq!(places("rw=write:12k\nbs=4k\nfilesize=32k"), [0, 16]);
    let count = |options: &str| places(&format!("rw=write:8k\nbs=4k\n{options}")).len();
    let counts =
        ["size=8m", "size=8m\nloops=2", "size=8m\noffset=4m", "size=4m", "size=4m\nloops=2", "size=4m\noffset=12m"]
            .map(|options| count(&format!("filesize=16m\n{options}")));
    assert_eq!(counts, [1366, 2732, 1024, 1024, 2048, 342]);
    let counts =
        ["512k", "512k\nloops=2", "512k\nloops=3", "200k\nloops=2"].map(|io| count(&format!("size=1m\nio_size={io}")));
    assert_eq!(counts, [128, 172, 258, 100]);
    assert_eq!(count("size=1020k\nio_size=2m\nloops=2"), 595);
    // Where the span is the whole drive, it begins again.
    assert_eq!(places("rw=write:4k\nbs=4k\nsize=100%").len(), 262_144);
    let runs = places("rw=randread:4\nbs=4k\nsize=64m\nnumber_ios=400");
    assert!(runs.len() == 400 && runs.chunks(4).all(|run| run.windows(2).all(|w| w[1] == w[0] + 4)), "{runs:?}");
    let same = places("rw=randread:4\nrw_sequencer=identical\nbs=4k\nsize=64m\nnumber_ios=40");
    assert!(same.chunks(4).all(|run| run.iter().all(|at| *at == run[0])));
    let zones = places("rw=read\nbs=4k\nsize=40k\nzonemode=strided\nzonesize=8k\nzoneskip=8k");
    assert_eq!(zones, [0, 4, 16, 20, 32, 36, 48, 52, 64, 68], "as many as the span has, up to the end of the drive");
    // The last block of a zone lies over its end.
    let zones = places("rw=write\nbs=48k\nsize=12m\nzonemode=strided\nzonesize=1m\nzoneskip=1m");
    assert_eq!(zones[20..24], [960, 1008, 2048, 2096]);
    assert_eq!((zones.len(), zones.iter().collect::<std::collections::BTreeSet<_>>().len()), (256, 256));
    let zones = places("rw=read\nbs=4k\nsize=40k\nfilesize=56k\nzonemode=strided\nzonesize=8k\nzoneskip=8k");
    assert_eq!(zones, [0, 4, 16, 20, 32, 36, 48, 52, 0, 4]);
}

#[test]
fn commands_stay_within_the_reach_of_their_job() {
    for (options, kib) in [
        ("rw=randwrite", 1024),
        ("rw=write\nzonemode=strided\nzonesize=64k\nzoneskip=64k", 1984),
        ("rw=randrw\nzonemode=strided\nzonesize=64k\nzoneskip=64k\nio_size=2m", 4032),
        ("rw=randread\nzonemode=strided\nzonesize=64k\nzonerange=2m", 1 << 20),
        ("rw=write\nzonemode=strided\nzonesize=64k\nzoneskip=1g", 1024),
        ("rw=trimwrite\nzonemode=strided\nzonesize=64k\nzoneskip=64k", 4032),
        ("rw=read\nfilesize=1500k\nzonemode=strided\nzonesize=64k\nzoneskip=64k", 1500),
        ("rw=write\nbs=48k\nzonemode=strided\nzonesize=64k\nzoneskip=64k", 2016),
        ("rw=randread:8\nbs=48k\nzonemode=strided\nzonesize=64k\nzoneskip=64k", 2016),
        ("rw=randread:8\nbsrange=4k-48k\nzonemode=strided\nzonesize=64k\nzonerange=100k", 1 << 20),
    ] {
        let file = parse(&format!("[j]\nbs=4k\nsize=1m\noffset=0\n{options}\n"));
        let reach = file.jobs[0].reach(GIB, 0).unwrap_or_else(|e| panic!("{e}"));
        let sent = commands(&format!("[j]\nbs=4k\nsize=1m\n{options}\n"), GIB, usize::MAX);
        let end = sent.iter().map(|c| c.offset_bytes + c.length_bytes).max().unwrap_or(0);
        assert!(end <= reach.length_bytes, "{options}: {end}");
        if kib < 1 << 20 {
            assert_eq!((reach.start_bytes, reach.length_bytes >> 10), (0, kib), "{options}");
        }
    }
}

#[test]
fn a_share_of_a_random_pattern_goes_on_in_sequence() {
    let sent = sent("rw=randread\nbs=4k\nnorandommap\npercentage_random=25\nnumber_ios=4000");
    let jumps = sent.windows(2).filter(|w| w[1].1 != w[0].1 + 4).count();
    assert!((850..1150).contains(&jumps), "{jumps}");
}

#[test]
fn a_job_ends_where_its_file_does() {
    let span = |options: &str| {
        let span = parse(&format!("[j]\nbs=4k\n{options}\n")).jobs[0].span(GIB, 0).map_err(|e| e.to_string())?;
        Ok::<_, String>((span.start_bytes / 1024, span.length_bytes / 1024))
    };
    assert_eq!(span("filesize=8k"), Ok((0, 8)));
    assert_eq!(span("filesize=8k\nsize=20k"), Ok((0, 8)));
    assert_eq!(span("filesize=16m\noffset=8m"), Ok((8192, 8192)));
    assert_eq!(span("filesize=1m\nsize=50%"), Ok((0, 512)));
    for range in ["8k-16k", "16k:8k"] {
        assert_eq!(span(&format!("filesize={range}")), Ok((0, 8)));
        let notices = parse(&format!("[j]\nfilesize={range}\n")).notices();
        assert!(notices.len() == 1 && notices[0].contains("the smallest is taken"), "{notices:?}");
    }
    assert!(parse("[j]\nfilesize=8k-8k\n").notices().is_empty());
    assert_eq!(span("filesize=16m\nsize=50%\noffset=12m"), Ok((12_288, 4096)));
    assert!(span("filesize=1m\noffset=2m").is_err_and(|e| e.contains("the file ends at 1048576")));
    assert!(span("filesize=2g").is_err_and(|e| e.contains("a file of 2147483648 bytes")));
    assert_eq!(
        sent("rw=read\nbs=4k\nfilesize=8k\nio_size=20k").iter().map(|c| c.1).collect::<Vec<_>>(),
        [0, 4, 0, 4, 0]
    );
}

#[test]
fn a_random_fill_of_many_sizes_covers_every_block_once() {
    for sizes in ["bsrange=4k-16k", "bssplit=4k/50:16k/50", "bsrange=4k-10k"] {
        let mut blocks: Vec<u64> = Vec::new();
        for (_, at, length) in sent(&format!("rw=randwrite\n{sizes}\nsize=16m")) {
            blocks.extend((at / 4..).take(length.div_ceil(4) as usize));
        }
        blocks.sort_unstable();
        assert_eq!(blocks, (0..4096).collect::<Vec<_>>(), "{sizes}");
    }
    let apart = sent("rw=randwrite\nbsrange=4k-16k\nsize=16m\nnorandommap");
    assert!(apart.iter().map(|c| c.1).collect::<std::collections::BTreeSet<_>>().len() < apart.len());
}

#[test]
fn a_range_whose_largest_size_is_no_multiple_of_the_smallest_has_it_as_well() {
    let sent = sent("rw=randwrite\nbsrange=4k-10k\nnorandommap\nnumber_ios=10000\nsize=100%");
    let share = |kib| sent.iter().filter(|c| c.2 == kib).count() as f64 / sent.len() as f64;
    assert!((share(4) - 0.4).abs() < 0.02 && (share(8) - 0.4).abs() < 0.02 && (share(10) - 0.2).abs() < 0.02);
    let mean = sent.iter().map(|c| c.2 as f64).sum::<f64>() / sent.len() as f64;
    assert!((BlockSizes::Range { min: 4096, max: 10_240 }.mean_bytes() / 1024.0 - mean).abs() < 0.1);
}

#[test]
fn verification_reads_what_was_written_once_everything_is() {
    let (write, read) = (Op::Write, Op::Read);
    let ops = |options: &str| sent(options).iter().map(|c| (c.0, c.1)).collect::<Vec<_>>();
    let base = "rw=write\nbs=4k\nsize=12k\nverify=crc32c";
    let once = [(write, 0), (write, 4), (write, 8), (read, 0), (read, 4), (read, 8)];
    assert_eq!(ops(base), once);
    assert_eq!(ops(&format!("{base}\nloops=2")), [once, once].concat());
    assert_eq!(ops(&format!("{base}\ndo_verify=0")), once[..3]);
    assert_eq!(ops(&format!("{base}\nverify_only")), once[3..]);
    // As in fio, a method that compares nothing reads all the same.
    assert_eq!(ops(&format!("{base}\nverify=null")), once);
    assert_eq!(ops(&format!("{base}\nverify=0")), once[..3]);
    assert_eq!(ops(&format!("{base}\nnumber_ios=2")), [(write, 0), (write, 4), (read, 0), (read, 4)]);
    assert_eq!(
        ops(&format!("{base}\nverify_backlog=2")),
        [(write, 0), (write, 4), (read, 0), (read, 4), (write, 8), (read, 8)]
    );
    // Without a map, each block once, in rising order, after the last write.
    let random = sent("rw=randwrite\nbs=4k\nsize=400k\nnorandommap\nverify=pattern");
    let (writes, reads) = random.split_at(100);
    assert!(writes.iter().all(|c| c.0 == write) && reads.iter().all(|c| c.0 == read && c.2 == 4));
    let written: std::collections::BTreeSet<u64> = writes.iter().map(|c| c.1).collect();
    assert!(reads.iter().map(|c| c.1).eq(written));
    // Reading jobs read, and no more: their reads are compared anyway.
    assert_eq!(ops("rw=read\nbs=4k\nsize=8k\nverify=md5"), [(read, 0), (read, 4)]);
    let notice = &parse("[j]\nverify=crc32c\n").notices()[0];
    assert!(notice.contains("by a tag for each 4 KiB") && notice.contains("A real drive must return"), "{notice}");
}

/// As fio does.
#[test]
fn where_blocks_are_written_once_each_write_is_read_as_it_was_made_and_before_the_next_pass() {
    let place = |c: &(Op, u64, u64)| (c.1, c.2);
    for options in [
        "rw=randwrite\nbs=4k",
        "rw=randwrite\nbsrange=4k-64k",
        "rw=write\nbssplit=4k/50:8k/50",
        "rw=randrw\nbs=8k",
        "rw=rw\nbsrange=4k-16k",
        "rw=randtrimwrite\nbs=4k,64k,4k",
        "rw=randtrimwrite\nbs=4k,4k,64k",
    ] {
        let all = sent(&format!("{options}\nsize=1m\nverify=crc32c"));
        let last = all.iter().rposition(|c| c.0 == Op::Write).unwrap() + 1;
        // A mixed job may end with reads of its own.
        let writes: Vec<_> = all[..last].iter().filter(|c| c.0 == Op::Write).map(place).collect();
        let reads: Vec<_> = all[all.len() - writes.len()..].iter().map(place).collect();
        assert_eq!((writes.len() > 3, reads), (true, writes), "{options}");
    }
    let ops = |options: &str| {
        let all = sent(&format!("rw=randwrite\nbs=4k\nsize=16k\nverify=crc32c\n{options}"));
        all.iter().map(|c| c.0.name().chars().next().unwrap()).collect::<String>()
    };
    // As fio 3.33 does it: after each pass it looks whether a block fits into what is left, towards which reads count too.
    for (options, passes) in
        [("24k", 1), ("36k", 2), ("48k", 2), ("24k\nloops=2", 2), ("64k\nloops=2", 2), ("68k\nloops=2", 3)]
    {
        assert_eq!(ops(&format!("io_size={options}")), "wwwwrrrr".repeat(passes), "{options}");
    }
    assert_eq!(ops("io_size=8k\nloops=3"), "wwwwrrrrwwrr");
    assert_eq!(ops("io_size=8k\nloops=3\nnumber_ios=1"), "wwwrrr");
    assert_eq!(ops("loops=2\nnorandommap").matches('w').count(), 8);
}

/// As fio 3.33 does.
#[test]
fn a_flush_ends_each_pass_before_it_is_read_back() {
    let ops = |options: &str| {
        let all = sent(&format!("rw=write\nbs=4k\nsize=16k\nend_fsync=1\n{options}"));
        all.iter().map(|c| c.0.name().chars().next().unwrap()).collect::<String>()
    };
    for (options, expected) in [
        ("", "wwwwf"),
        ("loops=3", "wwwwfwwwwfwwwwf"),
        ("verify=crc32c", "wwwwfrrrr"),
        ("verify=crc32c\nloops=2", "wwwwfrrrrwwwwfrrrr"),
        ("verify=crc32c\nverify_only", "rrrr"),
        ("io_size=40k", "wwwwfwwwwfwwf"),
        ("rw=randwrite\nnorandommap\nio_size=64k", "wwwwwwwwwwwwwwwwf"),
        ("fsync=1", "wfwfwfwf"),
        ("fsync=2", "wwfwwf"),
        ("rw=read", "rrrr"),
        ("number_ios=3\nverify=crc32c", "wwwfrrr"),
        ("end_fsync=0\nfsync_on_close=1\nloops=2", "wwwwfwwwwf"),
        // One that is due behind the last write of all is not sent, though that is read back; fio sends that between passes twice.
        ("end_fsync=0\nfsync=2\nverify=md5", "wwfwwrrrr"),
        ("end_fsync=0\nfsync=2\nverify=md5\nnumber_ios=2\nloops=2", "wwfwwrrrr"),
        ("end_fsync=0\nfsync=2\nverify=md5\nloops=2", "wwfwwfrrrrwwfwwrrrr"),
        ("end_fsync=0\nfsync=2\nverify=md5\nverify_backlog=2", "wwrrfwwrr"),
        ("end_fsync=0\nfsync=2\nverify=md5\nverify_backlog=2\nloops=2", "wwrrfwwrrfwwrrfwwrr"),
        ("end_fsync=0\nfsync=2\nverify=md5\nverify_backlog=3", "wwfwrrrwr"),
    ] {
        assert_eq!(ops(options), expected, "{options}");
    }
    let file = parse("[j]\nrw=write\nbs=4k\nsize=8k\nfsync=1\nend_fsync=1\nverify=crc32c\n");
    let mut source = file.jobs[0].source(GIB, (0, 0), &Rng::new(1)).unwrap();
    let mut told = Vec::new();
    while source.next().is_some() {
        told.push((source.ends_pass(), source.must_wait(), source.verifies()));
        source.waited();
    }
    let (other, end, read) = ((false, false, false), (true, true, false), (false, false, true));
    assert_eq!(told, [other, other, other, end, (false, true, true), read]);
}

#[test]
fn what_is_trimmed_and_written_without_a_map_is_verified_too() {
    let all = sent("rw=randtrimwrite\nbs=4k,64k,4k\nnorandommap\nsize=1m\nverify=crc32c");
    let of = |op: Op| all.iter().filter(|c| c.0 == op).map(|c| (c.1, c.2)).collect::<std::collections::BTreeSet<_>>();
    assert!(of(Op::Write).len() > 100 && of(Op::Read) == of(Op::Write), "{all:?}");
    // Neither is the end of a longer write left out, nor read beyond the drive's.
    let all = sent("rw=randwrite\nbsrange=4k-6k\nnorandommap\noffset=1048564k\nba=512\nio_size=400k\nverify=crc32c");
    assert!(all.iter().all(|c| c.1 + c.2 <= GIB / 1024), "{all:?}");
    let read = |at: u64| all.iter().any(|c| c.0 == Op::Read && (c.1..c.1 + c.2).contains(&at));
    assert!(all.iter().filter(|c| c.0 == Op::Write).all(|c| (c.1..c.1 + c.2).all(read)), "{all:?}");
}

#[test]
fn the_command_after_a_barrier_waits_for_those_before_it() {
    let file = parse("[j]\nrw=write\nbs=4k\nsize=16k\nverify=crc32c\nverify_backlog=2\n");
    let mut source = file.jobs[0].source(GIB, (0, 0), &Rng::new(1)).unwrap();
    let mut waits = Vec::new();
    while let Some(command) = source.next() {
        waits.push((command.op, source.must_wait()));
        source.waited();
    }
    let (write, read) = (Op::Write, Op::Read);
    let half = [(write, false), (write, false), (read, true), (read, false)];
    assert_eq!(waits, [half, half].concat());
}

#[test]
fn variables_have_the_values_they_are_given_and_are_named() {
    let text = "[global]\nfilename=${DISK}\n[j]\nrw=${RW}\nsize=${N}m\n";
    let values = |name: &str| match name {
        "RW" => Some("randwrite".to_owned()),
        "N" => Some("64".to_owned()),
        _ => None,
    };
    let file = JobFile::parse_with("test.fio", text, &values).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((file.jobs[0].rw, file.jobs[0].size), (Rw::RandWrite, Some(Amount::Bytes(64 << 20))));
    assert_eq!(file.jobs[0].given["size"], "64m");
    // What is ignored needs no value.
    assert!(file.notices().iter().any(|n| n == "test.fio: ${RW} is `randwrite`"), "{:?}", file.notices());
    assert!(error("[j]\nsize=${N\n").contains("a variable ends with }"));
}

#[test]
fn included_files_stand_where_they_are_named_and_errors_name_them() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("include");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("main.fio", "[global]\nbs=8k\ninclude part.fio\n[last]\nrw=read\n");
    write("part.fio", "iodepth=4\n[from part]\nrw=write\nsize=1m\n");
    let file = JobFile::open(&folder.join("main.fio")).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<_> = file.jobs.iter().map(|j| (j.name.as_str(), j.iodepth, j.sizes()[0].min_bytes())).collect();
    assert_eq!(names, [("from part", 4, 8192), ("last", 4, 8192)]);
    write("part.fio", "[a]\nbogus=1\n");
    let message = JobFile::open(&folder.join("main.fio")).unwrap_err().to_string();
    assert!(message.contains("part.fio:2: unknown option `bogus`"), "{message}");
    write("part.fio", "include part.fio\n");
    let message = JobFile::open(&folder.join("main.fio")).unwrap_err().to_string();
    assert!(message.contains("does one include itself?"), "{message}");
    write("part.fio", "include /dev/zero\n");
    let message = JobFile::open(&folder.join("main.fio")).unwrap_err().to_string();
    assert!(message.contains("it is a device, not a file"), "{message}");
}

#[test]
fn what_fio_knows_and_ssdlab_does_not_do_is_refused_with_the_reason() {
    for (line, expected) in [
        ("read_iolog=x", "use `ssdlab replay`"),
        ("zonemode=zbd", "zoned drives are not simulated"),
        ("http_mode=s3", "ioengine=http"),
        ("verify=crc32d", "did you mean `crc32`?"),
        ("ss=iops", "needs a limit"),
        ("ss=iops:0.3%", "needs steadystate_duration"),
        ("latency_target=100", "needs a latency_window"),
        ("rate_process=poisson", "needs rate_iops"),
        ("wait_for=nobody", "no job `nobody` before this one"),
        ("zonemode=strided", "needs a zonesize"),
        ("rw=read:100", "multiple of 512"),
        ("percentile_list=50:101", "at most 100"),
        ("write_bw_log=a/b", "without folders"),
        ("create_only=1", "send nothing else"),
        ("nrfiles=4", "4 files are 4 streams"),
        ("profile=tiobench", "fio's profiles are not known"),
        ("ss_interval=2", "steadystate looks at every second"),
        ("log_window_value=both", "use avg or max"),
        ("log_max_value=2", "must be avg or max"),
        ("startdelay=3-2", "a shorter and a longer one"),
        ("startdelay=1-", "is not a number"),
        ("end_syncfs=1", "use end_fsync"),
    ] {
        let message = error(&format!("[a]\n{line}\n"));
        assert!(message.starts_with("test.fio:2: ") && message.contains(expected), "{line}: {message}");
    }
}

#[test]
fn jobs_of_one_entry_agree_on_their_steady_state() {
    let file = |first: &str, second: &str| {
        format!("[global]\nrw=read\ntime_based\nruntime=9\ngroup_reporting\n[a]\n{first}\n[b]\n{second}\n")
    };
    let steady = "ss=iops:1%\nss_dur=3";
    for (first, second, line) in
        [("", steady, 9), (steady, "", 7), (steady, "ss=iops:2%\nss_dur=3", 10), (steady, "ss=iops:1%\nss_dur=4", 10)]
    {
        let message = error(&file(first, second));
        assert!(message.starts_with(&format!("test.fio:{line}: ")), "{message}");
        let said = message.contains("steadystate must be the same") && message.contains("`a` and `b` differ");
        assert!(said, "{message}");
    }
    assert_eq!(parse(&file(steady, steady)).jobs.len(), 2);
    for apart in ["new_group", "stonewall", "group_reporting=0"] {
        assert_eq!(parse(&file(steady, apart)).jobs.len(), 2, "{apart}");
    }
}

/// As in fio.
#[test]
fn a_share_that_can_be_compressed_rules_over_what_buffers_are_filled_with() {
    let percent = |options: &str| parse(&format!("[a]\n{options}\n")).jobs[0].compressibility();
    for fill in ["buffer_pattern=0xdeadbeef", "zero_buffers", "zero_buffers=1\nbuffer_pattern=a"] {
        assert_eq!(percent(fill), 100, "{fill}");
        for share in [0, 40] {
            let expected = if share == 0 { 100 } else { share };
            let share = format!("buffer_compress_percentage={share}");
            assert_eq!(percent(&format!("{share}\n{fill}")), expected, "{share} {fill}");
            assert_eq!(percent(&format!("{fill}\n{share}")), expected, "{fill} {share}");
        }
    }
    assert_eq!((percent("zero_buffers=0"), percent("buffer_compress_percentage=100")), (0, 100));
}

#[test]
fn a_window_of_a_log_has_its_mean_or_its_largest_value() {
    for (value, largest) in [("avg", false), ("0", false), ("max", true), ("1", true)] {
        for name in ["log_window_value", "log_max_value"] {
            assert_eq!(parse(&format!("[a]\n{name}={value}\n")).jobs[0].logs.largest, largest, "{name}={value}");
        }
    }
}

#[test]
fn files_are_as_many_as_there_are_names_of_them() {
    // As in fio, a filename rules over nrfiles, in whatever order they stand.
    for options in ["nrfiles=4\nfilename=/dev/sdb", "filename=/dev/sdb\nnrfiles=4", "nrfiles=1", "create_only=0"] {
        assert_eq!(sent(&format!("rw=write\nsize=64k\n{options}")).len(), 16, "{options}");
    }
}
