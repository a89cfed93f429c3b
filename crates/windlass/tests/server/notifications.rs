//! Notifications as receivers get them: the format of each provider, no duplicates, retries until delivery, and no
//! secret elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{DeliveryEnvelope, DeliveryInfo, DeliveryList, ProviderTest};
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{Address, Delivery, DeliveryState, Store, new_id};
use windlass_testkit::servers::{MailServer, Postgres};

use crate::api::{Api, refused};
use crate::fleet::{fleet, register, repository_with};
use crate::installation::{Installation, Server, TIMEOUT};
use crate::receiver::{Received, Receiver};

/// In addresses and credentials; must not appear anywhere else.
const HOOK: &str = "planted-hook-7Q";
const KEY: &str = "planted-signing-key-7Q";
const TOKEN: &str = "planted-token-7Q";

const PUBLIC: &str = "https://windlass.example.com";

/// A server with credentials, and a receiver.
struct NotificationSetup {
    installation: Installation,
    credentials: TempDir,
    receiver: Receiver,
}

impl NotificationSetup {
    fn new() -> NotificationSetup {
        NotificationSetup::with(Installation::with_address_guard())
    }

    fn with(installation: Installation) -> NotificationSetup {
        let setup = NotificationSetup {
            installation,
            credentials: tempfile::tempdir().unwrap(),
            receiver: Receiver::start(),
        };
        for chat in ["slack", "discord", "teams"] {
            setup.put(chat, &json!({"url": setup.receiver.url(&format!("/{chat}/{HOOK}"))}));
        }
        setup.put("webhook", &json!({"secret": KEY}));
        setup.put("alertmanager", &json!({"token": TOKEN, "url": setup.receiver.url("/prometheus")}));
        setup.put("git", &json!({"token": TOKEN}));
        setup
    }

