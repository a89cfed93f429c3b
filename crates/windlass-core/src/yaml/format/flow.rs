//! Writes `[…]` and `{…}`.

use super::print::{FirstItem, NodePlacement, Printer, STEP};
use super::written::{CollectionLayout, WrittenCollection, WrittenContent, WrittenItem, WrittenNode};

/// A collection on several lines is joined if the line then has at most this many characters.
const MAX_COLUMNS: usize = 100;

impl Printer<'_, '_> {
    /// Writes a flow collection on one line if possible, otherwise one item per line.
    pub(super) fn flow(&mut self, node: &WrittenNode<'_>, collection: &WrittenCollection<'_>, indent: usize) {
        if collection.layout == CollectionLayout::FlowPair {
            return collection.items.iter().for_each(|item| self.flow_item(item, indent));
        }
        self.begin(node.span.start, indent);
        match self.fits_one_line(node) {
            true => self.flow_on_one_line(collection),
            false => self.flow_on_lines(node, collection, indent),
        }
    }

    fn fits_one_line(&self, node: &WrittenNode<'_>) -> bool {
        let Some(width) = node.width else { return false };
        let is_short = width <= MAX_COLUMNS && self.column() + width <= MAX_COLUMNS;
        is_short || !self.text[node.span.clone()].contains('\n')
    }

    fn flow_on_lines(&mut self, node: &WrittenNode<'_>, collection: &WrittenCollection<'_>, indent: usize) {
        // Below a block key the closing bracket must be indented too: editors reject anything else.
        let outer = if self.flow_depth == 0 { indent } else { self.line_indent };
        self.flow_depth += 1;
        let inner = outer + STEP;
        let (opening, closing) = collection.layout.brackets();
        self.push(opening);
        for (position, item) in collection.items.iter().enumerate() {
            self.comments_before(item.start, inner);
            self.new_line(inner, item.start);
            self.flow_item(item, inner);
            if position + 1 < collection.items.len() {
                self.push(",");
            }
        }
        let end = node.span.end - closing.len();
        self.comments_before(end, inner);
        self.new_line(outer, end);
        self.push(closing);
        self.flow_depth -= 1;
    }

    fn flow_item(&mut self, item: &WrittenItem<'_>, indent: usize) {
        // The limit is for comments after a block, and there are no blocks here.
        let place = NodePlacement { indent, first: FirstItem::OwnLine, limit: 0 };
        let mut value_place = place;
        if let Some(key) = &item.key {
            self.node(key, place);
            if item.value.is_some() {
                self.push(key.colon());
            }
            value_place.indent += STEP;
        }
        if let Some(value) = &item.value {
            self.node(value, value_place);
        }
    }

    fn flow_on_one_line(&mut self, collection: &WrittenCollection<'_>) {
        let (opening, closing) = collection.layout.brackets();
        self.push(opening);
        for (position, item) in collection.items.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            if let Some(key) = &item.key {
                self.flow_node(key);
            }
            if let (Some(key), Some(value)) = (&item.key, &item.value) {
                self.push(key.colon());
                if !value.is_empty() || !value.properties.is_empty() {
                    self.push(" ");
                }
            }
            if let Some(value) = &item.value {
                self.flow_node(value);
            }
        }
        self.push(closing);
    }

    fn flow_node(&mut self, node: &WrittenNode<'_>) {
        for (position, property) in node.properties.iter().enumerate() {
            self.push(&self.text[property.clone()]);
            if position + 1 < node.properties.len() || !node.is_empty() {
                self.push(" ");
            }
        }
        match &node.content {
            WrittenContent::Collection(collection) => self.flow_on_one_line(collection),
            _ => self.push(&self.text[node.span.clone()]),
        }
    }
}
