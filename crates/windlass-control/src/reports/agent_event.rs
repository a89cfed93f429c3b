//! Events of agents, as they are stored: one kind and one severity for each, texts made safe.

use serde_json::{Value as Json, json};
use windlass_api::agent::{AgentEvent, AgentEventKind};
use windlass_core::drift::{DriftedItem, ItemKey};
use windlass_core::event::{EventKind, Severity};
use windlass_core::host::FieldDifference;
use windlass_core::observed::AgentMessage;
use windlass_core::resource::DriftMode;
use windlass_core::time::Timestamp;

/// The most items that an event names.
const MAX_NAMED_ITEMS: usize = 20;

/// The longest name in an event.
const MAX_NAME_CHARS: usize = 300;

/// An event with everything checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckedEvent {
    pub(crate) kind: EventKind,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) payload: Json,
}

fn name(text: &str) -> String {
    AgentMessage::new(text).as_str().chars().take(MAX_NAME_CHARS).collect()
}

/// Checks an event. Its time is the agent's: it is a detail, and events are ordered by the time at which they arrive.
pub(crate) fn checked_event(event: AgentEvent) -> CheckedEvent {
    let (kind, severity, detail) = described(event.what, event.at);
    let mut payload = json!({"at": event.at.to_string()});
    if let (Json::Object(all), Json::Object(detail)) = (&mut payload, detail) {
        all.extend(detail);
    }
    let message = AgentMessage::new(&event.message);
    let message = message.as_str().lines().collect::<Vec<_>>().join(" ");
    CheckedEvent { kind, severity, message, payload }
}

/// The kind, the severity and the details of an event.
fn described(what: AgentEventKind, at: Timestamp) -> (EventKind, Severity, Json) {
    match what {
        AgentEventKind::Applied { generation, changed } => {
            (EventKind::AgentApplied, Severity::Low, json!({"generation": generation, "changed": changed}))
        }
        AgentEventKind::ApplyFailed { generation, items } => {
            let more = items.len().saturating_sub(MAX_NAMED_ITEMS);
            let items: Vec<String> = items.iter().take(MAX_NAMED_ITEMS).map(|item| name(item)).collect();
            let detail = json!({"generation": generation, "items": items, "more_items": more});
            (EventKind::AgentApplyFailed, Severity::High, detail)
        }
        AgentEventKind::Refused { reason, generation } => (
            EventKind::AgentRefused,
            Severity::High,
            json!({"reason": name(&reason), "generation": generation}),
        ),
        AgentEventKind::Drifted { item, module } => {
            (EventKind::AgentDrifted, Severity::Medium, of_item(&item, &module))
        }
        AgentEventKind::Resolved { item, module } => {
            (EventKind::AgentDriftResolved, Severity::Low, of_item(&item, &module))
        }
        AgentEventKind::Corrected { item, module, fields } => {
            let mut detail = of_item(&item, &module);
            detail["fields"] = json!(safe_fields(fields, at));
            (EventKind::AgentCorrected, Severity::Medium, detail)
        }
        AgentEventKind::Reverted { generation } => {
            (EventKind::AgentReverted, Severity::High, json!({"generation": generation}))
        }
        AgentEventKind::Started { version } => {
            (EventKind::AgentStarted, Severity::Low, json!({"version": name(&version)}))
        }
        AgentEventKind::Trouble => (EventKind::AgentTrouble, Severity::High, json!({})),
    }
}

fn of_item(item: &str, module: &str) -> Json {
    json!({"item": name(item), "module": name(module)})
}

/// The fields of a correction, masked and bounded as those of a drifted item.
fn safe_fields(fields: Vec<FieldDifference>, since: Timestamp) -> Vec<FieldDifference> {
    let key = ItemKey { kind: String::new(), name: String::new() };
    let (module, mode) = (String::new(), DriftMode::Correct);
    DriftedItem { key, module, mode, since, fields, problem: None }.made_safe().fields
}