    fn put(&self, name: &str, fields: &Value) {
        let file = self.credentials.path().join(format!("{name}.json"));
        fs::write(&file, fields.to_string()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn serve(&self) -> Server {
        self.serve_with_crash_point(None)
    }

    fn serve_with_crash_point(&self, point: Option<&str>) -> Server {
        self.serve_at(&self.installation, point)
    }

    fn serve_at(&self, installation: &Installation, point: Option<&str>) -> Server {
        let directory = self.credentials.path().display().to_string();
        let options = ["--credentials-dir", &directory, "--public-url", PUBLIC, "--log", "debug"];
        installation
            .serve_with_crash_point(point, &[&options[..], &["--allow-insecure-notifications"]].concat())
    }

    /// Configures a webhook at the receiver, and an alert about changes of clusters.
    fn watch_clusters(&self, api: &Api) {
        self.webhook(api, "hook");
        alert(api, "clusters", &json!({"providers": ["hook"], "resources": [{"kind": "cluster"}]}));
    }

    fn webhook(&self, api: &Api, name: &str) {
        let address = self.receiver.url(&format!("/{name}"));
        provider(api, name, json!({"type": "webhook", "address": address, "credential_path": "webhook"}));
    }
}

fn provider(api: &Api, name: &str, mut spec: Value) {
    spec["name"] = json!(name);
    api.create(Noun::NotificationProvider, &spec).unwrap();
}

fn alert(api: &Api, name: &str, spec: &Value) {
    let mut spec = spec.clone();
    spec["name"] = json!(name);
    api.create(Noun::Alert, &spec).unwrap();
}

fn cluster(api: &Api, name: &str) {
    api.create(Noun::Cluster, &json!({"name": name})).unwrap();
}

fn deliveries(api: &Api) -> Vec<DeliveryInfo> {
    let call = api.call(Operation::DeliveryList, &[]).query("limit", "500");
    api.send::<DeliveryList>(call).unwrap().notification_deliveries
}

/// Waits until a delivery has a state.
fn wait_for_delivery(api: &Api, id: &str, state: &str) -> DeliveryInfo {
    api.wait_for(state, |api| deliveries(api).into_iter().find(|it| it.id == id && it.state.slug() == state))
}

/// The HMAC by openssl of the key and the signed text.
fn openssl_hmac(text: &str) -> String {
    let mut openssl = Command::new("openssl")
        .args(["dgst", "-sha256", "-hmac", KEY])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    openssl.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = String::from_utf8(openssl.wait_with_output().unwrap().stdout).unwrap();
    said.trim().rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn each_provider_gets_its_own_format_and_no_secret_is_stored_or_logged() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    for chat in ["slack", "discord", "teams"] {
        provider(api, chat, json!({"type": chat, "credential_path": chat}));
    }
    setup.webhook(api, "hook");
    let address = setup.receiver.url("/prometheus");
    let alertmanager = json!({"type": "alertmanager", "address": address, "credential_path": "alertmanager"});
    provider(api, "alertmanager", alertmanager);
    let all = ["slack", "discord", "teams", "hook", "alertmanager"];
    alert(api, "all", &json!({"providers": all, "resources": [{"kind": "cluster", "name": "prod-*"}]}));
    cluster(api, "staging");
    cluster(api, "prod-eu");

    let told: BTreeMap<String, Received> =
        (0..all.len()).map(|_| setup.receiver.next()).map(|it| (it.path.clone(), it)).collect();
    let body = |path: &str| told[path].json();
    let page = format!("{PUBLIC}/app/resources/cluster/prod-eu");
    let slack = body(&format!("/slack/{HOOK}"));
    assert!(slack["text"].as_str().unwrap().contains("cluster prod-eu was created"), "{slack}");
    assert_eq!(slack["blocks"][3]["elements"][0]["url"], page);
    let discord = body(&format!("/discord/{HOOK}"));
    assert_eq!(discord["embeds"][0]["url"], page);
    assert_eq!(discord["allowed_mentions"], json!({"parse": []}));
    let teams = body(&format!("/teams/{HOOK}"));
    assert_eq!(teams["attachments"][0]["content"]["actions"][0]["url"], page);
    let alerts = body("/prometheus/api/v2/alerts");
    assert_eq!(alerts[0]["labels"]["resource"], "prod-eu");
    assert_eq!(alerts[0]["labels"]["alertname"], "windlass.resource.changed");
    assert_eq!(told["/prometheus/api/v2/alerts"].headers["authorization"], format!("Bearer {TOKEN}"));

    let hook = &told["/hook"];
    let event = &hook.json()["event"];
    assert_eq!(event["resource"], json!({"kind": "cluster", "name": "prod-eu"}));
    assert_eq!(hook.json()["delivery_id"], hook.delivery());
    assert_eq!(hook.headers["x-windlass-event"], "resource.changed");
    let signature = &hook.headers["x-windlass-signature"];
    let (time, signed) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    assert_eq!(signed, openssl_hmac(&format!("{time}.{}", hook.body)));

    let logged: Vec<DeliveryInfo> =
        told.values().map(|it| wait_for_delivery(api, it.delivery(), "sent")).collect();
    assert!(logged.iter().all(|it| it.attempts == 1 && it.alert.as_deref() == Some("all")), "{logged:?}");
    assert_eq!(deliveries(api).len(), all.len(), "nothing was told of staging");
    check_no_secret_is_shown(&setup, api);
}

/// Checks that only the receiver has the secrets.
fn check_no_secret_is_shown(setup: &NotificationSetup, api: &Api) {
    let said = [
        serde_json::to_string(&deliveries(api)).unwrap(),
        serde_json::to_string(&api.events(0).unwrap()).unwrap(),
        serde_json::to_string(&api.audit().unwrap()).unwrap(),
        serde_json::to_string(&api.resources().unwrap()).unwrap(),
        api.text(api.call(Operation::Export, &[])).unwrap(),
        setup.installation.log(),
    ];
    for (index, text) in said.iter().enumerate() {
        for secret in [HOOK, KEY, TOKEN] {
            assert!(!text.contains(secret), "{secret} in {index}");
        }
    }
    let database = fs::read(setup.installation.data().join("windlass.db")).unwrap();
    let database = String::from_utf8_lossy(&database).into_owned();
    assert!(![HOOK, KEY, TOKEN].iter().any(|secret| database.contains(secret)));
}

#[test]
fn a_failed_notification_is_retried_under_the_same_id_after_retry_after() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    setup.watch_clusters(api);
    setup.receiver.answer("500 Broken");
    setup.receiver.answer("429 Slow down\nretry-after: 1");
    cluster(api, "prod");
    let tries = [setup.receiver.next(), setup.receiver.next(), setup.receiver.next()];
    assert!(tries.iter().all(|it| it.delivery() == tries[0].delivery()));
    let sent = wait_for_delivery(api, tries[0].delivery(), "sent");
    assert_eq!((sent.attempts, sent.last_error, sent.next_at), (3, None, None));
    let (status, said) = refused(api.send::<Value>(api.call(Operation::DeliveryRetry, &[&sent.id])));
    assert_eq!((status, said.as_str()), (409, "the notification is already delivered"));
}

#[test]
fn a_server_that_crashes_after_sending_sends_again_under_the_same_id() {
    let setup = NotificationSetup::new();
    let mut server = setup.serve_with_crash_point(Some("notify.sent"));
    setup.watch_clusters(&server.api);
    cluster(&server.api, "prod");
    let first = setup.receiver.next();
    assert!(!server.wait_for_end().success());
    let server = setup.serve();
    let again = setup.receiver.next();
    assert_eq!(again.delivery(), first.delivery());
    assert_eq!(again.json(), first.json());
    wait_for_delivery(&server.api, first.delivery(), "sent");
    assert_eq!(deliveries(&server.api).len(), 1);
    assert_eq!(setup.receiver.unread_requests().len(), 0);
}

#[test]
fn what_waits_for_approval_is_one_message_that_leads_to_its_page() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    let declared = format!(
        "notification_providers:\n  hook: {{type: webhook, address: \"{}\"}}\n\
         alerts:\n  - {{name: approvals, providers: [hook], events: [gitops.approval_requested]}}\n",
        setup.receiver.url("/hook")
    );
    let work = repository_with(&fleet(&declared));
    let repository = register(api, "fleet", &work);
    assert_eq!(api.apply_all(&repository.id).unwrap().status.slug(), "applied");
    let clusters = "clusters: [{name: a}, {name: b}, {name: c}]\n";
    work.commit("fleet.yaml", &fleet(&format!("{declared}{clusters}")));
    let run = api.sync(&repository.id).unwrap();

