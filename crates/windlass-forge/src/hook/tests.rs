//! Every method of signing, with valid and invalid signatures; every body, valid and malformed.

use std::collections::BTreeMap;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_core::id::RepositoryId;
use windlass_core::time::Timestamp;

use super::fixtures::{Fixture, NEW, pull_requests, pushes};
use super::secret::hex;
use super::*;

const NOW: i64 = 1_763_280_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn secret() -> WebhookSecret {
    WebhookSecret::derive(b"a server's key", &RepositoryId::new("019a8b2e-0000-7000-8000-000000000001"), 0)
}

type Headers = BTreeMap<&'static str, String>;

/// A request that a test can change before it is verified.
#[derive(Clone)]
struct TestDelivery {
    headers: Headers,
    body: Vec<u8>,
}

impl TestDelivery {
    fn verify_at(
        &self,
        secret: &WebhookSecret,
        seconds: i64,
    ) -> Result<VerifiedDelivery<'_>, SignatureRefusal> {
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        verify(UnverifiedDelivery { header: &header, body: &self.body }, secret, at(seconds))
    }

    fn verify(&self) -> Result<VerifiedDelivery<'_>, SignatureRefusal> {
        self.verify_at(&secret(), NOW)
    }
}

fn mac(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref().to_vec()
}

/// The methods of signing: one for each sender, and two for GitLab.
const SIGNING_METHODS: [&str; 6] =
    ["github", "gitea", "forgejo", "gitlab token", "gitlab signed", "bitbucket"];

/// A body signed in one of [`SIGNING_METHODS`], or in the generic one.
fn signed(method: &str, event: &str, body: &[u8]) -> TestDelivery {
    let text = secret().text().expose().clone();
    let tag = hex(&mac(text.as_bytes(), body));
    let time = NOW.to_string();
    let event = event.to_owned();
    let headers: Headers = match method {
        "github" => [("x-github-event", event), ("x-hub-signature-256", format!("sha256={tag}"))].into(),
        "gitea" => [
            ("x-gitea-event", event.clone()),
            ("x-gitea-signature", tag.clone()),
            ("x-github-event", event),
            ("x-hub-signature-256", format!("sha256={tag}")),
        ]
        .into(),
        "forgejo" => [("x-forgejo-event", event), ("x-forgejo-signature", tag)].into(),
        "gitlab token" => [("x-gitlab-event", event), ("x-gitlab-token", text)].into(),
        "gitlab signed" => {
            let key = STANDARD.decode(&secret().signing_token().expose()["whsec_".len()..]).expect("base64");
            let message = [b"some-id.", time.as_bytes(), b".", body].concat();
            let signature = format!("v1,{}", STANDARD.encode(mac(&key, &message)));
            [
                ("x-gitlab-event", event),
                ("webhook-id", "some-id".to_owned()),
                ("webhook-timestamp", time),
                ("webhook-signature", signature),
            ]
            .into()
        }
        "bitbucket" => [("x-event-key", event), ("x-hub-signature", format!("sha256={tag}"))].into(),
        _ => {
            let tag = hex(&mac(text.as_bytes(), &[time.as_bytes(), b".", body].concat()));
            [("x-windlass-signature", format!("t={time},v1={tag}"))].into()
        }
    };
    TestDelivery { headers, body: body.to_vec() }
}

fn method_of(sender: WebhookSender) -> &'static str {
    match sender {
        WebhookSender::GitHub => "github",
        WebhookSender::Gitea => "gitea",
        WebhookSender::GitLab => "gitlab signed",
        WebhookSender::Bitbucket => "bitbucket",
        WebhookSender::Generic => "generic",
    }
}

fn content_of(fixture: &Fixture) -> DeliveryContent {
    let sent = signed(method_of(fixture.sender), fixture.event, fixture.body.to_string().as_bytes());
    sent.verify().expect("rightly signed").content()
}

