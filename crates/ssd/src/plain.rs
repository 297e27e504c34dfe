//! A drive that loses no time but on flash: where tests, examples and experiments begin.

use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, MappingSpec, RowSpan, SuperblockSpan, TieBreak, VictimPolicy,
    WearLevellingSpec,
};

use crate::frontend::{LinkGeneration, LinkSpec, NotQueued};
use crate::spec::{ControllerSpec, Cores, DriveSpec, FlashSpec, WriteBufferSpec};

impl DriveSpec {
    /// `dies` dies of the type `die`, each on a channel of its own as far as 32 channels go, behind an ideal link and a
    /// processor that takes no time. No journal, no reserve, no read-ahead, no cache; greedy garbage collection, which
    /// takes turns with the host and keeps what it moves apart. Fields are meant to be replaced.
    ///
    /// ```
    /// use ssdlab_ssd::DriveSpec;
    /// let mut drive = DriveSpec::plain("my-die", 4, 1 << 30);
    /// drive.gc.start_free_superblocks = 2;
    /// assert_eq!((drive.controller.channels, drive.controller.read_command_us), (4, 0.0));
    /// ```
    #[must_use]
    pub fn plain(die: &str, dies: u32, capacity_bytes: u64) -> Self {
        DriveSpec {
            description: String::new(),
            capacity_bytes,
            supports_trim: true,
            flash: FlashSpec { die: die.to_owned(), dies, exact_spare_per_10000: None, planes_apart: false },
            link: LinkSpec {
                generation: LinkGeneration::Ideal,
                pcie: None,
                host_turnaround_us: 0.0,
                host_frame_us: 0.0,
                host_command_us: 0.0,
                not_queued: NotQueued::Nothing,
            },
            controller: ControllerSpec {
                name: String::new(),
                channels: dies.min(32),
                ways: 8,
                queue_depth: 32,
                dram_mib: 0,
                cores: Cores::One,
                read_command_us: 0.0,
                write_command_us: 0.0,
                read_unit_us: 0.0,
                write_unit_us: 0.0,
                read_latency_us: 0.0,
                write_latency_us: 0.0,
                dma_extent_us: 0.0,
                move_unit_us: 0.0,
                trim_range_us: 0.0,
                trim_map_page_us: 0.0,
                program_end_us: 0.0,
                trim_command_us: None,
                read_ahead_kib: 0,
                programs_at_once: None,
                read_granule_bytes: None,
                reads_first: true,
                reads_in_a_row: crate::spec::default_reads_in_a_row(),
            },
            write_buffer: WriteBufferSpec {
                capacity_kib: 512,
                write_cache: true,
                joins_waiting_writes: false,
                flush_after_idle_ms: 10.0,
            },
            mapping: MappingSpec {
                unit_kib: 4,
                row: RowSpan::AllPlanes,
                dies_per_group: None,
                superblock: SuperblockSpan::AllDies,
                reserved_blocks_per_1000: 0,
                journal: false,
                journal_rows_per_checkpoint_row: 1,
                journal_limit_rows: None,
                map_cache_kib: None,
            },
            gc: GcSpec {
                policy: VictimPolicy::Greedy,
                choices: 2,
                tie_break: TieBreak::Fifo,
                frontier: Frontier::Separate,
                start_free_superblocks: 3,
                victims_per_start: 0,
                buffer_superpages: 4,
                buffering: Buffering::StopAndWait,
                host_share: HostShare::Balanced,
                trickle_per_1000: 0,
                rows_per_read: 1,
                background_after_idle_ms: None,
                background_free_superblocks: 0,
                background_beside_host: false,
                erases_what_trim_empties: false,
            },
            log_blocks: None,
            wear_levelling: WearLevellingSpec::default(),
            slc_cache: None,
            power: None,
            power_loss: None,
            encryption: None,
            heat: None,
            refresh: None,
            used: None,
            compression: None,
            ecc: None,
        }
    }
}
