//! A text of the user, with each problem at its line.

use windlass_api::types::Problem;

/// A longer text is not listed: problems are shown with line numbers only.
const MAX_LISTED: usize = 400;

/// A line of the text with its problems.
pub(crate) struct ListedLine<'e> {
    pub(crate) number: usize,
    pub(crate) text: &'e str,
    pub(crate) problems: Vec<&'e Problem>,
}

/// The lines of a text.
pub(crate) fn listed<'e>(text: &'e str, problems: &'e [Problem]) -> Vec<ListedLine<'e>> {
    let lines = text.lines().take(MAX_LISTED).enumerate();
    lines
        .map(|(index, text)| ListedLine {
            number: index + 1,
            text,
            problems: problems.iter().filter(|problem| problem.line == index + 1).collect(),
        })
        .collect()
}

/// Problems that no listed line shows.
pub(crate) fn unplaced<'e>(text: &str, problems: &'e [Problem]) -> Vec<&'e Problem> {
    let lines = text.lines().take(MAX_LISTED).count();
    problems.iter().filter(|problem| problem.line == 0 || problem.line > lines).collect()
}

/// The height of the text field in lines.
pub(crate) fn rows(text: &str) -> usize {
    (text.lines().count() + 2).clamp(10, 32)
}
