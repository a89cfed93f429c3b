//! The gate: who may approve what, and what became of their approvals.

pub mod ask_again;
pub mod gatekeeper;
pub mod grant;
pub mod lost_approver;
pub mod regate;
pub mod set_approvals;
