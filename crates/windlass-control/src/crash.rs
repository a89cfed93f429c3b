//! Places where tests make the process die, to show that nothing is lost or done twice.
//!
//! Only in builds with debug assertions: a release has none of this.

/// Every place, in the order of a sync and an apply.
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

/// Every place in a request that carries an idempotency key.
pub const REQUEST_CRASH_POINTS: &[&str] = &["request.before_commit", "request.done"];

/// Every place in sending a notification.
pub const NOTIFY_CRASH_POINTS: &[&str] = &["notify.sent"];

/// Every place in planning a pull request, and in previews and tests that someone asks for.
pub const PREVIEW_CRASH_POINTS: &[&str] = &["preview.begun", "requested.begun"];

/// Every place in approving a set of a plan and in opening what comes next of it.
pub const PLAN_CRASH_POINTS: &[&str] =
    &["set.before_commit", "set.committed", "open.before_commit", "open.committed"];

/// Dies here if the environment says so: `WINDLASS_CRASH_AT=apply.written`. Does nothing in a release.
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
