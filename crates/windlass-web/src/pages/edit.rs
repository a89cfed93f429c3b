//! Editing what a proposal would apply, before anyone approves it.

use askama::Template;
use windlass_api::types::{ErrorBody, Problem, ProposalInfo};

use crate::frame::{Frame, Place};
use crate::words;

/// Lines of an edit that are shown with their problems; a longer one is told by line number alone.
const MAX_LISTED: usize = 400;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "edit.html")]
pub struct Edit {
    /// What surrounds it.
    pub frame: Frame,
    /// The proposal.
    pub proposal: ProposalInfo,
    /// The text to edit: YAML, of which JSON is a part.
    pub text: String,
    /// Problems in the text, each with its place.
    pub problems: Vec<Problem>,
    /// Why it was refused as a whole.
    pub error: Option<ErrorBody>,
}

/// A line of the text with what is wrong in it.
pub(crate) struct Listed<'e> {
    pub(crate) number: usize,
    pub(crate) text: &'e str,
    pub(crate) problems: Vec<&'e Problem>,
}

impl Edit {
    pub(crate) fn listed(&self) -> Vec<Listed<'_>> {
        let lines = self.text.lines().take(MAX_LISTED).enumerate();
        lines
            .map(|(index, text)| Listed {
                number: index + 1,
                text,
                problems: self.problems.iter().filter(|problem| problem.line == index + 1).collect(),
            })
            .collect()
    }

    /// Problems that no listed line shows.
    pub(crate) fn unplaced(&self) -> Vec<&Problem> {
        let lines = self.text.lines().take(MAX_LISTED).count();
        self.problems.iter().filter(|problem| problem.line == 0 || problem.line > lines).collect()
    }

    pub(crate) fn rows(&self) -> usize {
        (self.text.lines().count() + 2).clamp(10, 32)
    }
}
