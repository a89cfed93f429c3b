//! Accepted resources: storing, finding, paging and searching.

use serde_json::json;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_store::{NewResource, OwnerFilter, ResourceFilter, ResourceToDestroy, new_id};

use crate::delivery::by_people;
use crate::world::{World, at, ended, node, node_key, on_both, template};

#[test]
fn a_resource_is_created_updated_and_destroyed() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let key = node_key("edge-01");
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.resource_put(&key, &node("eu"), None, "ada", at(1)).await.unwrap();
        let first = writing.resource(&acme, &key).await.unwrap().unwrap();
        assert_eq!(first.generation, 1);
        writing.resource_put(&key, &node("us"), Some(&RepositoryId::new("r")), "bob", at(2)).await.unwrap();
        let second = writing.resource_by_id(&acme, Kind::Node, &first.id).await.unwrap().unwrap();
        assert_eq!((second.digest, second.generation), (node("us").digest(), 2));
        assert_eq!((second.created_at, second.updated_at), (at(1), at(2)));
        assert_eq!(
            (second.owner_id.as_ref().map(RepositoryId::as_str), second.updated_by.as_str()),
            (Some("r"), "bob")
        );
        assert_eq!(second.spec.digest(), second.digest);
        assert!(writing.resource_by_id(&acme, Kind::Template, &first.id).await.unwrap().is_none());
        assert!(writing.resource_remove(ended(&key), at(3)).await.unwrap());
        assert!(!writing.resource_remove(ended(&key), at(3)).await.unwrap());
        assert!(writing.resource(&acme, &key).await.unwrap().is_none());
    });
}

#[test]
fn versions_of_a_module_are_found_by_name_with_their_content() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let version = |priority: u32| {
            let stored = json!({"$module": {"version": "1.0.0", "priority": priority}, "state": "live"});
            Spec::read_stored(Kind::ModuleVersion, &stored.to_string()).unwrap()
        };
        for (name, priority) in [("web@1.0.0", 1), ("web@1.1.0", 2), ("Web@1.0.0", 3), ("web-extra@1.0.0", 4)]
        {
            let key = ResourceKey::new(Kind::ModuleVersion, name);
            writing.resource_put(&key, &version(priority), None, "ada", at(1)).await.unwrap();
        }
        writing.resource_put(&node_key("n"), &node("eu"), None, "ada", at(1)).await.unwrap();
        let found = writing.module_versions_of(&acme, "web").await.unwrap();
        let names: Vec<&str> = found.iter().map(|resource| resource.key.name.as_str()).collect();
        assert_eq!(names, ["web@1.0.0", "web@1.1.0"]);
        assert_eq!(*found[1].spec, version(2), "with its content");
        let kinds = [Kind::Module, Kind::ModuleVersion];
        let heads = writing.resource_heads_of_kinds(&acme, &kinds).await.unwrap();
        let heads: Vec<&str> = heads.iter().map(|head| head.key.name.as_str()).collect();
        assert_eq!(heads, ["Web@1.0.0", "web-extra@1.0.0", "web@1.0.0", "web@1.1.0"]);
    });
}

#[test]
fn specs_with_any_text_are_read_as_written() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let texts =
            ["\0", "\u{7f}\u{85}\u{9b}\u{2028}\u{fffe}\u{ffff}", "<<", "'; DROP TABLE x", "\u{1f9ed}"];
        for text in texts {
            let long = text.repeat(1_500);
            let config = json!({ text: text, long: [0.1, 1e300, text] });
            let stored = json!({ "version": "1.0.0", "config": config }).to_string();
            let spec = Spec::read_stored(Kind::Module, &stored).unwrap();
            let key = ResourceKey::new(Kind::Module, "m");
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.resource_put(&key, &spec, None, "ada", at(1)).await.unwrap();
            writing.commit().await.unwrap();
            let found = world.store.read().await.unwrap().resource(&acme, &key).await.unwrap().unwrap();
            assert_eq!(found.spec.digest(), spec.digest(), "{text:?}");
        }
    });
}

