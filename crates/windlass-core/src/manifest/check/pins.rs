//! Checks that module pins refer to existing versions.

use crate::code::Code;
use crate::known::{KnownResources, KnownVersions};
use crate::manifest::assembly::Assembly;
use crate::quote::quoted;
use crate::resource::{Kind, Pin, ResourceKey, Spec, SpecPath};
use crate::resource_finding::ResourceFinding;
use crate::value::{Lifecycle, Selector};

/// Reports pins without a version, pins to versions that do not exist, and pins to lifecycles that no known version
/// has.
pub(in crate::manifest) fn pins(assembly: &mut Assembly, known: &KnownResources) {
    let mut remarks = Vec::new();
    for (kind, name, declared) in assembly.desired.resources.iter() {
        declared.spec.pins(name, &mut |pin| {
            if let Some((code, message, help)) = check_pin(assembly, known, kind, &pin) {
                remarks.push(ResourceFinding {
                    code,
                    key: ResourceKey::new(kind, name),
                    path: pin
                        .index
                        .map_or(SpecPath::Field(pin.field), |index| SpecPath::Item(pin.field, index)),
                    text: pin.text.into_owned(),
                    message,
                    help,
                });
            }
        });
    }
    for remark in remarks {
        assembly.add_finding(remark);
    }
}

fn check_pin(
    assembly: &Assembly,
    known: &KnownResources,
    kind: Kind,
    pin: &Pin<'_>,
) -> Option<(Code, String, String)> {
    let name = pin.module;
    let versions = versions_of(assembly, known, name);
    match pin.selector {
        // An assignment without a version usually adjusts a module that the node's template pins.
        Selector::Unpinned if kind == Kind::Assignment => None,
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
                true => {
                    let help = format!("known versions: {listed}; the change is blocked until it exists");
                    (Code::PinUnknown, message, help)
                }
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
        // Applying the module makes the version, unless it was made before.
        if !versions.versions.iter().any(|(known, _)| known == version) {
            versions.versions.push((version.clone(), module.version_state.lifecycle()));
        }
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
