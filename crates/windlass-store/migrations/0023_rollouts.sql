-- Rollouts: how a change moves over nodes. `rollout` is what the template or module said when it began; `tolerated` are nodes
-- whose failure somebody tolerates; `holds` is 1 while it says which of its nodes get their document; `counts` are its nodes by
-- state, for lists; `proposals` are those whose changes it moves.
CREATE TABLE rollouts (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    governed_kind TEXT NOT NULL,
    governed_name TEXT NOT NULL,
    rollout TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    holds BIGINT NOT NULL,
    tolerated TEXT NOT NULL,
    counts TEXT NOT NULL,
    proposals TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX rollouts_by_account ON rollouts (account_id, id);
CREATE INDEX rollouts_holding ON rollouts (account_id) WHERE holds = 1;

-- The nodes of rollouts: the wave of each, the document that it shall get, how far it is, when it got the document, and when
-- the server first saw it in sync or failed.
CREATE TABLE rollout_nodes (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    node TEXT NOT NULL,
    wave TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    released_at BIGINT,
    settled_at BIGINT,
    PRIMARY KEY (rollout_id, node)
);
