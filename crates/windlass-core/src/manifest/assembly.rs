//! The fleet while its files are joined.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::ReadContext;
use super::file::FileManifest;
use super::fleet::{Fleet, diagnostics_of};
use super::include::unmatched;
use super::locate::{DeclarationPart, PlaceIndex};
use super::size::{FleetSize, MAX_VALUES};
use super::{MAX_FILES, MAX_RESOURCES, MAX_TOTAL_BYTES};
use crate::code::Code;
use crate::desired::{Declared, Desired};
use crate::diagnostic::{self, Diagnostic, Finding};
use crate::origin::DeclarationOrigin;
use crate::quote::quoted;
use crate::resource::{ResourceMap, SpecPath};
use crate::resource_finding::ResourceFinding;

/// Whether a fleet exceeds the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FleetLimits {
    Kept,
    Exceeded,
}

/// The fleet while its files are joined.
pub(super) struct Assembly {
    pub(super) desired: Desired,
    /// Resources with invalid fields, and where they are declared.
    pub(super) invalid: ResourceMap<FilePlace>,
    files: Vec<Arc<FileManifest>>,
    diagnostics: Vec<Diagnostic>,
    duplicates: Vec<Duplicate>,
    findings: Vec<ResourceFinding>,
}

/// A file, and the position in it.
type FilePlace = (usize, DeclarationOrigin);

/// A second declaration, with both positions.
struct Duplicate {
    /// The kind: `cluster`.
    what: &'static str,
    name: String,
    first: FilePlace,
    second: FilePlace,
}

impl Duplicate {
    fn new(what: &'static str, name: &str, one: FilePlace, other: FilePlace) -> Duplicate {
        Duplicate { what, name: name.to_owned(), first: one.min(other), second: one.max(other) }
    }
}

impl Assembly {
    pub(super) fn new(files: Vec<Arc<FileManifest>>) -> Assembly {
        let diagnostics = files.iter().flat_map(|file| file.diagnostics.iter().cloned()).collect();
        Assembly {
            desired: Desired::default(),
            invalid: ResourceMap::default(),
            files,
            diagnostics,
            duplicates: Vec::new(),
            findings: Vec::new(),
        }
    }

    pub(super) fn add_finding(&mut self, remark: ResourceFinding) {
        self.findings.push(remark);
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn root_path(&self) -> String {
        self.files.first().map(|file| file.path.clone()).unwrap_or_default()
    }

    pub(super) fn check_limits(&mut self) -> FleetLimits {
        let root = self.root_path();
        let total: usize = self.files.iter().map(|file| file.text.len()).sum();
        if total > MAX_TOTAL_BYTES {
            let message = format!("the fleet's files have {total} bytes together, more than 64 MiB");
            self.report(
                Diagnostic::with_file(Code::FilesTooLarge, &root, message)
                    .help("split the fleet into several repositories"),
            );
        }
        if self.files.len() > MAX_FILES {
            let message = format!("the fleet has {} files, more than {MAX_FILES}", self.files.len());
            self.report(
                Diagnostic::with_file(Code::FilesTooMany, &root, message).help("use fewer, larger files"),
            );
        }
        let size = self.files.iter().fold(FleetSize::default(), |size, file| size.plus(file));
        if !size.is_too_large() {
            return FleetLimits::Kept;
        }
        let message = match size.resources > MAX_RESOURCES {
            true => format!("the fleet declares more than {MAX_RESOURCES} resources"),
            false => format!("the fleet's files contain more than {MAX_VALUES} values"),
        };
        self.report(
            Diagnostic::with_file(Code::ResourcesTooMany, &root, message)
                .help("split the fleet into several repositories"),
        );
        FleetLimits::Exceeded
    }

    pub(super) fn join(&mut self) {
        let files = self.files.clone();
        for (index, file) in files.iter().enumerate() {
            for declaration in &file.declarations {
                let key = &declaration.key;
                if let Some(first) = self.desired.resources.get(key.kind, &key.name) {
                    let places = ((first.file, first.origin), (index, declaration.origin));
                    self.duplicates.push(Duplicate::new(key.kind.slug(), &key.name, places.0, places.1));
                    continue;
                }
                let declared = Declared {
                    spec: Arc::clone(&declaration.spec),
                    digest: declaration.digest,
                    file: index,
                    origin: declaration.origin,
                };
                self.desired.resources.insert(key.clone(), declared);
            }
        }
        self.join_invalid(&files);
        self.join_provider_configs(&files);
    }

    /// Reports duplicates of resources with invalid fields as well.
    fn join_invalid(&mut self, files: &[Arc<FileManifest>]) {
        for (index, file) in files.iter().enumerate() {
            for (key, origin) in &file.invalid {
                let here = (index, *origin);
                let sound = self.desired.resources.get(key.kind, &key.name);
                let other = sound.map(|declared| (declared.file, declared.origin));
                match other.or_else(|| self.invalid.get(key.kind, &key.name).copied()) {
                    Some(other) => {
                        self.duplicates.push(Duplicate::new(key.kind.slug(), &key.name, other, here));
                    }
                    None => {
                        self.invalid.insert(key.clone(), here);
                    }
                }
            }
        }
    }

    fn join_provider_configs(&mut self, files: &[Arc<FileManifest>]) {
        let mut seen: BTreeMap<&str, FilePlace> = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            for config in &file.provider_configs {
                let here = (index, config.origin);
                match seen.get(config.name.as_str()) {
                    Some(first) => {
                        let what = "provider configuration";
                        self.duplicates.push(Duplicate::new(what, &config.name, *first, here));
                    }
                    None => {
                        seen.insert(&config.name, here);
                        self.desired.provider_configs.push(config.clone());
                    }
                }
            }
        }
        self.desired.provider_configs.sort_by(|a, b| a.name.cmp(&b.name));
    }

