//! What every translation layer is to the drive.

/// Units programmed and moved, operations asked for. Units are logical ones of 4 KiB, where not said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranslationCounters {
    pub host_units: u64,
    pub host_rows: u64,
    pub gc_units: u64,
    pub gc_rows: u64,
    /// Moved out of the SLC cache; not among the `gc` figures, except for what was read.
    pub fold_units: u64,
    pub fold_rows: u64,
    /// Units of flash.
    pub gc_read_units: u64,
    pub metadata_rows: u64,
    pub block_erases: u64,
    pub collections: u64,
    pub overwrites_in_buffer: u64,
    pub trimmed_units: u64,
    /// Units of flash that are padding in host and collector rows.
    pub padding_units: u64,
    /// Units of flash that compression has saved: of what the host wrote, and again of what was moved.
    pub saved_units: u64,
    pub saved_moving_units: u64,
    /// Rows programmed again because a block went bad, and how often programs and erases failed.
    pub retire_rows: u64,
    pub program_failures: u64,
    pub erase_failures: u64,
}
