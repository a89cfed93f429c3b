//! Entries and items: changed, removed and appended, by lines or between brackets.

use std::collections::{BTreeMap, BTreeSet};

use super::{Added, Around, Edit, Editor, Emptied, Outcome, Step, Uneditable, Within, materialise_edit};
use crate::yaml::format::written::{Collection, Content, Item, Layout, Node};
use crate::yaml::write::{Fresh, STEP, block, block_entry, block_item, flow, key_text, new_line};

/// What a list or map gets at its end.
enum Appended {
    Items(Vec<Fresh>),
    Entries(Vec<(String, Fresh)>),
}

impl Appended {
    fn is_empty(&self) -> bool {
        match self {
            Appended::Items(items) => items.is_empty(),
            Appended::Entries(entries) => entries.is_empty(),
        }
    }

    fn into_fresh(self) -> Fresh {
        match self {
            Appended::Items(items) => Fresh::List(items),
            Appended::Entries(entries) => Fresh::Map(entries),
        }
    }

    fn in_flow(&self) -> Vec<String> {
        match self {
            Appended::Items(items) => items.iter().map(flow).collect(),
            Appended::Entries(entries) => {
                entries.iter().map(|(key, value)| format!("{}: {}", key_text(key), flow(value))).collect()
            }
        }
    }
}

