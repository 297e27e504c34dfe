//! What the drives are made of, and how we know.

use crate::number;
use crate::review::{Member, Review, SpecRow};
use crate::text::{escape, prose};

pub(crate) fn write(out: &mut String, review: &Review) {
    if review.devices.iter().all(|d| d.specification.is_empty()) {
        return;
    }
    out.push_str("<section id=\"specification\" aria-labelledby=\"specification-h\">\n");
    out.push_str("<h2 id=\"specification-h\">Specification</h2>\n<p>Every parameter of the model, with its source. ");
    out.push_str("Nobody published those marked <span class=\"tag estimate\">estimate</span>.</p>\n");
    for device in review.devices.iter().filter(|d| !d.specification.is_empty()) {
        out.push_str(&format!("<h3>{}</h3>\n", escape(&device.facts.name)));
        let open = if review.devices.len() == 1 { " open" } else { "" };
        out.push_str(&format!("<details{open}><summary>{}</summary>\n", count(&device.specification)));
        table(out, &device.facts.name, &device.specification);
        out.push_str("</details>\n");
        members(out, &device.members);
    }
    out.push_str("</section>\n");
}

/// What a device is made of, closed until a reader opens it.
fn members(out: &mut String, list: &[Member]) {
    for member in list {
        let times = if member.count == 1 { String::new() } else { format!("{} × ", member.count) };
        let (name, rows) = (escape(&member.name), count(&member.specification));
        out.push_str(&format!("<details class=\"member\"><summary>{times}{name}: {rows}</summary>\n"));
        table(out, &member.name, &member.specification);
        members(out, &member.members);
        out.push_str("</details>\n");
    }
}

fn count(rows: &[SpecRow]) -> String {
    format!("{} parameters, {} of them estimates", rows.len(), rows.iter().filter(|r| r.estimate).count())
}

fn table(out: &mut String, name: &str, rows: &[SpecRow]) {
    let name = escape(name);
    out.push_str(&format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Specification of {name}\"><table class=\"spec\">\n\
         <thead><tr><th scope=\"col\">Parameter</th><th scope=\"col\" class=\"n\">Value</th><th scope=\"col\">Source</th></tr></thead>\n"
    ));
    let mut sections: Vec<&str> = Vec::new();
    for row in rows {
        if !sections.contains(&row.section.as_str()) {
            sections.push(&row.section);
        }
    }
    for section in sections {
        out.push_str(&format!(
            "<tbody><tr class=\"section\"><th scope=\"rowgroup\" colspan=\"3\">{}</th></tr>\n",
            escape(section)
        ));
        for row in rows.iter().filter(|r| r.section == section) {
            let mark = if row.estimate { "<span class=\"tag estimate\">estimate</span> " } else { "" };
            let unit = number::unit(&row.unit);
            let gap = if unit.is_empty() { "" } else { " " };
            out.push_str(&format!(
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{}{gap}{}</td><td class=\"words\">{mark}{}</td></tr>\n",
                escape(&row.key),
                escape(&row.value),
                escape(unit),
                prose(&row.source)
            ));
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
}
