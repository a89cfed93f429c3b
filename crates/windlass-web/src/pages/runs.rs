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
    /// The frame of the page.
    pub frame: Frame,
    /// The runs, newest first.
    pub runs: Vec<RunInfo>,
    /// The repository, if only its runs are shown.
    pub repository: Option<String>,
    /// Where the list goes on.
    pub next: Option<String>,
}
