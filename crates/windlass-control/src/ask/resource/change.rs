//! Direct changes of accepted resources. The gate checks each change like one from git, and the change is drift where git
//! declares something else.

use std::sync::Arc;

use serde_json::Value;
use windlass_api::noun::Noun;
use windlass_api::types::WaitingChange;
use windlass_core::conflict::{Candidate, Claimant};
use windlass_core::diff::{Cause, Change};
use windlass_core::id::RepositoryId;
use windlass_core::proposal::{BlockedBy, ResourceLookup as _, blockers};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::shape::Defaults;
use windlass_core::value::{Lifecycle, LifecycleStep};
use windlass_store::{AccountWriting, Resource};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::load::load_account_state;
use crate::account_state::modules::with_known_versions;
use crate::ask::proposal::list;
use crate::ask::resource::direct::{DirectChange, DirectOutcome, change_directly};
use crate::ask::resource::list::{find, resource_body};
use crate::caller::Identity;
use crate::content_differences::with_known_contents;
use crate::control::Control;
use crate::page::IfMatch;
use crate::payload::{name_of, restore_hidden, spec_value, unwrap_noun};
use crate::refusal::Refusal;

/// How much of a resource a request replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UpdateExtent {
    /// The fields it names.
    Fields,
    /// All of it.
    Whole,
}

/// What a request specifies about a direct change besides the change itself.
pub struct DirectChangeOptions {
    /// The version that the caller knows.
    pub if_match: IfMatch,
    /// The reason, if the caller gave one.
    pub reason: Option<String>,
}

/// Parses a spec that someone wrote and adds the known contents of the files it names; `before` is the accepted spec.
fn read_spec(kind: Kind, value: &Value, before: Option<&Spec>) -> Result<Spec, Refusal> {
    let read = Spec::read(kind, &value.to_string());
    let spec = read.spec.ok_or_else(|| Refusal::invalid_resource(&read.diagnostics))?;
    with_known_contents(&spec, before.as_slice()).map_err(|problem| Refusal::invalid_resource(&[*problem]))
}

/// [`check_reason`] for the specs of a resource.
fn check_step(before: &Spec, after: &Spec, reason: Option<&str>) -> Result<(), Refusal> {
    let (Spec::ModuleVersion(before), Spec::ModuleVersion(after)) = (before, after) else { return Ok(()) };
    check_reason(before.state, after.state, reason)
}

/// Rejects taking a version back to an earlier state without a reason.
pub(crate) fn check_reason(before: Lifecycle, after: Lifecycle, reason: Option<&str>) -> Result<(), Refusal> {
    let is_back = before.step_to(after) == LifecycleStep::Back;
    if is_back && reason.is_none_or(|reason| reason.trim().is_empty()) {
        let message =
            format!("taking a version back from {} to {} needs a reason", before.word(), after.word());
        return Err(Refusal::unprocessable("reason-missing", message, "give a reason"));
    }
    Ok(())
}

/// The outcome of a direct change.
pub enum DirectAnswer {
    /// It was applied: the resource as responses show it, and its generation.
    Made(Value, i64),
    /// It is a proposal now.
    Waits(Box<WaitingChange>),
}

