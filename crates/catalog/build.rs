//! Lists the files of `catalog/`, so that a new drive, disk, die or set of claims is a new file and no code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    // As it is now, not as it was when this script was compiled: a build directory may outlive its checkout.
    #[expect(clippy::disallowed_methods, reason = "where the sources are is not in the sources")]
    let manifest_dir = env::var("CARGO_MANIFEST_DIR").expect("cargo says so");
    let catalog = Path::new(&manifest_dir).join("../../catalog");
    let mut out = String::new();
    let kinds = [
        ("DRIVES", "drives"),
        ("DIES", "nand"),
        ("DISKS", "disks"),
        ("ARRAYS", "arrays"),
        ("ADAPTERS", "adapters"),
        ("CLAIMS", "claims"),
    ];
    for (constant, folder) in kinds {
        let dir = catalog.join(folder);
        println!("cargo::rerun-if-changed={}", dir.display());
        let mut files: Vec<PathBuf> = fs::read_dir(&dir)
            .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
            .map(|entry| entry.expect("directory entry").path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
            .collect();
        files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
        writeln!(out, "pub(crate) static {constant}: &[EmbeddedFile] = &[").expect("string");
        for file in files {
            println!("cargo::rerun-if-changed={}", file.display());
            let name = file.file_stem().and_then(|s| s.to_str()).expect("a UTF-8 name");
            let path = file.canonicalize().expect("an existing file");
            writeln!(
                out,
                "    EmbeddedFile {{ name: {name:?}, path: {:?}, text: include_str!({path:?}) }},",
                format!("catalog/{folder}/{name}.toml")
            )
            .expect("string");
        }
        writeln!(out, "];").expect("string");
    }
    #[allow(clippy::disallowed_methods, reason = "cargo's way to name the folder")]
    let out_dir = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out_dir).join("embedded.rs"), out).expect("OUT_DIR is writable");
}
