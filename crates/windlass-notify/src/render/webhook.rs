//! Generic webhook: all fields as JSON. Only JSON's own escaping is used; the receiver decides how to show the texts.

use serde_json::{Value, json};

use crate::message::NotificationMessage;
use crate::sanitize::{LONG, SHORT, line, lines};

pub(super) fn body(message: &NotificationMessage, delivery: &str) -> Value {
    let short = |text: &String| line(text, SHORT);
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
            "message": lines(&message.text, LONG),
            "at": message.at,
        },
        "link": message.link,
    })
}
