-- What was approved and applied is the accepted state. It was called live, a word for what machines report from here on.
-- `last_agreed` is what git wanted when it and the accepted state last agreed.
ALTER TABLE acceptances RENAME COLUMN live_digest TO accepted_digest;
ALTER TABLE drifts RENAME COLUMN live_digest TO accepted_digest;
ALTER TABLE desired RENAME COLUMN settled TO last_agreed;
