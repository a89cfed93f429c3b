//! Edits the payload of a proposal before it is approved.

use askama::Template;
use windlass_api::types::{ErrorBody, Problem, ProposalInfo};

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "edit.html")]
pub struct EditPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The proposal.
    pub proposal: ProposalInfo,
    /// The text to edit: YAML, or JSON, which is valid YAML.
    pub text: String,
    /// Problems in the text, each with its place.
    pub problems: Vec<Problem>,
    /// Why the server rejected it as a whole.
    pub error: Option<ErrorBody>,
}
