//! The life of a device's flash: how far it is used up, and looking ahead in it without living through it.

/// How far the blocks are used up, as shares of their rated life, and their erases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    pub least: f64,
    pub mean: f64,
    pub most: f64,
    pub erases_least: u32,
    pub erases_mean: f64,
    pub erases_most: u32,
}

/// Whose correction an outlook is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The drive's own.
    Installed,
    /// Hard-decision BCH on 1 KiB with as many parity bits, and nothing behind it.
    HardBch,
}

/// What reading every mapped 4 KiB unit once would bring, by the error model: expected numbers of units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlook {
    pub units: f64,
    /// Those that the plain read does not bring.
    pub reread: f64,
    /// Those that nothing brings.
    pub lost: f64,
}

/// A device whose life can be looked into and ahead.
pub trait Life {
    fn wear(&self) -> Wear;

    /// Notes the wear of every block. Two windows of like work lie between the last three notes.
    fn note_wear(&mut self);

    /// Wears every block until the mean is at `mean_life`, as the work between the last three notes would, were it to go
    /// on: the mean grows in proportion. A block's distance from the mean grows in proportion as far as it was the same
    /// in both windows (their correlation over the blocks), and with the square root of the number of windows as far as
    /// it was not. What the blocks hold stays as it is. Does nothing if the mean is there already.
    ///
    /// # Panics
    /// If there are no three notes, or no wear between them.
    fn look_ahead(&mut self, mean_life: f64);

    /// Lets calendar time pass at 30 °C in which nothing happens but that data grow older; the device's clock stands
    /// still. Until [`Life::unshelve`], which takes the time back, and with it the losses found meanwhile.
    fn shelve(&mut self, seconds: u64);

    fn unshelve(&mut self);

    /// What a read of all data would bring after `retention_hours` more at 30 °C, with every block's wear multiplied by
    /// `wear_factor`. `None` without a model of errors, or if `scheme` makes no sense for the device.
    fn outlook(&self, scheme: Scheme, wear_factor: f64, retention_hours: f64) -> Option<Outlook>;
}
