-- Why someone may be missing among those who had a hand in a change; none if nobody is.
ALTER TABLE sync_runs ADD COLUMN contributors_gap TEXT;
ALTER TABLE proposals ADD COLUMN contributors_gap TEXT;

-- Lists were cut off silently before, at 200 people; each of them begins with its bracket and its quotation mark.
UPDATE sync_runs SET contributors_gap = 'too_many_people'
    WHERE LENGTH(contributors) - LENGTH(REPLACE(contributors, '["', '')) >= 400;
UPDATE proposals SET contributors_gap = 'too_many_people'
    WHERE LENGTH(contributors) - LENGTH(REPLACE(contributors, '["', '')) >= 400;

-- Why an approval no longer counts although what it was given for is the same: whoever gave it may not approve any more.
ALTER TABLE approvals ADD COLUMN fallen_reason TEXT;

-- What someone approved ahead, when they lose the permission to.
CREATE INDEX approval_sets_by_approver ON approval_sets (account_id, approver) WHERE fallen_at IS NULL;
