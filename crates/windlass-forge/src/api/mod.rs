//! What we ask of forges: repositories, commit statuses, comments on pull requests.