#[test]
fn a_delivery_is_accepted_only_with_a_signature_by_the_secret() {
    for method in SIGNING_METHODS.into_iter().chain(["generic"]) {
        let sent = signed(method, "push", b"{}");
        assert!(sent.verify().is_ok(), "{method}");
        let other = WebhookSecret::derive(
            b"a server's key",
            &RepositoryId::new("019a8b2e-0000-7000-8000-000000000001"),
            1,
        );
        assert_eq!(
            sent.verify_at(&other, NOW).err(),
            Some(SignatureRefusal::Wrong),
            "{method}: another generation"
        );
        let other = WebhookSecret::derive(
            b"a server's key",
            &RepositoryId::new("019a8b2e-0000-7000-8000-000000000002"),
            0,
        );
        assert_eq!(
            sent.verify_at(&other, NOW).err(),
            Some(SignatureRefusal::Wrong),
            "{method}: another repository"
        );
        // The plain token does not cover the body; every other method does.
        let changed = TestDelivery { body: b"{} ".to_vec(), ..sent.clone() };
        assert_eq!(changed.verify().is_ok(), method == "gitlab token", "{method}: another body");
        for name in sent.headers.keys() {
            let mut without = sent.clone();
            without.headers.remove(name);
            let is_event = name.ends_with("event") || name.ends_with("key");
            let has_twin = method == "gitea";
            assert!(without.verify().is_err() || is_event || has_twin, "{method} without {name}");
        }
        for broken in ["", "sha256=", "v1,", "t=1,v1=00", "%", "\u{7f}", &"0".repeat(64), &"ü".repeat(32)] {
            let mut wrong = sent.clone();
            for (name, value) in &mut wrong.headers {
                if name.contains("signature") || name.ends_with("token") {
                    broken.clone_into(value);
                }
            }
            assert!(matches!(wrong.verify(), Err(SignatureRefusal::Wrong)), "{method}: {broken}");
        }
    }
    let nobody = TestDelivery { headers: Headers::new(), body: b"{}".to_vec() };
    assert_eq!(nobody.verify().err(), Some(SignatureRefusal::Unknown));
}

#[test]
fn a_signature_that_is_wrong_is_not_rescued_by_a_token_that_is_right() {
    let mut sent = signed("gitlab signed", "Push Hook", b"{}");
    sent.headers.insert("x-gitlab-token", secret().text().expose().clone());
    assert!(sent.verify().is_ok());
    sent.headers.insert("webhook-id", "another".to_owned());
    assert_eq!(sent.verify().err(), Some(SignatureRefusal::Wrong));
}

#[test]
fn what_has_a_time_is_believed_for_five_minutes_and_not_before_its_time() {
    for method in ["generic", "gitlab signed"] {
        let sent = signed(method, "Push Hook", b"{}");
        for (seconds, is_timely) in [(0, true), (299, true), (-299, true), (302, false), (-302, false)] {
            assert_eq!(sent.verify_at(&secret(), NOW + seconds).is_ok(), is_timely, "{method}: {seconds}");
        }
        assert_eq!(sent.verify_at(&secret(), 0).err(), Some(SignatureRefusal::OutsideTimeWindow));
        assert_eq!(
            sent.verify_at(&secret(), i64::MAX / 1000).err(),
            Some(SignatureRefusal::OutsideTimeWindow)
        );
    }
}

#[test]
fn a_delivery_is_the_same_whatever_unsigned_header_was_changed() {
    let first = signed("github", "push", b"{}");
    let mut again = first.clone();
    again.headers.insert("x-github-delivery", "made up".to_owned());
    let as_gitea = signed("gitea", "push", b"{}");
    let identity = |sent: &TestDelivery| sent.verify().expect("rightly signed").identity;
    assert_eq!(identity(&first), identity(&again));
    assert_eq!(identity(&first), identity(&as_gitea), "nor as whose it is sent");
    assert_ne!(identity(&first), identity(&signed("github", "push", b"{ }")));
}

#[test]
fn a_push_names_its_branch_whoever_sends_it() {
    for fixture in pushes() {
        let expected = DeliveryContent::Push { branches: vec!["main".to_owned()] };
        assert_eq!(content_of(&fixture), expected, "{:?} {}", fixture.sender, fixture.event);
    }
}

