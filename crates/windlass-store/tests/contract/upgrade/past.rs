//! A database as an earlier version of Windlass left it: with the first migrations only, and rows that fit them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};
use windlass_core::redacted::Redacted;
use windlass_store::Address;
use windlass_testkit::servers::Postgres;

use super::fixture;
use crate::world::{Raw, runtime};

/// A database of an earlier version, which no store has opened yet.
pub(crate) struct Past {
    pub(crate) address: Address,
    pub(crate) raw: Raw,
    /// How many migrations it has.
    pub(crate) version: i64,
}

/// The rows of every table, each row as one text.
pub(crate) type Dump = BTreeMap<String, Vec<String>>;

/// Runs a case on both databases at every version.
pub(crate) fn at_every_version<F: Future<Output = ()>>(case: impl Fn(Past) -> F) {
    for version in 1..=last_version() {
        at_version(version, &case);
    }
}

/// Runs a case on both databases at a version.
pub(crate) fn at_version<F: Future<Output = ()>>(version: i64, case: impl Fn(Past) -> F) {
    let directory = tempfile::tempdir().unwrap();
    let address = Address::Sqlite(directory.path().join("windlass.db"));
    runtime().block_on(async { case(Past::make(address, version).await).await });
    let Some(server) = Postgres::shared() else { return };
    let address = Address::Postgres(Redacted::new(server.fresh_database()));
    runtime().block_on(async { case(Past::make(address, version).await).await });
}

/// The number of the newest migration.
pub(crate) fn last_version() -> i64 {
    i64::try_from(files().len()).unwrap()
}

/// The files of the migrations, in order.
fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "sql")).collect();
    files.sort();
    files
}

/// The first migrations, read from their files and not from the store's list, so that the list need not be public. The
/// store compares its checksums with those of these migrations when it opens the database.
fn first_migrations(count: i64, address: &Address) -> Migrator {
    let migrations = files().into_iter().zip(1..=count).map(|(path, number)| {
        let name = path.file_stem().unwrap().to_str().unwrap()[5..].to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let text = match address {
            Address::Sqlite(_) => text,
            Address::Postgres(_) => text.replace(" TEXT", " TEXT COLLATE \"C\""),
        };
        let text = AssertSqlSafe(text).into_sql_str();
        Migration::new(number, name.into(), MigrationType::Simple, text, false)
    });
    Migrator::with_migrations(migrations.collect())
}

impl Past {
    async fn make(address: Address, version: i64) -> Past {
        let raw = Raw::connect(&address);
        let migrator = first_migrations(version, &address);
        match &raw {
            Raw::Sqlite(pool) => migrator.run(pool).await.unwrap(),
            Raw::Postgres(pool) => migrator.run(pool).await.unwrap(),
        }
        raw.execute_all(&fixture::statements(version)).await;
        Past { address, raw, version }
    }

    /// Every table with its columns, except the table of sqlx.
    pub(crate) async fn columns(&self) -> BTreeMap<String, Vec<String>> {
        let sql = match &self.raw {
            Raw::Sqlite(_) => {
                "SELECT tables.name || '.' || columns.name AS answer FROM sqlite_master AS tables \
                 JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' \
                 AND tables.name NOT LIKE 'sqlite_%' AND tables.name <> '_sqlx_migrations'"
            }
            Raw::Postgres(_) => {
                "SELECT table_name || '.' || column_name AS answer FROM information_schema.columns \
                 WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'"
            }
        };
        let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for answer in self.raw.ask(sql).await {
            let (table, column) = answer.split_once('.').unwrap();
            columns.entry(table.to_owned()).or_default().push(column.to_owned());
        }
        columns.values_mut().for_each(|columns| columns.sort());
        columns
    }

    /// The rows of these tables, with these columns.
    pub(crate) async fn dump(&self, columns: &BTreeMap<String, Vec<String>>) -> Dump {
        let mut dump = Dump::new();
        for (table, columns) in columns {
            let shown: Vec<String> =
                columns.iter().map(|column| format!("COALESCE(CAST({column} AS TEXT), 'NULL')")).collect();
            let sql = format!("SELECT {} AS answer FROM {table}", shown.join(" || ' | ' || "));
            let mut rows = self.raw.ask(&sql).await;
            rows.sort();
            dump.insert(table.clone(), rows);
        }
        dump
    }

    /// Which migrations were applied: number, name and time.
    pub(crate) async fn applied(&self) -> Vec<String> {
        let sql = "SELECT CAST(version AS TEXT) || ' ' || description || ' ' || CAST(installed_on AS TEXT) AS answer \
                   FROM _sqlx_migrations ORDER BY version";
        self.raw.ask(sql).await
    }
}
