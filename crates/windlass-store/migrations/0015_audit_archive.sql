-- Where an account's audit log begins after its first entries were moved to an archive file: the last of those, of which there
-- is a signed checkpoint. No row: the log is whole.
CREATE TABLE audit_anchors (
    account_id TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    archived_at BIGINT NOT NULL,
    FOREIGN KEY (account_id, seq) REFERENCES audit_checkpoints (account_id, seq)
);
