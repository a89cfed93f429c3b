//! Every metric that Prometheus reads: its name, its meaning and its labels.
//!
//! Metrics are named only here, so the reference page, which is generated from this table, is complete. No label holds
//! a name that people chose: the number of series does not grow with the fleet.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use windlass_core::proposal::Status;
use windlass_core::report::{StatusTally, TargetStatus};
use windlass_core::rollout::RolloutStatus;

/// The recorder of the process.
static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts recording metrics.
pub fn start_metrics() {
    RECORDER.get_or_init(start_recording);
}

/// Moves measured values into their buckets, so that memory does not grow while nobody reads the metrics.
pub(crate) fn compact_metrics() {
    if let Some(handle) = RECORDER.get().and_then(Option::as_ref) {
        handle.run_upkeep();
    }
}

/// The metrics in the format that Prometheus reads.
pub fn render_metrics() -> String {
    RECORDER.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Only grows, until the server restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Durations of short operations.
    QuickHistogram,
    /// Durations of operations that take seconds to minutes.
    SlowHistogram,
}

impl MetricKind {
    fn word(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::QuickHistogram | MetricKind::SlowHistogram => "histogram",
        }
    }

    /// The upper bounds of a histogram's buckets, in seconds.
    fn buckets(self) -> &'static [f64] {
        match self {
            MetricKind::Counter | MetricKind::Gauge => &[],
            MetricKind::QuickHistogram => &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0],
            MetricKind::SlowHistogram => &[0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0],
        }
    }
}

/// One metric.
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) labels: &'static [&'static str],
    pub(crate) meaning: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal $labels:expr, $meaning:literal;)*) => {
        $(const $constant: &str = $name;)*

        /// Every metric.
        pub(crate) const METRICS: &[Metric] = &[
            $(Metric { name: $name, kind: MetricKind::$kind, labels: &$labels, meaning: $meaning },)*
        ];
    };
}

metrics! {
    BUILD Gauge "windlass_build_info" ["version"], "always 1; the label is the running version";
    REQUESTS Counter "windlass_http_requests_total" ["method", "route", "status"], "requests answered";
    REQUEST_SECONDS QuickHistogram "windlass_http_request_seconds" ["route"], "how long requests took, including \
        those that wait on purpose";
    SIGN_INS Counter "windlass_sign_ins_total" ["by", "outcome"], "sign-ins by `password` or `sso`: `done`, \
        `refused`, or `throttled` after earlier failures";
    CONNECTIONS Gauge "windlass_connections_open" [], "open connections";
    CONNECTIONS_ENDED Counter "windlass_connections_closed_total" ["reason"], "closed connections: `ended` normally, \
        `late` because the client took too long, `replaced` by a newer one because there were too many, or `refused`";
    EVENT_STREAMS Gauge "windlass_event_streams_open" [], "open event streams";
    TLS_RELOADS Counter "windlass_tls_reloads_total" ["outcome"], "reloads of the TLS certificate: `done`, or \
        `failed` because the new one is invalid and the old one stays";
    SYNC_RUNS Counter "windlass_sync_runs_total" ["status"], "finished sync runs, by result";
    SYNC_SECONDS SlowHistogram "windlass_sync_run_seconds" ["status"], "how long sync runs took, without time in the \
        queue";
    SYNC_QUEUE Gauge "windlass_sync_queue" [], "queued and running sync runs, of all servers on this database";
    FETCH_SECONDS SlowHistogram "windlass_git_fetch_seconds" ["outcome"], "how long fetches from git remotes took: `done` or `failed`";
    FETCH_BYTES Counter "windlass_git_fetch_bytes_total" [], "bytes received from git remotes";
    PROPOSALS Gauge "windlass_proposals_open" ["status"], "open proposals of all accounts: `pending_approval` or `approved`; counted once a minute";
    APPLIED Counter "windlass_proposals_applied_total" [], "applied changes";
    FAILED Counter "windlass_proposals_failed_total" [], "approved changes that failed to apply";
    APPLY_SECONDS QuickHistogram "windlass_apply_commit_seconds" [], "how long a group of changes took, from loading \
        it to storing it";
    APPLY_WAIT SlowHistogram "windlass_apply_wait_seconds" [], "time from a change's approval until it was applied";
    DRIFT Gauge "windlass_drifted_resources" [], "drifted resources of all accounts (manual changes); counted once a \
        minute";
    NODES Gauge "windlass_nodes" ["state"], "nodes of all accounts, by status; counted once a minute";
    REPORTS Counter "windlass_agent_reports_total" ["outcome"], "reports of agents: `stored`, `refused`, or `dropped` because the queue \
        was full";
    REPORT_SECONDS QuickHistogram "windlass_agent_report_seconds" [], "time from a report's arrival until it was stored";
    REPORT_QUEUE Gauge "windlass_agent_report_queue" [], "reports that wait to be stored";
    AGENT_EVENTS_DROPPED Counter "windlass_agent_events_dropped_total" [], "events of agents that were dropped, because one agent sent too many";
    ROLLOUTS Gauge "windlass_rollouts_open" ["status"], "rollouts of all accounts that are not over: `running`, \
        `paused`, `stopped` or `promoted`; counted once a minute";
    ROLLOUT_NODES Gauge "windlass_rollout_nodes_waiting" [], "nodes that a rollout keeps a change from, also after it \
        was aborted; counted once a minute";
    HALTED Gauge "windlass_accounts_halted" [], "halted accounts; counted once a minute";
    WEBHOOKS Counter "windlass_webhooks_total" ["sender", "outcome"], "webhook deliveries by forge: `accepted`, \
        `duplicate`, `ignored`, `limited` or `refused`";
    NOTIFICATIONS Counter "windlass_notifications_total" ["state"], "attempts to send a notification, by result";
    AGENT_STREAMS Gauge "windlass_agent_streams" [], "agents with an open stream to this server";
    AGENT_ENROLMENTS Counter "windlass_agent_enrolments_total" ["outcome"], "attempts of agents to enrol: `done`, \
        `refused`, `throttled` or `failed`";
    AGENT_RENEWALS Counter "windlass_agent_renewals_total" ["outcome"], "renewed certificates of agents: `done` or `failed`";
    AGENT_HANDSHAKES Counter "windlass_agent_handshakes_total" ["outcome"], "TLS handshakes on the agent listener: `done`, \
        `failed`, or `refused` because there were too many connections";
    COMMIT_SECONDS QuickHistogram "windlass_database_commit_seconds" [], "how long the database took to commit a \
        transaction";
    TURNS Counter "windlass_loop_turns_total" ["loop", "outcome"], "iterations of the server's loops: `done`, or \
        `failed` because of the database";
    TURN_SECONDS SlowHistogram "windlass_loop_turn_seconds" ["loop"], "how long iterations took";
    LAST_TURN Gauge "windlass_loop_last_turn_timestamp_seconds" ["loop"], "when a loop last finished an iteration, \
        as Unix time: its heartbeat";
}

