//! Values of statements, and rows of results.
//!
//! The databases store text and 64-bit numbers, and the bytes of blobs.

use sqlx::Row as _;
use windlass_core::digest::Digest;
use windlass_core::host::BlobDigest;
use windlass_core::id::{
    AccountId, AgentId, ApprovalSetId, AuditKeyId, DeliveryId, EnrolmentTokenId, HolderId, Id, InvitationId,
    JoinId, PlanId, PreviewId, ProposalId, ReplicaId, RepositoryId, ResourceId, RolloutId, RunId, SessionId,
    TokenId, UserId,
};
use windlass_core::time::Timestamp;

use crate::error::StoreError;

/// A value of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Vec<u8>),
}

impl Value {
    fn text(text: String) -> Value {
        Value::Text(Some(storable(text)))
    }
}

/// The text in a form that both databases can store: PostgreSQL rejects NUL, and SQLite's functions stop at it.
pub(crate) fn storable(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

/// The values of a statement, in the order of its placeholders.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Value::from($value)),*] };
}
pub(crate) use values;

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::text(text)
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Value {
        text.map_or(Value::Text(None), Value::text)
    }
}

impl From<&Option<String>> for Value {
    fn from(text: &Option<String>) -> Value {
        text.clone().into()
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Value {
        text.map(str::to_owned).into()
    }
}

/// Ids are stored as their texts.
macro_rules! id_values {
    ($($id:ident),* $(,)?) => {$(
        impl From<&$id> for Value {
            fn from(id: &$id) -> Value {
                id.as_str().into()
            }
        }

        impl From<Option<&$id>> for Value {
            fn from(id: Option<&$id>) -> Value {
                id.map($id::as_str).into()
            }
        }

        impl From<&Option<$id>> for Value {
            fn from(id: &Option<$id>) -> Value {
                id.as_ref().into()
            }
        }
    )*};
}

id_values! {
    AccountId, AgentId, ApprovalSetId, AuditKeyId, DeliveryId, EnrolmentTokenId, HolderId, InvitationId, JoinId, PlanId, PreviewId, ProposalId, ReplicaId, RepositoryId, ResourceId, RolloutId, RunId, SessionId, TokenId, UserId,
}

impl From<Option<Digest>> for Value {
    fn from(digest: Option<Digest>) -> Value {
        Value::Text(digest.map(|digest| digest.to_string()))
    }
}

impl From<Digest> for Value {
    fn from(digest: Digest) -> Value {
        Value::Text(Some(digest.to_string()))
    }
}

impl From<BlobDigest> for Value {
    fn from(digest: BlobDigest) -> Value {
        Value::Text(Some(digest.to_string()))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Bytes(bytes)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Value {
        Value::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::Number(Some(i64::from(yes)))
    }
}

impl From<Timestamp> for Value {
    fn from(moment: Timestamp) -> Value {
        Value::Number(Some(moment.as_millis()))
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(moment: Option<Timestamp>) -> Value {
        Value::Number(moment.map(Timestamp::as_millis))
    }
}

/// A row of a result, read by the names of its columns.
pub(crate) struct Row(AnyRow);

enum AnyRow {
    Sqlite(sqlx::sqlite::SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

/// A column of a row of either database.
macro_rules! column {
    ($row:expr, $name:expr) => {
        match &$row.0 {
            AnyRow::Sqlite(row) => row.try_get($name),
            AnyRow::Postgres(row) => row.try_get($name),
        }
        .map_err(StoreError::from)
    };
}

impl Row {
    pub(crate) fn sqlite(row: sqlx::sqlite::SqliteRow) -> Row {
        Row(AnyRow::Sqlite(row))
    }

    pub(crate) fn postgres(row: sqlx::postgres::PgRow) -> Row {
        Row(AnyRow::Postgres(row))
    }

    /// Text, or nothing.
    pub(crate) fn optional_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        column!(self, column)
    }

    /// Text.
    pub(crate) fn text(&self, column: &str) -> Result<String, StoreError> {
        column!(self, column)
    }

    /// An id.
    pub(crate) fn id<T: Id>(&self, column: &str) -> Result<T, StoreError> {
        self.text(column).map(T::from_text)
    }

    /// An id, or nothing.
    pub(crate) fn optional_id<T: Id>(&self, column: &str) -> Result<Option<T>, StoreError> {
        Ok(self.optional_text(column)?.map(T::from_text))
    }

    /// An id, or nothing where the column is empty.
    pub(crate) fn id_unless_empty<T: Id>(&self, column: &str) -> Result<Option<T>, StoreError> {
        Ok(Some(self.text(column)?).filter(|text| !text.is_empty()).map(T::from_text))
    }

    /// A number, or nothing.
    pub(crate) fn optional_number(&self, column: &str) -> Result<Option<i64>, StoreError> {
        column!(self, column)
    }

    /// A number.
    pub(crate) fn number(&self, column: &str) -> Result<i64, StoreError> {
        column!(self, column)
    }

    /// A boolean.
    pub(crate) fn boolean(&self, column: &str) -> Result<bool, StoreError> {
        Ok(self.number(column)? != 0)
    }

    /// A count.
    pub(crate) fn count(&self, column: &str) -> Result<usize, StoreError> {
        Ok(usize::try_from(self.number(column)?).unwrap_or(0))
    }

    /// A time.
    pub(crate) fn timestamp(&self, column: &str) -> Result<Timestamp, StoreError> {
        self.number(column).map(Timestamp::from_millis)
    }

    /// A time, or nothing.
    pub(crate) fn optional_timestamp(&self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.optional_number(column)?.map(Timestamp::from_millis))
    }

    /// Bytes.
    pub(crate) fn bytes(&self, column: &str) -> Result<Vec<u8>, StoreError> {
        column!(self, column)
    }

    /// The digest of a blob.
    pub(crate) fn blob_digest(&self, column: &str) -> Result<BlobDigest, StoreError> {
        self.word(column, BlobDigest::parse)
    }

    /// A digest.
    pub(crate) fn digest(&self, column: &str) -> Result<Digest, StoreError> {
        self.word(column, Digest::parse)
    }

    /// A digest, or nothing.
    pub(crate) fn optional_digest(&self, column: &str) -> Result<Option<Digest>, StoreError> {
        self.optional_word(column, Digest::parse)
    }

    /// One of a set of words.
    pub(crate) fn word<T>(
        &self,
        column: &str,
        from_slug: impl Fn(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.text(column)?;
        from_slug(&text).ok_or_else(|| broken(column, &text))
    }

    /// One of a set of words, or nothing.
    pub(crate) fn optional_word<T>(
        &self,
        column: &str,
        from_slug: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let Some(text) = self.optional_text(column)? else { return Ok(None) };
        from_slug(&text).map(Some).ok_or_else(|| broken(column, &text))
    }

    /// A JSON document.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        let text = self.text(column)?;
        serde_json::from_str(&text).map_err(|_| broken(column, &text))
    }

    /// A JSON document, or nothing.
    pub(crate) fn optional_json<T: serde::de::DeserializeOwned>(
        &self,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        let Some(text) = self.optional_text(column)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| broken(column, &text))
    }
}

fn broken(column: &str, text: &str) -> StoreError {
    StoreError::Broken { column: column.to_owned(), value: text.chars().take(80).collect() }
}
