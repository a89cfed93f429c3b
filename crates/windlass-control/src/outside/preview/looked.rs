//! What a preview looked at.

use windlass_core::gate::Contributors;

use crate::flow::sync::material::Material;

/// What was found, before it is compared.
pub(crate) struct Looked {
    pub(crate) material: Material,
    pub(crate) commit: Option<String>,
    pub(crate) contributors: Contributors,
    /// Why a sync would not take it.
    pub(crate) notes: Vec<String>,
}
