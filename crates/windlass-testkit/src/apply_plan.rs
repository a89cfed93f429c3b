//! Applies a plan to an accepted state in memory, and rejects what a real server would.

use std::sync::Arc;

use windlass_core::accepted::{Accepted, AcceptedResource, Owner};
use windlass_core::diff::Action;
use windlass_core::plan::{Plan, PlanStep};
use windlass_core::resource::Kind;

/// The accepted state after every step of a plan; the error names the first step that could not be applied.
pub fn apply(accepted: &Accepted, plan: &Plan, repository: &Owner) -> Result<Accepted, String> {
    let mut accepted = accepted.clone();
    for step in &plan.steps {
        apply_step(&mut accepted, step, repository).map_err(|why| format!("{}: {why}", step.change.key))?;
    }
    Ok(accepted)
}

fn apply_step(accepted: &mut Accepted, step: &PlanStep, repository: &Owner) -> Result<(), String> {
    let change = &step.change;
    let current = accepted.resources.get(change.key.kind, &change.key.name);
    if current.map(|current| current.digest) != change.base {
        return Err("the accepted state is not what the plan was made for".to_owned());
    }
    if let Some(current) = current
        && current.owner != *repository
        && (current.owner != Owner::Nobody || change.action() == Action::Destroy)
    {
        return Err(format!("it is owned by {:?}", current.owner));
    }
    match (&change.after, change.desired) {
        (Some(spec), Some(digest)) => {
            check_references(accepted, step)?;
            let resource = AcceptedResource { spec: Arc::clone(spec), digest, owner: repository.clone() };
            accepted.resources.insert(change.key.clone(), resource);
        }
        _ => {
            check_unreferenced(accepted, change.key.kind, &change.key.name)?;
            accepted.resources.remove(change.key.kind, &change.key.name);
        }
    }
    Ok(())
}

/// Like a foreign key: every reference must exist.
fn check_references(accepted: &Accepted, step: &PlanStep) -> Result<(), String> {
    let mut missing = None;
    if let Some(after) = &step.change.after {
        after.references(&step.change.key.name, &mut |reference| {
            if !accepted.resources.contains(reference.kind, &reference.name) {
                missing = Some(format!("{} {} is not there yet", reference.kind, reference.name));
            }
        });
    }
    missing.map_or(Ok(()), Err)
}

/// Like a foreign key: a resource that is destroyed must not be referenced.
fn check_unreferenced(accepted: &Accepted, kind: Kind, name: &str) -> Result<(), String> {
    for (other_kind, other, resource) in accepted.resources.iter() {
        let mut refers = false;
        resource
            .spec
            .references(other, &mut |reference| refers |= reference.kind == kind && reference.name == name);
        if refers {
            return Err(format!("{other_kind} {other} still refers to it"));
        }
    }
    Ok(())
}
