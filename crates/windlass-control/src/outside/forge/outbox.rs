//! Saying what forges shall show.

use windlass_core::id::RunId;
use windlass_core::repository::Repository;
use windlass_core::time::Timestamp;
use windlass_forge::api::{StatusState, comment_text, marker};
use windlass_store::{
    AccountWriting, ForgeReport, NewForgeReport, PendingPullRequest, Reading, ReportKind, ReportState,
    StoreError,
};

use crate::clock::now;
use crate::control::Control;
use crate::outside::forge::decide::{decode_status, encode_status, has_changed};
use crate::outside::forge::preview_report::{
    PullRequestPreview, preview_comment, preview_event, preview_status,
};
use crate::outside::forge::status::{replaced_by, status_of};

/// Commits of a repository whose statuses are looked after.
const MAX_COMMITS: usize = 50;

/// A status that shall be shown.
struct QueuedStatus {
    commit: String,
    content: String,
    run_id: RunId,
}

/// Says what the forges of all repositories shall show beside commits. Looks first, so that nothing is written while
/// nothing is new.
pub(crate) async fn report_statuses(server: &Control) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let reporting = reading.repositories_with_forge().await?;
    let mut with_news = Vec::new();
    for repository in reporting {
        if !statuses(server, &mut reading, &repository).await?.is_empty() {
            with_news.push(repository);
        }
    }
    drop(reading);
    for repository in with_news {
        let mut writing = server.store().write_account(&repository.account_id).await?;
        let Some(repository) = writing.repository(&repository.account_id, repository.id.as_str()).await?
        else {
            continue;
        };
        for said in statuses(server, &mut writing, &repository).await? {
            put(&mut writing, &repository, &said, now()).await?;
        }
        server.commit(writing).await?;
    }
    Ok(())
}

/// The statuses of a repository's commits that are news.
async fn statuses(
    server: &Control,
    reading: &mut Reading,
    repository: &Repository,
) -> Result<Vec<QueuedStatus>, StoreError> {
    if !repository.forge.as_ref().is_some_and(|forge| forge.commit_status) {
        return Ok(Vec::new());
    }
    let Some(run) = reading.run_of_last_commit(&repository.account_id, &repository.id).await? else {
        return Ok(Vec::new());
    };
    let commit = run.commit_sha.clone().unwrap_or_default();
    let tally: Vec<_> =
        reading.run_tally(&run.id).await?.into_iter().map(|(status, count, _)| (status, count)).collect();
    let (account_id, kind) = (&repository.account_id, ReportKind::Status);
    let reports = reading.forge_reports(account_id, &repository.id, kind, MAX_COMMITS).await?;
    let last = reports.iter().find(|report| report.subject == commit);
    let status = status_of(&run, &tally, &repository.name, server.config().public_url.as_deref());
    let mut news = Vec::new();
    if has_changed(last.and_then(|last| decode_status(&last.content)).as_ref(), &status) {
        news.push(QueuedStatus {
            commit: commit.clone(),
            content: encode_status(&status),
            run_id: run.id.clone(),
        });
    }
    let replaced = reports.iter().filter(|report| report.subject != commit && is_pending(report));
    news.extend(replaced.map(|report| QueuedStatus {
        commit: report.subject.clone(),
        content: encode_status(&replaced_by(&commit, &repository.name)),
        run_id: run.id.clone(),
    }));
    Ok(news)
}

/// Whether a report shows something as undecided that will never be decided any more.
fn is_pending(report: &ForgeReport) -> bool {
    let shown = decode_status(&report.content).filter(|_| report.state != ReportState::Failed);
    shown.is_some_and(|status| status.state == StatusState::Pending)
}

async fn put(
    writing: &mut AccountWriting,
    repository: &Repository,
    said: &QueuedStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    let report = NewForgeReport {
        account_id: &repository.account_id,
        repository_id: &repository.id,
        kind: ReportKind::Status,
        subject: &said.commit,
        content: &said.content,
        run_id: Some(&said.run_id),
    };
    writing.forge_report_put(&report, now).await?;
    Ok(())
}

/// Says what a forge shall show about a pull request that was looked at, and that it was. It is sent soon; nobody waits
/// for that.
pub(crate) async fn report_preview(
    server: &Control,
    repository: &Repository,
    wish: &PendingPullRequest,
    foreseen: &PullRequestPreview,
) -> Result<(), StoreError> {
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let Some(repository) = writing.repository(&repository.account_id, repository.id.as_str()).await? else {
        return Ok(());
    };
    if !writing.pull_request_done(wish).await? {
        // Something newer is to be looked at by now.
        return Ok(());
    }
    let public_url = server.config().public_url.as_deref();
    let commit = match foreseen {
        PullRequestPreview::Plan(preview) => preview.commit_sha.as_deref().unwrap_or(&wish.commit_sha),
        PullRequestPreview::Nothing(_) => &wish.commit_sha,
    };
    let status = encode_status(&preview_status(foreseen, &repository.name, public_url));
    let comment =
        comment_text(&marker(&repository.id), &preview_comment(foreseen, &repository, commit, public_url));
    let number = wish.number.to_string();
    let forge = repository.forge.as_ref();
    let report = |kind, subject, content| NewForgeReport {
        account_id: &repository.account_id,
        repository_id: &repository.id,
        kind,
        subject,
        content,
        run_id: None,
    };
    if forge.is_some_and(|forge| forge.commit_status) {
        writing.forge_report_put(&report(ReportKind::Status, commit, status.as_str()), now()).await?;
    }
    if forge.is_some_and(|forge| forge.comment) {
        writing.forge_report_put(&report(ReportKind::Comment, &number, comment.as_str()), now()).await?;
    }
    writing.event(preview_event(foreseen, &repository, wish, now()));
    server.commit(writing).await
}
