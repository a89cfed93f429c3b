//! Wire types, the endpoint table, OpenAPI and a typed client.
//!
//! Shapes bytes between our processes and decides nothing. [`endpoint`] is the one table of routes and permissions;
//! [`types`] is what crosses the wire; [`agent`] is what agents say; [`openapi`] tells both to others; [`client`] calls them.

pub mod agent;
#[cfg(feature = "client")]
pub mod client;
pub mod endpoint;
pub mod noun;
pub mod openapi;
pub mod permission;
mod query_parameters;
pub mod types;
mod word;
