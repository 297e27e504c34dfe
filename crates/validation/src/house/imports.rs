//! Circles of imports between the files of a crate.
//!
//! A file imports another if a path in it leads there. A name that a module only hands on (`pub use`, or a `use` that
//! its parts see) is followed to the file that owns it, which alone counts: a circle does not hide behind a re-export,
//! and a re-export does not make one.
//!
//! A module and its parts, at any depth, may import each other: a part's imports of the modules around it do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::Source;
use super::{entries, read};

/// A module by its names from the root of the crate, which has none.
type Module = Vec<String>;

/// More hand-overs of one name than this are a circle of re-exports.
const MOST_HAND_OVERS: usize = 16;

/// The files of a crate or program by module.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<Module, Source>,
    /// Files and the modules inside them.
    modules: BTreeSet<Module>,
}

/// Files of which each imports each of the others, directly or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The imports among them, `from -> to`.
    pub imports: Vec<String>,
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.imports.join(", "))
    }
}

/// The circles in every crate of a workspace: each with the folder it is in.
///
/// # Errors
/// The file that cannot be read, and why.
pub fn circles(workspace: &Path) -> Result<Vec<(String, Circle)>, String> {
    let mut found = Vec::new();
    for folder in entries(&workspace.join("crates"))? {
        let mut roots = vec![folder.join("src")];
        if folder.join("src/bin").is_dir() {
            roots.extend(entries(&folder.join("src/bin"))?);
        }
        for root in roots.iter().filter(|r| r.is_dir()) {
            let name = root.strip_prefix(workspace).unwrap_or(root).display().to_string();
            found.extend(Tree::read(root)?.circles().into_iter().map(|c| (name.clone(), c)));
        }
    }
    Ok(found)
}

impl Tree {
    /// Reads the files below the folder of `lib.rs` or `main.rs`, without those of tests and of other programs.
    ///
    /// # Errors
    /// The file that cannot be read, and why.
    pub fn read(root: &Path) -> Result<Tree, String> {
        let mut files = Vec::new();
        collect(root, &Vec::new(), &mut files)?;
        Ok(Tree::of(files))
    }

    fn of(files: Vec<(Module, String)>) -> Tree {
        let mut files: BTreeMap<Module, Source> =
            files.into_iter().map(|(module, text)| (module, Source::read(&text))).collect();
        let of_tests: Vec<Module> =
            files.iter().flat_map(|(m, s)| s.test_modules.iter().map(|t| joined(m, std::slice::from_ref(t)))).collect();
        files.retain(|module, _| !of_tests.iter().any(|t| module.starts_with(t)));
        let inline = files.iter().flat_map(|(m, s)| s.inline.iter().map(|i| joined(m, i)));
        let modules = files.keys().cloned().chain(inline).collect();
        Tree { files, modules }
    }

    /// Every circle.
    #[must_use]
    pub fn circles(&self) -> Vec<Circle> {
        let imports: BTreeMap<&Module, BTreeSet<Module>> =
            self.files.iter().map(|(module, source)| (module, self.imports(module, source))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            imports.keys().map(|&module| (module, reached_from(module, &imports))).collect();
        let mut circles = Vec::new();
        let mut seen: BTreeSet<&Module> = BTreeSet::new();
        for (&module, to) in &reached {
            if !to.contains(module) || seen.contains(module) {
                continue;
            }
            let members: BTreeSet<&Module> = to.iter().copied().filter(|m| reached[m].contains(module)).collect();
            let among = members.iter().flat_map(|from| {
                let to = imports[from].iter().filter(|to| members.contains(to));
                to.map(|to| format!("{} -> {}", from.join("::"), to.join("::")))
            });
            circles.push(Circle { imports: among.collect() });
            seen.extend(members);
        }
        circles
    }

    /// Files that a file imports, but for itself and the modules around it.
    fn imports(&self, module: &Module, source: &Source) -> BTreeSet<Module> {
        let owners = source.paths.iter().filter_map(|(inline, path)| {
            let from = joined(module, inline);
            self.find(&from, path, MOST_HAND_OVERS)
        });
        owners.map(|m| self.file_of(m)).filter(|file| !module.starts_with(file)).collect()
    }

    /// The module that owns what `path` names in the module `from`; `None` if that is in another crate. A name is handed
    /// on `hand_overs` times at the most.
    fn find(&self, from: &Module, path: &[String], hand_overs: usize) -> Option<Module> {
        let mut at = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {}
            first if self.knows(&at, first) => {}
            _ => return None,
        }
        while rest.first().is_some_and(|word| word == "super") {
            at.pop();
            rest = &rest[1..];
        }
        while let Some(name) = rest.first() {
            let below = joined(&at, std::slice::from_ref(name));
            if self.modules.contains(&below) {
                (at, rest) = (below, &rest[1..]);
            } else if let Some(handed_on) = self.import(&at, name).filter(|_| hand_overs > 0) {
                let path: Vec<String> = handed_on.iter().chain(&rest[1..]).cloned().collect();
                return self.find(&at, &path, hand_overs - 1);
            } else {
                break;
            }
        }
        Some(at)
    }

