//! The differences in the files that the resources of proposals name, as responses show them.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::content::{ContentChange, ContentDifference};
use windlass_core::id::AccountId;
use windlass_core::proposal::Proposal;
use windlass_store::{Reading, StoreError};

/// How many bytes of lines a list of proposals shows. A single proposal shows all of its lines.
const LISTED_TEXT: usize = 256 * 1024;

/// The differences in the files of several proposals, in the same order. A single proposal is shown with all its lines.
pub(crate) async fn load_contents(
    reading: &mut Reading,
    account_id: &AccountId,
    proposals: &[Proposal],
) -> Result<Vec<Vec<ContentDifference>>, StoreError> {
    let changes: Vec<Vec<ContentChange>> =
        proposals.iter().map(|proposal| proposal.effective_change().content_changes()).collect();
    let distinct: BTreeSet<ContentChange> = changes.iter().flatten().cloned().collect();
    if distinct.is_empty() {
        return Ok(vec![Vec::new(); proposals.len()]);
    }
    let distinct: Vec<ContentChange> = distinct.into_iter().collect();
    let kept = reading.content_differences(account_id, &distinct).await?;
    let kept: BTreeMap<ContentChange, ContentDifference> =
        kept.into_iter().map(|difference| (difference.change.clone(), difference)).collect();
    let mut room = if proposals.len() == 1 { usize::MAX } else { LISTED_TEXT };
    let mut shown = |change: &ContentChange| kept.get(change).map(|difference| fitted(difference, &mut room));
    Ok(changes.iter().map(|changes| changes.iter().filter_map(&mut shown).collect()).collect())
}

/// A difference with its lines if there is room for them, and without them otherwise.
fn fitted(difference: &ContentDifference, room: &mut usize) -> ContentDifference {
    let mut difference = difference.clone();
    let text: usize = difference.files.iter().filter_map(|file| file.lines.as_ref()).map(String::len).sum();
    if let Some(left) = room.checked_sub(text) {
        *room = left;
        return difference;
    }
    for file in &mut difference.files {
        if file.lines.take().is_some() {
            file.not_shown = Some("open the single proposal".to_owned());
        }
    }
    difference
}
