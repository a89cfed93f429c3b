//! Rows for every table, as the version that introduced the table would have written them. Later columns get their
//! defaults from their migrations.

use serde_json::{Value, json};
use windlass_core::digest::Digest;
use windlass_core::host::BlobDigest;
use windlass_core::resource::{ResourceKey, Spec};

use crate::world::{at, node, node_key, template};

pub(crate) const ACCOUNT: &str = "account-1";
/// An account whose audit log records that its first entry was archived; from version 15 on, it is.
pub(crate) const ARCHIVED_ACCOUNT: &str = "account-2";
pub(crate) const USER: &str = "user-1";
pub(crate) const REPOSITORY: &str = "repository-1";
/// The run of the repository's last plan.
pub(crate) const RUN: &str = "run-1";
/// A run that was in progress when the server stopped.
pub(crate) const UNFINISHED_RUN: &str = "run-2";
/// A pending proposal with one approval.
pub(crate) const PROPOSAL: &str = "proposal-1";
pub(crate) const FILE: &str = "fleet.yaml";
/// The number of entries in the audit log of the account.
pub(crate) const ENTRIES: i64 = 3;

/// The time of all rows, in milliseconds.
pub(crate) fn moment() -> i64 {
    at(0).as_millis()
}

/// The statements that fill a database of a version.
pub(crate) fn statements(version: i64) -> Vec<String> {
    let mut statements = people();
    statements.extend(repositories());
    statements.extend(resources(version));
    statements.extend(runs_and_proposals(version));
    statements.extend(drift(version));
    statements.extend(log());
    statements.extend(external());
    statements.extend(later_tables(version));
    statements
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `INSERT` of one row; each value is an SQL literal.
fn insert(table: &str, row: &[(&str, String)]) -> String {
    let (columns, values): (Vec<&str>, Vec<&str>) =
        row.iter().map(|(column, value)| (*column, value.as_str())).unzip();
    format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), values.join(", "))
}

/// A row of texts and numbers: `row!{id: "a", at: 5}`.
macro_rules! row {
    ($table:literal { $($column:ident: $value:expr),* $(,)? }) => {
        insert($table, &[$((stringify!($column), Sql::from($value).0)),*])
    };
}

/// An SQL literal.
struct Sql(String);

impl From<&str> for Sql {
    fn from(text: &str) -> Sql {
        Sql(quoted(text))
    }
}

impl From<String> for Sql {
    fn from(text: String) -> Sql {
        Sql(quoted(&text))
    }
}

impl From<i64> for Sql {
    fn from(number: i64) -> Sql {
        Sql(number.to_string())
    }
}

impl From<Digest> for Sql {
    fn from(digest: Digest) -> Sql {
        Sql(quoted(&digest.to_string()))
    }
}

fn people() -> Vec<String> {
    let at = moment();
    vec![
        row!("accounts" { id: ARCHIVED_ACCOUNT, name: "beta", policy: "{}", policy_version: 1, created_at: at }),
        row!("accounts" { id: ACCOUNT, name: "acme", halted_at: at, halted_by: "ada", halt_reason: "moving",
            policy: "{}", policy_version: 1, created_at: at }),
        row!("users" { id: USER, email: "ada@example.com", name: "Ada", password_hash: "hash",
            must_change_password: 0, is_root: 1, created_at: at }),
        row!("users" { id: "user-2", email: "bob@example.com", name: "Bob", password_hash: "hash",
            must_change_password: 1, is_root: 0, disabled_at: at, created_at: at }),
        row!("memberships" { account_id: ACCOUNT, user_id: USER, role: "admin", origin: "hand", created_at: at }),
        row!("memberships" { account_id: ACCOUNT, user_id: "user-2", role: "viewer", origin: "groups",
            created_at: at }),
        row!("sessions" { id: "session-1", user_id: USER, account_id: ACCOUNT, address: "192.0.2.1",
            created_at: at, expires_at: at + 1000 }),
        row!("tokens" { id: "token-1", account_id: ACCOUNT, name: "deploy", secret_hash: "secret-hash",
            permissions: "[\"gitops.read\"]", created_by: USER, created_at: at }),
        row!("identities" { issuer: "https://id.example.com", subject: "bob", user_id: "user-2", created_at: at }),
        row!("throttles" { subject: "ada@example.com", failures: 3, first_at: at, last_at: at }),
    ]
}

