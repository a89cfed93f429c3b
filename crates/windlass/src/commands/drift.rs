//! `windlass drift`.

use std::path::Path;

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{
    AcceptBody, AdoptBody, Adopted, DriftReport, DriftTarget, RepositoryList, Reverted,
};
use windlass_core::time::Timestamp;

use super::find;
use super::input::{OverwritePolicy, write_text};
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
    let mut is_drifted = false;
    let mut typed = Vec::new();
    for (name, value) in &reports {
        let report: DriftReport = remote.read(value)?;
        is_drifted |= report.drift;
        typed.push((name.as_str(), report));
    }
    match (remote.is_for_people(), repo, reports.first()) {
        (true, ..) => view::drift::reports(&typed, &remote.terminal)?,
        (false, Some(_), Some((_, only))) => remote.print(only)?,
        _ => {
            let all: Vec<&Value> = reports.iter().map(|(_, report)| report).collect();
            remote.print(&json!({ "drift": is_drifted, "reports": all }))?;
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

/// A moment in RFC 3339, from what people write: that, a day, or a time from now.
fn moment(text: &str, now: Timestamp) -> Result<String, CommandError> {
    let from_now = || {
        let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            "w" => 7 * 24 * 3600,
            _ => return None,
        };
        let count: u64 = count.parse().ok()?;
        Some(now.plus(std::time::Duration::from_secs(count.checked_mul(seconds)?)))
    };
    let end_of_day = || Timestamp::parse(&format!("{text}T23:59:59Z"));
    let found = Timestamp::parse(text).or_else(end_of_day).or_else(from_now);
    found.map(|moment| moment.to_string()).ok_or_else(|| {
        let help = "write a date such as 2027-01-31, a time such as 2027-01-31T12:00:00Z, or a duration such as 36h \
            or 7d";
        CommandError::usage(format!("`{text}` is not a time"), help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_do() {
        let now = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
        for (text, expected) in [
            ("2027-01-31", "2027-01-31T23:59:59.000Z"),
            ("2027-01-31T12:00:00+01:00", "2027-01-31T11:00:00.000Z"),
            ("36h", "2026-11-18T00:00:00.000Z"),
            ("7d", "2026-11-23T12:00:00.000Z"),
        ] {
            assert_eq!(moment(text, now).unwrap(), expected);
        }
        for text in ["", "soon", "d", "-3d", "é", "2027-13-01"] {
            assert!(moment(text, now).is_err(), "{text}");
        }
    }
}
