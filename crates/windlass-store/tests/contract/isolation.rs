//! Data of an account is not visible from another.

use windlass_core::access::Role;
use windlass_core::id::{AccountId, ProposalId, RepositoryId, ResourceId, RunId};
use windlass_core::resource::Kind;
use windlass_store::{
    EventFilter, EventOrder, LogVerification, OwnerFilter, ProposalFilter, ProposalSource, ResourceFilter,
    Token, new_id,
};

use crate::world::{World, at, node_key, on_both};

/// An account with one row of everything.
struct Full {
    account: AccountId,
    repository: RepositoryId,
    run: RunId,
    proposal: ProposalId,
    resource: ResourceId,
}

async fn full(world: &World) -> Full {
    let account = world.account("full").await;
    let repository = world.repository(&account, "fleet").await;
    let run = world.run(&repository).await;
    let proposal = world.proposals(&run, &["edge"]).await.remove(0).id;
    world.node(&account, "edge", Some(&repository.id)).await;
    world.events(&account, &["told"]).await;
    world.audited(&account, &["edge"]).await;
    let ada = world.user("ada@example.com").await;
    let mut writing = world.store.write().await.unwrap();
    writing.member_set(&account, &ada.id, Role::Admin, at(1)).await.unwrap();
    let token = Token {
        id: new_id(),
        account_id: account.clone(),
        name: "t".to_owned(),
        permissions: Vec::new(),
        created_by: ada.id,
        created_at: at(1),
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
    };
    writing.token_add(&token, "hash").await.unwrap();
    writing.request_begin(&account, "key", "", at(1)).await.unwrap();
    writing.commit().await.unwrap();
    let mut reading = world.store.read().await.unwrap();
    let resource = reading.resource(&account, &node_key("edge")).await.unwrap().unwrap().id;
    Full { account, repository: repository.id, run: run.id, proposal, resource }
}

/// How many rows each reading function finds in an account.
async fn seen_from(world: &World, account: &AccountId, full: &Full) -> Vec<usize> {
    let mut reading = world.store.read().await.unwrap();
    let key = node_key("edge");
    let owned = ResourceFilter {
        owner: Some(OwnerFilter::Repository(full.repository.clone())),
        ..ResourceFilter::default()
    };
    let of_run = ProposalFilter { run_id: Some(full.run.clone()), ..ProposalFilter::default() };
    let of_repository = ProposalFilter {
        source: Some(ProposalSource::Repository(full.repository.clone())),
        ..ProposalFilter::default()
    };
    let of_events = EventFilter { correlation_id: Some(RunId::new("run")), ..EventFilter::default() };
    let (oldest, newest) = (EventOrder::OldestAfter(0), EventOrder::NewestBefore(i64::MAX));
    vec![
        usize::from(reading.repository(account, full.repository.as_str()).await.unwrap().is_some()),
        usize::from(reading.repository(account, "fleet").await.unwrap().is_some()),
        reading.repositories(account).await.unwrap().len(),
        usize::from(reading.run(account, &full.run).await.unwrap().is_some()),
        reading.runs(account, None, None, 9).await.unwrap().len(),
        reading.runs(account, Some(&full.repository), None, 9).await.unwrap().len(),
        usize::from(reading.proposal(account, &full.proposal).await.unwrap().is_some()),
        reading.proposals(account, &ProposalFilter::default(), None, 9).await.unwrap().len(),
        reading.proposals(account, &of_run, None, 9).await.unwrap().len(),
        reading.proposals(account, &of_repository, None, 9).await.unwrap().len(),
        reading.proposals_count(account).await.unwrap().len(),
        usize::from(reading.resource(account, &key).await.unwrap().is_some()),
        usize::from(reading.resource_by_id(account, Kind::Node, &full.resource).await.unwrap().is_some()),
        reading.resources_page(account, &owned, None, 9).await.unwrap().len(),
        reading.resources_all(account, None).await.unwrap().len(),
        reading.resource_heads(account).await.unwrap().len(),
        reading.resources_count(account).await.unwrap().len(),
        reading.events(account, &EventFilter::default(), oldest, 9).await.unwrap().len(),
        reading.events(account, &of_events, newest, 9).await.unwrap().len(),
        usize::try_from(reading.last_event(account).await.unwrap()).unwrap(),
        reading.audit(account, None, i64::MAX, 9).await.unwrap().len(),
        reading.audit(account, Some(("node", "edge")), i64::MAX, 9).await.unwrap().len(),
        reading.members(account).await.unwrap().len(),
        usize::from(reading.member(account, "ada@example.com").await.unwrap().is_some()),
        reading.tokens(account).await.unwrap().len(),
        usize::from(reading.request(account, "key").await.unwrap().is_some()),
        match reading.audit_verify(account).await.unwrap() {
            LogVerification::Intact { entries, .. } => usize::try_from(entries).unwrap(),
            LogVerification::Broken { .. } => 99,
        },
    ]
}

#[test]
fn data_of_an_account_is_found_only_in_that_account() {
    on_both(|world| async move {
        let full = full(&world).await;
        let other = world.account("other").await;
        let inside = seen_from(&world, &full.account, &full).await;
        assert_eq!(inside, vec![1; inside.len()]);
        for stranger in [other.as_str(), "", "nobody", "%", "full"] {
            assert_eq!(
                seen_from(&world, &AccountId::new(stranger), &full).await,
                vec![0; inside.len()],
                "{stranger:?}"
            );
        }
        let mut reading = world.store.read().await.unwrap();
        assert!(reading.proposals_to_apply(&other, None, 10).await.unwrap().is_empty());
        assert_eq!(reading.drifts_count(&other).await.unwrap(), 0);
    });
}
