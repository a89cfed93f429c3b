-- Secrets, tenants and the audit log.

-- When the groups last gave a role: what they gave holds for a session's life from then on. For roles given by hand it
-- means nothing.
ALTER TABLE memberships ADD COLUMN proved_at BIGINT NOT NULL DEFAULT 0;

-- Whether the provider said at the last sign-in that the e-mail address is theirs.
ALTER TABLE identities ADD COLUMN email_verified BIGINT NOT NULL DEFAULT 0;

-- People who are asked to join an account, by e-mail address: whether someone has that address is nobody's business but
-- theirs. A declined one stays until it expires or is revoked, so that declining looks like silence.
CREATE TABLE invitations (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    invited_by TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    declined_at BIGINT,
    UNIQUE (account_id, email)
);
CREATE INDEX invitations_by_email ON invitations (email);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- Keys that sign checkpoints. `endorsement` is the signature of the key before, `acknowledgement` the key's own: whoever
-- trusts one of two neighbours can trust the other.
CREATE TABLE audit_keys (
    id TEXT NOT NULL PRIMARY KEY,
    public_key TEXT NOT NULL,
    previous_id TEXT,
    endorsement TEXT,
    acknowledgement TEXT,
    created_at BIGINT NOT NULL
);

-- Signed heads of the audit chains; the account '' is the installation itself.
CREATE TABLE audit_checkpoints (
    account_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    at BIGINT NOT NULL,
    key_id TEXT NOT NULL,
    signature TEXT NOT NULL,
    sent_at BIGINT,
    PRIMARY KEY (account_id, seq)
);
CREATE INDEX audit_checkpoints_unsent ON audit_checkpoints (at) WHERE sent_at IS NULL;
