//! Previews: what a commit or files would change, compared with the accepted state, without proposing anything.
//!
//! A preview has the steps of a sync run (fetch, read, compare) and calls the same functions, but stores its result in its own
//! row. It creates no run and no proposal, stores no desired state, moves no marker and pins no host key. It fetches into a
//! separate mirror, so that the mirror of the sync runs contains only the tracked branch.

pub mod fetch;
pub mod fetched_fleet;
pub mod forecast;
pub mod plan;

use std::collections::BTreeSet;

use serde_json::json;
use windlass_core::account::Account;
use windlass_core::display::{self, PlanView};
use windlass_core::gate::Contributors;
use windlass_core::manifest::ReadContext;
use windlass_core::plan::{MassDestroyConfirmation, ParsedPlan};
use windlass_core::quarantine::WorkEnd;
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_source::{Branch, BranchError, CommitId, Revision, SentFiles};
use windlass_store::{Actor, Preview, PreviewSource, new_id};

use crate::account_state::accepted;
use crate::clock::now;
use crate::control::Control;
use crate::failure::panic_error;
use crate::flow::sync::fleet_at_commit::FleetAtCommit;
use crate::limits::isolation::WorkPermit;
use crate::outside::preview::fetch::REFERENCE_HELP;
use crate::outside::preview::fetched_fleet::FetchedFleet;
use crate::record;
use crate::work::error::PreviewError;
use crate::work::on_demand::{OnDemandWork, run_on_demand, run_to_completion};

/// What to preview.
#[derive(Clone, Debug)]
pub(crate) enum PreviewTarget {
    /// A revision, and the commit that it must be at, if that is known.
    Revision(Revision, Option<CommitId>),
    /// Files that were sent, and their name.
    Files(SentFiles, String),
}

impl PreviewTarget {
    /// A branch or a reference.
    pub(crate) fn reference(text: &str, expected: Option<CommitId>) -> Result<PreviewTarget, BranchError> {
        Ok(PreviewTarget::Revision(Revision::parse(text)?, expected))
    }

    fn name(&self) -> String {
        match self {
            PreviewTarget::Revision(revision, _) => revision.to_string(),
            PreviewTarget::Files(_, name) => name.clone(),
        }
    }

    fn source(&self) -> PreviewSource {
        match self {
            PreviewTarget::Revision(..) => PreviewSource::Git,
            PreviewTarget::Files(..) => PreviewSource::Files,
        }
    }
}

/// How work with this result ended, for the crash history.
fn end_of<T>(made: &Result<T, PreviewError>) -> WorkEnd {
    match made {
        Ok(_) => WorkEnd::ReadThrough,
        Err(PreviewError::Failed(_)) => WorkEnd::Failed,
        Err(PreviewError::Busy | PreviewError::Stopping | PreviewError::Store(_)) => WorkEnd::Untried,
    }
}

/// What a reference of a repository would change, for the pull-request loop, which already has a permit. Nobody requested the
/// preview, so the audit log does not record it.
pub(crate) async fn preview_reference(
    server: &Control,
    repository: &Repository,
    reference: &str,
    permit: WorkPermit,
) -> Result<Preview, PreviewError> {
    let wanted = PreviewTarget::reference(reference, None)
        .map_err(|error| RunError::new("bad-ref", error.to_string(), REFERENCE_HELP))?;
    let _turn = server.preview_permits().take(&repository.account_id).await?;
    let request = PreviewRequest {
        repository: repository.clone(),
        wanted,
        confirmation: MassDestroyConfirmation::Missing,
        by: None,
    };
    create_preview_now(server, request, permit).await
}

/// Reads the fleet at the head of a repository's tracked branch on request, with the context of any account.
pub(crate) async fn read_branch(
    server: &Control,
    account: &Account,
    repository: &Repository,
    context: ReadContext,
) -> Result<FetchedFleet, PreviewError> {
    let branch = Branch::parse(&repository.branch)
        .map_err(|error| RunError::new("branch", error.to_string(), error.help()))?;
    let turn = server.preview_permits().take(&repository.account_id).await?;
    let (server, account, repository) = (server.clone(), account.clone(), repository.clone());
    let revision = (Revision::Branch(branch), None);
    run_to_completion(turn, async move {
        let read =
            |permit| fetch::fetch_and_read(&server, &account, &repository, revision, (context, permit));
        run_on_demand(&server, &OnDemandWork::ReadsRepository(repository.clone()), read, end_of).await
    })
    .await
}

/// A preview as a comment for a forge.
pub(crate) fn markdown(preview: &Preview) -> Result<String, serde_json::Error> {
    let plan: ParsedPlan = serde_json::from_str(&preview.document)?;
    Ok(display::markdown(&PlanView::read(&plan)))
}

