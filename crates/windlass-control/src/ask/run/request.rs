//! Requesting a sync.

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::SyncBody;
use windlass_core::id::RunId;
use windlass_core::repository::Repository;
use windlass_core::run::Trigger;
use windlass_store::Reading;

use crate::ask::repository::find::find;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::gate::gatekeeper::may_approve;
use crate::flow::sync::queue::{SyncConfirmation, SyncRequest, queue_run};
use crate::record;
use crate::refusal::Refusal;

/// Requests a sync and returns the id of its run.
pub async fn request_sync(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &SyncBody,
) -> Result<RunId, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    // A request for a run changes nothing that the run compares.
    writing.keep_state();
    let mass_destroy = read_confirmation(&mut writing, who, &repository, body).await?;
    let mut detail = json!({"confirm_mass_destroy": body.confirm_mass_destroy});
    if let SyncConfirmation::Confirmed { commit } = &mass_destroy {
        detail["commit_sha"] = json!(commit);
    }
    let request = SyncRequest { mass_destroy, ..SyncRequest::new(Trigger::Request, Some(&who.email)) };
    let run_id = queue_run(&mut writing, &repository, &request, now).await?;
    detail["sync_run_id"] = json!(run_id);
    writing.audit(record::audit_entry(
        &who.actor(),
        "repository.sync",
        ("repository", &repository.name),
        detail,
        now,
    ));
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    Ok(run_id)
}

/// Whether a request confirms a mass destroy. That needs the permission to approve, and covers one commit: the given one, or
/// the one of the newest run that was stopped.
async fn read_confirmation(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    body: &SyncBody,
) -> Result<SyncConfirmation, Refusal> {
    let given = body.commit.as_deref().map(str::trim).filter(|commit| !commit.is_empty());
    if !body.confirm_mass_destroy {
        let message = "`commit` needs `confirm_mass_destroy`";
        let help = "omit `commit`, or set `confirm_mass_destroy`";
        return match given {
            Some(_) => Err(Refusal::unprocessable("conflicting-keys", message, help)),
            None => Ok(SyncConfirmation::Unconfirmed),
        };
    }
    if !may_approve(who) {
        let needed = Permission::GitopsApprove;
        return Err(Refusal::forbidden(
            format!("confirming a mass destroy needs the permission {needed}"),
            "ask an approver to confirm it, or sync without confirming",
        ));
    }
    let commit = match given {
        Some(commit) => Some(read_commit(commit)?),
        None => {
            reading.run_last_stopped(&who.account_id, &repository.id).await?.and_then(|run| run.commit_sha)
        }
    };
    Ok(SyncConfirmation::Confirmed { commit })
}

/// Parses a full commit id, as runs show it.
fn read_commit(text: &str) -> Result<String, Refusal> {
    let is_whole = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_whole {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(Refusal::unprocessable(
            "bad-value",
            "commit: not a full commit id",
            "give the `commit_sha` of the run that was stopped",
        )),
    }
}
