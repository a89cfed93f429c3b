//! Sending checkpoints elsewhere, each at least once: to a file that only grows, and to an address.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use reqwest::redirect;
use url::Url;
use windlass_store::{Checkpoint, StoreError};

use super::info;
use crate::clock::now;
use crate::control::Control;

/// Sent in one turn. The others follow in the next.
const AT_ONCE: usize = 200;

/// A receiver that takes longer is tried again later.
const WITHIN: Duration = Duration::from_secs(15);

/// Where checkpoints are sent.
#[derive(Clone, Debug)]
pub struct CheckpointWebhook {
    url: Url,
}

/// Why an address will not do.
#[derive(Debug, thiserror::Error)]
#[error("checkpoints are sent to https:// addresses, or over http:// to this machine itself")]
pub struct WebhookAddressError;

impl CheckpointWebhook {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<CheckpointWebhook, WebhookAddressError> {
        let url = Url::parse(text).map_err(|_| WebhookAddressError)?;
        let is_here = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => return Err(WebhookAddressError),
        };
        match url.scheme() {
            "https" => Ok(CheckpointWebhook { url }),
            "http" if is_here => Ok(CheckpointWebhook { url }),
            _ => Err(WebhookAddressError),
        }
    }

    async fn send(&self, body: String) -> Result<(), String> {
        let client = reqwest::Client::builder().redirect(redirect::Policy::none()).timeout(WITHIN).no_proxy();
        let client = client.build().map_err(|error| error.without_url().to_string())?;
        let request = client.post(self.url.clone()).header("content-type", "application/json").body(body);
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(format!("it answered with status {}", answer.status().as_u16())),
        }
    }
}

/// Sends what was not sent yet. What fails is tried again in the next turn.
pub(crate) async fn ship(server: &Control) -> Result<(), StoreError> {
    let settings = &server.config().checkpoints;
    if !settings.is_shipped() {
        return Ok(());
    }
    let unsent = server.store().read().await?.checkpoints_unsent(AT_ONCE).await?;
    for checkpoint in unsent {
        if let Err(reason) = ship_one(server, &checkpoint).await {
            tracing::warn!(reason, "a checkpoint of the audit log could not be sent; it is tried again");
            return Ok(());
        }
        let mut writing = server.store().write().await?;
        writing.checkpoint_sent(&checkpoint, now()).await?;
        writing.commit().await?;
    }
    Ok(())
}

async fn ship_one(server: &Control, checkpoint: &Checkpoint) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_leave_the_machine_over_tls_alone() {
        for good in
            ["https://log.example.com/x", "http://127.0.0.1:9/x", "http://[::1]/x", "http://localhost/"]
        {
            assert!(CheckpointWebhook::parse(good).is_ok(), "{good}");
        }
        for bad in ["http://log.example.com/x", "ftp://log.example.com", "log.example.com", ""] {
            assert!(CheckpointWebhook::parse(bad).is_err(), "{bad}");
        }
    }
}
