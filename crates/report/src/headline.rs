//! The figures by which drives are compared at first sight: what each is, where it comes from, and which end is good.

use ssdlab_bench::suite::{Better, better_end, find_test, is_as_declared};
use ssdlab_bench::{Metric, Outcome};

use crate::random_writes;

/// A figure that belongs on the first screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Stable name.
    pub key: &'static str,
    pub title: &'static str,
    /// The same within a sentence, with the state that it is of.
    pub in_words: &'static str,
    /// What exactly, in a few words beside the title.
    pub detail: &'static str,
    /// The test, its variant (empty: any), and the metric.
    pub test: &'static str,
    pub variant: &'static str,
    pub metric: &'static str,
    /// Whether a quick run ranks drives by it as a full one does. One that does not is left out there.
    pub in_quick: bool,
    /// Whether it is a figure of a state that a drive has to reach: it has none if it has not, whatever was measured.
    pub settles: bool,
    pub(crate) by_cache: ByCache,
}

/// How a cache, in a device or before it, can make a figure that is none of the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByCache {
    Never,
    /// It takes all that the test writes, and writes it back after the end.
    TakesAll,
    /// It answers while it has room, and then nothing does.
    AnswersBetween,
}

impl ByCache {
    /// What devices do whose figures are such: of one, and of several.
    pub(crate) const fn in_words(self, several: bool) -> &'static str {
        match (self, several) {
            (ByCache::Never, _) => "",
            (ByCache::TakesAll, false) => "answers from its cache",
            (ByCache::TakesAll, true) => "answer from their caches",
            (ByCache::AnswersBetween, false) => "answers in bursts",
            (ByCache::AnswersBetween, true) => "answer in bursts",
        }
    }
}