    fn knows(&self, module: &Module, name: &str) -> bool {
        self.modules.contains(&joined(module, &[name.to_owned()])) || self.import(module, name).is_some()
    }

    /// The path by which a module has this name from elsewhere.
    fn import(&self, module: &Module, name: &str) -> Option<&Vec<String>> {
        let file = self.file_of(module.clone());
        let inline = module[file.len()..].to_vec();
        let path = self.files.get(&file)?.names.get(&(inline, name.to_owned()))?;
        // `use name;` says where nothing is.
        (path.first().map(String::as_str) != Some(name)).then_some(path)
    }

    /// The file that a module is in.
    fn file_of(&self, mut module: Module) -> Module {
        while !module.is_empty() && !self.files.contains_key(&module) {
            module.pop();
        }
        module
    }
}

fn joined(module: &Module, names: &[String]) -> Module {
    module.iter().chain(names).cloned().collect()
}

fn reached_from<'a>(module: &Module, imports: &'a BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let direct = |module: &Module| imports.get(module).into_iter().flatten();
    let mut reached = BTreeSet::new();
    let mut left: Vec<&Module> = direct(module).collect();
    while let Some(next) = left.pop() {
        if reached.insert(next) {
            left.extend(direct(next));
        }
    }
    reached
}

fn collect(folder: &Path, module: &Module, files: &mut Vec<(Module, String)>) -> Result<(), String> {
    for path in entries(folder)? {
        let name = path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            // Each program in `bin` has a root of its own.
            if !(module.is_empty() && name == "bin") {
                collect(&path, &joined(module, &[name]), files)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let is_root = name == "mod" || module.is_empty() && (name == "lib" || name == "main");
            let module = if is_root { module.clone() } else { joined(module, &[name]) };
            files.push((module, read(&path)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let module = |name: &str| name.split("::").filter(|n| !n.is_empty()).map(str::to_owned).collect();
        let files = files.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect();
        Tree::of(files).circles().iter().map(Circle::to_string).collect()
    }

    #[test]
    fn a_circle_does_not_hide_behind_a_re_export() {
        let found = circles(&[
            ("", "mod shelf; mod lamp; pub use lamp::Lamp; pub use shelf::Shelf;"),
            ("shelf", "use crate::Lamp; pub struct Shelf(Lamp);"),
            ("lamp", "pub struct Lamp(Box<crate::Shelf>);"),
        ]);
        assert_eq!(found, ["lamp -> shelf, shelf -> lamp"]);
    }

    #[test]
    fn nor_behind_what_a_parent_has_imported_for_itself() {
        let found = circles(&[
            ("", "mod room; mod lamp;"),
            ("room", "mod shelf; use crate::lamp::Lamp;"),
            ("room::shelf", "use super::Lamp; pub struct Shelf;"),
            ("lamp", "use crate::room::shelf::Shelf;"),
        ]);
        assert_eq!(found, ["lamp -> room::shelf, room::shelf -> lamp"]);
    }

    #[test]
    fn a_re_export_makes_no_circle() {
        let found = circles(&[
            ("", "mod room; mod lamp;"),
            ("room", "mod shelf; pub use shelf::Shelf; use crate::lamp::Lamp;"),
            ("room::shelf", "pub struct Shelf;"),
            ("lamp", "use crate::room::Shelf; pub struct Lamp;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_parent_and_its_part_may_import_each_other() {
        let found = circles(&[
            ("", "mod shelf;"),
            ("shelf", "mod book; pub use book::Book; pub struct Shelf(Vec<Book>);"),
            ("shelf::book", "use super::Shelf; pub struct Book;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn parts_of_one_parent_may_not() {
        let found = circles(&[
            ("", "mod shelf;"),
            ("shelf", "mod book; mod page;"),
            ("shelf::book", "use super::page::{self, Page}; pub struct Book;"),
            ("shelf::page", "fn f() { super::book::g() }"),
        ]);
        assert_eq!(found, ["shelf::book -> shelf::page, shelf::page -> shelf::book"]);
    }

    #[test]
    fn tests_and_other_crates_do_not_count() {
        let found = circles(&[
            ("", "mod a; mod b; #[cfg(test)] mod c;"),
            ("a", "use crate::b::B; use other::b; pub struct A;"),
            ("b", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
            ("c", "use crate::d::D;"),
            ("d", "use crate::c::C;"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
