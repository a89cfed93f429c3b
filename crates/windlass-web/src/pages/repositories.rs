//! The registered repositories.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::RepositoryInfo;
use windlass_core::repository::RepositoryStatus;

use super::Allowed;
use crate::frame::{Frame, NavEntry};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "repositories.html")]
pub struct RepositoriesPage {
    /// The frame of the page.
    pub frame: Frame,
    /// Sorted by name.
    pub repositories: Vec<RepositoryInfo>,
}

impl RepositoriesPage {
    pub(crate) fn may_sync(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsSync))
    }

    pub(crate) fn may_register(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsWrite))
    }
}
