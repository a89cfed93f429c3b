//! How a fleet is written.

/// How sections are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionForm {
    /// As lists whose items carry the name.
    List,
    /// As maps keyed by name.
    Map,
}

/// What becomes of values that look like secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenValues {
    /// They are written like all others.
    Shown,
    /// They are masked and counted. Such files are refused where fleets are read.
    Masked,
}
