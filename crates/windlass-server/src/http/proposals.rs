//! Proposals and decisions about them.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::{
    ApproveBody, BatchBody, BatchDecision, BatchItem, BatchResult, EditBody, ProposalEnvelope, ProposalInfo,
    ProposalList, RejectBody,
};
use windlass_core::diff::Action;
use windlass_core::proposal::Status;
use windlass_core::resource::Kind;
use windlass_store::{Account, Proposal, ProposalFilter, Reading, Repository};

use super::audit::PageQueryText;
use super::page::{cut, read_id};
use super::proposal_content::load_contents;
use super::proposal_info::{Around, info};
use super::request::{Answer, Body, IfMatch, Query, ok, tagged};
use crate::auth::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::decide::{self, Rejection, Reviewed};
use crate::gatekeeper::{Gatekeeper, governing_repository};
use crate::refusal::Refusal;
use crate::server::Server;

/// The longest wait for an apply.
const LONGEST_WAIT: u64 = 60;

/// Decisions of one request: as many as a fleet can have resources.
const MAX_BATCH: usize = 100_000;

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    page: PageQueryText,
    #[serde(flatten)]
    choice: Choice,
}

/// Which proposals someone asks for, in their words.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Choice {
    pub(crate) status: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) change: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) q: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WaitQuery {
    wait: Option<u64>,
}

fn read_statuses(text: &str) -> Result<Vec<Status>, Refusal> {
    if text == "open" {
        return Ok(Status::ALL.iter().copied().filter(|status| status.is_open()).collect());
    }
    let wrong = |word: &str| {
        let known: Vec<&str> = Status::ALL.iter().map(|status| status.slug()).collect();
        Refusal::bad_request(format!("`{word}` is not a status"), format!("open, {}", known.join(", ")))
    };
    text.split(',').map(|word| Status::from_slug(word.trim()).ok_or_else(|| wrong(word))).collect()
}

fn read_change(text: &str) -> Result<Action, Refusal> {
    let known = [Action::Create, Action::Update, Action::Destroy];
    known.into_iter().find(|action| action.to_string() == text).ok_or_else(|| {
        Refusal::bad_request("change is create, update or destroy", "for example change=destroy")
    })
}

/// The filter that someone's words mean.
pub(crate) async fn filter_of(
    reading: &mut Reading,
    who: &Identity,
    query: &Choice,
) -> Result<ProposalFilter, Refusal> {
    let repository_id = match &query.repository {
        // Direct changes have no repository.
        Some(none) if none == "none" => Some(String::new()),
        Some(repository) => {
            Some(reading.repository(&who.account_id, repository).await?.ok_or_else(Refusal::not_found)?.id)
        }
        None => None,
    };
    let unknown = || Refusal::bad_request("kind is a kind of resource", "for example kind=node");
    Ok(ProposalFilter {
        statuses: query.status.as_deref().map(read_statuses).transpose()?.unwrap_or_default(),
        run_id: query.run.clone(),
        repository_id,
        owner_id: None,
        kind: query.kind.as_deref().map(|kind| Kind::from_word(kind).ok_or_else(unknown)).transpose()?,
        change: query.change.as_deref().map(read_change).transpose()?,
        name: query.name.clone(),
        waits_for: None,
        search: query.q.clone(),
    })
}

async fn surroundings(reading: &mut Reading, who: &Identity) -> Result<(Account, Vec<Repository>), Refusal> {
    let account = reading.account(&who.account_id).await?.ok_or_else(Refusal::not_found)?;
    Ok((account, reading.repositories(&who.account_id).await?))
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<ListQuery>,
) -> Answer {
    let mut reading = server.store().read().await?;
    let filter = filter_of(&mut reading, &who, &query.choice).await?;
    let page = query.page.read()?;
    let limit = page.limit()?;
    let before = page.after_as(read_id)?;
    let mut found = reading.proposals(&who.account_id, &filter, before.as_deref(), limit + 1).await?;
    let meta = cut(&mut found, limit, |proposal| proposal.id.clone());
    let proposals = describe(&mut reading, &who, &found).await?;
    ok(&ProposalList { proposals, meta })
}

