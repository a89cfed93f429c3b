-- The first schema. One text for SQLite and PostgreSQL: only TEXT and BIGINT, moments as milliseconds since 1970,
-- yes and no as 1 and 0, documents as JSON in TEXT.

-- The writes of one account happen one after the other; this row is what they queue for. The account '' is the
-- installation itself.
CREATE TABLE chains (
    account_id TEXT NOT NULL PRIMARY KEY,
    event_seq BIGINT NOT NULL,
    audit_seq BIGINT NOT NULL,
    audit_hash TEXT NOT NULL
);
INSERT INTO chains (account_id, event_seq, audit_seq, audit_hash) VALUES ('', 0, 0, '');

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    halted_at BIGINT,
    halted_by TEXT,
    halt_reason TEXT,
    policy TEXT NOT NULL,
    policy_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    must_change_password BIGINT NOT NULL,
    is_root BIGINT NOT NULL,
    disabled_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    role TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    address TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL UNIQUE,
    permissions TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX tokens_by_account ON tokens (account_id, id);

CREATE TABLE repositories (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    repo_url TEXT NOT NULL,
    branch TEXT NOT NULL,
    path_prefix TEXT NOT NULL,
    credential_path TEXT,
    ca_pem TEXT,
    signers TEXT,
    host_keys TEXT,
    enabled BIGINT NOT NULL,
    auto_apply BIGINT NOT NULL,
    interval_ms BIGINT NOT NULL,
    next_sync_at BIGINT NOT NULL,
    last_run_id TEXT,
    last_run_at BIGINT,
    last_status TEXT NOT NULL,
    last_error TEXT,
    good_run_id TEXT,
    good_commit TEXT,
    good_at BIGINT,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    forge TEXT,
    forge_error TEXT,
    UNIQUE (account_id, name)
);
CREATE INDEX repositories_by_next_sync ON repositories (next_sync_at) WHERE enabled = 1;

-- What git said at the last good run. `settled` is what live was when git (or whoever approved an edited change) last
-- had their way: what tells a change made by hand from one that only waits for approval.
CREATE TABLE desired (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    spec TEXT NOT NULL,
    file TEXT NOT NULL,
    settled TEXT,
    PRIMARY KEY (repository_id, kind, name)
);

CREATE TABLE resources (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL,
    digest TEXT NOT NULL,
    owner_id TEXT,
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (account_id, kind, name)
);
CREATE INDEX resources_by_owner ON resources (owner_id, kind, name);

