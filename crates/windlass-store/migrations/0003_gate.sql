-- Rules of the policy name repositories by identity: which id each plain name stood for when the policy was saved, as a
-- JSON object. NULL until the server has looked the names up that were saved before this column was there.
ALTER TABLE accounts ADD COLUMN policy_repositories TEXT;

-- Everyone who had a hand in a change, as a JSON list of role and person.
ALTER TABLE sync_runs ADD COLUMN contributors TEXT NOT NULL DEFAULT '[]';
ALTER TABLE proposals ADD COLUMN contributors TEXT NOT NULL DEFAULT '[]';

-- The file that declared the resource before, where another one does now or none: rules on paths look at both.
ALTER TABLE proposals ADD COLUMN previous_file TEXT;

-- Direct changes wait as proposals without a repository and without a run: who owns the resource, and why it is changed.
ALTER TABLE proposals ADD COLUMN owner_id TEXT;
ALTER TABLE proposals ADD COLUMN direct_reason TEXT;

-- One open proposal for each resource of a repository, and one direct one in each account.
DROP INDEX proposals_open;
CREATE UNIQUE INDEX proposals_open ON proposals (account_id, repository_id, kind, name)
    WHERE status IN ('pending_approval', 'approved');

-- Who pushed which commit, as forges' webhooks say.
CREATE TABLE pushes (
    repository_id TEXT NOT NULL REFERENCES repositories (id),
    commit_sha TEXT NOT NULL,
    person TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (repository_id, commit_sha, person)
);
CREATE INDEX pushes_by_time ON pushes (at);
