//! Which repositories the plain names in a policy stand for, when it is saved.
//!
//! A name that stood for a repository goes on standing for it, whatever is called so by now: saving a policy again, with
//! some other edit, must not hand a rule's trust to a namesake. Whoever means the namesake writes its id.

use std::collections::BTreeMap;

use super::identity::RepositoryIdentity;
use super::policy::Policy;
use crate::id::RepositoryId;
use crate::shape::nearest;

/// Why a name in a policy stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameProblem {
    /// No repository has it.
    Unknown {
        /// The rule that says it.
        rule: String,
        /// The name.
        name: String,
        /// A name that looks like it.
        nearest: Option<String>,
    },
    /// It stood for another repository than the one that has it now.
    Rebound {
        /// The rule that says it.
        rule: String,
        /// The name.
        name: String,
        /// What the repository it stood for is called now; none if that is gone.
        renamed_to: Option<String>,
        /// The id of the repository that has the name now.
        id: RepositoryId,
    },
}

impl NameProblem {
    /// A stable word.
    pub fn code(&self) -> &'static str {
        match self {
            NameProblem::Unknown { .. } => "unknown-repository",
            NameProblem::Rebound { .. } => "repository-name-reused",
        }
    }

    /// What is wrong.
    pub fn message(&self) -> String {
        match self {
            NameProblem::Unknown { rule, name, .. } => {
                format!("the rule `{rule}` names the repository `{name}`, which does not exist")
            }
            NameProblem::Rebound { rule, name, renamed_to, .. } => {
                let before = match renamed_to {
                    Some(renamed) => format!("the repository now named `{renamed}`"),
                    None => "a repository that was removed".to_owned(),
                };
                format!("`{name}` in the rule `{rule}` means {before}, and another repository has that name")
            }
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            NameProblem::Unknown { nearest: Some(near), .. } => {
                format!("did you mean `{near}`? Otherwise register it first")
            }
            NameProblem::Unknown { nearest: None, .. } => {
                "register it first; a glob such as `fleet-*` also matches future repositories".to_owned()
            }
            NameProblem::Rebound { name, renamed_to: Some(renamed), id, .. } => {
                format!("write `{renamed}` to keep that one, or `{id}` for the new `{name}`")
            }
            NameProblem::Rebound { name, renamed_to: None, id, .. } => {
                format!("remove `{name}` from the rule, or write `{id}` for the new one")
            }
        }
    }
}

impl Policy {
    /// Which repository each plain name stands for: name → id. `before` is the same of the policy that is replaced.
    pub fn resolve_repositories(
        &self,
        before: &BTreeMap<String, RepositoryId>,
        repositories: &[RepositoryIdentity<'_>],
    ) -> Result<BTreeMap<String, RepositoryId>, NameProblem> {
        let resolver = Resolver { before, repositories };
        let mut bound = BTreeMap::new();
        for rule in &self.rules {
            let named = rule.subjects.iter().flat_map(|subjects| &subjects.repositories);
            for name in named.filter_map(|pattern| pattern.plain_name()) {
                let id = resolver.resolve(rule.name.as_str(), name)?;
                bound.insert(name.to_owned(), id);
            }
        }
        Ok(bound)
    }
}

struct Resolver<'r> {
    before: &'r BTreeMap<String, RepositoryId>,
    repositories: &'r [RepositoryIdentity<'r>],
}

impl Resolver<'_> {
    fn resolve(&self, rule: &str, name: &str) -> Result<RepositoryId, NameProblem> {
        // An id means one repository for ever, so that it comes before any name.
        let written = RepositoryId::new(name);
        if self.current_name(&written).is_some() {
            return Ok(written);
        }
        let called_so = self.repositories.iter().find(|repository| repository.name == name);
        match (self.stood_for(name), called_so) {
            (Some(id), Some(other)) if other.id != id => Err(NameProblem::Rebound {
                rule: rule.to_owned(),
                name: name.to_owned(),
                renamed_to: self.current_name(id).map(str::to_owned),
                id: other.id.clone(),
            }),
            (Some(id), _) => Ok(id.clone()),
            (None, Some(repository)) => Ok(repository.id.clone()),
            (None, None) => {
                let near = nearest(name, self.repositories.iter().map(|repository| repository.name));
                Err(NameProblem::Unknown {
                    rule: rule.to_owned(),
                    name: name.to_owned(),
                    nearest: near.map(str::to_owned),
                })
            }
        }
    }

    /// The id that a name stood for as it was written.
    fn stood_for(&self, name: &str) -> Option<&RepositoryId> {
        self.before.get(name)
    }

    fn current_name(&self, id: &RepositoryId) -> Option<&str> {
        self.repositories.iter().find(|repository| repository.id == id).map(|repository| repository.name)
    }
}
