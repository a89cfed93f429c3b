//! Terms of forges: their kinds, the senders of webhooks, and the reports that are sent to them. Their APIs are not
//! known here.

use crate::states::states;

states! {
    /// The API of a forge.
    ForgeKind {
        /// GitHub, including GitHub Enterprise Server.
        GitHub "github" "GitHub",
        /// Gitea and Forgejo, which have the same API.
        Gitea "gitea" "Gitea",
        /// GitLab.
        GitLab "gitlab" "GitLab",
    }
}

impl ForgeKind {
    /// The kind that a setting names. Forgejo is a spelling of Gitea.
    pub fn from_setting(text: &str) -> Option<ForgeKind> {
        match text {
            "forgejo" => Some(ForgeKind::Gitea),
            _ => ForgeKind::from_slug(text),
        }
    }

    /// The kind of forge of a host. Only for the two public ones: any other host may be anything.
    pub fn of_host(host: &str) -> Option<ForgeKind> {
        match host.to_ascii_lowercase().as_str() {
            "github.com" => Some(ForgeKind::GitHub),
            "gitlab.com" => Some(ForgeKind::GitLab),
            _ => None,
        }
    }

    /// The forge's name for a pull request.
    pub const fn request_word(self) -> &'static str {
        match self {
            ForgeKind::GitHub | ForgeKind::Gitea => "pull request",
            ForgeKind::GitLab => "merge request",
        }
    }
}

states! {
    /// Who sends a webhook.
    WebhookSender {
        /// GitHub, or GitHub Enterprise Server.
        GitHub "github" "GitHub",
        /// Gitea or Forgejo.
        Gitea "gitea" "Gitea or Forgejo",
        /// GitLab.
        GitLab "gitlab" "GitLab",
        /// Bitbucket Cloud or Data Center.
        Bitbucket "bitbucket" "Bitbucket",
        /// Anything else that can sign: a script, a CI job, another forge.
        Generic "generic" "a signed request",
    }
}

states! {
    /// What a forge is to show.
    ReportKind {
        /// A status beside a commit; the subject is the commit.
        Status "status",
        /// A comment on a pull request; the subject is its number.
        Comment "comment",
    }
}

states! {
    /// Where something is that a forge is to show.
    ReportState {
        /// To be sent when its time comes.
        Waiting "waiting",
        /// The forge shows it.
        Sent "sent",
        /// It was tried often enough; a new content or new settings begin anew.
        Failed "failed",
    }
}

states! {
    /// What a commit status says of a commit.
    StatusState {
        /// Something is still to happen.
        Pending "pending",
        /// All is well.
        Success "success",
        /// It is not.
        Failure "failure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgejo_is_a_spelling_of_gitea_in_settings_alone() {
        assert_eq!(ForgeKind::from_setting("forgejo"), Some(ForgeKind::Gitea));
        assert_eq!(ForgeKind::from_slug("forgejo"), None);
        for kind in ForgeKind::ALL {
            assert_eq!(ForgeKind::from_setting(kind.slug()), Some(*kind));
        }
    }
}
