//! The page and its pictures, read as a machine reads them.

use ssdlab_bench::{Axis, Chart, ClaimKind, Mark, Metric, NotSteady, Outcome, Series, Table, Unsettled};
use ssdlab_report::{
    ClaimState, Holds, LeftOut, PngPainter, Review, Steps, SweepFigure, SweepPage, SweepRow, SweepSection, chart_svg,
    index_html, sweep_html, terminal_summary,
};

use crate::common::{FIRST, NAMES, SECOND, one_drive, two_drives};

/// The `<svg>` elements of a page.
fn pictures(page: &str) -> Vec<&str> {
    page.match_indices("<svg")
        .map(|(at, _)| {
            let end = page[at..].find("</svg>").expect("every picture ends") + at + "</svg>".len();
            &page[at..end]
        })
        .collect()
}

fn picture(mark: Mark, y: Axis, points: Vec<[f64; 2]>) -> String {
    let chart = Chart {
        id: "x".into(),
        title: "A <title> & \"more\"".into(),
        caption: String::new(),
        mark,
        x: Axis::linear("Time", "s"),
        y,
        series: vec![Series { name: "a < b".into(), points }],
        overlay_drives: false,
    };
    chart_svg(&chart, "drive", Some("ten seconds instead of a minute")).unwrap()
}

#[test]
fn every_picture_is_well_formed_and_has_words() {
    let page = index_html(&two_drives()).unwrap();
    let found = pictures(&page);
    assert!(found.len() > 20);
    for svg in found {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {}", &svg[..200]));
        let root = document.root_element();
        assert!(root.has_attribute("aria-label") || root.has_attribute("aria-hidden"));
        for node in document.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.value().contains("NaN") && !attribute.value().contains("inf"), "{attribute:?}");
            }
        }
    }
}

#[test]
fn tables_with_sentences_are_cards_on_a_phone_and_write_microseconds() {
    let mut review = two_drives();
    let tail =
        ["fastest 50 %", "51200", "30.0 us to 135.2 us", "107.4 us: 84.4 us on the host link and 23.1 us elsewhere"];
    review.outcomes[0].tables = vec![Table {
        title: "Tail".into(),
        caption: String::new(),
        columns: ["part", "requests", "latency", "mean, and where it went"].map(str::to_owned).to_vec(),
        rows: vec![tail.map(str::to_owned).to_vec()],
    }];
    let page = index_html(&review).unwrap();
    assert!(page.contains("<table class=\"own cards\">"));
    assert!(page.contains("data-l=\"requests\">51,200</td>") && page.contains("23.1\u{a0}µs elsewhere"));
}

#[test]
fn a_rate_that_a_job_was_limited_to_is_told_as_that() {
    let mut review = one_drive();
    let run = &mut review.outcomes[0];
    "run".clone_into(&mut run.test);
    run.metrics.insert("bandwidth".to_owned(), Metric::new(20.9, "MB/s"));
    run.metrics.insert("iops".to_owned(), Metric::new(5_120.0, "IOPS"));
    run.metrics.insert("asked_bandwidth".to_owned(), Metric::new(21.0, "MB/s"));
    assert!(index_html(&review).unwrap().contains("IOPS, as the job asks"));
    // A drive that does not follow shows what it can.
    review.outcomes[0].metrics.insert("asked_bandwidth".to_owned(), Metric::new(40.0, "MB/s"));
    assert!(!index_html(&review).unwrap().contains("as the job asks"));
}

#[test]
fn a_tests_own_tables_stand_once_where_all_drives_have_the_same() {
    let mut review = two_drives();
    let table = |title: &str, cell: &str| Table {
        title: title.into(),
        caption: "read <this>".into(),
        columns: vec![String::new(), "published".into()],
        rows: vec![vec!["reads".into(), cell.into()]],
    };
    let test = review.outcomes[0].test.clone();
    for (i, outcome) in review.outcomes.iter_mut().filter(|o| o.test == test).enumerate() {
        outcome.tables = vec![table("Of all", "7 & 8"), table("Of each", &format!("{i} apiece"))];
    }
    let page = index_html(&review).unwrap();
    assert_eq!(page.matches("<h3>Of all</h3>").count(), 1);
    assert!(page.contains("<td class=\"n\" data-l=\"published\">7 &amp; 8</td>") && page.contains("read &lt;this&gt;"));
    for drive in [FIRST, SECOND] {
        assert_eq!(page.matches(&format!("<h3>Of each, {drive}</h3>")).count(), 1);
    }
    let json = ssdlab_report::results_json(&review).unwrap();
    assert!(json.contains("\"1 apiece\""));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = index_html(&two_drives()).unwrap();
    for foreign in ["http://", "https://", "//cdn", "@import", "src=\"", "url(\"", "url('"] {
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!rest.contains(foreign), "{foreign}");
    }
    for (at, _) in page.match_indices("url(") {
        let own = ["url(#h", "url(#clip-"].iter().any(|own| page[at..].starts_with(own));
        assert!(own, "{}", &page[at..at + 30]);
    }
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    assert_ids_are_unique_and_links_lead_somewhere(&index_html(&two_drives()).unwrap());
}

fn assert_ids_are_unique_and_links_lead_somewhere(page: &str) {
    let values = |attribute: &str| -> Vec<String> {
        page.split(&format!(" {attribute}=\"")).skip(1).map(|s| s.split('"').next().unwrap().to_owned()).collect()
    };
    let mut ids = values("id");
    let n = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), n, "an id is there twice");
    for link in values("href").iter().filter_map(|h| h.strip_prefix('#')) {
        assert!(ids.iter().any(|id| id == link), "nothing has the id {link}");
    }
    for label in values("aria-labelledby") {
        assert!(ids.contains(&label), "{label}");
    }
}

#[test]
fn names_that_look_like_markup_are_text() {
    let mut review = one_drive();
    let evil = "<script>alert('1')</script>&\"";
    review.devices[0].facts.name = evil.into();
    review.devices[0].facts.description = evil.into();
    review.devices[0].specification[0].source = evil.into();
    review.claims[0].reason = evil.into();
    for outcome in &mut review.outcomes {
        outcome.device = evil.into();
        outcome.title = evil.into();
        outcome.notes = vec![evil.into()];
        for chart in &mut outcome.charts {
            chart.title = evil.into();
            chart.series[0].name = evil.into();
        }
    }
    let page = index_html(&review).unwrap();
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script").count(), 1, "the only script is our own");
    for svg in pictures(&page) {
        roxmltree::Document::parse(svg).unwrap();
    }
}

#[test]
fn a_reader_finds_everything_on_the_page() {
    let page = index_html(&two_drives()).unwrap();
    for text in [
        "<title>Fixture Alpha 128 GB and Fixture Beta 128 GB",
        "seed 1",
        "At a glance",
        "Where the time went",
        "The slowest I/Os",
        "until two blocks were free",
        "Shortened run: 10 minutes of random writes instead of 60.",
        ">estimate</span>",
        ">missed</span>",
        ">met</span>",
        ">not judged</span>",
        ">fail</span>",
        "75,900 IOPS",
        "9 % beyond",
        "prefers-color-scheme:dark",
        "@media print",
    ] {
        assert!(page.contains(text), "{text:?} is missing");
    }
    assert_eq!(page.matches("<h1").count(), 1);
}

