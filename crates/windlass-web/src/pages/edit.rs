//! Editing what a proposal would apply, before anyone approves it.

use askama::Template;
use windlass_api::types::{ErrorBody, Problem, ProposalInfo};

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "edit.html")]
pub struct EditPage {
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