fn repositories() -> Vec<String> {
    let at = moment();
    vec![
        row!("repositories" { id: REPOSITORY, account_id: ACCOUNT, name: "fleet",
            repo_url: "https://git.example.com/fleet.git", branch: "main", path_prefix: "", enabled: 1,
            credential_path: "vault:git", auto_apply: 0, interval_ms: 300_000, next_sync_at: at,
            last_run_id: RUN, last_run_at: at, last_status: "success", good_run_id: RUN, good_commit: "c0ffee",
            good_at: at, version: 1, created_at: at, updated_at: at }),
        row!("webhooks" { repository_id: REPOSITORY, generation: 2, received_at: at, received_from: "github",
            received_event: "push", received_outcome: "synced" }),
        row!("webhook_deliveries" { repository_id: REPOSITORY, identity: Digest::of(b"delivery"), at: at }),
        row!("pull_requests" { repository_id: REPOSITORY, number: 7, account_id: ACCOUNT,
            reference: "refs/pull/7/head", commit_sha: "beef", attempts: 1, next_at: at }),
    ]
}

/// The accepted resources, and the desired ones: git declares the node in another region.
fn resources(version: i64) -> Vec<String> {
    let (last_agreed, at) = (if version < 14 { "settled" } else { "last_agreed" }, moment());
    let mut statements = Vec::new();
    for (key, spec) in accepted() {
        let mut row = vec![
            ("account_id", quoted(ACCOUNT)),
            ("kind", quoted(key.kind.slug())),
            ("name", quoted(&key.name)),
            ("id", quoted(&format!("resource-{}", key.name))),
            ("digest", Sql::from(spec.digest()).0),
            ("owner_id", quoted(REPOSITORY)),
            ("generation", "1".to_owned()),
            ("created_at", at.to_string()),
            ("updated_at", at.to_string()),
            ("updated_by", quoted("ada")),
        ];
        row.extend(spec_column(version, "spec", &spec));
        statements.push(insert("resources", &row));
        for target in spec.targets(&key.name) {
            statements.push(row!("resource_references" { account_id: ACCOUNT, kind: key.kind.slug(),
                name: key.name.clone(), to_kind: target.kind.slug(), to_name: target.name }));
        }
    }
    for (key, spec, agreed) in
        [(node_key("edge-1"), node("us"), node("eu")), (template_key(), template(), template())]
    {
        let mut row = vec![
            ("repository_id", quoted(REPOSITORY)),
            ("kind", quoted(key.kind.slug())),
            ("name", quoted(&key.name)),
            ("digest", Sql::from(spec.digest()).0),
            ("file", quoted(FILE)),
            (last_agreed, Sql::from(agreed.digest()).0),
        ];
        row.extend(spec_column(version, "spec", &spec));
        statements.push(insert("desired", &row));
    }
    if version >= SPECS_BY_DIGEST {
        for spec in [node("eu"), node("us"), node("ap"), template()] {
            statements.push(row!("contents" { digest: spec.digest(), body: spec.to_stored() }));
        }
    }
    statements
}

/// The first version that stores specs in `contents`, by digest.
const SPECS_BY_DIGEST: i64 = 18;

/// The column with a spec, in versions that have it.
fn spec_column(version: i64, column: &'static str, spec: &Spec) -> Option<(&'static str, String)> {
    (version < SPECS_BY_DIGEST).then(|| (column, quoted(&spec.to_stored())))
}

pub(crate) fn template_key() -> ResourceKey {
    ResourceKey::new(windlass_core::resource::Kind::Template, "edge")
}

/// The accepted resources.
pub(crate) fn accepted() -> [(ResourceKey, Spec); 2] {
    [(node_key("edge-1"), node("eu")), (template_key(), template())]
}

fn run(id: &str, status: &str, stage: &str) -> String {
    let at = moment();
    row!("sync_runs" { id: id, account_id: ACCOUNT, repository_id: REPOSITORY, repository_name: "fleet",
        trigger_kind: "schedule", confirm_mass_destroy: 0, status: status, stage: stage, attempt: 1,
        commit_sha: "c0ffee", commit_email: "ada@example.com", diff: "{}", diff_count: 1, remaining: 0,
        skipped: "[]", problems: "[]", created_at: at, started_at: at })
}