impl Editor<'_> {
    pub(super) fn collection(
        &mut self,
        node: &Node<'_>,
        collection: &Collection<'_>,
        within: &Within,
        around: Around,
    ) -> Result<Outcome, Uneditable> {
        if collection.layout == Layout::FlowPair {
            return Err(Uneditable("it is a pair without braces in a list"));
        }
        if within.steps.is_empty() && within.added.is_empty() {
            return Ok(Outcome::Stays);
        }
        let (found, appended) = self.resolve(collection, within)?;
        let mut removed = BTreeSet::new();
        for (index, edit) in found {
            if self.item(collection, index, edit)? == Outcome::Goes {
                removed.insert(index);
            }
        }
        let is_emptied = removed.len() == collection.items.len();
        match (is_emptied, appended.is_empty(), within.emptied) {
            (true, true, Emptied::Removed) => return Ok(Outcome::Goes),
            (true, ..) => self.put(node, &appended.into_fresh(), around)?,
            (false, ..) if collection.layout.is_block() => {
                self.remove_lines(collection, &removed);
                self.append_lines(collection, &removed, &appended);
            }
            (false, ..) => {
                self.remove_between_brackets(collection, &removed);
                self.append_between_brackets(collection, &removed, &appended.in_flow());
            }
        }
        Ok(Outcome::Stays)
    }

    /// Which items are meant, and what is to be appended.
    fn resolve<'w>(
        &self,
        collection: &Collection<'_>,
        within: &'w Within,
    ) -> Result<(BTreeMap<usize, &'w Edit>, Appended), Uneditable> {
        let keys = self.index(collection);
        let mut found = BTreeMap::new();
        let mut entries = Vec::new();
        for (step, edit) in &within.steps {
            let index = match step {
                Step::Index(index) => (*index < collection.items.len()).then_some(*index),
                Step::Key(text) | Step::Saying(text) => keys.get(text.as_str()).copied(),
            };
            match (index, step) {
                (Some(index), _) => {
                    found.insert(index, edit);
                }
                (None, Step::Key(key)) if collection.layout.is_map() => {
                    let fresh = materialise_edit(edit);
                    let absent = Uneditable("what is to be changed comes from a merge key or an alias");
                    entries.push((key.clone(), fresh.ok_or(absent)?));
                }
                _ => return Err(Uneditable("what is to be changed is not written where it was looked for")),
            }
        }
        Ok((found, appended(collection, entries, &within.added)?))
    }

    /// Keys, or single values of a list, by what they say.
    fn index<'c>(&self, collection: &'c Collection<'_>) -> BTreeMap<String, usize> {
        let saying = |(index, item): (usize, &'c Item<'_>)| {
            let node = if collection.layout.is_map() { item.key.as_ref() } else { item.value.as_ref() };
            Some((self.said(node?)?, index))
        };
        collection.items.iter().enumerate().filter_map(saying).collect()
    }

    /// The text of a single value on one line, unless it takes more than looking at it to know.
    fn said(&self, node: &Node<'_>) -> Option<String> {
        let written = &self.text[node.span.clone()];
        match &node.content {
            _ if written.contains('\n') => None,
            Content::DoubleQuoted if written.contains('\\') => None,
            Content::DoubleQuoted => Some(written.trim_matches('"').to_owned()),
            Content::Words if written.starts_with('\'') => {
                let inner = written.strip_prefix('\'')?.strip_suffix('\'')?;
                Some(inner.replace("''", "'"))
            }
            Content::Words => Some(written.to_owned()),
            _ => None,
        }
    }

    fn item(
        &mut self,
        collection: &Collection<'_>,
        index: usize,
        edit: &Edit,
    ) -> Result<Outcome, Uneditable> {
        let item = &collection.items[index];
        let key_end = item.key.as_ref().map(|key| key.span.end);
        let Some(value) = &item.value else {
            let (Edit::Put(_) | Edit::Within(_), Some(end)) = (edit, key_end) else {
                return Ok(Outcome::Goes);
            };
            let fresh = materialise_edit(edit).ok_or(Uneditable("a key without a value stands there"))?;
            self.splices.replace(end..end, format!(": {}", flow(&fresh)));
            return Ok(Outcome::Stays);
        };
        let around = match collection.layout.is_block() {
            true => {
                let colon = key_end.and_then(|end| self.text[end..].find(':').map(|found| end + found + 1));
                Around::Block { column: Some(self.column(item.start)), colon }
            }
            false => Around::Flow,
        };
        self.node(value, edit, around)
    }

    /// Everything at the top goes; comments between stay.
    pub(super) fn empty_document(&mut self, root: &Node<'_>) -> Result<(), Uneditable> {
        match &root.content {
            Content::Collection(collection) if collection.layout.is_block() => {
                self.remove_lines(collection, &(0..collection.items.len()).collect());
                Ok(())
            }
            _ => self.put(root, &Fresh::Map(Vec::new()), Around::Flow),
        }
    }

    fn remove_lines(&mut self, collection: &Collection<'_>, removed: &BTreeSet<usize>) {
        let items = &collection.items;
        let mut next = 0;
        for index in removed.iter().copied() {
            if index < next {
                continue;
            }
            let start = items[index].start;
            let line_start = self.line_start(start);
            if self.text[line_start..start].trim().is_empty() {
                let line_end = self.line_end(self.end_of_item(&items[index]));
                self.splices.remove(line_start..self.text.len().min(line_end + 1));
                continue;
            }
            // It shares its line with the dash of what it stands in: the first that stays moves there.
            next = (index..items.len()).find(|index| !removed.contains(index)).unwrap_or(items.len());
            let Some(kept) = items.get(next) else { continue };
            let end = match next == index + 1 {
                true => self.first_comment_line(self.end_of_item(&items[index]), kept.start),
                false => kept.start,
            };
            self.splices.remove(start..end);
        }
    }

    /// Where the first comment with a line of its own begins in a gap, or the gap's end.
    fn first_comment_line(&self, gap_start: usize, gap_end: usize) -> usize {
        let first_line = self.line_end(gap_start).min(gap_end);
        self.text[first_line..gap_end].find('#').map_or(gap_end, |found| first_line + found)
    }

    fn append_lines(&mut self, collection: &Collection<'_>, removed: &BTreeSet<usize>, appended: &Appended) {
        let items = &collection.items;
        let last = (0..items.len()).rev().find(|index| !removed.contains(index));
        let Some(last) = last.map(|index| &items[index]) else { return };
        let column = self.column(items[0].start);
        let sibling = last.value.as_ref().and_then(layout_of);
        let texts: Vec<String> = match appended {
            Appended::Entries(entries) => {
                entries.iter().map(|(key, value)| entry_like(sibling, key, value, column)).collect()
            }
            Appended::Items(items) if sibling.is_some_and(|layout| !layout.is_block()) => {
                items.iter().map(|item| format!("- {}", flow(item))).collect()
            }
            Appended::Items(items) => items.iter().map(|item| block_item(item, column)).collect(),
        };
        // At the start of the next line, so that lines before it may go.
        let at = self.line_end(self.end_of_item(last));
        for text in texts {
            match at == self.text.len() {
                true => self.splices.replace(at..at, format!("{}{text}", new_line(column))),
                false => self.splices.replace(at + 1..at + 1, format!("{:column$}{text}\n", "")),
            }
        }
    }

    fn remove_between_brackets(&mut self, collection: &Collection<'_>, removed: &BTreeSet<usize>) {
        let items = &collection.items;
        for index in removed.iter().copied() {
            let (start, end) = (items[index].start, self.end_of_item(&items[index]));
            let kept_before = (0..index).rev().find(|before| !removed.contains(before));
            if self.is_alone_on_its_lines(&items[index]) {
                self.splices.remove(self.line_start(start)..self.text.len().min(self.line_end(end) + 1));
            } else if let Some(next) = items.get(index + 1) {
                self.splices.remove(start..next.start);
            } else if let Some(before) = kept_before {
                self.splices.remove(self.end_of_item(&items[before])..end);
            }
        }
    }

    fn append_between_brackets(
        &mut self,
        collection: &Collection<'_>,
        removed: &BTreeSet<usize>,
        texts: &[String],
    ) {
        let items = &collection.items;
        let Some(index) = (0..items.len()).rev().find(|index| !removed.contains(index)) else { return };
        let (last, end) = (&items[index], self.end_of_item(&items[index]));
        if texts.is_empty() {
            return;
        }
        if index + 1 < items.len() || !self.is_alone_on_its_lines(last) {
            self.splices.replace(end..end, format!(", {}", texts.join(", ")));
            return;
        }
        let has_comma = self.text[end..].trim_start_matches([' ', '\t']).starts_with(',');
        if !has_comma {
            self.splices.replace(end..end, ",".to_owned());
        }
        let line = new_line(self.column(last.start));
        let trailing = if has_comma { "," } else { "" };
        let at = self.line_end(end);
        self.splices.replace(at..at, format!("{line}{}{trailing}", texts.join(&format!(",{line}"))));
    }

    /// Whether nothing but a comma and a comment shares its lines.
    fn is_alone_on_its_lines(&self, item: &Item<'_>) -> bool {
        let end = self.end_of_item(item);
        let before = self.text[self.line_start(item.start)..item.start].trim();
        let after = self.text[end..self.line_end(end)].trim_start();
        let after = after.strip_prefix(',').unwrap_or(after).trim_start();
        before.is_empty() && (after.is_empty() || after.starts_with('#'))
    }
}

