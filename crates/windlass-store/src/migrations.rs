//! The migrations of the schema. `migrations/checksums.txt` freezes their texts: a new migration needs a file, a line
//! here, and a line in `checksums.txt`, which the test below prints.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

/// Number, name and text of every migration. A released migration is never changed: Windlass would reject every
/// database it was applied to.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "first", include_str!("../migrations/0001_first.sql")),
    (2, "content", include_str!("../migrations/0002_content.sql")),
    (3, "gate", include_str!("../migrations/0003_gate.sql")),
    (4, "plans", include_str!("../migrations/0004_plans.sql")),
    (5, "moved_repositories", include_str!("../migrations/0005_moved_repositories.sql")),
    (6, "quarantine", include_str!("../migrations/0006_quarantine.sql")),
    (7, "sign_in_places", include_str!("../migrations/0007_sign_in_places.sql")),
    (8, "credential_bindings", include_str!("../migrations/0008_credential_bindings.sql")),
    (9, "trust", include_str!("../migrations/0009_trust.sql")),
    (10, "restraints", include_str!("../migrations/0010_restraints.sql")),
    (11, "approvers", include_str!("../migrations/0011_approvers.sql")),
    (12, "suspicions", include_str!("../migrations/0012_suspicions.sql")),
    (13, "previous_files", include_str!("../migrations/0013_previous_files.sql")),
    (14, "accepted", include_str!("../migrations/0014_accepted.sql")),
    (15, "audit_archive", include_str!("../migrations/0015_audit_archive.sql")),
    (16, "replicas", include_str!("../migrations/0016_replicas.sql")),
    (17, "state_versions", include_str!("../migrations/0017_state_versions.sql")),
    (18, "contents", include_str!("../migrations/0018_contents.sql")),
    (19, "targets", include_str!("../migrations/0019_targets.sql")),
    (20, "enrolment", include_str!("../migrations/0020_enrolment.sql")),
    (21, "delivery", include_str!("../migrations/0021_delivery.sql")),
    (22, "node_drift", include_str!("../migrations/0022_node_drift.sql")),
    (23, "rollouts", include_str!("../migrations/0023_rollouts.sql")),
];

/// Every migration for SQLite: as it is written.
pub(crate) fn sqlite_migrator() -> Migrator {
    migrator(str::to_owned)
}

/// Every migration for PostgreSQL. Texts sort by their bytes, as in SQLite, whatever the locale of the server is.
pub(crate) fn postgres_migrator() -> Migrator {
    migrator(|text| text.replace(" TEXT", " TEXT COLLATE \"C\""))
}

fn migrator(for_database: impl Fn(&str) -> String) -> Migrator {
    let migration = |(number, name, text): &(i64, &'static str, &str)| {
        let text = AssertSqlSafe(for_database(text)).into_sql_str();
        Migration::new(*number, (*name).into(), MigrationType::Simple, text, false)
    };
    Migrator::with_migrations(MIGRATIONS.iter().map(migration).collect())
}

/// The number of the last migration of this program.
pub(crate) fn last_known() -> i64 {
    sqlite_migrator().iter().map(|known| known.version).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use std::collections::BTreeMap;
    use std::path::Path;

    use windlass_core::digest::Digest;

    use super::MIGRATIONS;

    fn directory() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")
    }

    fn file_name(number: i64, name: &str) -> String {
        format!("{number:04}_{name}.sql")
    }

    /// In the format of `sha256sum`, so that `sha256sum --check checksums.txt` can read the list.
    fn checksum_line(file: &str, text: &str) -> String {
        format!("{}  {file}", Digest::of(text.as_bytes()).to_string().trim_start_matches("sha256:"))
    }

    #[test]
    fn a_released_migration_is_never_changed() {
        let list = std::fs::read_to_string(directory().join("checksums.txt")).unwrap();
        let mut frozen: BTreeMap<&str, &str> =
            list.lines().map(|line| (line.split_once("  ").unwrap().1, line)).collect();
        assert_eq!(list.lines().count(), frozen.len(), "checksums.txt names a file twice");
        for (number, name, text) in MIGRATIONS {
            let file = file_name(*number, name);
            let line = checksum_line(&file, text);
            match frozen.remove(file.as_str()) {
                None => panic!("{file} is new: add this line to migrations/checksums.txt\n{line}\n"),
                Some(expected) => assert_eq!(
                    line, expected,
                    "{file} was changed: a released migration is never changed, because databases it was applied to \
                     are refused. Restore it (git checkout) and add a new migration instead"
                ),
            }
        }
        assert!(frozen.is_empty(), "a released migration is never removed: {:?}", frozen.keys());
    }

    #[test]
    fn migration_numbers_are_consecutive_and_every_file_is_listed() {
        for ((number, name, _), expected) in MIGRATIONS.iter().zip(1..) {
            assert_eq!(*number, expected, "{name} must have the number after the one before it");
        }
        let mut files: Vec<String> = std::fs::read_dir(directory())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "checksums.txt")
            .collect();
        files.sort();
        let listed: Vec<String> =
            MIGRATIONS.iter().map(|(number, name, _)| file_name(*number, name)).collect();
        assert_eq!(
            files, listed,
            "every file in migrations/ is in MIGRATIONS, in src/migrations.rs, and no other"
        );
    }
}
