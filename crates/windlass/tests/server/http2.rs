//! HTTP/2 clients that abuse the protocol: windows that never open, endless headers, requests that are reset at once.
//! Frames are written as bytes, because no library sends such things.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use tokio::net::TcpSocket;
use windlass_api::endpoint::Operation;

use crate::api::Api;
use crate::installation::{Installation, Server, TIMEOUT};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The error codes ENHANCE_YOUR_CALM and REFUSED_STREAM.
const CALM: u32 = 11;
const REFUSED_STREAM: u32 = 7;

/// A frame that came.
#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    /// The error code at this position of a frame.
    fn reason(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `GET /healthz`, in HPACK with the static table and plain text.
fn request_head() -> Vec<u8> {
    [&[0x82, 0x86, 0x04, 8][..], b"/healthz", &[0x01, 1], b"a"].concat()
}

fn request(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &request_head())
}

/// An HTTP/2 connection that sends nothing on its own.
struct Http2(TcpStream);

impl Http2 {
    /// Opens one from an address, with a receive window of this size.
    fn open(server: &Server, from: Ipv4Addr, window: u32) -> Http2 {
        let place: SocketAddr = server.address.rsplit('/').next().unwrap().parse().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stream = runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind((from, 0).into()).unwrap();
            socket.connect(place).await.unwrap().into_std().unwrap()
        });
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut connection = Http2(stream);
        let settings = [&4_u16.to_be_bytes()[..], &window.to_be_bytes()].concat();
        connection.send(&[PREFACE, &frame(SETTINGS, 0, 0, &settings)].concat());
        connection
    }

    fn send(&mut self, bytes: &[u8]) {
        // The server may have closed it; reading shows that.
        let _ = self.0.write_all(bytes);
    }

    /// The next frame; `None` after the server closed. Settings and pings are answered, as by a normal client.
    fn next(&mut self) -> Option<Frame> {
        loop {
            let mut head = [0; 9];
            if let Err(error) = self.0.read_exact(&mut head) {
                let kind = error.kind();
                assert_ne!(kind, std::io::ErrorKind::WouldBlock, "the server neither answers nor closes");
                return None;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
            let mut found = Frame { kind: head[3], flags: head[4], stream, payload: vec![0; length] };
            self.0.read_exact(&mut found.payload).ok()?;
            match (found.kind, found.flags & ACK) {
                (SETTINGS | PING, 0) => {
                    let payload = if found.kind == PING { found.payload.as_slice() } else { &[] };
                    self.send(&frame(found.kind, ACK, 0, payload));
                }
                (SETTINGS | PING, _) => {}
                _ => return Some(found),
            }
        }
    }

    fn wait_for(&mut self, what: &str, mut is_it: impl FnMut(&Frame) -> bool) -> Frame {
        loop {
            let found = self.next().unwrap_or_else(|| panic!("the server closed before {what}"));
            if is_it(&found) {
                return found;
            }
        }
    }

    /// Reads until the server closes; returns the error code it sent, if any.
    fn read_to_end(mut self) -> Option<u32> {
        let mut reason = None;
        while let Some(found) = self.next() {
            if found.kind == GOAWAY {
                reason = Some(found.reason(4));
            }
        }
        reason
    }
}

fn is_alive(server: &Server) {
    let newcomer = Api::new(&server.address, None);
    newcomer.text(newcomer.call(Operation::Health, &[])).unwrap();
}

#[test]
fn a_client_that_never_opens_its_window_is_disconnected() {
    let installation = Installation::new();
    let server = installation.serve(&["--body-timeout", "1s"]);
    let mut connection = Http2::open(&server, Ipv4Addr::LOCALHOST, 0);
    connection.send(&request(1));
    connection.wait_for("the head of the answer", |it| it.kind == HEADERS && it.stream == 1);
    connection.read_to_end();
    // A client that reads its response stays connected.
    let mut good = Http2::open(&server, Ipv4Addr::LOCALHOST, 65_535);
    for stream in [1, 3] {
        good.send(&request(stream));
        good.wait_for("the answer", |it| it.kind == DATA && it.stream == stream);
    }
    server.stop();
}

#[test]
fn closed_windows_from_many_addresses_block_nobody() {
    let installation = Installation::new();
    // A quarter of these for each address.
    let server = installation.serve(&["--max-connections", "16", "--body-timeout", "10m"]);
    let mut pinned: Vec<Http2> = (0..20)
        .map(|number| {
            let from = Ipv4Addr::new(127, 0, 0, 10 + number / 4);
            let mut connection = Http2::open(&server, from, 0);
            connection.send(&request(1));
            connection.wait_for("the head of the answer", |it| it.kind == HEADERS);
            connection
        })
        .collect();
    for _ in 0..3 {
        is_alive(&server);
    }
    pinned.clear();
    server.stop();
}

#[test]
fn no_connection_has_more_requests_under_way_than_it_may() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let mut connection = Http2::open(&server, Ipv4Addr::LOCALHOST, 0);
    let requests: Vec<u8> = (0..65).flat_map(|number| request(number * 2 + 1)).collect();
    connection.send(&requests);
    let refused = connection.wait_for("a request too many is refused", |it| it.kind == RST_STREAM);
    assert_eq!((refused.stream, refused.reason(0)), (129, REFUSED_STREAM));
    is_alive(&server);
    server.stop();
}

#[test]
fn a_client_that_keeps_resetting_its_requests_is_disconnected() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let mut connection = Http2::open(&server, Ipv4Addr::LOCALHOST, 65_535);
    let cancel = 8_u32.to_be_bytes();
    let storm: Vec<u8> = (0..2_000)
        .flat_map(|number| {
            let stream = number * 2 + 1;
            [request(stream), frame(RST_STREAM, 0, stream, &cancel)].concat()
        })
        .collect();
    connection.send(&storm);
    assert!(matches!(connection.read_to_end(), Some(CALM) | None));
    is_alive(&server);
    server.stop();
}

#[test]
fn an_endless_request_head_is_not_buffered() {
    let installation = Installation::new();
    let server = installation.serve(&["--header-timeout", "10m"]);
    let mut connection = Http2::open(&server, Ipv4Addr::LOCALHOST, 65_535);
    connection.send(&frame(HEADERS, END_STREAM, 1, &request_head()));
    // A header of a kilobyte, over and over.
    let header = [&[0x00, 1][..], b"x", &[0x7f, 0x81, 0x07], &[b'a'; 1024]].concat();
    for _ in 0..1_000 {
        connection.send(&frame(CONTINUATION, 0, 1, &header));
    }
    connection.read_to_end();
    // The same without content.
    let mut connection = Http2::open(&server, Ipv4Addr::LOCALHOST, 65_535);
    connection.send(&frame(HEADERS, END_STREAM, 1, &request_head()));
    let empty: Vec<u8> = (0..10_000).flat_map(|_| frame(CONTINUATION, 0, 1, &[])).collect();
    connection.send(&empty);
    connection.read_to_end();
    is_alive(&server);
    server.stop();
}
