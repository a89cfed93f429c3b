//! Writes generated documents as text.

use super::documents::{Dress, Shape, Value};

/// The collection that contains a value.
#[derive(Clone, Copy)]
enum Around {
    List,
    Map,
}

/// Numbers comments and keys, so that each is unique.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
    comments: usize,
    keys: usize,
}

impl Writer {
    /// Writes a block collection whose items begin at `indent`; the first may follow a dash.
    pub(super) fn block(&mut self, value: &Value, indent: usize) {
        let (Value::List(items, _) | Value::Map(items, _)) = value else { return };
        for (position, (dress, item)) in items.iter().enumerate() {
            let is_behind_dash = position == 0 && self.text.ends_with(' ');
            if !is_behind_dash {
                self.text.push_str(&"\n".repeat(dress.blank_lines));
                self.comments(dress.comments_above, indent);
                self.spaces(indent);
            }
            match value {
                Value::Map(..) => {
                    self.key();
                    self.text.push(':');
                    self.value(item, dress, indent, Around::Map);
                }
                _ => {
                    self.text.push('-');
                    self.value(item, dress, indent, Around::List);
                }
            }
        }
        if items.last().is_some_and(|(dress, _)| dress.breaks) {
            self.spaces(indent);
            self.comment();
        }
    }

    /// Writes the value after a colon or dash at `indent`, up to the end of the line.
    fn value(&mut self, value: &Value, dress: &Dress, indent: usize, around: Around) {
        match value {
            Value::Words("") => {
                self.property(dress);
                self.end_line(dress);
            }
            Value::BlockScalar(header, lines) => self.block_scalar(header, lines, dress, indent),
            Value::List(items, Shape::Block(step)) | Value::Map(items, Shape::Block(step))
                if !items.is_empty() =>
            {
                self.block_value(value, *step, dress, indent, around);
            }
            _ => {
                if dress.breaks {
                    self.end_line(dress);
                    self.spaces(indent);
                }
                self.text.push(' ');
                self.flow(value, dress, indent + 1);
                self.end_line(dress);
            }
        }
    }

    fn block_value(&mut self, value: &Value, step: usize, dress: &Dress, indent: usize, around: Around) {
        let is_level = matches!((around, value), (Around::Map, Value::List(..)));
        let step = if is_level { step } else { step.max(1) };
        let is_compact = matches!(around, Around::List) && !dress.breaks;
        if is_compact {
            self.spaces(step);
            return self.block(value, indent + 1 + step);
        }
        self.anchor(dress);
        self.end_line(dress);
        self.block(value, indent + step);
    }

    fn block_scalar(&mut self, header: &str, lines: &[&str], dress: &Dress, indent: usize) {
        let step = 1 + dress.blank_lines;
        self.property(dress);
        self.text.push(' ');
        self.text.push_str(header);
        if dress.breaks || lines.iter().any(|line| line.starts_with(' ')) {
            self.text.push_str(&step.to_string());
        }
        self.end_line(dress);
        for line in lines {
            if !line.is_empty() {
                self.spaces(indent + step);
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Writes a value in flow style; continuation lines get `indent`.
    fn flow(&mut self, value: &Value, dress: &Dress, indent: usize) {
        match value {
            Value::Words(words) => {
                self.text.push_str(dress.property);
                self.text.push_str(&words.replace('\n', &format!("\n{}", " ".repeat(indent))));
            }
            Value::BlockScalar(..) => self.text.push_str("'was a block'"),
            Value::List(items, shape) => self.flow_items(items, shape, ('[', ']')),
            Value::Map(items, shape) => self.flow_items(items, shape, ('{', '}')),
        }
    }

    fn flow_items(&mut self, items: &[(Dress, Value)], shape: &Shape, brackets: (char, char)) {
        self.text.push(brackets.0);
        for (position, (dress, item)) in items.iter().enumerate() {
            self.flow_gap(shape, dress);
            match brackets.0 {
                '{' => self.flow_entry(item, dress),
                _ => self.flow_item(item, dress),
            }
            if position + 1 < items.len() || dress.breaks {
                self.text.push(',');
            }
            if let (Shape::FlowLines(_), Some(spaces)) = (shape, dress.trailing_spaces) {
                self.spaces(spaces);
                self.comment();
            }
        }
        if let Some((dress, _)) = items.last() {
            self.flow_gap(shape, dress);
        }
        self.text.push(brackets.1);
    }

    fn flow_gap(&mut self, shape: &Shape, dress: &Dress) {
        match shape {
            Shape::FlowLines(indent) => {
                self.text.push_str(&"\n".repeat(1 + dress.blank_lines));
                self.comments(dress.comments_above, *indent);
                self.spaces(*indent);
            }
            Shape::Flow(padding) => self.text.push_str(padding),
            Shape::Block(_) => {}
        }
    }

    fn flow_item(&mut self, item: &Value, dress: &Dress) {
        match item {
            Value::Words("") if dress.property.is_empty() => self.text.push('e'),
            Value::Map(entries, _) if entries.len() == 1 && dress.breaks => {
                entries.iter().for_each(|(dress, value)| self.flow_entry(value, dress));
            }
            _ => self.flow(item, dress, 14),
        }
    }

    fn flow_entry(&mut self, value: &Value, dress: &Dress) {
        self.key();
        match value {
            Value::Words("") if dress.property.is_empty() && dress.breaks => {}
            _ => {
                self.text.push_str(": ");
                self.flow(value, dress, 14);
            }
        }
    }

    fn key(&mut self) {
        self.keys += 1;
        let (before, after) = [("k", ""), ("\"k", "\""), ("'k", "' "), ("&k k", "")][self.keys % 4];
        self.text.push_str(&format!("{before}{}{after}", self.keys));
    }

    fn property(&mut self, dress: &Dress) {
        if !dress.property.is_empty() {
            self.text.push(' ');
            self.text.push_str(dress.property.trim_end());
        }
    }

    fn anchor(&mut self, dress: &Dress) {
        if dress.property.starts_with('&') {
            self.text.push_str(" &z");
        }
    }

    fn end_line(&mut self, dress: &Dress) {
        match dress.trailing_spaces {
            Some(spaces) => {
                self.spaces(spaces);
                self.comment();
            }
            None => self.text.push('\n'),
        }
    }

    /// Writes comments above an item at `indent`, at any column up to it.
    fn comments(&mut self, count: usize, indent: usize) {
        for position in 0..count {
            self.spaces((self.comments + position * 7) % (indent + 1));
            self.comment();
        }
    }

    fn comment(&mut self) {
        self.comments += 1;
        self.text.push_str(&format!("#c{}\n", self.comments));
    }

    fn spaces(&mut self, count: usize) {
        self.text.push_str(&" ".repeat(count));
    }
}
