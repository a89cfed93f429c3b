//! A problem with a resource, before its place in the files is looked up.

use crate::code::Code;
use crate::resource::{At, ResourceKey};

/// Something wrong with a part of a resource. [`crate::manifest::Fleet::tell`] gives it its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What kind of problem.
    pub code: Code,
    /// Which resource.
    pub key: ResourceKey,
    /// Which part of it.
    pub at: At,
    /// What the part says, to find it again.
    pub text: String,
    /// One sentence saying what is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Remark {
    /// A problem with a resource as a whole.
    pub fn on(key: ResourceKey, code: Code, message: impl Into<String>, help: impl Into<String>) -> Remark {
        Remark { code, key, at: At::Name, text: String::new(), message: message.into(), help: help.into() }
    }
}
