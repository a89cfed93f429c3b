//! Alertmanager: one alert with identifying labels. A resolved alert has the same labels and an end time.

use serde_json::{Map, Value, json};

use crate::message::{MessageState, NotificationMessage};
use crate::sanitize::{LONG, SHORT, line, lines};

pub(super) fn body(message: &NotificationMessage) -> Value {
    let mut labels = Map::new();
    let mut label = |name: &str, value: &str| {
        labels.insert(name.to_owned(), json!(line(value, SHORT)));
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
        "summary": line(&message.title(), SHORT),
        "description": lines(&message.text, LONG),
        "source": line(&message.source, SHORT),
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
