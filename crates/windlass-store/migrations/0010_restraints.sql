-- What restrains changes cannot be shaken off.

-- The file that declared a resource when its last change from git was applied. Moving it to another file changes nothing of
-- it, so that rules about the old file hold until the next change. What was accepted before is taken to have stayed where it
-- is declared now.
ALTER TABLE resources ADD COLUMN declared_in TEXT;
UPDATE resources SET declared_in = (SELECT desired.file FROM desired WHERE desired.repository_id = resources.owner_id
    AND desired.kind = resources.kind AND desired.name = resources.name);

-- The commit for which someone confirmed that a run destroys most of what its repository owns; none if it counts for
-- whatever commit the run finds.
ALTER TABLE sync_runs ADD COLUMN confirmed_commit TEXT;
