//! Webhook deliveries, signed as each forge signs them.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::{Installation, Person, Reply, file_url, now};

/// Every method of signing.
pub(crate) const SIGNING_METHODS: [SigningMethod; 7] = [
    SigningMethod::GitHub,
    SigningMethod::Gitea,
    SigningMethod::Forgejo,
    SigningMethod::GitLabToken,
    SigningMethod::GitLabSigned,
    SigningMethod::Bitbucket,
    SigningMethod::Generic,
];

/// A method of signing a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SigningMethod {
    GitHub,
    Gitea,
    Forgejo,
    GitLabToken,
    GitLabSigned,
    Bitbucket,
    Generic,
}

/// The keys that a forge signs with.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) url: String,
    pub(crate) secret: String,
    pub(crate) signing_token: String,
}

fn mac(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl SigningMethod {
    /// The event name of a push, and its body. The number makes pushes distinct.
    pub(crate) fn push(self, branch: &str, number: usize) -> (&'static str, String) {
        let full = format!("refs/heads/{branch}");
        let (event, body): (_, Value) = match self {
            SigningMethod::GitHub | SigningMethod::Gitea | SigningMethod::Forgejo => {
                ("push", json!({"ref": full, "after": number}))
            }
            SigningMethod::GitLabToken | SigningMethod::GitLabSigned => {
                ("Push Hook", json!({"object_kind": "push", "ref": full, "total_commits_count": number}))
            }
            SigningMethod::Bitbucket => {
                let new = json!({"type": "branch", "name": branch});
                ("repo:push", json!({"push": {"changes": [{"new": new, "old": null}]}, "number": number}))
            }
            SigningMethod::Generic => ("", json!({"ref": full, "number": number})),
        };
        (event, body.to_string())
    }

    /// The headers that sign a body at a given time.
    pub(crate) fn headers(
        self,
        keys: &Keys,
        event: &str,
        body: &[u8],
        seconds: i64,
    ) -> Vec<(&'static str, String)> {
        let tag = hex(&mac(keys.secret.as_bytes(), body));
        let (time, event) = (seconds.to_string(), event.to_owned());
        match self {
            SigningMethod::GitHub => vec![
                ("x-github-event", event),
                ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958".to_owned()),
                ("x-hub-signature-256", format!("sha256={tag}")),
            ],
            SigningMethod::Gitea => vec![("x-gitea-event", event), ("x-gitea-signature", tag)],
            SigningMethod::Forgejo => vec![("x-forgejo-event", event), ("x-forgejo-signature", tag)],
            SigningMethod::GitLabToken => {
                vec![("x-gitlab-event", event), ("x-gitlab-token", keys.secret.clone())]
            }
            SigningMethod::GitLabSigned => {
                let key = STANDARD.decode(keys.signing_token.strip_prefix("whsec_").unwrap()).unwrap();
                let message = [b"a-delivery.", time.as_bytes(), b".", body].concat();
                vec![
                    ("x-gitlab-event", event),
                    ("webhook-id", "a-delivery".to_owned()),
                    ("webhook-timestamp", time),
                    ("webhook-signature", format!("v1,{}", STANDARD.encode(mac(&key, &message)))),
                ]
            }
            SigningMethod::Bitbucket => {
                vec![("x-event-key", event), ("x-hub-signature", format!("sha256={tag}"))]
            }
            SigningMethod::Generic => {
                let message = [time.as_bytes(), b".", body].concat();
                let tag = hex(&mac(keys.secret.as_bytes(), &message));
                vec![("x-windlass-signature", format!("t={time},v1={tag}"))]
            }
        }
    }
}

/// The current time in seconds, as in signatures.
pub(crate) fn seconds() -> i64 {
    now().as_millis() / 1000
}

impl Installation {
    /// Registers an enabled repository that is synced automatically only once a day.
    pub(crate) async fn register_for_hooks(&self, person: &Person, name: &str, url: &str) -> String {
        let body = json!({"gitops_repository": {"name": name, "repo_url": url, "enabled": true,
            "reconcile_interval_seconds": 86_400}});
        let made = self.tell(&person.token, "POST", "/api/v1/system/gitops_repositories", &body).await;
        made.expect(201)["gitops_repository"]["id"].as_str().unwrap().to_owned()
    }

    /// The keys of a repository's webhook.
    pub(crate) async fn keys(&self, person: &Person, repository: &str) -> Keys {
        let path = format!("/api/v1/system/gitops_repositories/{repository}/webhook");
        Keys::of(&self.get(person, &path).await)
    }

    /// Delivers a body with these headers.
    pub(crate) async fn deliver(&self, url: &str, headers: &[(&'static str, String)], body: &[u8]) -> Reply {
        let path = url.strip_prefix(&self.base).unwrap();
        let request =
            self.request("POST", path).header("content-type", "application/json").body(body.to_vec());
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        self.send(request).await
    }

    /// Delivers a push, signed now.
    pub(crate) async fn push_hook(
        &self,
        way: SigningMethod,
        keys: &Keys,
        branch: &str,
        number: usize,
    ) -> Reply {
        let (event, body) = way.push(branch, number);
        let headers = way.headers(keys, event, body.as_bytes(), seconds());
        self.deliver(&keys.url, &headers, body.as_bytes()).await
    }
}

impl Keys {
    /// The keys in a response.
    pub(crate) fn of(shown: &Value) -> Keys {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Keys {
            url: text(&shown["webhook"]["url"]),
            secret: text(&shown["secret"]),
            signing_token: text(&shown["signing_token"]),
        }
    }

    /// Wrong keys.
    pub(crate) fn with_wrong_secrets(&self) -> Keys {
        let signing_token = format!("whsec_{}", STANDARD.encode([7; 32]));
        Keys { secret: "0".repeat(64), signing_token, url: self.url.clone() }
    }
}

/// A repository with a webhook, its work tree, and the keys of its forge.
pub(crate) async fn repository_with_webhook(
    installation: &Installation,
    admin: &Person,
) -> (windlass_testkit::servers::WorkTree, String, Keys) {
    let work = crate::harness::fleet(crate::harness::FLEET);
    let id = installation.register_for_hooks(admin, "fleet", &file_url(&work)).await;
    let keys = installation.keys(admin, &id).await;
    (work, id, keys)
}
