//! Pictures for places that do not show SVG, drawn by `resvg` with fonts that are part of the program.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::ReportError;

/// Pixels for each unit of the picture.
const SCALE: f32 = 1.5;

/// Turns standalone SVGs into PNGs. Holds the fonts; make one and use it for all pictures.
pub struct PngPainter {
    options: Options<'static>,
}

impl Default for PngPainter {
    fn default() -> Self {
        Self::new()
    }
}

impl PngPainter {
    /// Loads DejaVu Sans Condensed. System fonts are never looked at: the letters are the same on every machine.
    #[must_use]
    pub fn new() -> Self {
        let mut fonts = fontdb::Database::new();
        for face in [dejavu::sans_condensed::regular(), dejavu::sans_condensed::bold()] {
            fonts.load_font_source(fontdb::Source::Binary(Arc::new(face)));
        }
        let family = fonts.faces().next().and_then(|f| f.families.first()).map(|f| f.0.clone()).unwrap_or_default();
        fonts.set_sans_serif_family(family.clone());
        PngPainter { options: Options { fontdb: Arc::new(fonts), font_family: family, ..Options::default() } }
    }

    /// Draws `svg` at one and a half pixels a unit.
    ///
    /// # Errors
    /// If `svg` is no SVG or has no size; `chart` names it then.
    pub fn paint(&self, chart: &str, svg: &str) -> Result<Vec<u8>, ReportError> {
        let fail = |problem: String| ReportError::Picture { chart: chart.to_owned(), problem };
        let tree = Tree::from_str(svg, &self.options).map_err(|e| fail(e.to_string()))?;
        let size = tree.size();
        let (w, h) = ((size.width() * SCALE).ceil() as u32, (size.height() * SCALE).ceil() as u32);
        let mut pixels = Pixmap::new(w, h).ok_or_else(|| fail(format!("it measures {w} × {h} pixels")))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| fail(e.to_string()))
    }
}