#[test]
fn curves_and_scatters_of_several_drives_share_a_picture() {
    let page = index_html(&two_drives()).unwrap();
    assert_eq!(page.matches("id=\"fig-comparison-qd-scaling-iops-by-queue-depth\"").count(), 1);
    let [first, second] = NAMES;
    assert!(
        page.contains(&format!("data-name=\"{first}, read\""))
            && page.contains(&format!("data-name=\"{second}, write\""))
    );
    // One overlay instead of small multiples: dots of both drives, told apart by name.
    let at = page.find("id=\"fig-comparison-consistency-run-log\"").expect("the scatters share a picture");
    let figure = &page[at..at + page[at..].find("</figure>").unwrap()];
    for drive in NAMES {
        assert!(figure.contains(&format!("data-name=\"{drive}\"")), "{drive} is not in the overlay");
    }
    assert!(figure.contains("|log|"));
}

#[test]
fn ten_thousand_dots_stay_small_and_zero_has_a_place_on_a_logarithmic_axis() {
    let points: Vec<[f64; 2]> =
        (0..3600).map(|i| [f64::from(i), if i % 100 == 0 { 0.0 } else { f64::from(1000 + i * 7 % 4001) }]).collect();
    let svg = picture(Mark::Scatter, Axis::log("IOPS", ""), points.clone());
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    let document = roxmltree::Document::parse(&svg).unwrap();
    let dots: usize = document.descendants().filter_map(|n| n.attribute("d")).map(|d| d.matches("h0").count()).sum();
    assert_eq!(dots, points.len(), "every second is a dot");
    let words: Vec<&str> = document.descendants().filter(|n| n.has_tag_name("text")).filter_map(|n| n.text()).collect();
    assert!(words.contains(&"0") && words.contains(&"1K") && words.contains(&"5K"), "{words:?}");
    assert!(words.iter().any(|w| w.contains("ten seconds instead of a minute")), "{words:?}");
    assert!(words.contains(&"A <title> & \"more\""));
}

#[test]
fn what_lies_off_the_axes_is_counted_and_drawn_nowhere() {
    let points = vec![[0.0, 10.0], [1.0, 20.0], [2.0, 90.0], [3.0, 30.0], [4.0, 2.0]];
    for mark in [Mark::Scatter, Mark::Line] {
        let svg = picture(mark, Axis { min: Some(5.0), max: Some(40.0), ..Axis::linear("IOPS", "") }, points.clone());
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<&str> =
            document.descendants().filter(|n| n.has_tag_name("text")).filter_map(|n| n.text()).collect();
        assert!(texts.contains(&"↑ 1 above 40, ↓ 1 below 5"), "{texts:?}");
        let path = document.descendants().find(|n| n.attribute("data-name").is_some()).unwrap().attribute("d").unwrap();
        let drawn = path.matches(if mark == Mark::Line { ['M', 'L'] } else { ['h', 'h'] }).count();
        assert_eq!(drawn, 3, "{path}");
        // The line has a gap where it leaves the axes.
        assert!(mark != Mark::Line || path.matches('M').count() == 2, "{path}");
    }
}

#[test]
fn a_line_of_steps_passes_by_the_points_that_are_not_on_it() {
    let chart = Chart {
        id: "front".into(),
        title: "Front".into(),
        caption: String::new(),
        mark: Mark::Scatter,
        x: Axis::linear("Cost", ""),
        y: Axis::linear("Time", "s"),
        series: vec![Series { name: "on the front".into(), points: vec![[1.0, 5.0], [2.0, 9.0], [3.0, 1.0]] }],
        overlay_drives: false,
    };
    let line = |points: Vec<usize>| {
        let stepped = vec![Steps { series: 0, points, holds: Holds::ToTheRight }];
        let figure = SweepFigure { chart: chart.clone(), subject: String::new(), point_names: Vec::new(), stepped };
        let rows = vec![SweepRow { heading: String::new(), figures: vec![figure] }];
        let sections = vec![SweepSection { title: "Trade-offs".into(), rows, ..SweepSection::default() }];
        let page = sweep_html(&SweepPage { sections, ..SweepPage::default() }).unwrap();
        let path =
            page.split("<path d=\"").find(|path| path.contains("stroke-opacity=\".6\"")).expect("a line of steps");
        path.split('"').next().unwrap().chars().filter(char::is_ascii_alphabetic).collect::<String>()
    };
    assert_eq!(line(vec![0, 2]), "MHV");
    assert_eq!(line(vec![0, 1, 2]), "MHVHV");
}

#[test]
fn pages_of_sweeps_have_no_id_twice_and_tell_what_was_swept_in_full() {
    let section = |file: &str| {
        let chart = Chart {
            id: format!("{file}-iops-by-test.block_size-"),
            title: "IOPS".into(),
            caption: String::new(),
            mark: Mark::Line,
            x: Axis::log("Block size", ""),
            y: Axis::linear("IOPS", "IOPS"),
            series: vec![Series { name: "all".into(), points: vec![[4096.0, 5.0], [16_384.0, 9.0]] }],
            overlay_drives: false,
        };
        let figure = SweepFigure { chart, subject: String::new(), point_names: Vec::new(), stepped: Vec::new() };
        let rows = vec![SweepRow { heading: String::new(), figures: vec![figure] }];
        SweepSection { title: format!("IOPS: {file}"), rows, ..SweepSection::default() }
    };
    // Neither name has a letter that an id can have.
    let sections = vec![section("測試.fio"), section("試驗.fio")];
    let page = sweep_html(&SweepPage { sections, ..SweepPage::default() }).unwrap();
    assert_ids_are_unique_and_links_lead_somewhere(&page);
    assert!(page.contains("<a href=\"#part-iops-.fio-2\">IOPS: 試驗.fio</a>"));
    // The script reads where the ticks are, and what they are called.
    let ticks = page.split("data-ticks=\"").nth(1).expect("the ticks are the values").split('"').next().unwrap();
    let parts: Vec<&str> = ticks.split('|').collect();
    let [first, "4,096", last, "16,384"] = parts.as_slice() else { panic!("{ticks}") };
    assert!(page.contains(&format!("M{first} ")) && page.contains(&format!("L{last} ")), "{ticks}");
}

