//! The tools, used by a real MCP client.

mod admission;
mod arguments;
mod client;
mod deciding;
mod lists;
mod secrecy;
mod tutorial;