-- What refers to what, each with the resource that refers: so that nobody has to read every spec to find out.
CREATE TABLE resource_references (
    account_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    to_kind TEXT NOT NULL,
    to_name TEXT NOT NULL,
    PRIMARY KEY (account_id, kind, name, to_kind, to_name),
    FOREIGN KEY (account_id, kind, name) REFERENCES resources (account_id, kind, name)
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX resource_references_to ON resource_references (account_id, to_kind, to_name, kind, name);

CREATE TABLE sync_runs (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    repository_id TEXT NOT NULL,
    repository_name TEXT NOT NULL,
    trigger_kind TEXT NOT NULL,
    requested_by TEXT,
    confirm_mass_destroy BIGINT NOT NULL,
    status TEXT NOT NULL,
    stage TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    commit_sha TEXT,
    commit_author TEXT,
    commit_email TEXT,
    commit_subject TEXT,
    commit_message TEXT,
    movement TEXT,
    diff TEXT NOT NULL,
    diff_count BIGINT NOT NULL,
    remaining BIGINT NOT NULL,
    skipped TEXT NOT NULL,
    problems TEXT NOT NULL,
    error_code TEXT,
    error_message TEXT,
    error_help TEXT,
    drift_after_apply TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    completed_at BIGINT,
    applied_at BIGINT
);
CREATE INDEX sync_runs_by_repository ON sync_runs (repository_id, id);
CREATE INDEX sync_runs_by_account ON sync_runs (account_id, id);
CREATE INDEX sync_runs_unfinished ON sync_runs (id) WHERE status = 'in_progress';
-- Asking twice before the first has begun is asking once.
CREATE UNIQUE INDEX sync_runs_queued ON sync_runs (repository_id) WHERE stage = 'queued';

CREATE TABLE proposals (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    repository_id TEXT NOT NULL,
    repository_name TEXT NOT NULL,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    cause TEXT NOT NULL,
    position BIGINT NOT NULL,
    base_digest TEXT,
    desired_digest TEXT,
    before_spec TEXT,
    after_spec TEXT,
    edited_digest TEXT,
    edited_spec TEXT,
    edited_by TEXT,
    commit_sha TEXT NOT NULL,
    author TEXT,
    file TEXT,
    line BIGINT NOT NULL,
    status TEXT NOT NULL,
    blocked_by TEXT NOT NULL,
    waits_for TEXT NOT NULL,
    reason TEXT,
    decided_by TEXT,
    until_change BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    closed_at BIGINT,
    version BIGINT NOT NULL
);
-- One open proposal for each resource of a repository, whatever happens.
CREATE UNIQUE INDEX proposals_open ON proposals (repository_id, kind, name)
    WHERE status IN ('pending_approval', 'approved');
CREATE INDEX proposals_by_account ON proposals (account_id, id);
CREATE INDEX proposals_by_status ON proposals (account_id, status, id);
CREATE INDEX proposals_by_repository ON proposals (repository_id, id);
CREATE INDEX proposals_in_turn ON proposals (repository_id, kind, name, id);
CREATE INDEX proposals_rejected ON proposals (repository_id, kind, name) WHERE status = 'rejected';
CREATE INDEX proposals_to_expire ON proposals (expires_at) WHERE status IN ('pending_approval', 'approved');
CREATE INDEX proposals_by_resource ON proposals (account_id, kind, name, id);
CREATE INDEX proposals_to_apply ON proposals (account_id, position, id) WHERE status = 'approved';
CREATE INDEX proposals_blocked ON proposals (account_id, id) WHERE status = 'pending_approval' AND blocked_by <> '[]';

-- Which runs a proposal belongs to: the one that opened it and those that found it still standing.
CREATE TABLE run_proposals (
    run_id TEXT NOT NULL REFERENCES sync_runs (id),
    proposal_id TEXT NOT NULL REFERENCES proposals (id),
    position BIGINT NOT NULL,
    PRIMARY KEY (run_id, proposal_id)
);
CREATE INDEX run_proposals_by_proposal ON run_proposals (proposal_id);

CREATE TABLE approvals (
    proposal_id TEXT NOT NULL REFERENCES proposals (id),
    approver TEXT NOT NULL,
    digest TEXT NOT NULL,
    reason TEXT,
    at BIGINT NOT NULL,
    PRIMARY KEY (proposal_id, approver, digest)
);

-- Differences between git and live that someone said are meant.
CREATE TABLE acceptances (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    desired_digest TEXT,
    live_digest TEXT,
    until BIGINT,
    reason TEXT NOT NULL,
    accepted_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, kind, name)
);

-- Drift that was told and is not resolved.
CREATE TABLE drifts (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    desired_digest TEXT,
    live_digest TEXT,
    fields TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    detected_at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, kind, name)
);

CREATE TABLE events (
    account_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    resource_kind TEXT,
    resource_name TEXT,
    repository_id TEXT,
    correlation_id TEXT,
    source TEXT NOT NULL,
    message TEXT NOT NULL,
    payload TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account_id, seq)
);
CREATE INDEX events_by_time ON events (at);
CREATE INDEX events_by_run ON events (account_id, correlation_id, seq) WHERE correlation_id IS NOT NULL;
CREATE INDEX events_by_repository ON events (account_id, repository_id, seq) WHERE repository_id IS NOT NULL;
CREATE INDEX events_by_resource ON events (account_id, resource_kind, resource_name, seq);

