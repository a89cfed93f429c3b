-- Hosts that credentials may be told to, for credentials that do not name their hosts themselves.
CREATE TABLE credential_bindings (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    credential_path TEXT NOT NULL,
    -- `host:port`.
    host TEXT NOT NULL,
    bound_by TEXT NOT NULL,
    bound_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, credential_path, host)
);

-- Where accounts share their credentials, a path bound in one counts for all.
CREATE INDEX credential_bindings_by_path ON credential_bindings (credential_path);
