-- The first file that declared a resource since its last change was applied, where it moved: rules about that file hold for
-- what is not applied yet. Plans no longer repeat it for each of their changes.
ALTER TABLE desired ADD COLUMN previous_file TEXT;
