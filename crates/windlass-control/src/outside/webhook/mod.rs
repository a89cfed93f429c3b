//! Webhooks: a forge says that something was pushed, and Windlass looks.
//!
//! A delivery is believed only if it is signed with the repository's secret, which is checked before anything is parsed.
//! It means at most "look now": the run that it queues is the very one that `sync_now` queues. Of a payload, only the
//! number of a pull request says what is fetched, and that is only ever previewed. Whoever may not know that a repository
//! exists learns nothing here.

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
use windlass_store::{Received, Refused, StoreError, Writing};

use crate::clock::now;
use crate::control::Control;
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::metrics;
use crate::outside::webhook::outcome::DeliveryOutcome;
use crate::record::RepositoryEvent;
use crate::refusal::{Refusal, RefusalKind};

impl From<DeliveryRejected> for Refusal {
    fn from(unwelcome: DeliveryRejected) -> Refusal {
        match unwelcome {
            DeliveryRejected::Refused => {
                let message = "the delivery's signature does not match this webhook";
                let help = "check the URL and the secret with `windlass repo webhook`";
                Refusal::new(RefusalKind::Unauthenticated, "webhook-refused", message, help)
            }
            DeliveryRejected::TooMany(wait) => {
                Refusal::too_many("too many deliveries", wait, "correctly signed pushes are still accepted")
            }
            DeliveryRejected::Store(error) => error.into(),
        }
    }
}

/// Why a delivery was not taken.
#[derive(Debug)]
pub enum DeliveryRejected {
    /// There is no such repository, it is disabled, or the signature is wrong: which, is not told.
    Refused,
    /// There were too many; wait so long.
    TooMany(Duration),
    /// The database could not tell.
    Store(StoreError),
}

impl From<StoreError> for DeliveryRejected {
    fn from(error: StoreError) -> DeliveryRejected {
        DeliveryRejected::Store(error)
    }
}

/// A request as it came in.
pub struct IncomingDelivery<'r> {
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
pub(crate) fn secret_of(server: &Control, repository_id: &RepositoryId, generation: i64) -> WebhookSecret {
    WebhookSecret::derive(server.keys().signing(), repository_id, generation)
}

/// Verifies a delivery with the repository's secret, or with the one it had before the server's key was rotated.
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
    let mut keys = server.keys().accepted(now);
    let first = verified(keys.next().unwrap_or_default());
    match first {
        Ok(delivery) => Ok(delivery),
        Err(refusal) => keys.find_map(|key| verified(key).ok()).ok_or(refusal),
    }
}

/// Takes a delivery.
pub async fn receive(
    server: &Control,
    request: &IncomingDelivery<'_>,
) -> Result<DeliveryOutcome, DeliveryRejected> {
    let now = now();
    let mut reading = server.store().read().await?;
    let repository = reading.repository_of_webhook(request.repository).await?;
    let repository = repository.filter(|repository| repository.enabled);
    // Without a repository the same is done with the secret of nobody, which nobody was ever shown.
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

/// What a delivery asks for.
enum DeliveryAction {
    Sync,
    PullRequest(PullRequest),
    Nothing(String),
}

fn delivery_action(branch: &str, meaning: DeliveryContent) -> DeliveryAction {
    let nothing = |reason: &str| DeliveryAction::Nothing(reason.to_owned());
    match meaning {
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

/// Does what a believed delivery asks for, once.
async fn take(
    server: &Control,
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
    now: Timestamp,
) -> Result<DeliveryOutcome, DeliveryRejected> {
    let wish = delivery_action(&repository.branch, delivery.content());
    if let Err(wait) = server.allowances().valid_deliveries.take(repository.id.as_str(), Instant::now()) {
        metrics::webhook(delivery.sender.slug(), "limited");
        if let DeliveryAction::Sync = wish {
            // Not lost: forges do not send again what was refused.
            let mut writing = server.store().write().await?;
            writing.repository_sync_by(&repository.id, now.plus(wait)).await?;
            note_pusher(&mut writing, repository, delivery, now).await?;
            writing.commit().await?;
        }
        return Err(DeliveryRejected::TooMany(wait));
    }
    let outcome = record_delivery(server, repository, delivery, wish, now).await?;
    metrics::webhook(delivery.sender.slug(), outcome.slug());
    if outcome == DeliveryOutcome::Accepted {
        server.nudges().sync.notify_one();
        server.nudges().pull_requests.notify_one();
    }
    Ok(outcome)
}

/// Writes what a delivery changes, and that it came, in one transaction.
async fn record_delivery(
    server: &Control,
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
    wish: DeliveryAction,
    now: Timestamp,
) -> Result<DeliveryOutcome, DeliveryRejected> {
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let Some(repository) = writing.repository(&repository.account_id, repository.id.as_str()).await? else {
        return Err(DeliveryRejected::Refused);
    };
    let does_something = !matches!(wish, DeliveryAction::Nothing(_));
    if does_something && !writing.webhook_delivery_record(&repository.id, delivery.identity, now).await? {
        return Ok(DeliveryOutcome::Duplicate);
    }
    let outcome = match wish {
        DeliveryAction::Sync => {
            // A run that is fetching does not count as one that waits: another one follows it.
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
    let told = match &outcome {
        DeliveryOutcome::Ignored(reason) => format!("ignored: {reason}"),
        other => other.slug().to_owned(),
    };
    let received = Received { at: now, from: delivery.sender, event: delivery.event.clone(), outcome: told };
    writing.webhook_received(&repository.id, &received).await?;
    server.commit(writing).await?;
    Ok(outcome)
}

/// Notes who pushed, for runs that are yet to read the commit and for proposals that were opened before the forge told.
async fn note_pusher(
    writing: &mut Writing,
    repository: &Repository,
    delivery: &VerifiedDelivery<'_>,
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

/// Refuses a delivery. Those who send many wrong ones are asked to wait; they are still read, for what a stranger sends
/// must not keep a forge out that comes through the same proxy.
fn refuse(
    server: &Control,
    repository: Option<Repository>,
    refusal: Option<Unverified>,
    from: &str,
) -> DeliveryRejected {
    metrics::webhook("unknown", "refused");
    if let (Some(repository), Some(refusal)) = (repository, refusal)
        && server.allowances().refusal_events.take(repository.id.as_str(), Instant::now()).is_ok()
    {
        // Beside the answer, which takes no longer for repositories that exist.
        let (server, from) = (server.clone(), from.to_owned());
        tokio::spawn(async move {
            if let Err(error) = record_refusal(&server, &repository, refusal, from).await {
                tracing::warn!(%error, "could not record a rejected webhook");
            }
        });
    }
    let block = AddressBlock::of_text(from).to_string();
    match server.allowances().wrong_signatures.take(&block, Instant::now()) {
        Ok(()) => DeliveryRejected::Refused,
        Err(wait) => DeliveryRejected::TooMany(wait),
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
    let refused = Refused { at: now, from, reason: refusal.to_string() };
    writing.webhook_refused(&repository.id, &refused).await?;
    server.commit(writing).await
}
