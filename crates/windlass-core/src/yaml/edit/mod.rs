//! Text × edits → the same text with single values changed; every byte that no edit touches stays as it was.
//!
//! The document is read as it was written (places of dashes, commas and comments included), the edits become splices
//! of the text, and the splices are applied. Nothing here judges whether the result means what was wanted: whoever
//! edits reads the result again. It knows no field names.

mod collection;
mod put;
mod splice;
mod uneditable;

use std::collections::BTreeMap;

pub(crate) use self::uneditable::Uneditable;

use self::splice::Splices;
use super::format::written::{Content, Node};
use super::format::{read_written, with_plain_line_ends};
use super::write::Fresh;

/// A change of one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    /// The value becomes this one, in the style the old one had. Under a key that is not there, the key is added.
    Put(Fresh),
    /// The entry or item goes, with its line.
    Remove,
    /// Something inside the value changes.
    Within(Within),
}

/// What changes inside a list or map.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Within {
    pub(crate) steps: BTreeMap<Step, Edit>,
    /// Appended, in this order.
    pub(crate) added: Vec<Added>,
    pub(crate) emptied: Emptied,
}

/// Which value inside a list or map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
    /// The item of a list that is this single value.
    Saying(String),
}

/// What is appended to a list or map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Added {
    /// To a list.
    Item(Fresh),
    /// To either: under `key` in a map, as `item` in a list.
    Named { key: String, value: Fresh, item: Fresh },
}

/// What becomes of a list or map in which nothing is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Emptied {
    /// It goes with its key.
    #[default]
    Removed,
    /// It stays, as `{}` or `[]`.
    Kept,
}

impl Within {
    /// What changes one step further in, unless the whole value there is replaced or removed already.
    pub(crate) fn enter(&mut self, step: Step, emptied: Emptied) -> Option<&mut Within> {
        let inner =
            self.steps.entry(step).or_insert_with(|| Edit::Within(Within { emptied, ..Within::default() }));
        match inner {
            Edit::Within(within) => Some(within),
            Edit::Put(_) | Edit::Remove => None,
        }
    }
}

/// The text with these changes, from the top of its document.
pub(crate) fn edit(text: &str, within: &Within) -> Result<String, Uneditable> {
    let source = with_plain_line_ends(text);
    let Some(document) = read_written(&source) else {
        return Err(Uneditable("the file uses YAML that cannot be edited in place"));
    };
    let mut editor = Editor { text: &source, splices: Splices::default() };
    match &document.root {
        Some(root) if !root.is_empty() => {
            let outcome = editor.within(root, within, Around::Block { column: None, colon: None })?;
            if outcome == Outcome::Goes {
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

/// Where a value stands.
#[derive(Clone, Copy)]
enum Around {
    /// By indentation: the column of the collection around it (none at the top), and the end of the colon of its key.
    Block { column: Option<usize>, colon: Option<usize> },
    /// Between brackets.
    Flow,
}

/// Whether a value is still there after its edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Stays,
    Goes,
}

impl Editor<'_> {
    fn node(&mut self, node: &Node<'_>, edit: &Edit, around: Around) -> Result<Outcome, Uneditable> {
        match edit {
            Edit::Remove => Ok(Outcome::Goes),
            Edit::Put(fresh) => {
                self.put(node, fresh, around)?;
                Ok(Outcome::Stays)
            }
            Edit::Within(within) => self.within(node, within, around),
        }
    }

    fn within(&mut self, node: &Node<'_>, within: &Within, around: Around) -> Result<Outcome, Uneditable> {
        match &node.content {
            Content::Collection(collection) => self.collection(node, collection, within, around),
            Content::Alias => Err(Uneditable("it is an alias of a value that stands elsewhere")),
            _ => {
                let fresh = materialise(within).ok_or(Uneditable("it is not written as a list or map"))?;
                self.put(node, &fresh, around)?;
                Ok(Outcome::Stays)
            }
        }
    }

    /// A document that holds nothing but comments.
    fn whole_document(&mut self, within: &Within) -> Result<(), Uneditable> {
        let fresh = materialise(within).ok_or(Uneditable("the file holds nothing"))?;
        let end = self.text.len();
        let break_before = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        self.splices.replace(end..end, format!("{break_before}{}\n", super::write::block(&fresh, 0)));
        Ok(())
    }

    /// Behind the last character of a value.
    fn end_of(&self, node: &Node<'_>) -> usize {
        match &node.content {
            Content::Collection(collection) if collection.layout.is_block() => {
                collection.items.last().map_or(node.span.end, |item| self.end_of_item(item))
            }
            Content::BlockScalar(_) => self.end_of_lines(node),
            _ => node.span.end,
        }
    }

    /// Blank lines after a text of lines are part of it only if they are kept.
    fn end_of_lines(&self, node: &Node<'_>) -> usize {
        let written = &self.text[node.span.clone()];
        let header = written.lines().next().unwrap_or_default().split('#').next().unwrap_or_default();
        let kept = match header.contains('+') {
            true => written.strip_suffix('\n').unwrap_or(written),
            false => written.trim_end_matches([' ', '\t', '\n']),
        };
        node.span.start + kept.len()
    }

    fn end_of_item(&self, item: &super::format::written::Item<'_>) -> usize {
        let key = item.key.as_ref().map_or(item.start, |key| key.span.end);
        item.value.as_ref().map_or(key, |value| self.end_of(value))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |found| found + 1)
    }

    /// Where the line ends, before its line break.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |found| at + found)
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }
}

/// What changes, as a value of its own, where there was none.
fn materialise(within: &Within) -> Option<Fresh> {
    if !within.added.is_empty() {
        let items = within.added.iter().map(|added| match added {
            Added::Item(item) | Added::Named { item, .. } => item.clone(),
        });
        return within.steps.is_empty().then(|| Fresh::List(items.collect()));
    }
    let entries = within.steps.iter().map(|(step, edit)| match (step, edit) {
        (Step::Key(key), edit) => Some((key.clone(), materialise_edit(edit)?)),
        _ => None,
    });
    entries.collect::<Option<Vec<_>>>().map(Fresh::Map)
}

fn materialise_edit(edit: &Edit) -> Option<Fresh> {
    match edit {
        Edit::Put(fresh) => Some(fresh.clone()),
        Edit::Within(within) => materialise(within),
        Edit::Remove => None,
    }
}
