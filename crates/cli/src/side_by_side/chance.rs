//! How far apart chance alone sets figures, so that no more is read from a difference than it tells.
//!
//! Measured with three drives of the catalog, whose quick reviews were run again under other names (other specimens), and with the
//! same specimen and a key changed by a thousandth (docs/command-line.md has the figures).

use ssdlab_bench::specimens::BAND_ENDINGS;
use ssdlab_report::DeviceFacts;

/// What chance may have set apart in two runs that were given the same commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// The same specimens: the runs part where a command ends a little earlier or later.
    Alike,
    /// Specimens of their own: what is drawn for each drive differs, too.
    Apart,
}

impl Drawn {
    /// Of runs with one seed. Documents of earlier versions do not say as what their drives were drawn: names tell.
    pub(super) fn of(drives: [Option<&DeviceFacts>; 2]) -> Self {
        let [Some(first), Some(second)] = drives else { return Drawn::Apart };
        let alike = match [&first.drawn_as, &second.drawn_as] {
            [None, None] => first.name == second.name,
            [first, second] => first == second,
        };
        if alike { Drawn::Alike } else { Drawn::Apart }
    }

    /// What two figures of this name and unit must be apart for an order, in per cent of the larger one; of shares, in points of them.
    /// Fewer than one figure in a hundred is moved by more by chance alone.
    pub(super) fn least_apart(self, figure: &str, unit: &str) -> f64 {
        match (Kind::of(figure, unit), self) {
            (Kind::Share, _) => 0.5,
            (Kind::Mean, Drawn::Alike) => 2.0,
            (Kind::Mean, Drawn::Apart) | (Kind::Latency, Drawn::Alike) => 5.0,
            (Kind::Latency, Drawn::Apart) => 15.0,
            (Kind::Few, Drawn::Alike) => 12.0,
            (Kind::Few, Drawn::Apart) => 50.0,
        }
    }
}

/// On how much of a run a figure rests.
enum Kind {
    /// Rates, energy, write amplification: all of it.
    Mean,
    /// The mean and the middle of latencies, which a few long waits move.
    Latency,
    /// A few requests, seconds or rare events.
    Few,
    /// A share in per cent.
    Share,
}

/// Parts of the names of figures that rest on little.
const OF_FEW: [&str; 6] = ["_p99", "_min", "_max", "_peak", "_stddev", "_longest"];

impl Kind {
    fn of(figure: &str, unit: &str) -> Self {
        let base = BAND_ENDINGS.iter().find_map(|ending| figure.strip_suffix(ending)).unwrap_or(figure);
        let is_part = base.strip_prefix("waf_").is_some_and(|part| !["tail", "full", "host"].contains(&part));
        match unit {
            "%" => Kind::Share,
            _ if is_part || OF_FEW.iter().any(|part| base.contains(part)) => Kind::Few,
            "s" => Kind::Few,
            "us" | "ms" | "ns" => Kind::Latency,
            _ => Kind::Mean,
        }
    }
}
