//! When the data of a row are in the drive: until then its program must wait.

use ssdlab_ftl::{FlashOp, OpKind, Stretch, Translation};
use ssdlab_nand::{DieId, LogicalPage};

use crate::properties::plain;
use crate::rig::Rig;
use crate::rig::case::Case;

fn rows_of_four() -> Rig {
    Rig::new(&Case { dies: 2, units_per_page: 4, ..plain() }).expect("it has spare area enough")
}

/// Of the host's programs, in the order in which they were asked for.
fn ready(ops: &[(DieId, FlashOp)]) -> Vec<i64> {
    ops.iter().filter(|(_, op)| op.kind() == OpKind::HostProgram).map(|(_, op)| op.data_late_by(0)).collect()
}

#[test]
fn a_row_waits_for_the_latest_of_its_units_also_where_one_was_written_again_in_the_buffer() {
    let (mut ftl, mut ops) = (rows_of_four().ftl, Vec::new());
    [100, 200, 300].into_iter().zip(0..).for_each(|(ready, page)| assert!(ftl.write(LogicalPage::new(page), 1, ready)));
    assert!(!ftl.write(LogicalPage::FIRST, 2, 900), "it takes the place of what waits");
    ftl.force(ftl.accepted_units(), &mut ops);
    assert_eq!(ready(&ops), [900]);
}

#[test]
fn rows_of_a_long_write_wait_for_their_own_last_unit() {
    let (mut ftl, mut ops) = (rows_of_four().ftl, Vec::new());
    let stretch = Stretch { first: LogicalPage::FIRST, units: 9, stream: 0, from: 1000, each: 10 };
    assert_eq!(Translation::write_rows(&mut ftl, &stretch, |_| 1, &mut ops), Some(8));
    assert_eq!(ready(&ops), [1040, 1080]);
}