/// Installs the recorder and describes every metric; none if that fails.
pub(crate) fn start_recording() -> Option<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS.iter().filter(|metric| !metric.kind.buckets().is_empty()) {
        let matcher = Matcher::Full(metric.name.to_owned());
        builder = builder.set_buckets_for_metric(matcher, metric.kind.buckets()).ok()?;
    }
    let handle = builder.install_recorder().ok()?;
    for metric in METRICS {
        match metric.kind {
            MetricKind::Counter => metrics::describe_counter!(metric.name, metric.meaning),
            MetricKind::Gauge => metrics::describe_gauge!(metric.name, metric.meaning),
            MetricKind::QuickHistogram | MetricKind::SlowHistogram => {
                metrics::describe_histogram!(metric.name, metric.meaning);
            }
        }
    }
    metrics::gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    // Counters are present with 0 before the first event, because a rate needs a start value.
    for reason in [ConnectionEnd::Late, ConnectionEnd::Replaced, ConnectionEnd::Refused] {
        metrics::counter!(CONNECTIONS_ENDED, "reason" => reason.word()).increment(0);
    }
    for outcome in [MetricOutcome::Done, MetricOutcome::Failed] {
        metrics::counter!(TLS_RELOADS, "outcome" => outcome.word()).increment(0);
    }
    event_streams(0);
    agent_streams(0);
    for outcome in [MetricOutcome::Done, MetricOutcome::Refused] {
        metrics::counter!(AGENT_ENROLMENTS, "outcome" => outcome.word()).increment(0);
        metrics::counter!(AGENT_HANDSHAKES, "outcome" => outcome.word()).increment(0);
    }
    metrics::counter!(AGENT_RENEWALS, "outcome" => MetricOutcome::Done.word()).increment(0);
    report_queue(0);
    // Present from the start too, without a sample.
    drop(metrics::histogram!(REPORT_SECONDS));
    for outcome in ReportOutcome::ALL {
        metrics::counter!(REPORTS, "outcome" => outcome.word()).increment(0);
    }
    for name in [FETCH_BYTES, APPLIED, FAILED, AGENT_EVENTS_DROPPED] {
        metrics::counter!(name).increment(0);
    }
    metrics::counter!(WEBHOOKS, "sender" => "unknown", "outcome" => "refused").increment(0);
    for state in ["sent", "failed"] {
        metrics::counter!(NOTIFICATIONS, "state" => state).increment(0);
    }
    Some(handle)
}

