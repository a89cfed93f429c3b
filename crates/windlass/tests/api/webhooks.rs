//! Webhooks: accepted only with the right signature, processed once, and never more than a trigger to sync.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{Installation, Person, fleet, texts};
use crate::signing::{Keys, SIGNING_METHODS, SigningMethod, repository_with_webhook, seconds};

const REPOSITORIES: &str = "/api/v1/system/gitops_repositories";

async fn events(installation: &Installation, admin: &Person, kind: &str) -> Vec<Value> {
    let page = installation.get(admin, &format!("/api/v1/system/fleet_events?limit=500&kind={kind}")).await;
    page["fleet_events"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_of_every_forge_is_accepted_once_if_its_signature_is_valid() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, id, keys) = repository_with_webhook(&installation, &admin).await;
    for (number, way) in SIGNING_METHODS.into_iter().enumerate() {
        let (event, body) = way.push("main", number);
        let body = body.as_bytes();
        let right = way.headers(&keys, event, body, seconds());
        let wrong = installation
            .deliver(&keys.url, &way.headers(&keys.with_wrong_secrets(), event, body, seconds()), body)
            .await;
        assert_eq!((wrong.status, wrong.code().as_str()), (401, "webhook-refused"), "{way:?}: {wrong:?}");
        let unsigned: Vec<_> = right.iter().filter(|(name, _)| name.contains("event")).cloned().collect();
        let missing = installation.deliver(&keys.url, &unsigned, body).await;
        assert_eq!(missing.without_request(), wrong.without_request(), "{way:?}");
        let altered = [body, b" "].concat();
        if way != SigningMethod::GitLabToken {
            let altered = installation.deliver(&keys.url, &right, &altered).await;
            assert_eq!(altered.without_request(), wrong.without_request(), "{way:?}");
        }
        let accepted = installation.deliver(&keys.url, &right, body).await;
        assert_eq!((accepted.status, accepted.json()), (202, json!({"status": "accepted"})), "{way:?}");
        let again = installation.deliver(&keys.url, &right, body).await;
        assert_eq!((again.status, again.json()), (200, json!({"status": "duplicate"})), "{way:?}");
    }
    let received = events(&installation, &admin, "gitops.webhook_received").await;
    assert_eq!(received.len(), SIGNING_METHODS.len(), "{received:?}");
    let runs = installation.get(&admin, &format!("{REPOSITORIES}/{id}/sync_runs")).await;
    let runs = texts(&runs["sync_runs"], "id");
    assert!(received.iter().all(|event| runs.iter().any(|run| event["correlation_id"] == run.as_str())));
    let shown = installation.get(&admin, &format!("{REPOSITORIES}/{id}/webhook")).await;
    assert_eq!(shown["webhook"]["last_delivery"]["sender"], "generic");
    assert_eq!(shown["webhook"]["last_delivery"]["outcome"], "accepted");
    let numbers = installation.ask("", "GET", "/metrics").await.text;
    assert!(numbers.contains("windlass_webhooks_total{sender=\"github\",outcome=\"accepted\"}"), "{numbers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_signed_with_a_time_counts_only_around_it() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, _, keys) = repository_with_webhook(&installation, &admin).await;
    for way in [SigningMethod::Generic, SigningMethod::GitLabSigned] {
        for (off, status) in [(-400, 401), (400, 401), (-200, 202)] {
            let (event, body) = way.push("main", 1);
            let headers = way.headers(&keys, event, body.as_bytes(), seconds() + off);
            let reply = installation.deliver(&keys.url, &headers, body.as_bytes()).await;
            assert_eq!(reply.status, status, "{way:?} {off}: {reply:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_concern_the_branch_is_ignored_with_the_reason() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, id, keys) = repository_with_webhook(&installation, &admin).await;
    let runs = |page: &Value| page["sync_runs"].as_array().unwrap().len();
    let path = format!("{REPOSITORIES}/{id}/sync_runs");
    let before = runs(&installation.get(&admin, &path).await);
    let pull_request = json!({"action": "opened", "number": 3, "pull_request": {
        "head": {"ref": "more", "sha": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7"}, "base": {"ref": "other"}}});
    for (event, body, reason) in [
        ("push", json!({"ref": "refs/heads/other"}).to_string(), "nothing was pushed to the branch main"),
        ("push", json!({"ref": "refs/tags/main"}).to_string(), "nothing was pushed to the branch main"),
        ("push", json!({"ref": "refs/heads/main/x"}).to_string(), "nothing was pushed to the branch main"),
        ("ping", json!({"zen": "x"}).to_string(), "the webhook works (test delivery)"),
        ("star", "{}".to_owned(), "Windlass ignores this event type"),
        ("pull_request", pull_request.to_string(), "the pull request is not for the branch main"),
        (
            "push",
            "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D".to_owned(),
            "cannot read the body: set the webhook's content type to application/json",
        ),
    ] {
        let headers = SigningMethod::GitHub.headers(&keys, event, body.as_bytes(), seconds());
        let reply = installation.deliver(&keys.url, &headers, body.as_bytes()).await;
        assert_eq!(reply.expect(200), json!({"status": "ignored", "reason": reason}), "{event}");
    }
    assert_eq!(runs(&installation.get(&admin, &path).await), before, "nothing was looked at");
    assert!(events(&installation, &admin, "gitops.webhook_received").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_without_the_secret_cannot_learn_whether_the_repository_exists() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, id, keys) = repository_with_webhook(&installation, &admin).await;
    let other = fleet("version: 1\naccount: acme\n");
    let disabled = installation.register(&admin, "disabled", &other).await;
    let disabled_keys = installation.keys(&admin, &disabled).await;
    let at = |place: &str| format!("{}/api/v1/webhooks/{place}", installation.base);
    let wrong = installation.push_hook(SigningMethod::GitHub, &keys.with_wrong_secrets(), "main", 1).await;
    assert_eq!(wrong.status, 401);
    let right_elsewhere = |place: &str| Keys { url: at(place), ..keys.clone() };
    for (what, keys) in [
        ("disabled", disabled_keys.clone()),
        ("a secret of another repository", Keys { url: keys.url.clone(), ..disabled_keys }),
        ("no such id", right_elsewhere("01a1e292-0000-7000-8000-000000000000")),
        ("a name without its account", right_elsewhere("fleet")),
        ("another account", right_elsewhere("bravo:fleet")),
        ("another name", right_elsewhere("acme:flet")),
        ("an odd address", right_elsewhere("%27%3B--")),
        ("a long address", right_elsewhere(&"x".repeat(5000))),
    ] {
        let reply = installation.push_hook(SigningMethod::GitHub, &keys, "main", 1).await;
        assert_eq!(reply.without_request(), wrong.without_request(), "{what}");
    }
    let named = right_elsewhere("acme:fleet");
    assert_eq!(installation.push_hook(SigningMethod::GitHub, &named, "main", 1).await.status, 202);
    let again = installation.push_hook(SigningMethod::GitHub, &keys, "main", 1).await;
    assert_eq!(again.json()["status"], "duplicate", "by whichever name: {id}");
    // A valid webhook secret gives no other access.
    let reply = installation.ask(&keys.secret, "GET", REPOSITORIES).await;
    assert_eq!(reply.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_a_repetition_after_a_restart_too_and_the_secret_still_counts() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, _, keys) = repository_with_webhook(&installation, &admin).await;
    assert_eq!(installation.push_hook(SigningMethod::Gitea, &keys, "main", 1).await.status, 202);
    let installation = installation.restart().await;
    let place = keys.url.rsplit('/').next().unwrap();
    let keys = Keys { url: format!("{}/api/v1/webhooks/{place}", installation.base), ..keys };
    let again = installation.push_hook(SigningMethod::Gitea, &keys, "main", 1).await;
    assert_eq!(again.expect(200)["status"], "duplicate");
    assert_eq!(installation.push_hook(SigningMethod::Gitea, &keys, "main", 2).await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused_before_anything_is_asked_of_it() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, _, keys) = repository_with_webhook(&installation, &admin).await;
    let mut body = vec![b'['; 1024 * 1024];
    let headers = SigningMethod::GitHub.headers(&keys, "push", &body, seconds());
    let just = installation.deliver(&keys.url, &headers, &body).await;
    assert_eq!(just.expect(200)["status"], "ignored");
    body.push(b'[');
    let headers = SigningMethod::GitHub.headers(&keys, "push", &body, seconds());
    let nowhere = format!("{}/api/v1/webhooks/absent", installation.base);
    for url in [&keys.url, &nowhere] {
        let reply = installation.deliver(url, &headers, &body).await;
        assert_eq!((reply.status, reply.code().as_str()), (413, "body-too-large"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn showing_and_rotating_a_secret_is_audited_and_the_old_secret_stops_working() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, id, keys) = repository_with_webhook(&installation, &admin).await;
    assert_eq!((keys.secret.len(), keys.url.ends_with(&id)), (64, true));
    let path = format!("{REPOSITORIES}/{id}/webhook/rotate");
    let send = async || {
        let request = installation.request("POST", &path).bearer_auth(&admin.token);
        installation.send(request.header("idempotency-key", "once")).await
    };
    let new = Keys::of(&send().await.expect(200));
    assert!(new.secret != keys.secret && new.signing_token != keys.signing_token && new.url == keys.url);
    let again = send().await;
    assert_eq!((again.status, again.code().as_str()), (409, "idempotency-shown-once"), "{again:?}");
    for way in SIGNING_METHODS {
        assert_eq!(installation.push_hook(way, &keys, "main", 1).await.status, 401, "{way:?}");
    }
    assert_eq!(installation.push_hook(SigningMethod::GitHub, &new, "main", 1).await.status, 202);
    let operator = installation.person(&installation.account, Role::Operator).await;
    assert_eq!(installation.keys(&operator, &id).await.secret, new.secret);
    let audit = installation.get(&admin, "/api/v1/system/audit?target=repository/fleet").await;
    let record: Vec<(String, String)> =
        texts(&audit["audit"], "action").into_iter().zip(texts(&audit["audit"], "actor")).collect();
    let of = |action: &str, person: &Person| (action.to_owned(), person.email.clone());
    let expected = [
        of("repository.show_webhook", &operator),
        of("repository.rotate_webhook", &admin),
        of("repository.show_webhook", &admin),
        of("repository.register", &admin),
    ];
    assert_eq!(record, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_becomes_a_proposal_and_a_push_during_a_fetch_is_not_missed() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet("version: 1\naccount: acme\nclusters: [{name: first}]\n");
    let bare = work.publish(installation.directory.path(), "fleet.git");
    let url = format!("file://{}", bare.display());
    let id = installation.register_for_hooks(&admin, "fleet", &url).await;
    let keys = installation.keys(&admin, &id).await;
    let mut stream = installation.listen(&admin.token, "?after=0&kind=gitops.", None).await;
    let mut names = vec!["first".to_owned()];
    for number in 0..12 {
        names.push(format!("c{number}"));
        work.commit(
            "fleet.yaml",
            &format!("version: 1\naccount: acme\nclusters: [{{name: {}}}]\n", names.join("}, {name: ")),
        );
        work.push(&bare, "main");
        // The test does not wait for the previous run: this delivery may arrive during its fetch.
        assert_eq!(installation.push_hook(SigningMethod::GitHub, &keys, "main", number).await.status, 202);
    }
    let mut open = Vec::new();
    while open.len() < names.len() {
        let event = stream.next().await.unwrap();
        if event.kind == "gitops.proposal_opened" {
            open.push(event.data["resource_name"].as_str().unwrap().to_owned());
        }
    }
    open.sort();
    names.sort();
    assert_eq!(open, names);
    let path = format!("{REPOSITORIES}/{id}");
    loop {
        let shown = installation.get(&admin, &path).await;
        if shown["gitops_repository"]["last_synced_revision"] == work.head().as_str() {
            break;
        }
        stream.next().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_guide_prints_for_any_other_sender_works() {
    if !windlass_testkit::servers::are_installed(&["sh", "curl", "openssl"]) {
        return;
    }
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/webhooks.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let is_example = |block: &&str| block.contains("X-Windlass-Signature");
    let script = guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).find(is_example);
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, _, keys) = repository_with_webhook(&installation, &admin).await;
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", script.unwrap()])
        .env("URL", &keys.url)
        .env("SECRET", &keys.secret)
        .env("no_proxy", "*");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), r#"{"status":"accepted"}"#, "{output:?}");
}
