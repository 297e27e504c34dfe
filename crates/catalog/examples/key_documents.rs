//! Writes what follows from the declarations of the keys, into the folder named: the tables of `drive-files.md`,
//! `disks.md` and `arrays.md`, and the files of `schema`.

use std::fs;
use std::path::PathBuf;

use ssdlab_catalog::documentation::{File, with_tables};

fn main() -> std::io::Result<()> {
    let docs = PathBuf::from(std::env::args().nth(1).expect("the folder of the documents"));
    for (page, files) in [
        ("drive-files.md", &[File::Drive, File::Die][..]),
        ("disks.md", &[File::Disk]),
        ("arrays.md", &[File::Adapter]),
    ] {
        let page = docs.join(page);
        fs::write(&page, with_tables(&fs::read_to_string(&page)?, files))?;
    }
    fs::create_dir_all(docs.join("schema"))?;
    for (name, file) in [("drive", File::Drive), ("die", File::Die), ("disk", File::Disk), ("adapter", File::Adapter)] {
        let text = serde_json::to_string_pretty(&file.schema()).expect("a JSON document");
        fs::write(docs.join(format!("schema/{name}.json")), text + "\n")?;
    }
    Ok(())
}
