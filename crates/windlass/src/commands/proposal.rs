//! `windlass proposal`: looking at proposals and deciding about them.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    ApproveBody, BatchBody, BatchDecision, BatchResult, ProposalEnvelope, ProposalInfo, ProposalList,
    RejectBody, RunEnvelope,
};

use super::confirm::{Asked, Consent, confirm};
use super::find::{self, Amount};
use super::remote::Remote;
use super::{approve_set, edit};
use crate::args::gitops::{Paging, ProposalCommand, Which};
use crate::exit::{CommandError, Exit};
use crate::view;

/// Proposals that are decided about in one request: an id and a digest of each stay well below what a server reads.
const IN_ONE_REQUEST: usize = 1_000;

pub(super) fn run(command: &ProposalCommand, remote: &Remote) -> Result<Exit, CommandError> {
    match command {
        ProposalCommand::List { status, repo, run, kind, query, paging } => {
            let run = run.as_deref().map(|word| find::run(word, remote)).transpose()?;
            let kind = kind.as_deref().map(find::noun).transpose()?.map(|noun| noun.kind().slug().to_owned());
            let filters = [
                ("repository", repo),
                ("run", &run),
                ("kind", &kind),
                ("q", query),
                ("status", &Some(states(status))),
            ];
            list(&filters, *paging, remote)
        }
        ProposalCommand::Show { id } => {
            let id = find::proposal(id, remote)?;
            let answer = remote.ask(remote.call(Operation::ProposalShow, &[&id]))?;
            show(&answer, remote)
        }
        ProposalCommand::Approve {
            which: Which { run: Some(run), .. },
            plan,
            group,
            include_destroys,
            reason,
            yes,
        } => {
            let wanted = approve_set::Wanted { plan: plan.as_deref(), group: group.as_deref() };
            let answer = approve_set::Answer {
                reason: reason.clone(),
                asked: (*yes).into(),
                include_destroys: *include_destroys,
            };
            approve_set::run(run, &wanted, &answer, remote)
        }
        ProposalCommand::Approve { which, reason, yes, .. } => {
            let proposals = chosen(which, "pending_approval", remote)?;
            let decision = Decision::Approve { reason: reason.clone() };
            decide(&proposals, &decision, (*yes).into(), remote)
        }
        ProposalCommand::Reject { which, reason, until_change, yes } => {
            let proposals = chosen(which, "open", remote)?;
            let decision = Decision::Reject { reason: reason.clone(), until_change: *until_change };
            // Proposals that were named one by one are meant; the next sync offers them again anyway.
            let asked = if which.ids.is_empty() { (*yes).into() } else { Asked::AlreadyYes };
            decide(&proposals, &decision, asked, remote)
        }
        ProposalCommand::Edit { id, file, undo } => {
            let id = find::proposal(id, remote)?;
            edit::run(&id, &edit::Source::of(file.as_deref(), *undo), remote)
        }
    }
}

/// States as the server spells them: what lists show in short can be asked for in short.
fn states(words: &str) -> String {
    let state = |word: &str| match word.trim() {
        "pending" => "pending_approval".to_owned(),
        "by-hand" => "applied_manually".to_owned(),
        other => other.to_owned(),
    };
    words.split(',').map(state).collect::<Vec<_>>().join(",")
}

fn list(filters: &[(&str, &Option<String>)], paging: Paging, remote: &Remote) -> Result<Exit, CommandError> {
    let call = || {
        let begun = remote.call(Operation::ProposalList, &[]);
        filters.iter().fold(begun, |call, (name, value)| call.query_if(name, value.as_ref()))
    };
    let answer = find::pages(remote, "proposals", paging.into(), call)?;
    remote.show::<ProposalList>(&answer, |list, terminal| view::proposal::list(&list.proposals, terminal))?;
    find::tell_more(&answer, remote)?;
    Ok(Exit::Fine)
}

/// Prints an answer that is one proposal.
pub(super) fn show(answer: &serde_json::Value, remote: &Remote) -> Result<Exit, CommandError> {
    remote
        .show::<ProposalEnvelope>(answer, |shown, terminal| view::proposal::one(&shown.proposal, terminal))?;
    Ok(Exit::Fine)
}

/// Approves the open proposals of a run one by one.
pub(super) fn approve_open(
    run: &str,
    reason: Option<String>,
    asked: Asked,
    remote: &Remote,
) -> Result<Exit, CommandError> {
    let which = Which { ids: Vec::new(), run: Some(run.to_owned()), all: false };
    let proposals = chosen(&which, "pending_approval", remote)?;
    decide(&proposals, &Decision::Approve { reason }, asked, remote)
}

