//! Webhooks: a forge says that something was pushed, and Windlass looks.
//!
//! A delivery is believed only if it is signed with the repository's secret, which is checked before anything is parsed.
//! It means at most "look now": the run that it queues is the very one that `sync_now` queues. Of a payload, only the number
//! of a pull request says what is fetched, and that is only ever previewed. Whoever may not know that a repository exists learns nothing here.

pub mod outcome;
pub mod pull_request;
pub mod setup;

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::repository::Repository;
use windlass_core::run::Trigger;
use windlass_core::time::Timestamp;
use windlass_forge::hook::{Delivery, Incoming, Meaning, PullRequest, Refusal as Unverified, Secret, verify};
use windlass_store::{Received, Refused, StoreError, Writing};

use crate::clock::now;
use crate::control::Control;
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::outside::webhook::outcome::Outcome;
use crate::refusal::{Refusal, RefusalKind};
use crate::{metrics, record};

impl From<Unwelcome> for Refusal {
    fn from(unwelcome: Unwelcome) -> Refusal {
        match unwelcome {
            Unwelcome::Refused => {
                let message = "this is not a delivery that is signed for this webhook";
                let help = "check the URL and the secret with `windlass repo webhook`";
                Refusal::new(RefusalKind::Unauthenticated, "webhook-refused", message, help)
            }
            Unwelcome::TooMany(wait) => Refusal::too_many(
                "too many deliveries",
                wait,
                "a push that is signed rightly is looked at all the same",
            ),
            Unwelcome::Store(error) => error.into(),
        }
    }
}

/// Why a delivery was not taken.
#[derive(Debug)]
pub enum Unwelcome {
    /// There is no such repository, it is disabled, or the signature is wrong: which, is not told.
    Refused,
    /// There were too many; wait so long.
    TooMany(Duration),
    /// The database could not tell.
    Store(StoreError),
}

impl From<StoreError> for Unwelcome {
    fn from(error: StoreError) -> Unwelcome {
        Unwelcome::Store(error)
    }
}

/// A request as it came in.
pub struct Request<'r> {
    /// Which repository, as the address names it.
    pub repository: &'r str,
    /// Where it comes from.
    pub from: &'r str,
    /// The text of a header.
    pub header: &'r (dyn Fn(&str) -> Option<&'r str> + Sync),
    /// What was sent.
    pub body: &'r [u8],
}

/// The secret of a repository's webhook.
pub(crate) fn secret_of(server: &Control, repository_id: &str, generation: i64) -> Secret {
    Secret::derive(server.keys().signing(), repository_id, generation)
}

/// Verifies a delivery with the repository's secret, or with the one it had before the server's key was rotated.
fn verify_any<'b>(
    server: &Control,
    place: (&str, i64),
    request: &'b Request<'_>,
    now: Timestamp,
) -> Result<Delivery<'b>, Unverified> {
    let verified = |key: &[u8]| {
        let secret = Secret::derive(key, place.0, place.1);
        verify(Incoming { header: request.header, body: request.body }, &secret, now)
    };
    let mut keys = server.keys().accepted(now);
    let first = verified(keys.next().unwrap_or_default());
    match first {
        Ok(delivery) => Ok(delivery),
        Err(refusal) => keys.find_map(|key| verified(key).ok()).ok_or(refusal),
    }
}

/// Takes a delivery.
pub async fn receive(server: &Control, request: &Request<'_>) -> Result<Outcome, Unwelcome> {
    let now = now();
    let mut reading = server.store().read().await?;
    let repository = reading.repository_of_webhook(request.repository).await?;
    let repository = repository.filter(|repository| repository.enabled);
    // Without a repository the same is done with the secret of nobody, which nobody was ever shown.
    let id = repository.as_ref().map_or("", |repository| repository.id.as_str());
    let generation = reading.webhook(id).await?.generation;
    drop(reading);
    let verified = verify_any(server, (id, generation), request, now);
    match (repository, verified) {
        (Some(repository), Ok(delivery)) => take(server, &repository, &delivery, now).await,
        (repository, verified) => Err(refuse(server, repository, verified.err(), request.from)),
    }
}

/// What a delivery asks for.
enum Wish {
    Look,
    PullRequest(PullRequest),
    Nothing(String),
}

fn wish(branch: &str, meaning: Meaning) -> Wish {
    let nothing = |reason: &str| Wish::Nothing(reason.to_owned());
    match meaning {
        Meaning::Something => Wish::Look,
        Meaning::Push { branches } if branches.iter().any(|pushed| pushed == branch) => Wish::Look,
        Meaning::Push { .. } => Wish::Nothing(format!("nothing was pushed to the branch {branch}")),
        Meaning::PullRequest(request) => Wish::PullRequest(request),
        Meaning::Ping => nothing("the webhook works (test delivery)"),
        Meaning::Other => nothing("Windlass ignores this event type"),
        Meaning::Unreadable => {
            nothing("the body cannot be read: is the content type of the webhook application/json?")
        }
    }
}

