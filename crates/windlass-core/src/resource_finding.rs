//! A problem with a resource, before its place in the files is looked up.

use crate::code::Code;
use crate::resource::{ResourceKey, SpecPath};

/// Something wrong with a part of a resource. [`crate::manifest::Fleet::place_findings`] gives it its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceFinding {
    /// What kind of problem.
    pub code: Code,
    /// Which resource.
    pub key: ResourceKey,
    /// Which part of it.
    pub path: SpecPath,
    /// What the part says, to find it again.
    pub text: String,
    /// One sentence saying what is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl ResourceFinding {
    /// A problem with a resource as a whole.
    pub fn for_resource(
        key: ResourceKey,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ResourceFinding {
        ResourceFinding {
            code,
            key,
            path: SpecPath::Name,
            text: String::new(),
            message: message.into(),
            help: help.into(),
        }
    }
}
