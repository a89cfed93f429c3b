//! Where the accepted state is no longer what git said.

pub mod differences;
pub mod sensor;
