//! The options of an export.

/// The form of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionForm {
    /// Lists whose items contain the name.
    List,
    /// Maps keyed by name.
    Map,
}

/// How values that look like secrets are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenValues {
    /// Unmasked.
    Shown,
    /// Masked and counted. Reading such a fleet is an error.
    Masked,
}