#[test]
fn pages_follow_one_another_without_gap_or_repetition() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        fill(&world, &acme).await;
        let all = keys(&world, &acme, &ResourceFilter::default()).await;
        let mut sorted = all.clone();
        sorted.sort_by(|a, b| (a.kind.slug(), &a.name).cmp(&(b.kind.slug(), &b.name)));
        assert_eq!((all.len(), &all), (14, &sorted), "by kind and name, byte by byte");
        for filter in
            [ResourceFilter::default(), ResourceFilter { kind: Some(Kind::Node), ..Default::default() }]
        {
            let whole = keys(&world, &acme, &filter).await;
            let (mut paged, mut after) = (Vec::new(), None);
            let mut reading = world.store.read().await.unwrap();
            loop {
                let page = reading.resources_page(&acme, &filter, after.as_ref(), 3).await.unwrap();
                let Some(last) = page.last() else { break };
                after = Some(last.key.clone());
                paged.extend(page.into_iter().map(|found| found.key));
            }
            assert_eq!(paged, whole);
        }
    });
}

#[test]
fn search_matches_every_character_literally() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        fill(&world, &acme).await;
        for (search, expected) in [
            ("100%", &["100%"][..]),
            ("%", &["100%"]),
            ("_", &["A_b", "a_b", "edge_z"]),
            ("\\", &["back\\slash"]),
            ("EDGE", &["Edge", "edge-a", "edge_z"][..]),
            ("ü", &["\u{fc}ber"]),
            ("\u{fc}BER", &["\u{fc}ber"]),
            ("'", &[]),
            ("\0", &[]),
            ("$1", &[]),
        ] {
            let filter =
                ResourceFilter { search: Some(search.to_owned()), kind: Some(Kind::Node), owner: None };
            let found: Vec<String> =
                keys(&world, &acme, &filter).await.into_iter().map(|key| key.name).collect();
            assert_eq!(found, expected, "{search:?}");
        }
    });
}

#[test]
fn resources_are_filtered_by_owner_and_counted_by_kind() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        fill(&world, &acme).await;
        world.node(&acme, "owned", Some(&RepositoryId::new("r1"))).await;
        world.node(&acme, "theirs", Some(&RepositoryId::new("r2"))).await;
        let mut reading = world.store.read().await.unwrap();
        let owned = reading.resources_all(&acme, Some(&RepositoryId::new("r1"))).await.unwrap();
        assert_eq!(owned.iter().map(|it| it.key.name.as_str()).collect::<Vec<_>>(), ["owned"]);
        assert_eq!(reading.resources_page(&acme, &unowned(), None, 100).await.unwrap().len(), 14);
        assert_eq!(reading.resources_all(&acme, None).await.unwrap().len(), 16);
        let mut counts = reading.resources_count(&acme).await.unwrap();
        counts.sort();
        assert_eq!(counts, [(Kind::Template, 5), (Kind::Node, 11)]);
        let heads = reading.resource_heads(&acme).await.unwrap();
        let head = heads.iter().find(|head| head.key == node_key("theirs")).unwrap();
        assert_eq!(
            (heads.len(), head.owner_id.as_ref().map(RepositoryId::as_str), head.digest),
            (16, Some("r2"), node("eu").digest())
        );
    });
}

#[test]
fn kinds_are_counted_for_a_filter() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        fill(&world, &acme).await;
        world.node(&acme, "owned", Some(&RepositoryId::new("r1"))).await;
        let mut reading = world.store.read().await.unwrap();
        for (owner, search, expected) in [
            (None, None, &[(Kind::Template, 5), (Kind::Node, 10)][..]),
            (None, Some("A"), &[(Kind::Template, 1), (Kind::Node, 5)]),
            (Some(OwnerFilter::Repository(RepositoryId::new("r1"))), None, &[(Kind::Node, 1)]),
            (Some(OwnerFilter::Nobody), Some("owned"), &[]),
        ] {
            let filter = ResourceFilter {
                // The kind in the filter is ignored.
                kind: Some(Kind::Cluster),
                owner,
                search: search.map(str::to_owned),
            };
            let mut found = reading.resources_tally(&acme, &filter).await.unwrap();
            found.sort();
            assert_eq!(found, expected, "{filter:?}");
        }
    });
}