#[test]
fn pictures_without_data_say_so() {
    for mark in [Mark::Scatter, Mark::Line, Mark::Bars, Mark::StackedBars] {
        let svg = picture(mark, Axis::linear("IOPS", ""), vec![]);
        assert!(svg.contains("No data"), "{mark:?}");
        roxmltree::Document::parse(&svg).unwrap();
        for y in [Axis::linear("IOPS", ""), Axis::log("Latency", "us")] {
            for points in [vec![[0.0, 0.0]], vec![[1.0, -3.0], [2.0, 5.0]], vec![[0.0, 7.0], [0.0, 7.0]]] {
                let svg = picture(mark, y.clone(), points);
                roxmltree::Document::parse(&svg).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{mark:?} {y:?}");
            }
        }
    }
}

#[test]
fn a_png_shows_letters_and_dots() {
    let points = (0..500).map(|i| [f64::from(i), f64::from(i * i % 977)]).collect();
    let svg = picture(Mark::Scatter, Axis::linear("IOPS", ""), points);
    let painter = PngPainter::new();
    let with = painter.paint("x", &svg).unwrap();
    assert_eq!(with, painter.paint("x", &svg).unwrap());
    // Without its letters, or without its dots, the picture is another one.
    let no_text = svg.replace("<text", "<desc").replace("</text>", "</desc>");
    assert_ne!(with, painter.paint("x", &no_text).unwrap());
    assert_ne!(with, painter.paint("x", &svg.replace("h0", "")).unwrap());
    let error = painter.paint("x", "<svg").unwrap_err().to_string();
    assert!(error.starts_with("chart x could not be drawn"), "{error}");
}

#[test]
fn the_terminal_summary_is_plain_unless_colour_is_asked_for() {
    let review = two_drives();
    let plain = terminal_summary(&review, None, false);
    assert!(!plain.contains('\u{1b}'));
    for text in [
        "75,900 IOPS",
        "FAIL",
        "Published figures measured here: 2 met, 1 missed, 2 without a result",
        "published 74K IOPS",
        "█",
    ] {
        assert!(plain.contains(text), "{text:?} is missing:\n{plain}");
    }
    // What says what another says is in no count, and in no list.
    let mut repeated = review.clone();
    repeated.claims.iter_mut().for_each(|claim| claim.repeated = claim.state == ClaimState::Missed);
    let told = terminal_summary(&repeated, None, false);
    assert!(told.contains("2 met, 0 missed") && !told.contains("published 74K IOPS"), "{told}");
    // Neither do others count, but a miss does not vanish.
    let mut chosen = review.clone();
    chosen.claims.iter_mut().filter(|c| c.state == ClaimState::Missed).for_each(|c| c.kind = ClaimKind::Calibration);
    let told = terminal_summary(&chosen, None, false);
    assert!(told.contains("\nNot counted: 0 of 1 that parameters were chosen for\n"), "{told}");
    let coloured = terminal_summary(&review, None, true);
    let mut stripped = coloured.clone();
    for code in ["0", "1", "2", "31", "32"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert!(coloured != plain && stripped == plain);
}

#[test]
fn the_terminal_leads_with_what_the_page_leads_with() {
    // A quick run: the mean of the whole of it is of the fresh drive, too, and the last part of one has not settled.
    let mut review = two_drives();
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "consistency") {
        outcome.variant = "2013".to_owned();
        outcome.params.insert("seconds".into(), 250.into());
        outcome.params.insert("tail_from_seconds".into(), 175.into());
        outcome.metrics.retain(|key, _| ["iops", "bandwidth", "latency_p99", "iops_min"].contains(&key.as_str()));
    }
    let first = &mut review.outcomes[0];
    first.not_steady = vec![NotSteady::new(Unsettled::Drifts, "they drift".to_owned())];
    let points = vec![[176.0, 4_000.0], [177.0, 4_060.0]];
    let chart = Chart { id: "iops-tail-log".into(), ..first.charts[0].clone() };
    first.charts.push(Chart { series: vec![Series { name: String::new(), points }], ..chart });
    review.outcomes[1].metrics.insert("iops_mean_tail".into(), Metric::new(17_956.0, "IOPS"));
    assert_eq!((review.outcomes[0].test.as_str(), review.outcomes[1].device.as_str()), ("consistency", SECOND));
    let terminal = terminal_summary(&review, None, false);
    let rows: Vec<&str> = terminal.lines().skip_while(|line| !line.contains("Performance consistency")).collect();
    let has = |row: &str, cells: &[&str]| cells.iter().all(|cell| row.contains(cell));
    assert!(has(rows[0], &["IOPS, mean, last 75 s", "4,030 IOPS, not settled", "17,956 IOPS"]), "{terminal}");
    assert!(has(rows[1], &["IOPS, whole run", "8,412 IOPS"]), "{terminal}");
    // The page has the same figures by the same names, and says of each which part of the run it is of.
    let page = index_html(&review).unwrap();
    let keys = &page[page.find("id=\"key-figures\"").unwrap()..];
    let keys = &keys[..keys.find("</table>").unwrap()];
    assert!(has(keys, &["IOPS, mean, last 75 s", ">4,030 IOPS, not settled<", ">17,956 IOPS<"]), "{keys}");
    for label in ["Latency, 99th percentile, whole run", "IOPS, lowest second, last 75 s"] {
        assert!(page.contains(label), "{label}");
    }
    // Where the runs are not equally long, it is the last part of each.
    review.outcomes[1].params.insert("tail_from_seconds".into(), 100.into());
    assert!(terminal_summary(&review, None, false).contains("IOPS, mean, last part of the run"));
    // Of writes that still go to the spare area no rate is told.
    review.outcomes[0].not_steady[0].reason = Unsettled::SpareNotWritten;
    assert!(!terminal_summary(&review, None, false).contains("4,030"));
}

#[test]
fn what_it_felt_like_stands_on_the_page_and_in_the_terminal_worst_drive_first() {
    let mut review = two_drives();
    let test = review.outcomes[0].test.clone();
    for (i, outcome) in review.outcomes.iter_mut().filter(|o| o.test == test).enumerate() {
        let share = [2.5, 61.0][i.min(1)];
        for (key, value, unit) in [
            ("stall_longest", 2.0e6, "us"),
            ("stall_share", share / 2.0, "%"),
            ("seconds_over_100ms", share, "%"),
            ("seconds_over_500ms", share / 5.0, "%"),
            ("seconds_over_1s", 0.0, "%"),
        ] {
            outcome.metrics.insert(key.to_owned(), ssdlab_bench::Metric::new(value, unit));
        }
    }
    let terminal = terminal_summary(&review, None, false);
    let from = terminal.find("What it felt like").expect("the table is there");
    let (slow, fast) = (terminal[from..].find("61 %").unwrap(), terminal[from..].find("2.5 %").unwrap());
    assert!(slow < fast, "{}", &terminal[from..]);
    let page = index_html(&review).unwrap();
    let section = &page[page.find("<h2>What it felt like</h2>").unwrap()..];
    let section = &section[..section.find("</table>").unwrap()];
    assert!(section.contains("61 %") && section.contains("12.2 %") && section.contains("2 s"), "{section}");
    // What a row tells of is the load that its figures are of.
    let mut loads = review.clone();
    loads.outcomes[0].params.insert("headline_depth".into(), 8.into());
    let title = loads.outcomes[0].title.clone();
    assert!(index_html(&loads).unwrap().contains(&format!(">{title}, QD8</a>")));
    // Beside verdicts it has half of the width, without them all of it.
    assert!(page.contains("<div class=\"two\">"));
    review.outcomes.iter_mut().for_each(|o| o.verdict = None);
    let page = index_html(&review).unwrap();
    assert!(page.contains("<h2>What it felt like</h2>") && !page.contains("<div class=\"two\">"));
    // Without the figures there is nothing to say.
    assert!(!terminal_summary(&two_drives(), None, false).contains("felt"));
}

