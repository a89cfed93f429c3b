//! The same change, reviewed once: steps that do the same to many resources are shown together.

use serde_json::json;

use super::{Plan, Step};
use crate::diff::{Action, Cause};
use crate::digest::Digest;
use crate::resource::Kind;

/// Steps that make the same change to resources of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Group<'p> {
    /// The kind they share.
    pub kind: Kind,
    /// Why they are there.
    pub cause: Cause,
    /// Positions in the plan, counted from 1, and the steps. Never empty.
    pub steps: Vec<(usize, &'p Step)>,
}

/// The plan's steps with identical neighbours joined: same kind, same cause, same fields changed the same way (or, for
/// creates and destroys, the same spec). Groups stand where their first step does.
pub fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: Vec<(Digest, Group<'_>)> = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let signature = signature(step);
        match groups.last_mut() {
            Some((last, group)) if *last == signature => group.steps.push((index + 1, step)),
            _ => {
                let group = Group {
                    kind: step.change.key.kind,
                    cause: step.change.cause,
                    steps: vec![(index + 1, step)],
                };
                groups.push((signature, group));
            }
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn signature(step: &Step) -> Digest {
    let change = &step.change;
    let what = match change.action() {
        Action::Update => json!(change.fields()),
        Action::Create => json!(change.desired),
        Action::Destroy => json!(change.base),
    };
    Digest::of(json!([change.key.kind, change.cause, what]).to_string().as_bytes())
}