/// Does what a believed delivery asks for, once.
async fn take(
    server: &Control,
    repository: &Repository,
    delivery: &Delivery<'_>,
    now: Timestamp,
) -> Result<Outcome, Unwelcome> {
    let wish = wish(&repository.branch, delivery.meaning());
    if let Err(wait) = server.allowances().received.take(&repository.id, Instant::now()) {
        metrics::webhook(delivery.sender.slug(), "limited");
        if let Wish::Look = wish {
            // Not lost: forges do not send again what was refused.
            let mut writing = server.store().write().await?;
            writing.repository_hasten(&repository.id, now.after(wait)).await?;
            note_pusher(&mut writing, repository, delivery, now).await?;
            writing.commit().await?;
        }
        return Err(Unwelcome::TooMany(wait));
    }
    let outcome = act(server, repository, delivery, wish, now).await?;
    metrics::webhook(delivery.sender.slug(), outcome.slug());
    if outcome == Outcome::Accepted {
        server.nudges().sync.notify_one();
        server.nudges().pull_requests.notify_one();
    }
    Ok(outcome)
}

/// Writes what a delivery changes, and that it came, in one transaction.
async fn act(
    server: &Control,
    repository: &Repository,
    delivery: &Delivery<'_>,
    wish: Wish,
    now: Timestamp,
) -> Result<Outcome, Unwelcome> {
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let Some(repository) = writing.repository(&repository.account_id, &repository.id).await? else {
        return Err(Unwelcome::Refused);
    };
    let does_something = !matches!(wish, Wish::Nothing(_));
    if does_something && !writing.delivery_note(&repository.id, delivery.identity, now).await? {
        return Ok(Outcome::Duplicate);
    }
    let outcome = match wish {
        Wish::Look => {
            // A run that is fetching does not count as one that waits: another one follows it.
            let request = SyncRequest::new(Trigger::Webhook, None);
            let run_id = queue_run(&mut writing, &repository, &request, now).await?;
            note_pusher(&mut writing, &repository, delivery, now).await?;
            writing.event(received_event(&repository, delivery, run_id, now));
            Outcome::Accepted
        }
        Wish::PullRequest(request) => {
            pull_request::pull_request_changed(&mut writing, &repository, delivery.sender, &request, now)
                .await?
        }
        Wish::Nothing(reason) => Outcome::Ignored(reason),
    };
    let told = match &outcome {
        Outcome::Ignored(reason) => format!("ignored: {reason}"),
        other => other.slug().to_owned(),
    };
    let received = Received {
        at: now,
        from: delivery.sender.slug().to_owned(),
        event: delivery.event.clone(),
        outcome: told,
    };
    writing.webhook_received(&repository.id, &received).await?;
    server.commit(writing).await?;
    Ok(outcome)
}

/// Notes who pushed, for runs that are yet to read the commit and for proposals that were opened before the forge told.
async fn note_pusher(
    writing: &mut Writing,
    repository: &Repository,
    delivery: &Delivery<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(pusher) = delivery.pusher() else { return Ok(()) };
    let Some(contributor) = Contributor::new(ContributorRole::Pusher, &pusher.person) else { return Ok(()) };
    for head in &pusher.heads {
        writing.push_note(&repository.id, head, &contributor.person, now).await?;
        let mut open = writing.proposals_of_commit(&repository.id, head).await?;
        for proposal in &mut open {
            proposal.contributors.add([contributor.clone()]);
        }
        let credited: Vec<_> =
            open.iter().map(|proposal| (proposal.id.as_str(), &proposal.contributors)).collect();
        writing.proposals_credit(&credited).await?;
    }
    Ok(())
}

fn received_event(
    repository: &Repository,
    delivery: &Delivery<'_>,
    run_id: String,
    now: Timestamp,
) -> NewEvent {
    let message = format!("{} reported a push to {}", delivery.sender, repository.name);
    let payload = json!({"sender": delivery.sender.slug(), "event": delivery.event});
    let (kind, by) = (EventKind::WebhookReceived, "webhook");
    let event = record::repository_event(kind, Severity::Low, repository, by, message, payload, now);
    NewEvent { correlation_id: Some(run_id), ..event }
}

/// Refuses a delivery. Those who send many wrong ones are asked to wait; they are still read, for what a stranger sends
/// must not keep a forge out that comes through the same proxy.
fn refuse(
    server: &Control,
    repository: Option<Repository>,
    refusal: Option<Unverified>,
    from: &str,
) -> Unwelcome {
    metrics::webhook("unknown", "refused");
    if let (Some(repository), Some(refusal)) = (repository, refusal)
        && server.allowances().told.take(&repository.id, Instant::now()).is_ok()
    {
        // Beside the answer, which takes no longer for repositories that exist.
        let (server, from) = (server.clone(), from.to_owned());
        tokio::spawn(async move {
            if let Err(error) = tell_refusal(&server, &repository, refusal, from).await {
                tracing::warn!(%error, "could not record a rejected webhook");
            }
        });
    }
    let block = AddressBlock::of_text(from).to_string();
    match server.allowances().refused.take(&block, Instant::now()) {
        Ok(()) => Unwelcome::Refused,
        Err(wait) => Unwelcome::TooMany(wait),
    }
}

async fn tell_refusal(
    server: &Control,
    repository: &Repository,
    refusal: Unverified,
    from: String,
) -> Result<(), StoreError> {
    let now = now();
    let mut writing = server.store().write_account(&repository.account_id).await?;
    if writing.repository(&repository.account_id, &repository.id).await?.is_none() {
        return Ok(());
    }
    let message = format!("rejected a webhook delivery for {}: {refusal}", repository.name);
    let payload = json!({"reason": refusal.to_string(), "address": from});
    let (kind, by) = (EventKind::WebhookRefused, "webhook");
    writing.event(record::repository_event(kind, Severity::Medium, repository, by, message, payload, now));
    let refused = Refused { at: now, from, reason: refusal.to_string() };
    writing.webhook_refused(&repository.id, &refused).await?;
    server.commit(writing).await
}
