-- What differs in the files that resources name, made when a proposal is opened, so that showing it needs no repository.
-- One row for each change of content, however many proposals make it. before_id is empty where nothing was noted.
CREATE TABLE content_differences (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    path TEXT NOT NULL,
    before_id TEXT NOT NULL,
    after_id TEXT NOT NULL,
    document TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, path, before_id, after_id)
);
CREATE INDEX content_differences_by_age ON content_differences (made_at);