/// A proposal that someone edited.
fn proposal(version: i64) -> String {
    let at = moment();
    let digest = |spec: Spec| Sql::from(spec.digest()).0;
    let mut row = vec![
        ("id", quoted(PROPOSAL)),
        ("account_id", quoted(ACCOUNT)),
        ("repository_id", quoted(REPOSITORY)),
        ("repository_name", quoted("fleet")),
        ("run_id", quoted(RUN)),
        ("kind", quoted("node")),
        ("name", quoted("edge-1")),
        ("cause", quoted("declared")),
        ("position", "0".to_owned()),
        ("base_digest", digest(node("eu"))),
        ("desired_digest", digest(node("us"))),
        ("edited_digest", digest(node("ap"))),
        ("edited_by", quoted("ada@example.com")),
        ("commit_sha", quoted("c0ffee")),
        ("author", quoted("ada@example.com")),
        ("file", quoted(FILE)),
        ("line", "7".to_owned()),
        ("status", quoted("pending_approval")),
        ("blocked_by", quoted("[]")),
        ("waits_for", quoted("[]")),
        ("until_change", "0".to_owned()),
        ("opened_at", at.to_string()),
        ("expires_at", (at + 1000).to_string()),
        ("version", "1".to_owned()),
    ];
    row.extend(spec_column(version, "before_spec", &node("eu")));
    row.extend(spec_column(version, "after_spec", &node("us")));
    row.extend(spec_column(version, "edited_spec", &node("ap")));
    insert("proposals", &row)
}

fn runs_and_proposals(version: i64) -> Vec<String> {
    let at = moment();
    vec![
        run(RUN, "diff_ready", "finished"),
        run(UNFINISHED_RUN, "in_progress", "fetching"),
        proposal(version),
        row!("run_proposals" { run_id: RUN, proposal_id: PROPOSAL, position: 0 }),
        row!("approvals" { proposal_id: PROPOSAL, approver: "bob", digest: node("us").digest(), reason: "fine",
            at: at }),
    ]
}

fn drift(version: i64) -> Vec<String> {
    let accepted = if version < 14 { "live_digest" } else { "accepted_digest" };
    let at = moment().to_string();
    let shared = || {
        vec![
            ("repository_id", quoted(REPOSITORY)),
            ("kind", quoted("node")),
            ("name", quoted("edge-1")),
            ("desired_digest", quoted(&node("us").digest().to_string())),
            (accepted, quoted(&node("eu").digest().to_string())),
        ]
    };
    let mut acceptance = shared();
    acceptance.extend([("reason", quoted("a test")), ("accepted_by", quoted("ada")), ("at", at.clone())]);
    let mut drift = shared();
    drift.extend([("fields", quoted("[]")), ("changed_by", quoted("ada"))]);
    drift.extend([("changed_at", at.clone()), ("detected_at", at)]);
    vec![insert("acceptances", &acceptance), insert("drifts", &drift)]
}

/// Events and audit entries of the account and of the installation, and the chains they continue.
fn log() -> Vec<String> {
    let at = moment();
    let mut statements = Vec::new();
    for (account, entries) in [(ACCOUNT, ENTRIES), (ARCHIVED_ACCOUNT, 2), ("", 1)] {
        let mut previous = String::new();
        for seq in 1..=entries {
            let (action, detail) = match (account, seq) {
                (ARCHIVED_ACCOUNT, 2) => ("audit.archive", json!({ "up_to": 1, "hash": previous })),
                _ => ("proposal.approve", json!({ "why": "because" })),
            };
            let (target, detail) = (format!("edge-{seq}"), detail.to_string());
            let content: Value = json!([
                account,
                seq,
                at,
                "ada",
                USER,
                null,
                "192.0.2.1",
                null,
                action,
                "node",
                target,
                "done",
                null,
                "sha256:after",
                detail,
                previous
            ]);
            let hash = Digest::of(content.to_string().as_bytes()).to_string();
            statements.push(
                row!("audit" { account_id: account, seq: seq, at: at, actor: "ada", actor_id: USER,
                address: "192.0.2.1", action: action, target_kind: "node", target: target, outcome: "done",
                after_digest: "sha256:after", detail: detail, previous_hash: previous, hash: hash.clone() }),
            );
            previous = hash;
        }
        let hash = quoted(&previous);
        statements.push(match account {
            "" => {
                format!("UPDATE chains SET audit_seq = {entries}, audit_hash = {hash} WHERE account_id = ''")
            }
            _ => {
                row!("chains" { account_id: account, event_seq: 1, audit_seq: entries, audit_hash: previous })
            }
        });
    }
    statements.push(
        row!("events" { account_id: ACCOUNT, seq: 1, kind: "gitops.proposal_opened", severity: "low",
        resource_kind: "node", resource_name: "edge-1", repository_id: REPOSITORY, correlation_id: RUN,
        source: "ada", message: "edge-1 differs", payload: "{}", at: at }),
    );
    statements
}