/// Browsers open what is closed around the place that a link names, and not what bears the name itself.
#[test]
fn links_into_what_is_closed_open_it_without_a_script() {
    let page = index_html(&two_drives()).unwrap();
    assert!(page.contains("<div class=\"columns\" id=\"all-figures\">"));
    assert!(page.split("<details").skip(1).all(|tag| !tag[..tag.find('>').unwrap()].contains(" id=")));
}

#[test]
fn the_first_screen_says_what_the_drive_is_for_and_how_far_to_trust_it() {
    let mut review = one_drive();
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "random-write") {
        outcome.variant = "QD32".into();
    }
    let page = index_html(&review).unwrap();
    let first = &page[page.find("class=\"first\"").unwrap()..page.find("id=\"all-figures\"").unwrap()];
    for text in ["What we found", "At a glance", "<h3>For</h3>", "<h3>Not for</h3>", "How far to trust this page"] {
        assert!(first.contains(text), "{text:?} is missing");
    }
    // Best first, whichever end is the best.
    let bars = |key: &str| -> Vec<f64> {
        let chart = &page[page.find(&format!("id=\"bar-{key}\"")).unwrap()..];
        let chart = &chart[..chart.find("</figure>").unwrap()];
        chart.split("width:").skip(1).map(|s| s.split('%').next().unwrap().parse().unwrap()).collect()
    };
    let rates = bars("random-write");
    assert!(rates.len() > 3 && rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
    // How much was written is the test's to say: a quick run writes an eighth of it.
    assert!(!page.contains("4 KiB, QD32, over"));
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "random-write") {
        outcome.params.insert("span_bytes".into(), 999_292_928.into());
    }
    assert!(index_html(&review).unwrap().contains("4 KiB, QD32, over 1 GB"));
    // What is judged is counted, and what is not is said.
    let trust = |review: &Review| {
        let page = index_html(review).unwrap();
        let trust = &page[page.find("id=\"trust\"").unwrap()..];
        trust[..trust.find("</div>").unwrap()].to_owned()
    };
    let judged = "Only what ran at full length is held against what magazines and makers measured on the real drives. \
                  Of 2 figures that were published of the real drives and measured here, 2 are met and 0 missed. ";
    assert!(trust(&review).contains(judged) && !trust(&review).contains("too short"), "{}", trust(&review));
    let mut unjudged = review.clone();
    unjudged.claims.iter_mut().for_each(|claim| claim.state = ClaimState::NotRun);
    let too_short =
        "It is too short to be held against what magazines and makers measured on the real drives; that takes";
    assert!(trust(&unjudged).contains(too_short), "{}", trust(&unjudged));
    assert!(!trust(&unjudged).contains("figures that were published"), "{}", trust(&unjudged));
    // What was set to other requests is a run of its own, and the page says why it has no bar of it.
    assert!(!page.contains("Run with other parameters"));
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "random-write") {
        outcome.params.insert("think_us".into(), 50.into());
    }
    let page = index_html(&review).unwrap();
    let said = "Run with other parameters than the test&#39;s own, and so compared with nothing: random-write QD32.";
    assert!(page.contains(said) && !page.contains("id=\"bar-random-write\""));
}

#[test]
fn runs_over_other_spans_have_their_figures_and_no_bars() {
    let mut review = two_drives();
    review.quick = true;
    review.devices[0].facts.kind = "host".into();
    review.devices[0].facts.capacity_bytes = 2_147_483_648;
    review.devices[0].facts.over_provisioning_percent = None;
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "random-write") {
        outcome.variant = "QD32".into();
        let is_real = outcome.device == FIRST;
        let iops = if is_real { 26_165.0 } else { 72_971.0 };
        outcome.metrics.insert("iops".into(), Metric::new(iops, "IOPS"));
        // Eight gigabytes were asked for of a file that has 2.1; the other drive is an eighth of itself.
        outcome.params.insert("span_bytes".into(), if is_real { 8_000_000_000_u64 } else { 999_292_928 }.into());
        outcome.params.insert("seconds".into(), 8.into());
        outcome.small_by = (!is_real).then_some(8);
    }
    let bars = |review: &Review| {
        let page = index_html(review).unwrap();
        let chart = &page[page.find("id=\"bar-random-write\"").unwrap()..];
        chart[..chart.find("</figure>").unwrap()].to_owned()
    };
    let withheld = bars(&review);
    assert_eq!(withheld.matches("width:0%").count(), 2, "{withheld}");
    assert!(withheld.contains("26,165") && withheld.contains("72,971"), "{withheld}");
    assert!(withheld.contains("4 KiB, QD32, over 1 GB to 2.15 GB") && !withheld.contains("8 GB<"), "{withheld}");
    assert!(
        withheld.contains(&format!(
            "In no order, and without a bar: {} over 2.15 GB in 8 s; {} over 1 GB in 8 s on an eighth of the drive.",
            NAMES[0], NAMES[1]
        )),
        "{withheld}"
    );
    let page = index_html(&review).unwrap();
    assert!(page.contains("and of the rest an eighth for an eighth of the time") && !page.contains("Slow at"));
    let keys = &page[page.find("id=\"key-figures\"").unwrap()..];
    let row = &keys[keys.find("IOPS (spans or times differ)").expect("the row says so")..];
    assert!(!row[..row.find("</tr>").unwrap()].contains("--w:"), "a bar is behind a figure");
    assert!(terminal_summary(&review, None, false).contains("QD32 (spans or times differ)"));
    // A file that is large enough, for as long as the drive in small stands for, is in order with it.
    review.devices[0].facts.capacity_bytes = 256_000_000_000;
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "random-write" && o.device == FIRST) {
        outcome.params.insert("seconds".into(), 64.into());
    }
    let shown = bars(&review);
    assert!(!shown.contains("width:0%") && !shown.contains("In no order"), "{shown}");
    assert!(shown.find(NAMES[1].trim_end_matches(" GB")) < shown.find(NAMES[0].trim_end_matches(" GB")), "{shown}");
}