/// Creates a resource if the gate allows it; otherwise opens a proposal.
pub async fn create_resource(
    server: &Control,
    who: &Identity,
    noun: Noun,
    body: &Value,
    reason: Option<&str>,
) -> Result<DirectAnswer, Refusal> {
    let kind = noun.kind();
    let payload = unwrap_noun(noun.singular(), body);
    let Some(name) = name_of(kind, payload) else {
        let message = format!("the {kind} has no name");
        return Err(Refusal::unprocessable("missing-key", message, "give `name` (nodes: `hostname`)"));
    };
    let key = ResourceKey::read(kind, &name).map_err(|complaint| {
        Refusal::unprocessable("bad-name", complaint.message, complaint.help.unwrap_or_default())
    })?;
    let value = spec_value(kind, &name, payload)
        .and_then(|value| restore_hidden(kind, value, None))
        .map_err(|problem| Refusal::invalid_resource(&[*problem]))?;
    let spec = read_spec(kind, &value, None)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    if writing.resource(&who.account_id, &key).await?.is_some() {
        let message = format!("{key} already exists");
        return Err(Refusal::conflict("taken", message, "change it with PATCH or PUT"));
    }
    let spec = with_known_versions(&mut writing, &who.account_id, &key, spec, &[]).await?;
    let change = change_to(&mut writing, who, &key, None, spec).await?;
    let answer = match submit_direct_change(server, &mut writing, who, change, (None, reason)).await? {
        Some(waiting) => DirectAnswer::Waits(Box::new(waiting)),
        None => {
            let (body, generation) = resource_body(&mut writing, who, noun, &key).await?;
            DirectAnswer::Made(body, generation)
        }
    };
    server.commit(writing).await?;
    nudge_after_change(server);
    Ok(answer)
}

/// Wakes the apply loop, because proposals may no longer be blocked, the drift loop, because git may differ now, and the
/// sync loop, because a run may be queued for what follows a module version.
fn nudge_after_change(server: &Control) {
    server.nudges().sync.notify_one();
    server.nudges().apply.notify_one();
    server.nudges().drift.notify_one();
}

/// Changes fields of a resource or all of it if the gate allows it; otherwise opens a proposal.
pub async fn change_resource(
    server: &Control,
    who: &Identity,
    (noun, id, extent): (Noun, &str, UpdateExtent),
    body: &Value,
    options: &DirectChangeOptions,
) -> Result<DirectAnswer, Refusal> {
    let kind = noun.kind();
    let payload = unwrap_noun(noun.singular(), body);
    let mut writing = server.store().write_account(&who.account_id).await?;
    let before = find(&mut writing, who, kind, id).await?;
    options.if_match.check(before.generation)?;
    let known = before.spec.to_json(Defaults::Fill);
    let given = spec_value(kind, &before.key.name, payload)
        .and_then(|value| restore_hidden(kind, value, Some(&known)))
        .map_err(|problem| Refusal::invalid_resource(&[*problem]))?;
    let value = match extent {
        UpdateExtent::Whole => given,
        UpdateExtent::Fields => merged(before.spec.to_json(Defaults::Omit), given),
    };
    let spec = read_spec(kind, &value, Some(&before.spec))?;
    let spec = with_known_versions(&mut writing, &who.account_id, &before.key, spec, &[&before.spec]).await?;
    check_step(&before.spec, &spec, options.reason.as_deref())?;
    let mut waiting = None;
    if spec.digest() != before.digest {
        let change = change_to(&mut writing, who, &before.key, Some(&before), spec).await?;
        let owner_and_reason = (before.owner_id.clone(), options.reason.as_deref());
        waiting = submit_direct_change(server, &mut writing, who, change, owner_and_reason).await?;
    }
    let answer = match waiting {
        Some(waiting) => DirectAnswer::Waits(Box::new(waiting)),
        None => {
            let (body, generation) = resource_body(&mut writing, who, noun, &before.key).await?;
            DirectAnswer::Made(body, generation)
        }
    };
    server.commit(writing).await?;
    nudge_after_change(server);
    Ok(answer)
}

/// `base` with the fields of `over`; null removes a field. Nested maps are merged too.
fn merged(mut base: Value, over: Value) -> Value {
    match (&mut base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match value {
                    Value::Null => drop(base.remove(&key)),
                    value => {
                        let old = base.remove(&key).unwrap_or(Value::Null);
                        base.insert(key, merged(old, value));
                    }
                }
            }
        }
        (_, over) => base = over,
    }
    base
}