/// Records a request that was answered.
pub fn request(method: &'static str, route: &str, status: u16, took: Duration) {
    let labels = [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
    metrics::counter!(REQUESTS, &labels).increment(1);
    metrics::histogram!(REQUEST_SECONDS, "route" => route.to_owned()).record(took.as_secs_f64());
}

pub(crate) fn webhook(sender: &'static str, outcome: &'static str) {
    metrics::counter!(WEBHOOKS, "sender" => sender, "outcome" => outcome).increment(1);
}

pub(crate) fn notification(state: &'static str) {
    metrics::counter!(NOTIFICATIONS, "state" => state).increment(1);
}

/// The result of an operation, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricOutcome {
    /// It succeeded.
    Done,
    /// It was rejected.
    Refused,
    /// It was rejected because there were too many attempts.
    Throttled,
    /// It failed.
    Failed,
}

impl MetricOutcome {
    /// Done for `Ok`, failed for `Err`.
    pub(crate) fn of<T, E>(result: &Result<T, E>) -> MetricOutcome {
        if result.is_ok() { MetricOutcome::Done } else { MetricOutcome::Failed }
    }

    fn word(self) -> &'static str {
        match self {
            MetricOutcome::Done => "done",
            MetricOutcome::Refused => "refused",
            MetricOutcome::Throttled => "throttled",
            MetricOutcome::Failed => "failed",
        }
    }
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportOutcome {
    /// It was stored.
    Stored,
    /// The server did not accept it, or could not store it.
    Refused,
    /// The queue was full.
    Dropped,
}

impl ReportOutcome {
    const ALL: [ReportOutcome; 3] = [ReportOutcome::Stored, ReportOutcome::Refused, ReportOutcome::Dropped];

    fn word(self) -> &'static str {
        match self {
            ReportOutcome::Stored => "stored",
            ReportOutcome::Refused => "refused",
            ReportOutcome::Dropped => "dropped",
        }
    }
}

/// Records a report that was answered.
pub(crate) fn report(outcome: ReportOutcome, took: Duration) {
    metrics::counter!(REPORTS, "outcome" => outcome.word()).increment(1);
    metrics::histogram!(REPORT_SECONDS).record(took.as_secs_f64());
}

/// Counts a report for which there was no room.
pub(crate) fn report_dropped() {
    metrics::counter!(REPORTS, "outcome" => ReportOutcome::Dropped.word()).increment(1);
}

/// Sets the number of reports that wait.
pub(crate) fn report_queue(waiting: usize) {
    metrics::gauge!(REPORT_QUEUE).set(to_f64(waiting));
}

/// Counts events of agents that were dropped.
pub(crate) fn agent_events_dropped(count: u64) {
    metrics::counter!(AGENT_EVENTS_DROPPED).increment(count);
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// Normally.
    Ended,
    /// The client took too long.
    Late,
    /// The server closed it in favour of a newer one.
    Replaced,
    /// The server did not serve it: there were too many.
    Refused,
}

impl ConnectionEnd {
    fn word(self) -> &'static str {
        match self {
            ConnectionEnd::Ended => "ended",
            ConnectionEnd::Late => "late",
            ConnectionEnd::Replaced => "replaced",
            ConnectionEnd::Refused => "refused",
        }
    }
}

/// Sets the number of open connections.
pub fn connections(open: usize) {
    metrics::gauge!(CONNECTIONS).set(to_f64(open));
}

/// Counts a connection that ended.
pub fn connection_ended(how: ConnectionEnd) {
    metrics::counter!(CONNECTIONS_ENDED, "reason" => how.word()).increment(1);
}

/// Sets the number of open event streams.
pub fn event_streams(open: usize) {
    metrics::gauge!(EVENT_STREAMS).set(to_f64(open));
}

/// Sets the number of agents with an open stream.
pub(crate) fn agent_streams(open: usize) {
    metrics::gauge!(AGENT_STREAMS).set(to_f64(open));
}

pub(crate) fn agent_enrolment(outcome: MetricOutcome) {
    metrics::counter!(AGENT_ENROLMENTS, "outcome" => outcome.word()).increment(1);
}

pub(crate) fn agent_renewal(outcome: MetricOutcome) {
    metrics::counter!(AGENT_RENEWALS, "outcome" => outcome.word()).increment(1);
}

/// Counts a TLS handshake on the agent listener.
pub fn agent_handshake(outcome: MetricOutcome) {
    metrics::counter!(AGENT_HANDSHAKES, "outcome" => outcome.word()).increment(1);
}

/// Counts a reload of the TLS certificate.
pub fn tls_reload(outcome: MetricOutcome) {
    metrics::counter!(TLS_RELOADS, "outcome" => outcome.word()).increment(1);
}

/// Counts a sign-in, by result.
pub fn sign_in(by: &'static str, outcome: MetricOutcome) {
    metrics::counter!(SIGN_INS, "by" => by, "outcome" => outcome.word()).increment(1);
}

