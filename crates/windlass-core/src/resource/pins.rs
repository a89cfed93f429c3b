//! The module versions that a spec's pins select: part of the resource's digest, and stored with the spec.
//!
//! As with the content of paths (`content.rs`), files and requests contain only the pin. The version is found when a
//! fleet is compared with the accepted state, so that a plan says which version a node gets and an approval covers it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::module::ModuleSpec;
use super::spec::Spec;
use crate::digest::Digest;
use crate::value::{ModulePin, Selector, Version};

/// One pin of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin<'s> {
    /// The field that has it.
    pub field: &'static str,
    /// Its position in the field, if that is a list.
    pub index: Option<usize>,
    /// The pin as the spec writes it: `nginx@live`, or the selector alone if the resource's name says the module.
    pub text: Cow<'s, str>,
    /// The module.
    pub module: &'s str,
    /// The selector of its version.
    pub selector: &'s Selector,
    /// The version that was found, for a pin that is not exact.
    pub resolved: Option<&'s Version>,
}

impl Pin<'_> {
    /// The version that the pin selects, if it is known.
    pub fn version(&self) -> Option<&Version> {
        match self.selector {
            Selector::Exact(version) => Some(version),
            Selector::State(_) | Selector::Unpinned => self.resolved,
        }
    }

    /// Whether the pin follows what becomes of the module's versions.
    pub fn is_floating(&self) -> bool {
        !matches!(self.selector, Selector::Exact(_))
    }
}

impl Spec {
    /// Calls `visit` for each pin of the spec. `name` is the resource's name.
    pub fn pins<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Pin<'s>)) {
        match self {
            Spec::Template(template) => visit_list("modules", template.modules.iter(), visit),
            Spec::Module(module) => visit_list("depends_on", module.depends_on.iter(), visit),
            Spec::Assignment(assignment) => {
                let selector = assignment.version.as_ref().unwrap_or(&Selector::Unpinned);
                let text = match selector {
                    Selector::Unpinned => Cow::Borrowed("live"),
                    selector => Cow::Owned(selector.to_string()),
                };
                let module = name.split_once(':').map_or("", |(_, module)| module);
                let resolved = assignment.resolved.as_ref();
                visit(Pin { field: "version", index: None, text, module, selector, resolved });
            }
            Spec::ModuleVersion(_)
            | Spec::Node(_)
            | Spec::Network(_)
            | Spec::Peer(_)
            | Spec::VirtualIp(_)
            | Spec::FederationPeer(_)
            | Spec::Cluster(_)
            | Spec::ClusterGroup(_)
            | Spec::Bundle(_)
            | Spec::NotificationProvider(_)
            | Spec::Alert(_) => {}
        }
    }

    /// The versions that the pins of the spec were found to select: field and pin → version.
    pub fn resolved_versions(&self) -> BTreeMap<(&'static str, Cow<'_, str>), &Version> {
        let mut versions = BTreeMap::new();
        self.pins("", &mut |pin| {
            versions.extend(pin.resolved.map(|version| ((pin.field, pin.text.clone()), version)));
        });
        versions
    }

    /// The spec with the versions that its pins select. Pins that are exact get none, because they say it themselves.
    pub fn with_versions(&self, name: &str, version_of: impl Fn(&Pin<'_>) -> Option<Version>) -> Spec {
        let mut found: BTreeMap<String, Version> = BTreeMap::new();
        self.pins(name, &mut |pin| {
            if let Some(version) = version_of(&pin).filter(|_| pin.is_floating()) {
                found.insert(pin.text.into_owned(), version);
            }
        });
        self.with_found_versions(&found)
    }

    /// The spec with these versions, by the text of the pins.
    pub(super) fn with_found_versions(&self, found: &BTreeMap<String, Version>) -> Spec {
        let mut spec = self.clone();
        match &mut spec {
            Spec::Template(template) => {
                template.modules.iter_mut().for_each(|pin| set_version(pin, found));
            }
            Spec::Module(module) => {
                let pins = std::mem::take(&mut module.depends_on).into_iter();
                let with_version = |mut pin: ModulePin| {
                    set_version(&mut pin, found);
                    pin
                };
                module.depends_on = pins.map(with_version).collect::<BTreeSet<ModulePin>>();
            }
            Spec::Assignment(assignment) => assignment.resolved = found.values().next().cloned(),
            Spec::ModuleVersion(_)
            | Spec::Node(_)
            | Spec::Network(_)
            | Spec::Peer(_)
            | Spec::VirtualIp(_)
            | Spec::FederationPeer(_)
            | Spec::Cluster(_)
            | Spec::ClusterGroup(_)
            | Spec::Bundle(_)
            | Spec::NotificationProvider(_)
            | Spec::Alert(_) => {}
        }
        spec
    }
}

