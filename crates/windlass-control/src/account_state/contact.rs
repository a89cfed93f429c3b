//! When an agent counts as out of contact.

use std::time::Duration;

/// How long an agent may be out of contact before its target counts as offline.
pub(crate) const OFFLINE_AFTER: Duration = Duration::from_secs(90);
