//! The plan as a document: the bytes of its digest, and JSON for machines and for the API.
//!
//! Keys are in ascending order everywhere, so that equal plans give equal text. Steps are written one by one: a plan of
//! a hundred thousand steps is never one tree of values in memory.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Plan, PlanStep, StepForecast};
use crate::content::ContentChange;
use crate::diff::{Action, Cause};
use crate::digest::Digest;
use crate::resource::Kind;

/// The version of the plan document.
const PLAN_VERSION: u32 = 1;

impl Plan {
    /// The bytes of the plan's digest: the actions, the resources, the states before and after, and the order.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let document = CanonicalPlan {
            account: &self.account,
            steps: self.steps.iter().map(CanonicalStep::of).collect(),
            version: PLAN_VERSION,
        };
        serde_json::to_vec(&document).expect("plain values always serialize into memory")
    }

    /// The digest of the plan.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.canonical_bytes())
    }

    /// The plan for machines and for the API, to be serialized. The caller adds problems, because it knows their
    /// places.
    pub fn document(&self) -> PlanDocument<'_> {
        PlanDocument {
            parts: BTreeMap::from([(
                "steps",
                DocumentPart::Steps(DocumentSteps { all: &self.steps, foreseen: &[] }),
            )]),
        }
        .with("version", json!(PLAN_VERSION))
        .with("digest", json!(self.digest()))
        .with("account", json!(self.account))
        .with("summary", json!(self.summary()))
        .with("stopped", json!(self.stopped))
        .with("refused", json!(self.refusals))
    }
}

/// A plan to be serialized.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct PlanDocument<'p> {
    parts: BTreeMap<&'static str, DocumentPart<'p>>,
}

impl<'p> PlanDocument<'p> {
    /// Adds to each step its forecast, in the order of the steps.
    pub fn with_forecasts(mut self, foreseen: &'p [StepForecast]) -> Self {
        if let Some(DocumentPart::Steps(steps)) = self.parts.get_mut("steps") {
            steps.foreseen = foreseen;
        }
        self
    }

    /// Keeps only the first steps, and adds how many were left out.
    pub fn with_first(mut self, count: usize) -> Self {
        let Some(DocumentPart::Steps(steps)) = self.parts.get_mut("steps") else { return self };
        let shown = steps.all.len().min(count);
        let omitted = steps.all.len() - shown;
        steps.all = &steps.all[..shown];
        if omitted == 0 { self } else { self.with("omitted", json!(omitted)) }
    }

    /// Adds a key to the document, or replaces it.
    pub fn with(mut self, key: &'static str, value: Value) -> Self {
        self.parts.insert(key, DocumentPart::Value(value));
        self
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum DocumentPart<'p> {
    Value(Value),
    #[serde(serialize_with = "write_steps")]
    Steps(DocumentSteps<'p>),
}

/// The steps of a document, with their forecasts if they were requested.
#[derive(Debug)]
struct DocumentSteps<'p> {
    all: &'p [PlanStep],
    foreseen: &'p [StepForecast],
}

fn write_steps<S: Serializer>(steps: &DocumentSteps<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let document =
        |(index, step)| StepDocument { foreseen: steps.foreseen.get(index), ..StepDocument::of(index, step) };
    serializer.collect_seq(steps.all.iter().enumerate().map(document))
}

#[derive(Serialize)]
struct StepDocument<'p> {
    action: String,
    base: Option<Digest>,
    cause: Cause,
    change: Action,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    content: Vec<ContentChange>,
    desired: Option<Digest>,
    fields: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    foreseen: Option<&'p StepForecast>,
    kind: Kind,
    name: &'p str,
    payload: Value,
    position: usize,
    reason: String,
    waits_for: Vec<String>,
}

impl<'p> StepDocument<'p> {
    fn of(index: usize, step: &'p PlanStep) -> StepDocument<'p> {
        let change = &step.change;
        StepDocument {
            action: step.action_name(),
            base: change.base,
            cause: change.cause,
            change: change.action(),
            content: change.content_changes(),
            desired: change.desired,
            fields: json!(change.fields()),
            foreseen: None,
            kind: change.key.kind,
            name: &change.key.name,
            payload: change.payload(),
            position: index + 1,
            reason: step.reason(),
            waits_for: step.waits_for.iter().map(ToString::to_string).collect(),
        }
    }
}

#[derive(Serialize)]
struct CanonicalPlan<'p> {
    account: &'p str,
    steps: Vec<CanonicalStep<'p>>,
    version: u32,
}

#[derive(Serialize)]
struct CanonicalStep<'p> {
    base: Option<Digest>,
    cause: Cause,
    desired: Option<Digest>,
    kind: Kind,
    name: &'p str,
}

impl<'p> CanonicalStep<'p> {
    fn of(step: &'p PlanStep) -> CanonicalStep<'p> {
        let change = &step.change;
        CanonicalStep {
            base: change.base,
            cause: change.cause,
            desired: change.desired,
            kind: change.key.kind,
            name: &change.key.name,
        }
    }
}
