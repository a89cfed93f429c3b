//! The same change, reviewed once: steps that do the same to many resources are shown together.

use std::collections::BTreeMap;

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

impl Group<'_> {
    /// Where in the plan the steps are: `4`, `4–9` or `4–6, 9`.
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

/// The plan's steps with identical ones joined: same kind, same cause, same fields changed the same way (or, for
/// creates and destroys, the same spec). Groups stand where their first step does.
pub fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut found: BTreeMap<Digest, usize> = BTreeMap::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let group = *found.entry(signature(step)).or_insert_with(|| {
            groups.push(Group { kind: step.change.key.kind, cause: step.change.cause, steps: Vec::new() });
            groups.len() - 1
        });
        groups[group].steps.push((index + 1, step));
    }
    groups
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
