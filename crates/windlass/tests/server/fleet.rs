//! Repositories with fleets in them.

use windlass_api::types::{RepositoryFields, RepositoryInfo};
use windlass_testkit::servers::WorkTree;

use crate::api::Api;
use crate::installation::ACCOUNT;

/// The fleet of the tutorial: two templates, three nodes, a network with three peers and a virtual IP.
pub(crate) const TUTORIAL: &str = include_str!("../../src/commands/demo.yaml");

/// A repository with this fleet.
pub(crate) fn repository_with(fleet: &str) -> WorkTree {
    let work = WorkTree::new();
    work.commit("fleet.yaml", fleet);
    work
}

/// Registers a repository under a name, without automatic syncs, so that a test knows every run.
pub(crate) fn register(api: &Api, name: &str, work: &WorkTree) -> RepositoryInfo {
    api.register(fields(name, work)).unwrap()
}

pub(crate) fn fields(name: &str, work: &WorkTree) -> RepositoryFields {
    RepositoryFields {
        name: Some(name.to_owned()),
        repo_url: Some(format!("file://{}", work.path().display())),
        enabled: Some(false),
        ..RepositoryFields::default()
    }
}

/// A fleet of the test's account with these sections.
pub(crate) fn fleet(sections: &str) -> String {
    format!("version: 1\naccount: {ACCOUNT}\n{sections}")
}

/// A template and nodes named by a prefix and numbers.
pub(crate) fn nodes(template: &str, prefix: &str, numbers: std::ops::Range<usize>) -> String {
    let mut text = format!("{}nodes:\n", self::template(template));
    for number in numbers {
        text.push_str(&format!(
            "  - {{hostname: {prefix}-{number:03}, template: {template}, region: eu-1}}\n"
        ));
    }
    fleet(&text)
}

/// A section with one template.
pub(crate) fn template(name: &str) -> String {
    format!("templates:\n  {name}: {{node_platform: ubuntu-24.04-amd64}}\n")
}
