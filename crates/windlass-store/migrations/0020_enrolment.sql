-- Tokens with which agents enrol: for one target, or for the nodes that a selector selects. Only the hash of the secret is
-- stored. A token is used in the transaction that enrols.
CREATE TABLE enrolment_tokens (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    secret_hash TEXT NOT NULL UNIQUE,
    target_kind TEXT,
    target_name TEXT,
    selector TEXT,
    policy TEXT NOT NULL,
    max_uses BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX enrolment_tokens_of_accounts ON enrolment_tokens (account_id, expires_at);
CREATE INDEX enrolment_tokens_by_end ON enrolment_tokens (expires_at);

-- Agents that want to join and wait for a person.
CREATE TABLE node_joins (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    token_id TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    public_key TEXT NOT NULL,
    address TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT
);
CREATE INDEX node_joins_of_targets ON node_joins (account_id, target_kind, target_name, id);
CREATE INDEX node_joins_by_time ON node_joins (created_at);
-- A node has one open join at a time.
CREATE UNIQUE INDEX node_joins_open ON node_joins (account_id, target_kind, target_name)
    WHERE state IN ('pending', 'approved');

-- About the agent's program and its newest certificate.
ALTER TABLE agents ADD COLUMN agent_version TEXT;
ALTER TABLE agents ADD COLUMN certificate_serial TEXT;
ALTER TABLE agents ADD COLUMN certificate_expires_at BIGINT;

-- A server that has streams to agents reads what changed since it last looked.
CREATE INDEX agents_revoked ON agents (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX assignments_by_time ON assignments (assigned_at);
