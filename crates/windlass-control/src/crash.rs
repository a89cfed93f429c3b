//! Points at which tests crash the process, to show that nothing is lost or done twice.
//!
//! They work only in builds with debug assertions, not in a release.

/// Every point of a sync and an apply, in order.
pub const CRASH_POINTS: &[&str] = &[
    "sync.queued",
    "sync.begun",
    "sync.fetched",
    "sync.read",
    "sync.before_commit",
    "sync.committed",
    "decide.before_commit",
    "decide.committed",
    "apply.decided",
    "apply.written",
    "apply.before_commit",
    "apply.committed",
    "apply.settled",
];

/// Every point of a request that has an idempotency key.
pub const REQUEST_CRASH_POINTS: &[&str] = &["request.before_commit", "request.done"];

/// Every point of sending a notification.
pub const NOTIFY_CRASH_POINTS: &[&str] = &["notify.sent"];

/// Every point of planning a pull request, and of previews and tests that someone requests.
pub const PREVIEW_CRASH_POINTS: &[&str] = &["preview.begun", "requested.begun"];

/// Every point of approving a plan set, and of opening the next changes of a plan.
pub const PLAN_CRASH_POINTS: &[&str] =
    &["set.before_commit", "set.committed", "open.before_commit", "open.committed"];

/// Aborts the process if the environment names this point: `WINDLASS_CRASH_AT=apply.written`. Does nothing in a
/// release.
pub fn crash_point(name: &'static str) {
    if !cfg!(debug_assertions) {
        return;
    }
    let tables =
        [CRASH_POINTS, REQUEST_CRASH_POINTS, NOTIFY_CRASH_POINTS, PREVIEW_CRASH_POINTS, PLAN_CRASH_POINTS];
    let is_known = tables.iter().any(|table| table.contains(&name));
    debug_assert!(is_known, "{name} is not in the table");
    if std::env::var("WINDLASS_CRASH_AT").is_ok_and(|wanted| wanted == name) {
        tracing::warn!(point = name, "dying as asked");
        std::process::abort();
    }
}
