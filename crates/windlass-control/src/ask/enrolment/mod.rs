//! Enrolment of agents: tokens that people create, agents that enrol and renew, nodes that wait to join, and revocation.

pub mod enrol;
pub mod join;
pub mod record;
pub mod renew;
pub mod revoke;
pub mod token;
