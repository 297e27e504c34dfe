//! Writing SVG elements, with coordinates short enough for thousands of them.

use std::fmt::Write as _;

use crate::text::escape;

/// What an entry of a legend switches off: a series by its name, or all of a drive or of a kind.
#[derive(Clone, Copy)]
pub(crate) enum Hides {
    Series,
    Drive,
    Kind,
}

/// Where a text is anchored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The inside of an SVG document under construction.
#[derive(Default)]
pub(crate) struct Canvas {
    pub body: String,
}

/// A coordinate with one decimal at most.
pub(crate) fn coord(v: f64) -> String {
    crate::number::trimmed(v, 1)
}

impl Canvas {
    pub fn text(&mut self, x: f64, y: f64, size: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor} class=\"{class}\">{}</text>",
            coord(x),
            coord(y),
            coord(size),
            escape(text)
        );
    }

    /// Opens a group that nothing leaves, which the script of a page can stretch. In a file there is none.
    pub fn open_clipped(&mut self, id: &str, (x, y): (f64, f64), (w, h): (f64, f64), in_page: bool) {
        if in_page {
            let place = format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", coord(x), coord(y), coord(w), coord(h));
            let _ = write!(
                self.body,
                "<clipPath id=\"{id}\"><rect {place}/></clipPath><g clip-path=\"url(#{id})\"><g class=\"zoom\">"
            );
        }
    }

    /// Opens an entry of a legend, which the script of a page makes a switch.
    pub fn open_key(&mut self, name: &str, hides: Hides) {
        let of = match hides {
            Hides::Series => "",
            Hides::Drive => " data-of=\"drive\"",
            Hides::Kind => " data-of=\"kind\"",
        };
        let _ = write!(self.body, "<g class=\"key\" data-key=\"{}\"{of}>", escape(name));
    }

    pub fn close_clipped(&mut self, in_page: bool) {
        if in_page {
            self.body.push_str("</g></g>");
        }
    }

    /// A stroked path.
    pub fn path(&mut self, d: &str, attributes: &str) {
        let _ = write!(self.body, "<path d=\"{d}\" {attributes}/>");
    }

    /// A bar: its colour, its hatch over it, and a tooltip that browsers show by themselves.
    pub fn bar(&mut self, x: f64, y: f64, w: f64, h: f64, fill: &(String, usize), tooltip: &str) {
        let place =
            format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", coord(x), coord(y), coord(w.max(0.1)), coord(h));
        let _ = write!(self.body, "<g><title>{}</title><rect {place} class=\"{}\"/>", escape(tooltip), fill.0);
        if fill.1 > 0 {
            let _ = write!(self.body, "<rect {place} fill=\"url(#h{})\"/>", fill.1);
        }
        self.body.push_str("</g>");
    }

    /// The ground under a text that stands on a hatch.
    pub fn pill(&mut self, x: f64, y: f64, w: f64, h: f64) {
        let place = format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", coord(x), coord(y), coord(w), coord(h));
        let _ = write!(self.body, "<rect {place} rx=\"3\" class=\"p\" fill-opacity=\".9\" pointer-events=\"none\"/>");
    }

    pub fn rect(&mut self, x: f64, y: f64, w: f64, h: f64, class: &str) {
        let _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{class}\"/>",
            coord(x),
            coord(y),
            coord(w.max(0.0)),
            coord(h.max(0.0))
        );
    }
}