/// What to do with proposals.
enum Decision {
    Approve { reason: Option<String> },
    Reject { reason: Option<String>, until_change: bool },
}

impl Decision {
    fn verb(&self) -> &'static str {
        match self {
            Decision::Approve { .. } => "Approve",
            Decision::Reject { .. } => "Reject",
        }
    }
}

/// The proposals that are meant, in the order in which they would be applied.
pub(super) fn chosen(
    which: &Which,
    status: &str,
    remote: &Remote,
) -> Result<Vec<ProposalInfo>, CommandError> {
    if !which.ids.is_empty() {
        return find::proposals(&which.ids, remote);
    }
    let call = || remote.call(Operation::ProposalList, &[]).query("status", status);
    let mut list: ProposalList = remote.read(&find::pages(remote, "proposals", Amount::All, call)?)?;
    if let Some(run) = &which.run {
        // A run's proposals may have been opened by an earlier one, so the run itself is asked which they are.
        let id = find::run(run, remote)?;
        let shown: RunEnvelope = remote.get(remote.call(Operation::RunShow, &[&id]))?;
        let ids: BTreeSet<&str> =
            shown.sync_run.proposals.iter().map(|proposal| proposal.id.as_str()).collect();
        list.proposals.retain(|proposal| ids.contains(proposal.id.as_str()));
    }
    list.proposals.sort_by(|a, b| (&a.run_id, a.position).cmp(&(&b.run_id, b.position)));
    Ok(list.proposals)
}

fn decide(
    proposals: &[ProposalInfo],
    decision: &Decision,
    asked: Asked,
    remote: &Remote,
) -> Result<Exit, CommandError> {
    if proposals.is_empty() {
        remote.say("nothing waits for a decision")?;
        return Ok(Exit::Fine);
    }
    if remote.is_for_people() {
        view::proposal::reviewed(proposals, &remote.terminal)?;
    }
    let question = format!("{} {}?", decision.verb(), view::count(proposals.len(), "change"));
    if confirm(&question, asked)? == Consent::Refused {
        return Ok(Exit::Problems);
    }
    match proposals {
        [one] => decide_one(one, decision, remote),
        many => decide_all(many, decision, remote),
    }
}

fn decide_one(proposal: &ProposalInfo, decision: &Decision, remote: &Remote) -> Result<Exit, CommandError> {
    let call = match decision {
        Decision::Approve { reason } => {
            // The digest of what was shown: if it is something else by now, the server refuses.
            let body = ApproveBody { digest: Some(proposal.digest.clone()), reason: reason.clone() };
            remote.call(Operation::ProposalApprove, &[&proposal.id]).body(&body)
        }
        Decision::Reject { reason, until_change } => {
            let body = RejectBody { reason: reason.clone(), until_change: *until_change };
            remote.call(Operation::ProposalReject, &[&proposal.id]).body(&body)
        }
    };
    let answer = remote.ask(call)?;
    remote.show::<ProposalEnvelope>(&answer, |shown, _| view::proposal::decided(&shown.proposal))?;
    Ok(Exit::Fine)
}

fn decide_all(
    proposals: &[ProposalInfo],
    decision: &Decision,
    remote: &Remote,
) -> Result<Exit, CommandError> {
    let mut all = BatchResult { done: 0, refused: 0, results: Vec::new() };
    for part in proposals.chunks(IN_ONE_REQUEST) {
        let answer =
            remote.ask(remote.call(Operation::ProposalBatch, &[]).body(&batch_of(part, decision)))?;
        let result: BatchResult = remote.read(&answer)?;
        all.done += result.done;
        all.refused += result.refused;
        all.results.extend(result.results);
    }
    let answer = serde_json::to_value(&all).unwrap_or_default();
    let result = remote.show::<BatchResult>(&answer, |result, _| view::proposal::batch(result, proposals))?;
    Ok(if result.refused == 0 { Exit::Fine } else { Exit::Problems })
}

fn batch_of(proposals: &[ProposalInfo], decision: &Decision) -> BatchBody {
    let digests: BTreeMap<String, String> =
        proposals.iter().map(|proposal| (proposal.id.clone(), proposal.digest.clone())).collect();
    let (word, reason, until_change) = match decision {
        Decision::Approve { reason } => (BatchDecision::Approve, reason, false),
        Decision::Reject { reason, until_change } => (BatchDecision::Reject, reason, *until_change),
    };
    BatchBody {
        decision: word,
        ids: proposals.iter().map(|proposal| proposal.id.clone()).collect(),
        approval_request_id: None,
        digests,
        reason: reason.clone(),
        until_change,
    }
}
