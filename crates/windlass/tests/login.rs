//! Signing in, and the messages for people who are not signed in.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod canned;
mod support;

use std::fs;
use std::net::TcpListener;

use canned::{Canned, TOKEN, json_answer, me, refusal, with_input};
use serde_json::{Value, json};
use support::{stderr, stdout};
use windlass_testkit::servers::TlsFront;

fn session(must_change_password: bool) -> Value {
    json!({"token": TOKEN, "expires_at": "2026-11-17T00:00:00.000Z", "me": me(must_change_password)})
}

fn login(server: &Canned, more: &[&str], input: &str) -> std::process::Output {
    let arguments =
        [&["login", &server.url, "--email", "ann@example.org", "--password-stdin"], more].concat();
    with_input(server.command_without_token(&arguments), input)
}

#[test]
fn signing_in_keeps_the_token_for_its_owner_alone_and_tells_what_one_may_do() {
    let server = Canned::with(&[
        ("POST", "/api/v1/auth/login", session(false)),
        ("GET", "/api/v1/auth/me", me(false)),
        ("POST", "/api/v1/auth/logout", json!({})),
    ]);
    let output = login(&server, &["--account", "acme"], "correct horse\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(
        told.contains("acme") && told.contains("approver") && told.contains("system.gitops.approve"),
        "{told}"
    );
    assert!(!told.contains(TOKEN) && !stderr(&output).contains(TOKEN));
    let asked = server.request("POST", "/api/v1/auth/login");
    assert_eq!(
        asked.body,
        json!({"email": "ann@example.org", "password": "correct horse", "account": "acme"})
    );

    let kept: Value = serde_json::from_slice(&fs::read(server.credentials()).unwrap()).unwrap();
    assert_eq!(kept["current"], server.url);
    assert_eq!(kept["servers"][&server.url]["token"], TOKEN);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&server.credentials()), 0o600);
        assert_eq!(mode(server.credentials().parent().unwrap()), 0o700);
    }

    let output = server.command_without_token(&["whoami"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = server.request("GET", "/api/v1/auth/me");
    assert_eq!(asked.headers["authorization"], format!("Bearer {TOKEN}"));

    let output = server.command_without_token(&["logout"]).output().unwrap();
    assert!(stdout(&output).contains("signed out"), "{}", stderr(&output));
    assert!(!fs::read_to_string(server.credentials()).unwrap().contains(TOKEN));
}

#[test]
fn json_of_a_sign_in_does_not_hold_the_token() {
    let server = Canned::with(&[("POST", "/api/v1/auth/login", session(false))]);
    let output = login(&server, &["-o", "json"], "correct horse\n");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), me(false));
}

