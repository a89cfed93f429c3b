//! Alertmanager: one alert with identifying labels. A resolved alert has the same labels and an end time.

use serde_json::{Map, Value, json};

use crate::message::{MessageState, NotificationMessage};
use crate::sanitize::{MAX_MESSAGE_CHARS, MAX_NAME_CHARS, multi_line, single_line};

pub(super) fn body(message: &NotificationMessage) -> Value {
    let mut labels = Map::new();
    let mut label = |name: &str, value: &str| {
        labels.insert(name.to_owned(), json!(single_line(value, MAX_NAME_CHARS)));
    };
    label("alertname", &format!("windlass.{}", message.kind));
    label("severity", &message.severity);
    label("account", &message.account);
    if let Some(alert) = &message.alert {
        label("windlass_alert", alert);
    }
    if let Some(repository) = &message.repository {
        label("repository", repository);
    }
    if let Some((kind, name)) = &message.resource {
        label("resource_kind", kind);
        label("resource", name);
    }
    let annotations = json!({
        "summary": single_line(&message.title(), MAX_NAME_CHARS),
        "description": multi_line(&message.text, MAX_MESSAGE_CHARS),
        "source": single_line(&message.source, MAX_NAME_CHARS),
    });
    let mut alert = json!({"labels": labels, "annotations": annotations, "startsAt": message.at});
    if message.state == MessageState::Resolved {
        alert["endsAt"] = json!(message.at);
    }
    if let Some(link) = &message.link {
        alert["generatorURL"] = json!(link);
    }
    json!([alert])
}
