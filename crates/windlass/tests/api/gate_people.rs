//! Every contributor counts as author: author, committer, co-authors, pusher, and every editor.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{Installation, Person, fleet};
use crate::signing::{SigningMethod, repository_with_webhook, seconds};

const PROPOSALS: &str = "/api/v1/system/proposals";
const FLEET: &str = "version: 1\naccount: acme\nclusters: [{name: one}]\n";

async fn require_another(installation: &Installation, admin: &Person) {
    let rules = json!([{"name": "another", "action": "require_approval", "not_author": true}]);
    let body = json!({"policy": {"rules": rules}});
    installation.tell(&admin.token, "PUT", "/api/v1/system/approval_policy", &body).await.expect(200);
}

async fn approver(installation: &Installation, email: &str) -> Person {
    installation.person_with_email(email, &installation.account, Role::Admin).await
}

async fn is_refused_as(installation: &Installation, person: &Person, proposal: &str, role: &str) {
    let refused = installation.ask(&person.token, "POST", &format!("{PROPOSALS}/{proposal}/approve")).await;
    assert_eq!(refused.status, 403, "{role}: {refused:?}");
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains(role), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_authors_nor_committers_nor_co_authors_of_any_commit_since_the_last_good_one_approve() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    require_another(&installation, &admin).await;
    let work = fleet("version: 1\naccount: acme\n");
    let repository = installation.register(&admin, "fleet", &work).await;
    installation.sync(&admin, &repository).await;
    work.commit("fleet.yaml", FLEET);
    let trailer = "second\n\nCo-authored-by: Dan <dan@example.com>";
    let author = "--author=Bea <bea@example.com>";
    work.git(&["commit", "--quiet", "--allow-empty", author, "--message", trailer]);
    work.git(&[
        "-c",
        "user.name=x",
        "commit",
        "--quiet",
        "--allow-empty",
        "--author=Cy <cy@example.com>",
        "--message",
        "third",
    ]);
    let run = installation.sync(&admin, &repository).await;
    let proposal = run["proposals"][0]["id"].as_str().unwrap().to_owned();
    for (email, role) in [
        ("ana@example.com", "the commit's"),
        ("bea@example.com", "the commit's author"),
        ("cy@example.com", "the commit's author"),
        ("dan@example.com", "a co-author of the commit"),
    ] {
        let person = approver(&installation, email).await;
        is_refused_as(&installation, &person, &proposal, role).await;
    }
    installation.ask(&admin.token, "POST", &format!("{PROPOSALS}/{proposal}/approve")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_too_many_people_keeps_its_pusher_and_needs_one_more_approval() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    require_another(&installation, &admin).await;
    let (work, id, keys) = repository_with_webhook(&installation, &admin).await;
    installation.sync(&admin, &id).await;
    let (pusher, other) =
        (approver(&installation, "eve@example.com").await, approver(&installation, "bob@example.com").await);
    work.commit("fleet.yaml", FLEET);
    let made_up: String =
        (0..300).map(|number| format!("Co-authored-by: N <{number}@example.com>\n")).collect();
    let message = format!("one\n\n{made_up}");
    work.git(&["commit", "--quiet", "--amend", "--author=X <x@example.com>", "--message", &message]);
    let body = json!({"ref": "refs/heads/main", "after": work.head(), "pusher": {"email": pusher.email}})
        .to_string();
    let headers = SigningMethod::GitHub.headers(&keys, "push", body.as_bytes(), seconds());
    assert_eq!(installation.deliver(&keys.url, &headers, body.as_bytes()).await.status, 202);
    installation.sync(&admin, &id).await;
    let listed = installation.get(&admin, &format!("{PROPOSALS}?status=open&name=one")).await;
    let proposal = listed["proposals"][0].clone();
    let gap = proposal["contributors_gap"].as_str().unwrap_or_else(|| panic!("{listed}"));
    assert!(gap.contains("more people"), "{gap}");
    assert_eq!(proposal["gate"]["need"], 2, "{proposal}");
    assert!(proposal["gate"]["reasons"].to_string().contains("one approval more"), "{proposal}");
    let proposal = proposal["id"].as_str().unwrap();
    is_refused_as(&installation, &pusher, proposal, "the person who pushed the commit").await;
    let half = installation.approve(&other, proposal).await.expect(200);
    assert_eq!(half["proposal"]["status"], "pending_approval", "{half}");
    let whole = installation.approve(&admin, proposal).await.expect(200);
    assert_ne!(whole["proposal"]["status"], "pending_approval", "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contributors_are_marked_as_incomplete_after_a_change_of_source() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    require_another(&installation, &admin).await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let first = installation.sync(&admin, &repository).await;
    let path = format!("{PROPOSALS}/{}", first["proposals"][0]["id"].as_str().unwrap());
    let shown = installation.get(&admin, &path).await["proposal"].clone();
    assert_eq!((&shown["contributors_gap"], &shown["gate"]["need"]), (&Value::Null, &json!(1)), "{shown}");
    installation.apply_all(&admin, &first).await;
    let here = format!("/api/v1/system/gitops_repositories/{repository}");
    let change = async |fields: Value| {
        let body = json!({"gitops_repository": fields});
        installation.tell(&admin.token, "PATCH", &here, &body).await.expect(200)["gitops_repository"].clone()
    };
    let same = change(json!({"allowed_signers": ""})).await;
    assert_eq!(same["last_synced_revision"], json!(work.head()), "the same signers forget nothing: {same}");
    work.commit("fleet.yaml", "version: 1\naccount: acme\nclusters: [{name: one}, {name: two}]\n");
    change(json!({"branch": "other"})).await;
    change(json!({"branch": "main"})).await;
    let run = installation.sync(&admin, &repository).await;
    let id = run["proposals"][0]["id"].as_str().unwrap_or_else(|| panic!("{run}"));
    let shown = installation.get(&admin, &format!("{PROPOSALS}/{id}")).await["proposal"].clone();
    assert!(shown["contributors_gap"].as_str().unwrap().contains("source or signers changed"), "{shown}");
    assert_eq!(shown["gate"]["need"], 2, "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_editor_approves_what_they_edited_before_someone_else_did() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    require_another(&installation, &admin).await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let proposal = run["proposals"][0]["id"].as_str().unwrap().to_owned();
    let (first, second) = (
        approver(&installation, "first@example.com").await,
        approver(&installation, "second@example.com").await,
    );
    for (editor, tier) in [(&first, "a"), (&second, "b")] {
        let edit = json!({"payload": {"labels": {"tier": tier}}});
        installation
            .tell(&editor.token, "POST", &format!("{PROPOSALS}/{proposal}/edit"), &edit)
            .await
            .expect(200);
    }
    for editor in [&first, &second] {
        is_refused_as(&installation, editor, &proposal, "an editor of the proposal").await;
    }
    let undo = json!({"payload": Value::Null});
    installation
        .tell(&second.token, "POST", &format!("{PROPOSALS}/{proposal}/edit"), &undo)
        .await
        .expect(200);
    is_refused_as(&installation, &first, &proposal, "an editor of the proposal").await;
    installation.approve(&admin, &proposal).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_pushed_as_the_forge_says_does_not_approve_whether_it_says_so_before_or_after_the_sync() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    require_another(&installation, &admin).await;
    let (work, id, keys) = repository_with_webhook(&installation, &admin).await;
    let pusher = approver(&installation, "pusher@example.com").await;
    for (number, first) in ["hook", "sync"].into_iter().enumerate() {
        let name = format!("cluster-{number}");
        let commit =
            work.commit("fleet.yaml", &format!("version: 1\naccount: acme\nclusters: [{{name: {name}}}]\n"));
        let body =
            json!({"ref": "refs/heads/main", "after": commit, "pusher": {"email": pusher.email}}).to_string();
        if first == "sync" {
            installation.sync(&admin, &id).await;
        }
        let headers = SigningMethod::GitHub.headers(&keys, "push", body.as_bytes(), seconds());
        assert_eq!(installation.deliver(&keys.url, &headers, body.as_bytes()).await.status, 202);
        installation.sync(&admin, &id).await;
        let path = format!("{PROPOSALS}?status=open&name={name}");
        let listed = installation.get(&admin, &path).await;
        let proposal = listed["proposals"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
        is_refused_as(&installation, &pusher, &proposal, "the person who pushed the commit").await;
    }
}
