//! Wanted resources → edits of the files that declare them, or should.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::edited::{Edited, Wanted};
use super::fields::{Depth, changes};
use super::fresh::{self, Fields};
use super::verify;
use crate::desired::Declared;
use crate::manifest::{Fleet, Origin, Slot};
use crate::resource::{Home, Kind, ResourceKey, Spec, member_name};
use crate::shape::Defaults;
use crate::yaml::{self, Added, Edit, Emptied, Fresh, Step, Within};

/// How much of a resource's text is written anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Detail {
    #[default]
    Values,
    Fields,
    Resource,
}

impl Detail {
    pub(super) const ALL: [Detail; 3] = [Detail::Values, Detail::Fields, Detail::Resource];
}

/// What to adopt, and how finely; what `detail` does not name is edited as finely as can be.
pub(super) struct Intent<'i> {
    pub(super) fleet: &'i Fleet,
    pub(super) wanted: &'i Wanted,
    pub(super) detail: &'i BTreeMap<ResourceKey, Detail>,
}

impl Intent<'_> {
    /// The edited files if they declare what is wanted and nothing else changed, or what stands in the way.
    pub(super) fn attempt(&self) -> Result<Vec<Edited>, String> {
        let mut edited = Vec::new();
        for (file, within) in self.edits()? {
            let manifest = &self.fleet.files[file];
            let after = yaml::edit(&manifest.text, &within).map_err(|why| why.to_string())?;
            let before = Arc::clone(&manifest.text);
            edited.push(Edited { path: manifest.path.clone(), before, after });
        }
        verify::check(self.fleet, &edited, self.wanted)?;
        Ok(edited)
    }

    /// By file. Networks come before what stands inside them, and take it along when they are removed or written anew.
    fn edits(&self) -> Result<BTreeMap<usize, Within>, String> {
        let mut edits: BTreeMap<usize, Within> = BTreeMap::new();
        for (key, accepted) in self.wanted {
            let declared = self.fleet.desired.resources.get(key.kind, &key.name);
            match (declared, accepted) {
                (Some(declared), accepted) => {
                    let top = edits.entry(declared.file).or_default();
                    self.change(top, key, declared, accepted.as_deref());
                }
                (None, Some(accepted)) => self.create(&mut edits, key, accepted)?,
                (None, None) => {}
            }
        }
        Ok(edits)
    }

    fn change(&self, top: &mut Within, key: &ResourceKey, declared: &Declared, accepted: Option<&Spec>) {
        let (around, last) = way(declared.origin, &key.name);
        let Some(parent) = descend(top, around) else { return };
        let detail = self.detail.get(key).copied().unwrap_or_default();
        let edit = match (accepted, detail) {
            (None, _) => Edit::Remove,
            (Some(accepted), Detail::Resource) => Edit::Put(self.entry(key, accepted, &last)),
            (Some(accepted), Detail::Fields) => Edit::Within(differences(declared, accepted, Depth::Fields)),
            (Some(accepted), Detail::Values) => Edit::Within(differences(declared, accepted, Depth::Values)),
        };
        parent.steps.insert(last, edit);
    }

    /// The whole entry, with its name where the list form needs it.
    fn entry(&self, key: &ResourceKey, accepted: &Spec, step: &Step) -> Fresh {
        let fields = self.fields(key, accepted);
        match step {
            Step::Index(_) => fresh::item(key.kind, own_name(key), fields),
            Step::Key(_) | Step::Saying(_) => Fresh::Map(fields),
        }
    }

    /// The fields of a resource; a network's with everything that will stand inside it.
    fn fields(&self, key: &ResourceKey, accepted: &Spec) -> Fields {
        let mut fields = fresh::fields(accepted);
        if key.kind == Kind::Network {
            for kind in [Kind::Peer, Kind::VirtualIp] {
                let members = self.members(kind, &key.name);
                let list = Home::of(kind).member.map(str::to_owned).unwrap_or_default();
                if !members.is_empty() {
                    fields.push((list, Fresh::List(members)));
                }
            }
        }
        fields
    }

    fn members(&self, kind: Kind, network: &str) -> Vec<Fresh> {
        let mut specs: BTreeMap<&str, &Spec> = BTreeMap::new();
        for (name, declared) in self.fleet.desired.resources.of_kind(kind) {
            specs.insert(name, &declared.spec);
        }
        for (key, accepted) in self.wanted.iter().filter(|(key, _)| key.kind == kind) {
            match accepted {
                Some(accepted) => specs.insert(&key.name, accepted),
                None => specs.remove(key.name.as_str()),
            };
        }
        let inside = specs.into_iter().filter(|(name, _)| member_name(name).0 == network);
        inside.map(|(name, spec)| fresh::item(kind, member_name(name).1, fresh::fields(spec))).collect()
    }

    /// Appends to the section the kind has in the file that declares most of it, or to a new one in fleet.yaml.
    fn create(
        &self,
        edits: &mut BTreeMap<usize, Within>,
        key: &ResourceKey,
        accepted: &Spec,
    ) -> Result<(), String> {
        let home = Home::of(key.kind);
        let fields = self.fields(key, accepted);
        let name = own_name(key);
        let item = fresh::item(key.kind, name, fields.clone());
        let added = Added::Named { key: name.to_owned(), value: Fresh::Map(fields), item };
        let Some(member) = home.member else {
            let top = edits.entry(self.file_for(key.kind)).or_default();
            let keys = home.section.iter().map(|key| (Step::Key((*key).to_owned()), Emptied::Removed));
            append(descend(top, keys.collect()), added);
            return Ok(());
        };
        let network = ResourceKey::new(Kind::Network, member_name(&key.name).0);
        let Some(declared) = self.fleet.desired.resources.get(network.kind, &network.name) else {
            // A network that is created as well brings everything inside it.
            let is_created = self.wanted.get(&network).is_some_and(Option::is_some);
            return is_created
                .then_some(())
                .ok_or_else(|| format!("{network} is not declared in these files"));
        };
        let (mut steps, last) = way(declared.origin, &network.name);
        steps.extend([(last, Emptied::Kept), (Step::Key(member.to_owned()), Emptied::Removed)]);
        append(descend(edits.entry(declared.file).or_default(), steps), added);
        Ok(())
    }

    fn file_for(&self, kind: Kind) -> usize {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, declared) in self.fleet.desired.resources.of_kind(kind) {
            *counts.entry(declared.file).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(file, count)| (*count, std::cmp::Reverse(*file)));
        most.map_or(0, |(file, _)| file)
    }
}

