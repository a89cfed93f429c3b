//! Accounts: tenants, their approval policy and their kill switch.

use std::collections::BTreeMap;

use crate::gate::{Halt, Policy};
use crate::id::{AccountId, RepositoryId};
use crate::time::Timestamp;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name, unique.
    pub name: String,
    /// The halt, if applying is halted.
    pub halt: Option<Halt>,
    /// The approval policy, as JSON.
    pub policy: String,
    /// Which repository each plain name in the policy's rules means: name → id. `None` before the names were resolved.
    pub policy_repositories: Option<BTreeMap<String, RepositoryId>>,
    /// The number of changes of the policy.
    pub policy_version: i64,
    /// The time of its creation.
    pub created_at: Timestamp,
}

impl Account {
    /// The approval policy, with its rules bound to the repositories they name.
    pub fn bound_policy(&self) -> Policy {
        // The policy was valid when it was stored. If it cannot be read any more, the default policy requires approval
        // for everything.
        let policy = Policy::read("policy", &self.policy).0.unwrap_or_default();
        match &self.policy_repositories {
            Some(repositories) => policy.bind_repositories(repositories),
            None => policy,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::gate::RepositoryIdentity;

    /// An account with this policy that is not halted.
    pub(crate) fn account(policy: &str) -> Account {
        Account {
            id: AccountId::new("acme"),
            name: "acme".to_owned(),
            halt: None,
            policy: policy.to_owned(),
            policy_repositories: None,
            policy_version: 1,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn an_unreadable_policy_approves_nothing_automatically() {
        let free = r#"{"rules": [{"name": "free", "action": "auto_approve"}]}"#;
        assert_eq!(account(free).bound_policy().rules.len(), 1);
        let unreadable = [
            "",
            "{",
            r#"{"rules": [{"name": "free", "action": "approve_everything"}]}"#,
            r#"{"rules": [{"name": "free", "action": "auto_approve", "unless": "friday"}]}"#,
            r#"{"rules": [{"name": "twice", "action": "auto_approve"}, {"name": "twice", "action": "block"}]}"#,
            r#"{"rules": [{"name": "free", "action": "auto_approve", "approvals": 2}]}"#,
        ];
        for text in unreadable {
            assert_eq!(account(text).bound_policy(), Policy::default(), "{text}");
        }
    }

    #[test]
    fn a_name_in_a_rule_means_the_repository_that_was_looked_up_and_none_before_that() {
        let rules =
            r#"{"rules": [{"name": "ours", "match": {"repositories": ["fleet"]}, "action": "block"}]}"#;
        let means = |account: &Account, id: &str| {
            let policy = account.bound_policy();
            let subjects = policy.rules[0].subjects.as_ref().unwrap();
            subjects.repositories[0]
                .matches(&RepositoryIdentity { id: &RepositoryId::new(id), name: "fleet" })
        };
        let mut account = account(rules);
        assert!(!means(&account, "1"));
        account.policy_repositories = Some(BTreeMap::from([("fleet".to_owned(), RepositoryId::new("1"))]));
        assert!(means(&account, "1") && !means(&account, "2"));
        account.policy_repositories = Some(BTreeMap::new());
        assert!(!means(&account, "1"), "a name that stands for none means none");
    }
}
