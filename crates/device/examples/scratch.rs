use ssdlab_core::*;
use ssdlab_device::*;
use ssdlab_ftl::*;
use ssdlab_nand::*;
#[allow(clippy::disallowed_methods)]
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let gib: u64 = a[1].parse().unwrap();
    let drive_writes: u64 = a[2].parse().unwrap();
    let rows: u32 = a[3].parse().unwrap();
    let die = DieSpec {
        description: String::new(),
        geometry: Geometry {
            planes: 2,
            blocks_per_plane: 16,
            pages_per_block: 256,
            page_bytes: 16384,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        },
        timing: Timing { read_us: vec![50.0], program_us: vec![500.0], erase_ms: 1.0 },
        bus: Bus { mega_transfers_per_s: 400.0, command_us: 1.0 },
        wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: 0 },
    };
    let drive = DriveSpec {
        description: String::new(),
        capacity_bytes: gib << 30,
        flash: FlashSpec { die: "x".into(), dies: 32, exact_spare_per_10000: Some(700) },
        link: LinkSpec { generation: LinkGeneration::Sata3, host_turnaround_us: 0.0 },
        controller: ControllerSpec {
            name: "x".into(),
            channels: 4,
            ways: 8,
            queue_depth: 32,
            dram_mib: 64,
            read_command_us: 0.0,
            read_unit_us: 0.0,
            write_command_us: 1.0,
            write_unit_us: 1.0,
            read_ahead_kib: 0,
            reads_first: true,
        },
        write_buffer: WriteBufferSpec { capacity_kib: 4096, write_cache: true, flush_after_idle_ms: 100.0 },
        mapping: MappingSpec {
            superblock: SuperblockSpan::OneDie,
            reserved_blocks_per_1000: 0,
            journal: false,
            journal_rows_per_checkpoint_row: 1,
        },
        gc: GcSpec {
            policy: VictimPolicy::Greedy,
            choices: 2,
            tie_break: TieBreak::Fifo,
            frontier: Frontier::Separate,
            start_free_superblocks: 2,
            victims_per_start: 0,
            buffer_superpages: 16,
            buffering: Buffering::Streaming,
            host_share: HostShare::Unlimited,
            trickle_per_1000: 0,
            rows_per_read: rows,
            background_after_idle_ms: None,
            background_free_superblocks: 0,
        },
        wear_levelling: WearLevellingSpec::default(),
    };
    let mut d = BareSsd::new("x", &drive, &die, 1).unwrap();
    let units = drive.capacity_bytes / 4096;
    let mut now = 0;
    let mut done = Vec::new();
    // fill
    let t = std::time::Instant::now();
    let mut next = 0u64;
    for _ in 0..32 {
        d.submit(now, Request { tag: 0, op: Op::Write, offset_bytes: next * 131072, length_bytes: 131072, fua: false });
        next += 1;
    }
    while next < units / 32 {
        now = d.advance_to_completion(u64::MAX - 1, &mut done);
        for _ in 0..done.len() {
            if next < units / 32 {
                d.submit(
                    now,
                    Request { tag: 0, op: Op::Write, offset_bytes: next * 131072, length_bytes: 131072, fua: false },
                );
                next += 1;
            }
        }
        done.clear();
    }
    loop {
        let before = now;
        now = d.advance_to_completion(now + 1_000_000_000, &mut done);
        if done.is_empty() {
            break;
        }
        done.clear();
        let _ = before;
    }
    println!(
        "fill {:?} sim {} s, {:.1} GB/s",
        t.elapsed(),
        now as f64 / 1e9,
        drive.capacity_bytes as f64 / 1e9 / t.elapsed().as_secs_f64()
    );
    let mut rng = Rng::new(5);
    let mut c0 = d.counters();
    for _ in 0..32 {
        d.submit(
            now,
            Request { tag: 0, op: Op::Write, offset_bytes: rng.below(units) * 4096, length_bytes: 4096, fua: false },
        );
    }
    let mut n = 0u64;
    let mut last = std::time::Instant::now();
    let mut sim = now;
    let chunk = units / 4;
    for k in 0..drive_writes * 4 {
        while n < chunk * (k + 1) {
            now = d.advance_to_completion(u64::MAX - 1, &mut done);
            n += done.len() as u64;
            for _ in 0..done.len() {
                d.submit(
                    now,
                    Request {
                        tag: 0,
                        op: Op::Write,
                        offset_bytes: rng.below(units) * 4096,
                        length_bytes: 4096,
                        fua: false,
                    },
                );
            }
            done.clear();
        }
        let c = d.counters();
        println!(
            "{:.2} dw: waf {:.3} {:.0} ns/write, sim {:.0} IOPS",
            n as f64 / units as f64,
            c.since(&c0).waf().unwrap(),
            last.elapsed().as_nanos() as f64 / chunk as f64,
            chunk as f64 / ((now - sim) as f64 / 1e9)
        );
        c0 = c;
        last = std::time::Instant::now();
        sim = now;
    }
    let mut e = now;
    loop {
        e = d.advance_to_completion(e + 10_000_000_000, &mut done);
        if done.is_empty() {
            break;
        }
        done.clear();
    }
    println!("{:?}", d.check_books());
}
