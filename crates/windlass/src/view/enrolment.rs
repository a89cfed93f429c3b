//! Nodes and their agents, for people.

use std::io;

use windlass_api::types::{AgentRevoked, EnrollmentCreated, EnrollmentTokenInfo, NodeJoinInfo};
use windlass_core::enrolment::JoinPolicy;

use super::table::Table;
use super::time::relative;
use super::{Terminal, short};

/// What a token is for.
fn scope(token: &EnrollmentTokenInfo) -> String {
    token.target.clone().or_else(|| token.selector.clone()).unwrap_or_default()
}

/// Prints the command to run on the host, alone on standard output.
pub(crate) fn enrollment_created(created: &EnrollmentCreated) -> io::Result<()> {
    let token = &created.enrollment_token;
    let uses = if token.max_uses == 1 { "once".to_owned() } else { format!("{} times", token.max_uses) };
    super::note(&format!("valid {uses} for {}; expires {}", scope(token), relative(&token.expires_at)))?;
    if token.join == JoinPolicy::Approve {
        super::note("the agent waits until someone runs `windlass node join approve`")?;
    }
    super::note("Run this on the host, as root. It is shown only now:")?;
    super::line(&created.command)
}

/// Prints enrolment tokens.
pub(crate) fn tokens(tokens: &[EnrollmentTokenInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ID", "FOR", "JOIN", "USED", "CREATED BY", "EXPIRES"]);
    for token in tokens {
        table.row([
            short(&token.id),
            scope(token),
            token.join.slug().to_owned(),
            format!("{} of {}", token.uses, token.max_uses),
            token.created_by.clone(),
            relative(&token.expires_at),
        ]);
    }
    table.print(terminal, "no enrolment tokens; create one with `windlass node enroll NODE`")
}

/// Prints nodes that want to join.
pub(crate) fn joins(joins: &[NodeJoinInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ID", "NODE", "STATE", "ADDRESS", "PUBLIC KEY", "SINCE"]);
    for join in joins {
        table.row([
            short(&join.id),
            join.node.clone(),
            join.state.slug().to_owned(),
            join.address.clone(),
            join.public_key.chars().take(16).collect(),
            relative(&join.created_at),
        ]);
    }
    table.print(terminal, "no nodes want to join")
}

/// Prints a decision about a join.
pub(crate) fn join_decided(join: &NodeJoinInfo) -> io::Result<()> {
    super::line(&format!("{} that {} joins", join.state.slug(), join.node))
}

/// Prints that an agent was revoked.
pub(crate) fn agent_revoked(revoked: &AgentRevoked) -> io::Result<()> {
    super::line(&format!("revoked the agent of {}", revoked.target))
}
