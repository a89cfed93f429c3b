//! Webhooks of repositories: the valid generation of their secret, the last deliveries, and which deliveries were
//! processed, so that none is processed twice.

use windlass_core::digest::Digest;
use windlass_core::forge::WebhookSender;
use windlass_core::id::RepositoryId;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

/// The generation of a secret that was never replaced.
const FIRST: i64 = 1;

/// The webhook of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The generation of the valid secret.
    pub generation: i64,
    /// The last delivery with a valid signature.
    pub received: Option<ReceivedDelivery>,
    /// A recent delivery without a valid signature. Not each of many is recorded.
    pub refused: Option<RejectedDelivery>,
}

/// A delivery with a valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedDelivery {
    /// When.
    pub at: Timestamp,
    /// Who sent it.
    pub from: WebhookSender,
    /// The sender's name of the event.
    pub event: String,
    /// What Windlass did.
    pub outcome: String,
}

/// A delivery that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedDelivery {
    /// When.
    pub at: Timestamp,
    /// The address of the sender.
    pub from: String,
    /// Why.
    pub reason: String,
}

fn read_webhook(row: &Row) -> Result<Webhook, StoreError> {
    let generation = row.number("generation")?;
    let (at, from) = (
        row.optional_timestamp("received_at")?,
        row.optional_word("received_from", WebhookSender::from_slug)?,
    );
    let (event, outcome) = (
        row.optional_text("received_event")?.unwrap_or_default(),
        row.optional_text("received_outcome")?.unwrap_or_default(),
    );
    let received = at.zip(from).map(|(at, from)| ReceivedDelivery { at, from, event, outcome });
    let (at, from, reason) = (
        row.optional_timestamp("refused_at")?,
        row.optional_text("refused_from")?.unwrap_or_default(),
        row.optional_text("refused_reason")?.unwrap_or_default(),
    );
    let refused = at.map(|at| RejectedDelivery { at, from, reason });
    Ok(Webhook { generation, received, refused })
}

impl Reading {
    /// The webhook of a repository.
    pub async fn webhook(&mut self, repository_id: &RepositoryId) -> Result<Webhook, StoreError> {
        let sql = "SELECT generation, received_at, received_from, received_event, received_outcome, refused_at, \
                   refused_from, refused_reason FROM webhooks WHERE repository_id = $1";
        let rows = self.connection.rows(sql, values![repository_id]).await?;
        let none = Webhook { generation: FIRST, received: None, refused: None };
        rows.first().map_or(Ok(none), read_webhook)
    }
}

impl Writing {
    /// Replaces the secret of a webhook. Returns the new generation.
    pub async fn webhook_rotate(&mut self, repository_id: &RepositoryId) -> Result<i64, StoreError> {
        let sql = "INSERT INTO webhooks (repository_id, generation) VALUES ($1, $2) ON CONFLICT (repository_id) \
                   DO UPDATE SET generation = webhooks.generation + 1 RETURNING generation";
        let rows = self.connection.rows(sql, values![repository_id, FIRST + 1]).await?;
        rows.first().map_or(Ok(FIRST), |row| row.number("generation"))
    }

    /// Records the last delivery with a valid signature.
    pub async fn webhook_set_last_received(
        &mut self,
        repository_id: &RepositoryId,
        received: &ReceivedDelivery,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO webhooks (repository_id, generation, received_at, received_from, received_event, \
                   received_outcome) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (repository_id) DO UPDATE SET \
                   received_at = excluded.received_at, received_from = excluded.received_from, \
                   received_event = excluded.received_event, received_outcome = excluded.received_outcome";
        let values = values![
            repository_id,
            FIRST,
            received.at,
            received.from.slug(),
            &received.event,
            &received.outcome
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Records the last delivery that was rejected.
    pub async fn webhook_set_last_rejected(
        &mut self,
        repository_id: &RepositoryId,
        refused: &RejectedDelivery,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO webhooks (repository_id, generation, refused_at, refused_from, refused_reason) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT (repository_id) DO UPDATE SET \
                   refused_at = excluded.refused_at, refused_from = excluded.refused_from, \
                   refused_reason = excluded.refused_reason";
        let values = values![repository_id, FIRST, refused.at, &refused.from, &refused.reason];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Records a delivery as part of the transaction. False if it was received before.
    pub async fn webhook_delivery_record(
        &mut self,
        repository_id: &RepositoryId,
        identity: Digest,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO webhook_deliveries (repository_id, identity, at) VALUES ($1, $2, $3) \
                   ON CONFLICT (repository_id, identity) DO NOTHING";
        let values = values![repository_id, identity.to_string(), now];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Deletes deliveries older than a time.
    pub async fn webhook_deliveries_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("webhook_deliveries", "repository_id, identity", "at < $1");
        self.delete_old(old, values![before], budget).await
    }

    /// Schedules the next sync of a repository no later than this time.
    pub async fn repository_sync_by(&mut self, id: &RepositoryId, at: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET next_sync_at = $2 WHERE id = $1 AND next_sync_at > $2";
        self.connection.execute(sql, values![id, at]).await?;
        Ok(())
    }
}
