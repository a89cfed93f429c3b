//! What a body that was signed says. Whatever is strange in it makes it unreadable, never more.

mod bitbucket;
mod github;
mod gitlab;
mod happened;
mod parts;

use serde::Deserialize;

pub use self::happened::{Meaning, Origin, PullRequest, PullRequestAction};

use self::parts::{parse, pushed};
use super::sender::Sender;

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
