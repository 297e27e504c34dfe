//! The files of `catalog/`, inside the binary.

#[derive(Debug)]
pub(crate) struct EmbeddedFile {
    /// File name without `.toml`: the name on the command line.
    pub name: &'static str,
    /// Path within the repository, for messages.
    pub path: &'static str,
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

pub(crate) fn find(files: &'static [EmbeddedFile], name: &str) -> Option<&'static EmbeddedFile> {
    files.iter().find(|file| file.name == name)
}
