//! Telling a client that there are too many, without being held up by it.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::connections::ConnectionLimit;

/// Refusals that are being told at once. Beyond these, connections are just closed.
const AT_ONCE: usize = 32;

/// How long a client has to hear it.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

const ADDRESS_FULL: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\n\
    content-type: application/json\r\ncontent-length: 133\r\n\r\n\
    {\"error\":{\"code\":\"too-many-connections\",\"message\":\"too many connections from your address\",\
    \"help\":\"close some, or try again later\"}}\n";

const SERVER_FULL: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\n\
    content-type: application/json\r\ncontent-length: 125\r\n\r\n\
    {\"error\":{\"code\":\"too-many-connections\",\"message\":\"the server has too many connections\",\
    \"help\":\"try again in some seconds\"}}\n";

impl ConnectionLimit {
    fn answer(self) -> &'static str {
        match self {
            ConnectionLimit::Address => ADDRESS_FULL,
            ConnectionLimit::Server => SERVER_FULL,
        }
    }
}

/// Refusals under way.
pub(super) struct Refusals {
    room: Arc<Semaphore>,
}

impl Default for Refusals {
    fn default() -> Refusals {
        Refusals { room: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Refusals {
    /// Refuses a connection that speaks without TLS.
    pub(super) fn refuse(&mut self, mut stream: TcpStream, full: ConnectionLimit) {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let told = async {
                stream.write_all(full.answer().as_bytes()).await?;
                stream.shutdown().await?;
                // Closed with bytes unread, the connection would be reset, and the answer lost.
                let mut unread = [0_u8; 4096];
                for _ in 0..16 {
                    if stream.read(&mut unread).await? == 0 {
                        break;
                    }
                }
                std::io::Result::Ok(())
            };
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, told).await;
            drop(room);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_answers_of_the_length_they_say_in_the_shape_that_errors_have() {
        for full in [ConnectionLimit::Address, ConnectionLimit::Server] {
            let (head, body) = full.answer().split_once("\r\n\r\n").expect("a head and a body");
            assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
            assert_eq!(body["error"]["code"], "too-many-connections");
        }
    }
}
