//! `windlass proposal approve --run`: a whole plan, or a group of identical changes in it, approved as one.

use windlass_api::endpoint::Operation;
use windlass_api::types::{ApproveSetBody, ApprovedSet, ChangeSetInfo, RunEnvelope, RunInfo};

use super::confirm::{ConfirmAnswer, Preconfirmed, confirm};
use super::decide::approve_open;
use super::find;
use super::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

/// Which set was reviewed; the whole plan as it is shown if neither is given.
pub(super) struct SetSelection<'w> {
    pub(super) plan: Option<&'w str>,
    pub(super) group: Option<&'w str>,
}

/// What was said on the command line.
pub(super) struct ApprovalOptions {
    pub(super) reason: Option<String>,
    pub(super) asked: Preconfirmed,
    pub(super) include_destroys: bool,
}

pub(super) fn run(
    run: &str,
    wanted: &SetSelection<'_>,
    answer: &ApprovalOptions,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let id = find::run(run, remote)?;
    let shown: RunEnvelope = remote.get(remote.call(Operation::RunShow, &[&id]))?;
    let run = &shown.sync_run;
    let is_named = wanted.plan.is_some() || wanted.group.is_some();
    if run.sets.is_empty() && !is_named {
        // A newer run has another plan: what of this one is still open is approved by itself.
        return approve_open(&id, answer.reason.clone(), answer.asked, remote);
    }
    let set = find_set(run, wanted)?;
    if remote.is_for_people() {
        view::plan_set::reviewed(set, &run.sets)?;
    }
    let question =
        format!("Approve {}, including changes not proposed yet?", view::plan_set::set_summary(set));
    if confirm(&question, answer.asked)? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let body = ApproveSetBody {
        digest: set.digest.clone(),
        // Who was asked was told how many there are.
        include_destroys: answer.include_destroys || answer.asked == Preconfirmed::NotYet,
        reason: answer.reason.clone(),
    };
    let told = remote.ask(remote.call(Operation::RunApprove, &[&id]).body(&body))?;
    let approved = remote.show::<ApprovedSet>(&told, |approved, _| view::plan_set::approved(approved))?;
    Ok(if approved.not_counted.is_empty() { Exit::Fine } else { Exit::Problems })
}

fn find_set<'r>(run: &'r RunInfo, wanted: &SetSelection<'_>) -> Result<&'r ChangeSetInfo, CommandError> {
    let other = |what: &str, now: &str| {
        let message = format!("the run has no such {what}");
        CommandError::usage(
            message,
            format!("`windlass run show {}` lists the plan and its groups{now}", run.id),
        )
    };
    let whole = run.sets.first().ok_or_else(|| other("plan", ""))?;
    match (wanted.plan, wanted.group) {
        (Some(digest), _) => {
            let is_plan = run.plan_digest.as_deref() == Some(digest) || whole.digest == digest;
            is_plan.then_some(whole).ok_or_else(|| other("plan", "; the plan may have changed"))
        }
        (None, Some(digest)) => {
            let begins = |set: &&ChangeSetInfo| {
                set.digest == digest || set.digest.trim_start_matches("sha256:").starts_with(digest)
            };
            let mut found = run.sets.iter().skip(1).filter(begins);
            match (found.next(), found.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(other("group", "")),
                (Some(_), Some(_)) => Err(other("single group", "; give more of the digest")),
            }
        }
        (None, None) => Ok(whole),
    }
}
