//! Who pushed, as a believed delivery says.

use serde_json::Value;

use super::sender::WebhookSender;

/// Heads of one push that are kept: a push moves few branches.
const MAX_HEADS: usize = 20;
/// Names and addresses of people are shorter.
const MAX_PERSON_CHARS: usize = 200;

/// Someone who pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pusher {
    /// Their e-mail address; their login where the forge tells no address.
    pub person: String,
    /// The commits that the branches lead to now.
    pub heads: Vec<String>,
}

/// Who pushed what; nothing if the body does not say.
pub(super) fn read(sender: WebhookSender, body: &[u8]) -> Option<Pusher> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let (people, heads): (&[&str], Vec<&Value>) = match sender {
        WebhookSender::GitHub | WebhookSender::Gitea => (
            &["/pusher/email", "/pusher/login", "/pusher/username", "/pusher/name", "/sender/login"],
            vec![&body["after"]],
        ),
        WebhookSender::GitLab => {
            (&["/user_email", "/user_username", "/user_name"], vec![&body["after"], &body["checkout_sha"]])
        }
        WebhookSender::Bitbucket => (
            &["/actor/emailAddress", "/actor/nickname", "/actor/name", "/actor/display_name"],
            bitbucket_heads(&body),
        ),
        WebhookSender::Generic => (&["/pusher"], vec![&body["after"]]),
    };
    let texts = people.iter().filter_map(|path| body.pointer(path)?.as_str()).map(plain);
    let person = texts.into_iter().find(|person| !person.is_empty())?;
    let mut heads: Vec<String> = heads.into_iter().filter_map(commit).take(MAX_HEADS).collect();
    heads.dedup();
    (!heads.is_empty()).then_some(Pusher { person, heads })
}

/// Cloud's and Data Center's.
fn bitbucket_heads(body: &Value) -> Vec<&Value> {
    let cloud = body["push"]["changes"].as_array().into_iter().flatten();
    let center = body["changes"].as_array().into_iter().flatten();
    cloud
        .map(|change| &change["new"]["target"]["hash"])
        .chain(center.map(|change| &change["toHash"]))
        .collect()
}

fn plain(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(MAX_PERSON_CHARS).collect()
}

/// A whole commit id. A branch that was deleted leads to zeros, which no commit has.
fn commit(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}
