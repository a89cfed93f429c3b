//! Agents: enrolment, identity, revocation and streams, over real TLS connections.

mod client;
mod enrolment;
mod identity;
mod joins;
mod matrix;
mod rotation;
mod streams;
