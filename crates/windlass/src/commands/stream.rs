//! Server-sent events: bytes as they come → messages. Knows nothing of what they say.

use std::time::Duration;

use windlass_api::client::{ApiCall, StreamedResponse};

/// How long [`EventWatch::wait`] waits at most: not everything that changes has an event.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// A stream that has no end is opened again after this time.
const STREAM_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// A line longer than this is no event of ours; it would only fill the memory.
const MAX_LINE: usize = 1 << 20;

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseMessage {
    /// Where to go on after it.
    pub(super) id: Option<String>,
    /// What it says.
    pub(super) data: String,
}

/// The stream has a line that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Puts messages together from pieces of any size.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    after_cr: bool,
    message: SseMessage,
    has_data: bool,
}

impl SseParser {
    /// Takes more bytes; gives the messages they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<SseMessage>, TooLong> {
        let mut complete = Vec::new();
        for byte in bytes {
            let ends_crlf = self.after_cr && *byte == b'\n';
            self.after_cr = *byte == b'\r';
            match byte {
                _ if ends_crlf => {}
                b'\n' | b'\r' => complete.extend(self.end_line()),
                _ if self.line.len() >= MAX_LINE => return Err(TooLong),
                byte => self.line.push(*byte),
            }
        }
        Ok(complete)
    }

    fn end_line(&mut self) -> Option<SseMessage> {
        let bytes = std::mem::take(&mut self.line);
        if bytes.is_empty() {
            let message = std::mem::take(&mut self.message);
            return std::mem::take(&mut self.has_data).then_some(message);
        }
        let line = String::from_utf8_lossy(&bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "data" if self.has_data && self.message.data.len() + value.len() < MAX_LINE => {
                self.message.data.push('\n');
                self.message.data.push_str(value);
            }
            "data" if !self.has_data => {
                self.message.data = value.to_owned();
                self.has_data = true;
            }
            // Comments keep the connection alive; other fields mean nothing to us.
            _ => {}
        }
        None
    }
}

/// Waits for events without reading them: something may have changed.
#[derive(Debug, Default)]
pub(super) struct EventWatch {
    stream: Option<StreamedResponse>,
}

impl EventWatch {
    /// Waits for the next event, or for a short time. `call` opens the stream; without one, only time passes.
    pub(super) async fn wait<'r>(&mut self, call: impl Fn() -> ApiCall<'r>) {
        if self.stream.is_none() {
            let opened = call().header("accept", "text/event-stream").timeout(STREAM_TIMEOUT);
            self.stream = opened.send_response().await.ok();
        }
        let next = async {
            match &mut self.stream {
                Some(stream) => stream.chunk().await.ok().flatten(),
                None => std::future::pending().await,
            }
        };
        // A stream that ended or failed is opened again the next time, but not at once.
        match tokio::time::timeout(LOOK_AGAIN, next).await {
            Ok(Some(_)) | Err(_) => {}
            Ok(None) => {
                self.stream = None;
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: Option<&str>, data: &str) -> SseMessage {
        SseMessage { id: id.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn messages_are_the_same_however_the_bytes_are_cut_and_lines_end() {
        let text =
            ": hello\n\nid: 7\nevent: x\ndata: {\"a\":\ndata: 1}\n\ndata:é\n\nid: 8\n\nretry: 5\ndata: last";
        let expected = [message(Some("7"), "{\"a\":\n1}"), message(None, "é")];
        for text in [text.to_owned(), text.replace('\n', "\r\n"), text.replace('\n', "\r")] {
            for size in [1, 2, 3, 1000] {
                let mut parser = SseParser::default();
                let pieces = text.as_bytes().chunks(size);
                let found: Vec<SseMessage> = pieces.flat_map(|piece| parser.take(piece).unwrap()).collect();
                assert_eq!(found, expected, "{size}");
            }
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut parser = SseParser::default();
        assert_eq!(parser.take(&vec![b'x'; MAX_LINE + 1]), Err(TooLong));
    }
}