    let told = setup.receiver.next().json();
    assert_eq!(told["link"], format!("{PUBLIC}/app/approvals?run={}", run.id));
    let words = "3 changes of fleet are pending approval: 3 to create, 0 to change, 0 to destroy";
    assert_eq!(told["event"]["message"], words);
    assert_eq!(told["event"]["run_id"], run.id);
    let asked = |api: &Api| {
        let events = api.events(0).unwrap();
        events.into_iter().filter(|event| event.kind == "gitops.approval_requested").count()
    };
    assert_eq!(asked(api), 2, "one for each run that opened something");
    api.sync(&repository.id).unwrap();
    assert_eq!(asked(api), 2, "what was asked for is not asked for again");
    assert_eq!(setup.receiver.unread_requests().len(), 0);
}

#[test]
fn the_same_is_told_once_and_a_burst_up_to_the_rate() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    setup.watch_clusters(api);
    cluster(api, "prod");
    let first = setup.receiver.next();
    for number in 0..4 {
        api.patch(Noun::Cluster, "prod", &json!({"description": number.to_string()})).unwrap();
    }
    let repeats = |api: &Api| deliveries(api).into_iter().find(|it| it.repeats == 4);
    let counted = api.wait_for("repeats", repeats);
    assert_eq!(counted.id, first.delivery());
    for number in 0..40 {
        cluster(api, &format!("c-{number}"));
    }
    let all = api.wait_for("all of them", |api| Some(deliveries(api)).filter(|all| all.len() == 41));
    let suppressed = all.iter().filter(|it| it.state.slug() == "suppressed").count();
    // A slow machine may have needed more than the minute of the rate window.
    assert!((1..=22).contains(&suppressed), "{suppressed}");
}

