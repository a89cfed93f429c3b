//! Edits of the files that declare the resources, or should declare them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::edited::{AdoptTargets, EditedFile};
use super::fields::{EditDepth, changes};
use super::new_entry::{self, Fields};
use super::verify;
use crate::desired::Declared;
use crate::manifest::{DeclarationOrigin, Fleet, Slot};
use crate::resource::{Kind, KindSection, ResourceKey, Spec, member_name};
use crate::shape::Defaults;
use crate::yaml::{self, Edit, EditStep, EmptiedCollection, Insertion, NestedEdits, NewValue};

/// How much of a resource's text is rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EditDetail {
    #[default]
    Values,
    Fields,
    Resource,
}

impl EditDetail {
    pub(super) const ALL: [EditDetail; 3] = [EditDetail::Values, EditDetail::Fields, EditDetail::Resource];
}

/// The resources to adopt and the detail of their edits; resources that `detail` does not name get the finest edit.
pub(super) struct AdoptEdits<'i> {
    pub(super) fleet: &'i Fleet,
    pub(super) wanted: &'i AdoptTargets,
    pub(super) detail: &'i BTreeMap<ResourceKey, EditDetail>,
}

impl AdoptEdits<'_> {
    /// The edited files, if they declare the accepted state and nothing else changed; otherwise the reason.
    pub(super) fn attempt(&self) -> Result<Vec<EditedFile>, String> {
        let mut edited = Vec::new();
        for (file, within) in self.edits()? {
            let manifest = &self.fleet.files[file];
            let after = yaml::edit(&manifest.text, &within).map_err(|why| why.to_string())?;
            let before = Arc::clone(&manifest.text);
            edited.push(EditedFile { path: manifest.path.clone(), before, after });
        }
        verify::check(self.fleet, &edited, self.wanted)?;
        Ok(edited)
    }

    /// The edits, by file. Networks come before their members: removing or rewriting a network includes its members.
    fn edits(&self) -> Result<BTreeMap<usize, NestedEdits>, String> {
        let mut edits: BTreeMap<usize, NestedEdits> = BTreeMap::new();
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

    fn change(&self, top: &mut NestedEdits, key: &ResourceKey, declared: &Declared, accepted: Option<&Spec>) {
        let (around, last) = path_to_entry(declared.origin, &key.name);
        let Some(parent) = descend(top, around) else { return };
        let detail = self.detail.get(key).copied().unwrap_or_default();
        let edit = match (accepted, detail) {
            (None, _) => Edit::Remove,
            (Some(accepted), EditDetail::Resource) => Edit::Put(self.entry(key, accepted, &last)),
            (Some(accepted), EditDetail::Fields) => {
                Edit::Within(differences(declared, accepted, EditDepth::Fields))
            }
            (Some(accepted), EditDetail::Values) => {
                Edit::Within(differences(declared, accepted, EditDepth::Values))
            }
        };
        parent.steps.insert(last, edit);
    }

    /// The whole entry, with its name where the list form needs it.
    fn entry(&self, key: &ResourceKey, accepted: &Spec, step: &EditStep) -> NewValue {
        let fields = self.fields(key, accepted);
        match step {
            EditStep::Index(_) => new_entry::item(key.kind, own_name(key), fields),
            EditStep::Key(_) | EditStep::ItemWithText(_) => NewValue::Map(fields),
        }
    }

    /// The fields of a resource; a network's fields include its future members.
    fn fields(&self, key: &ResourceKey, accepted: &Spec) -> Fields {
        let mut fields = new_entry::fields(accepted);
        if key.kind == Kind::Network {
            for kind in [Kind::Peer, Kind::VirtualIp] {
                let members = self.members(kind, &key.name);
                let list = KindSection::of(kind).member.map(str::to_owned).unwrap_or_default();
                if !members.is_empty() {
                    fields.push((list, NewValue::List(members)));
                }
            }
        }
        fields
    }

    fn members(&self, kind: Kind, network: &str) -> Vec<NewValue> {
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
        inside
            .map(|(name, spec)| new_entry::item(kind, member_name(name).1, new_entry::fields(spec)))
            .collect()
    }

    /// Appends to the kind's section in the file that declares most of the kind, or to a new section in fleet.yaml.
    fn create(
        &self,
        edits: &mut BTreeMap<usize, NestedEdits>,
        key: &ResourceKey,
        accepted: &Spec,
    ) -> Result<(), String> {
        let home = KindSection::of(key.kind);
        let fields = self.fields(key, accepted);
        let name = own_name(key);
        let item = new_entry::item(key.kind, name, fields.clone());
        let added = Insertion::Named { key: name.to_owned(), value: NewValue::Map(fields), item };
        let Some(member) = home.member else {
            let top = edits.entry(self.file_for(key.kind)).or_default();
            let keys =
                home.section.iter().map(|key| (EditStep::Key((*key).to_owned()), EmptiedCollection::Removed));
            append(descend(top, keys.collect()), added);
            return Ok(());
        };
        let network = ResourceKey::new(Kind::Network, member_name(&key.name).0);
        let Some(declared) = self.fleet.desired.resources.get(network.kind, &network.name) else {
            // If the network is created as well, its entry includes the member.
            let is_created = self.wanted.get(&network).is_some_and(Option::is_some);
            return is_created
                .then_some(())
                .ok_or_else(|| format!("{network} is not declared in these files"));
        };
        let (mut steps, last) = path_to_entry(declared.origin, &network.name);
        steps.extend([
            (last, EmptiedCollection::Kept),
            (EditStep::Key(member.to_owned()), EmptiedCollection::Removed),
        ]);
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

/// If the surrounding collection is rewritten or removed, that includes the addition.
fn append(section: Option<&mut NestedEdits>, added: Insertion) {
    if let Some(section) = section {
        section.added.push(added);
    }
}

fn own_name(key: &ResourceKey) -> &str {
    match KindSection::of(key.kind).member {
        Some(_) => member_name(&key.name).1,
        None => &key.name,
    }
}

fn differences(declared: &Declared, accepted: &Spec, depth: EditDepth) -> NestedEdits {
    match (declared.spec.to_json(Defaults::Omit), accepted.to_json(Defaults::Omit)) {
        (Value::Object(declared), Value::Object(accepted)) => changes(&declared, &accepted, depth),
        _ => NestedEdits::default(),
    }
}

/// The steps to the entry's parents, each with what happens when it becomes empty, and the step to the entry.
fn path_to_entry(origin: DeclarationOrigin, name: &str) -> (Vec<(EditStep, EmptiedCollection)>, EditStep) {
    let (section, slot, member) = origin.parts();
    let mut steps: Vec<(EditStep, EmptiedCollection)> =
        section.iter().map(|key| (EditStep::Key((*key).to_owned()), EmptiedCollection::Removed)).collect();
    let Some((list, member_slot)) = member else { return (steps, step(slot, name)) };
    let (network, inner) = member_name(name);
    steps.extend([
        (step(slot, network), EmptiedCollection::Kept),
        (EditStep::Key(list.to_owned()), EmptiedCollection::Removed),
    ]);
    (steps, step(member_slot, inner))
}

fn step(slot: Slot, name: &str) -> EditStep {
    match slot {
        Slot::Key => EditStep::Key(name.to_owned()),
        Slot::Index(index) => EditStep::Index(index as usize),
    }
}

fn descend(top: &mut NestedEdits, steps: Vec<(EditStep, EmptiedCollection)>) -> Option<&mut NestedEdits> {
    steps.into_iter().try_fold(top, |within, (step, emptied)| within.enter(step, emptied))
}
