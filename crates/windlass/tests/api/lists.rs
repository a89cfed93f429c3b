//! Lists return every item once, even if the list changes while it is read.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::endpoint::endpoints;
use windlass_core::resource::{Kind, ResourceKey, Spec};

use crate::harness::{Installation, names, now, texts};

const CLUSTERS: &str = "/api/v1/system/clusters";

async fn make_clusters(installation: &Installation, names: &[String]) {
    let spec = Spec::read(Kind::Cluster, "{}").spec.unwrap();
    let mut writing = installation.store.write_account(&installation.account).await.unwrap();
    for name in names {
        let key = ResourceKey::new(Kind::Cluster, name);
        writing.resource_put(&key, &spec, None, "test", now()).await.unwrap();
    }
    writing.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_walks_all_of_1203_exactly_once_while_others_come_and_go() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let all: Vec<String> = (0..1_203).map(|number| format!("c-{number:05}")).collect();
    make_clusters(&installation, &all).await;
    for path in [CLUSTERS, "/api/v1/system/resources"] {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let (mut cursor, mut pages) = (String::new(), 0);
        loop {
            let page = installation.get(&admin, &format!("{path}?limit=100{cursor}")).await;
            let list = if path == CLUSTERS { &page["clusters"] } else { &page["resources"] };
            for name in texts(list, "name") {
                *seen.entry(name).or_default() += 1;
            }
            pages += 1;
            let (before, behind) = (format!("a-{pages}-new"), format!("c-{pages:05}-new"));
            make_clusters(&installation, &[before, behind]).await;
            match page["meta"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert!(pages >= 13, "{pages}");
        assert!(seen.values().all(|times| *times == 1));
        assert!(all.iter().all(|name| seen.contains_key(name)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_is_none_is_refused_on_every_list() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    // Not base64; base64 of no text; of a text that is no position; of nothing.
    let garbage = ["%21%21", "nonsense", "_____w", "eHh4", "Ly8v", "LTk5OTk5OTk5OTk5OTk5OTk5OTk5", ""];
    let mut lists = 0;
    for endpoint in endpoints() {
        let takes_cursor = endpoint.query.iter().any(|(name, _)| *name == "cursor");
        if !takes_cursor || endpoint.path.contains('{') {
            continue;
        }
        lists += 1;
        for cursor in garbage {
            let path = format!("{}?cursor={cursor}", endpoint.path);
            let reply = installation.ask(&admin.token, "GET", &path).await;
            assert_eq!(reply.status, 400, "{path}: {reply:?}");
        }
        for limit in ["0", "501", "-1", "x", "1e3", "99999999999999999999", "1.5", ""] {
            let path = format!("{}?limit={limit}", endpoint.path);
            let reply = installation.ask(&admin.token, "GET", &path).await;
            assert_eq!(reply.status, 400, "{path}: {reply:?}");
        }
        for limit in ["1", "500"] {
            installation.get(&admin, &format!("{}?limit={limit}", endpoint.path)).await;
        }
    }
    assert!(lists > 15, "{lists}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_takes_every_character_as_itself() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let all = ["axb", "a_b", "a.b", "Mixed", "plain"].map(str::to_owned);
    make_clusters(&installation, &all).await;
    let cases = [
        ("a_b", vec!["a_b"]),
        ("a.b", vec!["a.b"]),
        ("_", vec!["a_b"]),
        ("%25", vec![]),
        ("%5C", vec![]),
        ("*", vec![]),
        ("%27%20OR%201%3D1--", vec![]),
        ("mixed", vec!["Mixed"]),
        ("MIX", vec!["Mixed"]),
        ("%C3%BC%F0%9F%A6%80", vec![]),
        ("", vec!["Mixed", "a.b", "a_b", "axb", "plain"]),
    ];
    for (query, found) in cases {
        let page = installation.get(&admin, &format!("{CLUSTERS}?q={query}")).await;
        assert_eq!(
            names(&page["clusters"]),
            found.iter().map(|name| (*name).to_owned()).collect(),
            "{query}"
        );
    }
    for list in ["proposals", "fleet_events", "resources"] {
        for query in ["%25", "_", "%5C", "%27", "%F0%9F%A6%80"] {
            installation.get(&admin, &format!("/api/v1/system/{list}?q={query}")).await;
        }
    }
    let none = installation.get(&admin, "/api/v1/system/clusters?repository=none").await;
    assert_eq!(none["clusters"].as_array().unwrap().len(), 5);
    assert_eq!(none["meta"]["next_cursor"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_walked_forwards_and_backwards_without_a_gap() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for number in 0..12 {
        installation.make_cluster(&admin, &format!("c-{number}")).await.expect(201);
    }
    for (start, is_forward) in [("", false), ("&after=0", true)] {
        let (mut cursor, mut seen) = (String::new(), Vec::new());
        loop {
            let page = installation
                .get(&admin, &format!("/api/v1/system/fleet_events?limit=5{start}{cursor}"))
                .await;
            let list = page["fleet_events"].as_array().unwrap().clone();
            seen.extend(list.iter().map(|event| event["seq"].as_i64().unwrap()));
            match page["meta"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let mut ordered = seen.clone();
        ordered.sort_unstable();
        ordered.dedup();
        assert_eq!(ordered.len(), 12, "{seen:?}");
        if !is_forward {
            ordered.reverse();
        }
        assert_eq!(seen, ordered);
    }
}
