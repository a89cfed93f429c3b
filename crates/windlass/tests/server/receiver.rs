//! A receiver of notifications: listens on a port of its own, gives prepared responses, and records requests.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::installation::TIMEOUT;

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn delivery(&self) -> &str {
        &self.headers["x-windlass-delivery"]
    }
}

/// A receiver that listens until the test ends.
pub(crate) struct Receiver {
    port: u16,
    received: mpsc::Receiver<Received>,
    answers: Arc<Mutex<VecDeque<String>>>,
}

impl Receiver {
    pub(crate) fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, received) = mpsc::channel();
        let answers: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let planned = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let answer = || planned.lock().unwrap().pop_front().unwrap_or_else(|| "200 OK".to_owned());
                if let Some(request) = take(stream, answer)
                    && sender.send(request).is_err()
                {
                    return;
                }
            }
        });
        Receiver { port, received, answers }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sets the next response: a status, and headers after it, one per line.
    pub(crate) fn answer(&self, head: &str) {
        self.answers.lock().unwrap().push_back(head.to_owned());
    }

    /// The next request.
    pub(crate) fn next(&self) -> Received {
        self.received.recv_timeout(TIMEOUT).expect("something is received")
    }

    /// The requests that were not read yet.
    pub(crate) fn unread_requests(&self) -> Vec<Received> {
        std::iter::from_fn(|| self.received.recv_timeout(Duration::ZERO).ok()).collect()
    }
}

fn take(stream: TcpStream, answer: impl Fn() -> String) -> Option<Received> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let head = answer().replace('\n', "\r\n");
    // What a hostile receiver would answer: the URL it was called with.
    let said = format!("you called {path}");
    let length = said.len();
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}").ok()?;
    stream.flush().ok()?;
    Some(Received { path, headers, body: String::from_utf8(body).ok()? })
}