#[test]
fn a_digest_tells_how_much_was_not_told_by_itself() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    setup.watch_clusters(&server.api);
    let account =
        server.api.send::<windlass_api::types::Me>(server.api.call(Operation::Me, &[])).unwrap().account_id;
    server.stop();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let an_hour_ago = Timestamp::from_millis(0).plus(since_1970 - Duration::from_secs(3600));
    let suppressed = |seq| Delivery {
        id: new_id(),
        account_id: AccountId::new(&account),
        alert: "clusters".to_owned(),
        provider: "hook".to_owned(),
        event_seq: Some(seq),
        event_kind: "resource.changed".to_owned(),
        group_key: seq.to_string(),
        message: json!({}),
        state: DeliveryState::Suppressed,
        attempts: 0,
        repeats: 0,
        next_at: an_hour_ago,
        last_error: None,
        since: an_hour_ago,
        created_at: an_hour_ago,
        finished_at: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address = Address::Sqlite(setup.installation.data().join("windlass.db"));
        let store = Store::open(&address).await.unwrap();
        let mut writing = store.write().await.unwrap();
        writing.deliveries_add(&[suppressed(1), suppressed(2), suppressed(3)]).await.unwrap();
        writing.commit().await.unwrap();
        store.close().await;
    });
    let server = setup.serve();
    let digest = setup.receiver.next();
    assert_eq!(digest.headers["x-windlass-event"], "notification.digest");
    let message = digest.json()["event"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("3 more events"), "{message}");
    wait_for_delivery(&server.api, digest.delivery(), "sent");
    assert_eq!(setup.receiver.unread_requests().len(), 0);
}

#[test]
fn what_is_given_up_is_told_elsewhere_but_not_to_itself_and_can_be_sent_again() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    setup.watch_clusters(api);
    setup.webhook(api, "other");
    alert(api, "failures", &json!({"providers": ["hook", "other"], "events": ["notification.failed"]}));
    setup.receiver.answer("404 Gone");
    cluster(api, "prod");
    let refused = setup.receiver.next();
    let told = setup.receiver.next();
    assert_eq!((refused.path.as_str(), told.path.as_str()), ("/hook", "/other"));
    let message = told.json()["event"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("abandoned a notification through hook: it refuses the message (status 404)"),
        "{message}"
    );
    let failed = wait_for_delivery(api, refused.delivery(), "failed");
    assert_eq!(failed.attempts, 1);
    let again: DeliveryEnvelope = api.send(api.call(Operation::DeliveryRetry, &[&failed.id])).unwrap();
    assert_eq!(again.notification_delivery.state.slug(), "pending");
    assert_eq!(setup.receiver.next().delivery(), failed.id);
    wait_for_delivery(api, &failed.id, "sent");
    assert_eq!(setup.receiver.unread_requests().len(), 0);
}

#[test]
fn a_test_says_exactly_what_happened_and_where_nothing_may_be_sent() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    setup.webhook(api, "hook");
    provider(api, "lost", json!({"type": "slack", "credential_path": "absent"}));
    provider(api, "cloud", json!({"type": "webhook", "address": "https://169.254.169.254/latest"}));
    provider(api, "clear", json!({"type": "webhook", "address": "http://192.0.2.1/x"}));
    let thief = setup.receiver.url("/thief");
    provider(api, "thief", json!({"type": "webhook", "address": thief, "credential_path": "git"}));
    let test = |name: &str| api.send::<ProviderTest>(api.call(Operation::ProviderTest, &[name])).unwrap();
    let good = test("hook");
    assert!(good.ok, "{good:?}");
    let received = setup.receiver.next();
    assert_eq!(received.delivery(), good.delivery_id);
    assert_eq!(received.json()["event"]["kind"], "notification.test");
    setup.receiver.answer("302 Found\nlocation: https://elsewhere.example");
    for (name, words) in [
        ("hook", "does not follow redirects (status 302)"),
        ("lost", "the credential absent does not exist"),
        ("cloud", "`169.254.169.254` resolves to a cloud metadata address"),
        ("clear", "the address is not https"),
        ("thief", "the credential does not name its hosts"),
    ] {
        let bad = test(name);
        assert!(!bad.ok && bad.message.contains(words), "{name}: {bad:?}");
    }
    assert_eq!(deliveries(api).iter().filter(|it| it.state.slug() == "failed").count(), 5);
    assert_eq!(setup.receiver.unread_requests().len(), 1, "the redirect alone");
    let server_without = {
        server.stop();
        setup.installation.serve(&["--credentials-dir", &setup.credentials.path().display().to_string()])
    };
    let api = &server_without.api;
    let bad = api.send::<ProviderTest>(api.call(Operation::ProviderTest, &["hook"])).unwrap();
    assert!(bad.message.contains("`127.0.0.1` resolves to a loopback address"), "{bad:?}");
}

