//! What trace readers promise: every request of every format exactly, and an error with its place for the rest.

use std::path::{Path, PathBuf};

use ssdlab_core::{MILLISECOND, Nanos, Op, SECOND};
use ssdlab_workload::trace::{
    FORMATS, Format, SourceReader, Stamps, TraceError, TraceReader, TraceRecord, TraceSource, TraceSummary,
};

/// As a command opens it.
fn open(path: &Path, format: Option<Format>) -> Result<SourceReader, TraceError> {
    TraceSource::from(path).open(format)
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn record(at: Nanos, op: Op, device: u32, offset_bytes: u64, length_bytes: u64) -> TraceRecord {
    TraceRecord { at, op, device, offset_bytes, length_bytes, fua: false }
}

/// Format recognised, devices, requests, backwards.
fn read(name: &str) -> (Format, Vec<String>, Vec<TraceRecord>, u64) {
    let mut reader = open(&data(name), None).unwrap();
    let records: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    (reader.format(), reader.devices().map(str::to_owned).collect(), records, reader.stamps().backwards)
}

fn parse(bytes: &[u8], format: Option<Format>) -> Result<Vec<TraceRecord>, TraceError> {
    TraceReader::new("t", bytes, format)?.collect()
}

fn error(bytes: &[u8], format: Option<Format>) -> String {
    parse(bytes, format).unwrap_err().to_string()
}

#[test]
fn msr_cambridge() {
    let (format, devices, records, backwards) = read("msr.csv");
    assert_eq!((format, backwards), (Format::Msr, 1));
    assert_eq!(devices, ["hm,0", "hm,1"]);
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 7_014_912, 4096),
            record(10_000, Op::Read, 1, 512, 8192),
            // Stamped 2.9 us earlier than the one before: arrives with it.
            record(10_000, Op::Read, 0, 7_014_912, 65_536),
            record(SECOND, Op::Write, 0, 4096, 3584),
        ]
    );
}

#[test]
fn vscsi_version_1() {
    let (format, devices, records, backwards) = read("v1.vscsi");
    assert_eq!((format, devices.len(), backwards), (Format::VscsiV1, 1, 1));
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 51_200, 4096),
            record(10_000, Op::Read, 0, 4096, 65_536),
            record(30_000, Op::Flush, 0, 0, 0),
            record(30_000, Op::Read, 0, 512 << 33, 512),
        ]
    );
}

#[test]
fn vscsi_version_2() {
    let (format, _, records, _) = read("v2.vscsi");
    assert_eq!(format, Format::VscsiV2);
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 51_200, 4096),
            record(10_000, Op::Read, 0, 4096, 65_536),
            record(SECOND, Op::Write, 0, 4608, 512),
        ]
    );
}

/// Version 1: serial number, SCSI command and sector; 4 KiB each.
fn vscsi_1(serial: u32, command: u8, sector: u64) -> Vec<u8> {
    let head = [serial, 4096, 1, u32::from(command) | 1 << 24].map(u32::to_le_bytes).concat();
    [head, sector.to_le_bytes().to_vec(), u64::from(serial).to_le_bytes().to_vec()].concat()
}

