//! `windlass describe`: everything about one resource, from several answers.

use serde_json::{Value, json};
use windlass_api::client::ApiCall;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::types::{AuditList, EventList, ProposalList};

use super::find;
use super::remote::ServerConnection;
use crate::args::resource::DescribeOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

/// As much history as fits a screen.
const HISTORY: &str = "10";

pub(super) fn run(options: &DescribeOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let noun = find::noun(&options.kind)?;
    let (kind, name) = (noun.kind().slug(), options.name.as_str());
    let target = format!("{kind}/{name}");
    let answer = remote.ask(remote.call(Operation::Resource(noun, ResourceVerb::Show), &[name]))?;
    let proposals = remote.call(Operation::ProposalList, &[]).query("status", "open");
    let proposals = if_allowed(proposals.query("kind", kind).query("name", name), remote)?;
    let events = remote.call(Operation::EventList, &[]).query("resource", &target).query("limit", HISTORY);
    let events = if_allowed(events, remote)?;
    let audit = remote.call(Operation::AuditList, &[]).query("target", &target).query("limit", HISTORY);
    let audit = if_allowed(audit, remote)?;
    if !remote.is_for_people() {
        let resource = answer.get(noun.singular()).unwrap_or(&answer);
        remote.print(&json!({
            "resource": resource,
            "proposals": proposals.as_ref().map(|list| &list["proposals"]),
            "fleet_events": events.as_ref().map(|list| &list["fleet_events"]),
            "audit": audit.as_ref().map(|list| &list["audit"]),
        }))?;
        return Ok(Exit::Fine);
    }
    let described = view::resource::ResourceDescription {
        resource: find::unwrapped(&answer, noun.singular(), remote)?,
        proposals: read_if(proposals, remote, |list: ProposalList| list.proposals)?,
        events: read_if(events, remote, |list: EventList| list.fleet_events)?,
        audit: read_if(audit, remote, |list: AuditList| list.audit)?,
    };
    view::resource::describe(&described, &remote.terminal)?;
    Ok(Exit::Fine)
}

/// An answer, or none if one may see resources but not this.
fn if_allowed(call: ApiCall<'_>, remote: &ServerConnection) -> Result<Option<Value>, CommandError> {
    match remote.ask(call) {
        Err(CommandError::Refused(_)) => Ok(None),
        answer => answer.map(Some),
    }
}

fn read_if<L: serde::de::DeserializeOwned, T>(
    answer: Option<Value>,
    remote: &ServerConnection,
    items: impl FnOnce(L) -> Vec<T>,
) -> Result<Vec<T>, CommandError> {
    answer.map_or(Ok(Vec::new()), |answer| remote.read(&answer).map(items))
}
