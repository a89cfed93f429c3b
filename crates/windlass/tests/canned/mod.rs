//! A fake server with prepared responses that records requests; and the program as its client.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support;

/// A token that must never be shown.
pub(crate) const TOKEN: &str = "wl_planted-secret-0123456789";

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// A prepared response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

/// A JSON response.
pub(crate) fn json_answer(status: u16, body: Value) -> Answer {
    Answer { status, content_type: "application/json", body: body.to_string() }
}

/// An error response.
pub(crate) fn refusal(status: u16, code: &str, message: &str) -> Answer {
    json_answer(status, json!({"error": {"code": code, "message": message, "help": "", "details": []}}))
}

/// A server on a free port of this machine.
pub(crate) struct Canned {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    home: tempfile::TempDir,
}

impl Canned {
    /// Starts a server with this function as its handler.
    pub(crate) fn start(mut answer: impl FnMut(&Request) -> Answer + Send + 'static) -> Canned {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        // Ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                seen.lock().unwrap().push(request.clone());
                write(&mut stream, &answer(&request));
            }
        });
        Canned { url, requests, home: tempfile::tempdir().unwrap() }
    }

    /// Starts a server that answers these paths (without the query), and 404 for all others.
    pub(crate) fn with(answers: &[(&'static str, &'static str, Value)]) -> Canned {
        let answers = answers.to_vec();
        Canned::start(move |request| {
            let path = request.path.split('?').next().unwrap().to_owned();
            let found = answers.iter().find(|(method, at, _)| *method == request.method && *at == path);
            match found {
                Some((_, _, body)) => json_answer(200, body.clone()),
                None => refusal(404, "not_found", &format!("nothing is at {path}")),
            }
        })
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The one request with this method and path (without the query).
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let is = |request: &Request| request.method == method && request.path.split('?').next() == Some(path);
        let found: Vec<Request> = self.requests().into_iter().filter(is).collect();
        assert_eq!(found.len(), 1, "{method} {path} among {:#?}", self.requests());
        found[0].clone()
    }

    /// The program's credentials file.
    pub(crate) fn credentials(&self) -> PathBuf {
        self.home.path().join("windlass/credentials.json")
    }

    /// The program without server and token.
    pub(crate) fn command_without_token(&self, arguments: &[&str]) -> Command {
        let mut command = support::command(arguments);
        for variable in [
            "WINDLASS_SERVER",
            "WINDLASS_TOKEN",
            "WINDLASS_CA_FILE",
            "VISUAL",
            "EDITOR",
            "http_proxy",
            "HTTP_PROXY",
            "all_proxy",
            "ALL_PROXY",
        ] {
            command.env_remove(variable);
        }
        command.env("XDG_CONFIG_HOME", self.home.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The program with this server and a token.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command_without_token(arguments);
        command.env("WINDLASS_SERVER", &self.url).env("WINDLASS_TOKEN", TOKEN);
        command
    }

    /// Runs the program with a token; checks that it never shows the token.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        for text in [support::stdout(&output), support::stderr(&output)] {
            assert!(!text.contains(TOKEN), "the token was shown: {text}");
        }
        output
    }
}

/// Runs a command with this text on its standard input.
pub(crate) fn with_input(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { method, path, headers, body })
}

fn write(stream: &mut TcpStream, answer: &Answer) {
    let head = format!(
        "HTTP/1.1 {} X\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    );
    // The program may have closed the connection after the head.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.body.as_bytes()));
}

const AT: &str = "2026-11-16T00:32:26.000Z";

/// An id that ends in these characters.
pub(crate) fn id(end: &str) -> String {
    format!("0193a1b2-0000-7000-8000-{end:0>12}")
}

/// The current user.
pub(crate) fn me(must_change_password: bool) -> Value {
    json!({
        "user_id": id("1"), "email": "ann@example.org", "account_id": id("2"), "account_name": "acme",
        "role": "approver", "permissions": ["system.gitops.read", "system.gitops.approve"], "token_name": null,
        "is_root": false, "must_change_password": must_change_password, "accounts": [],
    })
}

/// A proposal to update a node.
pub(crate) fn proposal(end: &str, status: &str) -> Value {
    json!({
        "id": id(end), "repository_id": id("3"), "repository_name": "fleet", "run_id": id("4"),
        "action": "update_node", "kind": "node", "name": format!("edge-{end}"), "change": "update", "cause": "edited",
        "explanation": "fleet.yaml says otherwise", "payload": {"name": format!("edge-{end}"), "region": "eu"},
        "current": {"region": "us"}, "desired": {"region": "eu"},
        "fields": [{"path": "region", "before": "us", "after": "eu"}], "edited_payload": null, "edited_by": null,
        "digest": format!("sha256:{end}"), "base_digest": null, "desired_digest": null, "commit_sha": "c0ffee",
        "author": "bob@example.org", "file": "fleet.yaml", "line": 12, "status": status,
        "blocked_by": ["node edge-base is not there"], "waits_for": [],
        "gate": {"rule": "edge", "consent": "needed", "have": 0, "need": 2, "reasons": ["2 people must approve"],
                 "holds": [], "why_not_you": null},
        "approvals": [], "reason": null, "decided_by": null, "position": 1, "opened_at": AT, "expires_at": AT,
        "decided_at": null, "closed_at": null, "version": 7,
    })
}

/// A sync run.
pub(crate) fn run(status: &str, stage: &str) -> Value {
    let proposals = match status {
        "diff_ready" => json!([{
            "id": id("aaaa"), "action": "update_node", "kind": "node", "name": "edge-01", "change": "update",
            "payload": {"name": "edge-01"}, "status": "pending_approval", "blocked_by": [],
        }]),
        _ => json!([]),
    };
    json!({"sync_run": {
        "id": id("4"), "repository_id": id("3"), "repository_name": "fleet", "status": status, "stage": stage,
        "waiting_for": [], "trigger": "request", "requested_by": "ann@example.org", "commit_sha": "c0ffee0123456789",
        "commit_author": "bob@example.org", "commit_subject": "move edge-01", "movement": "first",
        "diff": {"nodes": {"add": [], "update": ["edge-01"], "delete": []}}, "diff_count": 1, "remaining": 0,
        "requires_approval": true, "approval_request_id": id("4"), "proposals": proposals, "applied_actions": [],
        "failed_actions": [], "skipped_actions": [], "drift_after_apply": null, "problems": [], "error": null,
        "created_at": AT, "started_at": AT, "completed_at": null, "applied_at": null,
    }})
}

/// An accepted resource.
pub(crate) fn node(name: &str) -> Value {
    json!({
        "id": id("5"), "kind": "node", "name": name, "spec": {"template": "edge", "region": "eu"}, "allocated": {},
        "digest": "sha256:0", "owner": {"repository_id": id("3"), "repository_name": "fleet"},
        "differs_because": null, "generation": 3, "created_at": AT, "updated_at": AT, "updated_by": "fleet",
    })
}

/// An event.
pub(crate) fn event(seq: i64) -> Value {
    json!({
        "seq": seq, "kind": "resource.changed", "severity": "low", "resource_kind": "node", "resource_name": "edge-01",
        "repository_id": null, "correlation_id": null, "source": "test", "message": format!("event {seq}"),
        "payload": {}, "at": AT,
    })
}
