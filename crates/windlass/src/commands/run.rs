//! `windlass run`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{ConfirmFailureBody, RunEnvelope, RunList};

use super::confirm::{ConfirmAnswer, confirm};
use super::remote::ServerConnection;
use super::{find, sync};
use crate::args::gitops::RunCommand;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &RunCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        RunCommand::List { repo, paging } => {
            let call = || remote.call(Operation::RunList, &[]).query_if("repository", repo.as_ref());
            let answer = find::pages(remote, "sync_runs", (*paging).into(), call)?;
            remote.show::<RunList>(&answer, |list, terminal| view::run::list(&list.sync_runs, terminal))?;
            find::tell_more(&answer, remote)?;
            Ok(Exit::Fine)
        }
        RunCommand::Show { id } => {
            let id = find::run(id, remote)?;
            let answer = remote.ask(remote.call(Operation::RunShow, &[&id]))?;
            let shown = remote
                .show::<RunEnvelope>(&answer, |shown, terminal| view::run::one(&shown.sync_run, terminal))?;
            Ok(sync::exit(&shown.sync_run))
        }
        RunCommand::ConfirmFailure { id, reason, yes } => {
            let id = find::run(id, remote)?;
            let question =
                "Resume applying approved proposals, although the repository's newest sync failed?";
            if confirm(question, (*yes).into())? == ConfirmAnswer::Refused {
                return Ok(Exit::Problems);
            }
            let body = ConfirmFailureBody { reason: reason.clone() };
            let answer = remote.ask(remote.call(Operation::RunConfirmFailure, &[&id]).body(&body))?;
            remote.show::<RunEnvelope>(&answer, |shown, _| view::run::released(&shown.sync_run))?;
            Ok(Exit::Fine)
        }
    }
}
