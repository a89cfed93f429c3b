//! Detects the sender of a webhook by the headers that only this sender uses.

pub use windlass_core::forge::WebhookSender;

/// The sender of a request with these headers. Gitea and Forgejo also send GitHub's headers, and GitHub sends a header
/// of Bitbucket, so the order matters.
pub(super) fn sender_of<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<WebhookSender> {
    const SENDER_HEADERS: [(WebhookSender, &[&str]); 5] = [
        (WebhookSender::Generic, &["x-windlass-signature"]),
        (
            WebhookSender::Gitea,
            &["x-forgejo-event", "x-gitea-event", "x-forgejo-signature", "x-gitea-signature"],
        ),
        (WebhookSender::GitLab, &["x-gitlab-event", "x-gitlab-token"]),
        (WebhookSender::GitHub, &["x-github-event", "x-hub-signature-256"]),
        (WebhookSender::Bitbucket, &["x-event-key", "x-hub-signature"]),
    ];
    let is_marked = |names: &[&str]| names.iter().any(|name| header(name).is_some());
    SENDER_HEADERS.iter().find(|(_, names)| is_marked(names)).map(|(sender, _)| *sender)
}

/// The headers that name the event.
pub(super) const fn event_headers(sender: WebhookSender) -> &'static [&'static str] {
    match sender {
        WebhookSender::GitHub => &["x-github-event"],
        WebhookSender::Gitea => &["x-forgejo-event", "x-gitea-event"],
        WebhookSender::GitLab => &["x-gitlab-event"],
        WebhookSender::Bitbucket => &["x-event-key"],
        WebhookSender::Generic => &[],
    }
}
