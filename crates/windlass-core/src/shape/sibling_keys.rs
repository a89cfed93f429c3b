//! Keys of a map that the record being decoded does not own.

/// Keys of a map that the record being decoded does not own.
#[derive(Clone, Copy, Debug)]
pub struct SiblingKeys {
    /// The key of the name in an item of a list.
    pub name_key: Option<&'static str>,
    /// Keys that another record decodes from the same map.
    pub keys: &'static [&'static str],
    /// Whether this record reports unknown keys: exactly one of the records that share a map does.
    pub unknown: UnknownKeys,
}

/// What to do with unknown keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// Report them.
    Report,
    /// Another record of the same map reports them.
    Ignore,
}

impl SiblingKeys {
    /// The record owns the whole map.
    pub const NOTHING: SiblingKeys = SiblingKeys { name_key: None, keys: &[], unknown: UnknownKeys::Report };

    /// The record owns the map except for the name.
    pub const fn name(key: &'static str) -> SiblingKeys {
        SiblingKeys { name_key: Some(key), ..SiblingKeys::NOTHING }
    }
}
