//! The Model Context Protocol: what the REST API offers, as tools for programs that reason in words.
//!
//! `table` is the one table of tools. Each row stands for an operation of the endpoint table of `windlass-api` and is
//! two pure steps: arguments → [`ApiCallSpec`]s, answer → what is told. A [`ApiCaller`] makes the calls: inside the server
//! through the very router that REST uses, on the command line over HTTP. So nothing is allowed, checked or recorded here:
//! who may do what is decided where REST decides it. The one exception is [`check_tool_access`], which only ever refuses.
//!
//! The protocol itself is the SDK's. Its types stay in [`protocol`].

mod arguments;
mod call;
mod caller;
mod perform;
pub mod protocol;
mod reference;
mod refusal;
mod schema;
mod summary;
mod table;
mod tool;
mod tools;

pub use call::{ApiCallSpec, ApiCaller};
pub use caller::{CallerCredential, ToolCaller, check_tool_access};
pub use perform::{ToolResult, run_tool};
pub use reference::tools_page;
pub use refusal::CallError;
pub use table::{find, tools};
pub use tool::{Effect, Tool};
