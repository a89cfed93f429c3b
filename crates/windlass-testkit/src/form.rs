//! The two forms in which sections are written.

/// How sections are written. Both mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetForm {
    /// As lists whose items carry their name.
    List,
    /// As maps keyed by name.
    Map,
}
