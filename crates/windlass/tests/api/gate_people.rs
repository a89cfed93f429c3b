//! Author means everyone who had a hand in it: author, committer, co-authors, who pushed it, and every editor.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{Installation, Person, fleet};
use crate::signing::{Way, hooked, seconds};

const PROPOSALS: &str = "/api/v1/system/proposals";
const FLEET: &str = "version: 1\naccount: acme\nclusters: [{name: one}]\n";

async fn require_another(installation: &Installation, admin: &Person) {
    let rules = json!([{"name": "another", "action": "require_approval", "not_author": true}]);
    let body = json!({"policy": {"rules": rules}});
    installation.tell(&admin.token, "PUT", "/api/v1/system/approval_policy", &body).await.expect(200);
}

async fn approver(installation: &Installation, email: &str) -> Person {
    installation.person_called(email, &installation.account, Role::Admin).await
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
    installation.ask(&admin.token, "POST", &format!("{PROPOSALS}/{proposal}/approve")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_pushed_as_the_forge_says_does_not_approve_whether_it_says_so_before_or_after_the_sync() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    require_another(&installation, &admin).await;
    let (work, id, keys) = hooked(&installation, &admin).await;
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
        let headers = Way::GitHub.headers(&keys, "push", body.as_bytes(), seconds());
        assert_eq!(installation.deliver(&keys.url, &headers, body.as_bytes()).await.status, 202);
        installation.sync(&admin, &id).await;
        let path = format!("{PROPOSALS}?status=open&name={name}");
        let listed = installation.get(&admin, &path).await;
        let proposal = listed["proposals"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
        is_refused_as(&installation, &pusher, &proposal, "the person who pushed the commit").await;
    }
}
