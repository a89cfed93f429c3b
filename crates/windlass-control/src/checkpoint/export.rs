//! Exporting checkpoints, each at least once: to an append-only file, and to a webhook.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use windlass_store::{Checkpoint, StoreError};

use crate::checkpoint::info;
use crate::clock::now;
use crate::control::Control;

/// The most checkpoints that one turn sends. The next turn sends more.
const AT_ONCE: usize = 200;

/// Sends the checkpoints that were not sent yet. The next turn retries what failed.
pub(crate) async fn export_checkpoints(server: &Control) -> Result<(), StoreError> {
    let settings = &server.config().checkpoints;
    if !settings.is_exported() {
        return Ok(());
    }
    let unsent = server.store().read().await?.checkpoints_unsent(AT_ONCE).await?;
    for checkpoint in unsent {
        if let Err(reason) = send_one(server, &checkpoint).await {
            tracing::warn!(reason, "could not send a checkpoint of the audit log; retrying");
            return Ok(());
        }
        let mut writing = server.store().write().await?;
        writing.checkpoint_mark_sent(&checkpoint, now()).await?;
        writing.commit().await?;
    }
    Ok(())
}

async fn send_one(server: &Control, checkpoint: &Checkpoint) -> Result<(), String> {
    let settings = &server.config().checkpoints;
    let line = serde_json::to_string(&info(checkpoint)).map_err(|error| error.to_string())?;
    if let Some(path) = &settings.file {
        append(path, &line).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    match &settings.webhook {
        Some(webhook) => webhook.send(line).await,
        None => Ok(()),
    }
}

/// Adds a line, in one write, and waits until it is on the disk.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}
