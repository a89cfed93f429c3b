//! Finds the position of a declaration in its file.
//!
//! Typed specs have no positions: they would need memory for every field of every resource, and only a few are used.
//! When there is a problem to report, the file is read again and the position is found by path.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::file::FileManifest;
use crate::diagnostic::{Diagnostic, Finding, LineIndex};
use crate::origin::{DeclarationOrigin, Slot};
use crate::resource::{KindSection, SpecPath, member_name};
use crate::shape::{Segment, TextValue as _, path_text};
use crate::value::Cidr;
use crate::yaml::{self, NodeRef, Tree, YamlContent};

/// A part of a declaration.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclarationPart<'k> {
    pub(super) name: &'k str,
    pub(super) origin: DeclarationOrigin,
    pub(super) at: SpecPath,
    /// The text of the part, which identifies items of lists whose order does not matter.
    pub(super) text: &'k str,
}

/// A position in a file: path and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundPlace {
    pub(super) path: String,
    pub(super) span: Range<usize>,
}

/// The entries of one map by key: linear searches in a large map would take quadratic time.
type KeyIndex<'f> = BTreeMap<&'f str, (NodeRef<'f>, NodeRef<'f>)>;

/// Files that are read again for positions, each at most once.
pub(super) struct PlaceIndex<'f> {
    files: &'f [Arc<FileManifest>],
    trees: Vec<Option<Tree<'f>>>,
}

impl<'f> PlaceIndex<'f> {
    /// Reads the files that are needed.
    pub(super) fn new(
        files: &'f [Arc<FileManifest>],
        needed: impl IntoIterator<Item = usize>,
    ) -> PlaceIndex<'f> {
        let mut trees: Vec<Option<Tree<'f>>> = files.iter().map(|_| None).collect();
        for index in needed {
            if trees[index].is_none() {
                trees[index] = yaml::parse(&files[index].text).0;
            }
        }
        PlaceIndex { files, trees }
    }

    /// Finds positions in one file.
    pub(super) fn in_file(&self, file: usize) -> FilePlaces<'_> {
        FilePlaces {
            path: &self.files[file].path,
            lines: LineIndex::new(&self.files[file].text),
            root: self.trees[file].as_ref().map(Tree::root),
            indexes: BTreeMap::new(),
        }
    }
}

/// Positions in one file.
pub(super) struct FilePlaces<'f> {
    path: &'f str,
    lines: LineIndex<'f>,
    root: Option<NodeRef<'f>>,
    indexes: BTreeMap<usize, KeyIndex<'f>>,
}

impl<'f> FilePlaces<'f> {
    /// The position of a part of a declaration. If it is not found, the position of its parent.
    pub(super) fn find(&mut self, part: DeclarationPart<'_>) -> FoundPlace {
        let Some(root) = self.root else { return FoundPlace { path: String::new(), span: 0..0 } };
        let mut walk = TreeWalk { node: root, span: root.span(), segments: Vec::new() };
        let (section, slot, member) = part.origin.parts();
        for key in section {
            walk.key(key);
        }
        let (outer, inner) = match member {
            Some(_) => member_name(part.name),
            None => (part.name, ""),
        };
        let name_key = |member| KindSection::name_key_in(section, member);
        walk.slot(slot, outer, name_key(None), &mut self.indexes);
        if let Some((list, slot)) = member {
            walk.key(list);
            walk.slot(slot, inner, name_key(Some(list)), &mut self.indexes);
        }
        match part.at {
            SpecPath::Name => {}
            SpecPath::Field(field) => walk.key(field),
            SpecPath::Item(field, index) => walk.item(field, index, part.text),
            SpecPath::ItemField(field, index, inner) => {
                walk.item(field, index, part.text);
                walk.key(inner);
            }
            SpecPath::Inside(field, key) => {
                walk.key(field);
                walk.inside(key, part.text);
            }
        }
        FoundPlace { path: path_text(walk.segments.iter().copied()), span: walk.span }
    }

