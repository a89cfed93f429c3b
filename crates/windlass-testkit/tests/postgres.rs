//! The PostgreSQL server for tests starts, keeps databases apart and leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use windlass_testkit::servers::Postgres;

fn psql(url: &str, statement: &str) -> Output {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--no-password", "--tuples-only", "--no-align", "--command", statement, url]);
    psql.output().unwrap()
}

fn answer(url: &str, statement: &str) -> String {
    let output = psql(url, statement);
    assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn port_of(url: &str) -> u16 {
    url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap()
}

#[test]
fn every_fresh_database_is_empty_and_separate() {
    let Some(server) = Postgres::shared() else { return };
    let (one, other) = (server.fresh_database(), server.fresh_database());
    answer(&one, "CREATE TABLE here (id int)");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!((answer(&one, tables).as_str(), answer(&other, tables).as_str()), ("1", "0"));
    assert_eq!(answer(&one, "SHOW server_encoding"), "UTF8");
    assert_eq!(answer(&one, "SHOW fsync"), "on");
}

#[test]
fn the_shared_server_is_one_server() {
    let (Some(one), Some(other)) = (Postgres::shared(), Postgres::shared()) else { return };
    assert_eq!(one.url(), other.url());
}

#[test]
fn a_password_is_required_and_checked() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_with_password();
    assert_eq!(answer(&url, "SELECT current_user"), "windlass");
    let wrong = url.replace("only-for-tests", "wrong");
    assert!(!psql(&wrong, "SELECT 1").status.success());
}

#[test]
fn a_dropped_server_is_gone_with_its_directory() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url();
    let data = answer(&url, "SHOW data_directory");
    assert!(Path::new(&data).exists());
    drop(server);
    assert!(!Path::new(&data).parent().unwrap().exists());
    TcpStream::connect(("127.0.0.1", port_of(&url))).unwrap_err();
}
