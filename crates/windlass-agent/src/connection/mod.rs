//! The connection to the server: one, with HTTP/2 and mutual TLS, on which the agent asks and the server nudges.
//!
//! [`tls`] decides whom the agent trusts, [`link`] keeps the connection and its stream open, [`requests`] asks.

mod backoff;
mod der;
mod dial;
mod link;
mod requests;
mod server_address;
mod stream;
mod tls;

pub(crate) use backoff::Backoff;
pub(crate) use dial::{ConnectionWork, Dial, open};
pub(crate) use link::{Link, LinkState, LinkWish, Random};
pub use requests::RequestError;
pub(crate) use requests::Requests;
pub use server_address::BadServerAddress;
pub(crate) use server_address::ServerAddress;
pub(crate) use stream::{Line, News};
pub use tls::KeyError;
pub(crate) use tls::{ClientCertificate, TrustedServer, client_config};
