//! Sends a refusal to a client when there are too many connections, without blocking on that client.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::connections::ConnectionLimit;

/// How many refusals are sent at the same time. Beyond these, the server closes connections without a response.
const MAX_CONCURRENT: usize = 32;

/// How long a client may take to read a refusal.
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

/// Sends refusals.
pub(super) struct RefusalSender {
    permits: Arc<Semaphore>,
}

impl Default for RefusalSender {
    fn default() -> RefusalSender {
        RefusalSender { permits: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }
}

impl RefusalSender {
    /// Refuses a connection without TLS.
    pub(super) fn refuse(&mut self, mut stream: TcpStream, full: ConnectionLimit) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let sent = async {
                stream.write_all(full.answer().as_bytes()).await?;
                stream.shutdown().await?;
                // If the server closed the socket with unread bytes, the connection would be reset and the response lost.
                let mut unread = [0_u8; 4096];
                for _ in 0..16 {
                    if stream.read(&mut unread).await? == 0 {
                        break;
                    }
                }
                std::io::Result::Ok(())
            };
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, sent).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_right_content_length_and_the_format_of_errors() {
        for full in [ConnectionLimit::Address, ConnectionLimit::Server] {
            let (head, body) = full.answer().split_once("\r\n\r\n").expect("a head and a body");
            assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
            assert_eq!(body["error"]["code"], "too-many-connections");
        }
    }
}
