//! The address of a declaration in its file.

use crate::resource::{Kind, KindSection};

/// The address of a declaration in its file. Within one section the order is that of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeclarationOrigin {
    section: &'static [&'static str],
    slot: Slot,
    member: Option<(&'static str, Slot)>,
}

impl DeclarationOrigin {
    /// The origin of a resource that was not read from a file, for example a stored one.
    pub fn nowhere() -> DeclarationOrigin {
        DeclarationOrigin { section: &[], slot: Slot::Key, member: None }
    }

    pub(crate) fn of_entry(section: &'static [&'static str], slot: Slot) -> DeclarationOrigin {
        DeclarationOrigin { section, slot, member: None }
    }

    /// The keys of the section, the slot of the entry, and the same for a member inside the entry.
    pub(crate) fn parts(self) -> (&'static [&'static str], Slot, Option<(&'static str, Slot)>) {
        (self.section, self.slot, self.member)
    }

    pub(crate) fn member(self, kind: Kind, slot: Slot) -> DeclarationOrigin {
        DeclarationOrigin { member: KindSection::of(kind).member.map(|list| (list, slot)), ..self }
    }
}

/// The address of an entry in its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// In the map form, by its own name.
    Key,
    /// In the list form, by position.
    Index(u32),
}
