//! Any headers and any body of a webhook: an unsigned one is rejected, a signed one is parsed without panicking.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use windlass_core::id::RepositoryId;
use windlass_core::time::Timestamp;
use windlass_forge::hook::{UnverifiedDelivery, WebhookSecret, verify};

#[derive(Arbitrary, Debug)]
struct Sent {
    /// The index of a header that forges send, and its value.
    headers: Vec<(u8, String)>,
    body: Vec<u8>,
    /// GitLab's token is the secret itself, so that a run can pass the check.
    signs: bool,
    now: i64,
}

const HEADERS: &[&str] = &[
    "x-github-event",
    "x-hub-signature-256",
    "x-gitea-event",
    "x-gitea-signature",
    "x-forgejo-event",
    "x-gitlab-event",
    "x-event-key",
    "x-hub-signature",
    "x-windlass-signature",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];

fuzz_target!(|sent: Sent| {
    let secret = WebhookSecret::derive(b"a key of the server", &RepositoryId::new("repository"), 1);
    let shown = secret.text();
    let header = |name: &str| match name {
        "x-gitlab-token" if sent.signs => Some(shown.expose().as_str()),
        _ => {
            let found = sent.headers.iter().find(|(at, _)| HEADERS[usize::from(*at) % HEADERS.len()] == name);
            found.map(|(_, value)| value.as_str())
        }
    };
    let now = Timestamp::from_millis(sent.now);
    if let Ok(delivery) = verify(UnverifiedDelivery { header: &header, body: &sent.body }, &secret, now) {
        let _ = delivery.content();
    }
});