/// Rows for leases, requests, previews, notifications and forges.
fn external() -> Vec<String> {
    let at = moment();
    vec![
        row!("leases" { name: "apply", holder: "replica-1", epoch: 4, expires_at: at }),
        row!("answers" { account_id: ACCOUNT, idempotency_key: "key", request_digest: "digest", status: 200,
            body: "{}", at: at }),
        row!("settings" { name: "installation", value: "1" }),
        row!("previews" { id: "preview-1", account_id: ACCOUNT, repository_id: REPOSITORY, reference: "main",
            source: "git", outcome: "nothing", changes: 0, document: "{}", created_at: at }),
        row!("notification_cursors" { account_id: ACCOUNT, seq: 1 }),
        row!("deliveries" { id: "delivery-1", account_id: ACCOUNT, alert: "all", provider: "chat", event_seq: 1,
            event_kind: "gitops.proposal_opened", group_key: "group", message: "edge-1 differs", state: "sent",
            attempts: 1, repeats: 0, next_at: at, since: at, created_at: at, finished_at: at }),
        row!("forge_reports" { account_id: ACCOUNT, repository_id: REPOSITORY, kind: "status", subject: "c0ffee",
            content: "{}", digest: "digest", state: "sent", attempts: 1, next_at: at, updated_at: at }),
    ]
}

/// Rows of tables and columns that later migrations added.
fn later_tables(version: i64) -> Vec<String> {
    let at = moment();
    let has = |since: i64| version >= since;
    let mut statements = Vec::new();
    if has(2) {
        statements.push(row!("content_differences" { account_id: ACCOUNT, path: "motd", before_id: "",
            after_id: "b2", document: "{\"path\":\"motd\"}", made_at: at }));
    }
    if has(3) {
        // The number of contributors at which those versions cut off the list silently.
        let crowd: Vec<[String; 2]> =
            (0..200).map(|n| ["author".to_owned(), format!("{n}@example.com")]).collect();
        let crowd = quoted(&json!(crowd).to_string());
        statements.push(format!("UPDATE sync_runs SET contributors = {crowd} WHERE id = '{RUN}'"));
        statements
            .push(row!("pushes" { repository_id: REPOSITORY, commit_sha: "c0ffee", person: "ada", at: at }));
    }
    if has(4) {
        let steps = json!([{ "kind": "node", "name": "edge-1", "cause": "declared" }]).to_string();
        statements
            .push(row!("plans" { id: "plan-1", account_id: ACCOUNT, repository_id: REPOSITORY, run_id: RUN,
            digest: Digest::of(b"plan"), steps: 1, sets: "[]", created_at: at }));
        statements.push(row!("plan_steps" { plan_id: "plan-1", position: 0, steps: steps }));
        statements.push(row!("approval_sets" { id: "set-1", account_id: ACCOUNT, repository_id: REPOSITORY,
            plan_id: "plan-1", digest: Digest::of(b"set"), members: 1, destroys: 0, approver: "bob", at: at }));
        statements.push(format!("UPDATE sync_runs SET plan_id = 'plan-1' WHERE id = '{RUN}'"));
    }
    if has(6) && !has(12) {
        statements.push(format!("UPDATE sync_runs SET begun = 2 WHERE id = '{UNFINISHED_RUN}'"));
        statements.push("UPDATE pull_requests SET begun = 1".to_owned());
    }
    if has(7) {
        statements.push(row!("sign_in_places" { user_id: USER, block: "192.0.2.0/24", last_at: at }));
    }
    if has(8) {
        statements.push(row!("credential_bindings" { account_id: ACCOUNT, credential_path: "vault:git",
            host: "git.example.com:443", bound_by: "ada", bound_at: at }));
    }
    if has(9) {
        statements
            .push(row!("invitations" { id: "invitation-1", account_id: ACCOUNT, email: "eve@example.com",
            role: "viewer", invited_by: USER, created_at: at, expires_at: at + 1000 }));
        statements.push(row!("audit_keys" { id: "key-1", public_key: "public", created_at: at }));
        statements.push(format!(
            "INSERT INTO audit_checkpoints (account_id, seq, hash, at, key_id, signature) \
             SELECT account_id, seq, hash, {at}, 'key-1', 'signature' FROM audit \
             WHERE seq = {ENTRIES} OR account_id = '{ARCHIVED_ACCOUNT}'"
        ));
    }
    if has(10) {
        statements.push(format!("UPDATE resources SET declared_in = '{FILE}'"));
    }
    if has(12) {
        statements.push(
            row!("suspicions" { subject: format!("sync:{REPOSITORY}"), begun: 2, tries_alone: 0, at: at }),
        );
    }
    if has(15) {
        statements.push(format!(
            "INSERT INTO audit_anchors (account_id, seq, hash, archived_at) SELECT account_id, seq, hash, {at} \
             FROM audit WHERE account_id = '{ARCHIVED_ACCOUNT}' AND seq = 1"
        ));
        statements.push(format!("DELETE FROM audit WHERE account_id = '{ARCHIVED_ACCOUNT}' AND seq = 1"));
    }
    if has(16) {
        statements.push(row!("replicas" { id: "replica", beats_at: at }));
    }
    if has(19) {
        statements.extend(targets());
    }
    if has(20) {
        statements.extend(enrolments());
    }
    if has(21) {
        statements.extend(delivery());
    }
    if has(22) {
        statements.extend(node_drift());
    }
    if has(23) {
        statements.push(row!("rollouts" { id: "rollout-1", account_id: ACCOUNT, governed_kind: "template",
            governed_name: "base", rollout: "{\"max_unavailable\":\"10%\"}", status: "running", holds: 1,
            tolerated: "[]", counts: "{\"waiting\":1}", proposals: "[]", started_at: at, updated_at: at }));
        statements.push(row!("rollout_nodes" { rollout_id: "rollout-1", node: "edge-1", wave: "rest",
            digest: Digest::of(b"document"), state: "waiting" }));
    }
    statements
}

