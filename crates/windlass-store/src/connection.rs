//! One connection to either database.
//!
//! Every statement is one text with `$1` placeholders that both understand. What differs between the two is here and in
//! `db.rs`, and nowhere else.

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::error::StoreError;
use crate::sql::{Row, Value};

/// Rows of one `INSERT`. With at most 31 columns this stays below SQLite's 32,766 values of a statement.
const ROWS_AT_ONCE: usize = 500;

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

    /// Like [`Self::execute_of`], for a long text that is not worth remembering.
    async fn execute_once(&mut self, sql: sqlx::SqlStr, values: Vec<Value>) -> Result<u64, StoreError> {
        self.check_sound()?;
        let done = match self.target() {
            Target::Sqlite(connection) => bind_all!(sql, values)
                .persistent(false)
                .execute(connection)
                .await
                .map(|done| done.rows_affected()),
            Target::Postgres(connection) => bind_all!(sql, values)
                .persistent(false)
                .execute(connection)
                .await
                .map(|done| done.rows_affected()),
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
            let sql = format!("{prefix} {} {suffix}", self.placeholders(chunk));
            self.execute_once(AssertSqlSafe(sql).into_sql_str(), chunk.concat()).await?;
        }
        Ok(())
    }

    /// `($1, $2), ($3, $4)` for rows of values. SQLite takes `$1` for a name, looks every name up among all the others,
    /// and needs seconds for thousands of them: it gets `?`.
    fn placeholders(&mut self, rows: &[Vec<Value>]) -> String {
        let is_numbered = matches!(self.target(), Target::Postgres(_));
        let mut number = 0;
        let mut placeholder = || {
            number += 1;
            if is_numbered { format!("${number}") } else { "?".to_owned() }
        };
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let row: Vec<String> = row.iter().map(|_| placeholder()).collect();
                format!("({})", row.join(", "))
            })
            .collect();
        rows.join(", ")
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