/// A request for a preview.
#[derive(Debug)]
pub(crate) struct PreviewRequest {
    pub(crate) repository: Repository,
    pub(crate) wanted: PreviewTarget,
    pub(crate) confirmation: MassDestroyConfirmation,
    pub(crate) by: Option<Actor>,
}

/// Creates and stores a requested preview, on a task that holds its permit to the end. The returned preview has its complete
/// document; the stored one may lack the last steps.
pub(crate) async fn create_preview(
    server: &Control,
    request: PreviewRequest,
    turn: impl Send + 'static,
) -> Result<Preview, PreviewError> {
    let server = server.clone();
    let work = match &request.wanted {
        PreviewTarget::Revision(..) => OnDemandWork::ReadsRepository(request.repository.clone()),
        PreviewTarget::Files(..) => OnDemandWork::ReadsSentFiles(request.repository.clone()),
    };
    run_to_completion(turn, async move {
        run_on_demand(&server, &work, |permit| create_preview_now(&server, request, permit), end_of).await
    })
    .await
}

async fn create_preview_now(
    server: &Control,
    request: PreviewRequest,
    permit: WorkPermit,
) -> Result<Preview, PreviewError> {
    let PreviewRequest { repository, wanted, confirmation, by } = request;
    let repository = &repository;
    let mut reading = server.store().read().await?;
    let account = reading.account(repository.account_id.as_str()).await?;
    let account =
        account.ok_or_else(|| RunError::new("repository-removed", "the repository was removed", ""))?;
    let context = accepted::reading_context(&mut reading, &account).await?;
    drop(reading);
    let (reference, source) = (wanted.name(), wanted.source());
    let fetched = match wanted {
        PreviewTarget::Revision(revision, expected) => {
            fetch::fetch_and_read(
                server,
                &account,
                repository,
                (revision, expected),
                (context, permit.clone()),
            )
            .await?
        }
        PreviewTarget::Files(files, _) => {
            let prefix = repository.path_prefix.clone();
            let fleet_at_commit = read_files(files, context, prefix, permit.clone()).await?;
            let notes = not_compared(&fleet_at_commit.unknown_contents).into_iter().collect();
            FetchedFleet { fleet_at_commit, commit: None, contributors: Contributors::default(), notes }
        }
    };
    let commit_sha = fetched.commit.clone();
    let planning =
        plan::PreviewPlanner { account: &account, repository, confirmation, reference: &reference };
    let found = planning.plan(server, fetched).await?;
    let preview = Preview {
        id: new_id(),
        account_id: account.id.clone(),
        repository_id: repository.id.clone(),
        reference,
        source,
        commit_sha,
        base_commit: repository.good_commit.clone(),
        requested_by: by.as_ref().map(|actor| actor.name.clone()),
        outcome: found.outcome,
        changes: found.changes,
        document: found.whole,
        created_at: now(),
    };
    keep(server, preview, found.short, repository, by.as_ref()).await
}

/// A note for a sender of files who did not send the content of all paths that the files name.
fn not_compared(unknown: &BTreeSet<String>) -> Option<String> {
    let first = unknown.first()?;
    let (paths, more) = match unknown.len() {
        1 => ("a path", String::new()),
        many => ("some paths", format!(" and {} more", many - 1)),
    };
    Some(format!(
        "the content of {paths} was not sent and is not compared: {first}{more}; send it as `contents`"
    ))
}

/// Reads files that were sent, on a thread that may block.
async fn read_files(
    files: SentFiles,
    context: ReadContext,
    prefix: String,
    permit: WorkPermit,
) -> Result<FleetAtCommit, RunError> {
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        FleetAtCommit::read(&files, &context, &prefix)
    });
    task.await.map_err(|panic| panic_error(&panic))
}

/// Stores a preview. It replaces the last one of the same reference.
async fn keep(
    server: &Control,
    mut preview: Preview,
    short: Option<String>,
    repository: &Repository,
    by: Option<&Actor>,
) -> Result<Preview, PreviewError> {
    let mut writing = server.store().write_account(&preview.account_id).await?;
    if writing.repository(&preview.account_id, repository.id.as_str()).await?.is_none() {
        return Err(RunError::new("repository-removed", "the repository was removed", "").into());
    }
    preview.id = match short {
        Some(document) => writing.preview_put(&Preview { document, ..preview.clone() }).await?,
        None => writing.preview_put(&preview).await?,
    };
    if let Some(actor) = by {
        let detail = json!({
            "ref": preview.reference, "source": preview.source.slug(), "commit_sha": preview.commit_sha,
            "preview_id": preview.id,
        });
        let target = ("repository", repository.name.as_str());
        writing.audit(record::audit_entry(actor, "repository.preview", target, detail, preview.created_at));
    }
    server.commit(writing).await?;
    Ok(preview)
}