/// Everything about several proposals of one account.
pub(crate) async fn describe(
    reading: &mut Reading,
    who: &Identity,
    found: &[Proposal],
) -> Result<Vec<ProposalInfo>, Refusal> {
    let (account, repositories) = surroundings(reading, who).await?;
    let now = now();
    let changed = found.iter().map(|proposal| &proposal.change.key);
    let gatekeeper = Gatekeeper::load(reading, &account, changed, now).await?;
    let open: Vec<&str> = found
        .iter()
        .filter(|proposal| proposal.status.is_open())
        .map(|proposal| proposal.id.as_str())
        .collect();
    let approvals = reading.approvals_of(&open).await?;
    let contents = load_contents(reading, &who.account_id, found).await?;
    let told = found.iter().zip(&contents).map(|(proposal, content)| {
        let around = Around {
            gatekeeper: &gatekeeper,
            repository: governing_repository(proposal, &repositories),
            approvals: approvals.get(&proposal.id).map_or(&[], Vec::as_slice),
            content,
            person: &who.email,
            now,
        };
        info(proposal, &around)
    });
    Ok(told.collect())
}

/// Everything about one proposal.
pub(crate) async fn load(server: &Control, who: &Identity, id: &str) -> Result<ProposalInfo, Refusal> {
    let mut reading = server.store().read().await?;
    let proposal = reading.proposal(&who.account_id, id).await?.ok_or_else(Refusal::not_found)?;
    let approvals = reading.approvals(&proposal.id).await?;
    let contents = load_contents(&mut reading, &who.account_id, std::slice::from_ref(&proposal)).await?;
    let (account, repositories) = surroundings(&mut reading, who).await?;
    let now = now();
    let around = Around {
        gatekeeper: &Gatekeeper::load(&mut reading, &account, [&proposal.change.key], now).await?,
        repository: governing_repository(&proposal, &repositories),
        approvals: &approvals,
        content: contents.first().map_or(&[], Vec::as_slice),
        person: &who.email,
        now,
    };
    Ok(info(&proposal, &around))
}

async fn shown(server: &Control, who: &Identity, id: &str) -> Answer {
    let proposal = load(server, who, id).await?;
    let version = proposal.version;
    tagged(ok(&ProposalEnvelope { proposal }), version)
}

pub(super) async fn show(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    shown(&server, &who, &id).await
}

pub(super) async fn approve(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<ApproveBody>,
) -> Answer {
    let reviewed = Reviewed { id: &id, digest: body.digest.as_deref() };
    decide::approve(&server, &who, reviewed, body.reason.as_deref()).await?;
    shown(&server, &who, &id).await
}

pub(super) async fn reject(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<RejectBody>,
) -> Answer {
    let rejection = Rejection { reason: body.reason.as_deref(), until_change: body.until_change };
    decide::reject(&server, &who, &id, rejection).await?;
    shown(&server, &who, &id).await
}

pub(super) async fn edit(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    if_match: IfMatch,
    Body(body): Body<EditBody>,
) -> Answer {
    decide::edit(&server, &who, &id, &body.payload, if_match.0).await?;
    shown(&server, &who, &id).await
}

pub(super) async fn batch(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<BatchBody>,
) -> Answer {
    ok(&decide_all(&server, &who, &body).await?)
}

