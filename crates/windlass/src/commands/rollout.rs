//! `windlass rollout`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{RolloutDecisionBody, RolloutEnvelope, RolloutInfo, RolloutList};
use windlass_core::rollout::RolloutStatus;

use super::confirm::{ConfirmAnswer, confirm};
use super::find;
use super::remote::ServerConnection;
use super::stream::EventWatch;
use crate::args::rollout::{RolloutCommand, RolloutDecision};
use crate::args::server::Output;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &RolloutCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        RolloutCommand::List { status, node, paging } => {
            let call = || {
                let call = remote.call(Operation::RolloutList, &[]).query_if("status", status.as_ref());
                call.query_if("node", node.as_ref())
            };
            let answer = find::pages(remote, "rollouts", (*paging).into(), call)?;
            remote.show::<RolloutList>(&answer, |list, terminal| {
                view::rollout::list(&list.rollouts, terminal)
            })?;
            find::tell_more(&answer, remote)?;
            Ok(Exit::Fine)
        }
        RolloutCommand::Show { id, nodes: _, watch: true } => watch(&find::rollout(id, remote)?, remote),
        RolloutCommand::Show { id, nodes, watch: false } => {
            let id = find::rollout(id, remote)?;
            let call = remote.call(Operation::RolloutShow, &[&id]).query_if("nodes", nodes.as_ref());
            let shown = remote.show::<RolloutEnvelope>(&remote.ask(call)?, view::rollout::one)?;
            Ok(exit(&shown.rollout))
        }
        RolloutCommand::Pause(decision) => decide(Operation::RolloutPause, "Pause", decision, remote),
        RolloutCommand::Resume(decision) => decide(Operation::RolloutResume, "Resume", decision, remote),
        RolloutCommand::Abort(decision) => decide(Operation::RolloutAbort, "Abort", decision, remote),
        RolloutCommand::Promote(decision) => decide(Operation::RolloutPromote, "Promote", decision, remote),
    }
}

/// Shows the rollout, asks, and decides about exactly what was shown.
fn decide(
    operation: Operation,
    word: &str,
    decision: &RolloutDecision,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let id = find::rollout(&decision.id, remote)?;
    let seen: RolloutEnvelope = remote.get(remote.call(Operation::RolloutShow, &[&id]))?;
    if !decision.yes && remote.is_for_people() {
        view::rollout::one(&seen, &remote.terminal)?;
    }
    if confirm(&format!("{word} this rollout?"), decision.yes.into())? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let body = RolloutDecisionBody { reason: decision.reason.clone(), status: Some(seen.rollout.status) };
    let answer = remote.ask(remote.call(operation, &[&id]).body(&body))?;
    remote.show::<RolloutEnvelope>(&answer, |shown, _| view::rollout::progress(&shown.rollout))?;
    Ok(Exit::Fine)
}

/// Follows a rollout until it stops or is over. The event stream says when to look; in between, nodes report.
fn watch(id: &str, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let mut events = EventWatch::default();
    let mut last: Option<RolloutInfo> = None;
    loop {
        let answer = remote.ask(remote.call(Operation::RolloutShow, &[id]))?;
        let shown: RolloutEnvelope = remote.read(&answer)?;
        if last.as_ref() != Some(&shown.rollout) {
            match remote.output() {
                Output::Human => view::rollout::progress(&shown.rollout)?,
                Output::Json => view::json::line(&answer)?,
                Output::Yaml => view::yaml::one_of_many(&answer)?,
            }
        }
        let status = shown.rollout.status;
        if !status.is_open() || status == RolloutStatus::Stopped {
            if remote.is_for_people() && !shown.nodes.is_empty() {
                view::rollout::nodes(&shown, &remote.terminal)?;
            }
            return Ok(match status {
                RolloutStatus::Completed => Exit::Fine,
                _ => Exit::Problems,
            });
        }
        last = Some(shown.rollout);
        let call = || remote.call(Operation::EventStream, &[]).query("kind", "rollout.");
        remote.block_on(events.wait(call));
    }
}

fn exit(rollout: &RolloutInfo) -> Exit {
    match rollout.status {
        RolloutStatus::Stopped => Exit::Problems,
        _ => Exit::Fine,
    }
}
