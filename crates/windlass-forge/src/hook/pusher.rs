//! The person who pushed, from a verified delivery.

use serde_json::Value;

use super::sender::WebhookSender;

/// The most heads kept of one push; a push moves few branches.
const MAX_HEADS: usize = 20;
/// Longer than names and addresses of people.
const MAX_PERSON_CHARS: usize = 200;

/// The person who pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pusher {
    /// Their e-mail address, or their login where the forge sends no address.
    pub person: String,
    /// The new heads of the pushed branches.
    pub heads: Vec<String>,
}

/// The pusher and the heads; `None` if the body does not name them.
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
    let texts = people.iter().filter_map(|path| body.pointer(path)?.as_str()).map(sanitized_person);
    let person = texts.into_iter().find(|person| !person.is_empty())?;
    let mut heads: Vec<String> = heads.into_iter().filter_map(commit).take(MAX_HEADS).collect();
    heads.dedup();
    (!heads.is_empty()).then_some(Pusher { person, heads })
}

/// The changes in the bodies of Cloud and of Data Center.
fn bitbucket_heads(body: &Value) -> Vec<&Value> {
    let cloud = body["push"]["changes"].as_array().into_iter().flatten();
    let center = body["changes"].as_array().into_iter().flatten();
    cloud
        .map(|change| &change["new"]["target"]["hash"])
        .chain(center.map(|change| &change["toHash"]))
        .collect()
}

fn sanitized_person(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(MAX_PERSON_CHARS).collect()
}

/// A full commit id. A deleted branch has an id of zeros, which is not a commit.
fn commit(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}
