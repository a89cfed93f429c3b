-- Counts what changes anything that a comparison looks at: the accepted state, proposals, accepted drift, settings. As long as it
-- stays, a commit that was compared once comes to the same again.
ALTER TABLE chains ADD COLUMN state_version BIGINT NOT NULL DEFAULT 0;
