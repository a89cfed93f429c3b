//! Verifies an edit: the edited files are read again and must declare exactly the accepted state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::edited::{AdoptTargets, EditedFile};
use crate::diagnostic::{Diagnostic, ProblemSeverity};
use crate::digest::Digest;
use crate::manifest::{FileManifest, FileRole, Fleet, ReadContext, assemble, read_file};
use crate::resource::ResourceKey;

type DeclaredDigests = BTreeMap<ResourceKey, Digest>;

/// Fails unless the edited files declare the adopted resources as accepted, and everything else as before.
pub(super) fn check(fleet: &Fleet, edited: &[EditedFile], wanted: &AdoptTargets) -> Result<(), String> {
    let mut expected = DeclaredDigests::new();
    let mut actual = DeclaredDigests::new();
    for (before, after) in read(fleet, edited) {
        if let Some(problem) = first_problem(&after.diagnostics) {
            return Err(format!("the edited text would have a problem: {problem}"));
        }
        if !has_same_remainder(before, &after) {
            return Err("a part of the file that is not a resource would also change".to_owned());
        }
        expected.extend(declarations(before));
        for (key, digest) in declarations(&after) {
            if actual.insert(key, digest).is_some() {
                return Err("a resource would be declared twice".to_owned());
            }
        }
    }
    for (key, accepted) in wanted {
        match accepted {
            Some(accepted) => expected.insert(key.clone(), accepted.declared_digest()),
            None => expected.remove(key),
        };
    }
    match first_difference(&expected, &actual) {
        Some(key) if wanted.contains_key(key) => {
            Err("the edited text would not declare the accepted state".to_owned())
        }
        Some(key) => Err(format!("{key} would also change")),
        None => Ok(()),
    }
}

/// The first error of the whole fleet with these files edited.
pub(super) fn first_error(fleet: &Fleet, edited: &[EditedFile], context: &ReadContext) -> Option<String> {
    let mut files = fleet.files.clone();
    for (before, after) in read(fleet, edited) {
        if let Some(file) = files.iter_mut().find(|file| file.path == before.path) {
            *file = Arc::new(after);
        }
    }
    first_problem(&assemble(files, context).diagnostics)
}

/// Each edited file as it was read before the edit, and as it is read now.
fn read<'f>(
    fleet: &'f Fleet,
    edited: &'f [EditedFile],
) -> impl Iterator<Item = (&'f FileManifest, FileManifest)> {
    edited.iter().filter_map(|edited| {
        let index = fleet.files.iter().position(|file| file.path == edited.path)?;
        let role = if index == 0 { FileRole::Root } else { FileRole::Included };
        Some((fleet.files[index].as_ref(), read_file(&edited.path, edited.after.as_bytes(), role)))
    })
}

fn first_problem(diagnostics: &[Diagnostic]) -> Option<String> {
    let error = diagnostics.iter().find(|problem| problem.severity == ProblemSeverity::Error)?;
    Some(format!("{}:{}:{}: {}", error.file, error.line, error.column, error.message))
}

/// Whether everything that is not a resource is unchanged: the account, the includes, the provider configurations.
fn has_same_remainder(before: &FileManifest, after: &FileManifest) -> bool {
    let patterns = |file: &FileManifest| file.include.iter().map(ToString::to_string).collect::<Vec<_>>();
    before.account == after.account
        && before.provider_configs == after.provider_configs
        && patterns(before) == patterns(after)
}

fn declarations(file: &FileManifest) -> impl Iterator<Item = (ResourceKey, Digest)> {
    file.declarations.iter().map(|declaration| (declaration.key.clone(), declaration.digest))
}

fn first_difference<'d>(
    expected: &'d DeclaredDigests,
    actual: &'d DeclaredDigests,
) -> Option<&'d ResourceKey> {
    let differs = |(key, digest): &(&ResourceKey, &Digest)| actual.get(*key) != Some(*digest);
    let missing = expected.iter().find(differs).map(|(key, _)| key);
    missing.or_else(|| actual.keys().find(|key| !expected.contains_key(*key)))
}
