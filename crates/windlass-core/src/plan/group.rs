//! Groups steps that make the same change to several resources, so that they are reviewed once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ParsedPlan, ParsedStep, Plan, PlanStep, StepForecast};
use crate::content::ContentChange;
use crate::diff::{Action, Cause, Change, FieldChange};
use crate::digest::Digest;
use crate::resource::Kind;

/// A step, whether it was computed locally or read from a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepView<'p> {
    /// Computed locally.
    Computed(&'p PlanStep),
    /// Read from a document.
    Parsed(&'p ParsedStep),
}

impl<'p> StepView<'p> {
    /// The kind of resource.
    pub fn kind(self) -> Kind {
        match self {
            StepView::Computed(step) => step.change.key.kind,
            StepView::Parsed(step) => step.kind,
        }
    }

    /// Its name.
    pub fn name(self) -> &'p str {
        match self {
            StepView::Computed(step) => &step.change.key.name,
            StepView::Parsed(step) => &step.name,
        }
    }

    /// Why it changes.
    pub fn cause(self) -> Cause {
        match self {
            StepView::Computed(step) => step.change.cause,
            StepView::Parsed(step) => step.cause,
        }
    }

    /// The fields that differ, secrets masked.
    pub fn fields(self) -> Cow<'p, [FieldChange]> {
        match self {
            StepView::Computed(step) => Cow::Owned(step.change.fields()),
            StepView::Parsed(step) => Cow::Borrowed(&step.fields),
        }
    }

    /// The paths whose content changes, or that are named for the first time.
    pub fn content_changes(self) -> Cow<'p, [ContentChange]> {
        match self {
            StepView::Computed(step) => Cow::Owned(step.change.content_changes()),
            StepView::Parsed(step) => Cow::Borrowed(&step.content),
        }
    }

    /// The spec that is created, updated to or destroyed, secrets masked.
    pub fn payload(self) -> Cow<'p, Value> {
        match self {
            StepView::Computed(step) => Cow::Owned(step.change.payload()),
            StepView::Parsed(step) => Cow::Borrowed(&step.payload),
        }
    }

    /// Changes of the same plan that must be applied first.
    pub fn waits_for(self) -> Vec<String> {
        match self {
            StepView::Computed(step) => step.waits_for.iter().map(ToString::to_string).collect(),
            StepView::Parsed(step) => step.waits_for.clone(),
        }
    }

    /// Its forecast, if it was requested.
    pub fn forecast(self) -> Option<&'p StepForecast> {
        match self {
            StepView::Computed(_) => None,
            StepView::Parsed(step) => step.foreseen.as_ref(),
        }
    }

    fn signature(self) -> Digest {
        match self {
            StepView::Computed(step) => signature_of(&step.change),
            StepView::Parsed(step) => {
                signature(step.kind, step.cause, (step.base, step.desired), || json!(step.fields))
            }
        }
    }
}

/// The signature of identical changes: kind, cause and difference, without the name.
pub fn signature_of(change: &Change) -> Digest {
    signature(change.key.kind, change.cause, (change.base, change.desired), || json!(change.fields()))
}

fn signature(
    kind: Kind,
    cause: Cause,
    (base, desired): (Option<Digest>, Option<Digest>),
    fields: impl FnOnce() -> Value,
) -> Digest {
    let text = match cause.action() {
        Action::Update => serde_json::to_string(&(kind, cause, fields())),
        Action::Create => serde_json::to_string(&(kind, cause, desired)),
        Action::Destroy => serde_json::to_string(&(kind, cause, base)),
    };
    Digest::of(text.expect("plain values always serialize into memory").as_bytes())
}

/// Steps that make the same change to resources of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct StepGroup<'p> {
    /// The kind they share.
    pub kind: Kind,
    /// Why they are there.
    pub cause: Cause,
    /// The signature of their change; the same in every plan.
    pub signature: Digest,
    /// Positions in the plan, counted from 1, and the steps. Never empty.
    pub steps: Vec<(usize, StepView<'p>)>,
}

impl StepGroup<'_> {
    /// The positions of the steps in the plan: `4`, `4–9` or `4–6, 9`.
    pub fn positions(&self) -> String {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (position, _) in &self.steps {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == *position => *last = *position,
                _ => runs.push((*position, *position)),
            }
        }
        let text = |(first, last): &(usize, usize)| match first == last {
            true => first.to_string(),
            false => format!("{first}–{last}"),
        };
        match runs.as_slice() {
            [first, second, _, .., last] => format!("{}, {}, … {}", text(first), text(second), text(last)),
            few => few.iter().map(text).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The plan's steps with identical ones grouped: same kind, same cause, same fields changed the same way (or, for
/// creates and destroys, the same spec). A group is at the position of its first step.
pub fn groups(plan: &Plan) -> Vec<StepGroup<'_>> {
    join_identical(plan.steps.iter().enumerate().map(|(index, step)| (index + 1, StepView::Computed(step))))
}

impl ParsedPlan {
    /// The steps with identical ones grouped.
    pub fn groups(&self) -> Vec<StepGroup<'_>> {
        join_identical(self.steps.iter().map(|step| (step.position, StepView::Parsed(step))))
    }
}

/// Groups identical steps.
fn join_identical<'p>(steps: impl Iterator<Item = (usize, StepView<'p>)>) -> Vec<StepGroup<'p>> {
    let mut groups: Vec<StepGroup<'_>> = Vec::new();
    let mut found: BTreeMap<Digest, usize> = BTreeMap::new();
    for (position, step) in steps {
        let signature = step.signature();
        let group = *found.entry(signature).or_insert_with(|| {
            groups.push(StepGroup { kind: step.kind(), cause: step.cause(), signature, steps: Vec::new() });
            groups.len() - 1
        });
        groups[group].steps.push((position, step));
    }
    groups
}
