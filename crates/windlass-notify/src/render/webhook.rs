//! Generic webhook: all fields as JSON. Only JSON's own escaping is used; the receiver decides how to show the texts.

use serde_json::{Value, json};

use crate::message::NotificationMessage;
use crate::sanitize::{MAX_MESSAGE_CHARS, MAX_NAME_CHARS, multi_line, single_line};

pub(super) fn body(message: &NotificationMessage, delivery: &str) -> Value {
    let short = |text: &String| single_line(text, MAX_NAME_CHARS);
    let resource =
        message.resource.as_ref().map(|(kind, name)| json!({"kind": short(kind), "name": short(name)}));
    json!({
        "version": 1,
        "delivery_id": delivery,
        "account": short(&message.account),
        "alert": message.alert.as_ref().map(short),
        "state": message.state,
        "event": {
            "seq": message.seq,
            "kind": short(&message.kind),
            "severity": message.severity,
            "resource": resource,
            "repository": message.repository.as_ref().map(short),
            "run_id": message.run_id,
            "source": short(&message.source),
            "message": multi_line(&message.text, MAX_MESSAGE_CHARS),
            "at": message.at,
        },
        "link": message.link,
    })
}
