//! Previews: where their files came from, and what was found.

use crate::states::states;

states! {
    /// Where the files of a preview came from.
    PreviewSource {
        /// The server fetched them.
        Git "git",
        /// Whoever asked sent them.
        Files "files",
    }
}

states! {
    /// What a preview found.
    PreviewOutcome {
        /// Nothing would change.
        Nothing "nothing",
        /// Something would.
        Changes "changes",
        /// A problem stops the plan.
        Problems "problems",
    }
}
