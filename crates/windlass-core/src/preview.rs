//! Previews: the source of their files, and their outcome.

use crate::states::states;

states! {
    /// The source of a preview's files.
    PreviewSource {
        /// The server fetched them.
        Git "git",
        /// The caller sent them.
        Files "files",
    }
}

states! {
    /// The outcome of a preview.
    PreviewOutcome {
        /// No changes.
        Nothing "nothing",
        /// There are changes.
        Changes "changes",
        /// A problem prevents the plan.
        Problems "problems",
    }
}
