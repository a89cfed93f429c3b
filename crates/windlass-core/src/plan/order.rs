//! The only place that decides the order of changes: a total order that respects every reference.
//!
//! Creates and updates come after the resources they refer to, destroys before them. Creates and updates come before
//! destroys, so that a reference is removed before its target is destroyed. Where references leave a choice, creates
//! and updates follow the documented order of kinds and then names, destroys the reverse of it.

use super::step::PlanStep;
use crate::code::Code;
use crate::diff::{Action, Change};
use crate::graph::Graph;
use crate::resource::{ResourceKey, ResourceMap};
use crate::resource_finding::ResourceFinding;

/// Orders changes; the error lists the cycles that make it impossible.
pub(super) fn order(changes: Vec<Change>) -> Result<Vec<PlanStep>, Vec<ResourceFinding>> {
    let mut changes = changes;
    changes.sort_by(|a, b| match (a.action() == Action::Destroy, b.action() == Action::Destroy) {
        (false, false) => a.key.cmp(&b.key),
        (true, true) => b.key.cmp(&a.key),
        (a_is_destroy, b_is_destroy) => a_is_destroy.cmp(&b_is_destroy),
    });
    let numbers: ResourceMap<usize> =
        changes.iter().enumerate().map(|(number, change)| (change.key.clone(), number)).collect();
    let mut waits_for: Vec<Vec<usize>> = changes.iter().map(|_| Vec::new()).collect();
    for number in 0..changes.len() {
        add_waits(number, &changes, &numbers, &mut waits_for);
    }
    let mut graph = Graph::new(changes.len());
    for (number, waits) in waits_for.iter_mut().enumerate() {
        waits.sort_unstable();
        waits.dedup();
        waits.iter().for_each(|first| graph.add_edge(*first, number));
    }
    let order = graph.sort().map_err(|circles| cycle_problems(&circles, &changes))?;
    let keys: Vec<ResourceKey> = changes.iter().map(|change| change.key.clone()).collect();
    let mut steps: Vec<Option<PlanStep>> = changes
        .into_iter()
        .zip(&waits_for)
        .map(|(change, waits)| {
            let waits_for = waits.iter().map(|number| keys[*number].clone()).collect();
            Some(PlanStep { change, waits_for })
        })
        .collect();
    Ok(order.into_iter().filter_map(|number| steps[number].take()).collect())
}

fn add_waits(number: usize, changes: &[Change], numbers: &ResourceMap<usize>, waits_for: &mut [Vec<usize>]) {
    let change = &changes[number];
    let name = &change.key.name;
    let is_destroyed = |other: usize| changes[other].action() == Action::Destroy;
    if let Some(after) = &change.after {
        after.references(name, &mut |reference| {
            if let Some(target) = numbers.get(reference.kind, &reference.name)
                && !is_destroyed(*target)
            {
                waits_for[number].push(*target);
            }
        });
    }
    // A destroy waits for everything that still refers to the resource: other destroys, and updates that remove the
    // reference.
    if let Some(before) = &change.before {
        before.references(name, &mut |reference| {
            if let Some(target) = numbers.get(reference.kind, &reference.name)
                && is_destroyed(*target)
            {
                waits_for[*target].push(number);
            }
        });
    }
}

fn cycle_problems(circles: &[Vec<usize>], changes: &[Change]) -> Vec<ResourceFinding> {
    circles
        .iter()
        .map(|circle| {
            let mut spelled: Vec<String> =
                circle.iter().map(|number| changes[*number].key.to_string()).collect();
            spelled.extend(spelled.first().cloned());
            let message = format!("cannot order a circle of references: {}", spelled.join(" → "));
            let key = changes[circle[0]].key.clone();
            ResourceFinding::for_resource(
                key,
                Code::ReferenceCycle,
                message,
                "remove one of these references",
            )
        })
        .collect()
}
