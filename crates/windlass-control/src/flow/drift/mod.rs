//! Where the accepted state no longer equals the desired state.

pub mod differences;
pub mod sensor;
