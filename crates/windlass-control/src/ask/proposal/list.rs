//! Lists of proposals, and single proposals with all details.

use serde::Deserialize;
use windlass_api::types::ProposalInfo;
use windlass_core::account::Account;
use windlass_core::apply::governing_repository;
use windlass_core::diff::Action;
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::{Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::Kind;
use windlass_store::{ProposalFilter, ProposalSource, Reading};

use crate::ask::proposal::content::load_contents;
use crate::ask::proposal::info::{ProposalContext, info};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::refusal::Refusal;

/// Which proposals a request selects, as text.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ProposalQuery {
    /// Only in these states, with commas between them.
    pub status: Option<String>,
    /// Only of this run.
    pub run: Option<String>,
    /// Only of this repository.
    pub repository: Option<String>,
    /// Only of resources of this kind.
    pub kind: Option<String>,
    /// Only of this change: create, update, destroy.
    pub change: Option<String>,
    /// Only of resources of this name.
    pub name: Option<String>,
    /// Only those whose resource contains this.
    pub q: Option<String>,
}

fn read_statuses(text: &str) -> Result<Vec<Status>, Refusal> {
    if text == "open" {
        return Ok(Status::ALL.iter().copied().filter(|status| status.is_open()).collect());
    }
    let wrong = |word: &str| {
        let known: Vec<&str> = Status::ALL.iter().map(|status| status.slug()).collect();
        Refusal::bad_request(format!("`{word}` is not a status"), format!("write open, {}", known.join(", ")))
    };
    text.split(',').map(|word| Status::from_slug(word.trim()).ok_or_else(|| wrong(word))).collect()
}

fn read_change(text: &str) -> Result<Action, Refusal> {
    let known = [Action::Create, Action::Update, Action::Destroy];
    known.into_iter().find(|action| action.to_string() == text).ok_or_else(|| {
        Refusal::bad_request("change must be create, update or destroy", "for example change=destroy")
    })
}

/// Parses a query into a filter.
pub async fn filter_of(
    reading: &mut Reading,
    who: &Identity,
    query: &ProposalQuery,
) -> Result<ProposalFilter, Refusal> {
    let source = match &query.repository {
        // Direct changes have no repository.
        Some(none) if none == "none" => Some(ProposalSource::Direct),
        Some(repository) => {
            let found =
                reading.repository(&who.account_id, repository).await?.ok_or_else(Refusal::not_found)?;
            Some(ProposalSource::Repository(found.id))
        }
        None => None,
    };
    let unknown = || Refusal::bad_request("kind must be a kind of resource", "for example kind=node");
    Ok(ProposalFilter {
        statuses: query.status.as_deref().map(read_statuses).transpose()?.unwrap_or_default(),
        run_id: query.run.as_ref().map(RunId::new),
        source,
        owner_id: None,
        kind: query.kind.as_deref().map(|kind| Kind::from_word(kind).ok_or_else(unknown)).transpose()?,
        change: query.change.as_deref().map(read_change).transpose()?,
        name: query.name.clone(),
        waits_for: None,
        search: query.q.clone(),
    })
}

async fn account_and_repositories(
    reading: &mut Reading,
    who: &Identity,
) -> Result<(Account, Vec<Repository>), Refusal> {
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    Ok((account, reading.repositories(&who.account_id).await?))
}

/// Everything about several proposals of one account.
pub async fn describe(
    reading: &mut Reading,
    who: &Identity,
    found: &[Proposal],
) -> Result<Vec<ProposalInfo>, Refusal> {
    let (account, repositories) = account_and_repositories(reading, who).await?;
    let now = now();
    let changed = found.iter().map(|proposal| &proposal.change.key);
    let gatekeeper = load_gatekeeper(reading, &account, changed, now).await?;
    let open: Vec<&ProposalId> =
        found.iter().filter(|proposal| proposal.status.is_open()).map(|proposal| &proposal.id).collect();
    let approvals = reading.approvals_of(&open).await?;
    let contents = load_contents(reading, &who.account_id, found).await?;
    let described = found.iter().zip(&contents).map(|(proposal, content)| {
        let context = ProposalContext {
            gatekeeper: &gatekeeper,
            repository: governing_repository(proposal, &repositories),
            approvals: approvals.get(&proposal.id).map_or(&[], Vec::as_slice),
            content,
            person: &who.email,
            now,
        };
        info(proposal, &context)
    });
    Ok(described.collect())
}

/// Everything about one proposal.
pub async fn load(server: &Control, who: &Identity, id: &ProposalId) -> Result<ProposalInfo, Refusal> {
    let mut reading = server.store().read().await?;
    let proposal = reading.proposal(&who.account_id, id).await?.ok_or_else(Refusal::not_found)?;
    let approvals = reading.approvals(&proposal.id).await?;
    let contents = load_contents(&mut reading, &who.account_id, std::slice::from_ref(&proposal)).await?;
    let (account, repositories) = account_and_repositories(&mut reading, who).await?;
    let now = now();
    let context = ProposalContext {
        gatekeeper: &load_gatekeeper(&mut reading, &account, [&proposal.change.key], now).await?,
        repository: governing_repository(&proposal, &repositories),
        approvals: &approvals,
        content: contents.first().map_or(&[], Vec::as_slice),
        person: &who.email,
        now,
    };
    Ok(info(&proposal, &context))
}
