//! Commands that use a server: their requests, their output, their exit codes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod canned;
mod support;

use canned::{Answer, Canned, TOKEN, event, id, json_answer, node, proposal, refusal, run};
use serde_json::{Value, json};
use support::{stderr, stdout};

fn proposals(all: &[Value]) -> Value {
    json!({"proposals": all, "meta": {"next_cursor": null, "limit": 500}})
}

const PROPOSALS: &str = "/api/v1/system/proposals";

#[test]
fn proposals_are_listed_in_the_order_of_the_plan_and_short_enough_for_a_terminal() {
    let placed = |end: &str, run: &str, position: usize| {
        let mut proposal = proposal(end, "pending_approval");
        proposal["run_id"] = id(run).into();
        proposal["position"] = position.into();
        proposal["blocked_by"] = json!(["node edge-base is not there", "a window", "the kill switch", "x"]);
        proposal
    };
    // In the order of the server: newest first.
    let all =
        [placed("bbb2", "5", 2), placed("bbb1", "5", 1), placed("aaa2", "4", 2), placed("aaa1", "4", 1)];
    let server = Canned::with(&[("GET", PROPOSALS, proposals(&all))]);
    let output = server.command(&["proposal", "list", "--status", "pending"]).env("COLUMNS", "100").output();
    let told = stdout(&output.unwrap());
    let places: Vec<usize> = ["edge-bbb1", "edge-bbb2", "edge-aaa1", "edge-aaa2"]
        .map(|name| told.find(name).unwrap_or_else(|| panic!("{name} in {told}")))
        .to_vec();
    assert!(places.is_sorted(), "{told}");
    assert!(told.contains(" pending ") && !told.contains("pending_approval"), "{told}");
    assert!(told.contains("+3") && !told.contains("kill switch"), "{told}");
    let asked = &server.requests()[0].path;
    assert!(asked.contains("status=pending_approval"), "{asked}");

    let output = server.run(&["proposal", "list", "-o", "json"]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["proposals"], json!(all), "programs get what the server said, in its order");
}

