//! Files → fleet: joining what the files declare and checking what needs more than one declaration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::check;
use super::file::FileManifest;
use super::fleet::{Fleet, place_remarks};
use super::include::unmatched;
use super::locate::{Origin, Part, Places};
use super::size::{FleetSize, MAX_VALUES};
use super::{MAX_FILES, MAX_RESOURCES, MAX_TOTAL_BYTES};
use crate::catalogue::Known;
use crate::code::Code;
use crate::desired::{Declared, Desired};
use crate::diagnostic::{self, Diagnostic, Finding};
use crate::digest::Digest;
use crate::remark::Remark;
use crate::resource::{At, ResourceMap};
use crate::value::quoted;

/// What reading depends on beside the files.
#[derive(Clone, Debug)]
pub struct Context {
    /// The names the repository's account answers to (its id and its name), if there is one.
    pub account: Option<Vec<String>>,
    /// What exists beside the files.
    pub known: Known,
}

impl Context {
    /// Without a server: any account, and only the built-in catalogue is known.
    pub fn offline() -> Context {
        Context { account: None, known: Known::offline() }
    }

    pub(super) fn digest(&self) -> Digest {
        let mut parts: Vec<&[u8]> = Vec::new();
        for name in self.account.iter().flatten() {
            parts.extend([b"account".as_slice(), name.as_bytes()]);
        }
        for platform in &self.known.platforms {
            parts.extend([b"platform".as_slice(), platform.as_bytes()]);
        }
        for (kind, name, ()) in self.known.resources.iter() {
            parts.extend([kind.slug().as_bytes(), name.as_bytes()]);
        }
        for (name, known) in &self.known.versions {
            parts.extend([
                b"versions".as_slice(),
                name.as_bytes(),
                if known.complete { b"all" } else { b"some" },
            ]);
            for (version, state) in &known.versions {
                parts.extend([version.as_str().as_bytes(), state.word().as_bytes()]);
            }
        }
        Digest::of_parts(parts)
    }
}

/// Joins the files of a fleet; the first is fleet.yaml itself.
pub fn assemble(files: Vec<Arc<FileManifest>>, context: &Context) -> Fleet {
    let mut assembly = Assembly::new(files);
    if assembly.check_limits() == Limits::Exceeded {
        // What would be checked is not all there, and is too much to be looked at.
        return assembly.finish();
    }
    assembly.join();
    assembly.check_account(context);
    assembly.check_includes();
    check::references(&mut assembly, &context.known);
    check::pins(&mut assembly, &context.known);
    check::templates(&mut assembly, &context.known);
    check::networks(&mut assembly);
    check::cluster_groups(&mut assembly);
    assembly.finish()
}

/// Whether a fleet is as large as it may be, or larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limits {
    Kept,
    Exceeded,
}

/// The fleet while it is put together.
pub(super) struct Assembly {
    pub(super) desired: Desired,
    /// Resources whose fields are wrong, and where they are declared.
    pub(super) unsound: ResourceMap<Place>,
    files: Vec<Arc<FileManifest>>,
    diagnostics: Vec<Diagnostic>,
    duplicates: Vec<Duplicate>,
    remarks: Vec<Remark>,
}

/// Which file, and where in it.
type Place = (usize, Origin);

/// Something declared twice, and where both times.
struct Duplicate {
    /// What it is: `cluster`.
    what: &'static str,
    name: String,
    first: Place,
    second: Place,
}

impl Duplicate {
    fn new(what: &'static str, name: &str, one: Place, other: Place) -> Duplicate {
        Duplicate { what, name: name.to_owned(), first: one.min(other), second: one.max(other) }
    }
}

