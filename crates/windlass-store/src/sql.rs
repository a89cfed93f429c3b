//! The one place that knows there are two databases: values in, rows out.
//!
//! Every statement is one text with `$1` placeholders that both understand, and only two types cross the border, text
//! and 64-bit numbers. What differs between the two beyond that is in `db.rs`.

use sqlx::{AssertSqlSafe, Column as _, Row as _, SqlSafeStr as _};
use windlass_core::digest::Digest;
use windlass_core::time::Timestamp;

use crate::error::StoreError;

/// Rows of one `INSERT`. With at most 31 columns this stays below SQLite's 32,766 values of a statement.
const ROWS_AT_ONCE: usize = 500;

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

/// One connection to one of the two, in a transaction or not.
pub(crate) struct AnyConnection {
    link: Link,
    state: State,
}

/// What a connection is.
pub(crate) enum Link {
    Sqlite(sqlx::pool::PoolConnection<sqlx::Sqlite>),
    SqliteWriting(sqlx::Transaction<'static, sqlx::Sqlite>),
    Postgres(sqlx::pool::PoolConnection<sqlx::Postgres>),
    PostgresWriting(sqlx::Transaction<'static, sqlx::Postgres>),
}

/// Whether every statement of a transaction was done. PostgreSQL does nothing more after one that failed, and says yes
/// to the commit; SQLite goes on without it. Here both refuse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Sound,
    Failed,
}

enum Target<'c> {
    Sqlite(&'c mut sqlx::SqliteConnection),
    Postgres(&'c mut sqlx::PgConnection),
}

macro_rules! bind_all {
    ($sql:expr, $values:expr) => {{
        let mut query = sqlx::query($sql);
        for value in $values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Number(number) => query.bind(number),
            };
        }
        query
    }};
}

impl AnyConnection {
    pub(crate) fn new(link: Link) -> AnyConnection {
        AnyConnection { link, state: State::Sound }
    }

    /// All rows of a statement.
    pub(crate) async fn rows(
        &mut self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.rows_of(sql.into_sql_str(), values).await
    }

    /// All rows of a statement put together from our own texts.
    pub(crate) async fn rows_built(
        &mut self,
        sql: String,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.rows_of(AssertSqlSafe(sql).into_sql_str(), values).await
    }

    async fn rows_of(&mut self, sql: sqlx::SqlStr, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        self.check_sound()?;
        let rows = match self.target() {
            Target::Sqlite(connection) => bind_all!(sql, values)
                .fetch_all(connection)
                .await
                .map(|rows| rows.into_iter().map(Row::sqlite).collect()),
            Target::Postgres(connection) => bind_all!(sql, values)
                .fetch_all(connection)
                .await
                .map(|rows| rows.into_iter().map(Row::postgres).collect()),
        };
        self.note(rows)
    }

    /// Does a statement and says how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64, StoreError> {
        self.execute_of(sql.into_sql_str(), values).await
    }

    async fn execute_of(&mut self, sql: sqlx::SqlStr, values: Vec<Value>) -> Result<u64, StoreError> {
        self.check_sound()?;
        let done = match self.target() {
            Target::Sqlite(connection) => {
                bind_all!(sql, values).execute(connection).await.map(|done| done.rows_affected())
            }
            Target::Postgres(connection) => {
                bind_all!(sql, values).execute(connection).await.map(|done| done.rows_affected())
            }
        };
        self.note(done)
    }

    /// Refuses to go on in a transaction in which something failed.
    fn check_sound(&self) -> Result<(), StoreError> {
        match self.state {
            State::Sound => Ok(()),
            State::Failed => Err(StoreError::Spoiled),
        }
    }

    fn note<T>(&mut self, done: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        let is_transaction = matches!(self.link, Link::SqliteWriting(_) | Link::PostgresWriting(_));
        if done.is_err() && is_transaction {
            self.state = State::Failed;
        }
        done.map_err(StoreError::from)
    }

    /// Inserts many rows with few statements: `INSERT INTO t (a, b) VALUES` … `suffix`.
    pub(crate) async fn insert_many(
        &mut self,
        prefix: &'static str,
        rows: Vec<Vec<Value>>,
        suffix: &'static str,
    ) -> Result<(), StoreError> {
        for chunk in rows.chunks(ROWS_AT_ONCE) {
            let mut sql = String::from(prefix);
            let mut number = 0;
            for (index, row) in chunk.iter().enumerate() {
                sql.push_str(if index == 0 { " (" } else { ", (" });
                for column in 0..row.len() {
                    number += 1;
                    sql.push_str(if column == 0 { "$" } else { ", $" });
                    sql.push_str(&number.to_string());
                }
                sql.push(')');
            }
            sql.push(' ');
            sql.push_str(suffix);
            self.execute_of(AssertSqlSafe(sql).into_sql_str(), chunk.concat()).await?;
        }
        Ok(())
    }

    /// Does a statement that has no values and no result, such as `SAVEPOINT`.
    pub(crate) async fn command(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.check_sound()?;
        self.command_anyway(sql).await
    }

    /// Goes back to a savepoint, as if nothing since had been tried.
    pub(crate) async fn roll_back_to(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.command_anyway(sql).await?;
        self.state = State::Sound;
        Ok(())
    }

    async fn command_anyway(&mut self, sql: &'static str) -> Result<(), StoreError> {
        let done = match self.target() {
            Target::Sqlite(connection) => sqlx::raw_sql(sql).execute(connection).await.map(drop),
            Target::Postgres(connection) => sqlx::raw_sql(sql).execute(connection).await.map(drop),
        };
        self.note(done)
    }

    /// Makes a transaction true.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.check_sound()?;
        match self.link {
            Link::SqliteWriting(transaction) => transaction.commit().await?,
            Link::PostgresWriting(transaction) => transaction.commit().await?,
            Link::Sqlite(_) | Link::Postgres(_) => {}
        }
        Ok(())
    }

    fn target(&mut self) -> Target<'_> {
        match &mut self.link {
            Link::Sqlite(connection) => Target::Sqlite(connection),
            Link::SqliteWriting(transaction) => Target::Sqlite(transaction),
            Link::Postgres(connection) => Target::Postgres(connection),
            Link::PostgresWriting(transaction) => Target::Postgres(transaction),
        }
    }
}
