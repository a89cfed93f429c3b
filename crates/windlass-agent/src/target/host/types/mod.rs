//! The types of items. A new type is one file and one line in the table.

mod directory;
mod file;
mod group;
mod hold;
mod link;
mod package;
mod service;
mod sysctl;
mod text_file;
mod timer;
mod user;

use std::marker::PhantomData;

use windlass_core::host::HostItem;

use super::item_type::{AnyItemType, Untyped};

/// Every type of item.
const TYPES: &[&dyn AnyItemType] = &[
    &Untyped::<package::PackageType>(PhantomData),
    &Untyped::<hold::HoldType>(PhantomData),
    &Untyped::<group::GroupType>(PhantomData),
    &Untyped::<user::UserType>(PhantomData),
    &Untyped::<directory::DirectoryType>(PhantomData),
    &Untyped::<file::FileType>(PhantomData),
    &Untyped::<link::LinkType>(PhantomData),
    &Untyped::<sysctl::SysctlType>(PhantomData),
    &Untyped::<service::ServiceType>(PhantomData),
    &Untyped::<timer::TimerType>(PhantomData),
];

/// The type of an item.
pub(crate) fn type_of(item: &HostItem) -> &'static dyn AnyItemType {
    *TYPES.iter().find(|one| one.is_type_of(item)).expect("the table has every type of item")
}

/// The type with this name in the inventory.
pub(crate) fn type_named(name: &str) -> Option<&'static dyn AnyItemType> {
    TYPES.iter().copied().find(|one| one.name() == name)
}
