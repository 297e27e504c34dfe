#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}; {expected}")]
pub struct EccError {
    pub key: String,
    pub problem: String,
    pub expected: String,
}
impl EccError {
    #[must_use]
    pub fn new(key: &str, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        EccError { key: key.to_owned(), problem: problem.into(), expected: expected.into() }
    }
}