#[test]
fn real_drives_are_counted_in_what_is_said_of_them() {
    let told = |real: &[usize], of: usize| {
        let mut review = one_drive();
        review.outcomes.clear();
        review.devices = (0..of)
            .map(|i| {
                let mut device = review.devices[0].clone();
                device.facts.name = format!("./f{i}.img");
                device.facts.kind = if real.contains(&i) { "host" } else { "ssd" }.to_owned();
                device
            })
            .collect();
        index_html(&review).unwrap()
    };
    let one = told(&[0], 1);
    assert!(one.contains("These are figures of a real drive, as a program of this machine sees them"));
    assert!(one.contains("Drives that it is set beside are simulated.") && one.contains("Measured on ./f0.img, in"));
    // Reference drives stand beside one drive only.
    let two = told(&[0, 1], 2);
    assert!(two.contains("These are figures of real drives, as a program") && !two.contains("are simulated"));
    assert!(two.contains("Measured on ./f0.img and ./f1.img, in real time"));
    let mixed = told(&[0], 2);
    assert!(mixed.contains("./f0.img is real, and measured as a program of this machine sees it: "));
    assert!(mixed.contains("The other is simulated.") && mixed.contains("./f0.img was measured in real time, and its"));
    let mixed = told(&[0, 1], 3);
    assert!(mixed.contains("./f0.img and ./f1.img are real, and measured as a program of this machine sees them: "));
    assert!(mixed.contains("in their figures. The other is simulated."));
    assert!(mixed.contains("./f0.img and ./f1.img were measured in real time, and their figures"));
    assert!(told(&[0], 3).contains("The others are simulated."));
}

#[test]
fn a_quick_run_tells_drives_that_ran_whole_from_those_whose_runs_were_shortened_too() {
    let mut review = two_drives();
    review.outcomes.retain(|o| o.test == "random-write");
    review.outcomes[1].small_by = Some(8);
    let rest = "and of the rest an eighth for an eighth of the time.";
    let said = format!("A quick run: {} whole, {rest}", NAMES[0]);
    assert!(index_html(&review).unwrap().contains(&said));
    review.outcomes[0].shortened = Some("seconds is 1 s instead of 180 s.".to_owned());
    let said = format!("A quick run: {} whole but with shortened runs, {rest}", NAMES[0]);
    assert!(index_html(&review).unwrap().contains(&said));
}

#[test]
fn traces_that_are_too_short_put_drives_in_no_order() {
    let mut review = two_drives();
    review.quick = true;
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "atto") {
        (outcome.test, outcome.variant) = ("light".into(), "2015".into());
        outcome.small_by = Some(8);
        outcome.params.insert("requests".into(), 104_042.into());
        outcome.shortened_params = vec!["requests".into()];
        outcome.metrics = [("bandwidth", 342.5), ("bandwidth_full", 318.9)]
            .map(|(key, rate)| (key.to_owned(), Metric::new(rate, "MB/s")))
            .into();
    }
    let full_drive = |page: &str| {
        let row = &page[page.find("<td class=\"words\">Bandwidth, full drive").expect("a row of it")..];
        row[..row.find("</tr>").unwrap()].to_owned()
    };
    // An eighth of the requests is in proportion.
    let page = index_html(&review).unwrap();
    assert!(full_drive(&page).contains("--w:") && !page.contains("in no order"), "{}", full_drive(&page));
    for outcome in review.outcomes.iter_mut().filter(|o| o.test == "light") {
        outcome.params.insert("requests".into(), 8323.into());
    }
    let page = index_html(&review).unwrap();
    let row = full_drive(&page);
    assert!(row.contains("(in no order: too short)") && row.contains("318.9 MB/s"), "{row}");
    assert!(!row.contains("--w:"), "a bar is behind a figure");
    let trust = "Storage Bench is shorter still (light 12.5 times): its figures put drives in no order.";
    assert!(page.contains(trust) && page.contains("The trace was too short to put drives in an order."));
    assert!(terminal_summary(&review, None, false).contains("in no order: too short"));
}

#[test]
fn eight_drives_have_two_findings_each_and_a_bar_for_the_desktop_mix() {
    let one = one_drive();
    let mut review = two_drives();
    (review.quick, review.devices, review.outcomes) = (false, Vec::new(), Vec::new());
    for i in 0..8 {
        let name = format!("drive-{i}");
        let mut device = one.devices[0].clone();
        device.facts.name.clone_from(&name);
        review.devices.push(device);
        for (test, figures) in [
            ("storagemark-desktop", vec![("index", 10.0 + f64::from(i), "points"), ("seconds_over_500ms", 30.0, "%")]),
            ("analyzedisk", vec![("latency_mean_read", 250.0, "us"), ("latency_mean_write", 2e5, "us")]),
            ("fileserver", vec![("iops", 20.0 + f64::from(i), "IOPS")]),
        ] {
            let mut outcome = one.outcomes[0].clone();
            (outcome.test, outcome.variant, outcome.device) = (test.into(), String::new(), name.clone());
            outcome.metrics = figures.iter().map(|&(k, v, u)| (k.into(), ssdlab_bench::Metric::new(v, u))).collect();
            if test == "storagemark-desktop" {
                outcome.metrics.insert("seconds_over_100ms".into(), ssdlab_bench::Metric::new(90.0, "%"));
            }
            review.outcomes.push(outcome);
        }
    }
    let page = index_html(&review).unwrap();
    let found = &page[page.find("id=\"found\"").unwrap()..page.find("id=\"glance\"").unwrap()];
    assert_eq!(found.matches("<li>").count(), 16, "{found}");
    assert_eq!(found.matches("requests wait over 0.5 s in 30 % of the seconds").count(), 8, "{found}");
    assert_eq!(found.matches("800 times as long as a small read").count(), 8, "{found}");
    // What they are for stands below, side by side.
    assert!(page.find("class=\"forwhom many\"") > page.find("id=\"trust\""));
    assert_eq!(page.matches("<h3 class=\"of\">").count(), 8);
    let bars = &page[page.find("id=\"bar-desktop-mix\"").expect("the index has a bar chart")..];
    let bars = &bars[..bars.find("</figure>").unwrap()];
    assert!(bars.contains("points · stand-in") && bars.find("Drive 7") < bars.find("Drive 0"), "{bars}");
}

