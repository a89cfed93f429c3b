//! The stream of news: one message a line.

use hyper::body::{Body as _, Bytes, Incoming};
use windlass_api::agent::{MAX_STREAM_LINE, StreamMessage};

use super::requests::{RequestError, next_bytes};

/// Puts the parts of a body together to lines.
#[derive(Debug, Default)]
struct Lines {
    unread: Vec<u8>,
}

impl Lines {
    fn push(&mut self, bytes: &Bytes) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next whole line. An error if a line is too long.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, RequestError> {
        let end = self.unread.iter().position(|byte| *byte == b'\n');
        if end.unwrap_or(self.unread.len()) > MAX_STREAM_LINE {
            return Err(RequestError::Malformed("a line of the stream is too long".to_owned()));
        }
        Ok(end.map(|end| {
            let mut line: Vec<u8> = self.unread.drain(..=end).collect();
            line.pop();
            line
        }))
    }
}

/// A line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Message(StreamMessage),
    /// A message of a newer server. It only says that the connection is alive.
    Unknown,
}

/// The lines of an open stream.
#[derive(Debug)]
pub(crate) struct News {
    body: Incoming,
    lines: Lines,
}

impl News {
    pub(crate) fn new(body: Incoming) -> News {
        News { body, lines: Lines::default() }
    }

    /// The next line; `None` when the server closed the stream. May be dropped at any time without losing a line.
    pub(crate) async fn next(&mut self) -> Result<Option<Line>, RequestError> {
        loop {
            if let Some(line) = self.lines.next_line()? {
                return Ok(Some(read_line(&line)));
            }
            if self.body.is_end_stream() {
                return Ok(None);
            }
            match next_bytes(&mut self.body).await? {
                Some(bytes) => self.lines.push(&bytes),
                None => return Ok(None),
            }
        }
    }
}

fn read_line(line: &[u8]) -> Line {
    match serde_json::from_slice(line) {
        Ok(message) => Line::Message(message),
        Err(_) => Line::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_from_any_parts_and_long_ones_are_refused() {
        let text =
            "{\"message\":\"ping\"}\n{\"message\":\"assignment\",\"generation\":7}\n{\"message\":\"new\"}\n";
        for size in 1..text.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for part in text.as_bytes().chunks(size) {
                lines.push(&Bytes::copy_from_slice(part));
                while let Some(line) = lines.next_line().unwrap() {
                    found.push(read_line(&line));
                }
            }
            let assignment = StreamMessage::Assignment { generation: 7 };
            assert_eq!(found, [Line::Message(StreamMessage::Ping), Line::Message(assignment), Line::Unknown]);
        }
        let mut lines = Lines::default();
        lines.push(&Bytes::from(vec![b' '; MAX_STREAM_LINE + 1]));
        assert!(lines.next_line().is_err());
    }
}
