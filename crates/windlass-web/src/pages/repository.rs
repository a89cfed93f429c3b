//! One repository: how it is, what it is set to, and what can be done with it.

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
    /// What surrounds it.
    pub frame: Frame,
    /// The repository.
    pub repository: RepositoryInfo,
    /// Its last runs, newest first.
    pub runs: Vec<RunInfo>,
    /// Its last previews, newest first, without their plans.
    pub previews: Vec<PreviewInfo>,
    /// How many accepted resources it owns.
    pub owned: usize,
    /// How many of its proposals are open.
    pub open: usize,
    /// How many of them wait for a decision.
    pub pending: usize,
    /// Its webhook.
    pub webhook: WebhookInfo,
    /// What was asked for beside, and is shown this once.
    pub aside: OneTimePanel,
}

/// What stands beside a repository this once.
#[derive(Clone, Debug)]
pub enum OneTimePanel {
    /// Nothing.
    Nothing,
    /// What a test of its connection found.
    Test(RepositoryTest),
    /// The secret of its webhook.
    Secret(HookSecret),
}

/// What a forge is given to sign with.
#[derive(Clone, Debug)]
pub struct HookSecret {
    /// The secret.
    pub secret: Redacted<String>,
    /// The same in the spelling of GitLab's signing tokens.
    pub signing_token: Redacted<String>,
    /// How to set it up, forge by forge.
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

    /// Where the last run is.
    pub(crate) fn steps(&self) -> Vec<RunStep> {
        let decided = DecisionCounts {
            pending: self.pending,
            approved: self.open.saturating_sub(self.pending),
            ..DecisionCounts::default()
        };
        self.last().map(|run| steps(run, &decided)).unwrap_or_default()
    }

    /// What the last run would have destroyed, if that stopped it.
    pub(crate) fn stopped(&self) -> Option<&str> {
        let error = self.last()?.error.as_ref()?;
        (error.code == MASS_DESTROY).then_some(error.message.as_str())
    }

    /// The commit that the last run found: a confirmation counts for it alone.
    pub(crate) fn stopped_commit(&self) -> &str {
        self.last().and_then(|run| run.commit_sha.as_deref()).unwrap_or_default()
    }

    /// Why the forge could not be told when it was last tried.
    pub(crate) fn forge_error(&self) -> Option<&str> {
        self.repository.forge.as_ref()?.last_error.as_deref()
    }

    pub(crate) fn is_ssh(&self) -> bool {
        url_scheme(&self.repository.repo_url) == "ssh"
    }
}

/// The code of a run that was stopped because it would destroy most of what a repository owns.
pub(crate) const MASS_DESTROY: &str = "mass-destroy";

/// Which sort of credential an address needs: `https`, `ssh`, `file`, or nothing if it cannot be told yet.
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

/// The class of a step of a connection test.
pub(crate) fn outcome(outcome: &CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed => "failed",
        CheckOutcome::NotReached => "unreached",
    }
}

/// Its icon.
pub(crate) fn outcome_icon(outcome: &CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "good",
        CheckOutcome::Failed => "bad",
        CheckOutcome::NotReached => "dot",
    }
}

/// What people call a forge.
pub(crate) fn forge(sender: &WebhookSender) -> &'static str {
    match sender {
        WebhookSender::Generic => "Anything else",
        known => known.label(),
    }
}

/// What a step of a connection test is called.
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
