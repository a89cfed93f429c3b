//! Problems as they are reported to people: what, where, and how to fix it.
//!
//! Problems are collected: every stage returns its result together with all problems. A [`Finding`] has a byte position
//! in one file; a [`Diagnostic`] has line and column, for any output. Neither contains the value of a field that looks
//! like a secret.

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use crate::code::{Code, ProblemSeverity};

/// The most problems reported for one file. A file with more is broken as a whole, and the limit keeps hostile files
/// from using time and memory.
pub(crate) const MAX_FINDINGS: usize = 1000;

/// A problem inside one file, before its byte position is turned into line and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code of the problem.
    pub code: Code,
    /// The path of the value, e.g. `nodes[2].template`; empty for the file as a whole.
    pub path: String,
    /// The position in the text, in bytes.
    pub span: Range<usize>,
    /// One sentence without a full stop that says what is wrong.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

impl Finding {
    /// A problem without help.
    pub fn new(code: Code, span: Range<usize>, message: impl Into<String>) -> Finding {
        Finding { code, path: String::new(), span, message: message.into(), help: None }
    }

    /// Sets the help.
    pub fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }

    /// Sets the path of the value.
    pub fn at(mut self, path: impl Into<String>) -> Finding {
        self.path = path.into();
        self
    }
}

/// A problem with its place: the stable wire format of every problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: ProblemSeverity,
    /// The code of the problem.
    pub code: Code,
    /// The path of the value, e.g. `nodes[2].template`.
    pub path: String,
    /// The file, relative to the fleet's root; empty if the problem belongs to no single file.
    pub file: String,
    /// The line, counted from 1; 0 if there is none.
    pub line: usize,
    /// The column in characters, counted from 1; 0 if there is none.
    pub column: usize,
    /// One sentence that says what is wrong.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// The position in the text, in bytes, for excerpts.
    #[serde(skip)]
    pub span: Range<usize>,
}

impl Diagnostic {
    /// A problem without a place in a file.
    pub fn without_place(code: Code, path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: code.severity(),
            code,
            path: path.into(),
            file: String::new(),
            line: 0,
            column: 0,
            message: message.into(),
            help: None,
            span: 0..0,
        }
    }

    /// A problem with a file as a whole.
    pub fn with_file(code: Code, file: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { file: file.into(), line: 1, column: 1, ..Diagnostic::without_place(code, "", message) }
    }

    /// Sets the help.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// Sorts problems by file, then by place, errors before warnings at the same place.
pub fn sort_diagnostics(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        (&a.file, a.line, a.column, a.severity, a.code, &a.path, &a.message)
            .cmp(&(&b.file, b.line, b.column, b.severity, b.code, &b.path, &b.message))
    });
    diagnostics.dedup();
}

/// Whether one of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == ProblemSeverity::Error)
}

/// Converts byte positions of one text to lines and columns. Built only if there is a problem to report.
pub struct LineIndex<'s> {
    text: &'s str,
    starts: Vec<usize>,
    /// The number of characters before every [`STRIDE`]th byte: a file may be one long line with a problem in every
    /// word, and counting from the line's start each time would take quadratic time.
    counts: Vec<usize>,
}

/// How many bytes are counted one by one.
const STRIDE: usize = 256;

impl<'s> LineIndex<'s> {
    /// Finds the line starts of a text. A line ends with LF, CRLF or a lone CR, as in YAML.
    pub fn new(text: &'s str) -> LineIndex<'s> {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (position, byte) in bytes.iter().enumerate() {
            let ends_line = *byte == b'\n' || (*byte == b'\r' && bytes.get(position + 1) != Some(&b'\n'));
            if ends_line {
                starts.push(position + 1);
            }
        }
        let mut index = LineIndex { text, starts, counts: Vec::with_capacity(bytes.len() / STRIDE + 1) };
        let mut count = 0;
        for stride in (0..=bytes.len()).step_by(STRIDE) {
            index.counts.push(count);
            count += index.count(stride..(stride + STRIDE).min(bytes.len()));
        }
        index
    }

    /// The number of characters that begin in a range. A byte order mark is invisible in editors, so it is not counted.
    fn count(&self, range: Range<usize>) -> usize {
        let bytes = self.text.as_bytes();
        let begins =
            |at: &usize| bytes[*at] & 0xc0 != 0x80 && !bytes[*at..].starts_with("\u{feff}".as_bytes());
        range.filter(begins).count()
    }

    fn count_before(&self, byte: usize) -> usize {
        let stride = byte / STRIDE;
        self.counts[stride] + self.count(stride * STRIDE..byte)
    }

    /// Line and column (in characters), both counted from 1.
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let byte = self.floor_boundary(byte);
        let line = self.starts.partition_point(|start| *start <= byte);
        let column = self.count_before(byte) - self.count_before(self.starts[line - 1]) + 1;
        (line, column)
    }

    /// The byte position of a line and a column; the end of the text if it is outside.
    pub fn byte_at(&self, line: usize, column: usize) -> usize {
        let Some(start) = self.starts.get(line.saturating_sub(1)) else { return self.text.len() };
        let mut seen = self.text[*start..].char_indices().filter(|(_, c)| *c != '\u{feff}');
        seen.nth(column.saturating_sub(1)).map_or(self.text.len(), |(at, _)| start + at)
    }

    /// The diagnostic of a finding in `file`.
    pub fn place(&self, file: &str, finding: Finding) -> Diagnostic {
        let (line, column) = self.line_column(finding.span.start);
        Diagnostic {
            severity: finding.code.severity(),
            code: finding.code,
            path: finding.path,
            file: file.to_owned(),
            line,
            column,
            message: finding.message,
            help: finding.help,
            span: self.floor_boundary(finding.span.start)..self.floor_boundary(finding.span.end),
        }
    }

    fn floor_boundary(&self, byte: usize) -> usize {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_end_in_three_ways() {
        let index = LineIndex::new("\u{feff}é: 1\r\nb: 2\rc: 3\nd");
        assert_eq!(index.line_column(3), (1, 1));
        assert_eq!(index.line_column(5), (1, 2));
        let at = |needle: char| index.line_column(index.text.find(needle).unwrap());
        assert_eq!(at('b'), (2, 1));
        assert_eq!(at('c'), (3, 1));
        assert_eq!(at('d'), (4, 1));
        assert_eq!(index.line_column(10_000).0, 4);
        for needle in ['b', '2', 'c', 'd'] {
            let (line, column) = at(needle);
            assert_eq!(Some(index.byte_at(line, column)), index.text.find(needle));
        }
        assert_eq!(index.byte_at(9, 9), index.text.len());
    }

    #[test]
    fn columns_of_a_long_line_are_those_that_counting_gives() {
        let text = format!("a\n{}", "é✓\u{feff}🚀x".repeat(500));
        let index = LineIndex::new(&text);
        let mut column = 1;
        for (byte, c) in text.char_indices().skip(2) {
            assert_eq!(index.line_column(byte), (2, column), "{byte}");
            column += usize::from(c != '\u{feff}');
        }
        assert_eq!(index.line_column(text.len()), (2, column));
    }

    #[test]
    fn slugs_are_unique_and_map_back_to_their_code() {
        for code in Code::ALL {
            assert_eq!(Code::from_slug(code.slug()), Some(*code));
        }
    }
}
