//! Work that may end the process it runs in: counted, so that it is not begun again and again.

pub mod error;
pub mod on_demand;
pub mod tracked;
