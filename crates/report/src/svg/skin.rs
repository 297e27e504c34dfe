//! Colours, dashes, markers and hatches. Colour is never the only difference between two series.

use ssdlab_core::CAUSES;

/// Series colours on a light and on a dark ground: Okabe and Ito's palette for colour-blind readers (2008), darkened
/// or lightened where a ground asks for it.
pub(crate) const SERIES: [(&str, &str); 8] = [
    ("#0067a5", "#5ab0f0"),
    ("#d1530a", "#ff9155"),
    ("#00835d", "#35c79b"),
    ("#a8487f", "#e698c4"),
    ("#b07d00", "#f0bf3f"),
    ("#4d5866", "#b4bfcb"),
    ("#3a9bd0", "#9cd6fb"),
    ("#6a4fa3", "#b7a2ee"),
];

/// Colours of the causes, in the order of [`CAUSES`]: waiting is grey, flash operations are strong, and what a drive
/// does for itself is warm.
pub(crate) const CAUSE_COLOURS: [(&str, &str); CAUSES.len()] = [
    ("#7f93a8", "#8ba2ba"),
    ("#c9d0d8", "#4d5966"),
    ("#a9bd9a", "#64785a"),
    ("#56677a", "#6d8198"),
    ("#e6b43c", "#d6a32b"),
    ("#62b8d0", "#4aa3bd"),
    ("#1f78b4", "#3f8fd0"),
    ("#1b9e77", "#2fae88"),
    ("#7b61a8", "#9379c4"),
    ("#d95f02", "#e8742a"),
    ("#a6611a", "#bd7a35"),
    ("#d27fb0", "#c76aa2"),
    ("#9c1c2e", "#cf4a5c"),
    ("#c2410c", "#f07a48"),
    ("#3b4ea3", "#7286dd"),
    ("#79a3e0", "#a9c8f5"),
    ("#0f7d8c", "#35b3c4"),
    ("#8a7a1f", "#c2b04a"),
    ("#5d3a7a", "#a581c7"),
    ("#b0487a", "#e08ab4"),
    ("#8c1d04", "#ff8a65"),
];

/// Hatches of the causes: neighbours in a bar must differ without colour too.
pub(crate) const CAUSE_HATCHES: [usize; CAUSES.len()] = [0, 3, 6, 1, 4, 2, 0, 5, 6, 1, 4, 3, 6, 2, 0, 2, 5, 1, 3, 6, 4];

/// Dash patterns of lines; the first is solid.
pub(crate) const DASHES: [&str; 8] = ["", "7 4", "2 3", "10 3 2 3", "14 4", "5 2 1 2 1 2", "1 5", "10 3 5 3"];

/// Number of hatch patterns; hatch 0 is none.
pub(crate) const HATCHES: usize = 7;

/// How the dot of a scatter looks: it must stay a plain path, so that thousands stay small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dot {
    Round,
    Square,
    Dash,
    Upright,
}

pub(crate) const DOTS: [Dot; 4] = [Dot::Round, Dot::Dash, Dot::Upright, Dot::Square];

/// Where a picture lives. In the page its colours follow the page's light or dark scheme; in a file they are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skin {
    Page,
    File,
}

/// Grounds and inks by name: light, dark.
const INKS: [(&str, &str, &str); 6] = [
    ("paper", "#ffffff", "#14181d"),
    ("ink", "#1a1f26", "#e9ecf0"),
    ("muted", "#596573", "#a2adb9"),
    ("grid", "#dfe3e8", "#2f3740"),
    ("faint", "#eff1f4", "#20262d"),
    ("axis", "#98a3ae", "#5c6874"),
];

