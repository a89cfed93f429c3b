//! Deciding about proposals: about one, or about many in a few requests.

use std::collections::BTreeMap;

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    ApproveBody, BatchBody, BatchDecision, BatchResult, ProposalEnvelope, ProposalInfo, RejectBody,
};

use super::chosen::chosen;
use super::confirm::{ConfirmAnswer, Preconfirmed, confirm};
use super::remote::ServerConnection;
use crate::args::gitops::ProposalSelection;
use crate::exit::{CommandError, Exit};
use crate::view;

/// Proposals that are decided about in one request: an id and a digest of each stay well below what a server reads.
const IN_ONE_REQUEST: usize = 1_000;

/// What to do with proposals.
pub(super) enum Decision {
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

/// Approves the open proposals of a run one by one.
pub(super) fn approve_open(
    run: &str,
    reason: Option<String>,
    asked: Preconfirmed,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let which = ProposalSelection { ids: Vec::new(), run: Some(run.to_owned()), all: false };
    let proposals = chosen(&which, "pending_approval", remote)?;
    decide(&proposals, &Decision::Approve { reason }, asked, remote)
}

pub(super) fn decide(
    proposals: &[ProposalInfo],
    decision: &Decision,
    asked: Preconfirmed,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    if proposals.is_empty() {
        remote.print_message("no proposals are pending approval")?;
        return Ok(Exit::Fine);
    }
    if remote.is_for_people() {
        view::proposal::reviewed(proposals, &remote.terminal)?;
    }
    let question = format!("{} {}?", decision.verb(), view::pluralize(proposals.len(), "change"));
    if confirm(&question, asked)? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    match proposals {
        [one] => decide_one(one, decision, remote),
        many => decide_all(many, decision, remote),
    }
}

fn decide_one(
    proposal: &ProposalInfo,
    decision: &Decision,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
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
    remote: &ServerConnection,
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
