-- A target is a node or a cluster: what an agent makes true. Nothing here is written under the account's row in `chains`:
-- what ten thousand agents report does not queue behind what people decide.

-- Resources that ended. Where one was made true, something of it may still be; and a resource of the same name that comes
-- later goes on counting its generations.
CREATE TABLE tombstones (
    resource_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    owner_id TEXT,
    generation BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    ended_by TEXT NOT NULL
);
CREATE INDEX tombstones_by_key ON tombstones (account_id, kind, name, generation);
CREATE INDEX tombstones_by_time ON tombstones (ended_at);

-- Agents, each of one target. `enrolment` counts how often the target was enrolled: reports of a machine that was replaced
-- are told by it from those of the machine that took its place.
CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    enrolment BIGINT NOT NULL,
    enrolled_at BIGINT NOT NULL,
    last_contact_at BIGINT,
    revoked_at BIGINT
);
CREATE UNIQUE INDEX agents_enrolments ON agents (account_id, target_kind, target_name, enrolment);
-- A target has one agent at a time.
CREATE UNIQUE INDEX agents_of_targets ON agents (account_id, target_kind, target_name) WHERE revoked_at IS NULL;

-- What each target shall be: a document in `contents`, by digest, and its version.
CREATE TABLE assignments (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    generation BIGINT NOT NULL,
    digest TEXT NOT NULL,
    assigned_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, target_kind, target_name)
);

-- Which resources may be on a target: noted before an agent touches it, taken out only when the agent confirmed that nothing
-- of it is left.
CREATE TABLE inventory (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    noted_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, target_kind, target_name, resource_id)
);
CREATE INDEX inventory_by_resource ON inventory (resource_id);

-- What the agent of each target last reported of it as a whole. The first three numbers order reports; `complete_…` are those of the newest
-- report that listed every resource. `state` is known, absent, being_changed or unreadable.
CREATE TABLE observed_targets (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    enrolment BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    complete_enrolment BIGINT,
    complete_generation BIGINT,
    complete_sequence BIGINT,
    state TEXT NOT NULL,
    digest TEXT,
    seen_generation BIGINT,
    since BIGINT NOT NULL,
    seen_at BIGINT,
    message TEXT,
    failed_generation BIGINT,
    failed_since BIGINT,
    failure TEXT,
    PRIMARY KEY (account_id, target_kind, target_name)
);

-- The same of each resource on a target.
CREATE TABLE observed (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    enrolment BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    state TEXT NOT NULL,
    digest TEXT,
    seen_generation BIGINT,
    since BIGINT NOT NULL,
    seen_at BIGINT,
    message TEXT,
    failed_generation BIGINT,
    failed_since BIGINT,
    failure TEXT,
    PRIMARY KEY (account_id, target_kind, target_name, kind, name)
);
