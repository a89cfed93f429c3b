//! Events as alerts see them, and the messages that are sent about them.

use serde::{Deserialize, Serialize};
use windlass_core::id::RunId;
use windlass_core::resource::AlertSeverity;
use windlass_core::time::Timestamp;

use crate::sanitize::{MAX_NAME_CHARS, single_line};

/// An event that alerts are matched against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertEvent {
    /// Its number in the account.
    pub seq: i64,
    /// The kind of event, for example `gitops.sync_failed`.
    pub kind: String,
    /// How severe it is.
    pub severity: AlertSeverity,
    /// The kind and name of the resource it is about.
    pub resource: Option<(String, String)>,
    /// The name of the repository it is about.
    pub repository: Option<String>,
    /// The sync run it belongs to.
    pub run_id: Option<RunId>,
    /// The person or component that caused it.
    pub source: String,
    /// One line of text.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
}

/// Whether a condition began or ended, for receivers that track open alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// The condition began.
    Firing,
    /// The condition ended.
    Resolved,
}

/// A message to a notification provider. It is stored with its delivery, so that every attempt sends the same text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationMessage {
    /// The account.
    pub account: String,
    /// The alert that matched; `None` for a test.
    pub alert: Option<String>,
    /// The event's number; `None` for a test or a digest.
    pub seq: Option<i64>,
    /// The kind of event.
    pub kind: String,
    /// How severe it is: `low`, `medium`, `high` or `critical`.
    pub severity: String,
    /// Whether the condition began or ended.
    pub state: MessageState,
    /// The kind and name of the resource it is about.
    pub resource: Option<(String, String)>,
    /// The repository it is about.
    pub repository: Option<String>,
    /// The sync run it belongs to.
    pub run_id: Option<RunId>,
    /// The person or component that caused it.
    pub source: String,
    /// One line of text.
    pub text: String,
    /// When it happened.
    pub at: Timestamp,
    /// The page with details.
    pub link: Option<String>,
}

/// Events that end a condition: the first kind ends the condition that the second kind began.
const RESOLVING_EVENTS: &[(&str, &str, AlertSeverity)] =
    &[("gitops.drift_resolved", "gitops.drift_detected", AlertSeverity::High)];

impl AlertEvent {
    /// The event whose condition this event ends; `None` if it ends none.
    pub fn resolves(&self) -> Option<AlertEvent> {
        let (_, began, severity) = RESOLVING_EVENTS.iter().find(|(ends, ..)| *ends == self.kind)?;
        Some(AlertEvent { kind: (*began).to_owned(), severity: *severity, ..self.clone() })
    }
}

impl NotificationMessage {
    /// The message of an alert about an event.
    pub fn of(
        account: &str,
        alert: &str,
        event: &AlertEvent,
        state: MessageState,
        link: Option<String>,
    ) -> NotificationMessage {
        NotificationMessage {
            account: account.to_owned(),
            alert: Some(alert.to_owned()),
            seq: Some(event.seq),
            kind: event.kind.clone(),
            severity: event.severity.word().to_owned(),
            state,
            resource: event.resource.clone(),
            repository: event.repository.clone(),
            run_id: event.run_id.clone(),
            source: event.source.clone(),
            text: event.message.clone(),
            at: event.at,
            link,
        }
    }

    /// The message that replaces events beyond the rate limit: it says how many there were.
    pub fn digest(account: &str, count: usize, link: Option<String>, now: Timestamp) -> NotificationMessage {
        let text = match count {
            1 => "1 more event was not sent individually, to limit messages".to_owned(),
            count => format!("{count} more events were not sent individually, to limit messages"),
        };
        NotificationMessage {
            link,
            ..NotificationMessage::minimal(account, "notification.digest", text, now)
        }
    }

    /// The message that tests whether a provider can be reached.
    pub fn test(account: &str, by: &str, now: Timestamp) -> NotificationMessage {
        let text = "this is a test message".to_owned();
        NotificationMessage {
            source: by.to_owned(),
            ..NotificationMessage::minimal(account, "notification.test", text, now)
        }
    }

    fn minimal(account: &str, kind: &str, text: String, now: Timestamp) -> NotificationMessage {
        NotificationMessage {
            account: account.to_owned(),
            alert: None,
            seq: None,
            kind: kind.to_owned(),
            severity: AlertSeverity::Low.word().to_owned(),
            state: MessageState::Firing,
            resource: None,
            repository: None,
            run_id: None,
            source: "windlass".to_owned(),
            text,
            at: now,
            link: None,
        }
    }

    /// The kind of event in words: `sync failed`.
    pub(crate) fn title(&self) -> String {
        let kind = single_line(&self.kind, MAX_NAME_CHARS);
        let last = kind.rsplit('.').next().unwrap_or(&kind).replace('_', " ");
        match self.state {
            MessageState::Firing => last,
            MessageState::Resolved => format!("{last}: resolved"),
        }
    }

    /// The facts as pairs of label and value, for providers that show a table.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some((kind, name)) = &self.resource {
            facts.push(("Resource", format!("{kind} {name}")));
        }
        facts.extend(self.repository.clone().map(|name| ("Repository", name)));
        facts.push(("Severity", self.severity.clone()));
        facts.push(("Account", self.account.clone()));
        facts.push(("By", self.source.clone()));
        facts
    }
}
