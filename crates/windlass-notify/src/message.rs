//! What happened, as alerts look at it, and what is told of it.

use serde::{Deserialize, Serialize};
use windlass_core::id::RunId;
use windlass_core::resource::AlertSeverity;
use windlass_core::time::Timestamp;

use crate::sanitize::{SHORT, line};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertEvent {
    /// Its number in the account.
    pub seq: i64,
    /// What kind, for example `gitops.sync_failed`.
    pub kind: String,
    /// How much it matters.
    pub severity: AlertSeverity,
    /// The kind and name of the resource it is about.
    pub resource: Option<(String, String)>,
    /// The name of the repository it is about.
    pub repository: Option<String>,
    /// The sync run it belongs to.
    pub run_id: Option<RunId>,
    /// Who or what made it happen.
    pub source: String,
    /// One line for people.
    pub message: String,
    /// When.
    pub at: Timestamp,
}

/// Whether something began or ended, for receivers that keep what is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// It happened.
    Firing,
    /// What was told before is over.
    Resolved,
}

/// What is told. It is kept with its delivery, so that a later attempt tells the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationMessage {
    /// The account.
    pub account: String,
    /// The alert that tells it; none for a test.
    pub alert: Option<String>,
    /// The event's number; none for a test or a digest.
    pub seq: Option<i64>,
    /// The kind of event.
    pub kind: String,
    /// How much it matters: `low`, `medium`, `high` or `critical`.
    pub severity: String,
    /// Whether it began or ended.
    pub state: MessageState,
    /// The kind and name of the resource it is about.
    pub resource: Option<(String, String)>,
    /// The repository it is about.
    pub repository: Option<String>,
    /// The sync run it belongs to.
    pub run_id: Option<RunId>,
    /// Who or what made it happen.
    pub source: String,
    /// One line for people.
    pub text: String,
    /// When it happened.
    pub at: Timestamp,
    /// The page to look at.
    pub link: Option<String>,
}

/// Events that end what another told: the first ends the second.
const RESOLVING_EVENTS: &[(&str, &str, AlertSeverity)] =
    &[("gitops.drift_resolved", "gitops.drift_detected", AlertSeverity::High)];

impl AlertEvent {
    /// What this one ends, as it was told when it began; none if it ends nothing.
    pub fn resolves(&self) -> Option<AlertEvent> {
        let (_, began, severity) = RESOLVING_EVENTS.iter().find(|(ends, ..)| *ends == self.kind)?;
        Some(AlertEvent { kind: (*began).to_owned(), severity: *severity, ..self.clone() })
    }
}

impl NotificationMessage {
    /// What an alert tells of something that happened.
    pub fn of(
        account: &str,
        alert: &str,
        happening: &AlertEvent,
        state: MessageState,
        link: Option<String>,
    ) -> NotificationMessage {
        NotificationMessage {
            account: account.to_owned(),
            alert: Some(alert.to_owned()),
            seq: Some(happening.seq),
            kind: happening.kind.clone(),
            severity: happening.severity.word().to_owned(),
            state,
            resource: happening.resource.clone(),
            repository: happening.repository.clone(),
            run_id: happening.run_id.clone(),
            source: happening.source.clone(),
            text: happening.message.clone(),
            at: happening.at,
            link,
        }
    }

    /// What tells that more happened than could be told one by one.
    pub fn digest(account: &str, count: usize, link: Option<String>, now: Timestamp) -> NotificationMessage {
        let text = match count {
            1 => "1 more event was not sent individually, to limit messages".to_owned(),
            count => format!("{count} more events were not sent individually, to limit messages"),
        };
        NotificationMessage { link, ..NotificationMessage::bare(account, "notification.digest", text, now) }
    }

    /// What shows that a provider can be reached.
    pub fn test(account: &str, by: &str, now: Timestamp) -> NotificationMessage {
        let text = "this is a test message".to_owned();
        NotificationMessage {
            source: by.to_owned(),
            ..NotificationMessage::bare(account, "notification.test", text, now)
        }
    }

    fn bare(account: &str, kind: &str, text: String, now: Timestamp) -> NotificationMessage {
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

    /// What happened in a few words: `sync failed`.
    pub(crate) fn title(&self) -> String {
        let kind = line(&self.kind, SHORT);
        let last = kind.rsplit('.').next().unwrap_or(&kind).replace('_', " ");
        match self.state {
            MessageState::Firing => last,
            MessageState::Resolved => format!("{last}: resolved"),
        }
    }

    /// What it is about, as pairs of words: for every provider that shows a table.
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
