//! The audit log, newest first.

use askama::Template;
use windlass_api::types::AuditInfo;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "audit.html")]
pub struct AuditPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The entries, newest first.
    pub entries: Vec<AuditInfo>,
    /// The target that is shown, `kind/name`; empty for all.
    pub target: String,
    /// Where the list goes on.
    pub next: Option<String>,
}

impl AuditPage {
    /// The actor, and the proposal whose approval they acted on.
    fn actor<'e>(&self, entry: &'e AuditInfo) -> (&'e str, Option<&'e str>) {
        let told = entry.actor.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (proposal "));
        told.map_or((entry.actor.as_str(), None), |(actor, proposal)| (actor, Some(proposal)))
    }

    /// The name of a target: ids are shortened, names are not.
    fn target_name(&self, entry: &AuditInfo) -> String {
        match entry.target_kind.as_str() {
            "proposal" => words::short_id(&entry.target),
            _ => entry.target.clone(),
        }
    }
}
