//! How to set up a webhook at each forge, in one line each. The guide has the details.

use windlass_api::types::WebhookSetup;
use windlass_forge::hook::WebhookSender;

/// One line for each sender.
pub(crate) fn setup() -> Vec<WebhookSetup> {
    WebhookSender::ALL
        .iter()
        .map(|sender| WebhookSetup { forge: *sender, how: how(*sender).to_owned() })
        .collect()
}

fn how(sender: WebhookSender) -> &'static str {
    match sender {
        WebhookSender::GitHub => {
            "Settings, Webhooks, Add webhook: the URL as payload URL, content type application/json, the secret, \
             push events; also pull requests, to plan them"
        }
        WebhookSender::Gitea => {
            "Settings, Webhooks, Add webhook, Gitea or Forgejo: the URL as target URL, POST, application/json, the \
             secret, push events; also pull requests, to plan them"
        }
        WebhookSender::GitLab => {
            "Settings, Webhooks, Add new webhook: the URL, the secret as secret token (or the signing token, if your \
                version supports it), push events; also merge request events, to plan them"
        }
        WebhookSender::Bitbucket => {
            "Repository settings, Webhooks, Add webhook: the URL, the secret, repository push"
        }
        WebhookSender::Generic => {
            "POST to the URL with X-Windlass-Signature: t=<unix seconds>,v1=<hex>, the HMAC-SHA256 of \
             <unix seconds>.<body> under the secret"
        }
    }
}
