//! Whatever the bytes: an answer or an error, never a panic.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_core::Rng;
use ssdlab_workload::Source;
use ssdlab_workload::fio::{JobFile, option_table};
use ssdlab_workload::trace::{FORMATS, TraceReader};

fn read_all(bytes: &[u8]) {
    for format in std::iter::once(None).chain(FORMATS.map(|f| Some(f.0))) {
        if let Ok(reader) = TraceReader::new("t", bytes, format) {
            let mut last = 0;
            for record in reader.flatten() {
                assert!(record.at >= last, "time never runs backwards");
                last = record.at;
                assert!(record.offset_bytes.checked_add(record.length_bytes).is_some());
            }
        }
    }
}

fn run_jobs(text: &str) {
    if let Ok(file) = JobFile::parse("t", text) {
        assert!(!file.jobs.is_empty());
        for job in &file.jobs {
            for capacity in [4096, 1 << 20, 128_035_676_160] {
                if let Ok(mut source) = job.source(capacity, (0, job.numjobs - 1), &Rng::new(1)) {
                    for command in std::iter::from_fn(|| source.next()).take(50) {
                        assert!(command.offset_bytes + command.length_bytes <= capacity);
                        assert_eq!((command.offset_bytes % 512, command.length_bytes % 512), (0, 0));
                    }
                }
            }
        }
    }
}

/// Numbers that tend to break things, and words that formats know.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u64>().prop_map(|n| n.to_string()),
        (0..5000u64).prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        "[0-9]{1,4}(k|kib|m|g|p|%|ms|h)?",
        "[0-9]{1,22}\\.[0-9]{0,12}",
        prop::sample::select(vec![
            "Read", "Write", "R", "W", "D", "Q", "FN", "FWFS", "+", "hm", "8,0", "wait", "read", "write", "trim",
            "sync", "/dev/sdb", "CPU0", "(", "512", "4096", "4k", "64k", "0", "1",
        ])
        .prop_map(str::to_owned),
    ]
}

fn option_line() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = option_table().map(|o| o.name).collect();
    let value = prop_oneof![
        word(),
        (word(), prop::sample::select(vec![",", ":", "/", "-"]), word()).prop_map(|(a, s, b)| format!("{a}{s}{b}")),
        prop::sample::select(vec![
            "randrw",
            "randwrite",
            "write",
            "trimwrite",
            "zipf:1.2",
            "zipf:0.9:0.5",
            "pareto:0.3",
            "zoned:60/10:40/90",
            "zoned_abs:100/64k",
            "4k/50:512/50",
            "512-4k",
        ])
        .prop_map(str::to_owned),
    ];
    (prop::sample::select(names), value).prop_map(|(name, value)| format!("{name}={value}"))
}

/// The same cases in every run.
fn fixed(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(fixed(2000))]

    #[test]
    fn traces_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }

    #[test]
    fn traces_of_likely_words(
        lines in prop::collection::vec((prop::collection::vec(word(), 1..12), prop::bool::ANY), 1..6),
        header in prop::sample::select(vec!["", "fio version 2 iolog\n", "fio version 3 iolog\n"]),
    ) {
        let body: Vec<String> = lines.iter().map(|(w, comma)| w.join(if *comma { "," } else { " " })).collect();
        read_all(format!("{header}{}", body.join("\n")).as_bytes());
    }

    #[test]
    fn vscsi_records_of_any_content(records in prop::collection::vec(any::<[u8; 40]>(), 1..5), version in 1..3u8) {
        let mut bytes = Vec::new();
        for mut r in records {
            if version == 1 {
                (r[12], r[13], r[14], r[15]) = (0x28, 0, 0, 1);
                bytes.extend(&r[..32]);
            } else {
                (r[0], r[1], r[2], r[3]) = (0x2A, 0, 0, 2);
                bytes.extend(&r);
            }
        }
        read_all(&bytes);
    }

    #[test]
    fn job_files_of_any_text(text in "\\PC{0,200}") {
        run_jobs(&text);
    }

    #[test]
    fn job_files_of_known_options(lines in prop::collection::vec(option_line(), 0..4)) {
        run_jobs(&format!("[a]\n{}\n", lines.join("\n")));
    }
}
