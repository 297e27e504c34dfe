//! The stand-ins on drives that cannot take what they send.

use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{BenchError, Monitor};

use crate::replay::Other;

#[test]
fn a_drive_that_takes_no_single_sectors_is_refused_before_anything_is_sent() {
    let lab = Other(|info| info.sector_bytes = 4096);
    for name in ["destroyer", "heavy", "light"] {
        let settings = [("requests".to_owned(), "1000".to_owned())];
        let e = run_test(find_test(name).unwrap(), &lab, &settings, 1, false, &Monitor::silent()).unwrap_err();
        let BenchError::Unsuitable(told) = &e else { panic!("{name}: {e}") };
        assert_eq!(told, "it sends requests of 512 bytes, and model takes multiples of 4096 bytes", "{name}");
    }
}