/// Rows about what agents fetch.
fn delivery() -> Vec<String> {
    let (at, digest) = (moment(), node("eu").digest());
    let package = BlobDigest::of(b"package").to_string();
    vec![
        row!("blobs" { digest: package.as_str(), size: 7, stored: "package" }),
        row!("module_packages" { account_id: ACCOUNT, module: "motd", digest: digest, package: package.as_str(),
            files: "{}", made_at: at }),
        row!("assignment_problems" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1",
            reason: "the template nowhere does not exist yet", since: at }),
    ]
}

/// Rows about a target.
fn targets() -> Vec<String> {
    let (at, digest) = (moment(), node("eu").digest());
    vec![
        row!("tombstones" { resource_id: "resource-gone", account_id: ACCOUNT, kind: "node", name: "gone",
            digest: digest, generation: 3, ended_at: at, ended_by: "ada" }),
        row!("agents" { id: "agent-1", account_id: ACCOUNT, target_kind: "node", target_name: "edge-1",
            enrolment: 1, enrolled_at: at, last_contact_at: at }),
        row!("assignments" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1", generation: 2,
            digest: digest, assigned_at: at }),
        row!("inventory" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1",
            resource_id: "resource-gone", kind: "node", name: "gone", noted_at: at }),
        row!("observed_targets" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1", enrolment: 1,
            generation: 2, sequence: 3, state: "known", digest: digest, seen_generation: 2, since: at,
            seen_at: at }),
        row!("observed" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1", kind: "node",
            name: "gone", enrolment: 1, generation: 2, sequence: 3, state: "absent", seen_generation: 2,
            since: at, seen_at: at }),
    ]
}

/// Rows about the drift of a node.
fn node_drift() -> Vec<String> {
    let (at, digest) = (moment(), Digest::of(b"drift"));
    vec![
        row!("node_drift" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1", item_kind: "path",
            item_name: "/etc/motd", module: "motd", mode: "report", since: at, position: 0, digest: digest,
            bytes: 2, fields: "[]" }),
        row!("node_drift_acceptances" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1",
            item_kind: "path", item_name: "/etc/motd", digest: digest, until: at, reason: "a trial",
            accepted_by: "ada", at: at }),
        row!("node_reports" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1", reported_at: at,
            complete_at: at, drift_left_out: 0, events_dropped: 0, facts: "{}" }),
        row!("target_contacts" { account_id: ACCOUNT, target_kind: "node", target_name: "edge-1",
            state: "online", since: at }),
        row!("agent_events" { id: "event-1", account_id: ACCOUNT, target_kind: "node", target_name: "edge-1",
            kind: "agent.started", severity: "low", message: "started", payload: "{}", at: at }),
    ]
}

/// Rows about agents that want to enrol.
fn enrolments() -> Vec<String> {
    let at = moment();
    vec![
        row!("enrolment_tokens" { id: "enrolment-token-1", account_id: ACCOUNT, secret_hash: "hash",
            target_kind: "node", target_name: "edge-1", policy: "auto", max_uses: 1, uses: 0, created_by: "ada", created_at: at,
            expires_at: at + 1000 }),
        row!("node_joins" { id: "join-1", account_id: ACCOUNT, token_id: "enrolment-token-1", target_kind: "node",
            target_name: "edge-1", public_key: "00", address: "192.0.2.1", state: "pending", created_at: at }),
    ]
}
