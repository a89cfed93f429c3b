-- The plan of a run, stored once for all runs that come to the same. `parent_id` is the repository's plan before it, `sets`
-- what of it can be approved as one, `confirmed_commit` the commit for which someone confirmed that it destroys most of what
-- the repository owns.
CREATE TABLE plans (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    repository_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    parent_id TEXT,
    digest TEXT NOT NULL,
    steps BIGINT NOT NULL,
    sets TEXT NOT NULL,
    confirmed_commit TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX plans_by_repository ON plans (repository_id, id);
CREATE INDEX plans_by_time ON plans (created_at);

-- The changes of a repository's newest plan, some hundred in each row: a first sync of a large fleet would otherwise write as
-- many rows again. `position` is that of the first.
CREATE TABLE plan_steps (
    plan_id TEXT NOT NULL REFERENCES plans (id),
    position BIGINT NOT NULL,
    steps TEXT NOT NULL,
    PRIMARY KEY (plan_id, position)
);

-- Approvals of whole plans, or of groups of identical changes in them, by the digest of the set. `group_digest` is the
-- group's signature. One that fell stays as a record.
CREATE TABLE approval_sets (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    repository_id TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    group_digest TEXT,
    digest TEXT NOT NULL,
    members BIGINT NOT NULL,
    destroys BIGINT NOT NULL,
    approver TEXT NOT NULL,
    reason TEXT,
    at BIGINT NOT NULL,
    fallen_at BIGINT,
    fallen_reason TEXT
);
CREATE INDEX approval_sets_standing ON approval_sets (repository_id) WHERE fallen_at IS NULL;
CREATE INDEX approval_sets_by_plan ON approval_sets (plan_id);

-- The set through which an approval was given; none for one that was given to the proposal itself.
ALTER TABLE approvals ADD COLUMN set_id TEXT;
CREATE INDEX approvals_by_set ON approvals (set_id, digest) WHERE set_id IS NOT NULL;

-- The plan of a run, and the position from which on its changes are yet to be opened; none if there is nothing left to open.
ALTER TABLE sync_runs ADD COLUMN plan_id TEXT;
ALTER TABLE sync_runs ADD COLUMN next_position BIGINT;
CREATE INDEX sync_runs_to_open ON sync_runs (account_id, repository_id) WHERE next_position IS NOT NULL;
CREATE INDEX sync_runs_by_plan ON sync_runs (plan_id) WHERE plan_id IS NOT NULL;

-- The failed run of which someone said that it is no reason to hold the repository's proposals.
ALTER TABLE repositories ADD COLUMN confirmed_failure TEXT;
