//! `windlass drift`.

use std::path::Path;

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{
    AcceptBody, AdoptBody, Adopted, DriftReport, DriftTarget, NodeStatusList, RepositoryList, Reverted,
};
use windlass_core::time::Timestamp;

use super::find;
use super::input::{OverwritePolicy, write_text};
use super::moment::moment;
use super::node::ways_out as node_drift;
use super::remote::ServerConnection;
use crate::args::gitops::{DriftCommand, DriftOptions, DriftedResource};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(options: &DriftOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match &options.command {
        None => report(options.repo.as_deref(), remote),
        Some(DriftCommand::Revert { target }) => revert(target, remote),
        Some(DriftCommand::Adopt { repo, kind, name, branch, patch_file }) => {
            let resources = match (kind, name) {
                (Some(kind), Some(name)) => vec![drift_target(kind, name)?],
                _ => Vec::new(),
            };
            let body = AdoptBody { resources, branch: branch.clone() };
            adopt(repo, &body, patch_file.as_deref(), remote)
        }
        Some(DriftCommand::Accept { target, until, reason }) => {
            let DriftTarget { kind, name } = drift_target(&target.kind, &target.name)?;
            let now = Timestamp::from_millis(jiff::Timestamp::now().as_millisecond());
            let until = until.as_deref().map(|text| moment(text, now)).transpose()?;
            let body = AcceptBody { kind, name, until, reason: reason.clone() };
            let call = remote.call(Operation::DriftAccept, &[&target.repo]).body(&body);
            accepted(&remote.ask(call)?, target, "accepted", remote)
        }
        Some(DriftCommand::Node { command }) => node_drift::run(command, remote),
        Some(DriftCommand::Unaccept { target }) => {
            let body = drift_target(&target.kind, &target.name)?;
            let call = remote.call(Operation::DriftUnaccept, &[&target.repo]).body(&body);
            accepted(&remote.ask(call)?, target, "no longer accepted", remote)
        }
    }
}

fn drift_target(kind: &str, name: &str) -> Result<DriftTarget, CommandError> {
    Ok(DriftTarget { kind: find::noun(kind)?.kind().slug().to_owned(), name: name.to_owned() })
}

fn report(repo: Option<&str>, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let of = |repo: &str| remote.ask(remote.call(Operation::DriftReport, &[repo]));
    let mut reports: Vec<(String, Value)> = Vec::new();
    match repo {
        Some(repo) => reports.push((repo.to_owned(), of(repo)?)),
        None => {
            let list: RepositoryList = remote.get(remote.call(Operation::RepositoryList, &[]))?;
            for repository in list.gitops_repositories {
                reports.push((repository.name, of(&repository.id)?));
            }
        }
    }
    let nodes = match repo {
        Some(_) => None,
        None => Some(remote.ask(remote.call(Operation::NodeStatusList, &[]).query("state", "drifted"))?),
    };
    let drifted: Option<NodeStatusList> = nodes.as_ref().map(|nodes| remote.read(nodes)).transpose()?;
    let mut is_drifted = drifted.as_ref().is_some_and(|list| !list.nodes.is_empty());
    let mut typed = Vec::new();
    for (name, value) in &reports {
        let report: DriftReport = remote.read(value)?;
        is_drifted |= report.drift;
        typed.push((name.as_str(), report));
    }
    match (remote.is_for_people(), repo, reports.first()) {
        (true, ..) => {
            view::drift::reports(&typed, &remote.terminal)?;
            view::node::drifted(drifted.as_ref().map_or(&[], |list| list.nodes.as_slice()))?;
        }
        (false, Some(_), Some((_, only))) => remote.print(only)?,
        _ => {
            let all: Vec<&Value> = reports.iter().map(|(_, report)| report).collect();
            let nodes = nodes.as_ref().map(|nodes| &nodes["nodes"]);
            remote.print(&json!({ "drift": is_drifted, "reports": all, "nodes": nodes }))?;
        }
    }
    Ok(if is_drifted { Exit::Changes } else { Exit::Fine })
}

fn revert(target: &DriftedResource, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let body = drift_target(&target.kind, &target.name)?;
    let answer = remote.ask(remote.call(Operation::DriftRevert, &[&target.repo]).body(&body))?;
    remote.show::<Reverted>(&answer, |reverted, _| view::drift::reverted(reverted))?;
    Ok(Exit::Fine)
}

fn adopt(
    repo: &str,
    body: &AdoptBody,
    patch_file: Option<&Path>,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::DriftAdopt, &[repo]).body(body))?;
    let adopted: Adopted = remote.read(&answer)?;
    if let Some(file) = patch_file {
        write_text(file, &adopted.patch, OverwritePolicy::Replace)?;
    }
    remote.show::<Adopted>(&answer, |adopted, _| view::drift::adopted(adopted, patch_file))?;
    Ok(Exit::Fine)
}

fn accepted(
    answer: &Value,
    target: &DriftedResource,
    what: &str,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    remote.show::<DriftReport>(answer, |_, _| {
        view::line(&format!("{} {}: {what}", target.kind, target.name))
    })?;
    Ok(Exit::Fine)
}