#[test]
fn only_what_is_told_to_come_from_the_repository_itself_is_no_fork() {
    let ends = |head: serde_json::Value, base: serde_json::Value| {
        json!({"action": "opened", "number": 3, "pull_request": {
            "head": {"ref": "a", "sha": NEW, "repo": head}, "base": {"ref": "main", "repo": base}}})
    };
    let own = json!({"id": 7});
    let mut cases = Vec::new();
    for sender in [WebhookSender::GitHub, WebhookSender::Gitea] {
        cases.push((sender, ends(own.clone(), own.clone()), CommitOrigin::Repository));
        cases.push((sender, ends(json!({"id": 8}), own.clone()), CommitOrigin::Fork));
        cases.push((sender, ends(json!(null), own.clone()), CommitOrigin::Fork));
        cases.push((sender, ends(json!({}), json!({})), CommitOrigin::Fork));
    }
    let merge = |from: Option<u64>, into: Option<u64>| {
        json!({"object_kind": "merge_request", "object_attributes": {"iid": 3, "action": "open",
            "source_branch": "a", "target_branch": "main", "last_commit": {"id": NEW},
            "source_project_id": from, "target_project_id": into}})
    };
    cases.push((WebhookSender::GitLab, merge(Some(1), Some(1)), CommitOrigin::Repository));
    cases.push((WebhookSender::GitLab, merge(Some(2), Some(1)), CommitOrigin::Fork));
    cases.push((WebhookSender::GitLab, merge(None, None), CommitOrigin::Fork));
    for (sender, body, origin) in cases {
        let event = if sender == WebhookSender::GitLab { "Merge Request Hook" } else { "pull_request" };
        let fixture = Fixture { sender, event, body };
        let DeliveryContent::PullRequest(request) = content_of(&fixture) else { panic!("{}", fixture.body) };
        assert_eq!(request.origin, origin, "{sender:?} {}", fixture.body);
    }
}

#[test]
fn who_pushed_is_told_with_the_commit_whoever_sends_it() {
    for fixture in pushes() {
        let sent = signed(method_of(fixture.sender), fixture.event, fixture.body.to_string().as_bytes());
        let pusher = sent.verify().expect("rightly signed").pusher();
        // Bitbucket Cloud sends no e-mail addresses.
        let person = if fixture.event == "repo:push" { "ana" } else { "ana@example.com" };
        let expected = Pusher { person: person.to_owned(), heads: vec![NEW.to_owned()] };
        assert_eq!(pusher, Some(expected), "{:?} {}", fixture.sender, fixture.event);
    }
    for body in [
        json!([]),
        json!({"pusher": "ana"}),
        json!({"after": NEW}),
        json!({"pusher": "ana", "after": "short"}),
    ] {
        let sent = signed("generic", "", body.to_string().as_bytes());
        assert_eq!(sent.verify().expect("rightly signed").pusher(), None, "{body}");
    }
}

#[test]
fn a_pull_request_is_the_same_whoever_sends_it() {
    for fixture in pull_requests() {
        let expected = DeliveryContent::PullRequest(PullRequest {
            number: 3,
            action: PullRequestAction::Updated,
            head_sha: NEW.to_owned(),
            head_branch: "more-nodes".to_owned(),
            base_branch: "main".to_owned(),
            origin: CommitOrigin::Fork,
        });
        assert_eq!(content_of(&fixture), expected, "{:?} {}", fixture.sender, fixture.event);
    }
}

#[test]
fn what_is_of_no_use_is_told_from_what_cannot_be_read() {
    let read = |sender, event, body: Value| content_of(&Fixture { sender, event, body });
    assert_eq!(read(WebhookSender::GitHub, "ping", json!({"zen": "x"})), DeliveryContent::Ping);
    assert_eq!(
        read(WebhookSender::Bitbucket, "diagnostics:ping", json!({"test": true})),
        DeliveryContent::Ping
    );
    for (sender, event) in [
        (WebhookSender::GitHub, "star"),
        (WebhookSender::Gitea, "issues"),
        (WebhookSender::GitLab, "Note Hook"),
        (WebhookSender::Bitbucket, "x"),
    ] {
        assert_eq!(read(sender, event, json!([1])), DeliveryContent::Other, "{event}");
    }
    let tag = json!({"ref": "refs/tags/v1"});
    assert_eq!(
        read(WebhookSender::GitHub, "push", tag.clone()),
        DeliveryContent::Push { branches: Vec::new() }
    );
    assert_eq!(read(WebhookSender::Generic, "", tag), DeliveryContent::Push { branches: Vec::new() });
    assert_eq!(read(WebhookSender::Generic, "", json!({"by": "cron"})), DeliveryContent::UnspecifiedChange);
    assert_eq!(
        signed("generic", "", b" \n").verify().expect("signed").content(),
        DeliveryContent::UnspecifiedChange
    );
    for body in [
        json!({"ref": ["refs/heads/main"]}),
        json!({"ref": "refs/heads/"}),
        json!({"ref": format!("refs/heads/{}", "x".repeat(256))}),
        json!({"ref": "refs/heads/ma\nin"}),
        json!({"ref": null}),
        json!([]),
        json!("push"),
    ] {
        assert_eq!(read(WebhookSender::GitHub, "push", body.clone()), DeliveryContent::Unreadable, "{body}");
    }
}

