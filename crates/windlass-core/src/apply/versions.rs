//! The module versions that applying a change makes.

use std::sync::Arc;

use crate::diff::Change;
use crate::resource::{Kind, ModuleSpec, ModuleVersionSpec, ResourceKey, Spec, version_name};

/// The version that a module describes. It cannot be destroyed before the module describes another one.
pub fn described_version(key: &ResourceKey, spec: &Spec) -> Option<ResourceKey> {
    let Spec::Module(ModuleSpec { version: Some(version), .. }) = spec else { return None };
    Some(ResourceKey::new(Kind::ModuleVersion, version_name(&key.name, version)))
}

/// The versions to store with a change of a module: the one that it describes now, and the one that it described before if
/// that was accepted before versions existed. A version that exists keeps its state; only the versions that its
/// dependencies have follow.
pub fn versions_made(
    change: &Change,
    existing: impl Fn(&ResourceKey) -> Option<ModuleVersionSpec>,
) -> Vec<(ResourceKey, Arc<Spec>)> {
    let mut made = Vec::new();
    let mut make = |spec: &Spec, is_current: bool| {
        let (Spec::Module(module), Some(key)) = (spec, described_version(&change.key, spec)) else { return };
        let known = existing(&key);
        let version = ModuleVersionSpec::made_by(module, known.as_ref());
        let is_needed = known.as_ref().is_none_or(|known| is_current && *known != version);
        if is_needed && made.iter().all(|(other, _)| *other != key) {
            made.push((key, Arc::new(Spec::ModuleVersion(version))));
        }
    };
    if let Some(after) = &change.after {
        make(after, true);
        change.before.iter().for_each(|before| make(before, false));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::made_up::{create, destroy, spec, update};

    fn names(made: Vec<(ResourceKey, Arc<Spec>)>) -> Vec<String> {
        let state = |spec: &Spec| match spec {
            Spec::ModuleVersion(version) => version.state.word(),
            _ => "",
        };
        made.iter().map(|(key, spec)| format!("{} {}", key.name, state(spec))).collect()
    }

    #[test]
    fn applying_a_module_makes_its_version_and_keeps_the_one_from_before_versions_existed() {
        let none = |_: &ResourceKey| None;
        assert_eq!(names(versions_made(&create(Kind::Module, "web", "{}"), none)), [""; 0]);
        let first = create(Kind::Module, "web", "{version: 1.0.0, version_state: staging}");
        assert_eq!(names(versions_made(&first, none)), ["web@1.0.0 staging"]);
        let second = update(Kind::Module, "web", "{version: 1.0.0}", "{version: 1.1.0}");
        assert_eq!(names(versions_made(&second, none)), ["web@1.1.0 live", "web@1.0.0 live"]);
        let gone = destroy(Kind::Module, "web", "{version: 1.0.0}");
        assert_eq!(names(versions_made(&gone, none)), [""; 0]);
    }

    #[test]
    fn a_version_that_exists_keeps_its_state_and_is_written_only_if_it_changes() {
        let module = |text: &str| match spec(Kind::Module, text).as_ref() {
            Spec::Module(module) => module.clone(),
            _ => unreachable!(),
        };
        let existing = |_: &ResourceKey| {
            let mut version = ModuleVersionSpec::made_by(&module("{version: 1.0.0, priority: 7}"), None);
            version.state = crate::value::Lifecycle::Retired;
            Some(version)
        };
        let described = update(
            Kind::Module,
            "web",
            "{version: 1.0.0, priority: 7}",
            "{version: 1.0.0, priority: 7, description: x}",
        );
        assert_eq!(names(versions_made(&described, existing)), [""; 0], "its content is the same");
        let other =
            update(Kind::Module, "web", "{version: 1.0.0, priority: 7}", "{version: 1.0.0, priority: 8}");
        assert_eq!(names(versions_made(&other, existing)), ["web@1.0.0 retired"]);
    }
}
