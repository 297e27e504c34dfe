/// A value in a drive or die file that cannot be built, named by its key so that the loader can point at the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}; {expected}")]
pub struct SpecError {
    /// Dotted path of the key, such as `geometry.planes`.
    pub key: String,
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl SpecError {
    #[must_use]
    pub fn new(key: &str, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        SpecError { key: key.to_owned(), problem: problem.into(), expected: expected.into() }
    }
}
