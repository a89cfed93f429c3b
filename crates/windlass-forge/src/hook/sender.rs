//! Who sends a webhook, told by the headers that only this sender uses.

use std::fmt;

/// A kind of sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// GitHub, or GitHub Enterprise Server.
    GitHub,
    /// Gitea or Forgejo.
    Gitea,
    /// GitLab.
    GitLab,
    /// Bitbucket Cloud or Data Center.
    Bitbucket,
    /// Anything else that can sign: a script, a CI job, another forge.
    Generic,
}

impl Sender {
    /// Every sender, as people are told of them.
    pub const ALL: &'static [Sender] =
        &[Sender::GitHub, Sender::Gitea, Sender::GitLab, Sender::Bitbucket, Sender::Generic];

    /// The spelling in the API and in numbers.
    pub const fn slug(self) -> &'static str {
        match self {
            Sender::GitHub => "github",
            Sender::Gitea => "gitea",
            Sender::GitLab => "gitlab",
            Sender::Bitbucket => "bitbucket",
            Sender::Generic => "generic",
        }
    }

    /// Who sends a request with these headers. Gitea and Forgejo send GitHub's headers beside their own, and GitHub sends
    /// the one of Bitbucket, so the order matters.
    pub(super) fn of<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Sender> {
        const MARKS: [(Sender, &[&str]); 5] = [
            (Sender::Generic, &["x-windlass-signature"]),
            (
                Sender::Gitea,
                &["x-forgejo-event", "x-gitea-event", "x-forgejo-signature", "x-gitea-signature"],
            ),
            (Sender::GitLab, &["x-gitlab-event", "x-gitlab-token"]),
            (Sender::GitHub, &["x-github-event", "x-hub-signature-256"]),
            (Sender::Bitbucket, &["x-event-key", "x-hub-signature"]),
        ];
        let is_marked = |names: &[&str]| names.iter().any(|name| header(name).is_some());
        MARKS.iter().find(|(_, names)| is_marked(names)).map(|(sender, _)| *sender)
    }

    /// The headers that name the event.
    pub(super) const fn event_headers(self) -> &'static [&'static str] {
        match self {
            Sender::GitHub => &["x-github-event"],
            Sender::Gitea => &["x-forgejo-event", "x-gitea-event"],
            Sender::GitLab => &["x-gitlab-event"],
            Sender::Bitbucket => &["x-event-key"],
            Sender::Generic => &[],
        }
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sender::GitHub => "GitHub",
            Sender::Gitea => "Gitea or Forgejo",
            Sender::GitLab => "GitLab",
            Sender::Bitbucket => "Bitbucket",
            Sender::Generic => "a signed request",
        })
    }
}
