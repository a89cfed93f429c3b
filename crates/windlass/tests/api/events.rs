//! The stream of events resumes without loss or repetition, with concurrent writers.

use serde_json::json;

use crate::harness::{FLEET, Installation, fleet};

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_who_comes_back_misses_nothing_and_hears_nothing_twice() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut stream = installation.listen(&admin.token, "?after=0", None).await;
    let (mut heard, mut last) = (Vec::new(), 0);
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let requests: Vec<_> = (0..25)
                .map(|number| {
                    let body = json!({"name": format!("c-{writer}-{number}")});
                    installation
                        .request("POST", "/api/v1/system/clusters")
                        .bearer_auth(&admin.token)
                        .json(&body)
                })
                .collect();
            tokio::spawn(async move {
                for request in requests {
                    assert_eq!(request.send().await.unwrap().status().as_u16(), 201);
                }
            })
        })
        .collect();
    while heard.len() < 100 {
        let event = stream.next().await.unwrap();
        assert_eq!(event.id, last + 1, "the numbers of an account have no gap");
        last = event.id;
        heard.push(event.data["resource_name"].as_str().unwrap().to_owned());
        if heard.len() % 17 == 0 {
            stream = installation.listen(&admin.token, "", Some(last)).await;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_hears_the_kinds_they_asked_for() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut resources = installation.listen(&admin.token, "?kind=resource.changed", None).await;
    let mut gitops = installation.listen(&admin.token, "?kind=gitops.", None).await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    installation.sync(&admin, &repository).await;
    installation.make_cluster(&admin, "one").await.expect(201);
    assert_eq!(resources.next().await.unwrap().data["resource_name"], "one");
    let first = gitops.next().await.unwrap();
    assert_eq!(first.kind, "gitops.repository_registered");
    assert!(gitops.next().await.unwrap().kind.starts_with("gitops."));
    let listed = installation.get(&admin, "/api/v1/system/fleet_events?kind=gitops.&limit=500").await;
    let is_gitops = |event: &serde_json::Value| event["kind"].as_str().unwrap().starts_with("gitops.");
    assert!(listed["fleet_events"].as_array().unwrap().iter().all(is_gitops));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_to_resume_from_that_is_none_is_refused() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let path = "/api/v1/system/fleet_events/stream";
    let request =
        installation.request("GET", path).bearer_auth(&admin.token).header("last-event-id", "nonsense");
    assert_eq!(installation.send(request).await.status, 400);
    assert_eq!(installation.ask(&admin.token, "GET", &format!("{path}?after=nonsense")).await.status, 400);
}
