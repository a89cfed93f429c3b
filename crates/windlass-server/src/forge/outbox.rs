//! Saying what forges shall show.

use windlass_core::time::Timestamp;
use windlass_forge::api::{StatusState, marked, marker};
use windlass_store::{
    AccountWriting, ForgeReport, NewForgeReport, Reading, ReportKind, ReportState, Repository, StoreError,
};

use super::decide::{is_news, read, written};
use super::status::{replaced_by, status_of};
use crate::clock::now;
use crate::server::Server;

/// Commits of a repository whose statuses are looked after.
const COMMITS: usize = 50;

/// A status that shall be shown.
struct Said {
    commit: String,
    content: String,
    run_id: String,
}

/// Says what the forges of all repositories shall show beside commits. Looks first, so that nothing is written while
/// nothing is new.
pub(crate) async fn say_statuses(server: &Server) -> Result<(), StoreError> {
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
        let Some(repository) = writing.repository(&repository.account_id, &repository.id).await? else {
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
    server: &Server,
    reading: &mut Reading,
    repository: &Repository,
) -> Result<Vec<Said>, StoreError> {
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
    let reports = reading.forge_reports(account_id, &repository.id, kind, COMMITS).await?;
    let last = reports.iter().find(|report| report.subject == commit);
    let status = status_of(&run, &tally, &repository.name, server.config().public_url.as_deref());
    let mut news = Vec::new();
    if is_news(last.and_then(|last| read(&last.content)).as_ref(), &status) {
        news.push(Said { commit: commit.clone(), content: written(&status), run_id: run.id.clone() });
    }
    let replaced = reports.iter().filter(|report| report.subject != commit && is_pending(report));
    news.extend(replaced.map(|report| Said {
        commit: report.subject.clone(),
        content: written(&replaced_by(&commit, &repository.name)),
        run_id: run.id.clone(),
    }));
    Ok(news)
}

/// Whether a report shows something as undecided that will never be decided any more.
fn is_pending(report: &ForgeReport) -> bool {
    let shown = read(&report.content).filter(|_| report.state != ReportState::Failed);
    shown.is_some_and(|status| status.state == StatusState::Pending)
}

async fn put(
    writing: &mut AccountWriting,
    repository: &Repository,
    said: &Said,
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

/// Whether something will be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comment {
    /// It will be, or stands there already.
    Said,
    /// This repository's forge gets no comments.
    NotWanted,
}

/// Says what our comment on a pull request shall be. It is written or changed in place soon; nobody waits for that.
#[allow(dead_code, reason = "previews of pull requests call it")]
pub(crate) async fn report_comment(
    server: &Server,
    repository: &Repository,
    pull_request: u64,
    markdown: &str,
) -> Result<Comment, StoreError> {
    let mut writing = server.store().write_account(&repository.account_id).await?;
    let current = writing.repository(&repository.account_id, &repository.id).await?;
    let is_wanted = current.and_then(|it| it.forge).is_some_and(|forge| forge.comment);
    if !is_wanted {
        return Ok(Comment::NotWanted);
    }
    let (subject, content) = (pull_request.to_string(), marked(&marker(&repository.id), markdown));
    let report = NewForgeReport {
        account_id: &repository.account_id,
        repository_id: &repository.id,
        kind: ReportKind::Comment,
        subject: &subject,
        content: &content,
        run_id: None,
    };
    writing.forge_report_put(&report, now()).await?;
    server.commit(writing).await?;
    server.nudges().forge.notify_one();
    Ok(Comment::Said)
}
