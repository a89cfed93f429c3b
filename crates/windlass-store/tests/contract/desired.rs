//! Desired state: what git declared last.

use windlass_core::id::RepositoryId;
use windlass_core::resource::{Kind, Spec};
use windlass_store::{DesiredResource, NewDesiredResource};

use crate::world::{World, node, node_key, on_both};

fn wanted<'d>(name: &'d str, spec: &'d Spec, file: &'d str) -> NewDesiredResource<'d> {
    NewDesiredResource { name, kind: Kind::Node, spec, digest: spec.digest(), file }
}

#[test]
fn replacing_writes_only_what_changed() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let (eu, us) = (node("eu"), node("us"));
        replace(&world, &fleet.id, &[wanted("a", &eu, "f"), wanted("b", &eu, "f"), wanted("c", &eu, "f")])
            .await;
        world.tamper("DELETE FROM contents").await;
        replace(&world, &fleet.id, &[wanted("a", &eu, "f"), wanted("b", &us, "f"), wanted("d", &eu, "g")])
            .await;
        // If unchanged rows were written too, more contents would be stored.
        let stored = world.ask("SELECT digest AS answer FROM contents ORDER BY digest").await;
        let mut written = [eu.digest().to_string(), us.digest().to_string()];
        written.sort();
        assert_eq!(stored, written, "d is new and b has changed");
        let mut reading = world.store.read().await.unwrap();
        let mut found = reading.desired(&fleet.id).await.unwrap();
        found.sort_by(|one, other| one.key.cmp(&other.key));
        let found: Vec<_> =
            found.iter().map(|it| (it.key.name.as_str(), it.digest, it.file.as_str())).collect();
        assert_eq!(found, [("a", eu.digest(), "f"), ("b", us.digest(), "f"), ("d", eu.digest(), "g")]);
        let specs = reading.desired_specs(&fleet.id, None).await.unwrap();
        assert_eq!(specs.get(Kind::Node, "b").unwrap().digest(), us.digest());
        let keys = [node_key("d"), node_key("gone")];
        let specs = reading.desired_specs(&fleet.id, Some(&keys)).await.unwrap();
        assert_eq!(specs.iter().map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>(), ["d"]);
    });
}

#[test]
fn a_resource_that_moves_to_another_file_keeps_last_agreed() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let eu = node("eu");
        replace(&world, &fleet.id, &[wanted("a", &eu, "f")]).await;
        mark_agreed(&world, &fleet.id, "a").await;
        replace(&world, &fleet.id, &[wanted("a", &eu, "g")]).await;
        let found = only(&world, &fleet.id).await;
        assert_eq!((found.file.as_str(), found.last_agreed), ("g", Some(eu.digest())));
        let us = node("us");
        replace(&world, &fleet.id, &[wanted("a", &us, "g")]).await;
        let found = only(&world, &fleet.id).await;
        assert_eq!((found.digest, found.last_agreed), (us.digest(), Some(eu.digest())));
    });
}

#[test]
fn a_resource_that_moves_before_it_is_applied_keeps_its_first_file() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let (eu, keys) = (node("eu"), [node_key("a"), node_key("gone")]);
        for (file, first) in [("f", "f"), ("f", "f"), ("g", "f"), ("h", "f")] {
            replace(&world, &fleet.id, &[wanted("a", &eu, file)]).await;
            let mut reading = world.store.read().await.unwrap();
            let files = reading.desired_files(&fleet.id, &keys).await.unwrap();
            assert_eq!(
                files.iter().map(|(_, name, file)| (name, file.as_str())).collect::<Vec<_>>(),
                [("a", first)]
            );
        }
        assert_eq!(only(&world, &fleet.id).await.previous_file.as_deref(), Some("f"));
        mark_agreed(&world, &fleet.id, "a").await;
        assert_eq!(only(&world, &fleet.id).await.previous_file, None);
        replace(&world, &fleet.id, &[wanted("a", &eu, "i")]).await;
        assert_eq!(only(&world, &fleet.id).await.previous_file.as_deref(), Some("h"));
        // A created resource is marked as agreed when its repository is compared.
        world.tamper("UPDATE desired SET last_agreed = NULL").await;
        world.node(&acme, "a", Some(&fleet.id)).await;
        let mut writing = world.store.write().await.unwrap();
        writing.desired_mark_agreed(&fleet.id).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(only(&world, &fleet.id).await.previous_file, None);
    });
}

#[test]
fn owned_resources_accepted_as_desired_are_marked_agreed_once() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let fleet = world.repository(&acme, "fleet").await;
        let (eu, us) = (node("eu"), node("us"));
        let all = ["same", "differs", "unowned", "absent", "elsewhere"];
        let all: Vec<NewDesiredResource<'_>> =
            all.iter().map(|name| wanted(name, if *name == "differs" { &us } else { &eu }, "f")).collect();
        replace(&world, &fleet.id, &all).await;
        world.node(&acme, "same", Some(&fleet.id)).await;
        world.node(&acme, "differs", Some(&fleet.id)).await;
        world.node(&acme, "unowned", None).await;
        world.node(&other, "elsewhere", Some(&fleet.id)).await;
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.desired_mark_agreed(&fleet.id).await.unwrap(), 1);
        assert_eq!(writing.desired_mark_agreed(&fleet.id).await.unwrap(), 0);
        let agreed: Vec<String> = writing
            .desired(&fleet.id)
            .await
            .unwrap()
            .into_iter()
            .filter(|wanted| wanted.last_agreed.is_some())
            .map(|wanted| wanted.key.name)
            .collect();
        assert_eq!(agreed, ["same"]);
        writing.desired_mark_agreed_among(&[(&fleet.id, &node_key("same"), None)]).await.unwrap();
        assert_eq!(writing.desired_mark_agreed(&fleet.id).await.unwrap(), 1);
    });
}