CREATE TABLE audit (
    account_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    actor_id TEXT,
    token_id TEXT,
    address TEXT,
    request_id TEXT,
    action TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL,
    before_digest TEXT,
    after_digest TEXT,
    detail TEXT NOT NULL,
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (account_id, seq)
);
CREATE INDEX audit_by_target ON audit (account_id, target_kind, target, seq);

-- A lease that was given back keeps the moment at which it would have run out, negated.
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Answers to requests that carried an idempotency key.
CREATE TABLE answers (
    account_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    status BIGINT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account_id, idempotency_key)
);

-- Failed logins, kept over restarts.
CREATE TABLE throttles (
    subject TEXT NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL
);

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Webhooks of repositories. Their secrets are derived and never stored: another generation is another secret. Without a
-- row, it is the first, and nothing came in yet.
CREATE TABLE webhooks (
    repository_id TEXT NOT NULL PRIMARY KEY REFERENCES repositories (id),
    generation BIGINT NOT NULL,
    received_at BIGINT,
    received_from TEXT,
    received_event TEXT,
    received_outcome TEXT,
    refused_at BIGINT,
    refused_from TEXT,
    refused_reason TEXT
);

-- Deliveries that were acted upon, so that none is acted upon twice.
CREATE TABLE webhook_deliveries (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    identity TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, identity)
);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (at);

-- What a commit or files would change: the last answer for each reference of a repository. Derived, and forgotten in time.
CREATE TABLE previews (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    reference TEXT NOT NULL,
    source TEXT NOT NULL,
    commit_sha TEXT,
    base_commit TEXT,
    requested_by TEXT,
    outcome TEXT NOT NULL,
    changes BIGINT NOT NULL,
    document TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (repository_id, source, reference)
);
CREATE INDEX previews_by_repository ON previews (repository_id, created_at, id);
CREATE INDEX previews_by_time ON previews (created_at);

-- Up to which event an account's alerts were looked at. No row while there are no alerts.
CREATE TABLE notification_cursors (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    seq BIGINT NOT NULL
);

-- Notifications on their way, and those that arrived or did not. `since` is when trying began, `repeats` how often the
-- same was left out afterwards, `digest_id` the delivery that told of one that was suppressed.
CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    alert TEXT NOT NULL,
    provider TEXT NOT NULL,
    event_seq BIGINT,
    event_kind TEXT NOT NULL,
    group_key TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    repeats BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    last_error TEXT,
    digest_id TEXT,
    since BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
-- An event is told once by each alert through each provider, however often it is looked at.
CREATE UNIQUE INDEX deliveries_once ON deliveries (account_id, alert, provider, event_seq);
CREATE INDEX deliveries_by_account ON deliveries (account_id, id);
CREATE INDEX deliveries_by_provider ON deliveries (account_id, provider, id);
CREATE INDEX deliveries_by_group ON deliveries (account_id, group_key, created_at);
CREATE INDEX deliveries_pending ON deliveries (next_at) WHERE state = 'pending';
CREATE INDEX deliveries_untold ON deliveries (account_id, provider) WHERE state = 'suppressed' AND digest_id IS NULL;
CREATE INDEX deliveries_by_time ON deliveries (created_at);

-- What the forges of repositories are to show: beside a commit, or on a pull request. A row is what it shall say; whoever
-- sends it says whether it does.
CREATE TABLE forge_reports (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    content TEXT NOT NULL,
    digest TEXT NOT NULL,
    run_id TEXT,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    last_error TEXT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, kind, subject)
);
CREATE INDEX forge_reports_waiting ON forge_reports (next_at) WHERE state = 'waiting';
CREATE INDEX forge_reports_by_time ON forge_reports (updated_at);

-- Who people are at a provider of identities. There the subject is the person, whatever becomes of their e-mail address.
CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, user_id)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Pull requests that forges told of and that are yet to be previewed.
CREATE TABLE pull_requests (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    number BIGINT NOT NULL,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    reference TEXT NOT NULL,
    commit_sha TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, number)
);
CREATE INDEX pull_requests_due ON pull_requests (next_at);
