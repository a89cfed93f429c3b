//! Changes, removes and appends entries and items, by lines or between brackets.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Edit, EditOutcome, EditRefused, EditStep, Editor, EmptiedCollection, Insertion, NestedEdits,
    ValueContext, materialise_edit,
};
use crate::yaml::format::written::{
    CollectionLayout, WrittenCollection, WrittenContent, WrittenItem, WrittenNode,
};
use crate::yaml::write::{NewValue, STEP, block, block_entry, block_item, flow, key_text, new_line};

/// What is appended to a list or map.
enum Appended {
    Items(Vec<NewValue>),
    Entries(Vec<(String, NewValue)>),
}

impl Appended {
    fn is_empty(&self) -> bool {
        match self {
            Appended::Items(items) => items.is_empty(),
            Appended::Entries(entries) => entries.is_empty(),
        }
    }

    fn into_fresh(self) -> NewValue {
        match self {
            Appended::Items(items) => NewValue::List(items),
            Appended::Entries(entries) => NewValue::Map(entries),
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
        node: &WrittenNode<'_>,
        collection: &WrittenCollection<'_>,
        within: &NestedEdits,
        around: ValueContext,
    ) -> Result<EditOutcome, EditRefused> {
        if collection.layout == CollectionLayout::FlowPair {
            return Err(EditRefused("the list contains a pair without braces"));
        }
        if within.steps.is_empty() && within.added.is_empty() {
            return Ok(EditOutcome::Stays);
        }
        let (found, appended) = self.resolve(collection, within)?;
        let mut removed = BTreeSet::new();
        for (index, edit) in found {
            if self.item(collection, index, edit)? == EditOutcome::Goes {
                removed.insert(index);
            }
        }
        let is_emptied = removed.len() == collection.items.len();
        match (is_emptied, appended.is_empty(), within.emptied) {
            (true, true, EmptiedCollection::Removed) => return Ok(EditOutcome::Goes),
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
        Ok(EditOutcome::Stays)
    }

    /// The items to change, and what is appended.
    fn resolve<'w>(
        &self,
        collection: &WrittenCollection<'_>,
        within: &'w NestedEdits,
    ) -> Result<(BTreeMap<usize, &'w Edit>, Appended), EditRefused> {
        let keys = self.index(collection);
        let mut found = BTreeMap::new();
        let mut entries = Vec::new();
        for (step, edit) in &within.steps {
            let index = match step {
                EditStep::Index(index) => (*index < collection.items.len()).then_some(*index),
                EditStep::Key(text) | EditStep::ItemWithText(text) => keys.get(text.as_str()).copied(),
            };
            match (index, step) {
                (Some(index), _) => {
                    found.insert(index, edit);
                }
                (None, EditStep::Key(key)) if collection.layout.is_map() => {
                    let fresh = materialise_edit(edit);
                    let absent = EditRefused("the value comes from a merge key or an alias");
                    entries.push((key.clone(), fresh.ok_or(absent)?));
                }
                _ => return Err(EditRefused("the value is not at the expected place")),
            }
        }
        Ok((found, appended(collection, entries, &within.added)?))
    }

    /// Keys, or single values of a list, by their text.
    fn index<'c>(&self, collection: &'c WrittenCollection<'_>) -> BTreeMap<String, usize> {
        let saying = |(index, item): (usize, &'c WrittenItem<'_>)| {
            let node = if collection.layout.is_map() { item.key.as_ref() } else { item.value.as_ref() };
            Some((self.scalar_text(node?)?, index))
        };
        collection.items.iter().enumerate().filter_map(saying).collect()
    }

    /// The text of a single value on one line; `None` if it needs parsing.
    fn scalar_text(&self, node: &WrittenNode<'_>) -> Option<String> {
        let written = &self.text[node.span.clone()];
        match &node.content {
            _ if written.contains('\n') => None,
            WrittenContent::DoubleQuoted if written.contains('\\') => None,
            WrittenContent::DoubleQuoted => Some(written.trim_matches('"').to_owned()),
            WrittenContent::Words if written.starts_with('\'') => {
                let inner = written.strip_prefix('\'')?.strip_suffix('\'')?;
                Some(inner.replace("''", "'"))
            }
            WrittenContent::Words => Some(written.to_owned()),
            _ => None,
        }
    }