    /// The position of a value by keys from the top.
    pub(super) fn find_value(&self, keys: &[&'static str], index: Option<usize>) -> FoundPlace {
        let Some(root) = self.root else { return FoundPlace { path: String::new(), span: 0..0 } };
        let mut walk = TreeWalk { node: root, span: root.span(), segments: Vec::new() };
        keys.iter().for_each(|key| walk.key(key));
        if let Some(index) = index {
            walk.index(index);
        }
        FoundPlace { path: path_text(walk.segments.iter().copied()), span: walk.span }
    }

    /// A problem at a position.
    pub(super) fn diagnostic(&self, found: FoundPlace, finding: Finding) -> Diagnostic {
        self.lines.place(self.path, Finding { span: found.span, path: found.path, ..finding })
    }

    /// A position as `file:line:column`.
    pub(super) fn text(&self, found: &FoundPlace) -> String {
        let (line, column) = self.lines.line_column(found.span.start);
        format!("{}:{line}:{column}", self.path)
    }
}

struct TreeWalk<'f, 'k> {
    node: NodeRef<'f>,
    span: Range<usize>,
    segments: Vec<Segment<'k>>,
}

impl<'f: 'k, 'k> TreeWalk<'f, 'k> {
    fn step(&mut self, segment: Segment<'k>, node: NodeRef<'f>, place: NodeRef<'f>) {
        self.node = node;
        self.span = place.span();
        self.segments.push(segment);
    }

    fn key(&mut self, key: &'k str) {
        if let Some(value) = self.node.get(key) {
            self.step(Segment::Key(key), value, value);
        }
    }

    fn index(&mut self, index: usize) {
        if let Some(item) = self.node.item(index) {
            self.step(Segment::Index(index), item, item);
        }
    }

    /// Steps to an entry of a section; its position is that of its name.
    fn slot(
        &mut self,
        slot: Slot,
        name: &'k str,
        name_key: &str,
        indexes: &mut BTreeMap<usize, KeyIndex<'f>>,
    ) {
        match slot {
            Slot::Key => {
                let index = indexes.entry(self.node.id()).or_insert_with(|| index_of(self.node));
                if let Some((key, value)) = index.get(name).copied() {
                    self.step(Segment::Key(name), value, key);
                }
            }
            Slot::Index(index) => {
                let index = index as usize;
                if let Some(item) = self.node.item(index) {
                    self.step(Segment::Index(index), item, item.get(name_key).unwrap_or(item));
                }
            }
        }
    }

    /// Steps to an item of a list: the one with this text, otherwise the one at `index`.
    fn item(&mut self, field: &'k str, index: usize, text: &str) {
        self.key(field);
        let YamlContent::Sequence(items) = self.node.content() else { return };
        let says = |node: NodeRef<'_>| node.scalar_text().is_some_and(|found| means(found, text));
        self.index(items.clone().position(says).unwrap_or(index));
    }

    /// Steps to the first value under `key` with this text, at any depth; stays if there is none.
    fn inside(&mut self, key: &str, text: &str) {
        let mut way = Vec::new();
        if let Some(found) = search(self.node, None, (key, text), &mut way) {
            self.node = found;
            self.span = found.span();
            self.segments.extend(way.into_iter().rev());
        }
    }
}

/// Whether an item of a list is the wanted one: pins are identified by their module, networks in any spelling.
fn means(found: &str, text: &str) -> bool {
    found == text
        || found.split('@').next() == Some(text)
        || Cidr::read(found).is_ok_and(|network| network.to_string() == text)
}

/// The first scalar with this text whose nearest parent key is `key`, and the path to it, innermost first.
fn search<'f>(
    node: NodeRef<'f>,
    above: Option<&str>,
    (key, text): (&str, &str),
    way: &mut Vec<Segment<'f>>,
) -> Option<NodeRef<'f>> {
    let (segment, found) = match node.content() {
        YamlContent::Scalar(_) => {
            return (above == Some(key) && node.scalar_text() == Some(text)).then_some(node);
        }
        YamlContent::Sequence(items) => items.enumerate().find_map(|(index, item)| {
            Some((Segment::Index(index), search(item, above, (key, text), way)?))
        })?,
        YamlContent::Mapping(mut entries) => entries.find_map(|(name, value)| {
            let name = name.scalar_text()?;
            Some((Segment::Key(name), search(value, Some(name), (key, text), way)?))
        })?,
    };
    way.push(segment);
    Some(found)
}

fn index_of(node: NodeRef<'_>) -> KeyIndex<'_> {
    let entries = node.entries().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.scalar_text()?, (key, value)))).collect()
}
