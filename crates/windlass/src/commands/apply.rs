//! `windlass apply`: what is approved, now.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{ProposalEnvelope, ProposalInfo};

use super::chosen::chosen;
use super::remote::Remote;
use super::sync;
use crate::args::gitops::{ApplyOptions, Which};
use crate::exit::{CommandError, Exit};
use crate::view;
use crate::view::progress::Progress;
use crate::view::proposal::ApplyOutcome;

/// Seconds the server may take before it answers that it is still at it.
const HOLD: &str = "20";

/// Between two looks at something that waits.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn run(options: &ApplyOptions, remote: &Remote) -> Result<Exit, CommandError> {
    let which = Which { ids: options.ids.clone(), run: options.run.clone(), all: options.ids.is_empty() };
    let proposals = chosen(&which, "approved", remote)?;
    if proposals.is_empty() && remote.is_for_people() {
        remote.say("nothing is approved and not yet applied; `windlass status` tells what is waited for")?;
        return Ok(Exit::Fine);
    }
    let mut progress = Progress::start();
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

fn apply(proposal: &ProposalInfo, remote: &Remote) -> Result<ApplyOutcome, CommandError> {
    let call = remote.call(Operation::ProposalApply, &[&proposal.id]).query("wait", HOLD);
    match remote.get::<ProposalEnvelope>(call) {
        Ok(envelope) => Ok(ApplyOutcome { proposal: envelope.proposal, refused: None }),
        // One that cannot be applied does not keep the others from it.
        Err(CommandError::Refused(body)) => {
            Ok(ApplyOutcome { proposal: proposal.clone(), refused: Some(*body) })
        }
        Err(error) => Err(error),
    }
}

fn wait(outcomes: &mut [ApplyOutcome], progress: &mut Progress, remote: &Remote) -> Result<(), CommandError> {
    loop {
        let waits: Vec<String> = outcomes
            .iter()
            .filter(|outcome| sync::is_open(&outcome.proposal.status))
            .map(|outcome| view::proposal::waits_for(&outcome.proposal))
            .collect();
        let Some(first) = waits.first() else { return Ok(()) };
        progress.tell(&format!("{} left; {first}", view::count(waits.len(), "change")))?;
        remote.pause(PAUSE);
        for outcome in outcomes.iter_mut().filter(|outcome| sync::is_open(&outcome.proposal.status)) {
            let call = remote.call(Operation::ProposalShow, &[&outcome.proposal.id]);
            let envelope: ProposalEnvelope = remote.get(call)?;
            *outcome = ApplyOutcome { proposal: envelope.proposal, refused: None };
        }
    }
}

fn show(outcomes: &[ApplyOutcome], remote: &Remote) -> Result<Exit, CommandError> {
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
        |outcome: &ApplyOutcome| matches!(outcome.proposal.status.as_str(), "applied" | "applied_manually");
    Ok(if outcomes.iter().all(is_applied) { Exit::Fine } else { Exit::Problems })
}