const fn plain(
    key: &'static str,
    title: &'static str,
    in_words: &'static str,
    detail: &'static str,
    [test, variant, metric]: [&'static str; 3],
) -> Headline {
    let (in_quick, settles, by_cache) = (true, false, ByCache::Never);
    Headline { key, title, in_words, detail, test, variant, metric, in_quick, settles, by_cache }
}

/// In the order in which a page shows them.
pub const HEADLINES: [Headline; 11] = [
    Headline {
        settles: true,
        ..plain(
            "steady-write",
            "Steady random write",
            "steady random write",
            "4 KiB, QD32, mean over the whole drive once it has settled",
            [random_writes::TEST, random_writes::VARIANT, random_writes::MEAN],
        )
    },
    Headline {
        in_quick: false,
        settles: true,
        ..plain(
            "worst-second",
            "Worst second in steady state",
            "the worst second in steady state",
            "4 KiB random writes, QD32",
            [random_writes::TEST, random_writes::VARIANT, random_writes::LOWEST],
        )
    },
    plain(
        "sequential-write",
        "Sequential write",
        "sequential write to an empty drive",
        "128 KiB, QD1",
        ["sequential-write", "", "bandwidth"],
    ),
    plain("random-read", "Random read", "random read at QD3", "4 KiB, QD3", ["random-read", "QD3", "iops"]),
    Headline {
        in_quick: false,
        ..plain(
            "heavy-p99",
            "Heavy trace, slowest 1 %",
            "the slowest 1 % of the Heavy trace",
            "latency that one request in a hundred exceeds",
            ["heavy", "2015", "latency_p99"],
        )
    },
    plain(
        "random-write",
        "Random write, fresh drive",
        "random writes to a fresh drive",
        "4 KiB, QD32",
        ["random-write", "QD32", "iops"],
    ),
    plain(
        "sequential-read",
        "Sequential read",
        "sequential read",
        "128 KiB, QD1",
        ["sequential-read", "", "bandwidth"],
    ),
    Headline {
        by_cache: ByCache::AnswersBetween,
        ..plain(
            "file-server",
            "File server",
            "the file-server test at QD8",
            "four reads to a write, QD8, full drive",
            ["fileserver", "", "iops"],
        )
    },
    // A drive in small is smaller than what the mix uses.
    Headline {
        in_quick: false,
        by_cache: ByCache::AnswersBetween,
        ..plain(
            "desktop-mix",
            "Desktop mix",
            "the desktop mix",
            "stand-in for a trace; WD Raptor = 100",
            ["storagemark-desktop", "", "index"],
        )
    },
    // What an SLC cache still holds after the fill depends on the size of the drive, and it is read faster.
    Headline {
        in_quick: false,
        ..plain(
            "read-access",
            "Read access",
            "read access",
            "512 B, one at a time",
            ["analyzedisk", "", "latency_mean_read"],
        )
    },
    Headline {
        by_cache: ByCache::TakesAll,
        ..plain(
            "write-access",
            "Write access",
            "write access",
            "512 B, one at a time",
            ["analyzedisk", "", "latency_mean_write"],
        )
    },
];

/// Figures that differ by less than this share of the larger one are level: no reader should choose by so little.
pub const LEVEL: f64 = 0.02;

/// Whether two figures are level: in no order that a page speaks of, and that a quick run has to find.
#[must_use]
pub fn are_level(a: f64, b: f64) -> bool {
    (a - b).abs() < LEVEL * a.max(b)
}

impl Headline {
    /// Its value for a drive, if that was measured and is what the title says.
    #[must_use]
    pub fn of<'a>(&self, outcomes: &'a [Outcome], device: &str) -> Option<&'a Metric> {
        self.outcome(outcomes, device)
            .filter(|o| o.has_settled() || !self.settles)
            .and_then(|o| o.metrics.get(self.metric))
    }

    /// Where it stood at the end of a run, settled or not: no figure to be told as such.
    pub(crate) fn so_far(&self, outcomes: &[Outcome], device: &str) -> Option<f64> {
        random_writes::so_far(self.outcome(outcomes, device)?, self.metric)
    }

    pub(crate) fn outcome<'a>(&self, outcomes: &'a [Outcome], device: &str) -> Option<&'a Outcome> {
        outcomes.iter().find(|o| o.device == device && self.fits(&o.test, &o.variant) && is_as_declared(o))
    }

    /// As its test declares it.
    pub(crate) fn unit(&self) -> &'static str {
        find_test(self.test).ok().and_then(|test| test.metric(self.metric)).map_or("", |metric| metric.unit)
    }

    #[must_use]
    pub fn lower_is_better(&self) -> bool {
        better_end(self.metric, self.unit()) == Some(Better::Lower)
    }

    /// Whether it is a figure of this test in this variant.
    #[must_use]
    pub fn fits(&self, test: &str, variant: &str) -> bool {
        test == self.test && (self.variant.is_empty() || variant == self.variant)
    }

    /// Whether a page of this kind of run shows it.
    #[must_use]
    pub const fn is_shown(&self, quick: bool) -> bool {
        self.in_quick || !quick
    }

    /// Which of two values is better; equal ones are in no order.
    #[must_use]
    pub fn order(&self, a: f64, b: f64) -> std::cmp::Ordering {
        if self.lower_is_better() { a.total_cmp(&b) } else { b.total_cmp(&a) }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::{NotSteady, Unsettled};

    use super::*;

    #[test]
    fn the_test_of_each_declares_it_and_fewer_microseconds_are_better() {
        for headline in HEADLINES {
            let test = find_test(headline.test).unwrap();
            assert!(test.metric(headline.metric).is_some(), "{}", headline.key);
            let ends = [(["IOPS", "MB/s", "points"].as_slice(), false), (&["us"], true)];
            let end = ends.iter().find(|(units, _)| units.contains(&headline.unit())).unwrap();
            assert_eq!(headline.lower_is_better(), end.1, "{}", headline.key);
        }
    }

    #[test]
    fn what_has_not_settled_has_no_figure_of_the_steady_state() {
        let of = |not_steady: Vec<NotSteady>, key: &str| {
            let headline = HEADLINES.into_iter().find(|h| h.key == key).unwrap();
            let outcome = Outcome {
                test: headline.test.into(),
                variant: headline.variant.into(),
                device: "d".into(),
                metrics: [(headline.metric.to_owned(), Metric::new(1_043.0, "IOPS"))].into(),
                not_steady,
                ..Outcome::default()
            };
            headline.of(&[outcome], "d").map(|m| m.value)
        };
        let drifts = || vec![NotSteady::new(Unsettled::Drifts, "they drift".to_owned())];
        assert_eq!(["steady-write", "worst-second"].map(|key| of(drifts(), key)), [None, None]);
        assert_eq!(of(Vec::new(), "steady-write"), Some(1_043.0));
        // Of a figure that no state is needed for it makes no difference.
        assert_eq!(of(drifts(), "random-read"), Some(1_043.0));
    }

    #[test]
    fn a_figure_of_another_block_size_or_depth_is_not_the_one_of_the_title_and_one_of_a_longer_run_is() {
        let has = |key: &str, variant: &str, param: &str, value: serde_json::Value| {
            let headline = HEADLINES.into_iter().find(|h| h.key == key).unwrap();
            let outcome = Outcome {
                test: headline.test.into(),
                variant: variant.into(),
                device: "d".into(),
                params: [(param.to_owned(), value)].into(),
                metrics: [(headline.metric.to_owned(), Metric::new(2_519.0, "IOPS"))].into(),
                ..Outcome::default()
            };
            headline.of(&[outcome], "d").is_some()
        };
        assert_eq!([4096, 131_072].map(|block| has("random-write", "QD32", "block_size", block.into())), [true, false]);
        assert!(has("random-write", "QD32", "seconds", 5.into()));
        let depths = |key, variant| [1, 3, 8, 32].map(|depth| has(key, variant, "queue_depth", depth.into()));
        assert_eq!(depths("steady-write", "2013"), [false, false, false, true]);
        // Whose variant is named after the depth that it ran at.
        assert_eq!(depths("sequential-write", "QD32"), [true, false, false, false]);
        assert_eq!(depths("random-read", "QD3"), [false, true, false, false]);
        assert_eq!([8, 64].map(|load| has("file-server", "", "headline_depth", load.into())), [true, false]);
    }

    #[test]
    fn two_figures_are_level_either_way_round_and_within_two_per_cent() {
        assert!(are_level(98.1, 100.0) && are_level(100.0, 98.1) && are_level(0.5, 0.5));
        assert!(!are_level(98.0, 100.0) && !are_level(100.0, 97.0));
    }
}
