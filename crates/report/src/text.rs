//! Escaping, file names and the width of printed text.

/// Escapes text for HTML and XML, in elements and in quoted attributes. Characters that XML forbids are left out.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => {}
            c => out.push(c),
        }
    }
    out
}

/// Escapes a sentence or a cell of the bench or of a drive's file, as [`units`] has it.
pub(crate) fn prose(text: &str) -> String {
    escape(&units(text))
}

/// A page and a picture write `µs` where the bench has `us`, and break no line between a number and its unit or per cent sign.
pub(crate) fn units(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        out.push_str(before);
        let unit = after.split(|c: char| !c.is_alphanumeric() && c != '%').next().unwrap_or("");
        let is_unit = before.ends_with(|c: char| c.is_ascii_digit())
            && matches!(unit, "us" | "ns" | "ms" | "s" | "%" | "B" | "KiB" | "MiB" | "GiB" | "kB" | "MB" | "GB" | "TB");
        out.push(if is_unit { '\u{a0}' } else { ' ' });
        rest = after;
        if is_unit && unit == "us" {
            out.push_str("µs");
            rest = &after[2..];
        }
    }
    out.push_str(rest);
    out
}

/// Names within a sentence: `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Text as a part of a file name or an element id: lower-case letters, digits, dots and single hyphens.
pub(crate) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() || (c == '.' && !out.is_empty()) {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out = out.trim_matches(['-', '.']);
    if out.is_empty() { "unnamed".to_owned() } else { out.to_owned() }
}

/// Compares keys as people would order them: numbers within them by value, so that `qd2` comes before `qd16`.
pub(crate) fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    // One piece a character, each with the number before it.
    let order = |text: &str| -> Vec<(Option<u64>, String)> {
        text.split_inclusive(|c: char| !c.is_ascii_digit())
            .map(|part| {
                let digits = part.bytes().take_while(u8::is_ascii_digit).count();
                (part[..digits].parse().ok(), part[digits..].to_owned())
            })
            .collect()
    };
    order(a).cmp(&order(b)).then_with(|| a.cmp(b))
}

/// Approximate width of `text` at `size`, in the unit of `size`: the advances of a usual sans-serif, rounded up a
/// little, since the reader's font is not known.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | 'I' => 0.30,
            ' ' | 'f' | 't' | 'r' | '(' | ')' | '/' | '-' | '[' | ']' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.87,
            'A'..='Z' | '→' | '±' | '≈' => 0.66,
            c if (c as u32) > 0x2E80 => 1.0,
            _ => 0.57,
        })
        .sum();
    ems * size
}

/// Shortens `text` to at most `room` (same unit as `size`), with an ellipsis if something had to go.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if width(&out, size) + 0.8 * size > room {
            out.pop();
            break;
        }
    }
    format!("{}…", out.trim_end())
}

/// Breaks `text` into lines of at most `room`.
pub(crate) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            *line = word.to_owned();
        } else if width(line, size) + width(word, size) + 0.36 * size <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_disarmed() {
        assert_eq!(
            escape("<b a=\"1\" c='2'>&\u{0}\u{7}</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;&lt;/b&gt;"
        );
    }

    #[test]
    fn a_page_writes_microseconds_as_people_do_and_keeps_units_with_their_numbers() {
        assert_eq!(
            prose("30.0 us to 1.35 ms: 5 us, <us> 3 users"),
            "30.0\u{a0}µs to 1.35\u{a0}ms: 5\u{a0}µs, &lt;us&gt; 3 users"
        );
        assert_eq!(prose("fastest 50 %"), "fastest 50\u{a0}%");
        assert_eq!(prose("(band 2 to 5 us)"), "(band 2 to 5\u{a0}µs)");
    }

    #[test]
    fn numbers_in_keys_are_ordered_by_value() {
        let mut keys = ["a_qd16", "a_qd2", "b", "a_qd1", "a_power_qd4", "a"];
        keys.sort_by(|a, b| natural_order(a, b));
        assert_eq!(keys, ["a", "a_power_qd4", "a_qd1", "a_qd2", "a_qd16", "b"]);
    }

    #[test]
    fn slugs_are_safe_file_names() {
        assert_eq!(slug("over-provisioning 25 %"), "over-provisioning-25");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("./My Drive.toml"), "my-drive.toml");
        assert_eq!(slug("…"), "unnamed");
    }

    #[test]
    fn lines_break_between_words_and_keep_all_of_them() {
        let lines = wrap("a sentence that is broken into several lines", 10.0, 90.0);
        assert!(lines.len() > 2 && lines.iter().all(|l| width(l, 10.0) <= 90.0), "{lines:?}");
        assert_eq!(lines.join(" "), "a sentence that is broken into several lines");
    }
}
