//! What a resource needs: other resources, and paths of the repository.

use std::borrow::Cow;

use super::kind::Kind;
use crate::shape::Record;
use crate::value::RepositoryPath;

/// What a spec must tell beside its shape.
pub trait ResourceSpec: Record {
    /// Calls `visit` for each resource this one needs. `name` is the resource's own name.
    fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>));

    /// Calls `visit` for each path of the repository that must exist for this resource, and which part says so.
    fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, SpecPath)) {
        let _ = visit;
    }

    /// Calls `visit` for each of the same paths, to note what stands there.
    fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
        let _ = visit;
    }

    /// Whether destroying it is refused.
    fn is_protected(&self) -> bool;
}

/// One resource needing another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'s> {
    /// What kind of thing is needed.
    pub kind: Kind,
    /// Its name.
    pub name: Cow<'s, str>,
    /// Which part of the spec says so.
    pub at: SpecPath,
}

impl<'s> Reference<'s> {
    pub(super) fn new(kind: Kind, name: impl Into<Cow<'s, str>>, at: SpecPath) -> Reference<'s> {
        Reference { kind, name: name.into(), at }
    }
}

/// A place inside a spec, cheap enough to make for every reference.
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
    /// Somewhere inside a field: a value, or an item of a list, under this key.
    Inside(&'static str, &'static str),
}
