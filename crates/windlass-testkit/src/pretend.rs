//! Applying a plan to a made-up world, and refusing what a real one would.

use std::sync::Arc;

use windlass_core::diff::Action;
use windlass_core::live::{Live, LiveResource, Owner};
use windlass_core::plan::{Plan, Step};
use windlass_core::resource::Kind;

/// The live state after every step of a plan, or the first step that could not have been applied.
pub fn apply(live: &Live, plan: &Plan, repository: &Owner) -> Result<Live, String> {
    let mut live = live.clone();
    for step in &plan.steps {
        apply_step(&mut live, step, repository).map_err(|why| format!("{}: {why}", step.change.key))?;
    }
    Ok(live)
}

fn apply_step(live: &mut Live, step: &Step, repository: &Owner) -> Result<(), String> {
    let change = &step.change;
    let current = live.resources.get(change.key.kind, &change.key.name);
    if current.map(|current| current.digest) != change.base {
        return Err("the live state is not what the plan was made for".to_owned());
    }
    if let Some(current) = current
        && current.owner != *repository
        && (current.owner != Owner::Nobody || change.action() == Action::Destroy)
    {
        return Err(format!("it is owned by {:?}", current.owner));
    }
    match (&change.after, change.desired) {
        (Some(spec), Some(digest)) => {
            check_references(live, step)?;
            let resource = LiveResource { spec: Arc::clone(spec), digest, owner: repository.clone() };
            live.resources.insert(change.key.clone(), resource);
        }
        _ => {
            check_unreferenced(live, change.key.kind, &change.key.name)?;
            live.resources.remove(change.key.kind, &change.key.name);
        }
    }
    Ok(())
}

/// Like a foreign key: what is referred to must be there.
fn check_references(live: &Live, step: &Step) -> Result<(), String> {
    let mut missing = None;
    if let Some(after) = &step.change.after {
        after.references(&step.change.key.name, &mut |reference| {
            if !live.resources.contains(reference.kind, &reference.name) {
                missing = Some(format!("{} {} is not there yet", reference.kind, reference.name));
            }
        });
    }
    missing.map_or(Ok(()), Err)
}

/// Like a foreign key: what is destroyed must not be referred to.
fn check_unreferenced(live: &Live, kind: Kind, name: &str) -> Result<(), String> {
    for (other_kind, other, resource) in live.resources.iter() {
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
