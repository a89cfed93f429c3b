//! What is done about pull requests.

use windlass_forge::hook::PullRequest;
use windlass_store::{AccountWriting, Repository, StoreError};

use super::Outcome;

/// A pull request of a repository was opened, changed or closed. Whatever this writes becomes true with the note that the
/// delivery came.
pub(super) async fn pull_request_changed(
    _: &mut AccountWriting,
    _: &Repository,
    _: &PullRequest,
) -> Result<Outcome, StoreError> {
    Ok(Outcome::Ignored("pull requests are not previewed yet".to_owned()))
}
