//! A plan that was read from its document: a server's response, or a stored one.
//!
//! It is only for display. It cannot be applied: it has no specs, and its secrets are masked.

use serde::Deserialize;
use serde_json::Value;

use super::{MassDestroy, PlanSummary, StepForecast};
use crate::content::{ContentChange, ContentDifference};
use crate::diagnostic::Diagnostic;
use crate::diff::{Cause, FieldChange};
use crate::digest::Digest;
use crate::resource::Kind;

/// A plan that was read from its document.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ParsedPlan {
    /// The account it is for.
    pub account: String,
    /// The plan's digest.
    pub digest: Digest,
    /// The number of changes by action.
    pub summary: PlanSummary,
    /// Its steps, in order.
    pub steps: Vec<ParsedStep>,
    /// The number of steps that were left out because of the limit.
    #[serde(default)]
    pub omitted: usize,
    /// Refused changes.
    pub refused: Vec<ParsedRefusal>,
    /// Why the whole plan needs a confirmation.
    pub stopped: Option<MassDestroy>,
    /// Every problem.
    #[serde(default)]
    pub problems: Vec<Diagnostic>,
    /// What the plan was compared with.
    #[serde(default)]
    pub from: String,
    /// How many proposals may be open at a time.
    #[serde(default)]
    pub max_proposals_per_tick: usize,
    /// How many changes are left for later runs.
    #[serde(default)]
    pub remaining: usize,
    /// What is shown and never applied.
    #[serde(default)]
    pub informational: Informational,
    /// The differences in the files that resources name.
    #[serde(default)]
    pub content: Vec<ContentDifference>,
    /// Notes for the reader.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The parts of a fleet that are shown and never applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Informational {
    /// The names of provider configurations.
    #[serde(default)]
    pub provider_configs: Vec<String>,
}

/// A step that was read from a document.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ParsedStep {
    /// Its position in the order, counted from 1.
    pub position: usize,
    /// The kind of resource.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Why it changes.
    pub cause: Cause,
    /// The digest of the accepted state.
    pub base: Option<Digest>,
    /// The digest of the desired state.
    pub desired: Option<Digest>,
    /// The fields that differ.
    pub fields: Vec<FieldChange>,
    /// The spec that is created, updated to or destroyed.
    pub payload: Value,
    /// Changes of this plan that must be applied first.
    pub waits_for: Vec<String>,
    /// The paths whose content changes.
    #[serde(default)]
    pub content: Vec<ContentChange>,
    /// Its forecast.
    #[serde(default)]
    pub foreseen: Option<StepForecast>,
}

/// A refused change that was read from a document.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ParsedRefusal {
    /// The resource.
    pub resource: String,
    /// The reason.
    pub reason: String,
}
