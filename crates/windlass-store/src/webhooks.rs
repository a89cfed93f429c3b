//! Webhooks of repositories: which generation of their secret counts, what came in last, and what must not come in twice.

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
    /// Which of its secrets counts.
    pub generation: i64,
    /// The last delivery that was signed rightly.
    pub received: Option<Received>,
    /// The last one that was not, roughly: not each of many is noted.
    pub refused: Option<Refused>,
}

/// A delivery that was signed rightly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// When.
    pub at: Timestamp,
    /// Who sent it.
    pub from: WebhookSender,
    /// What its sender calls the event.
    pub event: String,
    /// What was made of it.
    pub outcome: String,
}

/// A delivery that was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// When.
    pub at: Timestamp,
    /// The address it came from.
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
    let received = at.zip(from).map(|(at, from)| Received { at, from, event, outcome });
    let (at, from, reason) = (
        row.optional_timestamp("refused_at")?,
        row.optional_text("refused_from")?.unwrap_or_default(),
        row.optional_text("refused_reason")?.unwrap_or_default(),
    );
    let refused = at.map(|at| Refused { at, from, reason });
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
    /// Makes the secret of a webhook another one. Returns its generation.
    pub async fn webhook_rotate(&mut self, repository_id: &RepositoryId) -> Result<i64, StoreError> {
        let sql = "INSERT INTO webhooks (repository_id, generation) VALUES ($1, $2) ON CONFLICT (repository_id) \
                   DO UPDATE SET generation = webhooks.generation + 1 RETURNING generation";
        let rows = self.connection.rows(sql, values![repository_id, FIRST + 1]).await?;
        rows.first().map_or(Ok(FIRST), |row| row.number("generation"))
    }

    /// Notes the last delivery that was signed rightly.
    pub async fn webhook_received(
        &mut self,
        repository_id: &RepositoryId,
        received: &Received,
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

    /// Notes the last delivery that was refused.
    pub async fn webhook_refused(
        &mut self,
        repository_id: &RepositoryId,
        refused: &Refused,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO webhooks (repository_id, generation, refused_at, refused_from, refused_reason) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT (repository_id) DO UPDATE SET \
                   refused_at = excluded.refused_at, refused_from = excluded.refused_from, \
                   refused_reason = excluded.refused_reason";
        let values = values![repository_id, FIRST, refused.at, &refused.from, &refused.reason];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Notes a delivery with the rest of the transaction. False if it came before.
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

    /// Forgets deliveries older than a moment.
    pub async fn webhook_deliveries_forget(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("webhook_deliveries", "repository_id, identity", "at < $1");
        self.delete_old(old, values![before], budget).await
    }

    /// Syncs a repository no later than at a moment.
    pub async fn repository_sync_by(&mut self, id: &RepositoryId, at: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET next_sync_at = $2 WHERE id = $1 AND next_sync_at > $2";
        self.connection.execute(sql, values![id, at]).await?;
        Ok(())
    }
}
