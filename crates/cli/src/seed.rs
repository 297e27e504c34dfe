//! The seed of a run, as options give it.

/// What every stream of random numbers begins with.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u64::MAX))
}