    pub(super) fn check_account(&mut self, context: &ReadContext) {
        let files = self.files.clone();
        let Some(root) = files.first() else { return };
        self.desired.account = root.account.clone().unwrap_or_default();
        for (index, file) in files.iter().enumerate() {
            let Some(account) = &file.account else { continue };
            let wanted = match &context.account {
                Some(names) if !names.contains(account) => names.join("` or `"),
                None if index > 0 && *account != self.desired.account => self.desired.account.clone(),
                _ => continue,
            };
            let message = format!(
                "Resource constraint: account_id mismatch: the file is for account {}",
                quoted(account)
            );
            let help = format!("write `account: {wanted}`, or register the repository in the other account");
            let finding = Finding::new(Code::AccountMismatch, 0..0, message).help(help);
            let places = PlaceIndex::new(&files, [index]);
            let places = places.in_file(index);
            self.diagnostics.push(places.diagnostic(places.find_value(&["account"], None), finding));
        }
    }

    pub(super) fn check_includes(&mut self) {
        let Some(root) = self.files.first() else { return };
        let included: Vec<&str> = self.files.iter().skip(1).map(|file| file.path.as_str()).collect();
        let unmatched = unmatched(&root.include, &included);
        if unmatched.is_empty() {
            return;
        }
        let places = PlaceIndex::new(&self.files, [0]);
        let places = places.in_file(0);
        let told = unmatched.into_iter().map(|index| {
            let message = format!("{} matches no file", quoted(&root.include[index].to_string()));
            let finding = Finding::new(Code::IncludeEmpty, 0..0, message)
                .help("patterns are relative to fleet.yaml; remove the pattern if the files no longer exist");
            places.diagnostic(places.find_value(&["include"], Some(index)), finding)
        });
        let told: Vec<Diagnostic> = told.collect();
        self.diagnostics.extend(told);
    }

    pub(super) fn finish(mut self) -> Fleet {
        self.diagnostics.extend(place_duplicates(&self.files, &self.duplicates));
        self.diagnostics.extend(diagnostics_of(&self.files, &self.desired, self.findings));
        diagnostic::sort_diagnostics(&mut self.diagnostics);
        let all_read = self.files.iter().all(|file| file.is_read);
        let mut fleet = Fleet { desired: self.desired, diagnostics: self.diagnostics, files: self.files };
        if !all_read {
            fleet.withdraw(&[Code::ReferenceUnresolved, Code::SelectorEmpty]);
        }
        fleet
    }
}

fn place_duplicates(files: &[Arc<FileManifest>], duplicates: &[Duplicate]) -> Vec<Diagnostic> {
    let needed: BTreeSet<usize> =
        duplicates.iter().flat_map(|duplicate| [duplicate.first.0, duplicate.second.0]).collect();
    let places = PlaceIndex::new(files, needed.iter().copied());
    let mut by_file: BTreeMap<usize, _> = needed.iter().map(|file| (*file, places.in_file(*file))).collect();
    let mut placed = Vec::new();
    for Duplicate { what, name, first, second } in duplicates {
        let part = |origin| DeclarationPart { name, origin, at: SpecPath::Name, text: "" };
        let Some(first_file) = by_file.get_mut(&first.0) else { continue };
        let found = first_file.find(part(first.1));
        let first_place = first_file.text(&found);
        let Some(second_file) = by_file.get_mut(&second.0) else { continue };
        let found = second_file.find(part(second.1));
        let message = format!("the {what} {} is declared twice", quoted(name));
        let help = format!("it is also declared at {first_place}; keep one of the two");
        placed
            .push(second_file.diagnostic(found, Finding::new(Code::DuplicateName, 0..0, message).help(help)));
    }
    placed
}