#[test]
fn what_the_server_refuses_is_told_with_every_detail() {
    let server = Canned::start(|_| {
        json_answer(
            422,
            json!({"error": {
                "code": "invalid", "message": "the repository cannot be registered", "help": "correct the fields",
                "details": [{"code": "bad-value", "path": "repo_url", "message": "no such scheme", "help": "use https"}],
                "request_id": "r-17",
            }}),
        )
    });
    let output = server.run(&["repo", "add", "fleet", "gopher://x", "--interval", "1h30m", "--auto-apply"]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    for part in [
        "error[invalid]: the repository cannot",
        "repo_url: no such scheme [bad-value]",
        "help: use https",
        "help: correct the fields",
        "r-17",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    assert_eq!(
        server.request("POST", "/api/v1/system/gitops_repositories").body,
        json!({"gitops_repository": {"name": "fleet", "repo_url": "gopher://x", "auto_apply": true,
                                     "reconcile_interval_seconds": 5400}})
    );
}

#[test]
fn an_approval_names_the_digest_that_was_shown() {
    let one = json!({"proposal": proposal("aaaa", "pending_approval")});
    let whole: &'static str = Box::leak(format!("{PROPOSALS}/{}", id("aaaa")).into_boxed_str());
    let approve: &'static str = Box::leak(format!("{whole}/approve").into_boxed_str());
    let server = Canned::with(&[
        (
            "GET",
            PROPOSALS,
            proposals(&[proposal("aaaa", "pending_approval"), proposal("bbbb", "pending_approval")]),
        ),
        ("GET", whole, one),
        ("POST", approve, json!({"proposal": proposal("aaaa", "approved")})),
    ]);
    let output = server.run(&["proposal", "approve", "aaaa", "--reason", "looked", "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("region: us → eu"), "what is approved is shown: {}", stdout(&output));
    assert_eq!(server.request("POST", approve).body, json!({"digest": "sha256:aaaa", "reason": "looked"}));
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_decided() {
    let server = Canned::with(&[("GET", PROPOSALS, proposals(&[proposal("aaaa", "pending_approval")]))]);
    let output = server.run(&["proposal", "approve", "--all"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr(&output).contains("--yes"));
    assert!(server.requests().iter().all(|request| request.method == "GET"));
}

#[test]
fn a_batch_names_every_digest_and_tells_what_was_refused() {
    let result = json!({"done": 1, "refused": 1, "results": [
        {"id": id("aaaa"), "status": "approved", "error": null},
        {"id": id("bbbb"), "status": "pending_approval",
         "error": {"code": "conflict", "message": "it is another by now", "details": []}},
    ]});
    let mut of_run = run("diff_ready", "finished");
    let named = |end: &str| {
        let mut named = of_run["sync_run"]["proposals"][0].clone();
        named["id"] = id(end).into();
        named
    };
    of_run["sync_run"]["proposals"] = json!([named("aaaa"), named("bbbb")]);
    let path: &'static str =
        Box::leak(format!("/api/v1/system/gitops_sync_runs/{}", id("4")).into_boxed_str());
    let waiting = ["cccc", "bbbb", "aaaa"].map(|end| proposal(end, "pending_approval"));
    let server = Canned::with(&[
        ("GET", PROPOSALS, proposals(&waiting)),
        ("GET", path, of_run),
        ("POST", "/api/v1/system/proposals/batch", result),
    ]);
    let output = server.run(&["proposal", "approve", "--run", &id("4"), "--yes"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("it is another by now") && stdout(&output).contains("1 done, 1 refused")
    );
    let body = server.request("POST", "/api/v1/system/proposals/batch").body;
    assert_eq!(body["decision"], "approve");
    assert_eq!(body["digests"], json!({id("aaaa"): "sha256:aaaa", id("bbbb"): "sha256:bbbb"}));
    assert!(body.get("approval_request_id").is_none(), "only what was shown is approved");
}

#[test]
fn a_shortened_id_that_may_be_several_is_refused() {
    let server = Canned::with(&[(
        "GET",
        PROPOSALS,
        proposals(&[proposal("aaaa", "approved"), proposal("baaaa", "approved")]),
    )]);
    let output = server.run(&["proposal", "show", "aaaa"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("matches 2 proposals"), "{}", stderr(&output));
}

#[test]
fn a_sync_is_waited_for_and_ends_with_what_to_do_next() {
    let mut asked = 0;
    let server = Canned::start(move |_| {
        asked += 1;
        json_answer(
            200,
            match asked {
                1 => run("in_progress", "fetching"),
                2 => run("in_progress", "comparing"),
                _ => run("diff_ready", "finished"),
            },
        )
    });
    let output = server.run(&["sync", "fleet", "--confirm-mass-destroy"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("fleet: fetching") && stderr(&output).contains("fleet: comparing"));
    let told = stdout(&output);
    assert!(told.contains("~ nodes: edge-01") && told.contains("diff_ready"), "{told}");
    assert!(told.contains(&format!("windlass proposal approve --run {}", id("4"))), "{told}");
    let first = server.request("POST", "/api/v1/system/gitops_repositories/fleet/sync_now");
    assert_eq!(first.body, json!({"confirm_mass_destroy": true}));
}

#[test]
fn a_failed_run_tells_its_problems_and_ends_with_1() {
    let mut failed = run("failed", "finished");
    failed["sync_run"]["error"] =
        json!({"code": "invalid", "message": "fleet.yaml has 1 error", "help": "correct it"});
    failed["sync_run"]["problems"] = json!([{
        "severity": "error", "code": "unknown-key", "path": "nodes[0]", "file": "fleet.yaml", "line": 3, "column": 5,
        "message": "unknown key `regoin`", "help": "did you mean `region`?",
    }]);
    let path: &'static str =
        Box::leak(format!("/api/v1/system/gitops_sync_runs/{}", id("4")).into_boxed_str());
    let server = Canned::with(&[("GET", path, failed)]);
    let output = server.run(&["run", "show", &id("4")]);
    assert_eq!(output.status.code(), Some(1));
    let told = stdout(&output);
    assert!(told.contains("fleet.yaml:3:5: error[unknown-key]: unknown key `regoin`"), "{told}");
    assert!(told.contains("did you mean `region`?") && told.contains("help: correct it"), "{told}");
}

#[test]
fn a_list_says_that_there_is_more_and_all_pages_are_one_answer() {
    let server = Canned::start(|request| {
        let (names, next): (&[&str], Value) = match request.path.contains("cursor=two") {
            true => (&["c"], Value::Null),
            false => (&["a", "b"], json!("two")),
        };
        let nodes: Vec<Value> = names.iter().map(|name| node(name)).collect();
        json_answer(200, json!({"nodes": nodes, "meta": {"next_cursor": next, "limit": 2}}))
    });
    let output = server.run(&["get", "nodes", "-n", "2", "-q", "edge", "--repo", "fleet"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("more not shown"), "{}", stderr(&output));
    assert_eq!(server.requests()[0].path, "/api/v1/system/nodes?q=edge&repository=fleet&limit=2");

    let output = server.run(&["get", "node", "--all", "-o", "json"]);
    assert_eq!(stderr(&output), "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&Value> = answer["nodes"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(answer["meta"]["next_cursor"], Value::Null);
}

#[test]
fn answers_are_printed_as_they_are_in_json_and_in_yaml() {
    let server = Canned::with(&[("GET", "/api/v1/system/nodes/a", json!({"node": node("a")}))]);
    let output = server.run(&["get", "node", "a", "-o", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), json!({"node": node("a")}));
    let output = server.run(&["get", "node", "a", "--output", "yaml"]);
    assert!(stdout(&output).contains("\n  name: a\n"), "{}", stdout(&output));
    let output = server.run(&["get", "node", "a"]);
    assert!(stdout(&output).contains("owner       fleet"), "{}", stdout(&output));
}

#[test]
fn hostile_text_of_a_server_never_reaches_the_terminal() {
    let hostile = "\u{1b}[2J\u{9b}31m\u{202e}evil\u{7}";
    let mut bad_node = node("a");
    bad_node["name"] = hostile.into();
    bad_node["spec"] = json!({hostile: hostile});
    bad_node["updated_by"] = hostile.into();
    let mut bad_proposal = proposal("aaaa", "pending_approval");
    for field in ["name", "kind", "explanation", "author", "repository_name", "action", "digest", "opened_at"]
    {
        bad_proposal[field] = hostile.into();
    }
    bad_proposal["fields"] = json!([{"path": hostile, "before": hostile, "after": hostile}]);
    let mut bad_event = event(1);
    for field in ["kind", "message", "at", "resource_name"] {
        bad_event[field] = hostile.into();
    }
    let (bad_proposal_show, bad_node_show) = (json!({"proposal": bad_proposal}), json!({"node": bad_node}));
    let whole: &'static str = Box::leak(format!("{PROPOSALS}/{}", id("aaaa")).into_boxed_str());
    let server = Canned::with(&[
        (
            "GET",
            "/api/v1/system/nodes",
            json!({"nodes": [bad_node], "meta": {"next_cursor": null, "limit": 1}}),
        ),
        ("GET", "/api/v1/system/nodes/a", bad_node_show),
        ("GET", PROPOSALS, proposals(&[bad_proposal])),
        ("GET", whole, bad_proposal_show),
        (
            "GET",
            "/api/v1/system/fleet_events",
            json!({"fleet_events": [bad_event], "meta": {"next_cursor": null, "limit": 1}}),
        ),
        (
            "GET",
            "/api/v1/system/approval_policy",
            json!({"policy": {hostile: [hostile, "a\nb\u{1b}"]}, "version": 1}),
        ),
    ]);
    let refusing = Canned::start(move |_| {
        json_answer(
            403,
            json!({"error": {"code": hostile, "message": hostile, "help": hostile,
                                          "details": [{"code": hostile, "message": hostile}]}}),
        )
    });
    let mut outputs = Vec::new();
    for form in ["human", "json", "yaml"] {
        for arguments in [
            &["get", "nodes"][..],
            &["get", "node", "a"],
            &["describe", "node", "a"],
            &["proposal", "list"],
            &["proposal", "show", &id("aaaa")],
            &["events"],
            &["policy", "show"],
        ] {
            let output = server.run(&[arguments, &["-o", form, "--color", "never"]].concat());
            assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
            outputs.push(output);
        }
    }
    outputs.push(refusing.run(&["status", "--color", "never"]));
    // A response with an unknown status is an error.
    let unknown = Canned::with(&[("GET", PROPOSALS, proposals(&[proposal("aaaa", hostile)]))]);
    let refused = unknown.run(&["proposal", "list", "--color", "never"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    assert!(stderr(&refused).contains("expected one of `pending_approval`"), "{}", stderr(&refused));
    outputs.push(refused);
    for output in outputs {
        for text in [stdout(&output), stderr(&output)] {
            let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.chars().any(bad), "{text:?}");
        }
    }
}

/// A proposal with this text in every free field.
fn proposal_with_text(text: &str) -> Value {
    let mut told = proposal("aaaa", "pending_approval");
    for field in ["name", "explanation", "author", "repository_name"] {
        told[field] = text.into();
    }
    told
}

#[test]
fn a_token_that_the_server_echoes_is_not_printed() {
    let echo = |status| {
        Canned::start(move |_| match status {
            200 => json_answer(
                200,
                json!({"proposals": [proposal_with_text(TOKEN)],
                                           "meta": {"next_cursor": null, "limit": 50}}),
            ),
            _ => refusal(status, TOKEN, &format!("your token is {TOKEN}")),
        })
    };
    // `run` itself checks that the token is not shown.
    for form in ["human", "json", "yaml"] {
        let output = echo(200).run(&["proposal", "list", "-o", form]);
        assert!(stdout(&output).contains("(hidden)"), "{}", stdout(&output));
        echo(403).run(&["proposal", "list", "-o", form]);
        echo(401).run(&["proposal", "list", "-o", form]);
    }
    echo(404).run(&["set", "node", "a", "region=eu"]);
    let garbage =
        Canned::start(|_| Answer { status: 500, content_type: "text/plain", body: TOKEN.to_owned() });
    garbage.run(&["status"]);
}

#[test]
fn following_events_goes_on_after_a_lost_connection_without_loss_or_repetition() {
    let stream = |events: &[i64]| {
        let lines: Vec<String> =
            events.iter().map(|seq| format!("id: {seq}\nevent: x\ndata: {}\n\n", event(*seq))).collect();
        Answer {
            status: 200,
            content_type: "text/event-stream",
            body: format!(": hello\n\n{}", lines.concat()),
        }
    };
    let mut connections = 0;
    let server = Canned::start(move |request| {
        if !request.path.contains("/stream") {
            return json_answer(
                200,
                json!({"fleet_events": [event(4)], "meta": {"next_cursor": null, "limit": 1}}),
            );
        }
        connections += 1;
        match connections {
            1 => stream(&[5, 6]),
            2 => refusal(503, "unavailable", "starting"),
            // A server that repeats an event, and truncates the last message.
            3 => {
                let mut answer = stream(&[6, 7, 8]);
                answer.body.truncate(answer.body.len() - 1);
                answer
            }
            4 => stream(&[8, 9]),
            _ => refusal(401, "unauthorized", "the session has ended"),
        }
    });
    let output = server.run(&["events", "--follow", "-n", "1", "--kind", "resource.", "-o", "json"]);
    assert_eq!(output.status.code(), Some(69), "{}", stderr(&output));
    let seen: Vec<i64> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_i64().unwrap())
        .collect();
    assert_eq!(seen, [4, 5, 6, 7, 8, 9]);
    let streams: Vec<_> =
        server.requests().into_iter().filter(|request| request.path.contains("/stream")).collect();
    let asked: Vec<&str> = streams.iter().map(|request| request.headers["last-event-id"].as_str()).collect();
    assert_eq!(asked, ["4", "6", "6", "7", "9"]);
    assert!(streams.iter().all(|request| request.path.contains("kind=resource.")));
}

#[test]
fn drift_ends_with_2_and_tells_who_did_what() {
    let drifted = json!({"kind": "node", "name": "edge-01", "change": "update",
        "fields": [{"path": "region", "before": "eu", "after": "us"}], "changed_by": "ann@example.org",
        "changed_at": "2026-11-16T00:32:26.000Z", "proposal_id": null, "acceptance": null});
    let report = |drifted: &[Value]| {
        json!({"drift": !drifted.is_empty(), "repository_id": id("3"), "commit_sha": "c0ffee", "compared_with": null,
               "drifted": drifted, "pending": [], "accepted": [], "diff": {}})
    };
    let path = "/api/v1/system/gitops_repositories/fleet/drift_report";
    let server = Canned::with(&[("GET", path, report(&[drifted]))]);
    let output = server.run(&["drift", "fleet"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("node edge-01 was changed by ann@example.org"), "{told}");
    assert!(
        told.contains("region: eu → us") && told.contains("windlass drift revert fleet node edge-01"),
        "{told}"
    );

    let server = Canned::with(&[("GET", path, report(&[]))]);
    assert_eq!(server.run(&["drift", "fleet"]).status.code(), Some(0));
}

#[test]
fn deciding_about_drift_sends_the_kind_by_its_name() {
    let reverted = json!({"sync_run_id": id("4"), "message": "proposed"});
    let adopted = json!({"patch": "--- a/fleet.yaml\n", "branch": null, "commit_sha": null});
    let base = "/api/v1/system/gitops_repositories/fleet/drift";
    let (revert, adopt): (&'static str, &'static str) = (
        Box::leak(format!("{base}/revert").into_boxed_str()),
        Box::leak(format!("{base}/adopt").into_boxed_str()),
    );
    let server = Canned::with(&[("POST", revert, reverted), ("POST", adopt, adopted)]);
    assert_eq!(server.run(&["drift", "revert", "fleet", "nodes", "edge-01"]).status.code(), Some(0));
    assert_eq!(server.request("POST", revert).body, json!({"kind": "node", "name": "edge-01"}));
    let output = server.run(&["drift", "adopt", "fleet"]);
    assert_eq!(stdout(&output), "--- a/fleet.yaml\n", "{}", stderr(&output));
    assert_eq!(server.request("POST", adopt).body, json!({"resources": []}));
}

#[test]
fn a_connection_test_shows_each_step_with_its_remedy() {
    let tested = json!({"ok": false, "checks": [
        {"step": "dns", "outcome": "passed", "message": "192.0.2.1"},
        {"step": "auth", "outcome": "failed", "message": "the key is not accepted", "help": "add the key to the server"},
        {"step": "branch", "outcome": "not_reached", "message": "not reached"},
    ]});
    let server = Canned::with(&[("POST", "/api/v1/system/gitops_repositories/test", tested)]);
    let output = server.run(&["repo", "test", "--url", "ssh://git@example.org/fleet", "--branch", "main"]);
    assert_eq!(output.status.code(), Some(1));
    let told = stdout(&output);
    for part in ["✓ dns", "✗ auth", "help: add the key to the server", "– branch"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(
        server.requests()[0].body,
        json!({"gitops_repository": {"repo_url": "ssh://git@example.org/fleet", "branch": "main"}})
    );
}

#[test]
fn a_change_by_hand_is_held_to_the_generation_that_was_seen() {
    let server = Canned::with(&[
        ("GET", "/api/v1/system/nodes/a", json!({"node": node("a")})),
        ("PATCH", "/api/v1/system/nodes/a", json!({"node": node("a")})),
        ("POST", "/api/v1/system/nodes", json!({"node": node("b")})),
        ("DELETE", "/api/v1/system/nodes/a", json!({})),
    ]);
    let output = server.run(&["set", "node", "a", "region=us", "labels.tier=edge"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = server.request("PATCH", "/api/v1/system/nodes/a");
    assert_eq!(asked.headers["if-match"], "3");
    assert_eq!(asked.body, json!({"node": {"region": "us", "labels": {"tier": "edge"}}}));

    let output = server.run(&["set", "node", "b", "template=edge"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--create"));
    assert_eq!(server.run(&["set", "node", "b", "template=edge", "--create"]).status.code(), Some(0));
    assert_eq!(
        server.request("POST", "/api/v1/system/nodes").body,
        json!({"node": {"name": "b", "template": "edge"}})
    );

    assert_eq!(server.run(&["delete", "node", "a"]).status.code(), Some(64));
    assert_eq!(server.run(&["delete", "node", "a", "--yes"]).status.code(), Some(0));
    assert_eq!(server.request("DELETE", "/api/v1/system/nodes/a").headers["if-match"], "3");
}

#[test]
fn an_edit_from_a_file_is_sent_whole_and_bound_to_the_version_that_was_seen() {
    let whole: &'static str = Box::leak(format!("{PROPOSALS}/{}", id("aaaa")).into_boxed_str());
    let edit: &'static str = Box::leak(format!("{whole}/edit").into_boxed_str());
    let one = json!({"proposal": proposal("aaaa", "pending_approval")});
    let server = Canned::with(&[("GET", whole, one.clone()), ("POST", edit, one)]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("edit.yaml");
    std::fs::write(&file, "name: edge-aaaa\nregion: ap\n").unwrap();
    let output = server.run(&["proposal", "edit", &id("aaaa"), "--file", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = server.request("POST", edit);
    assert_eq!(asked.body, json!({"payload": {"name": "edge-aaaa", "region": "ap"}}));
    assert_eq!(asked.headers["if-match"], "7");
    assert_eq!(server.run(&["proposal", "edit", &id("aaaa")]).status.code(), Some(64), "without a terminal");
}

#[test]
fn applying_tells_what_came_of_each_and_what_the_others_wait_for() {
    let [apply_a, apply_b]: [&'static str; 2] =
        ["aaaa", "bbbb"].map(|end| &*Box::leak(format!("{PROPOSALS}/{}/apply", id(end)).into_boxed_str()));
    let server = Canned::with(&[
        ("GET", PROPOSALS, proposals(&[proposal("aaaa", "approved"), proposal("bbbb", "approved")])),
        ("POST", apply_a, json!({"proposal": proposal("aaaa", "applied")})),
        ("POST", apply_b, json!({"proposal": proposal("bbbb", "approved")})),
    ]);
    let output = server.run(&["apply"]);
    assert_eq!(output.status.code(), Some(1));
    let told = stdout(&output);
    assert!(told.contains("update node edge-bbbb: blocked: node edge-base is not there"), "{told}");
    assert!(told.contains("1 of 2 changes applied"), "{told}");
    assert!(server.request("GET", PROPOSALS).path.contains("status=approved"));
}

#[test]
fn an_export_does_not_replace_a_file_unasked() {
    let server = Canned::start(|_| Answer {
        status: 200,
        content_type: "application/yaml",
        body: "version: 1\naccount: acme\n".to_owned(),
    });
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("fleet.yaml");
    let path = file.to_str().unwrap();
    assert_eq!(stdout(&server.run(&["export", "--form", "map"])), "version: 1\naccount: acme\n");
    assert_eq!(server.requests()[0].path, "/api/v1/system/export_fleet_yaml?form=map");
    assert_eq!(server.run(&["export", "--file", path]).status.code(), Some(0));
    for arguments in [["export", "--file", path], ["export", "--dir", directory.path().to_str().unwrap()]] {
        let output = server.run(&arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("--overwrite"));
    }
}

#[test]
fn an_export_of_several_files_goes_into_a_directory_and_nowhere_else() {
    let exported = |name: &str| {
        let files = json!({"fleet.yaml": "version: 1\n", name: "nodes: []\n"});
        Canned::with(&[("GET", "/api/v1/system/export_fleet_yaml", json!({"files": files, "left_out": []}))])
    };
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("out");
    let path = directory.to_str().unwrap();
    let output = exported("fleet.d/nodes.yaml").run(&["export"]);
    assert!(stderr(&output).contains("--dir"), "{}", stderr(&output));
    let output = exported("../escaped.yaml").run(&["export", "--dir", path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!directory.exists() && !root.path().join("escaped.yaml").exists());
    let output = exported("fleet.d/nodes.yaml").run(&["export", "--dir", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(directory.join("fleet.yaml").is_file() && directory.join("fleet.d/nodes.yaml").is_file());
}

#[test]
fn a_policy_is_checked_without_a_server_before_it_is_sent() {
    let server = Canned::with(&[
        ("GET", "/api/v1/system/approval_policy", json!({"policy": {"rules": []}, "version": 4})),
        ("PUT", "/api/v1/system/approval_policy", json!({"policy": {"rules": []}, "version": 5})),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.yaml");
    std::fs::write(&file, "rules:\n  - {name: a, acton: block}\n").unwrap();
    let path = file.to_str().unwrap();
    for arguments in [["policy", "check", path], ["policy", "set", path]] {
        let output = server.run(&arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("acton"), "{}", stderr(&output));
    }
    assert!(server.requests().is_empty());
    let sound = "rules:\n  - {name: a, action: block}\n";
    std::fs::write(&file, sound).unwrap();
    assert_eq!(server.run(&["policy", "set", path]).status.code(), Some(0));
    let asked = server.request("PUT", "/api/v1/system/approval_policy");
    assert_eq!(asked.body, json!({"policy": sound}));
    assert_eq!(asked.headers["if-match"], "4");
}

#[test]
fn a_secret_that_is_made_is_the_only_thing_on_standard_output() {
    let token = json!({"id": id("6"), "name": "ci", "permissions": ["system.gitops.sync"], "created_by": "ann",
        "created_at": "2026-11-16T00:32:26.000Z", "expires_at": null, "last_used_at": null, "revoked_at": null});
    let server =
        Canned::with(&[("POST", "/api/v1/auth/tokens", json!({"token": token, "secret": "wl_new"}))]);
    let output = server.run(&["token", "create", "ci", "--permission", "system.gitops.sync", "--days", "30"]);
    assert_eq!(stdout(&output), "wl_new\n");
    assert_eq!(
        server.requests()[0].body,
        json!({"name": "ci", "permissions": ["system.gitops.sync"], "expires_in_days": 30})
    );
    assert_eq!(
        server.run(&["token", "revoke", "ci"]).status.code(),
        Some(1),
        "there is no list to find it in"
    );
    let output = server.run(&["token", "create", "ci", "--permission", "root"]);
    assert_eq!(output.status.code(), Some(64));
}
