//! What a body that was signed says. Whatever is strange in it makes it unreadable, never more.

mod bitbucket;
mod github;
mod gitlab;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::sender::Sender;

/// The longest name of a branch; git's own limit is about this on most file systems.
const LONGEST_BRANCH: usize = 255;

/// What a delivery says happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Something; which branch, it does not say.
    Something,
    /// These branches were moved, made or deleted. Tags are none.
    Push {
        /// By name, without `refs/heads/`.
        branches: Vec<String>,
    },
    /// A pull request was opened, changed or closed.
    PullRequest(PullRequest),
    /// Nothing: someone tries the webhook.
    Ping,
    /// Something that is of no use here.
    Other,
    /// It cannot be read as what its header says.
    Unreadable,
}

/// A pull request, or merge request, as its forge tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// What happened to it.
    pub action: PullRequestAction,
    /// The commit it would merge, in hex digits; Bitbucket Cloud tells only the first 12.
    pub head_sha: String,
    /// The branch of that commit, perhaps in another repository.
    pub head_branch: String,
    /// The branch it would be merged into.
    pub base_branch: String,
    /// Whose commit that is.
    pub origin: Origin,
}

/// Where the commit of a pull request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A branch of the repository itself: someone made it who may push there.
    Repository,
    /// Another repository, or nobody says: anybody may have made it.
    Fork,
}

impl Origin {
    /// Of the repositories of head and base, as far as the forge tells.
    fn of<T: PartialEq>(head: Option<T>, base: Option<T>) -> Origin {
        match (head, base) {
            (Some(head), Some(base)) if head == base => Origin::Repository,
            _ => Origin::Fork,
        }
    }
}

impl PullRequest {
    /// The reference under which its forge offers its head to be fetched; none where there is none.
    pub fn reference(&self, sender: Sender) -> Option<String> {
        match sender {
            Sender::GitHub | Sender::Gitea => Some(format!("refs/pull/{}/head", self.number)),
            Sender::GitLab => Some(format!("refs/merge-requests/{}/head", self.number)),
            Sender::Bitbucket | Sender::Generic => None,
        }
    }
}

/// What happened to a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestAction {
    /// It was opened, or opened again.
    Opened,
    /// It has other commits, or another base.
    Updated,
    /// It was merged or given up.
    Closed,
    /// Something that changes no commit: a label, a review, a title.
    Other,
}

/// Reads a body.
pub(super) fn read(sender: Sender, event: &str, body: &[u8]) -> Meaning {
    let meaning = match sender {
        Sender::GitHub | Sender::Gitea => github::read(event, body),
        Sender::GitLab => gitlab::read(event, body),
        Sender::Bitbucket => bitbucket::read(event, body),
        Sender::Generic => read_generic(body),
    };
    meaning.unwrap_or(Meaning::Unreadable)
}

/// A body as this type, if it is one. Nesting is limited by the parser, sizes by whoever read the body.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

/// A push of one ref.
#[derive(Deserialize)]
struct RefBody {
    r#ref: String,
}

/// Nothing, or JSON that may say which ref was pushed.
fn read_generic(body: &[u8]) -> Option<Meaning> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        r#ref: Option<String>,
    }
    if body.iter().all(u8::is_ascii_whitespace) {
        return Some(Meaning::Something);
    }
    match parse::<Body>(body)?.r#ref {
        Some(pushed_ref) => pushed([pushed_ref]),
        None => Some(Meaning::Something),
    }
}

/// What the names of branches begin with among refs.
const HEADS: &str = "refs/heads/";

/// A push of these refs, of which only branches count.
fn pushed(refs: impl IntoIterator<Item = String>) -> Option<Meaning> {
    let mut branches = Vec::new();
    for name in refs {
        if let Some(branch) = name.strip_prefix(HEADS) {
            branches.push(plain(branch)?);
        }
    }
    branches.dedup();
    Some(Meaning::Push { branches })
}

fn pull_request(
    number: u64,
    action: PullRequestAction,
    head_sha: String,
    [head, base]: [impl AsRef<str>; 2],
    origin: Origin,
) -> Option<Meaning> {
    // Bitbucket Cloud shortens commits to 12 digits.
    let is_commit =
        (12..=64).contains(&head_sha.len()) && head_sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_commit {
        return None;
    }
    let (head_branch, base_branch) = (plain(head.as_ref())?, plain(base.as_ref())?);
    Some(Meaning::PullRequest(PullRequest { number, action, head_sha, head_branch, base_branch, origin }))
}

/// A branch's name, if it is one that can be compared and told.
fn plain(branch: &str) -> Option<String> {
    let is_plain =
        (1..=LONGEST_BRANCH).contains(&branch.len()) && !branch.chars().any(|c| c.is_control() || c == ' ');
    is_plain.then(|| branch.to_owned())
}
