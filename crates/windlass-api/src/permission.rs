//! What someone may do, and the roles that bundle it: the core's.

pub use windlass_core::access::{Permission, Role};
