-- What is held against work that a server died of, whatever work it is: how often it was begun and not ended (what is left
-- over when no server works on it is how often one died in the middle), and how often it was tried since, alone and in vain.
CREATE TABLE suspicions (
    subject TEXT NOT NULL PRIMARY KEY,
    begun BIGINT NOT NULL,
    tries_alone BIGINT NOT NULL,
    at BIGINT NOT NULL
);
INSERT INTO suspicions (subject, begun, tries_alone, at)
    SELECT 'pull-request:' || repository_id || ':' || number, begun, 0, next_at FROM pull_requests WHERE begun > 0;
INSERT INTO suspicions (subject, begun, tries_alone, at)
    SELECT 'sync:' || repository_id, MAX(begun), 0, MAX(created_at) FROM sync_runs
    WHERE begun > 0 AND status = 'in_progress' GROUP BY repository_id;
ALTER TABLE pull_requests DROP COLUMN begun;
ALTER TABLE sync_runs DROP COLUMN begun;
