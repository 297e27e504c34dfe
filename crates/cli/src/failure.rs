//! Why a command ends without having done what it was asked for.

use std::fmt;

use ssdlab_catalog::Diagnostic;

#[derive(Debug)]
pub enum Failure {
    /// What the user gave cannot be used. Nothing ran.
    BadInput(Diagnostic),
    /// The input was sound, but the run failed or was stopped.
    Run(Diagnostic),
    /// A command that was run for the user has failed, and has said why.
    Command(u8),
    /// Whoever read our output has gone (`ssdlab list tests | head -1`): nothing is wrong.
    ReaderGone,
}

impl Failure {
    pub fn bad_input(what: impl Into<String>) -> Self {
        Failure::BadInput(Diagnostic::new(what))
    }

    pub fn run(what: impl Into<String>) -> Self {
        Failure::Run(Diagnostic::new(what))
    }

    pub fn help(self, help: impl Into<String>) -> Self {
        match self {
            Failure::BadInput(d) => Failure::BadInput(d.help(help)),
            Failure::Run(d) => Failure::Run(d.help(help)),
            Failure::Command(_) | Failure::ReaderGone => self,
        }
    }

    /// The same of a command of which something has run by now: not nothing, whatever the reason.
    pub fn after_a_run(self) -> Self {
        match self {
            Failure::BadInput(d) => Failure::Run(d),
            other => other,
        }
    }

    /// What the program ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::BadInput(_) => 2,
            Failure::Run(_) => 1,
            Failure::Command(code) => *code,
            Failure::ReaderGone => 0,
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure::BadInput(diagnostic)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadInput(d) | Failure::Run(d) => d.fmt(f),
            Failure::Command(_) | Failure::ReaderGone => Ok(()),
        }
    }
}
