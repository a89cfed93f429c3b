-- What agents fetch, by its BLAKE3 digest: packages of modules and files of repositories, each once and compressed. `size` is
-- that of the content. PostgreSQL has a type for bytes, BYTEA; SQLite stores bytes in a column of any type as they are.
CREATE TABLE blobs (
    digest TEXT NOT NULL PRIMARY KEY,
    size BIGINT NOT NULL,
    stored BYTEA NOT NULL,
    unused_since BIGINT
);

-- The package of each module content: `digest` is that of the accepted module with the files that it names, `package` the
-- blob, and `files` the blobs of the files.
CREATE TABLE module_packages (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    module TEXT NOT NULL,
    digest TEXT NOT NULL,
    package TEXT NOT NULL,
    files TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, module, digest)
);
CREATE INDEX module_packages_by_package ON module_packages (package);

-- Why targets have no assignment that equals the accepted state.
CREATE TABLE assignment_problems (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    reason TEXT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (account_id, target_kind, target_name)
);

-- The approvals that cover an assignment: of the target's own resources, and of those that it shares with other targets, the
-- latter by their digest in `contents`.
ALTER TABLE assignments ADD COLUMN own_approvals TEXT NOT NULL DEFAULT '[]';
ALTER TABLE assignments ADD COLUMN shared_approvals TEXT;

-- Why each resource was accepted, and the digest that was. What earlier versions accepted counts as accepted by `updated_by`.
ALTER TABLE resources ADD COLUMN approved_digest TEXT;
ALTER TABLE resources ADD COLUMN approval TEXT NOT NULL DEFAULT '';
UPDATE resources SET approved_digest = digest;
