//! Writes lists and maps by indentation.

use super::print::{FirstItem, NodePlacement, Printer, STEP};
use super::written::{WrittenCollection, WrittenItem};

impl Printer<'_, '_> {
    /// Writes every item at `place.indent`, and then the trailing comments of the collection.
    pub(super) fn block(&mut self, collection: &WrittenCollection<'_>, place: NodePlacement) {
        let mut first = place.first;
        for (position, item) in collection.items.iter().enumerate() {
            let limit = collection.items.get(position + 1).map_or(place.limit, |next| next.start);
            self.begin_item(item.start, NodePlacement { first, ..place });
            let value_indent = self.block_item(item, NodePlacement { limit, ..place });
            if item.value.as_ref().is_none_or(|value| value.is_empty()) {
                // Usually values that were commented out.
                self.comments_right_of(collection.column + 1, limit, value_indent);
            }
            first = FirstItem::OwnLine;
        }
        self.comments_right_of(collection.column, place.limit, place.indent);
    }

    fn block_item(&mut self, item: &WrittenItem<'_>, place: NodePlacement) -> usize {
        let indent = place.indent + STEP;
        let first = match &item.key {
            Some(key) => {
                self.node(key, NodePlacement { first: FirstItem::OwnLine, ..place });
                self.push(key.colon());
                FirstItem::OwnLine
            }
            None => {
                self.push("-");
                self.line_indent = indent;
                FirstItem::SameLine
            }
        };
        if let Some(value) = &item.value {
            self.node(value, NodePlacement { indent, first, limit: place.limit });
        }
        indent
    }
}