#[test]
fn a_drive_that_has_not_settled_stands_last_without_a_bar() {
    let one = one_drive();
    let mut review = two_drives();
    (review.quick, review.devices, review.outcomes) = (false, Vec::new(), Vec::new());
    for (name, settled) in [("first", None), ("second", Some(5_000.0)), ("third", Some(9_000.0))] {
        let mut device = one.devices[0].clone();
        device.facts.name = name.to_owned();
        review.devices.push(device);
        let mut outcome = one.outcomes[0].clone();
        (outcome.test, outcome.variant, outcome.device) = ("consistency".into(), "2013".into(), name.into());
        let figure = settled.map(|iops| ("iops_mean_tail".into(), ssdlab_bench::Metric::new(iops, "IOPS")));
        outcome.metrics = figure.into_iter().collect();
        if settled.is_none() {
            outcome.not_steady = vec![NotSteady::new(Unsettled::Drifts, "they drift".to_owned())];
        }
        review.outcomes.push(outcome);
    }
    let chart = |review: &Review| {
        let page = index_html(review).unwrap();
        let from = page.find("id=\"bar-steady-write\"")?;
        Some(page[from..from + page[from..].find("</figure>").unwrap()].to_owned())
    };
    let bars = chart(&review).expect("two of them settled");
    let places = ["Third", "Second", "First"].map(|name| bars.find(name).unwrap());
    assert!(places.is_sorted() && bars.contains("not settled") && bars.contains("width:0%"), "{bars}");
    // Nor has one that drifts at full length, whose figure the results keep.
    let fast = ssdlab_bench::Metric::new(20_000.0, "IOPS");
    review.outcomes[0].metrics.insert("iops_mean_tail".into(), fast);
    let why = "of the last 600 s, the means of five equal parts lie between 10,000 and 30,000 IOPS";
    review.outcomes[0].not_steady = vec![NotSteady::new(Unsettled::Drifts, why.to_owned())];
    let bars = chart(&review).unwrap();
    assert!(bars.find("Second") < bars.find("First") && !bars.contains("20,000"), "{bars}");
    // Alone, what has settled would pass for the best: its bar is as long as it would be beside the others.
    assert!(bars.contains("width:45%") && bars.contains("width:25%") && !bars.contains("width:100%"), "{bars}");
    let page = index_html(&review).unwrap();
    let keys = &page[page.find("id=\"key-figures\"").unwrap()..];
    assert!(keys.contains("data-l=\"first\">20,000 IOPS, not settled<"), "{}", &keys[..2000]);
    let trust = &page[page.find("id=\"trust\"").unwrap()..];
    assert!(
        trust.contains("Random writes had not settled when the run ended (First in consistency 2013)"),
        "{}",
        &trust[..1000]
    );
    // As long as that of its chart, where a shorter run leaves the figure out; so are the bars behind key figures.
    let run = &mut review.outcomes[0];
    run.metrics.clear();
    let mut tail = run.charts[0].clone();
    tail.id = "iops-tail-log".to_owned();
    tail.series[0].points = vec![[601.0, 15_000.0], [602.0, 25_000.0]];
    run.charts.push(tail);
    let bars = chart(&review).unwrap();
    assert!(bars.contains("width:45%") && bars.contains("width:25%") && !bars.contains("width:100%"), "{bars}");
    let page = index_html(&review).unwrap();
    let keys = &page[page.find("id=\"key-figures\"").unwrap()..];
    assert!(keys.contains("data-l=\"first\">20,000 IOPS, not settled<"), "{}", &keys[..2000]);
    assert!(keys.contains("--w:45%") && keys.contains("--w:25%"), "{}", &keys[..2000]);
    // Where none has, there is nothing to compare, and one that was not tested is not unsettled.
    review.outcomes.remove(0);
    assert!(!chart(&review).unwrap().contains("First"));
    review.outcomes.iter_mut().for_each(|o| o.metrics.clear());
    assert_eq!(chart(&review), None);
}

#[test]
fn why_a_run_has_no_steady_state_is_the_same_in_the_terminal_and_at_a_bar() {
    let of = |reason: Unsettled, both: bool| {
        let mut review = two_drives();
        review.outcomes.retain(|o| o.test == "consistency");
        for (i, outcome) in review.outcomes.iter_mut().enumerate() {
            outcome.variant = "2013".to_owned();
            if i == 0 || both {
                outcome.metrics.remove("iops_mean_tail");
                outcome.not_steady = vec![NotSteady::new(reason, "so it is".to_owned())];
            }
        }
        let page = index_html(&review).unwrap();
        let bars = page.find("id=\"bar-steady-write\"").map_or(String::new(), |from| {
            let end = page[from..].find("</figure>").unwrap();
            page[from..from + end].to_owned()
        });
        let terminal = terminal_summary(&review, None, false);
        let row = terminal.lines().find(|line| line.contains("Performance consistency")).unwrap().to_owned();
        (bars, row)
    };
    let all = ["full run only", "too few to tell", "not settled"];
    for (reason, said) in [
        (Unsettled::LeftToFullRun, all[0]),
        (Unsettled::TooFewRequests, all[1]),
        (Unsettled::TooFewSeconds, all[1]),
        (Unsettled::Drifts, all[2]),
    ] {
        // Of one of two it is said at its figure, and not of both.
        let (bars, row) = of(reason, false);
        for other in all {
            assert_eq!(
                (bars.matches(other).count(), row.matches(other).count()),
                if other == said { (1, 1) } else { (0, 0) }
            );
        }
        assert!(!row.contains(&format!("({said}")) && !row.contains(&format!(", {said})")), "{row}");
        let (_, row) = of(reason, true);
        assert!(row.contains(&format!("{said})")), "{row}");
        assert!(all.iter().all(|other| *other == said || !row.contains(other)), "{row}");
    }
}

/// It is the amount of wear that is meant, and no steady state of writes.
#[test]
fn a_life_that_is_not_settled_is_marked_at_its_length_and_is_none_of_random_writes() {
    let mut review = two_drives();
    let run = review.outcomes[0].clone();
    let life = |device: &str, is_settled: bool| Outcome {
        test: "endurance".into(),
        title: "Endurance".into(),
        variant: String::new(),
        device: device.into(),
        metrics: [("tb_until_rated".to_owned(), ssdlab_bench::Metric::new(191.0, "TB"))].into(),
        not_steady: (!is_settled)
            .then(|| NotSteady::new(Unsettled::TooLittleWork, "blocks were erased 0.9 times".to_owned()))
            .into_iter()
            .collect(),
        ..run.clone()
    };
    review.outcomes = vec![life(FIRST, false), life(SECOND, true)];
    let row = |review: &Review| {
        let terminal = terminal_summary(review, None, false);
        terminal.lines().find(|line| line.contains("Endurance")).unwrap().to_owned()
    };
    assert!(row(&review).contains("191 TB, not settled"), "{}", row(&review));
    let page = index_html(&review).unwrap();
    assert!(page.contains("191 TB, not settled<") && page.contains("191 TB<"));
    let lower = page.to_lowercase();
    assert!(!lower.contains("random writes had not settled") && !lower.contains("not steady"));
    // What it has not is not for that.
    review.outcomes[0].metrics.clear();
    assert!(row(&review).contains('–') && !row(&review).contains("not settled"), "{}", row(&review));
}

