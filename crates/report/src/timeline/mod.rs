//! What the parts of a device did while its slowest request waited: for a viewer of traces, and as a picture.

mod events;
pub(crate) mod lanes;
pub(crate) mod words;

use ssdlab_bench::host::SlowestSeen;

use crate::svg::{self, Layout, Skin};

pub use events::{TIMELINE_BEGINS, timeline_json};
pub use words::slowest_text;

/// What every such picture begins with.
pub const PICTURE_BEGINS: &str = "<!-- ssdlab timeline -->\n";

/// The same as [`timeline_json`] as a picture: SVG.
#[must_use]
pub fn timeline_svg(seen: &SlowestSeen, device: &str) -> String {
    format!(
        "{PICTURE_BEGINS}{}",
        svg::timeline::draw(seen, device, &crate::text::units(&slowest_text(seen)), Layout::File, Skin::File)
    )
}
