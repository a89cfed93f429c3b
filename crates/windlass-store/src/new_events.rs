//! Appending new events.

use windlass_core::event::NewEvent;
use windlass_core::id::AccountId;

use crate::connection::AnyConnection;
use crate::error::StoreError;
use crate::sql::{Value, values};

/// Appends events and returns the number of the new last one.
pub(crate) async fn append_events(
    connection: &mut AnyConnection,
    account_id: &AccountId,
    last: i64,
    events: Vec<NewEvent>,
) -> Result<i64, StoreError> {
    let mut seq = last;
    let rows: Vec<Vec<Value>> = events
        .into_iter()
        .map(|event| {
            seq += 1;
            let (kind, name) = event.resource.map(|key| (key.kind.slug(), key.name)).unzip();
            values![
                account_id,
                seq,
                event.kind.slug(),
                event.severity.slug(),
                kind,
                name,
                &event.repository_id,
                &event.correlation_id,
                event.source,
                event.message,
                event.payload.to_string(),
                event.at
            ]
        })
        .collect();
    let prefix = "INSERT INTO events (account_id, seq, kind, severity, resource_kind, resource_name, repository_id, \
                  correlation_id, source, message, payload, at) VALUES";
    connection.execute_many(prefix, rows, "").await?;
    Ok(seq)
}
