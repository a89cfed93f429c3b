//! `windlass proposal`: looking at proposals and deciding about them.

use windlass_api::endpoint::Operation;
use windlass_api::types::ProposalList;

use super::chosen::{chosen, show};
use super::confirm::Preconfirmed;
use super::decide::{Decision, decide};
use super::remote::ServerConnection;
use super::{approve_set, edit, find};
use crate::args::gitops::{ProposalCommand, ProposalSelection};
use crate::args::paging::Paging;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &ProposalCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
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
            which: ProposalSelection { run: Some(run), .. },
            plan,
            group,
            include_destroys,
            reason,
            yes,
        } => {
            let wanted = approve_set::SetSelection { plan: plan.as_deref(), group: group.as_deref() };
            let answer = approve_set::ApprovalOptions {
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
            let asked = if which.ids.is_empty() { (*yes).into() } else { Preconfirmed::AlreadyYes };
            decide(&proposals, &decision, asked, remote)
        }
        ProposalCommand::Edit { id, file, undo } => {
            let id = find::proposal(id, remote)?;
            let source = match file {
                _ if *undo => edit::EditSource::Undo,
                Some(file) => edit::EditSource::File(file),
                None => edit::EditSource::Editor,
            };
            edit::run(&id, &source, remote)
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

fn list(
    filters: &[(&str, &Option<String>)],
    paging: Paging,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let call = || {
        let begun = remote.call(Operation::ProposalList, &[]);
        filters.iter().fold(begun, |call, (name, value)| call.query_if(name, value.as_ref()))
    };
    let answer = find::pages(remote, "proposals", paging.into(), call)?;
    remote.show::<ProposalList>(&answer, |list, terminal| view::proposal::list(&list.proposals, terminal))?;
    find::tell_more(&answer, remote)?;
    Ok(Exit::Fine)
}
