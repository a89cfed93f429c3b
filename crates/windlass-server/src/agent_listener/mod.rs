//! The listener for agents: TLS with client certificates, HTTP/2, and the endpoints of agents alone.
//!
//! [`tls`] decides which certificates are let through, [`listen`] accepts connections, [`serve`] handles HTTP on one of them,
//! [`guard`] decides which agent a request is from and whether it may make it. TLS ends here: a balancer in front forwards TCP.
//! Everything about one connection is small, because ten thousand of them are open at rest.

pub(crate) mod guard;
pub(crate) mod limits;
pub(crate) mod listen;
pub(crate) mod routes;
pub(crate) mod serve;
pub(crate) mod tls;
