//! Webhooks: a forge reports a push or a pull request, and Windlass syncs or previews it.
//!
//! Windlass accepts a delivery only if it is signed with the repository's secret, and checks that before it parses anything.
//! A delivery can only trigger a sync, with the same run that `sync_now` queues, or a preview. From the payload, only the
//! number of a pull request determines what is fetched, and that is only previewed. The response does not reveal whether a
//! repository exists.

pub mod outcome;
pub mod pull_request;
pub mod setup;

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::id::{RepositoryId, RunId};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::repository::Repository;
use windlass_core::run::Trigger;
use windlass_core::time::Timestamp;
use windlass_forge::hook::{
    DeliveryContent, PullRequest, SignatureRefusal as Unverified, UnverifiedDelivery, VerifiedDelivery,
    WebhookSecret, verify,
};
use windlass_store::{ReceivedDelivery, RejectedDelivery, StoreError, Writing};

use crate::clock::now;
use crate::control::Control;
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::metrics;
use crate::outside::webhook::outcome::DeliveryOutcome;
use crate::record::RepositoryEvent;
use crate::refusal::{Refusal, RefusalKind};

impl From<DeliveryRejection> for Refusal {
    fn from(rejected: DeliveryRejection) -> Refusal {
        match rejected {
            DeliveryRejection::Refused => {
                let message = "the delivery's signature does not match this webhook";
                let help = "check the URL and the secret with `windlass repo webhook`";
                Refusal::new(RefusalKind::Unauthenticated, "webhook-refused", message, help)
            }
            DeliveryRejection::TooMany(wait) => {
                Refusal::too_many("too many deliveries", wait, "correctly signed pushes are still accepted")
            }
            DeliveryRejection::Store(error) => error.into(),
        }
    }
}

/// Why a delivery was rejected.
#[derive(Debug)]
pub enum DeliveryRejection {
    /// The repository does not exist, it is disabled, or the signature is wrong; the response does not show which.
    Refused,
    /// There were too many; wait this long.
    TooMany(Duration),
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for DeliveryRejection {
    fn from(error: StoreError) -> DeliveryRejection {
        DeliveryRejection::Store(error)
    }
}

/// A request as received.
pub struct IncomingDelivery<'r> {
    /// Which repository, as the address names it.
    pub repository: &'r str,
    /// The address of the sender.
    pub from: &'r str,
    /// The text of a header.
    pub header: &'r (dyn Fn(&str) -> Option<&'r str> + Sync),
    /// The body.
    pub body: &'r [u8],
}

/// The secret of a repository's webhook.
pub(crate) fn secret_of(server: &Control, repository_id: &RepositoryId, generation: i64) -> WebhookSecret {
    WebhookSecret::derive(server.keys().signing_key(), repository_id, generation)
}

/// Verifies a delivery with the repository's secret, or with the secret from before the server's key was rotated.
fn verify_any<'b>(
    server: &Control,
    place: (&RepositoryId, i64),
    request: &'b IncomingDelivery<'_>,
    now: Timestamp,
) -> Result<VerifiedDelivery<'b>, Unverified> {
    let verified = |key: &[u8]| {
        let secret = WebhookSecret::derive(key, place.0, place.1);
        verify(UnverifiedDelivery { header: request.header, body: request.body }, &secret, now)
    };
    let mut keys = server.keys().accepted_keys(now);
    let first = verified(keys.next().unwrap_or_default());
    match first {
        Ok(delivery) => Ok(delivery),
        Err(refusal) => keys.find_map(|key| verified(key).ok()).ok_or(refusal),
    }
}

