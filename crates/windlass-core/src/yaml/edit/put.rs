//! Replaces a value by a new one, in the style of the old one.

use super::{EditRefused, Editor, ValueContext};
use crate::yaml::format::written::{WrittenContent, WrittenNode};
use crate::yaml::write::{NewValue, Quotes, STEP, block, flow, new_line, single, single_in_block};

impl Editor<'_> {
    pub(super) fn put(
        &mut self,
        node: &WrittenNode<'_>,
        fresh: &NewValue,
        around: ValueContext,
    ) -> Result<(), EditRefused> {
        let end = self.end_of(node);
        match (&node.content, around) {
            (WrittenContent::Empty, _) if !node.properties.is_empty() => {
                return Err(EditRefused("the place of the new value has an anchor or tag"));
            }
            (WrittenContent::Empty, ValueContext::Block { column, .. }) => {
                self.put_after_colon(node, fresh, column);
            }
            (WrittenContent::Empty, ValueContext::Flow) => {
                self.splices.replace(end..end, format!(" {}", flow(fresh)));
            }
            (WrittenContent::Collection(old), ValueContext::Block { colon, .. }) if old.layout.is_block() => {
                let is_alike = matches!(fresh, NewValue::Map(_)) == old.layout.is_map() && !fresh.is_empty();
                if is_alike && node.properties.is_empty() {
                    let text = block(fresh, self.column(node.span.start));
                    self.splices.replace(node.span.start..end, text);
                } else {
                    self.put_flow(node, fresh, colon);
                }
            }
            _ => {
                let text = self.in_place(node, fresh, around);
                self.splices.replace(node.start()..end, text);
            }
        }
        Ok(())
    }

    /// After a key without a value, where a comment may follow on the line.
    fn put_after_colon(&mut self, node: &WrittenNode<'_>, fresh: &NewValue, column: Option<usize>) {
        let at = node.span.start;
        match fresh {
            NewValue::Single(_) => self.splices.replace(at..at, format!(" {}", flow(fresh))),
            _ if fresh.is_empty() => self.splices.replace(at..at, format!(" {}", flow(fresh))),
            _ => {
                let inner = column.map_or(0, |column| column + STEP);
                let line_end = self.line_end(at);
                let text = format!("{}{}", new_line(inner), block(fresh, inner));
                self.splices.replace(line_end..line_end, text);
            }
        }
    }

    /// In place of lines: after the key if only white space is between, otherwise where the lines began.
    fn put_flow(&mut self, node: &WrittenNode<'_>, fresh: &NewValue, colon: Option<usize>) {
        let end = self.end_of(node);
        match colon {
            Some(colon) if self.text[colon..node.start()].trim().is_empty() => {
                self.splices.replace(colon..end, format!(" {}", flow(fresh)));
            }
            _ => self.splices.replace(node.start()..end, flow(fresh)),
        }
    }

    fn in_place(&self, node: &WrittenNode<'_>, fresh: &NewValue, around: ValueContext) -> String {
        let NewValue::Single(value) = fresh else { return flow(fresh) };
        let written = &self.text[node.span.clone()];
        match (&node.content, around) {
            (WrittenContent::BlockScalar(_), ValueContext::Block { column, .. }) => {
                single_in_block(value, Quotes::AsNeeded, column.unwrap_or_default())
            }
            (WrittenContent::DoubleQuoted, _) => single(value, Quotes::Double),
            (WrittenContent::Words, _) if written.starts_with('\'') => single(value, Quotes::Single),
            _ => single(value, Quotes::AsNeeded),
        }
    }
}
