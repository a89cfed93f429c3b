//! One connection to either database.
//!
//! Every statement is one text with `$1` placeholders that both databases accept. The differences between them are
//! handled here, in `db.rs` (opening), `sql.rs` (values and rows), `error.rs` (error codes) and `check.rs` (backups and
//! checks); statements in other files do not depend on the database.

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::error::StoreError;
use crate::sql::{Row, Value};

/// Rows in one statement. With at most 31 columns this stays below SQLite's limit of 32,766 values in a statement.
const ROWS_AT_ONCE: usize = 500;

/// One connection to one of the two databases, in a transaction or not.
pub(crate) struct AnyConnection {
    link: Link,
    state: State,
}

/// The connection or transaction of sqlx.
pub(crate) enum Link {
    Sqlite(sqlx::pool::PoolConnection<sqlx::Sqlite>),
    SqliteWriting(sqlx::Transaction<'static, sqlx::Sqlite>),
    Postgres(sqlx::pool::PoolConnection<sqlx::Postgres>),
    PostgresWriting(sqlx::Transaction<'static, sqlx::Postgres>),
}

/// Whether every statement of a transaction succeeded. After a failed statement, PostgreSQL executes nothing more and
/// reports success for the commit, and SQLite continues without the failed statement. With this state, both reject
/// further statements and the commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Sound,
    Failed,
}

enum Target<'c> {
    Sqlite(&'c mut sqlx::SqliteConnection),
    Postgres(&'c mut sqlx::PgConnection),
}

/// Whether to cache the prepared statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementCaching {
    Likely,
    /// Its text depends on the number of rows, so the same text is unlikely to be used again.
    Unlikely,
}

impl StatementCaching {
    /// For the statement of one chunk: the text of a full chunk is used again for the next full chunk.
    fn of_chunk(rows: usize, of: usize) -> StatementCaching {
        if rows == ROWS_AT_ONCE && of > ROWS_AT_ONCE {
            StatementCaching::Likely
        } else {
            StatementCaching::Unlikely
        }
    }
}

macro_rules! bind_all {
    ($sql:expr, $values:expr, $reuse:expr) => {{
        let mut query = sqlx::query($sql).persistent($reuse == StatementCaching::Likely);
        for value in $values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Number(number) => query.bind(number),
                Value::Bytes(bytes) => query.bind(bytes),
            };
        }
        query
    }};
}

impl AnyConnection {
    pub(crate) fn new(link: Link) -> AnyConnection {
        AnyConnection { link, state: State::Sound }
    }

    /// Whether other processes may use the same database.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.link, Link::Postgres(_) | Link::PostgresWriting(_))
    }

    /// All rows of a statement.
    pub(crate) async fn rows(
        &mut self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.rows_of(sql.into_sql_str(), values, StatementCaching::Likely).await
    }

    /// All rows of a statement that is built from constant texts.
    pub(crate) async fn rows_built(
        &mut self,
        sql: String,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.rows_of(AssertSqlSafe(sql).into_sql_str(), values, StatementCaching::Likely).await
    }

    async fn rows_of(
        &mut self,
        sql: sqlx::SqlStr,
        values: Vec<Value>,
        reuse: StatementCaching,
    ) -> Result<Vec<Row>, StoreError> {
        self.check_sound()?;
        let rows = match self.target() {
            Target::Sqlite(connection) => bind_all!(sql, values, reuse)
                .fetch_all(connection)
                .await
                .map(|rows| rows.into_iter().map(Row::sqlite).collect()),
            Target::Postgres(connection) => bind_all!(sql, values, reuse)
                .fetch_all(connection)
                .await
                .map(|rows| rows.into_iter().map(Row::postgres).collect()),
        };
        self.note(rows)
    }

    /// Executes a statement and returns how many rows it affected.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64, StoreError> {
        self.execute_of(sql.into_sql_str(), values, StatementCaching::Likely).await
    }

    /// Executes a statement that is built from constant texts.
    pub(crate) async fn execute_built(&mut self, sql: String, values: Vec<Value>) -> Result<u64, StoreError> {
        self.execute_of(AssertSqlSafe(sql).into_sql_str(), values, StatementCaching::Likely).await
    }

    async fn execute_of(
        &mut self,
        sql: sqlx::SqlStr,
        values: Vec<Value>,
        reuse: StatementCaching,
    ) -> Result<u64, StoreError> {
        self.check_sound()?;
        let done = match self.target() {
            Target::Sqlite(connection) => {
                bind_all!(sql, values, reuse).execute(connection).await.map(|done| done.rows_affected())
            }
            Target::Postgres(connection) => {
                bind_all!(sql, values, reuse).execute(connection).await.map(|done| done.rows_affected())
            }
        };
        self.note(done)
    }

    /// Fails in a transaction in which a statement failed.
    fn check_sound(&self) -> Result<(), StoreError> {
        match self.state {
            State::Sound => Ok(()),
            State::Failed => Err(StoreError::TransactionFailed),
        }
    }

    fn note<T>(&mut self, done: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        let is_transaction = matches!(self.link, Link::SqliteWriting(_) | Link::PostgresWriting(_));
        if done.is_err() && is_transaction {
            self.state = State::Failed;
        }
        done.map_err(StoreError::from)
    }

    /// Executes a statement for many rows, in few statements, and returns how many rows they affected. The rows are
    /// inserted between the two texts as `(…), (…)`: `INSERT INTO t (a, b) VALUES` … `ON CONFLICT …`, or `WITH given
    /// (a, b) AS (VALUES` … `) UPDATE t … FROM given WHERE …`.
    pub(crate) async fn execute_many(
        &mut self,
        prefix: &'static str,
        rows: Vec<Vec<Value>>,
        suffix: &'static str,
    ) -> Result<u64, StoreError> {
        let mut affected = 0;
        for chunk in rows.chunks(ROWS_AT_ONCE) {
            let sql = format!("{prefix} {} {suffix}", self.placeholders(chunk));
            let reuse = StatementCaching::of_chunk(chunk.len(), rows.len());
            affected += self.execute_of(AssertSqlSafe(sql).into_sql_str(), chunk.concat(), reuse).await?;
        }
        Ok(affected)
    }

    /// Looks up many keys in few statements: `WITH given (a, b) AS (VALUES` … `) SELECT … FROM given CROSS JOIN t WHERE
    /// …`. `CROSS JOIN` makes SQLite read the given keys first, which are few.
    pub(crate) async fn rows_many(
        &mut self,
        prefix: &'static str,
        rows: Vec<Vec<Value>>,
        suffix: &str,
    ) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        for chunk in rows.chunks(ROWS_AT_ONCE) {
            let sql = format!("{prefix} {} {suffix}", self.placeholders(chunk));
            let reuse = StatementCaching::of_chunk(chunk.len(), rows.len());
            found.extend(self.rows_of(AssertSqlSafe(sql).into_sql_str(), chunk.concat(), reuse).await?);
        }
        Ok(found)
    }

    /// `($1, $2), ($3, $4)` for rows of values. In SQLite `$1` is a name, and looking up thousands of names takes
    /// seconds, so SQLite gets `?`.
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

    /// Commits a transaction.
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
