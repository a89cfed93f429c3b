//! Renewing the certificate: when the server says so, and when it no longer accepts the one that the agent has.

use std::time::Duration;

use tokio::time::Instant;

use super::Worker;
use crate::error::AgentError;
use crate::fetch;
use crate::identity::NewKey;

/// When the agent renews next, if the server does not say: its next first line does.
const FALLBACK: Duration = Duration::from_secs(3600);

impl Worker {
    /// Asks for a new certificate, stores it, and connects with it. Until it is on the disk, the old one stays.
    pub(super) async fn renew(&mut self) -> Result<(), AgentError> {
        let Some(requests) = self.requests() else {
            // The first line of the next connection says when.
            self.schedule.renew_at = None;
            return Ok(());
        };
        let key = NewKey::generate()?;
        match self.online(fetch::renewal(&requests, key.request)).await {
            Ok(response) => {
                let renew_after = Duration::from_secs(response.certificate.renew_after_seconds.max(1));
                let private = key.private;
                let renewed = self
                    .on_engine(move |engine| engine.renew(private, response.certificate, response.trust))
                    .await;
                match renewed {
                    Ok(identity) => {
                        tracing::info!("the certificate was renewed");
                        let config = identity.client_config()?;
                        self.schedule.renew_at = Some(Instant::now() + renew_after.min(FALLBACK * 24));
                        self.schedule.renew_backoff.reset();
                        self.wishes.send_modify(|wish| {
                            wish.config = config;
                            wish.reconnects += 1;
                        });
                    }
                    Err(error) => {
                        tracing::error!(problem = error.with_cause(), "cannot store the renewed certificate");
                        self.renew_later();
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the certificate was not renewed");
                self.renew_later();
            }
        }
        Ok(())
    }

    fn renew_later(&mut self) {
        let delay = self.schedule.renew_backoff.next_delay((self.surroundings.random)());
        self.schedule.renew_at = Some(Instant::now() + delay.max(Duration::from_secs(1)));
    }
}
