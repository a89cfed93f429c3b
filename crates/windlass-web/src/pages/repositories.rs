//! Where fleets come from.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::RepositoryInfo;

use super::Allowed;
use crate::frame::{Frame, Place};
use crate::words;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "repositories.html")]
pub struct Repositories {
    /// What surrounds it.
    pub frame: Frame,
    /// By name.
    pub repositories: Vec<RepositoryInfo>,
}

impl Repositories {
    pub(crate) fn may_sync(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsSync))
    }

    pub(crate) fn may_register(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsWrite))
    }
}