#[test]
fn the_members_of_a_network_are_listed_and_counted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let peer = Spec::read(Kind::Peer, "{}").spec.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        for name in ["a_b/n1", "a_b/n2", "axb/n3", "A_b/n4", "a_b2/n5"] {
            let key = ResourceKey::new(Kind::Peer, name);
            writing.resource_put(&key, &peer, None, "ada", at(1)).await.unwrap();
        }
        let found = writing.resources_in(&acme, Kind::Peer, "a_b").await.unwrap();
        let names: Vec<&str> = found.iter().map(|found| found.key.name.as_str()).collect();
        assert_eq!(names, ["a_b/n1", "a_b/n2"]);
        let networks = ["a_b", "axb", "none"].map(|name| ResourceKey::new(Kind::Network, name));
        let mut counts = writing.referrers_count(&acme, &networks).await.unwrap();
        counts.sort();
        assert_eq!(counts, [(networks[0].clone(), Kind::Peer, 2), (networks[1].clone(), Kind::Peer, 1)]);
    });
}

#[test]
fn the_same_name_in_two_accounts_is_two_resources() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        world.node(&acme, "edge-01", None).await;
        world.node(&other, "edge-01", None).await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        assert!(writing.resource_remove(ended(&node_key("edge-01")), at(3)).await.unwrap());
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert!(reading.resource(&other, &node_key("edge-01")).await.unwrap().is_some());
        assert!(reading.resource_by_id(&acme, Kind::Node, &new_id()).await.unwrap().is_none());
    });
}

fn unowned() -> ResourceFilter {
    ResourceFilter { owner: Some(OwnerFilter::Nobody), ..ResourceFilter::default() }
}

async fn keys(world: &World, account_id: &AccountId, filter: &ResourceFilter) -> Vec<ResourceKey> {
    let mut reading = world.store.read().await.unwrap();
    let found = reading.resources_page(account_id, filter, None, 100).await.unwrap();
    found.into_iter().map(|found| found.key).collect()
}

/// Nine nodes and five templates, with names that reveal wrong sort orders and wrong search patterns.
async fn fill(world: &World, account_id: &AccountId) {
    let nodes = ["edge-a", "Edge", "edge_z", "A_b", "a_b", "100%", "back\\slash", "\u{fc}ber", "a-b"];
    let mut writing = world.store.write_account(account_id).await.unwrap();
    for name in nodes {
        writing.resource_put(&node_key(name), &node("eu"), None, "ada", at(1)).await.unwrap();
    }
    for name in ["a", "B", "c", "D", "e"] {
        let key = ResourceKey::new(Kind::Template, name);
        writing.resource_put(&key, &template(), None, "ada", at(1)).await.unwrap();
    }
    writing.commit().await.unwrap();
}

fn assignment() -> Spec {
    Spec::read(Kind::Assignment, "{}").spec.unwrap()
}

