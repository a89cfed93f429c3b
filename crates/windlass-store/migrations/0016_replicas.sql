-- Which replicas live, by the database's own clock, and whose each lease is: what a dead one held is free after seconds.
CREATE TABLE replicas (
    id TEXT NOT NULL PRIMARY KEY,
    beats_at BIGINT NOT NULL
);
ALTER TABLE leases ADD COLUMN replica_id TEXT;
