//! Keys of a map that belong to someone else than the record being read.

/// Keys of a map that belong to someone else than the record being read.
#[derive(Clone, Copy, Debug)]
pub struct SiblingKeys {
    /// The key under which an item of a list carries its name.
    pub name_key: Option<&'static str>,
    /// Keys that another record reads from the same map.
    pub keys: &'static [&'static str],
    /// Who tells about keys that nobody knows: exactly one of the records that share a map.
    pub unknown: UnknownKeys,
}

/// What to do about keys that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// Report them.
    Report,
    /// Another record of the same map reports them.
    Ignore,
}

impl SiblingKeys {
    /// The record has the map to itself.
    pub const NOTHING: SiblingKeys = SiblingKeys { name_key: None, keys: &[], unknown: UnknownKeys::Report };

    /// The record has the map to itself, but for the name.
    pub const fn name(key: &'static str) -> SiblingKeys {
        SiblingKeys { name_key: Some(key), ..SiblingKeys::NOTHING }
    }
}
