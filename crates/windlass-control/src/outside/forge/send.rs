//! Sends the stored reports to forges.
//!
//! Each report is sent at least once: after a crash between sending it and recording that, the server sends it again, with the
//! same result. The reports of a repository are sent one at a time, under a lease, so that an older one never arrives last.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use windlass_core::event::{EventKind, Severity};
use windlass_core::fairness::{LastResult, WorkerSlots};
use windlass_core::id::RepositoryId;
use windlass_core::repository::Repository;
use windlass_forge::api::{PullRequestComment, Retryability, marker};
use windlass_store::{ForgeReport, Lease, ReportKind, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::outside::forge::decide::{LONGEST_PAUSE, decode_status, pause_after};
use crate::outside::forge::problem::ForgeProblem;
use crate::outside::forge::target::ForgeTarget;
use crate::pace::workers::{QueuedJob, Workers};
use crate::record::RepositoryEvent;

/// Reports read at a time: enough to find some of each account that has some.
const AT_ONCE: usize = 500;

/// For how many repositories reports are sent at the same time. A forge that does not respond delays only its own account.
pub(crate) const REPORT_SLOTS: WorkerSlots = WorkerSlots { all: 8, reserved: 2, per_account: 3, unproven: 2 };

/// How long sending one report may take in total. A comment takes several requests.
const SEND_TIMEOUT: Duration = Duration::from_secs(90);

/// Longer than that, so that no other server takes over while a report is being sent.
const LEASE_DURATION: Duration = Duration::from_secs(120);

/// Starts sending the reports that are due.
pub(crate) async fn send_due(server: &Control, workers: &mut Workers) -> Result<(), StoreError> {
    let now = now();
    let busy = workers.busy_lanes();
    let due =
        server.store().read().await?.forge_reports_due(now, now.plus(LONGEST_PAUSE * 4), AT_ONCE).await?;
    let work = |reports: Vec<ForgeReport>| {
        let server = server.clone();
        async move { send_all(&server, reports).await }
    };
    let server = server.clone();
    workers.begin(by_repository(due), &busy, work, move |sent| match sent {
        Ok(ReportSender::Here) => server.nudges().forge.notify_one(),
        // They are still due in a later turn.
        Ok(ReportSender::Elsewhere) => {}
        Err(error) => drop(server.report_problem("forge", &error)),
    });
    Ok(())
}

/// The reports of each repository, in the order of the first report of each.
fn by_repository(due: Vec<ForgeReport>) -> Vec<QueuedJob<Vec<ForgeReport>>> {
    let mut jobs: Vec<QueuedJob<Vec<ForgeReport>>> = Vec::new();
    let mut places: BTreeMap<RepositoryId, usize> = BTreeMap::new();
    for report in due {
        let place = *places.entry(report.repository_id.clone()).or_insert(jobs.len());
        if place == jobs.len() {
            jobs.push(QueuedJob {
                account: report.account_id.clone(),
                lane: report.repository_id.to_string(),
                last_result: if report.attempts == 0 { LastResult::Proven } else { LastResult::Unproven },
                task: Vec::new(),
            });
        }
        jobs[place].task.push(report);
    }
    jobs
}

/// Which server sends the reports of a repository.
enum ReportSender {
    /// This server.
    Here,
    /// Another server.
    Elsewhere,
}

/// Sends the reports of a repository one after the other. After a transient failure, the rest wait for a later turn.
async fn send_all(server: &Control, reports: Vec<ForgeReport>) -> Result<ReportSender, StoreError> {
    let Some(first) = reports.first() else { return Ok(ReportSender::Elsewhere) };
    let name = format!("forge:{}", first.repository_id);
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE_DURATION).await? else {
        return Ok(ReportSender::Elsewhere);
    };
    let sent = send_under(server, &lease, reports).await;
    // A lease that cannot be released expires.
    let _ = server.store().lease_release(&lease).await;
    sent.map(|()| ReportSender::Here)
}

