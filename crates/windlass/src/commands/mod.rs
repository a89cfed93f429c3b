//! One file per verb: load, ask the core, hand the answer to a view.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod fmt;
mod load;
pub(crate) mod man;
pub(crate) mod operate;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod validate;
