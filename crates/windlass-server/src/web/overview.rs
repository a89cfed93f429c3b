//! The overview of an account.

use std::collections::BTreeMap;

use axum::extract::State;
use windlass_control::ask::account;
use windlass_control::ask::node::summary::tally;
use windlass_control::ask::proposal::list;
use windlass_control::ask::repository::find;
use windlass_control::ask::run::show;
use windlass_control::caller::Identity;
use windlass_control::clock::now;
use windlass_control::page::PageQuery;
use windlass_control::refusal::Refusal;
use windlass_core::id::RepositoryId;
use windlass_core::proposal::Status;
use windlass_core::resource::Kind;
use windlass_store::{ProposalFilter, Reading};
use windlass_web::frame::NavEntry;
use windlass_web::pages::overview::{KindHealth, OverviewPage};

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

/// How many runs the page shows.
const RUNS: usize = 8;

/// How many proposals the page shows.
const WAITING: usize = 6;

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let status = account::load_status(&server, &who).await?;
    let mut reading = server.store().read().await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Overview).await?;
    let repositories = find::load_all(&mut reading, &who).await?;
    let ids: Vec<RepositoryId> =
        repositories.iter().map(|repository| RepositoryId::new(&repository.id)).collect();
    let kinds = health(&mut reading, &who, &ids).await?;
    let last = PageQuery { limit: Some(RUNS), cursor: None };
    let runs = show::load_page(&mut reading, &who, None, &last).await?.sync_runs;
    let pending = ProposalFilter { statuses: vec![Status::PendingApproval], ..ProposalFilter::default() };
    let found = reading.proposals_in_order(&who.account_id, &pending, None, WAITING).await?;
    let waiting = list::describe(&mut reading, &who, &found).await?;
    let nodes = tally(&mut reading, &who.account_id, now()).await?;
    drop(reading);
    response::page(&visit, &OverviewPage { frame, status, kinds, repositories, runs, waiting, nodes })
}

/// The number of accepted, drifted and proposed resources of each kind. Kinds without any are omitted.
async fn health(
    reading: &mut Reading,
    who: &Identity,
    repositories: &[RepositoryId],
) -> Result<Vec<KindHealth>, Refusal> {
    let accepted: BTreeMap<Kind, usize> =
        reading.resources_count(&who.account_id).await?.into_iter().collect();
    let (mut drifted, mut open): (BTreeMap<Kind, usize>, BTreeMap<Kind, usize>) = Default::default();
    for tally in reading.proposals_tally(&who.account_id).await? {
        *open.entry(tally.kind).or_default() += tally.count;
    }
    for repository in repositories {
        for drift in reading.drifts(repository).await? {
            *drifted.entry(drift.key.kind).or_default() += 1;
        }
    }
    let of = |counts: &BTreeMap<Kind, usize>, kind: &Kind| counts.get(kind).copied().unwrap_or_default();
    let kinds = Kind::ALL.iter().map(|kind| KindHealth {
        kind: kind.plural().to_owned(),
        accepted: of(&accepted, kind),
        drifted: of(&drifted, kind),
        open: of(&open, kind),
    });
    Ok(kinds.filter(|kind| kind.accepted + kind.open + kind.drifted > 0).collect())
}
