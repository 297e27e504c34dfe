//! The text of a device expression as a tree of names: `raid0(a*2, stripe=128KiB)`. What the names mean is not known
//! here.
//!
//! ```text
//! device   = name [ "(" [ argument { "," argument } ] ")" ] [ "*" count ]
//! argument = [ key "=" ] device
//! ```
//!
//! Names and keys are any characters but `( ) , * =`; spaces around them do not count. A value such as `128KiB` reads
//! as a name.

use std::fmt;
use std::ops::Range;

use crate::explain::Problem;

/// Bytes of an expression.
pub(super) const MAX_LENGTH: usize = 1000;
/// Parentheses within parentheses.
pub(super) const MAX_DEPTH: usize = 8;
/// Devices of one expression, all in all.
pub(super) const MAX_DEVICES: usize = 64;

/// A name with what stands in its parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub name: String,
    /// Of the name alone.
    pub name_span: Range<usize>,
    /// From the name to the closing parenthesis or the count.
    pub span: Range<usize>,
    /// `None` without parentheses.
    pub arguments: Option<Vec<Argument>>,
    /// What stands behind `*`, and where.
    pub count: Option<(usize, Range<usize>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub key: Option<(String, Range<usize>)>,
    pub node: Node,
}

/// Reads an expression.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    if text.len() > MAX_LENGTH {
        let what = format!("a device expression of {} bytes", text.len());
        return Err(problem(what, 0..0, format!("use at most {MAX_LENGTH}; a file of kind = \"array\" gives a name")));
    }
    let mut parser = Parser { text, at: 0 };
    let node = parser.device(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(')') => Err(problem("this `)` closes nothing", parser.here(), "take it out")),
        Some(c) => Err(problem(format!("`{c}` does not fit here"), parser.here(), "an expression is one device")),
    }
}

