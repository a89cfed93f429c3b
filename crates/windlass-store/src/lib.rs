//! All SQL of Windlass: SQLite and PostgreSQL from one set of statements.
