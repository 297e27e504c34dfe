//! What blocks will have worn after many times the work in which their wear was watched.

use std::collections::BTreeSet;

use ssdlab_device::Differences;

/// A block further from the mean of the crowd than so many of its standard deviations, over all windows, stands out ...
const STANDS_OUT: f64 = 5.0;
/// ... if it does so in each half of the windows as well, on the same side: else a burst of erases would pass for a
/// role.
const STANDS_OUT_IN_HALF: f64 = 3.0;
/// Standard errors from which on a covariance is taken for differences that last. With fewer, chance alone would pass
/// for them in one drive of forty, and what it adds up to over a life is large.
const SURE: f64 = 3.0;
/// Standard errors to either side that bound what may last.
const BOUND: f64 = 2.0;

/// The wear of blocks in windows of work, and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct WearForecast {
    /// What each block has worn in all windows.
    total: Vec<f64>,
    /// Whether it is one of the crowd: all but those with a role of their own.
    in_crowd: Vec<bool>,
    /// Of all blocks, and of the crowd.
    mean: f64,
    crowd_mean: f64,
    /// Shares of the crowd's variance that last: as found, at least, at most.
    lasting: [f64; 3],
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count().max(1) as f64
}

fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let centre = mean(values.clone());
    libm::sqrt(mean(values.map(|v| (v - centre) * (v - centre))))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Of those in the crowd.
fn among<'a>(values: &'a [f64], crowd: &'a [bool]) -> impl Iterator<Item = f64> + Clone + 'a {
    values.iter().zip(crowd).filter(|(_, is_in)| **is_in).map(|(v, _)| *v)
}

fn sum_of(windows: &[Vec<f64>]) -> Vec<f64> {
    (0..windows[0].len()).map(|block| windows.iter().map(|window| window[block]).sum()).collect()
}

/// Which blocks have no role of their own, such as those of a cache that is set aside.
fn crowd(windows: &[Vec<f64>], total: &[f64]) -> Vec<bool> {
    let half = windows.len() / 2;
    // From the middle outwards: those that stand out must not widen what they are measured by.
    let mut centre = median(total.to_vec());
    let distance: Vec<f64> = total.iter().map(|v| (v - centre).abs()).collect();
    let (usual, average) = (median(distance.clone()), mean(distance.iter().copied()));
    // As many standard deviations as these are of a normal distribution.
    let mut width = if usual > 0.0 { 1.4826 * usual } else { 1.2533 * average };
    let mut is_in = vec![true; total.len()];
    // It grows or shrinks by a few at a time; where it swings, any of its states will do.
    for _ in 0..20 {
        let next: Vec<bool> = total.iter().map(|v| (v - centre).abs() <= STANDS_OUT * width).collect();
        if next == is_in {
            break;
        }
        is_in = next;
        (centre, width) = (mean(among(total, &is_in)), deviation(among(total, &is_in)));
    }
    let halves = [&windows[..half], &windows[windows.len() - half..]].map(sum_of);
    let scale = [0, 1].map(|k| (mean(among(&halves[k], &is_in)), deviation(among(&halves[k], &is_in))));
    (0..total.len())
        .map(|block| {
            let [a, b] = [0, 1].map(|k| (halves[k][block] - scale[k].0, STANDS_OUT_IN_HALF * scale[k].1));
            let persists = a.0.abs() > a.1 && b.0.abs() > b.1 && a.0 * b.0 > 0.0;
            is_in[block] || !persists
        })
        .collect()
}

/// Shares of the crowd's variance that last. Differences that last are what windows have in common that do not follow
/// on each other: in those that do, the same data lie in the same blocks, and a block that was just erased is not
/// erased at once.
fn lasting(windows: &[Vec<f64>], total: &[f64], in_crowd: &[bool]) -> [f64; 3] {
    let n = windows.len();
    let own: Vec<Vec<f64>> = windows
        .iter()
        .map(|window| {
            let centre = mean(among(window, in_crowd));
            among(window, in_crowd).map(|v| v - centre).collect()
        })
        .collect();
    let apart = (0..n).flat_map(|j| (j + 2..n).map(move |k| (j, k)));
    let pairs = apart.clone().count() as f64;
    let products: Vec<f64> = (0..own[0].len())
        .map(|block| apart.clone().map(|(j, k)| own[j][block] * own[k][block]).sum::<f64>() / pairs)
        .collect();
    let covariance = mean(products.iter().copied());
    // Blocks that were always erased together are one observation.
    let histories: BTreeSet<Vec<u64>> = (0..total.len())
        .filter(|&block| in_crowd[block])
        .map(|block| windows.iter().map(|window| window[block] as u64).collect())
        .collect();
    let error = deviation(products.iter().copied()) / libm::sqrt(histories.len() as f64);
    let spread = deviation(among(total, in_crowd));
    let share = |covariance: f64| {
        if spread > 0.0 { (covariance * (n * n) as f64 / (spread * spread)).clamp(0.0, 1.0) } else { 0.0 }
    };
    // Blocks that take turns in step with the windows look alike in every other one; in all of them together they
    // differ by less than in each.
    let adds_up = spread * spread > own.iter().map(|window| mean(window.iter().map(|v| v * v))).sum::<f64>();
    let is_sure = adds_up && covariance > SURE * error;
    let found = if is_sure { share(covariance) } else { 0.0 };
    let least = if is_sure { share(covariance - BOUND * error) } else { 0.0 };
    // A covariance that chance has made negative does not bound it closer than none does.
    [found, least, share(covariance.max(0.0) + BOUND * error)]
}