#[test]
fn a_one_time_password_is_changed_at_once() {
    let mut logins = 0;
    let server = Canned::start(move |request| match request.path.as_str() {
        "/api/v1/auth/login" => {
            logins += 1;
            json_answer(200, session(logins == 1))
        }
        "/api/v1/auth/password" => json_answer(200, json!({})),
        _ => refusal(404, "not_found", "no"),
    });
    let output = login(&server, &[], "one-time\nmuch longer and my own\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = server.requests();
    assert_eq!(asked.len(), 3);
    assert_eq!(
        asked[1].body,
        json!({"current_password": "one-time", "new_password": "much longer and my own"})
    );
    assert_eq!(asked[1].headers["authorization"], format!("Bearer {TOKEN}"));
    assert_eq!(asked[2].body["password"], "much longer and my own");
}

#[test]
fn a_wrong_password_is_told_and_nothing_is_kept() {
    let server = Canned::start(|_| refusal(401, "unauthorized", "e-mail address or password is wrong"));
    let output = login(&server, &[], "guess\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("e-mail address or password is wrong"));
    assert!(!stderr(&output).contains("guess"));
    assert!(!server.credentials().exists());
}

#[test]
fn whoever_is_not_signed_in_is_told_how() {
    let server = Canned::start(|_| refusal(401, "unauthorized", "the session has ended"));
    let output = server.command_without_token(&["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(69));
    assert!(stderr(&output).contains("windlass login URL"), "{}", stderr(&output));

    let output = server.command_without_token(&["status", "--server", &server.url]).output().unwrap();
    assert_eq!(output.status.code(), Some(69));
    assert!(stderr(&output).contains(&format!("windlass login {}", server.url)));
    assert!(server.requests().is_empty());

    let output = server.run(&["status"]);
    assert_eq!(output.status.code(), Some(69));
    assert!(stderr(&output).contains("the session has ended"));
    assert!(stderr(&output).contains(&format!("windlass login {}", server.url)));
}

#[test]
fn a_server_that_is_not_there_is_told_with_what_was_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let canned = Canned::with(&[]);
    let output = canned.run(&["status", "--server", &address]);
    assert_eq!(output.status.code(), Some(69));
    let told = stderr(&output);
    assert!(
        told.contains(&format!("could not reach {address}")) && told.contains("windlass serve"),
        "{told}"
    );

    // A request over TLS to a server that does not use TLS.
    let output = canned.run(&["status", "--server", &canned.url.replace("http:", "https:")]);
    assert_eq!(output.status.code(), Some(69));
    assert!(stderr(&output).contains("http:// instead of https://"), "{}", stderr(&output));

    let output = canned.run(&["status", "--server", "somewhere"]);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn something_that_is_no_windlass_server_is_told_as_that() {
    let server = Canned::start(|_| canned::Answer {
        status: 200,
        content_type: "text/html",
        body: "<h1>hello</h1>".to_owned(),
    });
    let output = server.run(&["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("check that it is a Windlass server"), "{}", stderr(&output));
}

#[test]
fn the_account_that_is_meant_must_be_the_one_that_is_asked() {
    let server = Canned::with(&[("GET", "/api/v1/auth/me", me(false))]);
    let output = server.run(&["halt", "--yes", "--account", "other"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("you are signed in to account acme, not other"));
    assert_eq!(server.requests().len(), 1, "nothing else was asked");
}

#[test]
fn options_before_the_command_count_and_are_refused_where_no_server_is_asked() {
    let server = Canned::with(&[("GET", "/api/v1/auth/me", me(false))]);
    let output = server
        .command_without_token(&["--server", &server.url, "--token", TOKEN, "-o", "json", "whoami"])
        .output()
        .unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), me(false), "{}", stderr(&output));
    let output = server.command_without_token(&["-o", "json", "schema"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn a_credentials_file_that_is_broken_is_told_without_its_content() {
    let server = Canned::with(&[]);
    fs::create_dir_all(server.credentials().parent().unwrap()).unwrap();
    fs::write(server.credentials(), format!("{{\"current\": {TOKEN}")).unwrap();
    let output = server.command_without_token(&["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is not a valid credentials file"));
    assert!(!stderr(&output).contains(TOKEN));
}

#[test]
fn a_private_authority_is_trusted_once_it_is_given_and_remembered_with_the_sign_in() {
    let server = Canned::with(&[
        ("POST", "/api/v1/auth/login", session(false)),
        ("GET", "/api/v1/auth/me", me(false)),
    ]);
    let Some(front) = TlsFront::start(&server.url) else { return };
    let (url, ca_file) = (front.url(), front.ca_file());
    let login = |more: &[&str]| {
        let arguments = [&["login", &url, "--email", "ann@example.org", "--password-stdin"], more].concat();
        with_input(server.command_without_token(&arguments), "correct horse\n")
    };
    let output = login(&[]);
    assert_eq!(output.status.code(), Some(69));
    let told = stderr(&output);
    assert!(told.contains("certificate") && told.contains("--ca-file") && told.contains("WINDLASS_CA_FILE"));
    assert!(server.requests().is_empty(), "no password is told to a server nobody vouches for");

    let output = login(&["--ca-file", ca_file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = server.command_without_token(&["whoami"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    // Scripts do not start a sign-in.
    fs::remove_file(server.credentials()).unwrap();
    let script = |arguments: &[&str]| {
        let mut command = server.command_without_token(arguments);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", TOKEN);
        command
    };
    assert_eq!(script(&["whoami"]).output().unwrap().status.code(), Some(69));
    let output = script(&["whoami"]).env("WINDLASS_CA_FILE", &ca_file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_ca_file_that_is_none_is_told() {
    let server = Canned::with(&[]);
    let missing = server
        .command_without_token(&["status"])
        .env("WINDLASS_SERVER", &server.url)
        .env("WINDLASS_CA_FILE", "no.pem")
        .output();
    let told = stderr(&missing.unwrap());
    assert!(told.contains("could not read the CA file no.pem") && told.contains("--ca-file"), "{told}");
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let wrong = login(&server, &["--ca-file", text], "correct horse\n");
    assert_eq!(wrong.status.code(), Some(64));
    assert!(stderr(&wrong).contains("contains no certificate"), "{}", stderr(&wrong));
}
