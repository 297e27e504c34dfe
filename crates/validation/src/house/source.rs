//! The paths that a source file names, read from its tokens; comments, strings and tests are left out.
//!
//! This is no parser of Rust: it knows `use`, `mod`, attributes and paths, which is what imports are made of. It does
//! not expand macros, but sees the paths that are written in them.

use std::collections::BTreeMap;

/// What a file says of other files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Paths of `use` and of expressions, each with the inline modules around it.
    pub paths: Vec<(Vec<String>, Vec<String>)>,
    /// Names that `use` brings in, by the inline modules around it and the name.
    pub names: BTreeMap<(Vec<String>, String), Vec<String>>,
    /// Inline modules.
    pub inline: Vec<Vec<String>>,
    /// Modules in files of their own that are compiled for tests only.
    pub test_modules: Vec<String>,
}

impl Source {
    /// Reads a file.
    #[must_use]
    pub fn read(text: &str) -> Source {
        let mut reader =
            Reader { tokens: tokens(text), at: 0, around: Vec::new(), depth: 0, source: Source::default() };
        while reader.at < reader.tokens.len() {
            reader.step();
        }
        reader.source
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Separator,
    Sign(char),
}

/// Words and signs; a string or a character is the sign `"`.
fn tokens(text: &str) -> Vec<Token> {
    let s: Vec<char> = text.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let get = |i: usize| s.get(i).copied().unwrap_or('\0');
    let mut out = Vec::new();
    let mut i = 0;
    while i < s.len() {
        match s[i] {
            '/' if get(i + 1) == '/' => i += s[i..].iter().take_while(|&&c| c != '\n').count(),
            '/' if get(i + 1) == '*' => i = after_comment(&s, i),
            '"' => {
                i = after_string(&s, i);
                out.push(Token::Sign('"'));
            }
            '\'' if get(i + 1) == '\\' => {
                i += 3 + s[(i + 3).min(s.len())..].iter().take_while(|&&c| c != '\'').count() + 1;
                out.push(Token::Sign('"'));
            }
            '\'' if get(i + 2) == '\'' => {
                i += 3;
                out.push(Token::Sign('"'));
            }
            // A lifetime.
            '\'' => i += 1 + s[i + 1..].iter().take_while(|&&c| is_word(c)).count(),
            ':' if get(i + 1) == ':' => {
                i += 2;
                out.push(Token::Separator);
            }
            c if is_word(c) => {
                let word: String = s[i..].iter().take_while(|&&c| is_word(c)).collect();
                i += word.chars().count();
                let hashes = s[i..].iter().take_while(|&&c| c == '#').count();
                let raw = matches!(word.as_str(), "r" | "br" | "cr") && get(i + hashes) == '"';
                if raw {
                    i = after_raw_string(&s, i + hashes + 1, hashes);
                    out.push(Token::Sign('"'));
                } else if word == "r" && hashes == 1 {
                    // A raw word: its name follows.
                    i += 1;
                } else {
                    out.push(Token::Word(word));
                }
            }
            c => {
                i += 1;
                if !c.is_whitespace() {
                    out.push(Token::Sign(c));
                }
            }
        }
    }
    out
}

fn after_comment(s: &[char], from: usize) -> usize {
    let (mut i, mut depth) = (from, 0);
    while i < s.len() {
        match (s[i], s.get(i + 1)) {
            ('/', Some('*')) => (i, depth) = (i + 2, depth + 1),
            ('*', Some('/')) => (i, depth) = (i + 2, depth - 1),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

fn after_string(s: &[char], from: usize) -> usize {
    let mut i = from + 1;
    while i < s.len() && s[i] != '"' {
        i += if s[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

fn after_raw_string(s: &[char], from: usize, hashes: usize) -> usize {
    let ends = |i: usize| s[i] == '"' && s[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes;
    (from..s.len()).find(|&i| ends(i)).map_or(s.len(), |i| i + 1 + hashes)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    /// Inline modules around this place, each with the depth of braces outside it.
    around: Vec<(String, usize)>,
    depth: usize,
    source: Source,
}

impl Reader {
    fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    fn modules(&self) -> Vec<String> {
        self.around.iter().map(|(name, _)| name.clone()).collect()
    }

    fn step(&mut self) {
        if self.is(self.at, '#') && self.is(self.at + 1, '[') {
            let end = self.after_group(self.at + 1);
            let words: Vec<&str> = (self.at..end).filter_map(|i| self.word(i)).collect();
            let test = words == ["cfg", "test"];
            self.at = end;
            if test {
                self.skip_item();
            }
            return;
        }
        if self.is(self.at, '{') {
            self.depth += 1;
        } else if self.is(self.at, '}') {
            self.depth = self.depth.saturating_sub(1);
            self.around.retain(|(_, outside)| *outside < self.depth);
        }
        let next = self.word(self.at + 1).map(str::to_owned);
        match (self.word(self.at), next) {
            (Some("mod"), Some(name)) if self.is(self.at + 2, '{') => {
                self.around.push((name, self.depth));
                self.depth += 1;
                let modules = self.modules();
                self.source.inline.push(modules);
                self.at += 3;
            }
            (Some("use"), Some(_)) => {
                self.at += 1;
                self.tree(&[]);
            }
            (Some(_), _) if self.tokens.get(self.at + 1) == Some(&Token::Separator) => {
                let mut path = Vec::new();
                while let Some(word) = self.word(self.at).map(str::to_owned) {
                    path.push(word);
                    self.at += 1;
                    if self.tokens.get(self.at) != Some(&Token::Separator) {
                        break;
                    }
                    self.at += 1;
                }
                // A path may go on from a type's arguments: `Vec::<T>::new`. What follows them is no module.
                self.source.paths.push((self.modules(), path));
            }
            // What follows `>::` or a macro's variable hangs on a type, not on a module.
            _ if self.tokens[self.at] == Token::Separator => {
                self.at += 1;
                if self.word(self.at).is_some() && self.tokens.get(self.at + 1) != Some(&Token::Separator) {
                    self.at += 1;
                }
            }
            _ => self.at += 1,
        }
    }

    /// A tree of `use`, from behind `prefix::`.
    fn tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            if self.tokens.get(self.at) == Some(&Token::Separator) {
                self.at += 1;
            } else if self.is(self.at, '{') {
                self.at += 1;
                while self.at < self.tokens.len() && !self.is(self.at, '}') {
                    self.tree(&path);
                    if self.is(self.at, ',') {
                        self.at += 1;
                    }
                }
                self.at += 1;
                return;
            } else if self.is(self.at, '*') {
                self.at += 1;
                self.source.paths.push((self.modules(), path));
                return;
            } else if let Some(word) = self.word(self.at).map(str::to_owned) {
                self.at += 1;
                if word == "as" {
                    let alias = self.word(self.at).unwrap_or("_").to_owned();
                    self.at += 1;
                    return self.import(path, alias);
                }
                // `self` in a group is the module before it.
                if word != "self" || path.is_empty() {
                    path.push(word);
                }
            } else {
                // The end, or something that is no import: step over it once, so that reading goes on.
                if !(self.is(self.at, ',') || self.is(self.at, '}') || self.is(self.at, ';')) {
                    self.at += 1;
                }
                let name = path.last().cloned().unwrap_or_default();
                return self.import(path, name);
            }
        }
    }

    fn import(&mut self, path: Vec<String>, name: String) {
        let modules = self.modules();
        self.source.paths.push((modules.clone(), path.clone()));
        if name != "_" {
            self.source.names.insert((modules, name), path);
        }
    }

    /// The place behind the group that opens at `at`.
    fn after_group(&self, at: usize) -> usize {
        let mut depth = 0;
        for i in at..self.tokens.len() {
            match self.tokens[i] {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return i + 1;
            }
        }
        self.tokens.len()
    }

    /// Skips what an attribute stands before: an item, a field or an arm.
    fn skip_item(&mut self) {
        while self.is(self.at, '#') {
            self.at = self.after_group(self.at + 1);
        }
        if self.word(self.at) == Some("pub") {
            self.at += 1;
            if self.is(self.at, '(') {
                self.at = self.after_group(self.at);
            }
        }
        let keyword = self.word(self.at).unwrap_or_default().to_owned();
        if keyword == "mod" && self.is(self.at + 2, ';') {
            let name = self.word(self.at + 1).unwrap_or_default().to_owned();
            self.source.test_modules.push(name);
        }
        let braced =
            ["mod", "fn", "impl", "struct", "enum", "union", "trait", "unsafe", "async", "extern", "macro_rules"];
        let ends_with_semicolon = ["use", "const", "static", "type", "let"].contains(&keyword.as_str());
        let ends_with_braces = braced.contains(&keyword.as_str());
        while self.at < self.tokens.len() {
            match self.tokens[self.at] {
                Token::Sign(';') => {
                    self.at += 1;
                    return;
                }
                Token::Sign(',') if !ends_with_braces && !ends_with_semicolon => {
                    self.at += 1;
                    return;
                }
                Token::Sign('{') if ends_with_braces => {
                    self.at = self.after_group(self.at);
                    return;
                }
                Token::Sign('(' | '[' | '{') => self.at = self.after_group(self.at),
                // The last field or arm.
                Token::Sign(')' | ']' | '}') => return,
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        Source::read(text).paths.into_iter().map(|(_, path)| path.join("::")).collect()
    }

    #[test]
    fn groups_are_taken_apart() {
        let text = "pub(crate) use super::{a::{self, B}, c::*, d as e};\nuse x as _;";
        assert_eq!(paths(text), ["super::a", "super::a::B", "super::c", "super::d", "x"]);
        let names: Vec<String> = Source::read(text).names.into_keys().map(|(_, name)| name).collect();
        assert_eq!(names, ["B", "a", "e"]);
    }

    #[test]
    fn paths_in_expressions_and_macros_are_seen() {
        assert_eq!(paths("fn f<'a>(x: &'a super::T) { m!(crate::g::h(':', x)) }"), ["super::T", "crate::g::h"]);
        assert_eq!(paths("fn f() -> u8 { <T as self::Trait>::get() }"), ["self::Trait"]);
    }

    #[test]
    fn comments_strings_and_characters_are_not() {
        let text = r####"// crate::a
            /* crate::b /* crate::c */ */
            const S: &str = "\" crate::d"; const R: &str = r#"" crate::e"#;
            const C: [char; 3] = ['"', '\'', '\u{22}']; use crate::f;"####;
        assert_eq!(paths(text), ["crate::f"]);
    }

    #[test]
    fn tests_are_not() {
        let text = "#[cfg(test)] #[allow(x)] mod tests { use crate::a; }\n#[cfg(test)]\nmod apart;\n\
                    #[cfg(test)] use crate::{b, c}; struct S { #[cfg(test)] f: crate::d::D, g: crate::e::E }\n\
                    #[cfg(not(test))] use crate::f; #[cfg(test)] pub fn g<A, B>() { crate::h::i() }";
        assert_eq!(paths(text), ["crate::e::E", "crate::f"]);
        assert_eq!(Source::read(text).test_modules, ["apart"]);
    }

    #[test]
    fn an_inline_module_ends_with_its_brace() {
        let source = Source::read("mod m { fn f() { super::a() } } use b::c;");
        let around: Vec<(String, String)> = source.paths.iter().map(|(m, p)| (m.join("::"), p.join("::"))).collect();
        assert_eq!(around, [("m".into(), "super::a".into()), (String::new(), "b::c".into())]);
    }
}
