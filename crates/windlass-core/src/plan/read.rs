//! A plan read back from its document: what a server answered, or what was kept.
//!
//! It is for telling only. Nothing is applied from it: it has no specs, and its secrets are hidden.

use serde::Deserialize;
use serde_json::Value;

use super::{MassDestroy, PlanSummary, StepForecast};
use crate::content::{ContentChange, ContentDifference};
use crate::diagnostic::Diagnostic;
use crate::diff::{Cause, FieldChange};
use crate::digest::Digest;
use crate::resource::Kind;

/// A plan's document, read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ParsedPlan {
    /// The account it is for.
    pub account: String,
    /// The plan's digest.
    pub digest: Digest,
    /// How many of each.
    pub summary: PlanSummary,
    /// Its steps, in order.
    pub steps: Vec<ParsedStep>,
    /// Steps that were left out because they were too many.
    #[serde(default)]
    pub omitted: usize,
    /// What is not done although the files ask for it.
    pub refused: Vec<ParsedRefusal>,
    /// Why nothing of it may be done until someone confirms.
    pub stopped: Option<MassDestroy>,
    /// Every problem.
    #[serde(default)]
    pub problems: Vec<Diagnostic>,
    /// What it was compared with.
    #[serde(default)]
    pub from: String,
    /// How many changes are open at a time.
    #[serde(default)]
    pub max_proposals_per_tick: usize,
    /// How many are left for later runs.
    #[serde(default)]
    pub remaining: usize,
    /// What is shown and never applied.
    #[serde(default)]
    pub informational: Informational,
    /// What differs in the files that resources name.
    #[serde(default)]
    pub content: Vec<ContentDifference>,
    /// What else whoever reads it should know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a fleet says that is shown and never applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Informational {
    /// Names.
    #[serde(default)]
    pub provider_configs: Vec<String>,
}

/// One step, read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ParsedStep {
    /// Its place in the order, counted from 1.
    pub position: usize,
    /// The kind of resource.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Why it changes.
    pub cause: Cause,
    /// The digest of what it is now.
    pub base: Option<Digest>,
    /// The digest of what it shall be.
    pub desired: Option<Digest>,
    /// The fields that differ.
    pub fields: Vec<FieldChange>,
    /// The spec that is created, updated to or destroyed.
    pub payload: Value,
    /// Changes of this plan that must be done first.
    pub waits_for: Vec<String>,
    /// The paths whose content becomes different.
    #[serde(default)]
    pub content: Vec<ContentChange>,
    /// What would become of it.
    #[serde(default)]
    pub foreseen: Option<StepForecast>,
}

/// A change that is not made, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ParsedRefusal {
    /// Which resource.
    pub resource: String,
    /// Why.
    pub reason: String,
}