impl WearForecast {
    /// Of windows of equal work, oldest first; in each, what every block has worn.
    pub(crate) fn new(windows: &[Vec<f64>]) -> Self {
        assert!(windows.len() >= 3, "windows that lie apart are three at least");
        let total = sum_of(windows);
        let in_crowd = crowd(windows, &total);
        let lasting = lasting(windows, &total, &in_crowd);
        let (mean, crowd_mean) = (mean(total.iter().copied()), mean(among(&total, &in_crowd)));
        assert!(mean > 0.0, "no block was worn in the windows");
        WearForecast { total, in_crowd, mean, crowd_mean, lasting }
    }

    /// What blocks wear on average in all windows.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn is_in_crowd(&self, block: usize) -> bool {
        self.in_crowd[block]
    }

    /// What a block wears in `times` as much work as all windows, after them.
    pub(crate) fn worn(&self, block: usize, times: f64, differences: Differences) -> f64 {
        if !self.in_crowd[block] {
            return self.total[block] * times;
        }
        let [found, least, most] = self.lasting;
        let lasting = match differences {
            Differences::AsFound => found,
            Differences::Least => least,
            Differences::Most => most,
        };
        // The windows are a part of the work, and chance goes on from where it is.
        let all = 1.0 + times;
        let growth = libm::sqrt((1.0 - lasting) * all + lasting * all * all) - 1.0;
        self.crowd_mean * times + (self.total[block] - self.crowd_mean) * growth
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    const BLOCKS: usize = 1000;

    /// Each window wears each block by ten, chance added: none of it comes again.
    fn by_chance(windows: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = Rng::new(seed);
        (0..windows).map(|_| (0..BLOCKS).map(|_| (0..20).map(|_| rng.below(2) as f64).sum()).collect()).collect()
    }

    fn spread_after(windows: &[Vec<f64>], times: f64) -> f64 {
        let forecast = WearForecast::new(windows);
        let after: Vec<f64> = (0..BLOCKS)
            .map(|block| forecast.total[block] + forecast.worn(block, times, Differences::AsFound))
            .collect();
        deviation(after.iter().copied())
    }

    #[test]
    fn what_chance_differs_by_grows_with_the_root_of_the_work() {
        // 800 windows of a variance of five.
        for seed in 0..10 {
            let spread = spread_after(&by_chance(8, seed), 99.0);
            assert!((spread / 63.2 - 1.0).abs() < 0.1, "seed {seed}: {spread}");
        }
    }

    #[test]
    fn what_lasts_grows_with_the_work() {
        let mut windows = by_chance(8, 1);
        windows.iter_mut().for_each(|w| w.iter_mut().skip(BLOCKS / 2).for_each(|worn| *worn += 4.0));
        let spread = spread_after(&windows, 99.0);
        assert!((spread / 1601.0 - 1.0).abs() < 0.06, "{spread}");
    }

    /// Blocks erased in turns, in step with the windows: after all none is worn more than another.
    #[test]
    fn turns_do_not_last() {
        for (turns, most) in [(2, 0.1), (4, 0.1), (3, 10.0)] {
            let turn =
                |window: usize| (0..BLOCKS).map(|block| f64::from((block + window).is_multiple_of(turns))).collect();
            let windows: Vec<Vec<f64>> = (0..8).map(turn).collect();
            assert!(spread_after(&windows, 99.0) < most, "{turns}");
        }
    }

    #[test]
    fn a_few_with_a_role_of_their_own_keep_their_pace_and_do_not_carry_the_rest() {
        let mut windows = by_chance(8, 2);
        windows.iter_mut().for_each(|w| w[..20].iter_mut().for_each(|worn| *worn += 30.0));
        // A burst is no role.
        windows[3][500] += 200.0;
        let forecast = WearForecast::new(&windows);
        assert!((0..BLOCKS).all(|block| forecast.is_in_crowd(block) == (block >= 20)));
        assert!((forecast.worn(5, 100.0, Differences::AsFound) / 32_000.0 - 1.0).abs() < 0.1);
        let rest: Vec<f64> = (20..500).map(|block| forecast.worn(block, 100.0, Differences::AsFound)).collect();
        assert!(deviation(rest.iter().copied()) < 80.0);
    }

    #[test]
    fn bounds_lie_around_what_was_found() {
        for windows in [by_chance(8, 3), by_chance(3, 4)] {
            let [found, least, most] = WearForecast::new(&windows).lasting;
            assert!(least <= found && found <= most && most < 1.0, "{least} {found} {most}");
        }
    }
}