#[test]
fn a_rate_that_is_left_to_a_full_run_stands_in_the_chart_without_a_bar() {
    let mut review = two_drives();
    let run = review.outcomes[0].clone();
    let served = |device: &str, iops: Option<f64>| Outcome {
        test: "fileserver".into(),
        variant: String::new(),
        device: device.into(),
        metrics: iops.map(|iops| ("iops".into(), ssdlab_bench::Metric::new(iops, "IOPS"))).into_iter().collect(),
        ..run.clone()
    };
    review.outcomes = vec![served(FIRST, Some(127.0)), served(SECOND, None)];
    let why = "nothing was answered for 99 % of this shorter run at a stretch";
    review.outcomes[1].not_steady = vec![NotSteady::new(Unsettled::LeftToFullRun, why.to_owned())];
    let page = index_html(&review).unwrap();
    let bars = &page[page.find("id=\"bar-file-server\"").unwrap()..];
    let bars = &bars[..bars.find("</figure>").unwrap()];
    assert!(bars.contains("full run only") && bars.matches("width:0%").count() == 1, "{bars}");
    // Where nothing else was measured, that is why.
    review.outcomes.remove(0);
    let page = index_html(&review).unwrap();
    assert!(!page.contains("id=\"bar-file-server\"") && !page.contains("random writes came to no steady state"));
}

#[test]
fn a_stall_is_put_down_to_collection_only_where_the_slowest_requests_waited_for_it() {
    let mut review = one_drive();
    review.quick = false;
    review.outcomes.truncate(1);
    let run = &mut review.outcomes[0];
    (run.test, run.variant) = ("consistency".into(), "2013".into());
    run.charts.truncate(1);
    run.charts[0].id = "iops-whole-log".to_owned();
    let rate = |second: u32| if second.is_multiple_of(7) { 100.0 } else { 5_000.0 };
    run.charts[0].series[0].points = (1..=400).map(|second| [f64::from(second), rate(second)]).collect();
    let said = "stalls at 100 while a superblock of 64 MiB is collected";
    assert!(index_html(&review).unwrap().contains(said));
    for slow in &mut review.outcomes[0].slowest {
        slow.causes_us = [("erase".to_owned(), slow.latency_us)].into();
    }
    let page = index_html(&review).unwrap();
    assert!(page.contains("stalls at 100") && !page.contains(said));
}

#[test]
fn a_published_figure_with_a_unit_of_its_own_has_no_other_behind_it() {
    let mut review = two_drives();
    let missed = review.claims.iter_mut().find(|c| c.id == "X003").unwrap();
    (missed.published, missed.published_says_unit) = ("74K (of 4,096 bytes)".to_owned(), true);
    let page = index_html(&review).unwrap();
    assert!(page.contains(">74K (of 4,096 bytes)<") && page.contains(">540 MB/s<"));
    let summary = terminal_summary(&review, None, false);
    assert!(summary.contains("published 74K (of 4,096 bytes)   here"), "{summary}");
}

#[test]
fn why_nothing_is_compared_is_said_as_it_is() {
    let mut review = one_drive();
    let run = &mut review.outcomes[0];
    (run.test, run.variant) = ("consistency".into(), "2013".into());
    run.metrics.clear();
    run.charts[0].id = "iops-whole-log".to_owned();
    run.not_steady = vec![NotSteady::new(Unsettled::Drifts, "they drift".to_owned())];
    review.outcomes.truncate(1);
    let has = |review: &Review, said: &str| index_html(review).unwrap().contains(said);
    let unsettled = "None of the figures that drives are compared by is there: random writes came to no steady state.";
    assert!(has(&review, unsettled));
    let mut left = review.clone();
    left.outcomes[0].not_steady[0].reason = Unsettled::LeftToFullRun;
    let told = "None of the figures that drives are compared by is there: they are left to a full run.";
    assert!(has(&left, told) && !has(&left, unsettled));
    review.outcomes[0].params.insert("block_size".to_owned(), 8192.into());
    review.outcomes.push(one_drive().outcomes.pop().unwrap());
    let others = "None of the tests that drives are compared by has run with its own parameters.";
    assert!(has(&review, others) && !has(&review, unsettled));
    review.outcomes.remove(0);
    assert!(has(&review, "None of the tests that drives are compared by has run."));
}

