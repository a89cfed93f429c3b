//! The forges whose APIs we speak.

use std::fmt;

/// Which API a forge has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForgeKind {
    /// GitHub, also GitHub Enterprise Server.
    GitHub,
    /// Gitea and Forgejo, which answer alike.
    Gitea,
    /// GitLab.
    GitLab,
}

impl ForgeKind {
    /// Every one.
    pub const ALL: [ForgeKind; 3] = [ForgeKind::GitHub, ForgeKind::Gitea, ForgeKind::GitLab];

    /// Its spelling in settings.
    pub const fn slug(self) -> &'static str {
        match self {
            ForgeKind::GitHub => "github",
            ForgeKind::Gitea => "gitea",
            ForgeKind::GitLab => "gitlab",
        }
    }

    /// Reads the spelling back. Forgejo is a spelling of Gitea.
    pub fn from_slug(slug: &str) -> Option<ForgeKind> {
        match slug {
            "forgejo" => Some(ForgeKind::Gitea),
            _ => ForgeKind::ALL.into_iter().find(|kind| kind.slug() == slug),
        }
    }

    /// Which forge a host is. Only the two that everyone knows: any other host may be anything.
    pub fn of_host(host: &str) -> Option<ForgeKind> {
        match host.to_ascii_lowercase().as_str() {
            "github.com" => Some(ForgeKind::GitHub),
            "gitlab.com" => Some(ForgeKind::GitLab),
            _ => None,
        }
    }

    /// What it is called where people propose changes.
    pub const fn request_word(self) -> &'static str {
        match self {
            ForgeKind::GitHub | ForgeKind::Gitea => "pull request",
            ForgeKind::GitLab => "merge request",
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ForgeKind::GitHub => "GitHub",
            ForgeKind::Gitea => "Gitea",
            ForgeKind::GitLab => "GitLab",
        })
    }
}
