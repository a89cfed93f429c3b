//! Compares two specs line by line, and marks what differs inside a line. Plain data: the style sheet defines the
//! colours.

use std::ops::Range;

use serde_json::Value;
use windlass_core::line_diff::{ChangedLines, changed_lines};
use windlass_core::yaml;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Fewer unchanged lines than this are not folded.
const WORTH_FOLDING: usize = 3;

/// A longer text is compared only from both ends: the full comparison takes quadratic time.
const MAX_COMPARED: usize = 4_000;

/// The most rows on a page; the number of further rows is shown.
const MAX_ROWS: usize = 2_000;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePart {
    /// The text.
    pub text: String,
    /// Whether it differs from the other side's line.
    pub differs: bool,
}

/// One line of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The line number, counted from 1.
    pub number: usize,
    /// The parts of the line.
    pub parts: Vec<LinePart>,
}

/// One row of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffRow {
    /// The same on both sides.
    Same(DiffLine, DiffLine),
    /// Before and after; one of them may be missing.
    Changed(Option<DiffLine>, Option<DiffLine>),
    /// This many unchanged lines are hidden.
    Fold(usize),
    /// This many further rows are not shown.
    Cut(usize),
}

/// The comparison of a spec before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecDiff {
    /// The rows in the order of the text.
    pub rows: Vec<DiffRow>,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
}

impl SpecDiff {
    /// Compares two specs as YAML; `None` is an empty text.
    pub fn of(before: Option<&Value>, after: Option<&Value>) -> SpecDiff {
        let text =
            |value: Option<&Value>| value.map_or_else(String::new, |value| yaml::write(without_nulls(value)));
        SpecDiff::of_texts(&text(before), &text(after))
    }

    /// Compares two texts.
    pub fn of_texts(before: &str, after: &str) -> SpecDiff {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let mut comparison = SpecDiff::default();
        let (mut old_next, mut new_next) = (0, 0);
        for change in compared(&old, &new) {
            comparison.same(&old, &new, old_next..change.old.start, new_next);
            (old_next, new_next) = (change.old.end, change.new.end);
            comparison.replace(&old, &new, change);
        }
        comparison.same(&old, &new, old_next..old.len(), new_next);
        comparison.fold();
        comparison
    }

    fn same(&mut self, old: &[&str], new: &[&str], lines: Range<usize>, first_new: usize) {
        let plain = |index: usize, text: &str| line(index, vec![same(text)]);
        let rows = lines.zip(first_new..);
        self.rows.extend(
            rows.map(|(before, after)| DiffRow::Same(plain(before, old[before]), plain(after, new[after]))),
        );
    }

    /// Replaces lines of one side by lines of the other, paired from the top.
    fn replace(&mut self, old: &[&str], new: &[&str], ChangedLines { old: gone, new: come }: ChangedLines) {
        self.removed += gone.len();
        self.added += come.len();
        for offset in 0..gone.len().max(come.len()) {
            let before = (offset < gone.len()).then(|| gone.start + offset);
            let after = (offset < come.len()).then(|| come.start + offset);
            let row = match (before, after) {
                (Some(before), Some(after)) => {
                    let (left, right) = mark_difference(old[before], new[after]);
                    DiffRow::Changed(Some(line(before, left)), Some(line(after, right)))
                }
                (before, after) => DiffRow::Changed(
                    before.map(|index| line(index, vec![same(old[index])])),
                    after.map(|index| line(index, vec![same(new[index])])),
                ),
            };
            self.rows.push(row);
        }
    }

    /// Folds unchanged lines far from every change, and cuts the rows at the limit.
    fn fold(&mut self) {
        let is_change = |row: &DiffRow| matches!(row, DiffRow::Changed(..));
        let changes: Vec<usize> =
            self.rows.iter().enumerate().filter(|(_, row)| is_change(row)).map(|(index, _)| index).collect();
        let is_near = |index: usize| {
            let next = changes.partition_point(|change| *change < index);
            let near =
                |change: Option<&usize>| change.is_some_and(|change| change.abs_diff(index) <= CONTEXT);
            near(changes.get(next)) || near(next.checked_sub(1).and_then(|before| changes.get(before)))
        };
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut hidden: Vec<DiffRow> = Vec::new();
        for (index, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            match is_near(index) {
                true => {
                    flush(&mut hidden, &mut rows);
                    rows.push(row);
                }
                false => hidden.push(row),
            }
        }
        flush(&mut hidden, &mut rows);
        if rows.len() > MAX_ROWS {
            let over = rows.len() - MAX_ROWS;
            rows.truncate(MAX_ROWS);
            rows.push(DiffRow::Cut(over));
        }
        self.rows = rows;
    }
}