fn problem(what: impl Into<String>, span: Range<usize>, help: impl Into<String>) -> Problem {
    Problem { what: what.into(), span: Some(span), help: vec![help.into()] }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// The next character, or the end.
    fn here(&self) -> Range<usize> {
        self.at..self.at + self.peek().map_or(0, char::len_utf8)
    }

    fn takes(&mut self, c: char) -> bool {
        let next = self.peek() == Some(c);
        if next {
            self.at += c.len_utf8();
            self.spaces();
        }
        next
    }

    fn spaces(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    /// Characters up to the next that means something.
    fn word(&mut self, what: &str) -> Result<(String, Range<usize>), Problem> {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest.find(['(', ')', ',', '*', '=']).unwrap_or(rest.len());
        let word = rest[..end].trim_end();
        if word.is_empty() {
            return Err(problem(format!("{what} is missing"), self.here(), "as in raid0(NAME*2, stripe=128KiB)"));
        }
        let span = self.at..self.at + word.len();
        self.at += end;
        Ok((word.to_owned(), span))
    }

    fn device(&mut self, depth: usize) -> Result<Node, Problem> {
        let word = self.word("a device")?;
        self.device_named(word, depth)
    }

    fn device_named(&mut self, (name, name_span): (String, Range<usize>), depth: usize) -> Result<Node, Problem> {
        let mut end = name_span.end;
        let mut arguments = None;
        let opened = self.here();
        if self.takes('(') {
            if depth == MAX_DEPTH {
                let help = format!("use at most {MAX_DEPTH} levels");
                return Err(problem("devices within devices within devices: too deep", opened, help));
            }
            arguments = Some(self.arguments(depth + 1, opened)?);
            end = self.text[..self.at].trim_end().len();
        }
        let mut count = None;
        if self.takes('*') {
            let (digits, span) = self.word("the number of devices")?;
            let number = digits.parse().ok().filter(|n| (1..=MAX_DEVICES).contains(n));
            let Some(number) = number else {
                let what = format!("`{digits}` is no number of devices");
                return Err(problem(what, span, format!("use 1 to {MAX_DEVICES}")));
            };
            end = span.end;
            count = Some((number, span));
        }
        Ok(Node { name, span: name_span.start..end, name_span, arguments, count })
    }

    /// What stands between parentheses, and the closing one.
    fn arguments(&mut self, depth: usize, opened: Range<usize>) -> Result<Vec<Argument>, Problem> {
        let mut arguments = Vec::new();
        if self.takes(')') {
            return Ok(arguments);
        }
        loop {
            let word = self.word("a device")?;
            arguments.push(if self.takes('=') {
                Argument { key: Some(word), node: self.device(depth)? }
            } else {
                Argument { key: None, node: self.device_named(word, depth)? }
            });
            if self.takes(')') {
                return Ok(arguments);
            }
            if self.peek().is_none() {
                return Err(problem("this parenthesis is never closed", opened, "put `)` behind its last device"));
            }
            if !self.takes(',') {
                let c = self.peek().unwrap_or_default();
                return Err(problem(format!("`{c}` does not fit here"), self.here(), "put `,` or `)` here"));
            }
        }
    }
}

impl Node {
    /// The same with other names where `name` has one.
    pub(super) fn renamed(&self, name: &dyn Fn(&str) -> Option<String>) -> Node {
        let argument = |argument: &Argument| Argument { node: argument.node.renamed(name), ..argument.clone() };
        let arguments = self.arguments.as_ref().map(|all| all.iter().map(argument).collect());
        Node { name: name(&self.name).unwrap_or_else(|| self.name.clone()), arguments, ..self.clone() }
    }
}

/// As one would write it by hand: one space behind a comma.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(arguments) = &self.arguments {
            f.write_str("(")?;
            for (k, argument) in arguments.iter().enumerate() {
                f.write_str(if k == 0 { "" } else { ", " })?;
                if let Some((key, _)) = &argument.key {
                    write!(f, "{key}=")?;
                }
                write!(f, "{}", argument.node)?;
            }
            f.write_str(")")?;
        }
        match &self.count {
            Some((count, _)) => write!(f, "*{count}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> (String, String) {
        let problem = parse(text).unwrap_err();
        (problem.what, text[problem.span.unwrap()].to_owned())
    }

    #[test]
    fn an_expression_is_read_as_it_is_written() {
        let node = parse("  arc ( raid0( ./my drive.toml*2 ,b, stripe = 64 KiB) )").unwrap();
        assert_eq!(node.to_string(), "arc(raid0(./my drive.toml*2, b, stripe=64 KiB))");
        let set = &node.arguments.as_ref().unwrap()[0].node;
        let members = set.arguments.as_ref().unwrap();
        assert_eq!((members[0].node.count.as_ref().unwrap().0, members[1].node.count.as_ref()), (2, None));
        assert_eq!(members[2].key.as_ref().unwrap().0, "stripe");
        assert_eq!(parse(&node.to_string()).unwrap().to_string(), node.to_string());
        assert_eq!(parse("raid0()").unwrap().arguments, Some(Vec::new()));
    }

    #[test]
    fn spans_are_those_of_the_words() {
        let text = "raid0( a*2, stripe=1 )*3";
        let node = parse(text).unwrap();
        assert_eq!((&text[node.name_span], &text[node.span.clone()]), ("raid0", text));
        let members = node.arguments.unwrap();
        assert_eq!((&text[members[0].node.span.clone()], &text[members[1].node.span.clone()]), ("a*2", "1"));
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        assert_eq!(wrong("raid0(a, b"), ("this parenthesis is never closed".into(), "(".into()));
        assert_eq!(wrong("raid0(a))"), ("this `)` closes nothing".into(), ")".into()));
        assert_eq!(wrong("raid0(a,,b)"), ("a device is missing".into(), ",".into()));
        assert_eq!(wrong("raid0(a=)"), ("a device is missing".into(), ")".into()));
        assert_eq!(wrong("raid0(a*x)"), ("`x` is no number of devices".into(), "x".into()));
        assert_eq!(wrong("raid0(a*65)"), ("`65` is no number of devices".into(), "65".into()));
        assert_eq!(wrong("raid0(a(b)c)"), ("`c` does not fit here".into(), "c".into()));
        assert_eq!(wrong("a=b"), ("`=` does not fit here".into(), "=".into()));
        assert_eq!(wrong(""), ("a device is missing".into(), String::new()));
        assert_eq!(wrong(&"a(".repeat(20)).1, "(");
        assert!(parse(&"a".repeat(MAX_LENGTH + 1)).is_err());
    }
}
