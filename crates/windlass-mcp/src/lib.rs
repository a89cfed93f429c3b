//! The Model Context Protocol: what the REST API offers, as tools for programs that reason in words.
//!
//! `table` is the one table of tools. Each row stands for an operation of the endpoint table of `windlass-api` and is
//! two pure steps: arguments → [`Call`]s, answer → what is told. A [`Caller`] makes the calls: inside the server through
//! the very router that REST uses, on the command line over HTTP. So nothing is allowed, checked or recorded here: who
//! may do what is decided where REST decides it. The one exception is [`may`], which only ever refuses.
//!
//! The protocol itself is the SDK's. Its types stay in [`speak`].

mod arguments;
mod brief;
mod call;
mod perform;
mod reference;
mod refusal;
mod schema;
pub mod speak;
mod table;
mod tool;
mod tools;
mod who;

pub use call::{Call, Caller};
pub use perform::{Outcome, perform};
pub use reference::tools_page;
pub use refusal::Refusal;
pub use table::{find, tools};
pub use tool::{Effect, Tool};
pub use who::{By, Who, may};
