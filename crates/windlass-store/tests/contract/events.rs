//! Events: numbers, filters, order.

use windlass_core::event::{Event, EventKind, NewEvent, Severity};
use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{EventFilter, EventOrder};

use crate::world::{World, event, on_both};

const OLDEST: EventOrder = EventOrder::OldestAfter(0);

async fn listed(
    world: &World,
    account_id: &AccountId,
    filter: &EventFilter,
    order: EventOrder,
) -> Vec<Event> {
    world.store.read().await.unwrap().events(account_id, filter, order, 100).await.unwrap()
}

fn messages(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.message.as_str()).collect()
}

#[test]
fn numbers_begin_at_one_for_each_account_and_have_no_gaps() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        world.events(&acme, &["a", "b"]).await;
        world.events(&other, &["x"]).await;
        world.events(&AccountId::installation(), &["installed"]).await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.event(event("c"));
        writing.event(event("d"));
        assert_eq!(writing.commit().await.unwrap(), 4);
        let writing = world.store.write_account(&acme).await.unwrap();
        assert_eq!(*writing.account_id(), acme);
        assert_eq!(writing.commit().await.unwrap(), 4, "nothing was told");

        let all = listed(&world, &acme, &EventFilter::default(), OLDEST).await;
        assert_eq!(messages(&all), ["a", "b", "c", "d"]);
        assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let newest = listed(&world, &acme, &EventFilter::default(), EventOrder::NewestBefore(4)).await;
        assert_eq!(messages(&newest), ["c", "b", "a"]);
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.last_event(&acme).await.unwrap(), 4);
        assert_eq!(reading.last_event(&other).await.unwrap(), 1);
        assert_eq!(reading.last_event(&AccountId::new("nobody")).await.unwrap(), 0);
        let page =
            reading.events(&acme, &EventFilter::default(), EventOrder::OldestAfter(1), 2).await.unwrap();
        assert_eq!(messages(&page), ["b", "c"]);
    });
}

#[test]
fn an_event_is_read_as_written() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.events(&acme, &["it's \"ü\" 100%"]).await;
        let found = listed(&world, &acme, &EventFilter::default(), OLDEST).await.remove(0);
        let written = event("it's \"ü\" 100%");
        assert_eq!(
            (found.kind.as_str(), found.severity, found.at),
            (written.kind.slug(), written.severity, written.at)
        );
        assert_eq!(found.resource_kind.as_deref(), Some(Kind::Node.slug()));
        assert_eq!(found.resource_name.as_deref(), Some("edge-01"));
        assert_eq!(
            (found.repository_id, found.correlation_id),
            (written.repository_id, written.correlation_id)
        );
        assert_eq!(
            (found.source, found.message, found.payload),
            (written.source, written.message, written.payload)
        );
    });
}

#[test]
fn every_filter_finds_only_matching_events() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let plain =
            || NewEvent { resource: None, repository_id: None, correlation_id: None, ..event("plain") };
        writing.event(plain());
        writing.event(NewEvent {
            kind: EventKind::SyncStarted,
            message: "100% of A_b".to_owned(),
            ..plain()
        });
        writing.event(NewEvent {
            kind: EventKind::ResourceChanged,
            message: "100 of AXb \u{dc}ber".to_owned(),
            ..plain()
        });
        writing.event(NewEvent { severity: Severity::Critical, message: "fire".to_owned(), ..plain() });
        let key = ResourceKey::new(Kind::Template, "edge");
        writing.event(NewEvent { resource: Some(key.clone()), message: "resource".to_owned(), ..plain() });
        writing.event(NewEvent {
            repository_id: Some(RepositoryId::new("r")),
            message: "repository".to_owned(),
            ..plain()
        });
        writing.event(NewEvent {
            correlation_id: Some(RunId::new("c")),
            message: "run".to_owned(),
            ..plain()
        });
        writing.commit().await.unwrap();
        let text = |text: &str| Some(text.to_owned());
        for (filter, expected) in [
            (
                EventFilter { kind: text("gitops.sync_started"), ..EventFilter::default() },
                &["100% of A_b"][..],
            ),
            (EventFilter { kind: text("gitops"), ..EventFilter::default() }, &[]),
            (EventFilter { severity: Some(Severity::Critical), ..EventFilter::default() }, &["fire"]),
            (EventFilter { resource: Some(key), ..EventFilter::default() }, &["resource"]),
            (
                EventFilter { repository_id: Some(RepositoryId::new("r")), ..EventFilter::default() },
                &["repository"],
            ),
            (EventFilter { correlation_id: Some(RunId::new("c")), ..EventFilter::default() }, &["run"]),
            (EventFilter { search: text("100%"), ..EventFilter::default() }, &["100% of A_b"]),
            (EventFilter { search: text("a_B"), ..EventFilter::default() }, &["100% of A_b"]),
            (EventFilter { search: text("\u{dc}BER"), ..EventFilter::default() }, &["100 of AXb \u{dc}ber"]),
            (EventFilter { search: text("\0"), ..EventFilter::default() }, &[]),
        ] {
            assert_eq!(messages(&listed(&world, &acme, &filter, OLDEST).await), expected, "{filter:?}");
        }
        let filter = EventFilter { kind: text("gitops."), ..EventFilter::default() };
        assert_eq!(listed(&world, &acme, &filter, OLDEST).await.len(), 6, "not gitopsXsync");
    });
}

#[test]
fn nul_characters_are_replaced_in_stored_texts() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.events(&acme, &["a\0b"]).await;
        let found = listed(&world, &acme, &EventFilter::default(), OLDEST).await.remove(0);
        assert_eq!((found.message.as_str(), &found.payload["message"]), ("a\u{fffd}b", &"a\0b".into()));
    });
}
