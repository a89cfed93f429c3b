//! One repository: its state, its settings and its actions.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{
    CheckOutcome, PreviewInfo, QuarantinedWork, RepositoryInfo, RepositoryTest, RunInfo, WebhookInfo,
    WebhookSetup,
};
use windlass_core::forge::WebhookSender;
use windlass_core::redacted::Redacted;

use super::Allowed;
use super::steps::{DecisionCounts, RunStep, steps};
use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "repository.html")]
pub struct RepositoryPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The repository.
    pub repository: RepositoryInfo,
    /// Its last runs, newest first.
    pub runs: Vec<RunInfo>,
    /// Its last previews, newest first, without their plans.
    pub previews: Vec<PreviewInfo>,
    /// The number of accepted resources it owns.
    pub owned: usize,
    /// The number of its open proposals.
    pub open: usize,
    /// The number of its proposals that await approval.
    pub pending: usize,
    /// Its webhook.
    pub webhook: WebhookInfo,
    /// A panel that is shown only in the response to an action.
    pub panel: OneTimePanel,
}

/// A panel that is shown only in the response to an action.
#[derive(Clone, Debug)]
pub enum OneTimePanel {
    /// No panel.
    Nothing,
    /// The result of a connection test.
    Test(RepositoryTest),
    /// The secret of the webhook.
    Secret(HookSecret),
}

/// The secret of a webhook, as forges need it.
#[derive(Clone, Debug)]
pub struct HookSecret {
    /// The secret.
    pub secret: Redacted<String>,
    /// The same secret as a GitLab signing token.
    pub signing_token: Redacted<String>,
    /// The setup instructions for each forge.
    pub setup: Vec<WebhookSetup>,
}

impl RepositoryPage {
    pub(crate) fn may(&self, permission: &str) -> Allowed {
        let why = Permission::from_slug(permission).and_then(|permission| self.frame.why_not(permission));
        Allowed::unless(why)
    }

    pub(crate) fn last(&self) -> Option<&RunInfo> {
        self.runs.first()
    }

    /// The steps of the last run.
    pub(crate) fn steps(&self) -> Vec<RunStep> {
        let decided = DecisionCounts {
            pending: self.pending,
            approved: self.open.saturating_sub(self.pending),
            ..DecisionCounts::default()
        };
        self.last().map(|run| steps(run, &decided)).unwrap_or_default()
    }

    /// What the last run would have destroyed, if the mass-destroy guard stopped it.
    pub(crate) fn stopped_message(&self) -> Option<&str> {
        let error = self.last()?.error.as_ref()?;
        (error.code == MASS_DESTROY).then_some(error.message.as_str())
    }

    /// The commit of the last run: a confirmation is valid only for this commit.
    pub(crate) fn stopped_commit(&self) -> &str {
        self.last().and_then(|run| run.commit_sha.as_deref()).unwrap_or_default()
    }

    /// Why the last report to the forge failed.
    pub(crate) fn forge_error(&self) -> Option<&str> {
        self.repository.forge.as_ref()?.last_error.as_deref()
    }

    pub(crate) fn is_ssh(&self) -> bool {
        url_scheme(&self.repository.repo_url) == "ssh"
    }
}

/// The code of a run that the mass-destroy guard stopped.
pub(crate) const MASS_DESTROY: &str = "mass-destroy";

/// The kind of credential that a URL needs: `https`, `ssh`, `file`, or empty if that is not known yet.
pub(crate) fn url_scheme(url: &str) -> &'static str {
    let url = url.trim();
    match url.split_once("://") {
        Some(("https" | "http", _)) => "https",
        Some(("ssh", _)) => "ssh",
        Some(("file", _)) => "file",
        None if url.contains('@') && url.contains(':') => "ssh",
        _ => "",
    }
}

/// The CSS class of a connection test's step.
pub(crate) fn outcome(outcome: &CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed => "failed",
        CheckOutcome::NotReached => "unreached",
    }
}

/// The icon of a connection test's step.
pub(crate) fn outcome_icon(outcome: &CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "good",
        CheckOutcome::Failed => "bad",
        CheckOutcome::NotReached => "dot",
    }
}

/// The name of a forge.
pub(crate) fn forge(sender: &WebhookSender) -> &'static str {
    match sender {
        WebhookSender::Generic => "Anything else",
        known => known.label(),
    }
}

/// The label of a connection test's step.
pub(crate) fn step(step: &str) -> String {
    match step {
        "dns" => "DNS".to_owned(),
        "connect" => "Connection".to_owned(),
        "tls" => "Certificate".to_owned(),
        "auth" => "Authentication".to_owned(),
        "prefix" => "Directory".to_owned(),
        "file" => "fleet.yaml".to_owned(),
        other => words::title(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_which_credential_it_needs() {
        for (url, told) in [
            ("https://git.example.com/fleet.git", "https"),
            ("ssh://git@git.example.com/fleet.git", "ssh"),
            ("git@git.example.com:acme/fleet.git", "ssh"),
            ("file:///srv/fleet", "file"),
            ("git.example", ""),
            ("javascript:alert(1)", ""),
        ] {
            assert_eq!(url_scheme(url), told, "{url}");
        }
    }
}