impl ModuleSpec {
    /// The digest of [`ModuleSpec::version_content`] as it was written: the versions that its pins select may change,
    /// because promoting a dependency changes them.
    pub fn content_digest(&self) -> Digest {
        Spec::Module(self.version_content()).with_versions("", |_| None).digest()
    }
}

fn visit_list<'s>(
    field: &'static str,
    pins: impl Iterator<Item = &'s ModulePin>,
    visit: &mut dyn FnMut(Pin<'s>),
) {
    for (index, pin) in pins.enumerate() {
        visit(Pin {
            field,
            index: Some(index),
            text: Cow::Owned(pin.to_string()),
            module: pin.name.as_str(),
            selector: &pin.selector,
            resolved: pin.resolved(),
        });
    }
}

fn set_version(pin: &mut ModulePin, found: &BTreeMap<String, Version>) {
    let version = found.get(&pin.to_string()).cloned();
    pin.set_resolved(version);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Kind;
    use crate::shape::TextValue as _;

    fn version(text: &str) -> Version {
        Version::read(text).unwrap()
    }

    fn specs() -> [(Spec, &'static str); 3] {
        let read = |kind, text: &str| Spec::read_stored(kind, text).unwrap();
        [
            (read(Kind::Template, r#"{"modules":["nginx@live","chrony@4.3.0","base"]}"#), "edge"),
            (read(Kind::Module, r#"{"depends_on":["base","nginx@blessed"]}"#), "web"),
            (read(Kind::Assignment, "{}"), "edge-01:nginx"),
        ]
    }

    #[test]
    fn versions_are_part_of_the_digest_and_of_the_stored_text_and_no_request_can_set_them() {
        for (spec, name) in specs() {
            let resolved = spec.with_versions(name, |_| Some(version("1.26.0")));
            let other = spec.with_versions(name, |_| Some(version("1.27.0")));
            let digests = BTreeSet::from([spec.digest(), resolved.digest(), other.digest()]);
            assert_eq!(digests.len(), 3, "{name}");
            assert_eq!(resolved.declared_digest(), spec.digest(), "{name}");
            assert_eq!(resolved.canonical_bytes(), spec.canonical_bytes(), "{name}");
            let stored = Spec::read_stored(spec.kind(), &resolved.to_stored());
            assert_eq!(stored.as_ref(), Some(&resolved), "{name}");
            assert!(Spec::read(spec.kind(), &resolved.to_stored()).spec.is_none(), "{name}");
            assert_eq!(resolved.with_versions(name, |_| None), spec, "{name}");
        }
        let bad = r#"{"$versions":{"nginx@live":"latest"},"modules":["nginx@live"]}"#;
        assert!(Spec::read_stored(Kind::Template, bad).is_none());
    }

    #[test]
    fn exact_pins_have_their_version_and_others_the_one_that_was_found() {
        let (spec, name) = &specs()[0];
        let resolved = spec.with_versions(name, |pin| (pin.module == "nginx").then(|| version("1.26.0")));
        let mut versions = Vec::new();
        resolved.pins(name, &mut |pin| {
            versions.push(pin.version().map_or("none".to_owned(), ToString::to_string));
        });
        assert_eq!(versions, ["1.26.0", "4.3.0", "none"]);
        assert_eq!(resolved.resolved_versions().len(), 1);
    }
}