/// The change to a new spec. Fails if the spec conflicts with other resources or refers to one that does not exist.
async fn change_to(
    writing: &mut AccountWriting,
    who: &Identity,
    key: &ResourceKey,
    before: Option<&Resource>,
    spec: Spec,
) -> Result<Change, Refusal> {
    let change = Change {
        key: key.clone(),
        cause: if before.is_some() { Cause::Edited } else { Cause::Declared },
        before: before.map(|before| Arc::clone(&before.spec)),
        base: before.map(|before| before.digest),
        desired: Some(spec.digest()),
        after: Some(Arc::new(spec)),
    };
    let candidate = Candidate { change: &change, claimant: Claimant::Person };
    let state = load_account_state(writing, &who.account_id, &[candidate], DeclarationSource::Stored).await?;
    let conflicts = state.conflicts(candidate);
    if let Some(conflict) = conflicts.first() {
        let help = "choose other addresses, or change the other resource first";
        return Err(Refusal::conflict("conflict", conflict.to_string(), help));
    }
    let missing = blockers(&change, &state, &conflicts);
    if let Some(reused) = missing.iter().find(|it| matches!(it, BlockedBy::VersionReused { .. })) {
        return Err(Refusal::conflict("version-reused", reused.to_string(), "change `version` too"));
    }
    if !missing.is_empty() {
        let help = "create the resources it refers to first";
        return Err(Refusal::unprocessable(
            "reference-unresolved",
            BlockedBy::sentences(&missing).join("; "),
            help,
        ));
    }
    Ok(change)
}

/// Applies a direct change, or opens a proposal for it and returns that.
async fn submit_direct_change(
    server: &Control,
    writing: &mut AccountWriting,
    who: &Identity,
    change: Change,
    (owner_id, reason): (Option<RepositoryId>, Option<&str>),
) -> Result<Option<WaitingChange>, Refusal> {
    let lifetime = server.config().intervals.proposal_lifetime;
    let direct = DirectChange { who, change, owner_id, reason, lifetime };
    let DirectOutcome::AwaitingApproval(id) = change_directly(writing, direct).await? else {
        return Ok(None);
    };
    let found = writing.proposal(&who.account_id, &id).await?.ok_or_else(Refusal::not_found)?;
    let described = list::describe(writing, who, &[found]).await?;
    let proposal = described.into_iter().next().ok_or_else(Refusal::not_found)?;
    let gate = proposal.gate.as_ref();
    let waits_for: Vec<String> =
        gate.into_iter().flat_map(|gate| gate.reasons.iter().chain(&gate.holds)).cloned().collect();
    let message = format!("the change needs approval and is now a proposal. {}", waits_for.join("; "));
    Ok(Some(WaitingChange { proposal, message: message.trim_end().to_owned() }))
}

/// Destroys a resource if the gate allows it and returns none; otherwise opens a proposal and returns that.
pub async fn remove_resource(
    server: &Control,
    who: &Identity,
    (noun, id): (Noun, &str),
    options: &DirectChangeOptions,
) -> Result<Option<WaitingChange>, Refusal> {
    let mut writing = server.store().write_account(&who.account_id).await?;
    let before = find(&mut writing, who, noun.kind(), id).await?;
    options.if_match.check(before.generation)?;
    if before.spec.is_protected() {
        let message = format!("{} has `protect: true`", before.key);
        return Err(Refusal::conflict("protected", message, "remove `protect: true` first"));
    }
    let change = Change {
        key: before.key.clone(),
        cause: Cause::Removed,
        base: Some(before.digest),
        before: Some(Arc::clone(&before.spec)),
        after: None,
        desired: None,
    };
    let candidate = Candidate { change: &change, claimant: Claimant::Person };
    let state =
        load_account_state(&mut writing, &who.account_id, &[candidate], DeclarationSource::Stored).await?;
    let referrers = state.referrers(&before.key);
    if let Some(first) = referrers.first() {
        let more =
            if referrers.len() > 1 { format!(" and {} more", referrers.len() - 1) } else { String::new() };
        let message = format!("{first}{more} still refers to it");
        return Err(Refusal::conflict("referenced", message, "change or delete those first"));
    }
    let owner_and_reason = (before.owner_id, options.reason.as_deref());
    let waiting = submit_direct_change(server, &mut writing, who, change, owner_and_reason).await?;
    server.commit(writing).await?;
    nudge_after_change(server);
    Ok(waiting)
}