#[test]
fn a_binary_excerpt_may_begin_with_the_bytes_of_a_mark_or_of_gzip() {
    for serial in [0x8B1F, 0xBF_BBEF] {
        let bytes = [vscsi_1(serial, 0x2A, 8), vscsi_1(serial + 1, 0x28, 16)].concat();
        for format in [None, Some(Format::VscsiV1)] {
            let records = TraceSource::hold("-", &bytes[..]).unwrap().open(format).unwrap();
            let records: Vec<_> = records.collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{serial:#x}: {e}"));
            assert_eq!(records, [record(0, Op::Write, 0, 4096, 4096), record(1000, Op::Read, 0, 8192, 4096)]);
        }
    }
    // Of text it is no part, in a named format neither.
    let text = b"\xEF\xBB\xBF1 0 8 8 0\n";
    assert_eq!(parse(text, None).unwrap(), parse(text, Some(Format::Mqsim)).unwrap());
    assert!(error(&text[..3], None).contains("is empty"));
}

#[test]
fn of_scsi_commands_those_are_requests_whose_record_says_what_they_touch() {
    // ORWRITE; COMPARE AND WRITE, 32 bytes, WRITE SAME and UNMAP.
    let bytes: Vec<u8> =
        [0x8B, 0x89, 0x7F, 0x41, 0x42].iter().zip(0..).flat_map(|(&command, i)| vscsi_1(i, command, 8)).collect();
    let mut reader = TraceReader::new("t", &bytes[..], None).unwrap();
    let summary = TraceSummary::read(&mut reader).unwrap();
    assert_eq!((summary.requests, summary.writes, summary.skipped), (1, 1, 4));
}

#[test]
fn mqsim_ascii() {
    let (format, devices, records, _) = read("mqsim.trace");
    assert_eq!(format, Format::Mqsim);
    assert_eq!(devices, ["0", "3"]);
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 1 << 20, 8192),
            record(500, Op::Read, 1, 2 << 20, 4096),
            record(2000, Op::Read, 0, 512, 3584),
        ]
    );
}

#[test]
fn blkparse_text_takes_issue_events() {
    let (format, devices, records, _) = read("blkparse.txt");
    assert_eq!(format, Format::Blkparse);
    assert_eq!(devices, ["8,0", "8,16"]);
    assert_eq!(
        records,
        [
            record(0, Op::Read, 0, 282_624 * 512, 4096),
            TraceRecord { fua: true, ..record(MILLISECOND, Op::Write, 0, 512_000, 8192) },
            record(2 * MILLISECOND, Op::Flush, 0, 0, 0),
            record(3 * MILLISECOND, Op::Trim, 1, 1 << 20, 1 << 20),
        ]
    );
    let text = std::fs::read(data("blkparse.txt")).unwrap();
    // Two outputs, one behind the other: the statistics of the first do not end it.
    let both = parse(&text.repeat(2), None).unwrap();
    assert_eq!(both.len(), 2 * records.len());
    assert_eq!((both[4].op, both[4].offset_bytes), (records[0].op, records[0].offset_bytes));
    // A file for each of many CPUs; statistics of programs (`-s`) stand before those of CPUs.
    let inputs: String = (0..40).map(|cpu| format!("Input file sda.blktrace.{cpu} added\n")).collect();
    let many = [inputs.as_bytes(), &text[..]].concat();
    assert_eq!(parse(&many, None).unwrap(), records);
    let text = String::from_utf8(text).unwrap();
    let waits = " Reads Queued:           1,        4KiB\n Allocation wait:  1\n";
    let programs = format!("kworker/0:1 (697)\n{waits}fio (4020, ...)\n{waits} (17)\n{waits}\nCPU0 (sda):");
    let with_programs = text.replace("CPU0 (sda):", &programs);
    assert_eq!(parse(with_programs.repeat(2).as_bytes(), None).unwrap().len(), 2 * records.len());
}

#[test]
fn a_damaged_line_of_blkparse_that_ends_as_the_name_of_a_program_does_hides_nothing() {
    let event = |k: u32| format!("  8,0    0        {k}     0.00{k}000000  697  D   R {} + 8 [fio]\n", 8 * k);
    let (first, last) = (event(1), event(9));
    let message = "8,0    0        2     0.002000000     0  m   N cfq697 dispatched a request (12)\n";
    assert_eq!(parse([&first, message, &last].concat().as_bytes(), None).unwrap().len(), 2);
    let begins = message.find("dispatched").unwrap();
    let damaged = &event(3)[8..];
    for (middle, line) in [
        ([&message[1..], ""].concat(), 2),
        ([&message[begins + 11..], ""].concat(), 3),
        ([&message[begins + 11..], damaged].concat(), 3),
        (["fio (697)\n Reads Queued:  1,  4KiB\n", damaged].concat(), 4),
    ] {
        let text = [&first, &*middle, &last].concat();
        match parse(text.as_bytes(), Some(Format::Blkparse)) {
            Err(TraceError::Line { line: told, .. }) => assert_eq!(told, line, "{text}"),
            other => panic!("{other:?} of {text}"),
        }
    }
}