/// What is written anew or removed around it takes it along.
fn append(section: Option<&mut Within>, added: Added) {
    if let Some(section) = section {
        section.added.push(added);
    }
}

fn own_name(key: &ResourceKey) -> &str {
    match Home::of(key.kind).member {
        Some(_) => member_name(&key.name).1,
        None => &key.name,
    }
}

fn differences(declared: &Declared, accepted: &Spec, depth: Depth) -> Within {
    match (declared.spec.to_json(Defaults::Omit), accepted.to_json(Defaults::Omit)) {
        (Value::Object(declared), Value::Object(accepted)) => changes(&declared, &accepted, depth),
        _ => Within::default(),
    }
}

/// The steps to what an entry stands in, each with what becomes of it when it is emptied, and the step to the entry.
fn way(origin: Origin, name: &str) -> (Vec<(Step, Emptied)>, Step) {
    let (section, slot, member) = origin.parts();
    let mut steps: Vec<(Step, Emptied)> =
        section.iter().map(|key| (Step::Key((*key).to_owned()), Emptied::Removed)).collect();
    let Some((list, member_slot)) = member else { return (steps, step(slot, name)) };
    let (network, inner) = member_name(name);
    steps.extend([(step(slot, network), Emptied::Kept), (Step::Key(list.to_owned()), Emptied::Removed)]);
    (steps, step(member_slot, inner))
}

fn step(slot: Slot, name: &str) -> Step {
    match slot {
        Slot::Key => Step::Key(name.to_owned()),
        Slot::Index(index) => Step::Index(index as usize),
    }
}

fn descend(top: &mut Within, steps: Vec<(Step, Emptied)>) -> Option<&mut Within> {
    steps.into_iter().try_fold(top, |within, (step, emptied)| within.enter(step, emptied))
}
