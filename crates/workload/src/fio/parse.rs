//! The job file's text: sections, options, comments.

use std::collections::BTreeSet;
use std::path::Path;

use ssdlab_core::input;

use super::error::JobFileError;
use super::job::{Job, JobFile};
use super::options::{Found, find};
use super::units::has_reversed_suffix;

/// A line with something on it.
struct Line<'a> {
    number: usize,
    text: &'a str,
}

/// A section with its options.
struct Section<'a> {
    header: Line<'a>,
    options: Vec<Line<'a>>,
}

impl JobFile {
    /// Reads and parses a job file.
    ///
    /// # Errors
    /// See [`JobFileError`].
    pub fn open(path: &Path) -> Result<Self, JobFileError> {
        let file = path.display().to_string();
        match input::read_text(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(source) => Err(JobFileError::Read { file, source }),
        }
    }

    /// Parses the text of a job file; `file` is its name in error messages.
    ///
    /// # Errors
    /// See [`JobFileError`].
    pub fn parse(file: &str, text: &str) -> Result<Self, JobFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut result =
            JobFile { file: file.to_owned(), jobs: Vec::new(), ignored: BTreeSet::new(), warnings: Vec::new() };
        // Global sections add up; each job begins as a copy of what they say so far.
        let mut global = Job::defaults(file);
        for section in sections(file, text)? {
            if section.header.text == "global" {
                apply(file, &mut global, &section, &mut result)?;
            } else {
                let mut job = global.clone();
                job.name = section.header.text.to_owned();
                job.line = section.header.number;
                apply(file, &mut job, &section, &mut result)?;
                job.check()?;
                result.jobs.push(job);
            }
        }
        if result.jobs.is_empty() {
            return Err(JobFileError::Empty { file: file.to_owned() });
        }
        result.check()?;
        Ok(result)
    }
}

/// Cuts the text into sections.
fn sections<'a>(file: &str, text: &'a str) -> Result<Vec<Section<'a>>, JobFileError> {
    let syntax = |line, problem: String| JobFileError::Syntax { file: file.to_owned(), line, problem };
    let mut sections: Vec<Section<'a>> = Vec::new();
    for (i, raw) in text.lines().enumerate() {
        let number = i + 1;
        // fio ends a line at the first comment sign, wherever it stands.
        let text = raw.split([';', '#']).next().unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        if let Some(rest) = text.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|n| !n.is_empty());
            let name = name.ok_or_else(|| {
                syntax(number, format!("`{text}` is not a section header; write its name between [ and ]"))
            })?;
            sections.push(Section { header: Line { number, text: name }, options: Vec::new() });
        } else if text == "include" || text.starts_with("include ") {
            return Err(syntax(number, "`include` is not supported; put the sections into this file".into()));
        } else if let Some(section) = sections.last_mut() {
            section.options.push(Line { number, text });
        } else {
            return Err(syntax(
                number,
                format!("`{text}` stands before any section; begin with [global] or a job's name"),
            ));
        }
    }
    Ok(sections)
}

/// Name and value of an option line.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    }
}

/// Sets the options of a section in a job.
fn apply(file: &str, job: &mut Job, section: &Section, result: &mut JobFile) -> Result<(), JobFileError> {
    // What k means must be known before any size is read, wherever it stands in the section.
    let (first, rest): (Vec<_>, Vec<_>) = section.options.iter().partition(|l| split(l.text).0 == "kb_base");
    for line in first.into_iter().chain(rest) {
        let (name, value) = split(line.text);
        if value.unwrap_or(name).contains("${") {
            return Err(JobFileError::Syntax {
                file: file.to_owned(),
                line: line.number,
                problem: format!("`{}`: variables are not supported; write the value itself", line.text),
            });
        }
        match find(name) {
            Found::Supported(table_name, set) => {
                set(job, value).map_err(|problem| JobFileError::Value {
                    file: file.to_owned(),
                    line: line.number,
                    option: name.to_owned(),
                    problem,
                })?;
                job.given.insert(table_name.to_owned(), value.unwrap_or_default().to_owned());
                job.lines.insert(table_name, line.number);
                let is_text = matches!(table_name, "name" | "description");
                if let Some(value) = value.filter(|v| !is_text && job.kb_base == 1024 && has_reversed_suffix(v)) {
                    result.warnings.push(format!(
                        "{file}:{}: {name}={value}: fio reads kib, mib, gib as powers of 1000; write k, m, g for powers of 1024",
                        line.number
                    ));
                }
            }
            Found::Ignored(table_name) => {
                job.given.insert(table_name.to_owned(), value.unwrap_or_default().to_owned());
                result.ignored.insert(table_name);
            }
            Found::Unknown(nearest) => {
                return Err(JobFileError::UnknownOption {
                    file: file.to_owned(),
                    line: line.number,
                    option: name.to_owned(),
                    nearest,
                });
            }
        }
    }
    Ok(())
}
