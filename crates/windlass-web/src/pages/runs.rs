//! Sync runs, newest first.

use askama::Template;
use windlass_api::types::RunInfo;
use windlass_core::run::RunStatus;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "runs.html")]
pub struct RunsPage {
    /// What surrounds it.
    pub frame: Frame,
    /// Newest first.
    pub runs: Vec<RunInfo>,
    /// The repository they are of, if only one's are shown.
    pub repository: Option<String>,
    /// Where the list goes on.
    pub next: Option<String>,
}
