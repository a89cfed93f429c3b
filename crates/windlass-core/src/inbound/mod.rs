//! Decisions about incoming connections: which stay open, how long clients may take, which address a request counts
//! for, and how soon someone may try to sign in again.
//!
//! The server's network code passes in what it observed and acts on the results.

pub mod address;
pub mod connections;
pub mod forwarded;
pub mod throttle;
pub mod transfer_time;
