//! The resources to adopt, and the edited files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::resource::{ResourceKey, Spec};

/// The accepted state of the resources to adopt; `None` for deleted ones.
pub(super) type AdoptTargets = BTreeMap<ResourceKey, Option<Arc<Spec>>>;

/// A file of the fleet with its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedFile {
    /// Its path, relative to the fleet's root.
    pub path: String,
    /// The text before the edit.
    pub before: Arc<str>,
    /// The text that declares the accepted state.
    pub after: String,
}