/// Decides about several, each by itself.
pub(crate) async fn decide_all(
    server: &Control,
    who: &Identity,
    body: &BatchBody,
) -> Result<BatchResult, Refusal> {
    let ids = match (&body.approval_request_id, body.ids.is_empty()) {
        (Some(run), true) => open_of_run(server, who, run).await?,
        (None, false) => body.ids.clone(),
        _ => {
            let message = "name either ids or an approval_request_id";
            return Err(Refusal::bad_request(
                message,
                "a run's approval_request_id stands for its open proposals",
            ));
        }
    };
    if ids.len() > MAX_BATCH {
        return Err(Refusal::bad_request(
            format!("a batch has at most {MAX_BATCH} proposals"),
            "approve the run's plan as one, or send several batches",
        ));
    }
    let reason = body.reason.as_deref();
    let decided = match body.decision {
        BatchDecision::Approve => {
            let reviewed: Vec<Reviewed<'_>> = ids
                .iter()
                .map(|id| Reviewed { id, digest: body.digests.get(id).map(String::as_str) })
                .collect();
            decide::approve_all(server, who, &reviewed, reason).await?
        }
        BatchDecision::Reject => {
            let rejection = Rejection { reason, until_change: body.until_change };
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            decide::reject_all(server, who, &ids, rejection).await?
        }
    };
    let statuses = statuses_of(server, who, &ids).await?;
    let results: Vec<BatchItem> = ids
        .into_iter()
        .zip(decided)
        .map(|(id, decided)| BatchItem {
            status: statuses.get(&id).map(|status| status.slug().to_owned()),
            error: decided.err().map(|error| Refusal::from(error).into_body()),
            id,
        })
        .collect();
    let refused = results.iter().filter(|item| item.error.is_some()).count();
    Ok(BatchResult { done: results.len() - refused, refused, results })
}

async fn statuses_of(
    server: &Control,
    who: &Identity,
    ids: &[String],
) -> Result<BTreeMap<String, Status>, Refusal> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let proposals = server.store().read().await?.proposals_by_id(&who.account_id, &ids).await?;
    Ok(proposals.into_iter().map(|proposal| (proposal.id, proposal.status)).collect())
}

async fn open_of_run(server: &Control, who: &Identity, run_id: &str) -> Result<Vec<String>, Refusal> {
    let mut reading = server.store().read().await?;
    reading.run(&who.account_id, run_id).await?.ok_or_else(Refusal::not_found)?;
    let proposals = reading.run_proposals(run_id).await?;
    Ok(proposals
        .into_iter()
        .filter(|proposal| proposal.status == Status::PendingApproval)
        .map(|proposal| proposal.id)
        .collect())
}

pub(super) async fn apply(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Answer {
    wait_until_applied(&server, &who, &id, query.wait).await?;
    shown(&server, &who, &id).await
}

/// Has approved changes looked at, and waits until this one is applied, blocked, or `wait` seconds are over.
pub(crate) async fn wait_until_applied(
    server: &Control,
    who: &Identity,
    id: &str,
    wait: Option<u64>,
) -> Result<(), Refusal> {
    let seconds = wait.unwrap_or(10).min(LONGEST_WAIT);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
    let mut turns = server.apply_turns().subscribe();
    let before = turns.borrow().begun;
    server.nudges().apply.notify_one();
    loop {
        // Only a turn that began after the nudge says what is in the way now.
        let is_looked_at = turns.borrow_and_update().ended > before;
        let proposal = server.store().read().await?.proposal(&who.account_id, id).await?;
        let proposal = proposal.ok_or_else(Refusal::not_found)?;
        if proposal.status == Status::PendingApproval {
            let message = "the proposal is not approved";
            let help = "approve it first: nothing is applied without";
            return Err(Refusal::conflict("not-approved", message, help));
        }
        let is_blocked = is_looked_at && !proposal.blocked_by.is_empty();
        let is_over = !proposal.status.is_open() || is_blocked;
        if is_over || tokio::time::Instant::now() >= deadline {
            return Ok(());
        }
        // Another replica's turns are not heard here, so look now and then.
        let next = deadline.min(tokio::time::Instant::now() + Duration::from_secs(1));
        let _ = tokio::time::timeout_at(next, turns.changed()).await;
    }
}