#[test]
fn fio_iolog_2_waits_in_milliseconds_since_the_start_as_the_code_does() {
    let (format, devices, records, backwards) = read("v2.iolog");
    assert_eq!((format, backwards), (Format::IologV2, 0));
    assert_eq!(devices, ["/dev/sdb"]);
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 4096, 8192),
            record(0, Op::Read, 0, 0, 4096),
            record(4 * SECOND, Op::Trim, 0, 1 << 20, 65_536),
            record(4 * SECOND, Op::Flush, 0, 0, 0),
            // A wait for a time that has passed does nothing.
            record(4 * SECOND, Op::Flush, 0, 0, 0),
        ]
    );
}

#[test]
fn fio_iolog_3() {
    let (format, _, records, _) = read("v3.iolog");
    assert_eq!(format, Format::IologV3);
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 488_197_214_720, 4096),
            record(15_000, Op::Read, 0, 4096, 512),
            record(15_000, Op::Flush, 0, 0, 0),
            record(70_000, Op::Trim, 0, 0, 4096),
        ]
    );
}

#[test]
fn all_that_fio_logs_as_a_flush_is_one() {
    let log: String =
        ["sync", "datasync", "sync_file_range", "syncfs"].map(|action| format!("1 f {action}\n")).concat();
    let records = parse(format!("fio version 3 iolog\n{log}").as_bytes(), None).unwrap();
    assert!(records.len() == 4 && records.iter().all(|record| record.op == Op::Flush), "{records:?}");
}

#[test]
fn comma_separated_traces_of_clouds_and_data_centres() {
    let read = |text: &str| {
        let mut reader = TraceReader::new("t", text.as_bytes(), None).unwrap();
        let records: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{e}"));
        (reader.format(), reader.devices().map(str::to_owned).collect(), records)
    };
    let two = |first, second| vec![first, second];
    let (format, devices, records) = read("419,W,8792731648,16384,1577808144360767\n725,R,4096,512,1577808144360800\n");
    assert_eq!((format, devices), (Format::Alibaba, vec!["419".to_owned(), "725".to_owned()]));
    assert_eq!(records, two(record(0, Op::Write, 0, 8_792_731_648, 16_384), record(33_000, Op::Read, 1, 4096, 512)));
    let (format, devices, records) = read("1538323200,8,16,0,1063\n1538323201,0,8,1,1063\n");
    assert_eq!((format, devices), (Format::Tencent, vec!["1063".to_owned()]));
    assert_eq!(records, two(record(0, Op::Read, 0, 4096, 8192), record(SECOND, Op::Write, 0, 0, 4096)));
    let headed = "Timestamp,Response,IOType,LUN,Offset,Size\n1455584406.027,0.0004,R,2,1024,4096\n1455584406.028,,,2,0,512\n\
                  1455584407.027,0.1,W,2,0,512\n";
    let (format, devices, records) = read(headed);
    assert_eq!((format, devices), (Format::Systor, vec!["2".to_owned()]));
    assert_eq!(records, two(record(0, Op::Read, 0, 1024, 4096), record(SECOND, Op::Write, 0, 0, 512)));
    let (format, _, records) =
        read("version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33899,28,8192,0\n1,33899,12,36,0\n");
    assert_eq!(format, Format::CloudPhysics);
    assert_eq!(records, two(record(0, Op::Write, 0, 42_932_745 * 512, 512), record(SECOND, Op::Read, 0, 0, 8192)));
    // A command that moves nothing looks like a read of Tencent's, and the next lines tell.
    let (format, _, records) = read("1,33898,00,0,0\n1,33898,35,0,0\n1,33899,28,512,7\n");
    assert_eq!(format, Format::CloudPhysics);
    assert_eq!(records, two(record(0, Op::Flush, 0, 0, 0), record(SECOND, Op::Read, 0, 7 * 512, 512)));
    assert_eq!(read("1,33898,35,0,0\n").0, Format::CloudPhysics);
    let (format, _, records) = read("1,8,16,0,1063\n3,8,16,0,1063\n");
    assert_eq!(format, Format::Tencent);
    assert_eq!(records, two(record(0, Op::Read, 0, 4096, 8192), record(2 * SECOND, Op::Read, 0, 4096, 8192)));
    let msr = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,hm,0,Read,4096,512,1\n";
    let (format, _, records) = read(msr);
    assert_eq!((format, records), (Format::Msr, vec![record(0, Op::Read, 0, 4096, 512)]));
    let (format, _, records) = read(&format!("\n \n{msr}"));
    assert_eq!((format, records), (Format::Msr, vec![record(0, Op::Read, 0, 4096, 512)]));
    // A heading is one in the first line only.
    let text = "1,33898,2a,512,1\nversion,time,op,size,lbn\n";
    let error = TraceReader::new("t", text.as_bytes(), None).unwrap().nth(1).unwrap().unwrap_err();
    assert!(error.to_string().starts_with("t:2: "), "{error}");
}