#[test]
fn only_differing_resources_are_returned_with_desired_and_accepted() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (fleet, twin) = (world.repository(&acme, "fleet").await, world.repository(&acme, "twin").await);
        let (eu, us) = (node("eu"), node("us"));
        let all = ["same", "differs", "unowned", "absent", "elsewhere", "theirs"];
        let all: Vec<NewDesiredResource<'_>> =
            all.iter().map(|name| wanted(name, if *name == "differs" { &us } else { &eu }, "f")).collect();
        replace(&world, &fleet.id, &all).await;
        for (name, owner) in
            [("same", Some(&fleet)), ("differs", Some(&fleet)), ("unowned", None), ("theirs", Some(&twin))]
        {
            world.node(&acme, name, owner.map(|owner| &owner.id)).await;
        }
        world.node(&acme, "unwanted", Some(&fleet.id)).await;
        world.node(&other, "elsewhere", Some(&fleet.id)).await;
        let mut reading = world.store.read().await.unwrap();
        let mut found = reading.differing_resources(&acme, &fleet.id).await.unwrap();
        found.sort_by(|a, b| a.key.cmp(&b.key));
        let (eu, us) = (eu.digest(), us.digest());
        let sides: Vec<_> = found
            .iter()
            .map(|it| (it.key.name.as_str(), it.wanted.map(|it| it.0), it.accepted.as_ref().map(|it| it.0)))
            .collect();
        let expected = [
            ("absent", Some(eu), None),
            ("differs", Some(us), Some(eu)),
            ("elsewhere", Some(eu), None),
            ("theirs", Some(eu), Some(eu)),
            ("unowned", Some(eu), Some(eu)),
            ("unwanted", None, Some(eu)),
        ];
        assert_eq!(sides, expected);
        for name in ["absent", "differs", "unwanted", "same", "unknown"] {
            let one = reading.differing_resource(&acme, &fleet.id, &node_key(name)).await.unwrap();
            assert_eq!(one.as_ref(), found.iter().find(|it| it.key.name == name), "{name}");
        }
        let file = reading.desired_file(&fleet.id, &node_key("same")).await.unwrap();
        assert_eq!(file.as_deref(), Some("f"));
        assert_eq!(reading.desired_file(&twin.id, &node_key("same")).await.unwrap(), None);
    });
}

#[test]
fn more_rows_than_fit_in_one_statement_are_stored() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let names: Vec<String> = (0..1_203).map(|number| format!("edge-{number}")).collect();
        let eu = node("eu");
        let all: Vec<NewDesiredResource<'_>> = names.iter().map(|name| wanted(name, &eu, "f")).collect();
        replace(&world, &fleet.id, &all).await;
        assert_eq!(world.store.read().await.unwrap().desired(&fleet.id).await.unwrap().len(), 1_203);
        replace(&world, &fleet.id, &all[..1]).await;
        assert_eq!(only(&world, &fleet.id).await.key, node_key("edge-0"));
    });
}

async fn replace(world: &World, repository_id: &RepositoryId, all: &[NewDesiredResource<'_>]) {
    let mut writing = world.store.write().await.unwrap();
    writing.desired_replace(repository_id, all).await.unwrap();
    writing.commit().await.unwrap();
}

async fn mark_agreed(world: &World, repository_id: &RepositoryId, name: &str) {
    let mut writing = world.store.write().await.unwrap();
    let accepted = Some(node("eu").digest());
    writing.desired_mark_agreed_among(&[(repository_id, &node_key(name), accepted)]).await.unwrap();
    writing.commit().await.unwrap();
}

async fn only(world: &World, repository_id: &RepositoryId) -> DesiredResource {
    let mut found = world.store.read().await.unwrap().desired(repository_id).await.unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn declared_pairs_of_repository_and_resource_are_found() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (fleet, other) = (world.repository(&acme, "fleet").await, world.repository(&acme, "other").await);
        let eu = node("eu");
        replace(&world, &fleet.id, &[wanted("a", &eu, "f"), wanted("b", &eu, "f")]).await;
        replace(&world, &other.id, &[wanted("b", &eu, "f")]).await;
        let mut reading = world.store.read().await.unwrap();
        let (a, c) = (node_key("a"), node_key("c"));
        let pairs = [(&fleet.id, &a), (&other.id, &a), (&fleet.id, &c)];
        assert_eq!(reading.desired_among(&pairs).await.unwrap(), [(fleet.id.clone(), a.clone())]);
        assert_eq!(reading.desired_among(&[]).await.unwrap(), []);
    });
}
