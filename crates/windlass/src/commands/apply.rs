//! `windlass apply`: what is approved, now.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{ProposalEnvelope, ProposalInfo};
use windlass_core::proposal::Status;

use super::chosen::chosen;
use super::remote::ServerConnection;
use crate::args::gitops::{ApplyOptions, ProposalSelection};
use crate::exit::{CommandError, Exit};
use crate::view;
use crate::view::progress::WaitIndicator;
use crate::view::proposal::ApplyOutcome;

/// Seconds the server may take before it answers that it is still at it.
const SERVER_WAIT_SECONDS: &str = "20";

/// Between two looks at something that waits.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn run(options: &ApplyOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let which =
        ProposalSelection { ids: options.ids.clone(), run: options.run.clone(), all: options.ids.is_empty() };
    let proposals = chosen(&which, "approved", remote)?;
    if proposals.is_empty() && remote.is_for_people() {
        remote.print_message("no approved proposals to apply; `windlass status` shows what is blocked")?;
        return Ok(Exit::Fine);
    }
    let mut progress = WaitIndicator::start();
    let mut outcomes = Vec::new();
    for (number, proposal) in proposals.iter().enumerate() {
        let place = format!("{} of {}", number + 1, proposals.len());
        progress.tell(&format!("{place}: {} {} {}", proposal.change, proposal.kind, proposal.name))?;
        outcomes.push(apply(proposal, remote)?);
    }
    if options.wait {
        wait(&mut outcomes, &mut progress, remote)?;
    }
    drop(progress);
    show(&outcomes, remote)
}

fn apply(proposal: &ProposalInfo, remote: &ServerConnection) -> Result<ApplyOutcome, CommandError> {
    let call = remote.call(Operation::ProposalApply, &[&proposal.id]).query("wait", SERVER_WAIT_SECONDS);
    match remote.get::<ProposalEnvelope>(call) {
        Ok(envelope) => Ok(ApplyOutcome { proposal: envelope.proposal, refused: None }),
        // One that cannot be applied does not keep the others from it.
        Err(CommandError::Refused(body)) => {
            Ok(ApplyOutcome { proposal: proposal.clone(), refused: Some(*body) })
        }
        Err(error) => Err(error),
    }
}

fn wait(
    outcomes: &mut [ApplyOutcome],
    progress: &mut WaitIndicator,
    remote: &ServerConnection,
) -> Result<(), CommandError> {
    loop {
        let waits: Vec<String> = outcomes
            .iter()
            .filter(|outcome| outcome.proposal.status.is_open())
            .map(|outcome| view::proposal::waits_for(&outcome.proposal))
            .collect();
        let Some(first) = waits.first() else { return Ok(()) };
        progress.tell(&format!("{} left: {first}", view::pluralize(waits.len(), "change")))?;
        remote.pause(POLL_INTERVAL);
        for outcome in outcomes.iter_mut().filter(|outcome| outcome.proposal.status.is_open()) {
            let call = remote.call(Operation::ProposalShow, &[&outcome.proposal.id]);
            let envelope: ProposalEnvelope = remote.get(call)?;
            *outcome = ApplyOutcome { proposal: envelope.proposal, refused: None };
        }
    }
}

fn show(outcomes: &[ApplyOutcome], remote: &ServerConnection) -> Result<Exit, CommandError> {
    match remote.is_for_people() {
        true => view::proposal::applied(outcomes)?,
        false => {
            let told =
                |outcome: &ApplyOutcome| json!({ "proposal": outcome.proposal, "error": outcome.refused });
            let results: Vec<Value> = outcomes.iter().map(told).collect();
            remote.print(&json!({ "results": results }))?;
        }
    }
    let is_applied =
        |outcome: &ApplyOutcome| matches!(outcome.proposal.status, Status::Applied | Status::AppliedManually);
    Ok(if outcomes.iter().all(is_applied) { Exit::Fine } else { Exit::Problems })
}