#[test]
fn stored_references_follow_every_change() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let mut writing = world.store.write_account(&other).await.unwrap();
        writing.resource_put(&node_key("theirs"), &node("eu"), None, "ada", at(1)).await.unwrap();
        writing.commit().await.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        for name in ["a", "b"] {
            writing.resource_put(&node_key(name), &node("eu"), None, "ada", at(1)).await.unwrap();
        }
        let key = ResourceKey::new(Kind::Assignment, "a:nginx");
        writing.resource_put(&key, &assignment(), None, "ada", at(1)).await.unwrap();
        let template = node("eu").targets("a").remove(0);
        let targets = [template.clone(), node_key("a")];
        let found = writing.referrers(&acme, &targets).await.unwrap();
        let expected = [
            (key.clone(), node_key("a")),
            (node_key("a"), template.clone()),
            (node_key("b"), template.clone()),
        ];
        assert_eq!(found.len(), 3);
        assert!(expected.iter().all(|pair| found.contains(pair)), "{found:?}");

        writing.resource_remove(ended(&key), at(3)).await.unwrap();
        writing.resource_put(&node_key("a"), &node_of("another"), None, "ada", at(2)).await.unwrap();
        let found = writing.referrers(&acme, &targets).await.unwrap();
        assert_eq!(found, [(node_key("b"), template.clone())]);
        assert_eq!(writing.referrers_of(&acme, &template, 9).await.unwrap(), [node_key("b")]);
    });
}

#[test]
fn the_file_of_the_last_change_from_git_is_kept_by_direct_changes() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (key, spec, owner) = (node_key("a"), node("eu"), RepositoryId::new("r"));
        let approval = by_people("p1");
        let file = |declared_in| NewResource {
            key: &key,
            spec: &spec,
            digest: spec.digest(),
            owner_id: Some(&owner),
            declared_in,
            by: "ada",
            approval: &approval,
        };
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let keys = [key.clone(), node_key("nothing")];
        for (declared_in, kept) in [
            (None, None),
            (Some("a.yaml"), Some("a.yaml")),
            (None, Some("a.yaml")),
            (Some("b.yaml"), Some("b.yaml")),
        ] {
            writing.resources_put(&[file(declared_in)], at(1)).await.unwrap();
            let found = writing.resource_files(&acme, &keys).await.unwrap();
            assert_eq!(found.get(key.kind, &key.name).map(String::as_str), kept);
            assert_eq!(writing.resource(&acme, &key).await.unwrap().unwrap().declared_in.as_deref(), kept);
        }
    });
}

fn node_of(template: &str) -> Spec {
    Spec::read(Kind::Node, &json!({"template": template}).to_string()).spec.unwrap()
}

#[test]
fn many_resources_are_created_found_and_destroyed_at_once() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let keys: Vec<ResourceKey> = (0..1_203).map(|number| node_key(&format!("edge-{number}"))).collect();
        let spec = node("eu");
        let (digest, owner) = (spec.digest(), RepositoryId::new("r"));
        let approval = by_people("p1");
        let all: Vec<NewResource<'_>> = keys
            .iter()
            .map(|key| NewResource {
                key,
                spec: &spec,
                digest,
                owner_id: Some(&owner),
                declared_in: None,
                by: "ada",
                approval: &approval,
            })
            .collect();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.resources_put(&all, at(1)).await.unwrap();
        writing.resources_put(&all[..700], at(2)).await.unwrap();
        let some = [keys[3].clone(), node_key("nothing"), keys[1_100].clone()];
        let found = writing.resources_of(&acme, &some).await.unwrap();
        let mut generations: Vec<_> = found.iter().map(|it| (it.key.name.as_str(), it.generation)).collect();
        generations.sort_unstable();
        assert_eq!(generations, [("edge-1100", 1), ("edge-3", 2)]);
        assert_eq!(writing.resource_heads_of(&acme, &keys).await.unwrap().len(), 1_203);
        let gone: Vec<ResourceToDestroy<'_>> = keys.iter().skip(3).map(ended).collect();
        assert_eq!(writing.resources_remove(&gone, at(3)).await.unwrap(), 1_200);
        let left = writing.resource_heads_of(&acme, &keys).await.unwrap();
        assert_eq!(left.len(), 3);
        assert!(left.iter().all(
            |head| head.digest == digest && head.owner_id.as_ref().map(RepositoryId::as_str) == Some("r")
        ));
    });
}
