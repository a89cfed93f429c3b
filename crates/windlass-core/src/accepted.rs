//! The accepted state that a fleet is compared with.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use crate::desired::Desired;
use crate::digest::Digest;
use crate::resource::{ResourceKey, ResourceMap, Spec};

/// Every accepted resource of an account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    /// The resources, by key.
    pub resources: ResourceMap<AcceptedResource>,
}

/// One accepted resource.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedResource {
    /// Its spec.
    pub spec: Arc<Spec>,
    /// The digest of the spec.
    pub digest: Digest,
    /// The repository that may change it through git.
    pub owner: Owner,
}

/// Who may change a resource through git.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// No repository: it was created directly. The first repository that declares it adopts it.
    Nobody,
    /// The repository that created or adopted it, by name.
    Repository(String),
}

impl Accepted {
    /// Copies accepted content ids into `desired` for paths whose content is unknown, so that they are not reported as
    /// differences.
    pub fn fill_unknown_contents(&self, desired: &mut Desired, unknown: &BTreeSet<String>) {
        let affected: Vec<ResourceKey> = desired
            .resources
            .iter()
            .filter(|(_, _, declared)| declared.spec.named_paths().iter().any(|path| unknown.contains(*path)))
            .map(|(kind, name, _)| ResourceKey::new(kind, name))
            .collect();
        for key in affected {
            let Some(accepted) = self.resources.get(key.kind, &key.name) else { continue };
            let Some(declared) = desired.resources.get_mut(key.kind, &key.name) else { continue };
            let mut contents = accepted.spec.contents();
            contents.retain(|path, _| unknown.contains(*path));
            let spec = Arc::clone(&declared.spec);
            contents.extend(spec.contents());
            declared.note_contents(|path| contents.get(path).copied());
        }
    }

    /// The state after a repository's `desired` was applied to an empty state.
    pub fn from_desired(desired: &Desired, owner: &Owner) -> Accepted {
        let resources = desired
            .resources
            .iter()
            .map(|(kind, name, declared)| {
                let accepted = AcceptedResource {
                    spec: Arc::clone(&declared.spec),
                    digest: declared.digest,
                    owner: owner.clone(),
                };
                (ResourceKey::new(kind, name), accepted)
            })
            .collect();
        Accepted { resources }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ContentId;
    use crate::manifest::{FLEET_FILE, ReadCache, ReadContext, SourceFile};
    use crate::resource::Kind;

    #[test]
    fn what_was_not_told_is_not_compared_and_what_was_told_is() {
        let text = "version: 1\naccount: acme\nmodules:\n- name: web\n  host:\n    files:\n      /a: {source: a}\n      /b: {source: b}\n";
        let files = [SourceFile::new(FLEET_FILE, text.as_bytes().to_vec())];
        let mut desired = ReadCache::default().read_once(&files, &ReadContext::offline()).desired;
        let content = |byte: u8| Some(ContentId::blob([byte; 20]));
        let declared = |desired: &mut Desired, a: Option<ContentId>, b: Option<ContentId>| {
            let web = desired.resources.get_mut(Kind::Module, "web").unwrap();
            web.note_contents(|path| if path == "a" { a } else { b });
            web.digest
        };
        declared(&mut desired, content(1), content(2));
        let accepted = Accepted::from_desired(&desired, &Owner::Nobody);
        let unknown = BTreeSet::from(["b".to_owned()]);
        for (a, is_same) in [(1, true), (9, false)] {
            declared(&mut desired, content(a), None);
            accepted.fill_unknown_contents(&mut desired, &unknown);
            let digest = desired.resources.get(Kind::Module, "web").unwrap().digest;
            assert_eq!(digest == accepted.resources.get(Kind::Module, "web").unwrap().digest, is_same);
        }
    }
}
