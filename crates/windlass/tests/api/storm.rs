//! The server answers every request, and never with an internal error.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use windlass_api::endpoint::{Operation, endpoints};

use crate::harness::Installation;

#[derive(Clone, Debug)]
struct Shot {
    method: String,
    path: String,
    body: Vec<u8>,
    if_match: Option<String>,
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("one".to_owned()),
        Just("absent".to_owned()),
        Just("%00".to_owned()),
        Just("%FF%FE".to_owned()),
        Just("%2e%2e%2f%2e%2e%2fetc".to_owned()),
        Just("a%0d%0ab".to_owned()),
        Just("'%20OR%20'1'='1".to_owned()),
        Just("%F0%9F%A6%80".to_owned()),
        Just("x".repeat(3_000)),
        "[a-z0-9:%2F-]{1,20}".prop_map(|text| text.replace('%', "%25")),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(1e308)),
        Just(json!("one")),
        Just(json!("\u{0}")),
        Just(json!("\u{202e}\u{feff}")),
        Just(json!("(hidden)")),
        Just(json!("{{ config.x }}")),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("name"),
        Just("hostname"),
        Just("spec"),
        Just("labels"),
        Just("config"),
        Just("payload"),
        Just("ids"),
        Just("decision"),
        Just("policy"),
        Just("rules"),
        Just("gitops_repository"),
        Just("repo_url"),
        Just("email"),
        Just("role"),
        Just("password"),
        Just("template"),
        Just("modules"),
        Just("kind"),
        Just("reason"),
        Just("node"),
        Just("reconcile_interval_seconds"),
        Just("permissions"),
        Just("digests"),
        Just("wait"),
        Just("host"),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|entries| {
                Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => value().prop_map(|value| value.to_string().into_bytes()),
        2 => Just(Vec::new()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
        1 => Just(b"[".repeat(2_000)),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("limit"),
        Just("cursor"),
        Just("q"),
        Just("kind"),
        Just("repository"),
        Just("run"),
        Just("status"),
        Just("after"),
        Just("severity"),
        Just("resource"),
        Just("target"),
        Just("form"),
        Just("name"),
    ];
    let text = prop_oneof![
        Just("99999999999999999999".to_owned()),
        Just("-1".to_owned()),
        Just("%00".to_owned()),
        Just("%".to_owned()),
        Just("eHh4".to_owned()),
        Just("open".to_owned()),
        Just("node".to_owned()),
        Just("%F0%9F%A6%80".to_owned()),
        Just("9223372036854775807".to_owned()),
        "[a-z0-9=_-]{0,12}",
    ];
    prop::collection::vec((key, text), 0..3).prop_map(|pairs| {
        let pairs: Vec<String> = pairs.into_iter().map(|(key, text)| format!("{key}={text}")).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    })
}

fn shot() -> impl Strategy<Value = Shot> {
    // Operations that wait on purpose are tested elsewhere.
    let slow = [Operation::EventStream, Operation::Login, Operation::Password, Operation::RepositoryProbe];
    let paths: Vec<(String, String)> = endpoints()
        .into_iter()
        .filter(|endpoint| !slow.contains(&endpoint.operation))
        .map(|endpoint| (endpoint.method.as_str().to_owned(), endpoint.path))
        .collect();
    let odd = prop_oneof![
        Just("GET"),
        Just("POST"),
        Just("PUT"),
        Just("PATCH"),
        Just("DELETE"),
        Just("HEAD"),
        Just("X")
    ];
    let tag = prop::option::of(prop_oneof![
        Just("\"1\""),
        Just("*"),
        Just("W/\"x\""),
        Just("99999999999999999999")
    ]);
    let route = prop::sample::select(paths);
    (route, id(), query(), body(), tag, prop::option::weighted(0.1, odd)).prop_map(
        |((method, path), id, query, body, tag, odd)| Shot {
            method: odd.map_or(method, str::to_owned),
            path: format!("{}{query}", path.replace("{id}", &id)),
            body,
            if_match: tag.map(str::to_owned),
        },
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_requests_of_any_kind_never_make_it_fail() {
    let installation = Installation::start().await;
    let root = installation.root().await;
    installation.make_cluster(&root, "one").await.expect(201);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let shots = shot();
    for number in 0..2_000 {
        let shot = shots.new_tree(&mut runner).unwrap().current();
        let mut request = installation.request(&shot.method, &shot.path).body(shot.body.clone());
        if number % 4 != 0 {
            // Some of the requests end their own session.
            let token = installation.session(&root.id, &root.account).await;
            request = request.bearer_auth(token);
        }
        if let Some(tag) = &shot.if_match {
            request = request.header("if-match", tag);
        }
        let reply = installation.send(request).await;
        assert!(
            reply.status < 500,
            "{} {} {}: {reply:?}",
            shot.method,
            shot.path,
            String::from_utf8_lossy(&shot.body)
        );
        let is_worded =
            reply.status < 400 || shot.method == "HEAD" || reply.json()["error"]["code"].is_string();
        assert!(is_worded, "{shot:?}: {reply:?}");
    }
    installation.ask("", "GET", "/readyz").await.expect(200);
    assert_eq!(installation.get(&root, "/api/v1/system/audit/verify").await["intact"], true);
}
