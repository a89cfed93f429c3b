-- What resources shall be, by digest: each text once, however many resources, declarations and proposals name it.
-- `unused_since` is when it was first found that nothing names it any more.
CREATE TABLE contents (
    digest TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL,
    unused_since BIGINT
);
INSERT INTO contents (digest, body) SELECT digest, MIN(spec) FROM resources GROUP BY digest;
INSERT INTO contents (digest, body) SELECT digest, MIN(spec) FROM desired
    WHERE digest NOT IN (SELECT contents.digest FROM contents) GROUP BY digest;
INSERT INTO contents (digest, body) SELECT base_digest, MIN(before_spec) FROM proposals
    WHERE base_digest IS NOT NULL AND before_spec IS NOT NULL
    AND base_digest NOT IN (SELECT contents.digest FROM contents) GROUP BY base_digest;
INSERT INTO contents (digest, body) SELECT desired_digest, MIN(after_spec) FROM proposals
    WHERE desired_digest IS NOT NULL AND after_spec IS NOT NULL
    AND desired_digest NOT IN (SELECT contents.digest FROM contents) GROUP BY desired_digest;
INSERT INTO contents (digest, body) SELECT edited_digest, MIN(edited_spec) FROM proposals
    WHERE edited_digest IS NOT NULL AND edited_spec IS NOT NULL
    AND edited_digest NOT IN (SELECT contents.digest FROM contents) GROUP BY edited_digest;
ALTER TABLE resources DROP COLUMN spec;
ALTER TABLE desired DROP COLUMN spec;
ALTER TABLE proposals DROP COLUMN before_spec;
ALTER TABLE proposals DROP COLUMN after_spec;
ALTER TABLE proposals DROP COLUMN edited_spec;
