//! The life of a device's flash: how far it is worn, and going forward in it without living through it.

/// How far the blocks are worn: shares of their rated life, and erases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    pub least: f64,
    pub mean: f64,
    pub most: f64,
    pub erases_least: u32,
    pub erases_mean: f64,
    pub erases_most: u32,
}

/// An error correction to ask [`Flash::expected_errors`] about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EccScheme {
    /// The device's own.
    Installed,
    /// Hard-decision BCH on 1 KiB with as many parity bits, and nothing behind it.
    HardBch,
}

/// What reading every mapped 4 KiB unit once would bring: expected numbers of units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedErrors {
    /// All that are mapped.
    pub units: f64,
    /// Those that the first read does not decode.
    pub reread: f64,
    /// Those that nothing brings back.
    pub lost: f64,
}

/// The flash of a simulated device.
pub trait Flash {
    fn wear(&self) -> Wear;

    /// Records the wear of every block. The last three records bound two windows of work.
    fn record_wear(&mut self);

    /// Extrapolates wear. Takes the last two recorded windows and assumes that the same workload continues until the
    /// mean wear is `to_mean_wear`. Does nothing if it is there already.
    ///
    /// The mean grows in proportion to the work. A block's distance from the mean has two parts. The part that was the
    /// same in both windows (their correlation over the blocks) grows in proportion; the rest grows with the square root
    /// of the number of windows. What the blocks hold stays as it is.
    ///
    /// # Panics
    /// If there are fewer than three records, or no wear between them.
    fn fast_forward(&mut self, to_mean_wear: f64);

    /// Lets data grow older by calendar time without power at 30 °C. The device's clock stands still. Lasts until
    /// [`Flash::end_retention`].
    fn begin_retention(&mut self, seconds: u64);

    /// Takes the time of [`Flash::begin_retention`] back, and with it the losses found since.
    fn end_retention(&mut self);

    /// What a read of all data would bring after `retention_hours` more at 30 °C, with every block's wear multiplied by
    /// `wear_factor`. `None` from a device without a model of errors, or if `scheme` makes no sense for it.
    fn expected_errors(&self, scheme: EccScheme, wear_factor: f64, retention_hours: f64) -> Option<ExpectedErrors>;
}