pub(crate) fn sync_run(status: &'static str, took: Duration) {
    metrics::counter!(SYNC_RUNS, "status" => status).increment(1);
    metrics::histogram!(SYNC_SECONDS, "status" => status).record(took.as_secs_f64());
}

pub(crate) fn sync_queue(runs: usize) {
    metrics::gauge!(SYNC_QUEUE).set(to_f64(runs));
}

pub(crate) fn fetch(outcome: MetricOutcome, bytes: u64, took: Duration) {
    metrics::histogram!(FETCH_SECONDS, "outcome" => outcome.word()).record(took.as_secs_f64());
    metrics::counter!(FETCH_BYTES).increment(bytes);
}

/// Records a batch of applied changes, and how long each waited between approval and apply.
pub(crate) fn changes_applied(took: Duration, count: u64, waited: impl Iterator<Item = Duration>) {
    for wait in waited {
        metrics::histogram!(APPLY_WAIT).record(wait.as_secs_f64());
    }
    if count > 0 {
        metrics::counter!(APPLIED).increment(count);
        metrics::histogram!(APPLY_SECONDS).record(took.as_secs_f64());
    }
}

pub(crate) fn failed_to_apply(count: usize) {
    metrics::counter!(FAILED).increment(count as u64);
}

pub(crate) fn transaction_committed(took: Duration) {
    metrics::histogram!(COMMIT_SECONDS).record(took.as_secs_f64());
}

/// Records an iteration of a loop.
pub(crate) fn loop_turn(name: &'static str, outcome: MetricOutcome, took: Duration, now_seconds: i64) {
    metrics::counter!(TURNS, "loop" => name, "outcome" => outcome.word()).increment(1);
    metrics::histogram!(TURN_SECONDS, "loop" => name).record(took.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
    metrics::gauge!(LAST_TURN, "loop" => name).set(now_seconds as f64);
}

/// Counts over all accounts. `proposals` has one entry for each account and state.
#[derive(Default)]
pub(crate) struct AccountGauges {
    pub(crate) proposals: Vec<(Status, usize)>,
    pub(crate) drifted: usize,
    pub(crate) halted: usize,
    pub(crate) nodes: StatusTally,
    /// The status of each rollout that holds nodes.
    pub(crate) rollouts: Vec<RolloutStatus>,
    /// The nodes that they keep a change from.
    pub(crate) nodes_waiting: usize,
}

pub(crate) fn set_account_gauges(gauges: &AccountGauges) {
    for status in [Status::PendingApproval, Status::Approved] {
        let found = gauges.proposals.iter().filter(|(known, _)| *known == status);
        let count = found.map(|(_, count)| *count).sum();
        metrics::gauge!(PROPOSALS, "status" => status.slug()).set(to_f64(count));
    }
    for status in TargetStatus::ALL {
        #[expect(clippy::cast_precision_loss, reason = "nothing is counted beyond 2^52")]
        metrics::gauge!(NODES, "state" => status.slug()).set(gauges.nodes.of(*status) as f64);
    }
    for status in RolloutStatus::ALL.iter().filter(|status| status.is_open()) {
        let count = gauges.rollouts.iter().filter(|known| *known == status).count();
        metrics::gauge!(ROLLOUTS, "status" => status.slug()).set(to_f64(count));
    }
    metrics::gauge!(ROLLOUT_NODES).set(to_f64(gauges.nodes_waiting));
    metrics::gauge!(DRIFT).set(to_f64(gauges.drifted));
    metrics::gauge!(HALTED).set(to_f64(gauges.halted));
}

#[expect(clippy::cast_precision_loss, reason = "nothing is counted beyond 2^52")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

/// The reference page of all metrics.
pub fn metrics_page() -> String {
    let mut page = String::from(
        "# Metrics\n\nGenerated from the server's own table. Prometheus reads `/metrics` without a token: no label \
            contains a name\nthat people chose. Every server of an installation reports its own; values counted in the database are the same on each,\nso take the `max` of gauges. See [telemetry](../guide/telemetry.md).\n\n\
         | Name | Kind | Labels | Meaning |\n|---|---|---|---|\n",
    );
    for metric in METRICS {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, meaning) = (metric.name, metric.kind.word(), metric.meaning);
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {meaning} |", labels.join(", "));
    }
    let buckets =
        |kind: MetricKind| kind.buckets().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let _ = write!(
        page,
        "\nHistograms have `_bucket` (with `le`), `_sum` and `_count`. The buckets of short operations end at {} s, \
            those of runs,\nfetches, waits and iterations at {} s.\n",
        buckets(MetricKind::QuickHistogram),
        buckets(MetricKind::SlowHistogram)
    );
    page
}
