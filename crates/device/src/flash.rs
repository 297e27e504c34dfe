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

/// How much of the differences between blocks is taken to last for life ([`Flash::fast_forward`]): what the
/// covariance of windows that lie apart shows, and two standard errors of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differences {
    /// As found; none if what was found lies within three standard errors of none.
    AsFound,
    /// As few as the windows allow.
    Least,
    /// As many as the windows allow.
    Most,
}

/// Records of wear that are kept.
pub const MOST_WEAR_RECORDS: usize = 9;

/// The flash of a simulated device.
pub trait Flash {
    fn wear(&self) -> Wear;

    /// Records the wear of every block. The last [`MOST_WEAR_RECORDS`] records are kept; they bound windows of work, of
    /// which each is taken to be as long as any other.
    fn record_wear(&mut self);

    /// Extrapolates wear. Takes the recorded windows and assumes that the same workload continues until the mean wear
    /// is `to_mean_wear`. Does nothing if it is there already.
    ///
    /// The mean grows in proportion to the work. A block that stands out from all others in each half of the windows
    /// has a role of its own, and keeps its pace. The variance of the others has two parts: that of differences which
    /// last grows with the square of the work, that of chance with the work itself. `differences` says how much of it
    /// is taken to last. What the blocks hold stays as it is.
    ///
    /// # Panics
    /// If there are fewer than four records, or no wear between them.
    fn fast_forward(&mut self, to_mean_wear: f64, differences: Differences);

    /// Lets data grow older by calendar time without power at 30 °C. The device's clock stands still. Lasts until
    /// [`Flash::end_retention`].
    fn begin_retention(&mut self, seconds: u64);

    /// Takes the time of [`Flash::begin_retention`] back, and with it the losses found since.
    fn end_retention(&mut self);

    /// What a read of all data would bring after `retention_hours` more at 30 °C, with every block's wear multiplied by
    /// `wear_factor`. `None` from a device without a model of errors, or if `scheme` makes no sense for it.
    fn expected_errors(&self, scheme: EccScheme, wear_factor: f64, retention_hours: f64) -> Option<ExpectedErrors>;
}