#[test]
fn spc_ascii() {
    let (format, devices, records, _) = read("spc.csv");
    assert_eq!(format, Format::Spc);
    assert_eq!(devices, ["0", "1"]);
    assert_eq!(
        records,
        [
            record(0, Op::Write, 0, 20_941_264 * 512, 8192),
            record(2_335_000, Op::Write, 1, 20_939_840 * 512, 8192),
            record(48_294_000, Op::Read, 0, 4096, 512),
        ]
    );
}

#[test]
fn a_named_format_reads_the_same_as_a_recognised_one() {
    for (name, file) in
        [("msr", "msr.csv"), ("vscsi1", "v1.vscsi"), ("blkparse", "blkparse.txt"), ("iolog2", "v2.iolog")]
    {
        let format: Format = name.parse().unwrap();
        let named: Vec<_> = open(&data(file), Some(format)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(named, read(file).2, "{name}");
    }
}

#[test]
fn unknown_formats_are_errors_that_list_the_known_ones() {
    let message = error(b"hello world\nthis is no trace\n", None);
    let name_error = "nonsense".parse::<Format>().unwrap_err().to_string();
    for (_, name, _) in FORMATS {
        assert!(message.contains(name) && name_error.contains(name), "{name}: {message}");
    }
    assert!(error(&[0xFF; 100], None).contains("not recognised"));
    assert!(error(b"", None).contains("is empty"));
    let missing = open(Path::new("/nonexistent.trace"), None).err().unwrap().to_string();
    assert!(missing.contains("/nonexistent.trace: cannot be read"), "{missing}");
}

#[test]
fn a_truncated_record_is_an_error_at_its_byte() {
    let mut bytes = std::fs::read(data("v1.vscsi")).unwrap();
    bytes.truncate(2 * 32 + 7);
    let mut reader = TraceReader::new("t", &bytes[..], None).unwrap();
    assert!(reader.next().unwrap().is_ok() && reader.next().unwrap().is_ok());
    let message = reader.next().unwrap().unwrap_err().to_string();
    assert_eq!(message, "t: record at byte 64: the file ends after 7 of the record's 32 bytes");
    assert!(reader.next().is_none(), "nothing follows an error");
}

#[test]
fn bad_numbers_and_lines_are_errors_with_file_line_and_remedy() {
    let good = "0 0 8 16 1\n";
    for (line, expected) in [
        ("-5 0 8 16 1", "t:2: time `-5` is negative"),
        ("99999999999999999999 0 8 16 1", "t:2: time `99999999999999999999` is too large"),
        ("5 0 -8 16 1", "t:2: LBA `-8` is negative"),
        ("5 0 36028797018963968 16 1", "t:2: LBA `36028797018963968` sectors are more than 2^64 bytes"),
        ("5 0 36028797018963967 16 1", "t:2: offset 18446744073709551104 plus length 8192 overflows"),
        ("5 0 8 0 1", "t:2: the length is zero"),
        ("5 0 8 16 2", "t:2: type `2` must be 0 (write) or 1 (read)"),
        ("5 0 8 16", "t:2: `5 0 8 16` must have 5 fields"),
        ("5 0 8 sixteen 1", "t:2: length `sixteen` is not a whole number"),
    ] {
        let message = error(format!("{good}{line}\n").as_bytes(), None);
        assert!(message.starts_with(expected), "{line}: {message}");
    }
    for (text, format, expected) in [
        ("1,hm,0,Write,7014912,4096", Format::Msr, "7 fields"),
        ("1,hm,0,Erase,7014912,4096,26", Format::Msr, "must be Read or Write"),
        ("0,1,512,X,0.5", Format::Spc, "must be R or W"),
        ("0,1,512,R,-0.5", Format::Spc, "`-0.5` is negative"),
        ("0,1,512,R", Format::Spc, "at least 5 fields"),
        ("8,0 0 1 0.0 42 D R 282624 8", Format::Blkparse, "must be maj,min"),
        ("8,0 0 1 zero 42 D R 282624 + 8", Format::Blkparse, "time `zero` is not a number of seconds"),
        ("fio version 2 iolog\n/dev/sdb write 4096", Format::IologV2, "t:2: `write` needs an offset and a length"),
        ("fio version 2 iolog\n/dev/sdb jump 1 2", Format::IologV2, "action `jump`"),
        ("/dev/sdb write 0 4096", Format::IologV2, "must be the header"),
        ("fio version 3 iolog\n/dev/sdb write 0 4096", Format::IologV3, "t:2: time `/dev/sdb`"),
    ] {
        let message = error(text.as_bytes(), Some(format));
        assert!(message.starts_with("t:") && message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn a_negative_first_line_is_still_recognised_and_reported_as_what_it_is() {
    assert!(error(b"-5 0 8 16 1\n", None).contains("t:1: time `-5` is negative"));
    assert!(error(b"1,hm,0,Write,-1,4096,26\n", None).contains("t:1: offset `-1` is negative"));
}

#[test]
fn a_wrong_version_in_a_later_record_is_an_error_at_its_byte() {
    let mut bytes = std::fs::read(data("v2.vscsi")).unwrap();
    bytes[40 + 3] = 9;
    let message = error(&bytes, Some(Format::VscsiV2));
    assert_eq!(message, "t: record at byte 40: the version is 9; it must be 2 in every record");
}

#[test]
fn endless_lines_are_refused_before_they_fill_the_memory() {
    let mut bytes = b"1 0 8 16 1\n".to_vec();
    bytes.resize(1 << 20, b'7');
    assert!(error(&bytes, None).contains("t:2: the line is longer than 64 KiB"));
}

#[test]
fn names_of_devices_are_no_longer_than_paths() {
    let trace =
        |name: usize| format!("fio version 3 iolog\n0 /dev/sdb read 0 4096\n1 {} read 0 4096\n", "n".repeat(name));
    assert_eq!(parse(trace(4096).as_bytes(), None).map(|all| all.len()).ok(), Some(2));
    let message = error(trace(4097).as_bytes(), None);
    assert!(message.contains("t:3: ") && message.contains("has 4097 bytes; at most 4096 are possible"), "{message}");
    assert!(message.len() < 600, "{}", message.len());
}

#[test]
fn a_summary_counts_what_is_in_the_file() {
    let mut reader = open(&data("blkparse.txt"), None).unwrap();
    let summary = TraceSummary::read(&mut reader).unwrap();
    assert_eq!((summary.requests, summary.reads, summary.writes, summary.trims, summary.flushes), (4, 1, 1, 1, 1));
    assert_eq!((summary.read_bytes, summary.write_bytes, summary.trim_bytes), (4096, 8192, 1 << 20));
    assert_eq!(summary.duration, 3 * MILLISECOND);
    assert_eq!(summary.device_bytes, [282_624 * 512 + 4096, 2 << 20]);
    assert_eq!(summary.size_bins, [0, 1, 1, 0, 0, 0, 0]);
    assert_eq!((summary.unaligned, summary.stamps.backwards), (0, 0));
    assert_eq!(summary.read_percent(), Some(50.0));
}

#[test]
fn a_summary_counts_requests_that_miss_the_4_kib_grid() {
    let mut reader = open(&data("mqsim.trace"), None).unwrap();
    let summary = TraceSummary::read(&mut reader).unwrap();
    assert_eq!((summary.unaligned, summary.unaligned_writes), (1, 0));
    let text = "0 0 63 8 0\n1 0 63 8 1\n2 0 64 8 0\n";
    let mut reader = TraceReader::new("t", text.as_bytes(), None).unwrap();
    let summary = TraceSummary::read(&mut reader).unwrap();
    assert_eq!((summary.unaligned, summary.unaligned_writes), (2, 1));
}

#[test]
fn a_table_is_read_as_its_rows_are_whatever_they_begin_with() {
    // The first times are the first bytes of compressed files, and a byte order mark.
    for start in [0x8B1F_u64, 0xFD2F_B528, 0xBF_BBEF] {
        let rows = [
            (start, Op::Write, 1 << 40, 4096),
            (start + 7, Op::Flush, 99, 99),
            (start + 5, Op::Read, 512, 1 << 33),
            (start + 9, Op::Trim, u64::MAX - 512, 512),
        ];
        let table = TraceSource::table(rows.into_iter());
        let mut reader = table.open(Some(Format::Msr)).unwrap();
        let records: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!((reader.format(), reader.format().name(), reader.stamps().backwards), (Format::Table, "table", 1));
        let expected = [
            record(0, Op::Write, 0, 1 << 40, 4096),
            record(7, Op::Flush, 0, 0, 0),
            record(7, Op::Read, 0, 512, 1 << 33),
            record(9, Op::Trim, 0, u64::MAX - 512, 512),
        ];
        assert_eq!(records, expected);
    }
    let none: [(Nanos, Op, u64, u64); 0] = [];
    assert!(matches!(TraceSource::table(none.into_iter()).open(None), Err(TraceError::Empty { .. })));
    let wrong = TraceSource::table([(0, Op::Write, u64::MAX - 100, 512)].into_iter());
    assert!(wrong.open(None).unwrap().next().unwrap().unwrap_err().to_string().contains("overflows"));
    assert!("table".parse::<Format>().is_err(), "no file is of it");
}

#[test]
fn only_comma_separated_traces_have_headings() {
    for (text, format) in [
        ("wrong 0 8 16 1\n2000 0 8 16 1\n", Format::Mqsim),
        ("wrong,0 0 1 0.1 42 D R 8 + 8\n8,0 0 1 0.2 42 D R 8 + 8\n", Format::Blkparse),
        ("wrong\n0,8,512,R,0.5\n", Format::Spc),
    ] {
        let said = error(text.as_bytes(), Some(format));
        assert!(said.starts_with("t:1: "), "{format}: {said}");
    }
}

#[test]
fn what_moves_nothing_is_no_request_whatever_the_format() {
    let empty = "1,5,28,0,100\n1,6,2a,4096,100\n";
    let records = parse(empty.as_bytes(), Some(Format::CloudPhysics)).unwrap();
    assert_eq!(records, [record(0, Op::Write, 0, 51_200, 4096)]);
    let empty = "8,0 0 1 0.1 42 D WS 0 + 0 [x]\n8,0 0 2 0.2 42 D W 8 + 8 [x]\n8,0 0 3 0.3 42 D FWS 0 + 0 [x]\n";
    let records = parse(empty.as_bytes(), None).unwrap();
    assert_eq!(records, [record(0, Op::Write, 0, 4096, 4096), record(100 * MILLISECOND, Op::Flush, 0, 0, 0)]);
}

#[test]
fn stamps_are_told_as_they_are() {
    let stamps = |text: &str| {
        let mut reader = TraceReader::new("t", text.as_bytes(), None).unwrap();
        TraceSummary::read(&mut reader).unwrap().stamps
    };
    let of = |times: &[u64]| stamps(&times.iter().map(|t| format!("{t} 0 8 8 1\n")).collect::<String>());
    assert_eq!(of(&[7]), Stamps::default());
    assert_eq!(of(&[7, 7, 7]), Stamps { together: 2, ..Stamps::default() });
    assert_eq!(of(&[3, 15, 15, 27, 45]), Stamps { together: 1, grain: 6, ..Stamps::default() });
    // Earlier than the latest, and than the first.
    let back = of(&[1000, 4000, 2000, 4000, 500]);
    assert_eq!(back, Stamps { backwards: 2, farthest_back: 3500, together: 1, grain: 500 });
}
