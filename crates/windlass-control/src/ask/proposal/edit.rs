//! Changing a proposal before approval.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::diff::Action;
use windlass_core::event::EventKind;
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::id::ProposalId;
use windlass_core::proposal::{Edit, Proposal, Status};
use windlass_core::resource::Spec;
use windlass_core::shape::Defaults;
use windlass_store::AuditEntry;

use crate::account_state::modules::with_known_versions;
use crate::ask::proposal::decision::{DecisionError, DecisionResult, record_refusal};
use crate::caller::Identity;
use crate::clock::now;
use crate::content_differences::with_known_contents;
use crate::control::Control;
use crate::flow::propose::blocked;
use crate::payload::{restore_hidden, spec_value};
use crate::record;

/// Changes what a pending proposal would apply; null discards the edit. Earlier approvals no longer count.
pub async fn edit(
    server: &Control,
    who: &Identity,
    id: &ProposalId,
    payload: &Value,
    version: Option<i64>,
) -> DecisionResult {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let proposal = writing.proposal(&who.account_id, id).await?.ok_or(DecisionError::NotFound)?;
    if proposal.status != Status::PendingApproval {
        let error = DecisionError::Closed(proposal.status);
        record_refusal(&mut writing, who, &proposal, "proposal.edit", &error, now);
        server.commit(writing).await?;
        return Err(error);
    }
    if proposal.change.action() == Action::Destroy {
        return Err(DecisionError::InvalidRequest("a destroy cannot be edited: reject it instead"));
    }
    let before = proposal.effective_digest();
    let edited = match payload {
        Value::Null => None,
        payload => {
            let (spec, known) = read_edit(&proposal, payload)?;
            let key = &proposal.change.key;
            let spec = with_known_versions(&mut writing, &who.account_id, key, spec, &known).await?;
            Some(Edit { digest: spec.digest(), spec: Arc::new(spec), by: who.email.clone() })
        }
    };
    let version = version.unwrap_or(proposal.version);
    // Everyone who edited it is a contributor, not only the last editor.
    let mut contributors = proposal.contributors.clone();
    contributors.add(Contributor::new(ContributorRole::Editor, &who.email));
    if !writing.proposal_edit(id, version, edited.as_ref(), &contributors).await? {
        return Err(DecisionError::VersionConflict);
    }
    blocked::update_blockers(&mut writing, id).await?;
    let after = edited.as_ref().map(|edit| edit.digest).or(proposal.change.desired);
    let detail = json!({"resource": proposal.change.key.to_string()});
    writing.audit(AuditEntry {
        before,
        after,
        ..record::audit_entry(&who.actor(), "proposal.edit", ("proposal", id.as_str()), detail, now)
    });
    let mut event = record::proposal_event(
        &proposal,
        proposal.run_id.as_ref(),
        Status::PendingApproval,
        &who.email,
        None,
        now,
    );
    event.kind = EventKind::ProposalEdited;
    event.message = format!("edited: {}", proposal.change.key);
    writing.event(event);
    server.commit(writing).await?;
    Ok(())
}

/// Reads what someone wrote, and returns it with the specs that tell what Windlass adds to it.
fn read_edit<'p>(proposal: &'p Proposal, payload: &Value) -> Result<(Spec, Vec<&'p Spec>), DecisionError> {
    let key = &proposal.change.key;
    let shown = proposal.effective().map(|spec| spec.to_json(Defaults::Fill));
    let spec = spec_value(key.kind, &key.name, payload)
        .and_then(|spec| restore_hidden(key.kind, spec, shown.as_ref()))
        .map_err(|problem| DecisionError::InvalidEdit(vec![*problem]))?;
    let read = Spec::read(key.kind, &spec.to_string());
    let Some(spec) = read.spec else { return Err(DecisionError::InvalidEdit(read.diagnostics)) };
    let change = &proposal.change;
    let known: Vec<&Spec> = [proposal.effective(), change.after.as_ref(), change.before.as_ref()]
        .into_iter()
        .flatten()
        .map(Arc::as_ref)
        .collect();
    let spec =
        with_known_contents(&spec, &known).map_err(|problem| DecisionError::InvalidEdit(vec![*problem]))?;
    Ok((spec, known))
}
