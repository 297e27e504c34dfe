//! A stored point is taken for ours only if the code that finished it is the code that we are built of.

#[path = "../../build/fingerprint.rs"]
mod fingerprint;

use std::fs;
use std::path::{Path, PathBuf};

use fingerprint::Code;

/// A small workspace that is gone when the test is over: `sweep` needs `device`, which needs `ecc`; `report` stands by.
struct Workspace(PathBuf);

impl Workspace {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("ssdlab-fingerprint-{name}-{}", std::process::id()));
        let workspace = Workspace(root);
        workspace.write(
            "Cargo.toml",
            "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\n\
             device = { path = \"crates/device\" }\necc = { path = \"crates/ecc\" }\nserde = \"1\"\n",
        );
        workspace.write("Cargo.lock", "version = 4\n");
        workspace.package("sweep", "device.workspace = true\nserde.workspace = true\n");
        workspace.package("device", "ecc = { workspace = true }\n");
        workspace.package("ecc", "");
        workspace.package("report", "ecc = { path = \"../ecc\" }\n");
        workspace.write("crates/ecc/data/ldpc.csv", "1,2,3\n");
        workspace
    }

    fn package(&self, name: &str, dependencies: &str) {
        let manifest = format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}");
        self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
        self.write(&format!("crates/{name}/src/lib.rs"), "//! Nothing.\n");
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn hash(&self) -> u64 {
        Code::of(&self.0.join("crates/sweep")).unwrap().hash().unwrap()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_change_in_anything_that_is_built_in_changes_the_fingerprint() {
    let workspace = Workspace::new("change");
    let mut before = workspace.hash();
    assert_eq!(workspace.hash(), before);
    for (path, text) in [
        ("crates/ecc/src/lib.rs", "//! Something.\n"),
        ("crates/ecc/src/deep/er.rs", "//! A new file.\n"),
        ("crates/ecc/data/ldpc.csv", "1,2,4\n"),
        ("crates/device/src/lib.rs", "//! Something.\n"),
        ("crates/sweep/src/lib.rs", "//! Something.\n"),
        ("Cargo.lock", "version = 4\n# another serde\n"),
    ] {
        workspace.write(path, text);
        let after = workspace.hash();
        assert_ne!(after, before, "{path}");
        before = after;
    }
}

#[test]
fn what_is_not_built_in_leaves_the_fingerprint_alone() {
    let workspace = Workspace::new("apart");
    let before = workspace.hash();
    for path in ["crates/report/src/lib.rs", "crates/ecc/tests/codes.rs", "crates/ecc/examples/page.rs"] {
        workspace.write(path, "//! Something.\n");
        assert_eq!(workspace.hash(), before, "{path}");
    }
}

#[test]
fn the_real_list_has_error_correction_and_its_tables() {
    let code = Code::of(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let has = |end: &str| code.files.iter().any(|file| file.ends_with(end));
    for name in ["core", "nand", "ecc", "ftl", "workload", "bench", "catalog", "sweep"] {
        assert!(has(&format!("crates/{name}/src/lib.rs")), "{name} is not among {:?}", code.files);
    }
    assert!(has("crates/ecc/data/ldpc.csv"), "{:?}", code.files);
    assert!(!has("crates/torture/src/lib.rs") && !has("crates/cli/src/main.rs"), "{:?}", code.files);
    let watched = |file: &&PathBuf| code.watched.iter().any(|w| file.starts_with(w));
    assert!(code.files.iter().all(|file| watched(&file)), "cargo does not watch every file");
}
