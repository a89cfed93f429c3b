//! Who did what: the audit log, newest first.

use askama::Template;
use windlass_api::types::AuditInfo;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "audit.html")]
pub struct AuditPage {
    /// What surrounds it.
    pub frame: Frame,
    /// Newest first.
    pub entries: Vec<AuditInfo>,
    /// What was done to this alone, `kind/name`; empty for all.
    pub target: String,
    /// Where the list goes on.
    pub next: Option<String>,
}

impl AuditPage {
    /// Who it was, and the proposal on whose approval they did it.
    fn who<'e>(&self, entry: &'e AuditInfo) -> (&'e str, Option<&'e str>) {
        let told = entry.actor.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (proposal "));
        told.map_or((entry.actor.as_str(), None), |(who, proposal)| (who, Some(proposal)))
    }

    /// What a target is called: ids are shortened, names are not.
    fn target_name(&self, entry: &AuditInfo) -> String {
        match entry.target_kind.as_str() {
            "proposal" => words::short_id(&entry.target),
            _ => entry.target.clone(),
        }
    }
}
