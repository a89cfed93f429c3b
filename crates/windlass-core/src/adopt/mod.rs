//! Writes the accepted state into the fleet's files, to adopt manual changes into git.
//!
//! `file_edits` decides what to change where, `yaml::edit` changes the text, and `verify` reads the result again. An
//! edit that does not declare exactly the accepted state is never returned: the next coarser one is tried (single
//! values, whole fields, the whole resource), and after the last one the caller gets an error that asks for a manual
//! edit. The caller decides which resources to adopt.

mod edited;
mod fields;
mod file_edits;
mod new_entry;
mod observed_file;
mod patch;
mod secrets;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::edited::EditedFile;
pub use self::observed_file::{UnknownContent, observed_content};
pub use self::patch::patch;

use self::edited::AdoptTargets;
use self::file_edits::{AdoptEdits, EditDetail};
use crate::manifest::{Fleet, ReadContext};
use crate::resource::{Kind, ResourceKey, Spec, member_name};

/// Why no edit was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    /// The fleet has errors, so its declarations are not known.
    #[error("the fleet has errors; fix them before adopting anything")]
    Broken,
    /// The text cannot be changed without changing something else.
    #[error("{key} must be edited manually: {reason}")]
    NeedsManualEdit {
        /// The resource.
        key: ResourceKey,
        /// The reason.
        reason: String,
        /// The resource as fleet.yaml would declare it; empty for a deleted one.
        suggestion: String,
    },
    /// The edit would write a secret into git.
    #[error("`{path}` of {key} looks like a secret and must not be in git")]
    Secret {
        /// The resource.
        key: ResourceKey,
        /// The path of the value.
        path: String,
    },
    /// The accepted state is not valid in a fleet.
    #[error("a fleet cannot declare the accepted state: {problem}")]
    Refused {
        /// The first problem of the edited fleet.
        problem: String,
    },
}

/// Edits the fleet's files so that these resources are declared exactly as accepted, and everything else, with comments
/// and layout, stays unchanged. Only changed files are returned; `context` is the one the fleet was read with.
pub fn adopt(
    fleet: &Fleet,
    wanted: &[(ResourceKey, Option<Arc<Spec>>)],
    context: &ReadContext,
) -> Result<Vec<EditedFile>, AdoptError> {
    if fleet.has_errors() {
        return Err(AdoptError::Broken);
    }
    let wanted = differing_targets(fleet, wanted);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    refuse_secrets(fleet, &wanted)?;
    let finely = AdoptEdits { fleet, wanted: &wanted, detail: &BTreeMap::new() };
    let edited = match finely.attempt() {
        Ok(edited) => edited,
        Err(_) => adopt_separately(fleet, &wanted)?,
    };
    match verify::first_error(fleet, &edited, context) {
        Some(problem) => Err(AdoptError::Refused { problem }),
        None => Ok(edited),
    }
}

fn refuse_secrets(fleet: &Fleet, wanted: &AdoptTargets) -> Result<(), AdoptError> {
    for (key, accepted) in wanted {
        let declared = fleet.desired.resources.get(key.kind, &key.name);
        let declared = declared.map(|declared| declared.spec.as_ref());
        let found = accepted.as_ref().and_then(|accepted| secrets::first_new_secret(declared, accepted));
        if let Some(path) = found {
            return Err(AdoptError::Secret { key: key.clone(), path });
        }
    }
    Ok(())
}

fn differing_targets(fleet: &Fleet, wanted: &[(ResourceKey, Option<Arc<Spec>>)]) -> AdoptTargets {
    let differs = |(key, accepted): &&(ResourceKey, Option<Arc<Spec>>)| {
        // Only text is edited here: the content at paths that a resource names is changed by changing those files.
        let declared = fleet.desired.resources.get(key.kind, &key.name);
        declared.map(|declared| declared.spec.declared_digest())
            != accepted.as_ref().map(|accepted| accepted.declared_digest())
    };
    wanted.iter().filter(differs).cloned().collect()
}

/// Finds for each resource the finest edit that has exactly the intended effect.
fn adopt_separately(fleet: &Fleet, wanted: &AdoptTargets) -> Result<Vec<EditedFile>, AdoptError> {
    let mut detail = BTreeMap::new();
    for group in groups(wanted).into_values() {
        let mut failure = String::new();
        let found = EditDetail::ALL.into_iter().find(|level| {
            let detail: BTreeMap<_, _> = group.keys().map(|key| (key.clone(), *level)).collect();
            let outcome = AdoptEdits { fleet, wanted: &group, detail: &detail }.attempt();
            failure = outcome.as_ref().err().cloned().unwrap_or_default();
            outcome.is_ok()
        });
        let found = found.ok_or_else(|| needs_manual_edit(&group, failure))?;
        detail.extend(group.into_keys().map(|key| (key, found)));
    }
    AdoptEdits { fleet, wanted, detail: &detail }
        .attempt()
        .map_err(|reason| needs_manual_edit(wanted, reason))
}

/// Groups resources that must be edited together: a network and its members.
fn groups(wanted: &AdoptTargets) -> BTreeMap<ResourceKey, AdoptTargets> {
    let mut groups: BTreeMap<ResourceKey, AdoptTargets> = BTreeMap::new();
    for (key, accepted) in wanted {
        let leader = match key.kind {
            Kind::Peer | Kind::VirtualIp => ResourceKey::new(Kind::Network, member_name(&key.name).0),
            _ => key.clone(),
        };
        groups.entry(leader).or_default().insert(key.clone(), accepted.clone());
    }
    groups
}

fn needs_manual_edit(wanted: &AdoptTargets, reason: String) -> AdoptError {
    let (key, accepted) =
        wanted.first_key_value().expect("only what differs is attempted, and that is never nothing");
    let suggestion =
        accepted.as_ref().map(|accepted| new_entry::suggestion(key, accepted)).unwrap_or_default();
    AdoptError::NeedsManualEdit { key: key.clone(), reason, suggestion }
}
