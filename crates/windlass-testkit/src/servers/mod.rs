//! Real servers for tests, each in a directory and on a port of its own. What is not installed is skipped, aloud.

mod postgres;

pub use postgres::Postgres;
