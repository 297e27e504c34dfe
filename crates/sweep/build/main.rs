//! Writes the fingerprint of the code that decides on results: a point that other code finished is not taken for ours.

mod fingerprint;

use std::path::Path;
use std::{env, fs};

fn main() {
    #[expect(clippy::disallowed_methods, reason = "where the sources are is not in the sources")]
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo says so");
    let code = fingerprint::Code::of(Path::new(&here)).unwrap_or_else(|problem| panic!("{problem}"));
    for path in &code.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let hash = code.hash().unwrap_or_else(|problem| panic!("{problem}"));
    #[allow(clippy::disallowed_methods, reason = "cargo's way to name the folder")]
    let out_dir = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out_dir).join("fingerprint.txt"), format!("{hash:016x}")).expect("OUT_DIR is writable");
}