impl Assembly {
    fn new(files: Vec<Arc<FileManifest>>) -> Assembly {
        let diagnostics = files.iter().flat_map(|file| file.diagnostics.iter().cloned()).collect();
        Assembly {
            desired: Desired::default(),
            unsound: ResourceMap::default(),
            files,
            diagnostics,
            duplicates: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(super) fn remark(&mut self, remark: Remark) {
        self.remarks.push(remark);
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn root_path(&self) -> String {
        self.files.first().map(|file| file.path.clone()).unwrap_or_default()
    }

    fn check_limits(&mut self) -> Limits {
        let root = self.root_path();
        let total: usize = self.files.iter().map(|file| file.text.len()).sum();
        if total > MAX_TOTAL_BYTES {
            let message = format!("the fleet's files have {total} bytes together, more than 64 MiB");
            self.report(
                Diagnostic::with_file(Code::FilesTooLarge, &root, message)
                    .help("split the fleet over repositories"),
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
            return Limits::Kept;
        }
        let message = match size.resources > MAX_RESOURCES {
            true => format!("the fleet declares more than {MAX_RESOURCES} resources"),
            false => format!("the fleet's files hold more than {MAX_VALUES} values"),
        };
        self.report(
            Diagnostic::with_file(Code::ResourcesTooMany, &root, message)
                .help("split the fleet over repositories"),
        );
        Limits::Exceeded
    }

    fn join(&mut self) {
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
        self.join_unsound(&files);
        self.join_provider_configs(&files);
    }

    /// A mistake in a declaration does not hide that there is another one.
    fn join_unsound(&mut self, files: &[Arc<FileManifest>]) {
        for (index, file) in files.iter().enumerate() {
            for (key, origin) in &file.unsound {
                let here = (index, *origin);
                let sound = self.desired.resources.get(key.kind, &key.name);
                let other = sound.map(|declared| (declared.file, declared.origin));
                match other.or_else(|| self.unsound.get(key.kind, &key.name).copied()) {
                    Some(other) => {
                        self.duplicates.push(Duplicate::new(key.kind.slug(), &key.name, other, here));
                    }
                    None => {
                        self.unsound.insert(key.clone(), here);
                    }
                }
            }
        }
    }

    fn join_provider_configs(&mut self, files: &[Arc<FileManifest>]) {
        let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
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

    fn check_account(&mut self, context: &Context) {
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
            let places = Places::new(&files, [index]);
            let places = places.in_file(index);
            self.diagnostics.push(places.diagnostic(places.find_value(&["account"], None), finding));
        }
    }

    fn check_includes(&mut self) {
        let Some(root) = self.files.first() else { return };
        let included: Vec<&str> = self.files.iter().skip(1).map(|file| file.path.as_str()).collect();
        let unmatched = unmatched(&root.include, &included);
        if unmatched.is_empty() {
            return;
        }
        let places = Places::new(&self.files, [0]);
        let places = places.in_file(0);
        let told = unmatched.into_iter().map(|index| {
            let message = format!("{} matches no file", quoted(&root.include[index].to_string()));
            let finding = Finding::new(Code::IncludeEmpty, 0..0, message)
                .help("patterns are relative to fleet.yaml; remove it if the files are gone");
            places.diagnostic(places.find_value(&["include"], Some(index)), finding)
        });
        let told: Vec<Diagnostic> = told.collect();
        self.diagnostics.extend(told);
    }

    fn finish(mut self) -> Fleet {
        self.diagnostics.extend(place_duplicates(&self.files, &self.duplicates));
        self.diagnostics.extend(place_remarks(&self.files, &self.desired, self.remarks));
        diagnostic::sort(&mut self.diagnostics);
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
    let places = Places::new(files, needed.iter().copied());
    let mut by_file: BTreeMap<usize, _> = needed.iter().map(|file| (*file, places.in_file(*file))).collect();
    let mut placed = Vec::new();
    for Duplicate { what, name, first, second } in duplicates {
        let part = |origin| Part { name, origin, at: At::Name, text: "" };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Role, read_file};

    fn places(texts: &[&str]) -> Vec<(Code, String, usize, usize)> {
        let read = |(index, text): (usize, &&str)| {
            let role = if index == 0 { Role::Root } else { Role::Included };
            Arc::new(read_file(&format!("{index}.yaml"), text.as_bytes(), role))
        };
        let files = texts.iter().enumerate().map(read).collect();
        let problems = assemble(files, &Context::offline()).diagnostics;
        problems.into_iter().map(|found| (found.code, found.file, found.line, found.column)).collect()
    }

    #[test]
    fn a_mistake_in_a_declaration_does_not_hide_that_there_are_two() {
        let text = "version: 1\naccount: a\nclusters:\n- {name: x, protect: 1}\n- {name: x}\n";
        let root = || "0.yaml".to_owned();
        let expected = [(Code::WrongType, root(), 4, 22), (Code::DuplicateName, root(), 5, 10)];
        assert_eq!(places(&[text]), expected);
    }

    #[test]
    fn a_name_that_an_unreadable_file_may_declare_is_not_called_undeclared() {
        let root = "version: 1\naccount: a\nnodes: [{hostname: x, template: y}]\n";
        assert_eq!(places(&[root]), [(Code::ReferenceUnresolved, "0.yaml".to_owned(), 3, 33)]);
        assert_eq!(places(&[root, "templates: [\n"]), [(Code::YamlSyntax, "1.yaml".to_owned(), 1, 12)]);
    }

    #[test]
    fn a_provider_configuration_declared_twice_is_told_at_its_second_place() {
        let texts =
            ["version: 1\naccount: a\nprovider_configs: {x: {}}\n", "provider_configs: [{name: x}]\n"];
        assert_eq!(places(&texts), [(Code::DuplicateName, "1.yaml".to_owned(), 1, 27)]);
    }
}
