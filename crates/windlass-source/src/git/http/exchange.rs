//! One request and its response, as the readers and writers that gix needs.

use std::cell::RefCell;
use std::io::{self, BufRead, Cursor, Read, Write};
use std::rc::Rc;

use reqwest::header::HeaderMap;
use reqwest::{Method, Response};

use super::super::error::RemoteProblem;
use super::transport::HttpTransport;

/// One request and its response. The request is sent when the response is first read.
pub(super) struct HttpExchange {
    web: HttpTransport,
    step: RefCell<ExchangeState>,
}

pub(super) enum ExchangeState {
    /// The request was not sent yet.
    Asking { url: String, headers: HeaderMap, body: Vec<u8> },
    /// The body is being read.
    Answered(Response),
    /// The request failed.
    Over,
}

impl HttpExchange {
    /// An exchange that begins with a request, or with a response that was already received.
    pub(super) fn new(web: HttpTransport, step: ExchangeState) -> Rc<HttpExchange> {
        Rc::new(HttpExchange { web, step: RefCell::new(step) })
    }

    fn answer(&self) -> io::Result<()> {
        let step = self.step.replace(ExchangeState::Over);
        let next = match step {
            ExchangeState::Asking { url, headers, body } => {
                let response = self.web.send(&Method::POST, &url, &headers, body)?;
                if response.status().is_redirection() {
                    let reason = "it redirects in the middle of a conversation".to_owned();
                    return Err(self.web.fail(RemoteProblem::Protocol { reason }));
                }
                ExchangeState::Answered(self.web.accept(response)?)
            }
            other => other,
        };
        *self.step.borrow_mut() = next;
        Ok(())
    }

    fn header_lines(&self) -> io::Result<Vec<u8>> {
        self.answer()?;
        let mut lines = Vec::new();
        if let ExchangeState::Answered(response) = &*self.step.borrow() {
            for (name, value) in response.headers() {
                lines.extend_from_slice(name.as_str().as_bytes());
                lines.push(b':');
                lines.extend_from_slice(value.as_bytes());
                lines.push(b'\n');
            }
        }
        Ok(lines)
    }

    fn next_piece(&self) -> io::Result<Vec<u8>> {
        self.answer()?;
        let ExchangeState::Answered(response) = &mut *self.step.borrow_mut() else { return Ok(Vec::new()) };
        let piece = self.web.wait(response.chunk())?.map(|piece| piece.to_vec()).unwrap_or_default();
        let fetch_guard = &self.web.0.fetch_guard;
        fetch_guard.count_bytes(piece.len());
        if fetch_guard.is_stopped() { Err(io::Error::other("stopped")) } else { Ok(piece) }
    }
}

/// The request body.
pub(crate) struct RequestBody(pub(super) Rc<HttpExchange>);

impl Write for RequestBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.step.borrow_mut() {
            ExchangeState::Asking { body, .. } => body.extend_from_slice(bytes),
            ExchangeState::Answered(_) | ExchangeState::Over => {
                return Err(io::Error::other("the request was sent already"));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The header lines of a response.
pub(crate) struct ResponseHead {
    exchange: Rc<HttpExchange>,
    lines: Option<Cursor<Vec<u8>>>,
}

impl ResponseHead {
    pub(super) fn new(exchange: &Rc<HttpExchange>) -> ResponseHead {
        ResponseHead { exchange: Rc::clone(exchange), lines: None }
    }

    fn lines(&mut self) -> io::Result<&mut Cursor<Vec<u8>>> {
        if self.lines.is_none() {
            self.lines = Some(Cursor::new(self.exchange.header_lines()?));
        }
        self.lines.as_mut().ok_or_else(|| io::Error::other("no headers"))
    }
}

impl Read for ResponseHead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lines()?.read(buffer)
    }
}

impl BufRead for ResponseHead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.lines()?.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some(lines) = &mut self.lines {
            lines.consume(amount);
        }
    }
}

/// The body of a response.
pub(crate) struct BodyReader {
    exchange: Rc<HttpExchange>,
    piece: Cursor<Vec<u8>>,
}

impl BodyReader {
    pub(super) fn new(exchange: &Rc<HttpExchange>) -> BodyReader {
        BodyReader { exchange: Rc::clone(exchange), piece: Cursor::default() }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for BodyReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece.position() >= self.piece.get_ref().len() as u64 {
            self.piece = Cursor::new(self.exchange.next_piece()?);
        }
        self.piece.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.piece.consume(amount);
    }
}
