//! The end of an audit log, or of a part of it.

/// The last entry of a log or a part of it; number 0 without a hash is the position before the first entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
}
