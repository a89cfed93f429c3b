//! Stores the reports that forges show.

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
use crate::outside::forge::status::{replaced_status, status_of};

/// How many recent commits of a repository get status updates.
const MAX_COMMITS: usize = 50;

/// A status to report.
struct QueuedStatus {
    commit: String,
    content: String,
    run_id: RunId,
}

/// Stores the changed commit statuses of all repositories. Compares first, so that nothing is written if nothing changed.
pub(crate) async fn report_statuses(server: &Control) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let reporting = reading.repositories_with_forge().await?;
    let mut changed = Vec::new();
    for repository in reporting {
        if !statuses(server, &mut reading, &repository).await?.is_empty() {
            changed.push(repository);
        }
    }
    drop(reading);
    for repository in changed {
        let mut writing = server.store().write_account(&repository.account_id).await?;
        let Some(repository) = writing.repository(&repository.account_id, repository.id.as_str()).await?
        else {
            continue;
        };
        for queued in statuses(server, &mut writing, &repository).await? {
            put(&mut writing, &repository, &queued, now()).await?;
        }
        server.commit(writing).await?;
    }
    Ok(())
}

/// The statuses of a repository's commits that changed.
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
    let mut changed = Vec::new();
    if has_changed(last.and_then(|last| decode_status(&last.content)).as_ref(), &status) {
        changed.push(QueuedStatus {
            commit: commit.clone(),
            content: encode_status(&status),
            run_id: run.id.clone(),
        });
    }
    let replaced = reports.iter().filter(|report| report.subject != commit && is_pending(report));
    changed.extend(replaced.map(|report| QueuedStatus {
        commit: report.subject.clone(),
        content: encode_status(&replaced_status(&commit, &repository.name)),
        run_id: run.id.clone(),
    }));
    Ok(changed)
}

/// Whether a report shows a commit as pending. A replaced commit would stay pending, because nobody decides it any more.
fn is_pending(report: &ForgeReport) -> bool {
    let shown = decode_status(&report.content).filter(|_| report.state != ReportState::Failed);
    shown.is_some_and(|status| status.state == StatusState::Pending)
}

async fn put(
    writing: &mut AccountWriting,
    repository: &Repository,
    queued: &QueuedStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    let report = NewForgeReport {
        account_id: &repository.account_id,
        repository_id: &repository.id,
        kind: ReportKind::Status,
        subject: &queued.commit,
        content: &queued.content,
        run_id: Some(&queued.run_id),
    };
    writing.forge_report_put(&report, now).await?;
    Ok(())
}

/// Stores the report and the event about a pull request that was previewed. The loop sends the report later.
pub(crate) async fn report_preview(
    server: &Control,
    repository: &Repository,
    pending: &PendingPullRequest,
    preview: &PullRequestPreview,
) -> Result<(), StoreError> {
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let Some(repository) = writing.repository(&repository.account_id, repository.id.as_str()).await? else {
        return Ok(());
    };
    if !writing.pull_request_delete(pending).await? {
        // The pull request has a newer commit to preview.
        return Ok(());
    }
    let public_url = server.config().public_url.as_deref();
    let commit = match preview {
        PullRequestPreview::Plan(preview) => preview.commit_sha.as_deref().unwrap_or(&pending.commit_sha),
        PullRequestPreview::Nothing(_) => &pending.commit_sha,
    };
    let status = encode_status(&preview_status(preview, &repository.name, public_url));
    let comment =
        comment_text(&marker(&repository.id), &preview_comment(preview, &repository, commit, public_url));
    let number = pending.number.to_string();
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
    writing.event(preview_event(preview, &repository, pending, now()));
    server.commit(writing).await
}
