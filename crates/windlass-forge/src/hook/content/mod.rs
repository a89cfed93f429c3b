//! Parses a body whose signature was verified. A body of unexpected form is unreadable; it has no other effect.

mod bitbucket;
mod delivery_content;
mod github;
mod gitlab;
mod shared_parts;

use serde::Deserialize;

pub use self::delivery_content::{CommitOrigin, DeliveryContent, PullRequest, PullRequestAction};

use self::shared_parts::{parse, push_of_refs};
use super::sender::WebhookSender;

/// Parses a body.
pub(super) fn read(sender: WebhookSender, event: &str, body: &[u8]) -> DeliveryContent {
    let content = match sender {
        WebhookSender::GitHub | WebhookSender::Gitea => github::read(event, body),
        WebhookSender::GitLab => gitlab::read(event, body),
        WebhookSender::Bitbucket => bitbucket::read(event, body),
        WebhookSender::Generic => read_generic(body),
    };
    content.unwrap_or(DeliveryContent::Unreadable)
}

/// An empty body, or JSON that may name the pushed ref.
fn read_generic(body: &[u8]) -> Option<DeliveryContent> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        r#ref: Option<String>,
    }
    if body.iter().all(u8::is_ascii_whitespace) {
        return Some(DeliveryContent::UnspecifiedChange);
    }
    match parse::<Body>(body)?.r#ref {
        Some(pushed_ref) => push_of_refs([pushed_ref]),
        None => Some(DeliveryContent::UnspecifiedChange),
    }
}
