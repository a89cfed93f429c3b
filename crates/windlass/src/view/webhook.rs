//! Webhooks, for people.

use std::io::{self, Write as _};

use windlass_api::types::WebhookShown;

use super::time::relative;
use super::{facts, sanitize_for_terminal};

/// Prints a webhook, its secret and how to set it up.
pub(crate) fn one(shown: &WebhookShown) -> io::Result<()> {
    let mut out = anstream::stdout();
    let webhook = &shown.webhook;
    let delivery = webhook.last_delivery.as_ref().map(|last| {
        let event = if last.event.is_empty() { "" } else { " " };
        format!("{} from {}{event}{}: {}", relative(&last.at), last.sender, last.event, last.outcome)
    });
    let refusal = webhook.last_refusal.as_ref();
    let refusal =
        refusal.map(|last| format!("{} from {}: {}", relative(&last.at), last.address, last.reason));
    facts(
        &mut out,
        &[
            ("url", webhook.url.clone()),
            ("secret", shown.secret.clone()),
            ("last delivery", delivery.unwrap_or_else(|| "none yet".to_owned())),
            ("last refused", refusal.unwrap_or_default()),
        ],
    )?;
    writeln!(out, "\nTo set it up on the forge:")?;
    let width = shown.setup.iter().map(|setup| setup.forge.slug().len()).max().unwrap_or(0);
    for setup in &shown.setup {
        writeln!(out, "  {:width$}  {}", setup.forge.slug(), sanitize_for_terminal(&setup.how))?;
    }
    writeln!(
        out,
        "  {:width$}  as GitLab's signing token: {}",
        "",
        sanitize_for_terminal(&shown.signing_token)
    )
}
