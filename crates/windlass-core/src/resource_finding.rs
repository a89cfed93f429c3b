//! A problem with a resource, before its place in the files is known.

use crate::code::Code;
use crate::resource::{ResourceKey, SpecPath};

/// A problem with a part of a resource. [`crate::manifest::Fleet::place_findings`] finds its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceFinding {
    /// The code of the problem.
    pub code: Code,
    /// The resource.
    pub key: ResourceKey,
    /// The part of the resource.
    pub path: SpecPath,
    /// The text of the part, to find it in the file.
    pub text: String,
    /// One sentence that says what is wrong.
    pub message: String,
    /// How to fix it.
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