async fn send_under(server: &Control, lease: &Lease, reports: Vec<ForgeReport>) -> Result<(), StoreError> {
    for report in reports {
        let mut reading = server.store().read().await?;
        if !reading.forge_report_is_current(&report).await? {
            continue;
        }
        let repository = reading.repository(&report.account_id, report.repository_id.as_str()).await?;
        let account = reading.account(report.account_id.as_str()).await?;
        drop(reading);
        let (Some(repository), Some(account)) = (repository, account) else { continue };
        if !server.store().lease_renew(lease, now(), LEASE_DURATION).await? {
            return Ok(());
        }
        let sent =
            tokio::time::timeout(SEND_TIMEOUT, send(server, &repository, &account.name, &report)).await;
        let sent = sent.unwrap_or_else(|_| Err(too_slow()));
        let lasting = sent.as_ref().err().map(|problem| problem.lasting);
        note(server, lease, &repository, &report, sent).await?;
        if lasting == Some(Retryability::Transient) {
            return Ok(());
        }
    }
    Ok(())
}

fn too_slow() -> ForgeProblem {
    let help = "check that it is up; Windlass retries";
    let message = "the forge did not respond in time".to_owned();
    let lasting = Retryability::Transient;
    ForgeProblem { code: "forge-timeout", message, lasting, ..ForgeProblem::setting("forge", "", help) }
}

/// Sends one report.
async fn send(
    server: &Control,
    repository: &Repository,
    account: &str,
    report: &ForgeReport,
) -> Result<(), ForgeProblem> {
    let gone = |message: &str| ForgeProblem::setting("forge", message, "no action needed");
    let settings = repository.forge.as_ref().ok_or_else(|| gone("reporting to the forge is turned off"))?;
    let target = ForgeTarget::of(repository, settings, server.config())?;
    let forge = target.connect(repository, account, server).await?;
    match report.kind {
        ReportKind::Status => {
            let status =
                decode_status(&report.content).ok_or_else(|| gone("cannot read the stored report"))?;
            forge.set_status(&target.project, &report.subject, &status).await?;
        }
        ReportKind::Comment => {
            let number = report.subject.parse().map_err(|_| gone("not a pull request"))?;
            let marker = marker(&repository.id);
            let comment = PullRequestComment { number, marker: &marker, text: &report.content };
            forge.put_comment(&target.project, comment).await?;
        }
    }
    Ok(())
}

/// Records the outcome of sending a report.
async fn note(
    server: &Control,
    lease: &Lease,
    repository: &Repository,
    report: &ForgeReport,
    sent: Result<(), ForgeProblem>,
) -> Result<(), StoreError> {
    let now = now();
    let mut writing = server.store().write_account(&report.account_id).await?;
    writing.lease_check(lease).await?;
    let Err(problem) = sent else {
        writing.forge_report_mark_sent(report, now).await?;
        writing.repository_forge_result(&repository.id, None).await?;
        return server.commit(writing).await;
    };
    let failures = report.attempts + 1;
    let next_at = pause_after(failures, &problem).map(|pause| now.plus(pause));
    tracing::warn!(
        repository = repository.name,
        code = problem.code,
        failures,
        "could not report to a forge"
    );
    if writing.forge_report_mark_failed(report, &problem.message, next_at, now).await? {
        let last_error = format!("{} ({})", problem.message, problem.help);
        writing.repository_forge_result(&repository.id, Some(&last_error)).await?;
        if next_at.is_none() {
            writing.event(failure_event(repository, report, &problem, failures));
        }
    }
    server.commit(writing).await
}

fn failure_event(
    repository: &Repository,
    report: &ForgeReport,
    problem: &ForgeProblem,
    failures: i64,
) -> windlass_core::event::NewEvent {
    let what = match report.kind {
        ReportKind::Status => "the status of a commit",
        ReportKind::Comment => "a comment on a pull request",
    };
    let message = format!("could not send {what} to the forge of {}: {}", repository.name, problem.message);
    let payload = json!({
        "code": problem.code, "help": problem.help, "report": report.kind.slug(), "subject": report.subject,
        "attempts": failures,
    });
    let kind = EventKind::ForgeReportFailed;
    let news = RepositoryEvent { kind, severity: Severity::Medium, by: "windlass", message, payload };
    let mut event = news.event(repository, now());
    event.correlation_id.clone_from(&report.run_id);
    event
}
