//! Announces agents that went out of contact or came back, once for each change.

use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use windlass_core::agent::Agent;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::AccountId;
use windlass_core::report::{AnnouncedContact, ContactChange, ContactState, contact_change, contact_state};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::ask::target::OFFLINE_AFTER;
use crate::clock::now;
use crate::control::Control;
use crate::pace::{WaitResult, run_periodically, wait_for_nudge};

/// How often Windlass looks.
const INTERVAL: Duration = Duration::from_secs(15);

/// How long after its start a server announces nobody as offline: agents that lost it connect again in this time.
const GRACE: Duration = Duration::from_secs(2 * OFFLINE_AFTER.as_secs());

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let nudge = Notify::new();
    if wait_for_nudge(&server, &nudge, GRACE).await == WaitResult::Over {
        run_periodically(&server, "contacts", &nudge, INTERVAL, turn).await;
    }
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    announce_contacts(server, now()).await
}

/// Announces what changed since the last time.
pub async fn announce_contacts(server: &Control, now: Timestamp) -> Result<(), StoreError> {
    let accounts = server.store().read().await?.accounts().await?;
    for account in accounts {
        let mut reading = server.store().read().await?;
        let changes = contact_changes(&mut reading, &account.id, now).await?;
        drop(reading);
        if !changes.is_empty() {
            announce(server, &account.id, now).await?;
        }
    }
    Ok(())
}

/// Compares again under the lock of the account, because another replica may have announced the same.
async fn announce(server: &Control, account_id: &AccountId, now: Timestamp) -> Result<(), StoreError> {
    let mut writing = server.store().write_account(account_id).await?;
    let changes = contact_changes(&mut writing, account_id, now).await?;
    let stored: Vec<(ResourceKey, AnnouncedContact)> = changes
        .iter()
        .map(|(agent, change)| {
            let (ContactChange::Note(state) | ContactChange::Announce(state)) = change;
            (agent.target.clone(), *state)
        })
        .collect();
    writing.target_contacts_put(&stored, now).await?;
    for (agent, change) in &changes {
        if let ContactChange::Announce(state) = change {
            writing.event(contact_event(agent, *state, now));
        }
    }
    writing.keep_state();
    server.commit(writing).await?;
    server.nudges().notifications.notify_one();
    Ok(())
}

async fn contact_changes(
    reading: &mut Reading,
    account_id: &AccountId,
    now: Timestamp,
) -> Result<Vec<(Agent, ContactChange)>, StoreError> {
    let announced: ResourceMap<AnnouncedContact> = reading.target_contacts(account_id).await?;
    let changed = |agent: Agent| {
        let contact: ContactState = contact_state(agent.last_contact, OFFLINE_AFTER, now);
        let known = announced.get(agent.target.kind, &agent.target.name).copied();
        contact_change(known, contact).map(|change| (agent, change))
    };
    Ok(reading.agents(account_id).await?.into_iter().filter_map(changed).collect())
}

fn contact_event(agent: &Agent, state: AnnouncedContact, now: Timestamp) -> NewEvent {
    let target = &agent.target;
    let (kind, severity, message) = match state {
        AnnouncedContact::Offline => {
            (EventKind::AgentOffline, Severity::Medium, format!("the agent of {target} is out of contact"))
        }
        AnnouncedContact::Online => {
            (EventKind::AgentOnline, Severity::Low, format!("the agent of {target} is in contact again"))
        }
    };
    NewEvent {
        kind,
        severity,
        resource: Some(target.clone()),
        repository_id: None,
        correlation_id: None,
        source: "server".to_owned(),
        message,
        payload: json!({"agent_id": agent.id.as_str()}),
        at: now,
    }
}
