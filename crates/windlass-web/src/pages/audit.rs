//! Who did what: the audit log, newest first.

use askama::Template;
use windlass_api::types::AuditInfo;

use crate::frame::{Frame, Place};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "audit.html")]
pub struct Audit {
    /// What surrounds it.
    pub frame: Frame,
    /// Newest first.
    pub entries: Vec<AuditInfo>,
    /// What was done to this alone, `kind/name`; empty for all.
    pub target: String,
    /// Where the list goes on.
    pub next: Option<String>,
}