fn layout_of(node: &Node<'_>) -> Option<Layout> {
    match &node.content {
        Content::Collection(collection) => Some(collection.layout),
        _ => None,
    }
}

/// An entry of a block map, a map in it in the style of the one before.
fn entry_like(sibling: Option<Layout>, key: &str, value: &Fresh, column: usize) -> String {
    match (sibling, value) {
        (Some(layout), Fresh::Map(_)) if !layout.is_block() => format!("{}: {}", key_text(key), flow(value)),
        (Some(_), Fresh::Map(entries)) if !entries.is_empty() => {
            format!("{}:{}{}", key_text(key), new_line(column + STEP), block(value, column + STEP))
        }
        _ => block_entry(key, value, column),
    }
}

fn appended(
    collection: &Collection<'_>,
    mut entries: Vec<(String, Fresh)>,
    added: &[Added],
) -> Result<Appended, Uneditable> {
    if collection.layout.is_map() {
        for added in added {
            let Added::Named { key, value, .. } = added else {
                return Err(Uneditable("it is a map where a list was expected"));
            };
            entries.push((key.clone(), value.clone()));
        }
        return Ok(Appended::Entries(entries));
    }
    let items = added.iter().map(|added| match added {
        Added::Item(item) | Added::Named { item, .. } => item.clone(),
    });
    Ok(Appended::Items(items.collect()))
}
