//! `windlass node enroll`, `revoke`, `tokens` and `join`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    AgentRevoked, BatchEnrollmentBody, EnrollmentBody, EnrollmentCreated, EnrollmentTokenList,
    NodeJoinEnvelope, NodeJoinList, NodeSelectorInfo,
};

use crate::args::enrolment::{EnrollOptions, EnrolmentCommand, JoinCommand, TargetOptions};
use crate::commands::find;
use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &EnrolmentCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        EnrolmentCommand::Enroll(options) => enroll(options, remote)?,
        EnrolmentCommand::Revoke(target) => revoke(target, remote)?,
        EnrolmentCommand::Tokens { revoke: None } => {
            let answer = remote.ask(remote.call(Operation::EnrollmentTokenList, &[]))?;
            remote.show::<EnrollmentTokenList>(&answer, |list, terminal| {
                view::enrolment::tokens(&list.enrollment_tokens, terminal)
            })?;
        }
        EnrolmentCommand::Tokens { revoke: Some(which) } => {
            let list: EnrollmentTokenList = remote.get(remote.call(Operation::EnrollmentTokenList, &[]))?;
            let ids = list.enrollment_tokens.iter().map(|token| token.id.as_str());
            let help = "`windlass node tokens` lists the tokens";
            let id = find::resolve_id(which, "token", ids)?
                .ok_or_else(|| find::not_found("token", which, help))?;
            remote.text(remote.call(Operation::EnrollmentTokenRevoke, &[&id]))?;
            remote.print_message(&format!("revoked {which}"))?;
        }
        EnrolmentCommand::Join(command) => join(command, remote)?,
    }
    Ok(Exit::Fine)
}

fn enroll(options: &EnrollOptions, remote: &ServerConnection) -> Result<(), CommandError> {
    let expires_in_seconds = Some(options.expires.as_secs());
    let target = match (&options.node, &options.cluster) {
        (Some(node), _) => Some((Operation::NodeEnroll, node)),
        (None, Some(cluster)) => Some((Operation::ClusterEnroll, cluster)),
        (None, None) => None,
    };
    let call = match target {
        Some((operation, name)) => {
            remote.call(operation, &[name]).body(&EnrollmentBody { join: options.join, expires_in_seconds })
        }
        None => {
            let labels = options.batch.selector.iter().cloned().collect();
            let body = BatchEnrollmentBody {
                selector: NodeSelectorInfo { labels, name: options.batch.name.clone() },
                uses: options.batch.uses,
                join: options.join,
                expires_in_seconds,
            };
            remote.call(Operation::EnrollmentTokenCreate, &[]).body(&body)
        }
    };
    let answer = remote.ask(call)?;
    remote.show::<EnrollmentCreated>(&answer, |created, _| view::enrolment::enrollment_created(created))?;
    Ok(())
}

fn revoke(target: &TargetOptions, remote: &ServerConnection) -> Result<(), CommandError> {
    let (operation, name) = match (&target.node, &target.cluster) {
        (Some(node), _) => (Operation::NodeAgentRevoke, node.as_str()),
        (None, cluster) => (Operation::ClusterAgentRevoke, cluster.as_deref().unwrap_or_default()),
    };
    let answer = remote.ask(remote.call(operation, &[name]))?;
    remote.show::<AgentRevoked>(&answer, |revoked, _| view::enrolment::agent_revoked(revoked))?;
    Ok(())
}

fn join(command: &JoinCommand, remote: &ServerConnection) -> Result<(), CommandError> {
    let (operation, which) = match command {
        JoinCommand::List => {
            let answer = remote.ask(remote.call(Operation::NodeJoinList, &[]))?;
            remote.show::<NodeJoinList>(&answer, |list, terminal| {
                view::enrolment::joins(&list.node_joins, terminal)
            })?;
            return Ok(());
        }
        JoinCommand::Approve { which } => (Operation::NodeJoinApprove, which),
        JoinCommand::Reject { which } => (Operation::NodeJoinReject, which),
    };
    let id = join_id(which, remote)?;
    let answer = remote.ask(remote.call(operation, &[&id]))?;
    remote.show::<NodeJoinEnvelope>(&answer, |envelope, _| {
        view::enrolment::join_decided(&envelope.node_join)
    })?;
    Ok(())
}

/// The id of the join of a node, or of the join that a part of its id names.
fn join_id(which: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    let list: NodeJoinList = remote.get(remote.call(Operation::NodeJoinList, &[]))?;
    if let Some(join) = list.node_joins.iter().find(|join| join.node == which) {
        return Ok(join.id.clone());
    }
    let ids = list.node_joins.iter().map(|join| join.id.as_str());
    let help = "`windlass node join list` lists the nodes that want to join";
    find::resolve_id(which, "join", ids)?.ok_or_else(|| find::not_found("join", which, help))
}
