//! Values on their way into a database, and rows on their way out.
//!
//! Only two types cross the border: text and 64-bit numbers.

use sqlx::{Column as _, Row as _};
use windlass_core::digest::Digest;
use windlass_core::time::Timestamp;

use crate::error::StoreError;

/// A value on its way into the database.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
}

impl Value {
    fn text(text: String) -> Value {
        Value::Text(Some(storable(text)))
    }
}

/// The text as both databases can hold it: PostgreSQL's texts have no NUL, and SQLite's functions stop at one.
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

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(Some(number))
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

/// A row on its way out, read column by column in the order of the statement.
pub(crate) struct Row {
    row: AnyRow,
    next: usize,
}

enum AnyRow {
    Sqlite(sqlx::sqlite::SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

impl Row {
    pub(crate) fn sqlite(row: sqlx::sqlite::SqliteRow) -> Row {
        Row { row: AnyRow::Sqlite(row), next: 0 }
    }

    pub(crate) fn postgres(row: sqlx::postgres::PgRow) -> Row {
        Row { row: AnyRow::Postgres(row), next: 0 }
    }

    /// The next column, text or nothing.
    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, StoreError> {
        let index = self.step();
        match &self.row {
            AnyRow::Sqlite(row) => row.try_get(index),
            AnyRow::Postgres(row) => row.try_get(index),
        }
        .map_err(StoreError::from)
    }

    /// The next column, text.
    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        let index = self.step();
        match &self.row {
            AnyRow::Sqlite(row) => row.try_get(index),
            AnyRow::Postgres(row) => row.try_get(index),
        }
        .map_err(StoreError::from)
    }

    /// The next column, a number or nothing.
    pub(crate) fn optional_number(&mut self) -> Result<Option<i64>, StoreError> {
        let index = self.step();
        match &self.row {
            AnyRow::Sqlite(row) => row.try_get(index),
            AnyRow::Postgres(row) => row.try_get(index),
        }
        .map_err(StoreError::from)
    }

    /// The next column, a number.
    pub(crate) fn number(&mut self) -> Result<i64, StoreError> {
        let index = self.step();
        match &self.row {
            AnyRow::Sqlite(row) => row.try_get(index),
            AnyRow::Postgres(row) => row.try_get(index),
        }
        .map_err(StoreError::from)
    }

    /// The next column, yes or no.
    pub(crate) fn yes(&mut self) -> Result<bool, StoreError> {
        Ok(self.number()? != 0)
    }

    /// The next column, a count.
    pub(crate) fn count(&mut self) -> Result<usize, StoreError> {
        Ok(usize::try_from(self.number()?).unwrap_or(0))
    }

    /// The next column, a moment.
    pub(crate) fn moment(&mut self) -> Result<Timestamp, StoreError> {
        self.number().map(Timestamp::from_millis)
    }

    /// The next column, a moment or nothing.
    pub(crate) fn optional_moment(&mut self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.optional_number()?.map(Timestamp::from_millis))
    }

    /// The next column, a digest.
    pub(crate) fn digest(&mut self) -> Result<Digest, StoreError> {
        let text = self.text()?;
        Digest::parse(&text).ok_or_else(|| self.broken(&text))
    }

    /// The next column, a digest or nothing.
    pub(crate) fn optional_digest(&mut self) -> Result<Option<Digest>, StoreError> {
        let Some(text) = self.optional_text()? else { return Ok(None) };
        Digest::parse(&text).map(Some).ok_or_else(|| self.broken(&text))
    }

    /// The next column, one of a set of words.
    pub(crate) fn word<T>(&mut self, from_slug: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
        let text = self.text()?;
        from_slug(&text).ok_or_else(|| self.broken(&text))
    }

    /// The next column, a JSON document.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        serde_json::from_str(&text).map_err(|_| self.broken(&text))
    }

    /// The next column, a JSON document or nothing.
    pub(crate) fn optional_json<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        let Some(text) = self.optional_text()? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| self.broken(&text))
    }

    fn step(&mut self) -> usize {
        let index = self.next;
        self.next += 1;
        index
    }

    fn broken(&self, text: &str) -> StoreError {
        let index = self.next.saturating_sub(1);
        let column = match &self.row {
            AnyRow::Sqlite(row) => row.columns().get(index).map(|column| column.name().to_owned()),
            AnyRow::Postgres(row) => row.columns().get(index).map(|column| column.name().to_owned()),
        };
        StoreError::Broken { column: column.unwrap_or_default(), value: text.chars().take(80).collect() }
    }
}
