//! The modules of a crate, and what each uses of the others.
//!
//! A path is resolved to the module that defines the item: re-exports are followed. Naming a module is not a use of it;
//! naming an item through it is. Not detected: methods, which are called on values, and paths in other crates' macros
//! or templates.

use std::collections::{BTreeMap, BTreeSet};

use crate::declared::{Child, Module, Named, read_module};
use crate::tokens::{Token, tokens};

/// The names of a module from the top; empty for the crate root.
pub(crate) type ModulePath = Vec<String>;

/// A use of one module by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: ModulePath,
    pub(crate) to: ModulePath,
    /// `file:line path`.
    pub(crate) place: String,
}

/// What a path resolves to.
enum Found {
    /// Another crate, or a name of the same file.
    Elsewhere,
    Module(ModulePath),
    /// An item that is defined in this module.
    Item(ModulePath),
}

/// All modules of a crate.
pub(crate) struct Modules<'f> {
    /// Path below `src` → text.
    files: &'f BTreeMap<String, String>,
    modules: BTreeMap<ModulePath, Module>,
}

impl<'f> Modules<'f> {
    /// Reads a crate from its root file, with all its modules.
    pub(crate) fn read(files: &'f BTreeMap<String, String>, root: &str) -> Modules<'f> {
        let mut all = Modules { files, modules: BTreeMap::new() };
        all.read_file(ModulePath::new(), root);
        all
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &ModulePath> {
        self.modules.keys()
    }

    /// Reads a module that is a file of its own. Returns whether it exists outside of tests.
    fn read_file(&mut self, path: ModulePath, file: &str) -> bool {
        let Some(tokens) = tokens(&self.files[file]) else { return false };
        self.read_block(path, file, &tokens);
        true
    }

    fn read_block(&mut self, path: ModulePath, file: &str, tokens: &[Token<'_>]) {
        let (mut module, children) = read_module(file, tokens);
        for Child { name, block } in children {
            let child: ModulePath = path.iter().chain([&name]).cloned().collect();
            let is_there = match block {
                Some(tokens) => {
                    self.read_block(child, file, tokens);
                    true
                }
                None => self.read_file(child.clone(), &self.file_of(&child)),
            };
            if is_there {
                module.children.insert(name);
            }
        }
        self.modules.insert(path, module);
    }

    fn file_of(&self, module: &[String]) -> String {
        let files = [format!("{}.rs", module.join("/")), format!("{}/mod.rs", module.join("/"))];
        let found = files.into_iter().find(|file| self.files.contains_key(file));
        found.unwrap_or_else(|| panic!("no file is the module {}", module.join("::")))
    }

    /// The uses among modules, in the order of the source.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let mut references = Vec::new();
        for (path, module) in &self.modules {
            let mut add = |to: ModulePath, line: usize, segments: &[String]| {
                if to != *path {
                    let place = format!("{}:{line} {}", module.file, segments.join("::"));
                    references.push(Reference { from: path.clone(), to, place });
                }
            };
            for import in &module.uses {
                match self.resolve(path, &import.segments) {
                    // A re-export from a submodule is a use only if the module itself names the item.
                    Found::Item(to) | Found::Module(to) if import.is_public && to.starts_with(path) => {}
                    Found::Module(to) if import.alias == "*" => add(to, import.line, &import.segments),
                    Found::Item(to) => add(to, import.line, &import.segments),
                    Found::Module(_) | Found::Elsewhere => {}
                }
            }
            for Named { segments, line, is_used } in &module.named {
                let is_type = segments[0].starts_with(char::is_uppercase);
                if (*is_used || is_type)
                    && let Found::Item(to) = self.resolve(path, segments)
                {
                    add(to, *line, segments);
                }
            }
        }
        references
    }

    /// Resolves a path in a module.
    fn resolve(&self, at: &[String], segments: &[String]) -> Found {
        match segments[0].as_str() {
            "crate" | "self" | "super" => {}
            first if self.modules[at].children.contains(first) => {}
            first if self.modules[at].import(first).is_some() => {}
            _ => return Found::Elsewhere,
        }
        self.resolve_in(at, segments, &mut BTreeSet::new())
    }

    /// Resolves a path below a module.
    fn resolve_in(
        &self,
        at: &[String],
        segments: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Found {
        let Some((first, rest)) = segments.split_first() else { return Found::Module(at.to_vec()) };
        match first.as_str() {
            "crate" => return self.resolve_in(&[], rest, seen),
            "self" => return self.resolve_in(at, rest, seen),
            "super" => return self.resolve_in(&at[..at.len().saturating_sub(1)], rest, seen),
            _ => {}
        }
        let module = &self.modules[at];
        let import = module.import(first);
        // A function and a module may share a name: at the end of a path it is the function.
        let is_last = rest.is_empty();
        if module.children.contains(first) && !(is_last && (import.is_some() || module.items.contains(first)))
        {
            let child: ModulePath = at.iter().chain([first]).cloned().collect();
            return self.resolve_in(&child, rest, seen);
        }
        if is_last && module.items.contains(first) || !seen.insert((at.to_vec(), first.clone())) {
            return Found::Item(at.to_vec());
        }
        if let Some(import) = import {
            return match self.resolve_import(at, &import.segments, seen) {
                Found::Module(module) => self.resolve_in(&module, rest, seen),
                found => found,
            };
        }
        for glob in module.uses.iter().filter(|import| import.alias == "*") {
            if let Found::Module(from) = self.resolve_import(at, &glob.segments, seen)
                && let Found::Item(to) = self.resolve_in(&from, &segments[..1], seen)
                && self.modules[&to].items.contains(first)
            {
                return Found::Item(to);
            }
        }
        Found::Item(at.to_vec())
    }

    /// Resolves the path of a `use`: one that begins with no name of the crate belongs to another crate.
    fn resolve_import(
        &self,
        at: &[String],
        segments: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Found {
        let module = &self.modules[at];
        let is_ours = segments.first().is_some_and(|first| {
            matches!(first.as_str(), "crate" | "self" | "super")
                || module.children.contains(first)
                || module.items.contains(first)
                || module.import(first).is_some_and(|import| import.segments != segments)
        });
        if is_ours { self.resolve_in(at, segments, seen) } else { Found::Elsewhere }
    }
}
