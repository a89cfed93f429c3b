//! The end of an audit log, or of a part of it.

/// An entry that others follow; number 0 without a hash is the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
}
