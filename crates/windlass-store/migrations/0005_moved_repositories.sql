-- What a repository that moved to another account left behind here: the id of the one that moved.
ALTER TABLE repositories ADD COLUMN left_by TEXT;
CREATE INDEX repositories_left_by ON repositories (left_by) WHERE left_by IS NOT NULL;
