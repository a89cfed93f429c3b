//! Checks a report before anything of it is kept. An agent's host may belong to an attacker: counts, sizes and names are
//! bounded, and every text is made safe to store and to show.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use windlass_api::agent::{
    DriftedItem as ReportedItem, HostFacts, MAX_DRIFTED_ITEMS, MAX_EVENTS, ObservationBody, ObservedBody,
    ReportBody,
};
use windlass_core::drift::{DriftedItem, ItemKey};
use windlass_core::host::MAX_MODULES;
use windlass_core::observed::{
    AgentMessage, AgentReport, ApplyFailure, Coverage, Enrolment, Generation, Observation, Observed,
    ReportOrder, Sighting, UnknownCause,
};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::shape::TextValue as _;
use windlass_core::value::Name;

use crate::refusal::Refusal;
use crate::reports::agent_event::{CheckedEvent, checked_event};

/// The longest text of a fact about a host.
const MAX_FACT_CHARS: usize = 200;

/// The largest number that databases store.
const MAX_NUMBER: u64 = i64::MAX as u64;

/// A report with everything checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckedReport {
    /// What it says of the node and its modules.
    pub(crate) report: AgentReport,
    /// The items that differ, of the modules that are listed.
    pub(crate) items: Vec<DriftedItem>,
    /// How many more differ.
    pub(crate) left_out: u64,
    /// What happened.
    pub(crate) events: Vec<CheckedEvent>,
    /// How many events the agent dropped.
    pub(crate) events_dropped: u64,
    /// About the host.
    pub(crate) facts: Option<Json>,
}

impl CheckedReport {
    /// Checks a report of an enrolment.
    pub(crate) fn of(body: ReportBody, enrolment: Enrolment) -> Result<CheckedReport, Refusal> {
        check_numbers(&body)?;
        let mut modules = BTreeSet::new();
        for module in &body.modules {
            let name = Name::read(&module.name).map_err(|_| refused("a module has an invalid name"))?;
            if !modules.insert(name.to_string()) {
                return Err(refused("a module is listed twice"));
            }
        }
        let items = body.drift.into_iter().map(|item| checked_item(item, &modules));
        let items = items.collect::<Result<Vec<DriftedItem>, Refusal>>()?;
        let generation = Generation(body.generation);
        let resources = body
            .modules
            .into_iter()
            .map(|module| (ResourceKey::new(Kind::Module, module.name), observation(module.observation)));
        let report = AgentReport {
            order: ReportOrder { enrolment, generation, sequence: body.sequence },
            coverage: if body.complete { Coverage::Complete } else { Coverage::Partial },
            target: observation(body.target),
            resources: resources.collect(),
        };
        Ok(CheckedReport {
            report,
            items,
            left_out: body.drift_left_out.min(MAX_NUMBER),
            events: body.events.into_iter().map(checked_event).collect(),
            events_dropped: body.events_dropped.min(u64::from(u32::MAX)),
            facts: body.host.map(|host| facts(&host)),
        })
    }
}

/// A refusal that the audit log does not record: an agent that sends nonsense must not fill it.
fn refused(message: &str) -> Refusal {
    Refusal::bad_request(format!("invalid report: {message}"), "update the agent")
}

fn check_numbers(body: &ReportBody) -> Result<(), Refusal> {
    let most = |count: usize, limit: usize, what: &str| match count > limit {
        true => Err(refused(&format!("more than {limit} {what}"))),
        false => Ok(()),
    };
    most(body.modules.len(), MAX_MODULES, "modules")?;
    most(body.drift.len(), MAX_DRIFTED_ITEMS, "drifted items")?;
    most(body.events.len(), MAX_EVENTS, "events")?;
    match body.generation > MAX_NUMBER || body.sequence > MAX_NUMBER {
        true => Err(refused("a number is too large")),
        false => Ok(()),
    }
}

fn checked_item(item: ReportedItem, modules: &BTreeSet<String>) -> Result<DriftedItem, Refusal> {
    let key = ItemKey::reported(&item.kind, &item.name)
        .ok_or_else(|| refused("a drifted item has an invalid type or name"))?;
    if !modules.contains(&item.module) {
        return Err(refused("a drifted item belongs to a module that is not listed"));
    }
    let ReportedItem { module, mode, since, fields, problem, .. } = item;
    let problem = problem.map(|text| AgentMessage::new(&text));
    Ok(DriftedItem { key, module, mode, since, fields, problem }.made_safe())
}

fn observation(body: ObservationBody) -> Observation {
    let seen = |generation, since, at| Sighting { generation: Generation(generation), since, at };
    let observed = match body.observed {
        ObservedBody::Known { digest, generation, since, at } => {
            Observed::Known { digest, seen: seen(generation, since, at) }
        }
        ObservedBody::Absent { generation, since, at } => {
            Observed::Absent { seen: seen(generation, since, at) }
        }
        ObservedBody::BeingChanged { since } => {
            Observed::Unknown { since, cause: UnknownCause::BeingChanged }
        }
        ObservedBody::Unreadable { since, message } => {
            Observed::Unknown { since, cause: UnknownCause::Unreadable(AgentMessage::new(&message)) }
        }
    };
    let failure = body.failure.map(|failure| ApplyFailure {
        generation: Generation(failure.generation),
        since: failure.since,
        message: AgentMessage::new(&failure.message),
    });
    Observation { observed, failure }
}

/// The facts about a host as they are stored, each safe to show.
fn facts(host: &HostFacts) -> Json {
    let safe =
        |text: &String| -> String { AgentMessage::new(text).as_str().chars().take(MAX_FACT_CHARS).collect() };
    let stored = HostFacts {
        agent_version: safe(&host.agent_version),
        hostname: host.hostname.as_ref().map(safe),
        os: host.os.as_ref().map(safe),
        kernel: host.kernel.as_ref().map(safe),
        architecture: host.architecture.as_ref().map(safe),
        booted_at: host.booted_at,
    };
    serde_json::to_value(&stored).expect("facts are JSON")
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
