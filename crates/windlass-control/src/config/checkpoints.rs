//! How the audit log is signed, and where checkpoints are exported to.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::redirect;
use url::Url;
use windlass_core::access::CheckpointPace;

/// The number of new entries after which a head is signed without waiting for the interval.
const ENTRIES_PER_CHECKPOINT: i64 = 1_000;

/// How often checkpoints are signed, and where they are exported to.
#[derive(Clone, Debug)]
pub struct CheckpointSettings {
    /// How long a new entry may be without a checkpoint.
    pub interval: Duration,
    /// A file to which each checkpoint is appended as a line of JSON.
    pub file: Option<PathBuf>,
    /// A webhook to which each checkpoint is sent.
    pub webhook: Option<CheckpointWebhook>,
}

impl Default for CheckpointSettings {
    fn default() -> CheckpointSettings {
        CheckpointSettings { interval: Duration::from_secs(3600), file: None, webhook: None }
    }
}

impl CheckpointSettings {
    pub(crate) fn pace(&self) -> CheckpointPace {
        CheckpointPace { entries: ENTRIES_PER_CHECKPOINT, interval: self.interval }
    }

    /// Whether checkpoints are exported.
    pub(crate) fn is_exported(&self) -> bool {
        self.file.is_some() || self.webhook.is_some()
    }
}

/// How long a receiver may take. After that, the checkpoint is sent again later.
const SEND_TIMEOUT: Duration = Duration::from_secs(15);

/// Where checkpoints are sent.
#[derive(Clone, Debug)]
pub struct CheckpointWebhook {
    url: Url,
}

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("checkpoints can be sent only to https:// addresses, or over http:// to this machine")]
pub struct WebhookAddressError;

impl CheckpointWebhook {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<CheckpointWebhook, WebhookAddressError> {
        let url = Url::parse(text).map_err(|_| WebhookAddressError)?;
        let is_local = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => return Err(WebhookAddressError),
        };
        match url.scheme() {
            "https" => Ok(CheckpointWebhook { url }),
            "http" if is_local => Ok(CheckpointWebhook { url }),
            _ => Err(WebhookAddressError),
        }
    }

    pub(crate) async fn send(&self, body: String) -> Result<(), String> {
        let client =
            reqwest::Client::builder().redirect(redirect::Policy::none()).timeout(SEND_TIMEOUT).no_proxy();
        let client = client.build().map_err(|error| error.without_url().to_string())?;
        let request = client.post(self.url.clone()).header("content-type", "application/json").body(body);
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(format!("the receiver responded with status {}", answer.status().as_u16())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_leave_the_machine_over_tls_only() {
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
