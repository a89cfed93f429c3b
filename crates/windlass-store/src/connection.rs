//! One connection to either database.
//!
//! Every statement is one text with `$1` placeholders that both understand. What differs between the two is here, in
//! `db.rs` (opening), `sql.rs` (values and rows), `error.rs` (what their errors mean) and `check.rs` (backups and
//! checks); no statement of a noun knows which of them it speaks to.

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::error::StoreError;
use crate::sql::{Row, Value};

/// Rows of one statement. With at most 31 columns this stays below SQLite's 32,766 values of a statement.
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

/// Whether the database should remember the statement for the next time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementCaching {
    Likely,
    /// A long text for so many rows.
    Unlikely,
}

impl StatementCaching {
    /// Of a statement for some of many rows: those that are full come again at once, with other rows.
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

    /// All rows of a statement put together from our own texts.
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

    /// Does a statement and says how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64, StoreError> {
        self.execute_of(sql.into_sql_str(), values, StatementCaching::Likely).await
    }

    /// Does a statement put together from our own texts.
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

    /// Refuses to go on in a transaction in which something failed.
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

    /// Does the same with many rows in few statements, and says how many it touched. The rows stand between the two
    /// texts as `(…), (…)`: `INSERT INTO t (a, b) VALUES` … `ON CONFLICT …`, or
    /// `WITH given (a, b) AS (VALUES` … `) UPDATE t … FROM given WHERE …`.
    pub(crate) async fn execute_many(
        &mut self,
        prefix: &'static str,
        rows: Vec<Vec<Value>>,
        suffix: &'static str,
    ) -> Result<u64, StoreError> {
        let mut touched = 0;
        for chunk in rows.chunks(ROWS_AT_ONCE) {
            let sql = format!("{prefix} {} {suffix}", self.placeholders(chunk));
            let reuse = StatementCaching::of_chunk(chunk.len(), rows.len());
            touched += self.execute_of(AssertSqlSafe(sql).into_sql_str(), chunk.concat(), reuse).await?;
        }
        Ok(touched)
    }

    /// Asks for many things in few statements: `WITH given (a, b) AS (VALUES` … `) SELECT … FROM given CROSS JOIN t
    /// WHERE …`. `CROSS JOIN`, because SQLite then begins with what is given, which is little.
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
