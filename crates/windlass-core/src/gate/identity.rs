//! Which repository something is from.

use crate::id::RepositoryId;

/// Which repository something is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryIdentity<'a> {
    /// Its id, which is never given to another repository.
    pub id: &'a RepositoryId,
    /// What it is called now.
    pub name: &'a str,
}
