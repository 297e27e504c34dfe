//! The job file's text: sections, options, comments, files within files, variables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ssdlab_core::input;

use super::error::JobFileError;
use super::job::{Job, JobFile, Spot};
use super::options::{Found, find};
use super::units::has_reversed_suffix;

/// Files within files, at most.
const MAX_INCLUDE_DEPTH: usize = 16;
/// All included files together.
const MAX_INCLUDES: usize = 64;

/// Values of `${NAME}`.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A line with something on it.
struct Line {
    spot: Spot,
    text: String,
}

/// A section with its options.
struct Section {
    header: Line,
    options: Vec<Line>,
}

impl JobFile {
    /// Reads and parses a job file without variables.
    ///
    /// # Errors
    /// See [`JobFileError`].
    pub fn open(path: &Path) -> Result<Self, JobFileError> {
        Self::open_with(path, &|_| None)
    }

    /// As [`JobFile::open`], with values for `${NAME}`.
    ///
    /// # Errors
    /// See [`JobFileError`].
    pub fn open_with(path: &Path, variables: Variables<'_>) -> Result<Self, JobFileError> {
        let file = path.display().to_string();
        match input::read_text(path) {
            Ok(text) => Self::parse_with(&file, &text, variables),
            Err(source) => Err(JobFileError::Read { file, source }),
        }
    }

    /// Parses the text of a job file without variables; `file` is its name in error messages, and what it includes is
    /// looked for beside it.
    ///
    /// # Errors
    /// See [`JobFileError`].
    pub fn parse(file: &str, text: &str) -> Result<Self, JobFileError> {
        Self::parse_with(file, text, &|_| None)
    }

    /// As [`JobFile::parse`], with values for `${NAME}`.
    ///
    /// # Errors
    /// See [`JobFileError`].
    pub fn parse_with(file: &str, text: &str, variables: Variables<'_>) -> Result<Self, JobFileError> {
        let mut result = JobFile {
            file: file.to_owned(),
            jobs: Vec::new(),
            ignored: BTreeSet::new(),
            of_streams: BTreeSet::new(),
            warnings: Vec::new(),
            variables: BTreeMap::new(),
            variables_named: BTreeSet::new(),
        };
        let mut reader = Reader { sections: Vec::new(), includes: 0 };
        reader.read(&Arc::from(file), text, 0)?;
        // Global sections add up; each job begins as a copy of what they say so far. As in fio, the name of one begins with
        // `global`.
        let mut global = Job::defaults(file);
        for section in reader.sections {
            let named = section.options.iter().flat_map(|line| variables_in(&line.text));
            result.variables_named.extend(named.map(str::to_owned));
            if section.header.text.starts_with("global") {
                apply(&mut global, &section, &mut result, variables)?;
            } else {
                let mut job = global.clone();
                job.name.clone_from(&section.header.text);
                job.spot = section.header.spot.clone();
                apply(&mut job, &section, &mut result, variables)?;
                job.check()?;
                result.jobs.push(job);
            }
        }
        // It holds of the whole file, even if it stands behind the last job.
        if global.exit_all {
            result.jobs.iter_mut().for_each(|job| job.exit_all = true);
        }
        if result.jobs.is_empty() {
            return Err(JobFileError::Empty { file: file.to_owned() });
        }
        result.check()?;
        Ok(result)
    }
}

fn syntax(spot: &Spot, problem: String) -> JobFileError {
    JobFileError::Syntax { file: spot.file.to_string(), line: spot.line, problem }
}

/// Cuts text into sections.
struct Reader {
    sections: Vec<Section>,
    includes: usize,
}

impl Reader {
    fn read(&mut self, file: &Arc<str>, text: &str, depth: usize) -> Result<(), JobFileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (i, raw) in text.lines().enumerate() {
            let spot = Spot { file: Arc::clone(file), line: i + 1 };
            // fio ends a line at the first comment sign, wherever it stands.
            let text = raw.split([';', '#']).next().unwrap_or("").trim();
            if text.is_empty() {
                continue;
            }
            if let Some(rest) = text.strip_prefix('[') {
                let name = rest.strip_suffix(']').map(str::trim).filter(|n| !n.is_empty());
                let name = name.ok_or_else(|| {
                    syntax(&spot, format!("`{text}` is not a section header; write its name between [ and ]"))
                })?;
                let header = Line { spot, text: name.to_owned() };
                self.sections.push(Section { header, options: Vec::new() });
            } else if let Some(name) = text.strip_prefix("include").filter(|n| n.is_empty() || n.starts_with(' ')) {
                self.include(&spot, name.trim(), depth)?;
            } else if let Some(section) = self.sections.last_mut() {
                section.options.push(Line { spot, text: text.to_owned() });
            } else {
                return Err(syntax(
                    &spot,
                    format!("`{text}` stands before any section; begin with [global] or a job's name"),
                ));
            }
        }
        Ok(())
    }

    /// Reads a file at this place, as if its lines stood here.
    fn include(&mut self, spot: &Spot, name: &str, depth: usize) -> Result<(), JobFileError> {
        if name.is_empty() {
            return Err(syntax(spot, "`include` needs the name of a file".into()));
        }
        self.includes += 1;
        if depth == MAX_INCLUDE_DEPTH || self.includes > MAX_INCLUDES {
            let problem = format!(
                "files within files: at most {MAX_INCLUDE_DEPTH} one in the other, and {MAX_INCLUDES} in all; does one \
                 include itself?"
            );
            return Err(syntax(spot, problem));
        }
        let beside: PathBuf = Path::new(&*spot.file).parent().unwrap_or(Path::new("")).join(name);
        let text =
            input::read_text(&beside).map_err(|e| syntax(spot, format!("cannot read {}: {e}", beside.display())))?;
        self.read(&Arc::from(beside.display().to_string()), &text, depth + 1)
    }
}

