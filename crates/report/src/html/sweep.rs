//! The page of a sweep.

use super::{brand, document, tables, test};
use crate::ReportError;
use crate::compare::{Names, same_scale};
use crate::review::validate_chart;
use crate::svg::{Figure, Layout};
use crate::sweep::{SweepPage, SweepRow, SweepSection, SweepTable};
use crate::text::{escape, slug};

/// The page of a sweep: one file, no requests, complete without its script.
///
/// # Errors
/// If a point or a bound of a chart is not finite, bounds are in the wrong order, or a position has no category.
pub fn sweep_html(page: &SweepPage) -> Result<String, ReportError> {
    for figure in page.sections.iter().flat_map(|s| &s.rows).flat_map(|r| &r.figures) {
        validate_chart(&figure.chart, &format!("chart {}", figure.chart.id))?;
    }
    Ok(document(&format!("{}: {} by ssdlab", page.title, page.command), &page.version, "Skip to the results", |out| {
        let (mut anchors, mut stems) = (Names::default(), Names::default());
        let anchor = |section: &SweepSection| anchors.unique(format!("part-{}", slug(&section.title)));
        let anchors: Vec<String> = page.sections.iter().map(anchor).collect();
        masthead(out, page);
        out.push_str("<div class=\"columns sweep\">\n");
        contents(out, page, &anchors);
        out.push_str("<main id=\"main\">\n");
        for (section, anchor) in page.sections.iter().zip(&anchors) {
            write_section(out, section, anchor, &mut stems);
        }
        out.push_str("</main>\n</div>\n");
        footer(out, page);
    }))
}

fn masthead(out: &mut String, page: &SweepPage) {
    brand(out, &format!("ssdlab {}", escape(&page.command)));
    out.push_str(&format!("<h1>{}</h1>\n", escape(&page.title)));
    if !page.deck.is_empty() {
        out.push_str(&format!("<p class=\"deck\">{}</p>\n", escape(&page.deck)));
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The sweep\"><table class=\"facts\">\n<tbody>\n");
    for (word, value) in &page.facts {
        out.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"words\">{}</td></tr>\n",
            escape(word),
            escape(value)
        ));
    }
    out.push_str("</tbody></table></div>\n");
    if !page.notes.is_empty() {
        out.push_str("<ul class=\"notes\">\n");
        for note in &page.notes {
            out.push_str(&format!("<li>{}</li>\n", escape(note)));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</header>\n");
}

/// `anchors`: the element id of each section.
fn contents(out: &mut String, page: &SweepPage, anchors: &[String]) {
    out.push_str("<nav class=\"toc\" aria-label=\"Contents\"><details open><summary>Contents</summary><ol>\n");
    for (section, anchor) in page.sections.iter().zip(anchors) {
        out.push_str(&format!("<li><a href=\"#{anchor}\">{}</a></li>\n", escape(&section.title)));
    }
    out.push_str("</ol></details></nav>\n");
}

fn write_section(out: &mut String, section: &SweepSection, id: &str, stems: &mut Names) {
    out.push_str(&format!("<section id=\"{id}\" class=\"test\" aria-labelledby=\"{id}-h\">\n"));
    out.push_str(&format!("<h2 id=\"{id}-h\">{}</h2>\n", escape(&section.title)));
    if !section.text.is_empty() {
        out.push_str(&format!("<p class=\"method\">{}</p>\n", escape(&section.text)));
    }
    for row in &section.rows {
        write_row(out, row, stems);
    }
    for table in &section.tables {
        write_table(out, table);
    }
    out.push_str("</section>\n");
}

fn write_row(out: &mut String, row: &SweepRow, stems: &mut Names) {
    let mut figures: Vec<Figure> = row
        .figures
        .iter()
        .map(|f| {
            let mut figure = Figure::of_chart(&f.chart, &f.subject, stems.unique(slug(&f.chart.id)), None);
            figure.point_names.clone_from(&f.point_names);
            figure.stepped.clone_from(&f.stepped);
            figure
        })
        .collect();
    same_scale(&mut figures);
    let several = figures.len() > 1;
    if !row.heading.is_empty() {
        out.push_str(&format!("<h3>{}</h3>\n", escape(&row.heading)));
    }
    out.push_str(if several { "<div class=\"pair\">\n" } else { "" });
    for figure in &figures {
        let layout = if several { Layout::Half } else { Layout::Full };
        test::open_figure(out, figure, layout, &figure.title);
        tables::data(out, figure, &[]);
        out.push_str("</figure>\n");
    }
    out.push_str(if several { "</div>\n" } else { "" });
}

fn write_table(out: &mut String, table: &SweepTable) {
    out.push_str(&format!("<h3>{}</h3>\n", escape(&table.caption)));
    tables::plain(out, &table.caption, &table.columns, &table.rows);
}

fn footer(out: &mut String, page: &SweepPage) {
    out.push_str(
        "<footer><p>Every figure on this page was measured on a simulated drive. The same plan and version give ",
    );
    out.push_str("the same bytes. Figures: ");
    let links: Vec<String> = page.files.iter().map(|f| format!("<a href=\"{0}\">{0}</a>", escape(f))).collect();
    out.push_str(&format!("{}.</p><p>ssdlab {}</p></footer>\n", links.join(", "), escape(&page.version)));
}