    fn item(
        &mut self,
        collection: &WrittenCollection<'_>,
        index: usize,
        edit: &Edit,
    ) -> Result<EditOutcome, EditRefused> {
        let item = &collection.items[index];
        let key_end = item.key.as_ref().map(|key| key.span.end);
        let Some(value) = &item.value else {
            let (Edit::Put(_) | Edit::Within(_), Some(end)) = (edit, key_end) else {
                return Ok(EditOutcome::Goes);
            };
            let fresh = materialise_edit(edit).ok_or(EditRefused("the key has no value"))?;
            self.splices.replace(end..end, format!(": {}", flow(&fresh)));
            return Ok(EditOutcome::Stays);
        };
        let around = match collection.layout.is_block() {
            true => {
                let colon = key_end.and_then(|end| self.text[end..].find(':').map(|found| end + found + 1));
                ValueContext::Block { column: Some(self.column(item.start)), colon }
            }
            false => ValueContext::Flow,
        };
        self.node(value, edit, around)
    }

    /// Removes everything at the top level; comments in between stay.
    pub(super) fn empty_document(&mut self, root: &WrittenNode<'_>) -> Result<(), EditRefused> {
        match &root.content {
            WrittenContent::Collection(collection) if collection.layout.is_block() => {
                self.remove_lines(collection, &(0..collection.items.len()).collect());
                Ok(())
            }
            _ => self.put(root, &NewValue::Map(Vec::new()), ValueContext::Flow),
        }
    }

    fn remove_lines(&mut self, collection: &WrittenCollection<'_>, removed: &BTreeSet<usize>) {
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
            // The first item shares its line with the dash of its parent: the first remaining item moves there.
            next = (index..items.len()).find(|index| !removed.contains(index)).unwrap_or(items.len());
            let Some(kept) = items.get(next) else { continue };
            let end = match next == index + 1 {
                true => self.first_comment_line(self.end_of_item(&items[index]), kept.start),
                false => kept.start,
            };
            self.splices.remove(start..end);
        }
    }

    /// The start of the first comment on its own line in a gap, or the gap's end.
    fn first_comment_line(&self, gap_start: usize, gap_end: usize) -> usize {
        let first_line = self.line_end(gap_start).min(gap_end);
        self.text[first_line..gap_end].find('#').map_or(gap_end, |found| first_line + found)
    }

    fn append_lines(
        &mut self,
        collection: &WrittenCollection<'_>,
        removed: &BTreeSet<usize>,
        appended: &Appended,
    ) {
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
        // At the start of the next line, so that the lines before it can be removed.
        let at = self.line_end(self.end_of_item(last));
        for text in texts {
            match at == self.text.len() {
                true => self.splices.replace(at..at, format!("{}{text}", new_line(column))),
                false => self.splices.replace(at + 1..at + 1, format!("{:column$}{text}\n", "")),
            }
        }
    }

    fn remove_between_brackets(&mut self, collection: &WrittenCollection<'_>, removed: &BTreeSet<usize>) {
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
        collection: &WrittenCollection<'_>,
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

    /// Whether only a comma and a comment share its lines.
    fn is_alone_on_its_lines(&self, item: &WrittenItem<'_>) -> bool {
        let end = self.end_of_item(item);
        let before = self.text[self.line_start(item.start)..item.start].trim();
        let after = self.text[end..self.line_end(end)].trim_start();
        let after = after.strip_prefix(',').unwrap_or(after).trim_start();
        before.is_empty() && (after.is_empty() || after.starts_with('#'))
    }
}

fn layout_of(node: &WrittenNode<'_>) -> Option<CollectionLayout> {
    match &node.content {
        WrittenContent::Collection(collection) => Some(collection.layout),
        _ => None,
    }
}

/// An entry of a block map; a map in it gets the style of the previous entry.
fn entry_like(sibling: Option<CollectionLayout>, key: &str, value: &NewValue, column: usize) -> String {
    match (sibling, value) {
        (Some(layout), NewValue::Map(_)) if !layout.is_block() => {
            format!("{}: {}", key_text(key), flow(value))
        }
        (Some(_), NewValue::Map(entries)) if !entries.is_empty() => {
            format!("{}:{}{}", key_text(key), new_line(column + STEP), block(value, column + STEP))
        }
        _ => block_entry(key, value, column),
    }
}

fn appended(
    collection: &WrittenCollection<'_>,
    mut entries: Vec<(String, NewValue)>,
    added: &[Insertion],
) -> Result<Appended, EditRefused> {
    if collection.layout.is_map() {
        for added in added {
            let Insertion::Named { key, value, .. } = added else {
                return Err(EditRefused("found a map instead of a list"));
            };
            entries.push((key.clone(), value.clone()));
        }
        return Ok(Appended::Entries(entries));
    }
    let items = added.iter().map(|added| match added {
        Insertion::Item(item) | Insertion::Named { item, .. } => item.clone(),
    });
    Ok(Appended::Items(items.collect()))
}