/// Verifies and processes a delivery.
pub async fn receive(
    server: &Control,
    request: &IncomingDelivery<'_>,
) -> Result<DeliveryOutcome, DeliveryRejection> {
    let now = now();
    let mut reading = server.store().read().await?;
    let repository = reading.repository_of_webhook(request.repository).await?;
    let repository = repository.filter(|repository| repository.enabled);
    // Without a repository, verifies with the secret of an empty id, which nobody has, so that the response time is the same.
    let nobody = RepositoryId::new("");
    let id = repository.as_ref().map_or(&nobody, |repository| &repository.id);
    let generation = reading.webhook(id).await?.generation;
    drop(reading);
    let verified = verify_any(server, (id, generation), request, now);
    match (repository, verified) {
        (Some(repository), Ok(delivery)) => take(server, &repository, &delivery, now).await,
        (repository, verified) => Err(refuse(server, repository, verified.err(), request.from)),
    }
}

/// What a delivery triggers.
enum DeliveryAction {
    Sync,
    PullRequest(PullRequest),
    Nothing(String),
}

fn delivery_action(branch: &str, content: DeliveryContent) -> DeliveryAction {
    let nothing = |reason: &str| DeliveryAction::Nothing(reason.to_owned());
    match content {
        DeliveryContent::UnspecifiedChange => DeliveryAction::Sync,
        DeliveryContent::Push { branches } if branches.iter().any(|pushed| pushed == branch) => {
            DeliveryAction::Sync
        }
        DeliveryContent::Push { .. } => {
            DeliveryAction::Nothing(format!("nothing was pushed to the branch {branch}"))
        }
        DeliveryContent::PullRequest(request) => DeliveryAction::PullRequest(request),
        DeliveryContent::Ping => nothing("the webhook works (test delivery)"),
        DeliveryContent::Other => nothing("Windlass ignores this event type"),
        DeliveryContent::Unreadable => {
            nothing("cannot read the body: set the webhook's content type to application/json")
        }
    }
}

/// Processes a verified delivery once.
async fn take(
    server: &Control,
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
    now: Timestamp,
) -> Result<DeliveryOutcome, DeliveryRejection> {
    let action = delivery_action(&repository.branch, delivery.content());
    if let Err(wait) = server.rate_limits().valid_deliveries.take(repository.id.as_str(), Instant::now()) {
        metrics::webhook(delivery.sender.slug(), "limited");
        if let DeliveryAction::Sync = action {
            // Schedules a sync nevertheless: forges do not send a rejected delivery again.
            let mut writing = server.store().write().await?;
            writing.repository_sync_by(&repository.id, now.plus(wait)).await?;
            note_pusher(&mut writing, repository, delivery, now).await?;
            writing.commit().await?;
        }
        return Err(DeliveryRejection::TooMany(wait));
    }
    let outcome = record_delivery(server, repository, delivery, action, now).await?;
    metrics::webhook(delivery.sender.slug(), outcome.slug());
    if outcome == DeliveryOutcome::Accepted {
        server.nudges().sync.notify_one();
        server.nudges().pull_requests.notify_one();
    }
    Ok(outcome)
}

/// Stores what a delivery changes and that it was received, in one transaction.
async fn record_delivery(
    server: &Control,
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
    action: DeliveryAction,
    now: Timestamp,
) -> Result<DeliveryOutcome, DeliveryRejection> {
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let Some(repository) = writing.repository(&repository.account_id, repository.id.as_str()).await? else {
        return Err(DeliveryRejection::Refused);
    };
    let does_something = !matches!(action, DeliveryAction::Nothing(_));
    if does_something && !writing.webhook_delivery_record(&repository.id, delivery.identity, now).await? {
        return Ok(DeliveryOutcome::Duplicate);
    }
    let outcome = match action {
        DeliveryAction::Sync => {
            // A run that is already fetching does not count as queued: another run follows it.
            let request = SyncRequest::new(Trigger::Webhook, None);
            let run_id = queue_run(&mut writing, &repository, &request, now).await?;
            note_pusher(&mut writing, &repository, delivery, now).await?;
            writing.event(received_event(&repository, delivery, run_id, now));
            DeliveryOutcome::Accepted
        }
        DeliveryAction::PullRequest(request) => {
            pull_request::pull_request_changed(&mut writing, &repository, delivery.sender, &request, now)
                .await?
        }
        DeliveryAction::Nothing(reason) => DeliveryOutcome::Ignored(reason),
    };
    let outcome_text = match &outcome {
        DeliveryOutcome::Ignored(reason) => format!("ignored: {reason}"),
        other => other.slug().to_owned(),
    };
    let received = ReceivedDelivery {
        at: now,
        from: delivery.sender,
        event: delivery.event.clone(),
        outcome: outcome_text,
    };
    writing.webhook_set_last_received(&repository.id, &received).await?;
    server.commit(writing).await?;
    Ok(outcome)
}

