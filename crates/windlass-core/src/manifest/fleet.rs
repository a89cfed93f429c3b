//! A fleet after reading, and the places of its problems.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::FileManifest;
use super::locate::{DeclarationPart, PlaceIndex};
use crate::code::Code;
use crate::content::ContentId;
use crate::desired::Desired;
use crate::diagnostic::{self, Diagnostic, Finding};
use crate::origin::DeclarationOrigin;
use crate::quote::quoted;
use crate::resource::{ResourceKey, SpecPath};
use crate::resource_finding::ResourceFinding;

/// A fleet after reading: its desired state, all problems, and the files for excerpts.
#[derive(Debug)]
pub struct Fleet {
    /// The desired state. Use it for a plan only if [`Fleet::has_errors`] is false.
    pub desired: Desired,
    /// Every problem, sorted by place.
    pub diagnostics: Vec<Diagnostic>,
    /// The files, root first.
    pub files: Vec<Arc<FileManifest>>,
}

/// A path of the repository that a resource needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededPath {
    /// The path, relative to fleet.yaml.
    pub path: String,
    key: ResourceKey,
    at: SpecPath,
}

impl Fleet {
    /// Whether a problem prevents a plan.
    pub fn has_errors(&self) -> bool {
        diagnostic::has_errors(&self.diagnostics)
    }

    /// Removes problems about missing declarations if some files could not be read: the declarations may be in those.
    pub fn retract_not_found_problems(&mut self) {
        self.withdraw(&[Code::ReferenceUnresolved, Code::SelectorEmpty, Code::IncludeEmpty]);
    }

    pub(super) fn withdraw(&mut self, codes: &[Code]) {
        self.diagnostics.retain(|problem| !codes.contains(&problem.code));
    }

    /// The text of a file, for excerpts.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_ref())
    }

    /// The diagnostics of problems with resources of this fleet.
    pub fn place_findings(&self, remarks: Vec<ResourceFinding>) -> Vec<Diagnostic> {
        diagnostics_of(&self.files, &self.desired, remarks)
    }

    /// Where resources are declared: file and line, in the requested order. `None` for resources that are not declared.
    pub fn declared_at(&self, keys: &[ResourceKey]) -> Vec<Option<(String, usize)>> {
        let declared_in = |key: &ResourceKey| self.desired.resources.get(key.kind, &key.name);
        let places = PlaceIndex::new(&self.files, keys.iter().filter_map(|key| Some(declared_in(key)?.file)));
        let mut files = BTreeMap::new();
        keys.iter()
            .map(|key| {
                let declared = declared_in(key)?;
                let file = files.entry(declared.file).or_insert_with(|| places.in_file(declared.file));
                let part = DeclarationPart {
                    name: &key.name,
                    origin: declared.origin,
                    at: SpecPath::Name,
                    text: &key.name,
                };
                let found = file.find(part);
                let diagnostic = file.diagnostic(found, Finding::new(Code::BadName, 0..0, ""));
                Some((diagnostic.file, diagnostic.line))
            })
            .collect()
    }

    /// The paths in the repository that this fleet needs.
    pub fn repository_paths(&self) -> Vec<NeededPath> {
        let mut paths = Vec::new();
        for (kind, name, declared) in self.desired.resources.iter() {
            declared.spec.repository_paths(&mut |path, at| {
                let key = ResourceKey::new(kind, name);
                paths.push(NeededPath { path: path.to_string(), key, at });
            });
        }
        paths
    }

    /// Sets the content ids of the paths that resources name; they are part of the digests from then on.
    pub fn note_contents(&mut self, contents: &BTreeMap<String, ContentId>) {
        for declared in self.desired.resources.values_mut() {
            if declared.spec.names_paths() {
                declared.note_contents(|path| contents.get(path).copied());
            }
        }
    }

    /// Adds a problem for each needed path that does not exist.
    pub fn report_missing_paths(&mut self, missing: Vec<NeededPath>) {
        let remarks = missing
            .into_iter()
            .map(|NeededPath { path, key, at }| ResourceFinding {
                code: Code::PathMissing,
                key,
                path: at,
                message: format!("{} does not exist in the repository", quoted(&path)),
                text: path,
                help: "paths are relative to fleet.yaml; check the spelling, or add it to the commit"
                    .to_owned(),
            })
            .collect();
        let told = self.place_findings(remarks);
        self.diagnostics.extend(told);
        diagnostic::sort_diagnostics(&mut self.diagnostics);
    }
}

/// Finds the places of problems; each file with a problem is read once more.
pub(super) fn diagnostics_of(
    files: &[Arc<FileManifest>],
    desired: &Desired,
    remarks: Vec<ResourceFinding>,
) -> Vec<Diagnostic> {
    let mut placed = Vec::new();
    let mut by_file: BTreeMap<usize, Vec<(DeclarationOrigin, ResourceFinding)>> = BTreeMap::new();
    for remark in remarks {
        match desired.resources.get(remark.key.kind, &remark.key.name) {
            Some(declared) => by_file.entry(declared.file).or_default().push((declared.origin, remark)),
            None => {
                let path = remark.key.to_string();
                placed.push(Diagnostic::without_place(remark.code, path, remark.message).help(remark.help));
            }
        }
    }
    let places = PlaceIndex::new(files, by_file.keys().copied());
    for (file, remarks) in by_file {
        let mut places = places.in_file(file);
        for (origin, remark) in remarks {
            let found = places.find(DeclarationPart {
                name: &remark.key.name,
                origin,
                at: remark.path,
                text: &remark.text,
            });
            let finding = Finding::new(remark.code, 0..0, remark.message).help(remark.help);
            placed.push(places.diagnostic(found, finding));
        }
    }
    placed
}
