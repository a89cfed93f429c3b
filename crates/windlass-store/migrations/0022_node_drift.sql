-- What agents report beyond the state of modules: the items that differ, and facts about the host. None of these tables is
-- written under the lock of an account, except acceptances, which people decide, and `target_contacts`.

-- The items of each target that differ from its assignment. `digest` stays the same while the item differs in the same way;
-- `fields` is a JSON array of `bytes` bytes; `position` is the order in which the agent listed them.
CREATE TABLE node_drift (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    item_kind TEXT NOT NULL,
    item_name TEXT NOT NULL,
    module TEXT NOT NULL,
    mode TEXT NOT NULL,
    since BIGINT NOT NULL,
    position BIGINT NOT NULL,
    digest TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    fields TEXT NOT NULL,
    problem TEXT,
    PRIMARY KEY (account_id, target_kind, target_name, item_kind, item_name)
);

-- Drift that someone accepted: valid while the item has this digest, until a time.
CREATE TABLE node_drift_acceptances (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    item_kind TEXT NOT NULL,
    item_name TEXT NOT NULL,
    digest TEXT NOT NULL,
    until BIGINT,
    reason TEXT NOT NULL,
    accepted_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account_id, target_kind, target_name, item_kind, item_name)
);
CREATE INDEX node_drift_acceptances_by_until ON node_drift_acceptances (until);

-- The newest report of each target, by the server's clock; `complete_at` is the newest that listed everything, and
-- `observe_requested_at` when someone last asked for one. `facts` is a JSON document about the host, for people.
CREATE TABLE node_reports (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    reported_at BIGINT,
    complete_at BIGINT,
    observe_requested_at BIGINT,
    drift_left_out BIGINT NOT NULL,
    events_dropped BIGINT NOT NULL,
    facts TEXT,
    PRIMARY KEY (account_id, target_kind, target_name)
);
CREATE INDEX node_reports_by_time ON node_reports (reported_at);

-- Whether the agent of each target was last announced as online or offline.
CREATE TABLE target_contacts (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    state TEXT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (account_id, target_kind, target_name)
);

-- Events of agents that are not in `events` yet: numbering those takes the lock of the account, and reports do not wait
-- for it. Ids sort by time.
CREATE TABLE agent_events (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    message TEXT NOT NULL,
    payload TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX agent_events_by_account ON agent_events (account_id, id);