#[test]
fn a_replay_at_recorded_times_leads_with_what_the_host_waited_for() {
    let mut review = one_drive();
    review.outcomes.truncate(1);
    let outcome = &mut review.outcomes[0];
    (outcome.test, outcome.variant) = ("replay".into(), String::new());
    let all = [("iops", 84.0, "IOPS"), ("latency_p99", 900.0, "us"), ("latency_p99_from_arrival", 7e6, "us")];
    let all = all.into_iter().chain([("latency_mean_from_arrival", 1e6, "us"), ("delayed", 512.0, "count")]);
    let all = all.chain([("duration", 50.4, "s"), ("trace_duration", 100.0, "s")]);
    outcome.params = [("speed".to_owned(), "2x".into())].into();
    outcome.metrics = all.map(|(k, v, u)| (k.into(), ssdlab_bench::Metric::new(v, u))).collect();
    let summary = terminal_summary(&review, None, false);
    let places =
        ["99th percentile, from arrival", "mean, from arrival", "want of a tag"].map(|text| summary.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{summary}");
    let page = index_html(&review).unwrap();
    let keys = &page[page.find("id=\"key-figures\"").unwrap()..];
    assert!(keys.contains("99th percentile, from arrival</td>") && !keys.contains("84 IOPS</td></tr>\n</tbody>"));
    assert!(page.contains("IOPS, as the trace sends <code>") && page.contains("percentile, from sending <code>"));
    // One that takes four times as long as they come sends them at its own rate.
    review.outcomes[0].metrics.insert("duration".into(), ssdlab_bench::Metric::new(200.0, "s"));
    assert!(!index_html(&review).unwrap().contains("as the trace sends"));
    // Sent as soon as there is room, they come as fast as the drive takes them.
    review.outcomes[0].metrics.retain(|key, _| key == "iops");
    assert!(!index_html(&review).unwrap().contains("as the trace sends"));
}

#[test]
fn key_figures_have_bars_only_where_the_longest_is_the_best() {
    let mut review = two_drives();
    let row = |review: &Review| {
        let page = index_html(review).unwrap();
        let table = &page[page.find("id=\"key-figures\"").unwrap()..];
        let from = table.find("TRIM</a>").unwrap();
        table[from..from + table[from..].find("</tr>").unwrap()].to_owned()
    };
    assert!(row(&review).contains("--w:100%"), "{}", row(&review));
    for (key, unit) in [("latency_mean", "us"), ("power_mean", "W"), ("share_over_10ms", "%")] {
        for outcome in review.outcomes.iter_mut().filter(|o| o.test == "trim") {
            outcome.metrics = [(key.to_owned(), ssdlab_bench::Metric::new(3.0, unit))].into();
        }
        let row = row(&review);
        assert!(!row.contains("--w") && row.contains("(lower is better)"), "{row}");
    }
}

#[test]
fn lines_of_several_drives_with_several_curves_are_named_by_drive_and_by_curve() {
    let mut review = two_drives();
    let curves = |at: f64| {
        let curve = |name: &str, y: f64| Series { name: name.to_owned(), points: vec![[1.0, y], [2.0, y + at]] };
        Chart {
            id: "crossed".into(),
            title: "Reads and writes".into(),
            caption: String::new(),
            mark: Mark::Line,
            x: Axis::linear("depth", ""),
            y: Axis::linear("rate", "IOPS"),
            series: vec![curve("reads", 5.0), curve("writes", 9.0)],
            overlay_drives: true,
        }
    };
    let names: Vec<String> = review.devices.iter().map(|d| d.facts.name.clone()).collect();
    for (i, name) in names.iter().enumerate() {
        let outcome = review.outcomes.iter_mut().find(|o| &o.device == name).unwrap();
        outcome.charts = vec![curves(i as f64)];
    }
    let page = index_html(&review).unwrap();
    for name in NAMES {
        assert!(page.contains(&format!("data-key=\"{name}\" data-of=\"drive\"")), "{name}");
        for curve in ["reads", "writes"] {
            assert!(page.contains(&format!("data-name=\"{name}, {curve}\"")), "{name} {curve}");
        }
    }
    for curve in ["reads", "writes"] {
        assert!(page.contains(&format!("data-key=\"{curve}\" data-of=\"kind\"")), "{curve}");
    }
    // A curve has the same dash whichever drive it is of.
    let dash = |name: &str, curve: &str| {
        let end = page.find(&format!("data-name=\"{name}, {curve}\"")).unwrap();
        let path = &page[page[..end].rfind("<path").unwrap()..end];
        path.split("stroke-dasharray=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_owned())
    };
    assert_eq!((dash(NAMES[0], "reads"), dash(NAMES[1], "reads")), (None, None));
    assert!(dash(NAMES[0], "writes").is_some() && dash(NAMES[0], "writes") == dash(NAMES[1], "writes"));
}

#[test]
fn the_table_of_latency_percentiles_has_the_percentiles_that_reviews_name() {
    let mut review = one_drive();
    // Of 2,000 requests: half 100 µs, 45 % 1 ms, 4.9 % 10 ms, the rest 80 ms.
    let points =
        vec![[1.0, 100.0], [2.0, 100.0], [2.0, 1e3], [20.0, 1e3], [20.0, 1e4], [1e3, 1e4], [1e3, 8e4], [2e3, 8e4]];
    review.outcomes[0].charts = vec![Chart {
        id: "latency-percentiles".into(),
        title: "Latency percentiles".into(),
        caption: String::new(),
        mark: Mark::Line,
        x: Axis { min: Some(1.0), ..Axis::log("share of requests", ssdlab_bench::SHARE_BELOW) },
        y: Axis::log("latency", "us"),
        series: vec![Series { name: "whole run".to_owned(), points }],
        overlay_drives: true,
    }];
    let cells = |review: &Review| {
        let page = index_html(review).unwrap();
        let table = &page[page.find("aria-label=\"Data of Latency percentiles\"").unwrap()..];
        let table = &table[..table.find("</table>").unwrap()];
        let row = table.split("<td class=\"n\">").skip(1);
        row.map(|cell| cell.split('<').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // 50, 90, 95, 99, 99.9 %; of the ten-thousandth there are too few; the slowest. Half of them take no longer than 100 µs, 95 %
    // no longer than 1 ms, and all but two no longer than 10 ms: as the figures of a run have it.
    assert_eq!(cells(&review), ["100 µs", "1 ms", "1 ms", "10 ms", "10 ms", "–", "80 ms"]);
    // On a part of the drive, the slowest requests are those of that part.
    review.outcomes[0].shortened = Some("on an eighth of the drive, in the same proportions".to_owned());
    review.outcomes[0].small_by = Some(8);
    assert_eq!(cells(&review), ["100 µs", "1 ms", "1 ms", "10 ms"]);
    // Its curve ends at 99 %, which it has.
    let points = &mut review.outcomes[0].charts[0].series[0].points;
    points.truncate(5);
    points.push([100.0, 1e4]);
    assert_eq!(cells(&review), ["100 µs", "1 ms", "1 ms", "10 ms"]);
}

#[test]
fn a_chart_of_only_one_of_two_drives_names_it_and_what_the_other_lacks_is_listed() {
    let subjects = |review: &Review| -> Vec<String> {
        let page = index_html(review).unwrap();
        let charts = &page[page.find("id=\"charts\"").unwrap()..];
        let charts = &charts[..charts.find("</section>").unwrap()];
        let subjects = charts.split("<span class=\"subject\">").skip(1);
        subjects.map(|s| s.split('<').next().unwrap().to_owned()).collect()
    };
    let mut review = two_drives();
    let of_test = review.outcomes.iter_mut().filter(|o| o.test == "qd-scaling");
    of_test.for_each(|o| o.charts[0].id = "random".to_owned());
    assert_eq!(subjects(&review), ["Queue depth scaling"]);
    // What the script hides with a drive: of what bears no drive's name, all.
    let of_drive = format!("<figure id=\"fig-{SECOND}-qd-scaling-random\" data-drive=\"{}\">", NAMES[1]);
    assert!(!index_html(&review).unwrap().contains(&of_drive));
    let mut unlike = review.clone();
    unlike.outcomes.iter_mut().filter(|o| o.device == FIRST).for_each(|o| o.small_by = Some(8));
    assert!(
        index_html(&unlike)
            .unwrap()
            .contains(&format!("{} ran whole, {} on an eighth: their times and sizes differ.", NAMES[1], NAMES[0]))
    );
    review.outcomes.retain(|o| o.device == SECOND || o.test != "qd-scaling");
    assert_eq!(subjects(&review), [format!("Queue depth scaling: {SECOND}")]);
    assert!(index_html(&review).unwrap().contains(&of_drive), "{of_drive}");
    review.left_out.push(LeftOut {
        device: FIRST.to_owned(),
        test: "qd-scaling".to_owned(),
        variant: String::new(),
        why: "it <cannot> be made there".to_owned(),
        unfinished: false,
    });
    let page = index_html(&review).unwrap();
    assert!(!page.contains("This review is not whole."));
    assert!(page.contains("Left out: 1 test of ") && page.contains("it &lt;cannot&gt; be made there"));
    let document: serde_json::Value = serde_json::from_str(&ssdlab_report::results_json(&review).unwrap()).unwrap();
    assert_eq!(document["left_out"][0]["device"], FIRST);
    assert_eq!(
        (&document["complete"], &document["left_out"][0]["unfinished"]),
        (&true.into(), &serde_json::Value::Null)
    );
    let stopped = LeftOut { test: "trim".to_owned(), why: "it was stopped".to_owned(), ..review.left_out[0].clone() };
    review.left_out.push(LeftOut { unfinished: true, variant: "QD32".to_owned(), ..stopped });
    let page = index_html(&review).unwrap();
    let told = "<strong>This review is not whole.</strong> 1 test did not finish: trim (QD32) of ";
    assert!(page.find(told) < page.find("Left out: 2 tests of ") && page.contains(told));
    let document: serde_json::Value = serde_json::from_str(&ssdlab_report::results_json(&review).unwrap()).unwrap();
    assert_eq!((&document["complete"], &document["left_out"][1]["unfinished"]), (&false.into(), &true.into()));
}
