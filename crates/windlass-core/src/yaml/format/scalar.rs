//! Writes scalars: the words stay, only the indentation of further lines changes.

use std::ops::Range;

use super::format_refused::FormatRefused;
use super::print::{Printer, STEP};
use super::written::{WrittenContent, WrittenNode};

const BLANK: [char; 2] = [' ', '\t'];

impl Printer<'_, '_> {
    /// Writes a plain or quoted scalar or an alias. White space around a line break inside has no meaning.
    pub(super) fn words(&mut self, node: &WrittenNode<'_>, indent: usize) {
        self.begin(node.span.start, indent);
        let words = &self.text[node.span.clone()];
        let mut lines = words.split('\n').peekable();
        let mut line = lines.next().unwrap_or_default();
        let mut is_first = true;
        loop {
            let is_last = lines.peek().is_none();
            let start = if is_first { line } else { line.trim_start_matches(BLANK) };
            let shown = match node.content {
                _ if is_last => start,
                WrittenContent::DoubleQuoted => trim_unescaped_end(start),
                _ => start.trim_end_matches(BLANK),
            };
            match is_first {
                true => self.push(shown),
                // At column 0, `---` and `...` would end the document.
                false => self.text_line(indent.max(STEP), shown),
            }
            let Some(next) = lines.next() else { return };
            line = next;
            is_first = false;
        }
    }

    /// Writes a scalar after `|` or `>` with the lines of its text under it.
    pub(super) fn block_scalar(&mut self, node: &WrittenNode<'_>, value: &str, indent: usize) {
        self.begin(node.span.start, indent);
        let scalar = BlockScalar::of(self.text, &node.span, value);
        self.push(&scalar.header());
        self.comments_before(scalar.header_end, indent);
        let indent = indent.max(STEP);
        for line in &scalar.lines {
            self.text_line(indent, line);
        }
        if scalar.chomping == Some('+') {
            let has_text = usize::from(!scalar.lines.is_empty());
            let line_ends = value.len() - value.trim_end_matches('\n').len();
            for _ in has_text..line_ends {
                self.text_line(0, "");
            }
        }
        self.end_text(scalar.end);
    }
}

/// Rejects block scalars whose indentation cannot be distinguished from their text.
pub(super) fn check_block_scalar(text: &str, span: &Range<usize>, value: &str) -> Result<(), FormatRefused> {
    let body = &text[body_start(text, span)..span.end.max(body_start(text, span))];
    let is_known = indentation(body, value).is_some() || value.trim_end_matches('\n').is_empty();
    is_known.then_some(()).ok_or(FormatRefused { at: span.start })
}

struct BlockScalar<'p> {
    style: char,
    chomping: Option<char>,
    /// The end of the header line, including a comment.
    header_end: usize,
    /// Without their indentation and without blank lines at the end.
    lines: Vec<&'p str>,
    /// The end of the text, including blank lines after it only if they are kept.
    end: usize,
}

impl<'p> BlockScalar<'p> {
    fn of(text: &'p str, span: &Range<usize>, value: &str) -> BlockScalar<'p> {
        let start = body_start(text, span);
        let indicators = text[span.start..start].split([' ', '\t', '\n']).next().unwrap_or_default();
        let body = &text[start..span.end.max(start)];
        let indentation = indentation(body, value).unwrap_or(usize::MAX);
        let mut lines: Vec<&str> =
            body.split('\n').map(|line| without_indentation(line, indentation)).collect();
        let count = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(count);
        let chomping = indicators.chars().find(|indicator| matches!(indicator, '+' | '-'));
        let end = match (chomping, count) {
            (Some('+'), _) => start + body.len(),
            (_, 0) => span.start,
            _ => start + body.split('\n').take(count).map(|line| line.len() + 1).sum::<usize>() - 1,
        };
        let style = if indicators.starts_with('>') { '>' } else { '|' };
        BlockScalar { style, chomping, header_end: start, lines, end }
    }

    /// The indentation must be given explicitly if the first line of text begins with a space.
    fn header(&self) -> String {
        let is_hidden =
            self.lines.iter().find(|line| !line.is_empty()).is_some_and(|line| line.starts_with(' '));
        let indicator = if is_hidden { STEP.to_string() } else { String::new() };
        let chomping = self.chomping.map(String::from).unwrap_or_default();
        format!("{}{indicator}{chomping}", self.style)
    }
}

fn body_start(text: &str, span: &Range<usize>) -> usize {
    text[span.start..].find('\n').map_or(text.len(), |found| span.start + found + 1)
}

/// The indentation of a block scalar's text, found by comparing it with the parsed value.
fn indentation(body: &str, value: &str) -> Option<usize> {
    let leading_spaces = |text: &str| {
        let mut lines = text.split('\n').map(|line| (line, line.trim_start_matches(' ')));
        lines.find(|(_, words)| !words.is_empty()).map(|(line, words)| line.len() - words.len())
    };
    leading_spaces(body)?.checked_sub(leading_spaces(value)?)
}

fn without_indentation(line: &str, indentation: usize) -> &str {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    &line[spaces.min(indentation)..]
}

/// A backslash makes the following blank part of the text.
fn trim_unescaped_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches(BLANK);
    let backslashes = trimmed.len() - trimmed.trim_end_matches('\\').len();
    match backslashes % 2 == 1 && trimmed.len() < line.len() {
        true => &line[..=trimmed.len()],
        false => trimmed,
    }
}
