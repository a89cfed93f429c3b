//! The difference of two texts, line by line: what every diff that Windlass shows or writes is made of.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Lines of the old text that lines of the new text replace. One of the two ranges may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedLines {
    /// Removed lines, counted from 0.
    pub old: Range<usize>,
    /// Added lines, counted from 0.
    pub new: Range<usize>,
}

/// What happens to one line. Lines are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    /// The same in both texts.
    Same {
        /// Its place in the old text.
        old: usize,
        /// Its place in the new text.
        new: usize,
    },
    /// Only in the old text.
    Removed(usize),
    /// Only in the new text.
    Added(usize),
}

impl LineChange {
    /// The character before the line in a unified diff.
    pub const fn sign(self) -> char {
        match self {
            LineChange::Same { .. } => ' ',
            LineChange::Removed(_) => '-',
            LineChange::Added(_) => '+',
        }
    }

    /// The line itself.
    pub fn text<'t>(self, old: &[&'t str], new: &[&'t str]) -> &'t str {
        match self {
            LineChange::Same { old: line, .. } | LineChange::Removed(line) => old[line],
            LineChange::Added(line) => new[line],
        }
    }
}

/// Changes that are near each other, with the unchanged lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
    changes: Vec<ChangedLines>,
}

/// The lines of a text as git counts them: only a line feed ends a line; a carriage return is part of it.
pub fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What differs, in the order of the texts.
pub fn changed_lines(old: &[&str], new: &[&str]) -> Vec<ChangedLines> {
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let lines = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| ChangedLines { old: lines(hunk.before), new: lines(hunk.after) }).collect()
}

/// What differs, with up to `context` unchanged lines around each change. Changes whose context meets share a hunk.
pub fn hunks(old: &[&str], new: &[&str], context: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in changed_lines(old, new) {
        let old_end = (change.old.end + context).min(old.len());
        let new_end = (change.new.end + context).min(new.len());
        match hunks.last_mut().filter(|last| last.old.end + context >= change.old.start) {
            Some(last) => {
                (last.old.end, last.new.end) = (old_end, new_end);
                last.changes.push(change);
            }
            None => hunks.push(Hunk {
                old: change.old.start.saturating_sub(context)..old_end,
                new: change.new.start.saturating_sub(context)..new_end,
                changes: vec![change],
            }),
        }
    }
    hunks
}

impl Hunk {
    /// The first line of the hunk in a unified diff, without a line end. `offset` is the number of lines above both texts.
    pub fn header(&self, offset: usize) -> String {
        format!("@@ -{} +{} @@", line_range(offset, &self.old), line_range(offset, &self.new))
    }

    /// Every line of the hunk: of each change first what is removed, then what is added.
    pub fn lines(&self) -> Vec<LineChange> {
        let mut lines = Vec::with_capacity(self.old.len() + self.new.len());
        let (mut old, mut new) = (self.old.start, self.new.start);
        for change in &self.changes {
            push_same(&mut lines, old..change.old.start, new);
            lines.extend(change.old.clone().map(LineChange::Removed));
            lines.extend(change.new.clone().map(LineChange::Added));
            (old, new) = (change.old.end, change.new.end);
        }
        push_same(&mut lines, old..self.old.end, new);
        lines
    }
}

fn push_same(lines: &mut Vec<LineChange>, old: Range<usize>, new: usize) {
    lines.extend(old.zip(new..).map(|(old, new)| LineChange::Same { old, new }));
}

/// A range of lines as in `diff -u`: the first line and the count, which is omitted if it is one.
fn line_range(offset: usize, lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", offset + lines.start),
        1 => (offset + lines.start + 1).to_string(),
        many => format!("{},{many}", offset + lines.start + 1),
    }
}

#[cfg(test)]
#[path = "line_diff_tests.rs"]
mod tests;