#[test]
fn bodies_made_to_hurt_are_only_unreadable() {
    let deep = ["[".repeat(500_000), format!("{{\"ref\":{}", "[".repeat(500_000)), "{\"a\":".repeat(200_000)];
    let odd = [
        r#"{"ref":"refs/heads/main","ref":"refs/heads/other"}"#.to_owned(),
        r#"{"ref":"refs/heads/\ud800"}"#.to_owned(),
        "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D".to_owned(),
        "\u{feff}{}".to_owned(),
        "{\"number\":1e999,\"action\":\"opened\",\"pull_request\":{}}".to_owned(),
    ];
    for body in deep.iter().chain(&odd) {
        for (method, event) in [
            ("github", "push"),
            ("github", "pull_request"),
            ("gitlab token", "Push Hook"),
            ("bitbucket", "repo:push"),
        ] {
            let sent = signed(method, event, body.as_bytes());
            let _ = sent.verify().expect("rightly signed").pusher();
            let content = sent.verify().expect("rightly signed").content();
            assert_eq!(
                content,
                DeliveryContent::Unreadable,
                "{method} {event}: {}",
                &body[..20.min(body.len())]
            );
        }
    }
}

#[test]
fn a_secret_is_what_it_was_and_cannot_be_printed() {
    // If this text changed, every configured webhook would have to be configured again.
    assert_eq!(secret().text().expose(), "5d31aa0d19f927d77aa986852c91096d7ca3e28a3b396fe558571d130689bf2f");
    assert_eq!(format!("{:?}", secret()), "WebhookSecret((hidden))");
    assert!(secret().signing_token().expose().starts_with("whsec_"));
}

/// JSON that is similar to what forges send.
fn almost_valid_body() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("refs/heads/main".to_owned()),
        Just(NEW.to_owned()),
        Just("branch".to_owned()),
        ".{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "ref",
        "object_kind",
        "object_attributes",
        "pull_request",
        "pullrequest",
        "pullRequest",
        "head",
        "base",
        "sha",
        "number",
        "iid",
        "id",
        "action",
        "push",
        "changes",
        "new",
        "old",
        "type",
        "name",
        "source",
        "destination",
        "branch",
        "commit",
        "hash",
        "fromRef",
        "toRef",
        "latestCommit",
        "last_commit",
        "source_branch",
    ]);
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|entries| entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

const EVENTS: [&str; 12] = [
    "push",
    "pull_request",
    "pull_request_sync",
    "ping",
    "Push Hook",
    "Merge Request Hook",
    "System Hook",
    "repo:push",
    "repo:refs_changed",
    "pullrequest:created",
    "pr:opened",
    "pr:merged",
];

proptest! {
    #[test]
    fn no_body_makes_reading_panic(body in prop::collection::vec(any::<u8>(), 0..200), event in 0..EVENTS.len()) {
        for method in SIGNING_METHODS.into_iter().chain(["generic"]) {
            let sent = signed(method, EVENTS[event], &body);
            let _ = sent.verify().expect("rightly signed").content();
        }
    }

    #[test]
    fn no_malformed_body_makes_parsing_panic(body in almost_valid_body(), event in 0..EVENTS.len()) {
        for method in SIGNING_METHODS.into_iter().chain(["generic"]) {
            let sent = signed(method, EVENTS[event], body.to_string().as_bytes());
            let content = sent.verify().expect("rightly signed").content();
            if let DeliveryContent::Push { branches } = content {
                prop_assert!(branches.iter().all(|branch| !branch.is_empty() && !branch.contains(char::is_control)));
            }
        }
    }

    #[test]
    fn no_headers_make_verification_panic_or_succeed(
        values in prop::collection::vec("[ -~]{0,90}", 9), body in prop::collection::vec(any::<u8>(), 0..50)
    ) {
        let names = ["x-hub-signature-256", "x-gitea-signature", "x-gitlab-token", "x-hub-signature", "webhook-id",
            "webhook-timestamp", "webhook-signature", "x-windlass-signature", "x-event-key"];
        for leave_out in 0..names.len() {
            let headers = names.iter().zip(&values).skip(leave_out).map(|(name, value)| (*name, value.clone())).collect();
            let sent = TestDelivery { headers, body: body.clone() };
            prop_assert!(sent.verify().is_err());
        }
    }
}
