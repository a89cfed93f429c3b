//! Nobody gets more permissions than they were given, and revoked permissions end at once.

use serde_json::json;
use windlass_api::permission::{Permission, Role};
use windlass_core::id::UserId;
use windlass_core::redacted::Redacted;

use crate::harness::{ALL, FLEET, Installation, Life, file_url, fleet};

const TOKENS: &str = "/api/v1/auth/tokens";
const STATUS: &str = "/api/v1/system/status";

fn user(id: &UserId) -> String {
    format!("/api/v1/auth/users/{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_changes_does_not_approve_and_who_approves_does_not_change() {
    let installation = Installation::start().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    let approver = installation.person(&installation.account, Role::Approver).await;
    let work = fleet(FLEET);
    let repository = installation.register(&operator, "fleet", &work).await;
    let run = installation.sync(&operator, &repository).await;
    let proposal = format!("/api/v1/system/proposals/{}", run["proposals"][0]["id"].as_str().unwrap());
    for verb in ["approve", "reject", "apply"] {
        let refused = installation.ask(&operator.token, "POST", &format!("{proposal}/{verb}")).await;
        assert_eq!(refused.status, 403, "{verb}: {refused:?}");
    }
    let batch = json!({"decision": "approve", "approval_request_id": run["id"]});
    let path = "/api/v1/system/proposals/batch";
    assert_eq!(installation.tell(&operator.token, "POST", path, &batch).await.status, 403);
    assert_eq!(installation.make_cluster(&approver, "one").await.status, 403);
    let edit = json!({"payload": {"description": "x"}});
    let edited = installation.tell(&approver.token, "POST", &format!("{proposal}/edit"), &edit).await;
    assert_eq!(edited.status, 403);
    installation.ask(&approver.token, "POST", &format!("{proposal}/approve")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_approvers_enable_auto_apply_or_change_the_source_of_such_a_repository() {
    let installation = Installation::start().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    let admin = installation.admin().await;
    let (work, elsewhere) = (fleet(FLEET), fleet(FLEET));
    let registered =
        json!({"gitops_repository": {"name": "greedy", "repo_url": file_url(&work), "auto_apply": true}});
    let path = "/api/v1/system/gitops_repositories";
    assert_eq!(installation.tell(&operator.token, "POST", path, &registered).await.status, 403);
    let repository = installation.register(&operator, "fleet", &work).await;
    let here = format!("{path}/{repository}");
    let change = |fields: serde_json::Value| json!({ "gitops_repository": fields });
    let applying = change(json!({"auto_apply": true}));
    let refused = installation.tell(&operator.token, "PATCH", &here, &applying).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(
        refused.text.contains("`auto_apply` approves changes before anybody has seen them"),
        "{refused:?}"
    );
    installation.tell(&admin.token, "PATCH", &here, &applying).await.expect(200);
    // The permission covers only the content that was reviewed.
    for fields in
        [json!({"repo_url": file_url(&elsewhere)}), json!({"branch": "other"}), json!({"path_prefix": "x"})]
    {
        let refused = installation.tell(&operator.token, "PATCH", &here, &change(fields)).await;
        assert_eq!(refused.status, 403, "{refused:?}");
    }
    let slower = change(json!({"reconcile_interval_seconds": 900}));
    installation.tell(&operator.token, "PATCH", &here, &slower).await.expect(200);
    let off = change(json!({"auto_apply": false}));
    installation.tell(&operator.token, "PATCH", &here, &off).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_never_may_more_than_who_made_it() {
    let installation = Installation::start().await;
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let admin = installation.admin().await;
    let greedy = json!({"name": "greedy", "permissions": ["system.gitops.approve"]});
    let refused = installation.tell(&viewer.token, "POST", TOKENS, &greedy).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let record = installation.get(&admin, "/api/v1/system/audit?limit=1").await["audit"][0].clone();
    assert_eq!((&record["outcome"], &record["target"]), (&json!("refused"), &json!(TOKENS)), "{record}");
    let made = json!({"name": "by default", "expires_in_days": 1});
    let made = installation.tell(&viewer.token, "POST", TOKENS, &made).await.expect(201);
    assert_eq!(made["token"]["permissions"], json!(["system.gitops.read", "system.fleet.read"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_creates_neither_tokens_nor_people_with_any_permission() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let token = installation.api_token(&admin, &ALL, Life::Good).await;
    let new = json!({"email": "new@example.com", "role": "admin"});
    for (method, path, body, said) in [
        ("POST", TOKENS, json!({"name": "lasting"}), "a token cannot create tokens: sign in as a person"),
        (
            "POST",
            "/api/v1/auth/users",
            new.clone(),
            "a token cannot change an account's members: sign in as a person",
        ),
        (
            "PATCH",
            user(&admin.id).as_str(),
            json!({"reset_password": true}),
            "a token cannot change an account's members: sign in as a person",
        ),
        (
            "POST",
            "/api/v1/auth/password",
            json!({"current_password": "x", "new_password": "y"}),
            "a token cannot change a password: sign in as a person",
        ),
    ] {
        let refused = installation.tell(&token.secret, method, path, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"), "{method} {path}");
        assert_eq!(refused.json()["error"]["message"], said);
        let record = installation.get(&admin, "/api/v1/system/audit?limit=1").await["audit"][0].clone();
        assert_eq!((&record["outcome"], &record["target"]), (&json!("refused"), &json!(path)), "{record}");
    }
    installation.ask(&token.secret, "GET", TOKENS).await.expect(200);
    installation.tell(&admin.token, "POST", "/api/v1/auth/users", &new).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_loses_what_its_maker_loses() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let maker = installation.admin().await;
    let token = installation.api_token(&maker, &ALL, Life::Good).await;
    let halt = json!({"reason": "test"});
    installation.tell(&token.secret, "POST", "/api/v1/system/halt", &halt).await.expect(200);
    let demoted = json!({"role": "viewer"});
    installation.tell(&admin.token, "PATCH", &user(&maker.id), &demoted).await.expect(200);
    for (path, status) in [("/api/v1/system/halt", 403), ("/api/v1/system/resume", 403)] {
        assert_eq!(installation.tell(&token.secret, "POST", path, &halt).await.status, status);
    }
    installation.ask(&token.secret, "GET", STATUS).await.expect(200);
    let disabled = |disabled: bool| json!({"disabled": disabled});
    installation.tell(&admin.token, "PATCH", &user(&maker.id), &disabled(true)).await.expect(200);
    assert_eq!(installation.ask(&token.secret, "GET", STATUS).await.status, 401);
    assert_eq!(installation.ask(&maker.token, "GET", STATUS).await.status, 401);
    installation.tell(&admin.token, "PATCH", &user(&maker.id), &disabled(false)).await.expect(200);
    installation.ask(&token.secret, "GET", STATUS).await.expect(200);
    installation.ask(&admin.token, "DELETE", &user(&maker.id)).await.expect(204);
    assert_eq!(installation.ask(&token.secret, "GET", STATUS).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_in_other_accounts_too_is_not_touched_from_one_of_them() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let bravo = installation.new_account("bravo").await;
    let shared = installation.person(&bravo, Role::Admin).await;
    let here = installation.add_to_account(&shared, &installation.account, Role::Viewer).await;
    for body in [json!({"reset_password": true}), json!({"disabled": true}), json!({"disabled": false})] {
        let refused = installation.tell(&admin.token, "PATCH", &user(&shared.id), &body).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(!refused.text.contains("one_time_password"));
    }
    let role = json!({"role": "operator"});
    installation.tell(&admin.token, "PATCH", &user(&shared.id), &role).await.expect(200);
    installation.ask(&shared.token, "GET", "/api/v1/auth/users").await.expect(200);
    assert_eq!(installation.ask(&here.token, "GET", "/api/v1/auth/users").await.status, 403);
    installation.ask(&admin.token, "DELETE", &user(&shared.id)).await.expect(204);
    assert_eq!(installation.ask(&here.token, "GET", STATUS).await.status, 401);
    installation.ask(&shared.token, "GET", STATUS).await.expect(200);
    let root = installation.root().await;
    let reset = json!({"reset_password": true});
    assert_eq!(installation.tell(&admin.token, "PATCH", &user(&root.id), &reset).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_admin_stays() {
    let installation = Installation::start().await;
    let bravo = installation.new_account("bravo").await;
    let admin = installation.person(&bravo, Role::Admin).await;
    for body in [json!({"role": "viewer"}), json!({"disabled": true})] {
        let refused = installation.tell(&admin.token, "PATCH", &user(&admin.id), &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "last-admin"), "{refused:?}");
    }
    let refused = installation.ask(&admin.token, "DELETE", &user(&admin.id)).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "last-admin"));
    let second = installation.person(&bravo, Role::Admin).await;
    let body = json!({"role": "viewer"});
    let (first_path, second_path) = (user(&admin.id), user(&second.id));
    let (one, other) = tokio::join!(
        installation.tell(&admin.token, "PATCH", &second_path, &body),
        installation.tell(&second.token, "PATCH", &first_path, &body),
    );
    let done = [one.status, other.status].iter().filter(|status| **status == 200).count();
    assert_eq!(done, 1, "two admins who demote each other leave one: {one:?} {other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_peoples_tokens_are_not_there_for_who_is_no_admin() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let theirs = installation.api_token(&admin, &ALL, Life::Good).await;
    let own = installation.api_token(&viewer, &[Permission::FleetRead], Life::Good).await;
    let seen = installation.get(&viewer, TOKENS).await;
    assert_eq!(seen["tokens"].as_array().unwrap().len(), 1);
    assert_eq!(seen["tokens"][0]["id"], own.id.as_str());
    let foreign = installation.ask(&viewer.token, "DELETE", &format!("{TOKENS}/{}", theirs.id)).await;
    let absent = installation.ask(&viewer.token, "DELETE", &format!("{TOKENS}/absent")).await;
    assert_eq!((foreign.status, foreign.without_request()), (404, absent.without_request()));
    installation.ask(&theirs.secret, "GET", STATUS).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_token_does_and_tells_nothing_after() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let token = installation.api_token(&admin, &[Permission::GitopsRead], Life::Good).await;
    let mut stream = installation.listen(&token.secret, "", None).await;
    installation.make_cluster(&admin, "before").await.expect(201);
    assert_eq!(stream.next().await.unwrap().data["resource_name"], "before");
    installation.ask(&admin.token, "DELETE", &format!("{TOKENS}/{}", token.id)).await.expect(204);
    installation.make_cluster(&admin, "after").await.expect(201);
    assert!(stream.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_listener_is_taken_out_of_the_account() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let mut stream = installation.listen(&viewer.token, "", None).await;
    installation.ask(&admin.token, "DELETE", &user(&viewer.id)).await.expect(204);
    installation.make_cluster(&admin, "after").await.expect(201);
    assert!(stream.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_password_ends_every_session() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let person = installation.person(&installation.account, Role::Operator).await;
    let second = installation.session(&person.id, &person.account).await;
    let reset = json!({"reset_password": true});
    let changed = installation.tell(&admin.token, "PATCH", &user(&person.id), &reset).await.expect(200);
    let password = Redacted::new(changed["one_time_password"].as_str().unwrap().to_owned());
    for token in [&person.token, &second] {
        assert_eq!(installation.ask(token, "GET", STATUS).await.status, 401);
    }
    let login = json!({"email": person.email, "password": password.expose()});
    let session = installation.tell("", "POST", "/api/v1/auth/login", &login).await.expect(200);
    assert_eq!(session["me"]["must_change_password"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_change_is_audited_once_and_a_malformed_request_is_not() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "one").await.expect(201);
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let proposal = format!("/api/v1/system/proposals/{}", run["proposals"][0]["id"].as_str().unwrap());
    let cluster = "/api/v1/system/clusters/one";
    let cases = [
        ("POST", "/api/v1/system/clusters", json!({"name": "one"}), 409, "request", 1),
        ("POST", "/api/v1/system/clusters", json!({"name": "not a name"}), 422, "request", 1),
        ("POST", TOKENS, json!({"name": ""}), 422, "request", 1),
        ("POST", &format!("{proposal}/apply"), json!({}), 409, "request", 1),
        ("POST", &format!("{proposal}/approve"), json!({"digest": "another"}), 409, "proposal.approve", 1),
        ("POST", TOKENS, json!({"name": 5}), 400, "", 0),
        ("DELETE", "/api/v1/system/clusters/absent", json!({}), 404, "", 0),
    ];
    for (method, path, body, status, action, entries) in cases {
        let before = installation.get(&admin, "/api/v1/system/audit").await["audit"][0]["seq"].clone();
        let refused = installation.tell(&admin.token, method, path, &body).await;
        assert_eq!(refused.status, status, "{method} {path}: {refused:?}");
        let audit = installation.get(&admin, "/api/v1/system/audit").await;
        let new: Vec<_> =
            audit["audit"].as_array().unwrap().iter().take_while(|entry| entry["seq"] != before).collect();
        assert_eq!(new.len(), entries, "{method} {path}: {new:?}");
        for entry in new {
            assert_eq!((&entry["outcome"], &entry["action"]), (&json!("refused"), &json!(action)), "{entry}");
        }
    }
    let stale = installation.request("PATCH", cluster).bearer_auth(&admin.token).header("if-match", "\"99\"");
    let stale = installation.send(stale.json(&json!({"labels": {"a": "b"}}))).await;
    assert_eq!(stale.status, 412, "{stale:?}");
    let record = installation.get(&admin, "/api/v1/system/audit?limit=1").await["audit"][0].clone();
    assert_eq!(
        (&record["outcome"], &record["detail"]["code"]),
        (&json!("refused"), &json!("changed-meanwhile"))
    );
}