#[test]
fn a_mail_arrives_as_text_and_html_with_the_id_of_its_delivery() {
    let Some(mail) = MailServer::start() else { return };
    let setup = NotificationSetup::new();
    let server = setup.serve();
    let api = &server.api;
    let address = format!("smtp://127.0.0.1:{}", mail.port());
    let people = ["ops@example.com", "lead@example.com"];
    let spec = json!({"type": "email", "address": address, "from": "windlass@example.com", "to": people});
    provider(api, "mail", spec);
    alert(api, "clusters", &json!({"providers": ["mail"], "resources": [{"kind": "cluster"}]}));
    cluster(api, "prod");
    let text = mail.next(TIMEOUT);
    let sent =
        api.wait_for("the mail", |api| deliveries(api).into_iter().find(|it| it.state.slug() == "sent"));
    for expected in [
        "From: windlass@example.com",
        "To: lead@example.com, ops@example.com",
        "Subject: [Windlass] changed: cluster prod was created by admin@localhost",
        "text/plain",
        "text/html",
        &format!("Message-ID: <{}@example.com>", sent.id),
        &format!("X-Windlass-Delivery: {}", sent.id),
        &format!("{PUBLIC}/app/resources/cluster/prod"),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn several_servers_on_one_database_tell_everything_once() {
    let Some(postgres) = Postgres::shared() else { return };
    let setup = NotificationSetup::with(Installation::with_database(postgres.fresh_database()));
    let first = setup.serve();
    let replica = setup.installation.replica();
    let second = setup.serve_at(&replica, None);
    setup.watch_clusters(&first.api);
    for number in 0..8 {
        cluster(if number % 2 == 0 { &first.api } else { &second.api }, &format!("c-{number}"));
    }
    let mut told: Vec<String> = (0..8).map(|_| setup.receiver.next().delivery().to_owned()).collect();
    let all_sent = |api: &Api| deliveries(api).iter().all(|it| it.state.slug() == "sent").then_some(());
    first.api.wait_for("all of them", all_sent);
    told.sort();
    let mut logged: Vec<String> = deliveries(&second.api).into_iter().map(|it| it.id).collect();
    logged.sort();
    assert_eq!(told, logged);
    assert_eq!(setup.receiver.unread_requests().len(), 0);
}

#[test]
fn the_command_line_tests_lists_and_sends_again() {
    let setup = NotificationSetup::new();
    let server = setup.serve();
    setup.webhook(&server.api, "hook");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(arguments)
            .env("WINDLASS_SERVER", &server.address)
            .env("WINDLASS_TOKEN", setup.installation.token().unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = run(&["notify", "test", "hook"]);
    assert_eq!((code, said.trim()), (Some(0), "✓ hook accepted the message: status 200"));
    setup.receiver.answer("403 No");
    let (code, said) = run(&["notify", "test", "hook"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it refuses the message (status 403)"), "{said}");
    let (code, said) = run(&["notify", "log", "--state", "failed", "--output", "json"]);
    let failed: Value = serde_json::from_str(&said).unwrap();
    let id = failed["notification_deliveries"][0]["id"].as_str().unwrap();
    assert_eq!((code, failed["notification_deliveries"].as_array().unwrap().len()), (Some(0), 1));
    let (code, said) = run(&["notify", "retry", id]);
    assert_eq!((code, said.trim()), (Some(0), format!("{id} will be resent through hook").as_str()));
    wait_for_delivery(&server.api, id, "sent");
    let (code, said) = run(&["notify", "log"]);
    assert!(code == Some(0) && said.contains("notification.test") && said.contains("sent"), "{said}");
}
