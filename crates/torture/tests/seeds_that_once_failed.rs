//! Seeds that once found a bug, each with what it was.

use ssdlab_torture::{build_ssd, run};

#[test]
fn they_pass() {
    for (seed, bug) in [
        (11_630_489_695_959_288_328, "a fold whose last rows held nothing sat on the units of the others"),
        (4_576_812_214_189_791_395, "the same with a cache of a fixed size"),
        (17_087_561_357_940_839_903, "blocks opened at one bit per cell kept that mode over a secure erase"),
        (3_631_720_844_359_341_249, "a drive without a good block wrote map pages to load others"),
    ] {
        if let Err(what) = run(seed, &build_ssd) {
            panic!("seed {seed} ({bug}): {what}");
        }
    }
}