/// Stores who pushed, for runs that have not read the commit yet and for proposals that opened before the delivery arrived.
async fn note_pusher(
    writing: &mut Writing,
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(pusher) = delivery.pusher() else { return Ok(()) };
    let Some(contributor) = Contributor::new(ContributorRole::Pusher, &pusher.person) else { return Ok(()) };
    for head in &pusher.heads {
        writing.push_record(&repository.id, head, &contributor.person, now).await?;
        let mut open = writing.proposals_of_commit(&repository.id, head).await?;
        for proposal in &mut open {
            proposal.contributors.add([contributor.clone()]);
        }
        let credited: Vec<_> = open.iter().map(|proposal| (&proposal.id, &proposal.contributors)).collect();
        writing.proposals_add_contributors(&credited).await?;
    }
    Ok(())
}

fn received_event(
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
    run_id: RunId,
    now: Timestamp,
) -> NewEvent {
    let message = format!("{} reported a push to {}", delivery.sender.label(), repository.name);
    let payload = json!({"sender": delivery.sender.slug(), "event": delivery.event});
    let kind = EventKind::WebhookReceived;
    let news = RepositoryEvent { kind, severity: Severity::Low, by: "webhook", message, payload };
    NewEvent { correlation_id: Some(run_id), ..news.event(repository, now) }
}

/// Rejects a delivery. A sender of many wrong ones gets "too many", but its deliveries are still verified: deliveries of
/// strangers must not lock out a forge behind the same proxy.
fn refuse(
    server: &Control,
    repository: Option<Repository>,
    refusal: Option<Unverified>,
    from: &str,
) -> DeliveryRejection {
    metrics::webhook("unknown", "refused");
    if let (Some(repository), Some(refusal)) = (repository, refusal)
        && server.rate_limits().refusal_events.take(repository.id.as_str(), Instant::now()).is_ok()
    {
        // In a separate task, so that the response takes no longer for repositories that exist.
        let (server, from) = (server.clone(), from.to_owned());
        tokio::spawn(async move {
            if let Err(error) = record_refusal(&server, &repository, refusal, from).await {
                tracing::warn!(%error, "could not record a rejected webhook");
            }
        });
    }
    let block = AddressBlock::of_text(from).to_string();
    match server.rate_limits().wrong_signatures.take(&block, Instant::now()) {
        Ok(()) => DeliveryRejection::Refused,
        Err(wait) => DeliveryRejection::TooMany(wait),
    }
}

async fn record_refusal(
    server: &Control,
    repository: &Repository,
    refusal: Unverified,
    from: String,
) -> Result<(), StoreError> {
    let now = now();
    let mut writing = server.store().write_account(&repository.account_id).await?;
    if writing.repository(&repository.account_id, repository.id.as_str()).await?.is_none() {
        return Ok(());
    }
    let message = format!("rejected a webhook delivery for {}: {refusal}", repository.name);
    let payload = json!({"reason": refusal.to_string(), "address": from});
    let kind = EventKind::WebhookRefused;
    let news = RepositoryEvent { kind, severity: Severity::Medium, by: "webhook", message, payload };
    writing.event(news.event(repository, now));
    let refused = RejectedDelivery { at: now, from, reason: refusal.to_string() };
    writing.webhook_set_last_rejected(&repository.id, &refused).await?;
    server.commit(writing).await
}
