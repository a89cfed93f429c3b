-- How often work was begun and not ended: what is left over when no server works on it is how often one died in the middle.
ALTER TABLE sync_runs ADD COLUMN begun BIGINT NOT NULL DEFAULT 0;
ALTER TABLE pull_requests ADD COLUMN begun BIGINT NOT NULL DEFAULT 0;

-- What of a repository is not done any more, and why; a document.
ALTER TABLE repositories ADD COLUMN quarantines TEXT;
