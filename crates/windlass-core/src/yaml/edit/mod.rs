//! Edits single values of a text; every byte that no edit touches stays the same.
//!
//! The document is read with the positions of dashes, commas and comments, the edits become splices of the text, and
//! the splices are applied. This module does not check that the result means what was intended: the caller reads the
//! result again. It knows no field names.

mod collection;
mod edit_refused;
mod put;
mod splice;

use std::collections::BTreeMap;

pub(crate) use self::edit_refused::EditRefused;

use self::splice::Splices;
use super::format::written::{WrittenContent, WrittenNode};
use super::format::{read_written, with_plain_line_ends};
use super::write::NewValue;

/// A change of one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    /// Replaces the value, in the style of the old one. If the key does not exist, it is added.
    Put(NewValue),
    /// Removes the entry or item with its line.
    Remove,
    /// Changes something inside the value.
    Within(NestedEdits),
}

/// Edits inside a list or map.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NestedEdits {
    pub(crate) steps: BTreeMap<EditStep, Edit>,
    /// Appended values, in order.
    pub(crate) added: Vec<Insertion>,
    pub(crate) emptied: EmptiedCollection,
}

/// A value inside a list or map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EditStep {
    Key(String),
    Index(usize),
    /// The item of a list with this text.
    ItemWithText(String),
}

/// A value that is appended to a list or map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Insertion {
    /// For a list.
    Item(NewValue),
    /// For either: under `key` in a map, as `item` in a list.
    Named { key: String, value: NewValue, item: NewValue },
}

/// What happens to a list or map that becomes empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EmptiedCollection {
    /// It is removed with its key.
    #[default]
    Removed,
    /// It stays, as `{}` or `[]`.
    Kept,
}

impl NestedEdits {
    /// The edits one step further in, unless the whole value there is replaced or removed.
    pub(crate) fn enter(&mut self, step: EditStep, emptied: EmptiedCollection) -> Option<&mut NestedEdits> {
        let inner = self
            .steps
            .entry(step)
            .or_insert_with(|| Edit::Within(NestedEdits { emptied, ..NestedEdits::default() }));
        match inner {
            Edit::Within(within) => Some(within),
            Edit::Put(_) | Edit::Remove => None,
        }
    }
}

/// The text with these edits, from the top of its document.
pub(crate) fn edit(text: &str, within: &NestedEdits) -> Result<String, EditRefused> {
    let source = with_plain_line_ends(text);
    let Some(document) = read_written(&source) else {
        return Err(EditRefused("the file uses YAML that cannot be edited in place"));
    };
    let mut editor = Editor { text: &source, splices: Splices::default() };
    match &document.root {
        Some(root) if !root.is_empty() => {
            let outcome = editor.within(root, within, ValueContext::Block { column: None, colon: None })?;
            if outcome == EditOutcome::Goes {
                editor.empty_document(root)?;
            }
        }
        _ => editor.whole_document(within)?,
    }
    editor.splices.apply(text)
}

struct Editor<'s> {
    text: &'s str,
    splices: Splices,
}

/// The context of a value.
#[derive(Clone, Copy)]
enum ValueContext {
    /// Indented: the column of the surrounding collection (none at the top), and the end of its key's colon.
    Block { column: Option<usize>, colon: Option<usize> },
    /// Between brackets.
    Flow,
}

/// Whether a value still exists after its edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EditOutcome {
    Stays,
    Goes,
}

impl Editor<'_> {
    fn node(
        &mut self,
        node: &WrittenNode<'_>,
        edit: &Edit,
        around: ValueContext,
    ) -> Result<EditOutcome, EditRefused> {
        match edit {
            Edit::Remove => Ok(EditOutcome::Goes),
            Edit::Put(fresh) => {
                self.put(node, fresh, around)?;
                Ok(EditOutcome::Stays)
            }
            Edit::Within(within) => self.within(node, within, around),
        }
    }

    fn within(
        &mut self,
        node: &WrittenNode<'_>,
        within: &NestedEdits,
        around: ValueContext,
    ) -> Result<EditOutcome, EditRefused> {
        match &node.content {
            WrittenContent::Collection(collection) => self.collection(node, collection, within, around),
            WrittenContent::Alias => Err(EditRefused("the value is an alias")),
            _ => {
                let fresh = materialise(within).ok_or(EditRefused("the value is not a list or map"))?;
                self.put(node, &fresh, around)?;
                Ok(EditOutcome::Stays)
            }
        }
    }

    /// Edits a document that has only comments.
    fn whole_document(&mut self, within: &NestedEdits) -> Result<(), EditRefused> {
        let fresh = materialise(within).ok_or(EditRefused("the file is empty"))?;
        let end = self.text.len();
        let break_before = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        self.splices.replace(end..end, format!("{break_before}{}\n", super::write::block(&fresh, 0)));
        Ok(())
    }

    /// The position after the last character of a value.
    fn end_of(&self, node: &WrittenNode<'_>) -> usize {
        match &node.content {
            WrittenContent::Collection(collection) if collection.layout.is_block() => {
                collection.items.last().map_or(node.span.end, |item| self.end_of_item(item))
            }
            WrittenContent::BlockScalar(_) => self.end_of_lines(node),
            _ => node.span.end,
        }
    }

    /// Blank lines after a block scalar belong to it only if they are kept.
    fn end_of_lines(&self, node: &WrittenNode<'_>) -> usize {
        let written = &self.text[node.span.clone()];
        let header = written.lines().next().unwrap_or_default().split('#').next().unwrap_or_default();
        let kept = match header.contains('+') {
            true => written.strip_suffix('\n').unwrap_or(written),
            false => written.trim_end_matches([' ', '\t', '\n']),
        };
        node.span.start + kept.len()
    }

    fn end_of_item(&self, item: &super::format::written::WrittenItem<'_>) -> usize {
        let key = item.key.as_ref().map_or(item.start, |key| key.span.end);
        item.value.as_ref().map_or(key, |value| self.end_of(value))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |found| found + 1)
    }

    /// The end of the line, before its line break.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |found| at + found)
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }
}

/// The edits as a new value, where there was none.
fn materialise(within: &NestedEdits) -> Option<NewValue> {
    if !within.added.is_empty() {
        let items = within.added.iter().map(|added| match added {
            Insertion::Item(item) | Insertion::Named { item, .. } => item.clone(),
        });
        return within.steps.is_empty().then(|| NewValue::List(items.collect()));
    }
    let entries = within.steps.iter().map(|(step, edit)| match (step, edit) {
        (EditStep::Key(key), edit) => Some((key.clone(), materialise_edit(edit)?)),
        _ => None,
    });
    entries.collect::<Option<Vec<_>>>().map(NewValue::Map)
}

fn materialise_edit(edit: &Edit) -> Option<NewValue> {
    match edit {
        Edit::Put(fresh) => Some(fresh.clone()),
        Edit::Within(within) => materialise(within),
        Edit::Remove => None,
    }
}