/// Name and value of an option line.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    }
}

/// Longest text that variables may make of an option.
const MAX_EXPANDED: usize = 64 << 10;

/// Names of the variables in a text.
fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// fio's words for what the machine has.
const KEYWORDS: [&str; 3] = ["$ncpus", "$pagesize", "$mb_memory"];

/// `text` with its variables replaced.
fn expand(
    line: &Line,
    text: &str,
    used: &mut BTreeMap<String, String>,
    variables: Variables<'_>,
) -> Result<String, JobFileError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let Some((name, after)) = rest[at + 2..].split_once('}') else {
            return Err(syntax(&line.spot, format!("`{text}`: a variable ends with }}, as in ${{NAME}}")));
        };
        let Some(value) = variables(name) else {
            let problem = format!(
                "`{text}`: the variable `{name}` has no value; the environment gives it one, as in {name}=VALUE ssdlab …, or \
                 --var {name}=VALUE where the command has it"
            );
            return Err(syntax(&line.spot, problem));
        };
        out.push_str(&value);
        used.insert(name.to_owned(), value);
        if out.len() > MAX_EXPANDED {
            return Err(syntax(&line.spot, format!("`{text}` is longer than {MAX_EXPANDED} bytes with its variables")));
        }
        rest = after;
    }
    out.push_str(rest);
    if let Some(keyword) = KEYWORDS.into_iter().find(|keyword| out.contains(keyword)) {
        let problem = format!(
            "`{out}`: `{keyword}` is a number of the machine that fio runs on, and a run must not depend on that; write the \
             number, or a variable such as ${{NAME}}"
        );
        return Err(syntax(&line.spot, problem));
    }
    Ok(out)
}

/// Sets the options of a section in a job.
fn apply(job: &mut Job, section: &Section, result: &mut JobFile, variables: Variables<'_>) -> Result<(), JobFileError> {
    // What k means must be known before any size is read, wherever it stands in the section.
    let (first, rest): (Vec<_>, Vec<_>) = section.options.iter().partition(|l| split(&l.text).0 == "kb_base");
    for line in first.into_iter().chain(rest) {
        let (name, value) = split(&line.text);
        let (file, number) = (line.spot.file.to_string(), line.spot.line);
        let wrong =
            |problem| JobFileError::Value { file: file.clone(), line: number, option: name.to_owned(), problem };
        match find(name) {
            Found::Supported(table_name, set) => {
                let value = value.map(|v| expand(line, v, &mut result.variables, variables)).transpose()?;
                let value = value.as_deref();
                set(job, value).map_err(wrong)?;
                job.given.insert(table_name.to_owned(), value.unwrap_or_default().to_owned());
                job.spots.insert(table_name, line.spot.clone());
                if table_name == "exitall" && matches!(value, Some("0" | "false")) {
                    result.warnings.push(format!(
                        "{file}:{number}: {text}: jobs end with others, as in fio, where any `exitall` switches that on",
                        text = line.text
                    ));
                }
                let is_text = matches!(table_name, "name" | "description");
                if let Some(value) = value.filter(|v| !is_text && job.kb_base == 1024 && has_reversed_suffix(v)) {
                    result.warnings.push(format!(
                        "{file}:{number}: {name}={value}: fio reads kib, mib, gib as powers of 1000; write k, m, g for powers of 1024",
                    ));
                }
            }
            Found::Ignored { name: table_name, names_stream } => {
                job.given.insert(table_name.to_owned(), value.unwrap_or_default().to_owned());
                result.ignored.insert(table_name);
                if names_stream {
                    result.of_streams.insert(table_name);
                }
            }
            Found::Refused(why) => return Err(wrong(why.to_owned())),
            Found::Unknown(nearest) => {
                return Err(JobFileError::UnknownOption { file, line: number, option: name.to_owned(), nearest });
            }
        }
    }
    Ok(())
}
