//! Checks that module pins refer to existing versions.

use crate::code::Code;
use crate::known::{KnownResources, KnownVersions};
use crate::manifest::assembly::Assembly;
use crate::quote::quoted;
use crate::resource::{Kind, ResourceKey, Spec, SpecPath};
use crate::resource_finding::ResourceFinding;
use crate::value::{Lifecycle, ModulePin, Selector};

/// Reports pins without a version, pins to versions that do not exist, and pins to lifecycles that no known version
/// has.
pub(in crate::manifest) fn pins(assembly: &mut Assembly, known: &KnownResources) {
    let mut remarks = Vec::new();
    for (kind, name, declared) in assembly.desired.resources.iter() {
        let (field, pins): (_, Vec<&ModulePin>) = match declared.spec.as_ref() {
            Spec::Template(template) => ("modules", template.modules.iter().collect()),
            Spec::Module(module) => ("depends_on", module.depends_on.iter().collect()),
            Spec::Node(_)
            | Spec::Assignment(_)
            | Spec::Network(_)
            | Spec::Peer(_)
            | Spec::VirtualIp(_)
            | Spec::FederationPeer(_)
            | Spec::Cluster(_)
            | Spec::ClusterGroup(_)
            | Spec::Bundle(_)
            | Spec::NotificationProvider(_)
            | Spec::Alert(_) => continue,
        };
        for (index, pin) in pins.into_iter().enumerate() {
            if let Some((code, message, help)) = check_pin(assembly, known, pin) {
                let key = ResourceKey::new(kind, name);
                remarks.push(ResourceFinding {
                    code,
                    key,
                    path: SpecPath::Item(field, index),
                    text: pin.to_string(),
                    message,
                    help,
                });
            }
        }
    }
    for remark in remarks {
        assembly.add_finding(remark);
    }
}

fn check_pin(assembly: &Assembly, known: &KnownResources, pin: &ModulePin) -> Option<(Code, String, String)> {
    let name = pin.name.as_str();
    let versions = versions_of(assembly, known, name);
    match &pin.selector {
        Selector::Unpinned => {
            let example = versions.as_ref().and_then(newest_live).unwrap_or_else(|| "1.2.3".to_owned());
            let message = format!("the module {} is not pinned to a version", quoted(name));
            Some((
                Code::PinMissing,
                message,
                format!("write `{name}@{example}`, or `{name}@live` if that is intended"),
            ))
        }
        Selector::Exact(version) => {
            let versions = versions?;
            if versions.versions.iter().any(|(known, _)| known == version) {
                return None;
            }
            let list: Vec<&str> = versions.versions.iter().map(|(version, _)| version.as_str()).collect();
            let listed = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
            let message = format!("the module {} has no version {version}", quoted(name));
            Some(match versions.complete {
                true => (Code::PinUnknown, message, format!("known versions: {listed}")),
                false => {
                    let message = format!("{message} in the built-in catalogue");
                    (
                        Code::PinState,
                        message,
                        format!("it must exist in Windlass; the catalogue has {listed}"),
                    )
                }
            })
        }
        Selector::State(state) => {
            let versions = versions?;
            if versions.versions.iter().any(|(_, known)| known == state) {
                return None;
            }
            let message = format!("no known version of the module {} is {}", quoted(name), state.word());
            Some((Code::PinState, message, "such a version must exist in Windlass".to_owned()))
        }
    }
}

/// The versions of a module: the declared one, and those that exist already.
fn versions_of(assembly: &Assembly, known: &KnownResources, name: &str) -> Option<KnownVersions> {
    let existing = known.versions.get(name);
    let Some(declared) = assembly.desired.resources.get(Kind::Module, name) else { return existing.cloned() };
    let mut versions = existing.cloned().unwrap_or_default();
    if let Spec::Module(module) = declared.spec.as_ref()
        && let Some(version) = &module.version
    {
        // A version that is declared, approved and applied is in use.
        versions.versions.retain(|(known, _)| known != version);
        versions.versions.push((version.clone(), Lifecycle::Live));
    }
    versions.versions.sort();
    // The files declare the module, so the list of its versions is complete.
    versions.complete = true;
    Some(versions)
}

fn newest_live(versions: &KnownVersions) -> Option<String> {
    let live = versions.versions.iter().filter(|(_, state)| *state == Lifecycle::Live);
    live.map(|(version, _)| version).max().map(ToString::to_string)
}
