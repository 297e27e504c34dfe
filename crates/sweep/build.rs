//! A fingerprint of the code that decides on results: a point that another program finished is not taken for ours.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    #[expect(clippy::disallowed_methods, reason = "where the sources are is not in the sources")]
    let checkout = env::var("CARGO_MANIFEST_DIR").expect("cargo says so");
    let crates = Path::new(&checkout).join("..");
    let mut files = Vec::new();
    for name in ["core", "nand", "ftl", "ssd", "workload", "bench", "sweep"] {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    // Mathematics and reading of numbers come from there.
    let lock = crates.join("..").join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    files.push(lock);
    files.sort();
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    for file in files {
        let name = file.strip_prefix(&crates).unwrap_or(&file).to_string_lossy().into_owned();
        // A file that is not there (outside a checkout) leaves its name.
        let text = fs::read(&file).unwrap_or_default();
        for byte in name.bytes().chain([0]).chain(text).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
    #[allow(clippy::disallowed_methods, reason = "cargo's way to name the folder")]
    let out_dir = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out_dir).join("fingerprint.txt"), format!("{hash:016x}")).expect("OUT_DIR is writable");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
