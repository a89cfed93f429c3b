//! The proposals that are meant, and showing one.

use std::collections::BTreeSet;

use windlass_api::endpoint::Operation;
use windlass_api::types::{ProposalEnvelope, ProposalInfo, ProposalList, RunEnvelope};

use super::find::{self, PageLimit};
use super::remote::ServerConnection;
use crate::args::gitops::ProposalSelection;
use crate::exit::{CommandError, Exit};
use crate::view;

/// The proposals that are meant, in the order in which they would be applied.
pub(super) fn chosen(
    which: &ProposalSelection,
    status: &str,
    remote: &ServerConnection,
) -> Result<Vec<ProposalInfo>, CommandError> {
    if !which.ids.is_empty() {
        return find::proposals(&which.ids, remote);
    }
    let call = || remote.call(Operation::ProposalList, &[]).query("status", status);
    let mut list: ProposalList = remote.read(&find::pages(remote, "proposals", PageLimit::All, call)?)?;
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

/// Prints an answer that is one proposal.
pub(super) fn show(answer: &serde_json::Value, remote: &ServerConnection) -> Result<Exit, CommandError> {
    remote
        .show::<ProposalEnvelope>(answer, |shown, terminal| view::proposal::one(&shown.proposal, terminal))?;
    Ok(Exit::Fine)
}
