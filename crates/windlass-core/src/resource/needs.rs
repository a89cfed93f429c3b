//! The dependencies of a resource: other resources, and paths in the repository.

use std::borrow::Cow;

use super::kind::Kind;
use crate::shape::Record;
use crate::value::RepositoryPath;

/// What a spec provides besides its shape.
pub trait ResourceSpec: Record {
    /// Calls `visit` for each resource that this one refers to. `name` is the resource's own name.
    fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>));

    /// Calls `visit` for each path in the repository that this resource needs, with the field that names it.
    fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, SpecPath)) {
        let _ = visit;
    }

    /// Calls `visit` for each of these paths, to set its content.
    fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
        let _ = visit;
    }

    /// Whether it must not be destroyed.
    fn is_protected(&self) -> bool;
}

/// A reference from one resource to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'s> {
    /// The kind of the target.
    pub kind: Kind,
    /// The name of the target.
    pub name: Cow<'s, str>,
    /// The field that refers to it.
    pub at: SpecPath,
}

impl<'s> Reference<'s> {
    pub(super) fn new(kind: Kind, name: impl Into<Cow<'s, str>>, at: SpecPath) -> Reference<'s> {
        Reference { kind, name: name.into(), at }
    }
}

/// A path inside a spec, cheap enough to create for every reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecPath {
    /// The resource's own name.
    Name,
    /// A field.
    Field(&'static str),
    /// An item of a list field.
    Item(&'static str, usize),
    /// A field of an item of a list field.
    ItemField(&'static str, usize, &'static str),
    /// A value, or an item of a list, under this key somewhere inside a field.
    Inside(&'static str, &'static str),
}
