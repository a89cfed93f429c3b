//! Pages of lists: a limit and an opaque cursor.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use windlass_api::types::PageMeta;
use windlass_core::id::Id;
use windlass_core::resource::{Kind, ResourceKey};

use crate::refusal::Refusal;

const DEFAULT_LIMIT: usize = 50;

const MAX_LIMIT: usize = 500;

/// The page a caller asks for.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PageQuery {
    /// The number of items on a page.
    pub limit: Option<usize>,
    /// Where the page begins: `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

impl PageQuery {
    /// The number of items on the page; fails if it is out of range.
    pub fn limit(&self) -> Result<usize, Refusal> {
        match self.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(limit),
            _ => Err(Refusal::bad_request(
                format!("limit must be 1 to {MAX_LIMIT}"),
                "get further pages with next_cursor",
            )),
        }
    }

    /// Where the previous page ended.
    fn after(&self) -> Result<Option<String>, Refusal> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.map(Some).ok_or_else(invalid_cursor)
    }

    /// Where the previous page ended, parsed as the sort key of this list.
    pub fn after_as<T>(&self, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Refusal> {
        self.after()?.map(|text| read(&text).ok_or_else(invalid_cursor)).transpose()
    }
}

/// Reads an id from a cursor.
pub fn read_id<T: Id>(text: &str) -> Option<T> {
    uuid::Uuid::try_parse(text).ok().map(|_| T::from_text(text.to_owned()))
}

/// Reads the key of a resource from a cursor, as [`key_position`] writes it.
pub fn read_key(text: &str) -> Option<ResourceKey> {
    let (kind, name) = text.split_once('/')?;
    Some(ResourceKey::new(Kind::from_word(kind)?, name))
}

/// The position of a resource in a list that is sorted by key.
pub fn key_position(key: &ResourceKey) -> String {
    format!("{}/{}", key.kind, key.name)
}

fn invalid_cursor() -> Refusal {
    Refusal::bad_request("invalid cursor", "send back meta.next_cursor")
}

/// Cuts a list that was read with one item more than a page has, and returns the cursor of the next page.
pub fn cut<T>(items: &mut Vec<T>, limit: usize, position: impl Fn(&T) -> String) -> PageMeta {
    let is_more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| is_more).map(|item| URL_SAFE_NO_PAD.encode(position(item)));
    PageMeta { next_cursor, limit }
}

/// The version the caller wants to change, from `If-Match`.
pub struct IfMatch(pub Option<i64>);

impl IfMatch {
    /// Fails if the caller named another version. Succeeds if they named none.
    pub(crate) fn check(&self, version: i64) -> Result<(), Refusal> {
        match self.0 {
            Some(known) if known != version => Err(Refusal::changed_meanwhile()),
            _ => Ok(()),
        }
    }
}
