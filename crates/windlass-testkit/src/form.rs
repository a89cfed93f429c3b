//! The two forms in which sections are written.

/// The form of a section. Both have the same meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetForm {
    /// Lists whose items contain their name.
    List,
    /// Maps keyed by name.
    Map,
}