/// Removes fields that are null: most fields are not set.
pub(crate) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let set = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(set.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

fn flush(hidden: &mut Vec<DiffRow>, rows: &mut Vec<DiffRow>) {
    match hidden.len() {
        0 => {}
        few if few < WORTH_FOLDING => rows.append(hidden),
        many => {
            rows.push(DiffRow::Fold(many));
            hidden.clear();
        }
    }
}

fn compared(old: &[&str], new: &[&str]) -> Vec<ChangedLines> {
    if old.len().max(new.len()) <= MAX_COMPARED {
        return changed_lines(old, new);
    }
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    vec![ChangedLines { old: head..old.len() - tail, new: head..new.len() - tail }]
}

fn line(index: usize, parts: Vec<LinePart>) -> DiffLine {
    DiffLine { number: index + 1, parts }
}

fn same(text: &str) -> LinePart {
    LinePart { text: text.to_owned(), differs: false }
}

/// Two lines with their differing parts marked: everything but the common beginning and end.
fn mark_difference(before: &str, after: &str) -> (Vec<LinePart>, Vec<LinePart>) {
    let head: usize =
        before.chars().zip(after.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (left, right) = (&before[head..], &after[head..]);
    let tail: usize = left
        .chars()
        .rev()
        .zip(right.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let parts = |rest: &str| {
        let (middle, end) = rest.split_at(rest.len() - tail);
        [(&before[..head], false), (middle, true), (end, false)]
            .into_iter()
            .filter(|(text, _)| !text.is_empty())
            .map(|(text, differs)| LinePart { text: text.to_owned(), differs })
            .collect()
    };
    (parts(left), parts(right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(line: &DiffLine) -> String {
        line.parts
            .iter()
            .map(|part| if part.differs { format!("[{}]", part.text) } else { part.text.clone() })
            .collect()
    }

    #[test]
    fn what_differs_inside_a_line_is_marked() {
        let comparison =
            SpecDiff::of(Some(&json!({"a": 1, "region": "eu-1"})), Some(&json!({"a": 1, "region": "us-1"})));
        assert_eq!((comparison.added, comparison.removed), (1, 1));
        let DiffRow::Changed(Some(before), Some(after)) = &comparison.rows[1] else {
            panic!("{comparison:?}")
        };
        assert_eq!((text(before), text(after)), ("region: [eu]-1".to_owned(), "region: [us]-1".to_owned()));
    }

    #[test]
    fn far_lines_are_folded_and_a_create_is_all_new() {
        let before: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
        let mut after = before.clone();
        after[20] = "other".to_owned();
        let comparison = SpecDiff::of_texts(&before.join("\n"), &after.join("\n"));
        assert_eq!(comparison.rows.len(), 2 + 2 * CONTEXT + 1);
        assert_eq!(comparison.rows[0], DiffRow::Fold(17));
        let created = SpecDiff::of(None, Some(&json!({"a": 1, "b": 2})));
        assert_eq!((created.added, created.removed, created.rows.len()), (2, 0, 2));
        assert!(SpecDiff::of(None, None).rows.is_empty());
    }

    #[test]
    fn a_huge_text_costs_no_more_than_its_length_and_is_cut() {
        let before: Vec<String> = (0..30_000).map(|n| format!("a{n}")).collect();
        let after: Vec<String> = (0..30_000).map(|n| format!("b{n}")).collect();
        let comparison = SpecDiff::of_texts(&before.join("\n"), &after.join("\n"));
        assert_eq!(comparison.rows.last(), Some(&DiffRow::Cut(28_000)));
    }
}