/// Rules for the classes that pictures use. Colours are custom properties in the page, literal in a file.
pub(crate) fn rules(skin: Skin) -> String {
    let ink = |name: &str| match skin {
        Skin::Page => format!("var(--{name})"),
        Skin::File => INKS.iter().find(|i| i.0 == name).map(|i| i.1.to_owned()).unwrap_or_default(),
    };
    let colour = |prefix: &str, i: usize, light: &str| match skin {
        Skin::Page => format!("var(--{prefix}{i})"),
        Skin::File => light.to_owned(),
    };
    let scope = match skin {
        Skin::Page => ".chart ",
        Skin::File => "",
    };
    let mut out = String::new();
    let mut rule = |selector: &str, body: String| {
        let selector: Vec<String> = selector.split(", ").map(|s| format!("{scope}{s}")).collect();
        out.push_str(&format!("{}{{{body}}}\n", selector.join(",")));
    };
    rule(".g", format!("stroke:{};stroke-width:1;fill:none", ink("grid")));
    rule(".n", format!("stroke:{};stroke-width:1;fill:none", ink("faint")));
    rule(".x", format!("stroke:{};stroke-width:1;fill:none", ink("axis")));
    rule(".w", format!("stroke:{};stroke-width:2;fill:none", ink("muted")));
    rule(".z", format!("fill:{}", ink("faint")));
    rule(".q", format!("fill:{}", ink("faint")));
    rule(".t", format!("fill:{}", ink("muted")));
    rule(".l, .b, .v", format!("fill:{}", ink("ink")));
    rule(".b", "font-weight:bold".to_owned());
    let halo = "stroke-width:3;stroke-linejoin:round;paint-order:stroke";
    rule(".o", format!("fill:{};stroke:{};{halo}", ink("ink"), ink("paper")));
    rule(".h", format!("stroke:{};fill:none", ink("paper")));
    rule(".p", format!("fill:{}", ink("paper")));
    for (i, (light, _)) in SERIES.iter().enumerate() {
        let c = colour("s", i, light);
        rule(&format!(".s{i}"), format!("stroke:{c};fill:none"));
        rule(&format!(".f{i}"), format!("fill:{c}"));
    }
    for (i, (light, _)) in CAUSE_COLOURS.iter().enumerate() {
        rule(&format!(".k{i}"), format!("fill:{}", colour("k", i, light)));
    }
    out
}

/// Values of the custom properties that [`rules`] refers to.
pub(crate) fn properties(dark: bool) -> String {
    let pick = |pair: (&'static str, &'static str)| if dark { pair.1 } else { pair.0 };
    let mut out = String::new();
    for (name, light, dark_value) in INKS {
        out.push_str(&format!("--{name}:{};", if dark { dark_value } else { light }));
    }
    for (i, pair) in SERIES.into_iter().enumerate() {
        out.push_str(&format!("--s{i}:{};", pick(pair)));
    }
    for (i, pair) in CAUSE_COLOURS.into_iter().enumerate() {
        out.push_str(&format!("--k{i}:{};", pick(pair)));
    }
    out
}

/// Definitions of the hatch patterns, laid over a filled bar in the colour of the ground.
pub(crate) fn hatch_definitions() -> String {
    let shapes = [
        "<path class=\"h\" stroke-width=\"1.4\" d=\"M-1 7L7-1M-1 1L1-1M5 7L7 5\"/>",
        "<path class=\"h\" stroke-width=\"1.4\" d=\"M-1-1L7 7M-1 5L1 7M5-1L7 1\"/>",
        "<circle class=\"p\" cx=\"1.5\" cy=\"1.5\" r=\"1\"/><circle class=\"p\" cx=\"4.5\" cy=\"4.5\" r=\"1\"/>",
        "<path class=\"h\" stroke-width=\"1.2\" d=\"M3 0V6\"/>",
        "<path class=\"h\" stroke-width=\"1.2\" d=\"M0 3H6\"/>",
        "<path class=\"h\" stroke-width=\"1\" d=\"M0 0L6 6M6 0L0 6\"/>",
    ];
    const { assert!(HATCHES == 7) };
    let mut out = String::from("<defs>");
    for (i, shape) in shapes.iter().enumerate() {
        out.push_str(&format!(
            "<pattern id=\"h{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><g opacity=\".6\">{shape}</g></pattern>",
            i + 1
        ));
    }
    out.push_str("</defs>");
    out
}

/// How a series of bars is filled: class of its colour, hatch. `look`: which of so many hatches it has, unless it is of a cause.
pub(crate) fn bar_fill(look: usize, colour: usize, cause: Option<usize>) -> (String, usize) {
    match cause {
        Some(k) => (format!("k{k}"), CAUSE_HATCHES[k]),
        None => (format!("f{colour}"), [0, 1, 3, 2, 5, 4, 6][look % HATCHES]),
    }
}

/// The cause that a series is named after, by label or key.
pub(crate) fn cause_index(name: &str) -> Option<usize> {
    CAUSES.iter().position(|c| c.label() == name || c.key() == name)
}
