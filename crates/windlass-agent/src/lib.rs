//! The agent: makes the accepted state of a node true on its host.
//!
//! [`target`] applies and observes a state that is composed already. It opens no connection: other code fetches the node's
//! document, the module packages and the blobs, and reports the results.

pub mod target;
