//! The Model Context Protocol: the REST API as tools for language models.
//!
//! `table` is the one table of tools. Each row stands for an operation of the endpoint table of `windlass-api` and
//! consists of two pure steps: arguments → [`ApiCallSpec`]s, and response → reply. An [`ApiCaller`] performs the calls:
//! inside the server through the same router as REST, on the command line over HTTP. So this crate does not authorise,
//! validate or record anything; the server does that, as for REST. The one exception is [`check_tool_access`], which
//! can only refuse.
//!
//! The SDK implements the protocol. Its types are used only in [`protocol`].

mod arguments;
mod call;
mod caller;
pub mod protocol;
mod reference;
mod refusal;
mod run_tool;
mod schema;
mod summary;
mod table;
mod tool;
mod tools;

pub use call::{ApiCallSpec, ApiCaller};
pub use caller::{CallerCredential, ToolCaller, check_tool_access};
pub use reference::tools_page;
pub use refusal::CallError;
pub use table::{find, tools};
pub use tool::{Effect, Tool};
