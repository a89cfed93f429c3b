//! `ETag` and `If-Match`: nobody overwrites a version they have not seen.

use serde_json::{Value, json};

use crate::harness::{FLEET, Installation, Person, Reply, fleet};

/// An object with versions.
struct Subject {
    show: String,
    change: (&'static str, String),
    bodies: [Value; 2],
}

async fn change(
    installation: &Installation,
    person: &Person,
    of: &Subject,
    body: &Value,
    tag: &str,
) -> Reply {
    let (method, path) = &of.change;
    let request = installation.request(method, path).bearer_auth(&person.token).header("if-match", tag);
    installation.send(request.json(body)).await
}

async fn subjects(installation: &Installation, admin: &Person) -> Vec<Subject> {
    let work = fleet(FLEET);
    let repository = installation.register(admin, "fleet", &work).await;
    let run = installation.sync(admin, &repository).await;
    installation.make_cluster(admin, "one").await.expect(201);
    let node =
        run["proposals"].as_array().unwrap().iter().find(|proposal| proposal["kind"] == "node").unwrap();
    let proposal = format!("/api/v1/system/proposals/{}", node["id"].as_str().unwrap());
    let repository = format!("/api/v1/system/gitops_repositories/{repository}");
    let policy = "/api/v1/system/approval_policy".to_owned();
    let cluster = "/api/v1/system/clusters/one".to_owned();
    let interval = |seconds: u64| json!({"gitops_repository": {"reconcile_interval_seconds": seconds}});
    let labels = |value: &str| json!({"labels": {"a": value}});
    let edit = |region: &str| json!({"payload": {"template": "edge-base", "region": region}});
    let rules = |name: &str| json!({"policy": {"rules": [{"name": name, "action": "require_approval"}]}});
    vec![
        Subject {
            show: repository.clone(),
            change: ("PATCH", repository),
            bodies: [interval(60), interval(61)],
        },
        Subject {
            show: cluster.clone(),
            change: ("PATCH", cluster.clone()),
            bodies: [labels("1"), labels("2")],
        },
        Subject { show: cluster.clone(), change: ("PUT", cluster), bodies: [labels("3"), labels("4")] },
        Subject {
            change: ("POST", format!("{proposal}/edit")),
            show: proposal,
            bodies: [edit("x"), edit("y")],
        },
        Subject { show: policy.clone(), change: ("PUT", policy), bodies: [rules("a"), rules("b")] },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_meanwhile_is_not_overwritten() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for subject in subjects(&installation, &admin).await {
        let at = &subject.change.1;
        let shown = installation.ask(&admin.token, "GET", &subject.show).await;
        let tag = shown.header("etag").to_owned();
        assert!(tag.starts_with('"'), "{at}: {shown:?}");
        let [first, second] = &subject.bodies;
        let changed = change(&installation, &admin, &subject, first, &tag).await;
        assert_eq!(changed.status, 200, "{at}: {changed:?}");
        assert_ne!(changed.header("etag"), tag, "{at}");
        let late = change(&installation, &admin, &subject, second, &tag).await;
        assert_eq!((late.status, late.code().as_str()), (412, "changed-meanwhile"), "{at}: {late:?}");
        assert_eq!(change(&installation, &admin, &subject, second, "nonsense").await.status, 400, "{at}");
        let again = change(&installation, &admin, &subject, second, changed.header("etag")).await;
        assert_eq!(again.status, 200, "{at}: {again:?}");
        assert_eq!(change(&installation, &admin, &subject, first, "*").await.status, 200, "{at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_change_the_same_version_one_succeeds() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "one").await.expect(201);
    let path = "/api/v1/system/clusters/one";
    for _ in 0..5 {
        let tag = installation.ask(&admin.token, "GET", path).await.header("etag").to_owned();
        let mut asked = Vec::new();
        for number in 0..8 {
            let body = json!({"labels": {"n": format!("{tag}-{number}").replace('"', "")}});
            let request = installation.request("PATCH", path).bearer_auth(&admin.token);
            asked.push(tokio::spawn(request.header("if-match", &tag).json(&body).send()));
        }
        let mut done = 0;
        for answer in asked {
            let status = answer.await.unwrap().unwrap().status().as_u16();
            assert!(status == 200 || status == 412, "{status}");
            done += usize::from(status == 200);
        }
        assert_eq!(done, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_different_fields_at_once_all_stay() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "one").await.expect(201);
    let mut asked = Vec::new();
    for number in 0..16 {
        let request = installation.request("PATCH", "/api/v1/system/clusters/one").bearer_auth(&admin.token);
        asked.push(tokio::spawn(request.json(&json!({"labels": {format!("l{number}"): "x"}})).send()));
    }
    for answer in asked {
        assert_eq!(answer.await.unwrap().unwrap().status().as_u16(), 200);
    }
    let labels =
        installation.get(&admin, "/api/v1/system/clusters/one").await["cluster"]["spec"]["labels"].clone();
    assert_eq!(labels.as_object().unwrap().len(), 17, "{labels}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_or_made_anew_is_not_what_was_seen() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "one").await.expect(201);
    let path = "/api/v1/system/clusters/one";
    let request = installation.request("DELETE", path).bearer_auth(&admin.token).header("if-match", "\"77\"");
    assert_eq!(installation.send(request).await.status, 412);
    installation.ask(&admin.token, "DELETE", path).await.expect(204);
    assert_eq!(installation.ask(&admin.token, "DELETE", path).await.status, 404);
}
