//! Repositories as rules see them, and which changes to one take someone who may approve.
//!
//! A rule that approves without people, and `auto_apply`, trust what a repository reads: from where, on which branch,
//! under which path, signed by whom. Whoever changes that decides what will be approved, so they must be allowed to
//! approve. [`why_approver_required`] is the one place that answers.

use super::identity::RepositoryIdentity;
use super::policy::{Policy, PolicyAction, PolicyRule};

/// The settings of a repository that decide what is approved without people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositorySettings<'a> {
    /// Which repository it is.
    pub identity: RepositoryIdentity<'a>,
    /// Where it is read from.
    pub url: &'a str,
    /// The branch that is read.
    pub branch: &'a str,
    /// The directory that is read.
    pub path_prefix: &'a str,
    /// Whose signatures are demanded.
    pub signers: Option<&'a str>,
    /// Where its credential is kept.
    pub credential: Option<&'a str>,
    /// Certificates that are trusted in addition.
    pub ca: Option<&'a str>,
    /// The pinned SSH host keys.
    pub host_keys: Option<&'a str>,
    /// Whether it is synced.
    pub is_enabled: bool,
    /// Whether its creates and updates are approved by itself.
    pub auto_apply: bool,
}

/// What someone does to a repository.
#[derive(Clone, Copy, Debug)]
pub enum RepositoryChange<'a> {
    /// It is registered in the account, or moved there.
    Register(&'a RepositorySettings<'a>),
    /// Its settings change.
    Change {
        /// What they were.
        before: &'a RepositorySettings<'a>,
        /// What they will be.
        after: &'a RepositorySettings<'a>,
    },
    /// It leaves the account: it is removed, or moved to another one.
    Remove {
        /// What it was.
        settings: &'a RepositorySettings<'a>,
        /// How many accepted resources it owns. Nobody owns them afterwards, and no rule about it restrains them.
        owned: usize,
    },
}

impl Policy {
    /// The rule that could let a change of this repository through without people, if any could. A rule that asks or
    /// blocks everything of the repository hides those after it.
    pub fn permissive_rule(&self, repository: &RepositoryIdentity<'_>) -> Option<&PolicyRule> {
        for rule in self.rules.iter().filter(|rule| rule.applies_to_repository(Some(repository))) {
            match rule.action {
                PolicyAction::AutoApprove | PolicyAction::NotifyAndProceed => return Some(rule),
                PolicyAction::RequireApproval | PolicyAction::Block if rule.matches_every_change() => {
                    return None;
                }
                PolicyAction::RequireApproval | PolicyAction::Block => {}
            }
        }
        None
    }

    /// The first rule that means this repository by its `repositories`, whatever it does.
    fn rule_naming(&self, repository: &RepositoryIdentity<'_>) -> Option<&PolicyRule> {
        self.rules
            .iter()
            .find(|rule| rule.names_repositories() && rule.applies_to_repository(Some(repository)))
    }

    /// Whether the same rules are about both.
    fn same_rules(&self, one: &RepositoryIdentity<'_>, other: &RepositoryIdentity<'_>) -> bool {
        self.rules
            .iter()
            .all(|rule| rule.applies_to_repository(Some(one)) == rule.applies_to_repository(Some(other)))
    }
}

/// Why this takes someone who may approve; nothing if whoever may change repositories may do it.
pub fn why_approver_required(policy: &Policy, change: RepositoryChange<'_>) -> Option<String> {
    let approved_by = |settings: &RepositorySettings<'_>| match policy.permissive_rule(&settings.identity) {
        _ if settings.auto_apply => Some("`auto_apply`".to_owned()),
        Some(rule) => Some(format!("the rule `{}`", rule.name)),
        None => None,
    };
    match change {
        RepositoryChange::Register(settings) => approved_by(settings)
            .map(|by| format!("{by} would approve changes of {} without people", settings.identity.name)),
        RepositoryChange::Remove { settings, owned } => {
            let name = settings.identity.name;
            let why = match (approved_by(settings), policy.rule_naming(&settings.identity), owned) {
                (Some(by), _, _) => format!("{by} approves changes of {name} without people"),
                (None, Some(rule), _) => {
                    format!("the rule `{}` is about {name}, and would be about nothing", rule.name)
                }
                (None, None, 0) => return None,
                (None, None, 1) => format!("{name} owns 1 resource, which would be nobody's"),
                (None, None, many) => format!("{name} owns {many} resources, which would be nobody's"),
            };
            Some(format!("{why}, so removing it is a decision of approvers"))
        }
        RepositoryChange::Change { before, after } => {
            if after.auto_apply && !before.auto_apply {
                return Some("`auto_apply` approves changes before anybody has seen them".to_owned());
            }
            let changed = changed_settings(before, after);
            if changed.is_empty() {
                return None;
            }
            if let Some(by) = approved_by(before).or_else(|| approved_by(after)) {
                let name = before.identity.name;
                return Some(format!(
                    "{by} approves changes of {name} without people, and trusts its {}",
                    changed.join(", ")
                ));
            }
            (!policy.same_rules(&before.identity, &after.identity))
                .then(|| "other rules of the policy would be about it under that name".to_owned())
        }
    }
}

/// The settings that differ, by the names that people know.
fn changed_settings(before: &RepositorySettings<'_>, after: &RepositorySettings<'_>) -> Vec<&'static str> {
    let differs = [
        ("name", before.identity.name != after.identity.name),
        ("repo_url", before.url != after.url),
        ("branch", before.branch != after.branch),
        ("path_prefix", before.path_prefix != after.path_prefix),
        ("allowed_signers", before.signers != after.signers),
        ("vault_credential_path", before.credential != after.credential),
        ("ca_pem", before.ca != after.ca),
        ("host keys", before.host_keys != after.host_keys),
        ("being disabled", after.is_enabled && !before.is_enabled),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
