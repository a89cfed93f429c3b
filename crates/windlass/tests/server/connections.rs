//! Clients that open connections and send little: they lock nobody out, and the server does not wait for them.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use windlass_api::endpoint::Operation;

use crate::api::Api;
use crate::installation::{Installation, Server, TIMEOUT};

/// The number of incomplete requests.
const MANY: u32 = 2000;

/// Raises this process's limit of open files. False if that is not possible.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn may_open_many() -> bool {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    let is_enough = hard > u64::from(MANY) + 1000;
    if !is_enough {
        eprintln!("skipped: this process may not open {MANY} connections");
    }
    is_enough
}

fn place_of(server: &Server) -> SocketAddr {
    server.address.rsplit('/').next().unwrap().parse().unwrap()
}

/// Opens connections from these addresses, and sends a part of a request on each. Connections that the server closed
/// stay in the list, as an attacker would keep them.
fn open_half_requests(
    runtime: &Runtime,
    place: SocketAddr,
    from: impl Iterator<Item = Ipv4Addr>,
) -> Vec<tokio::net::TcpStream> {
    runtime.block_on(async {
        let mut open = Vec::new();
        for address in from {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind((address, 0).into()).unwrap();
            let connected = tokio::time::timeout(TIMEOUT, socket.connect(place)).await;
            let mut stream = connected.expect("a connection is accepted or refused").unwrap();
            let _ = stream.write_all(b"POST /api/v1/auth/login HTTP/1.1\r\nhost: windlass\r\n").await;
            open.push(stream);
        }
        open
    })
}

/// The value of a metric.
fn metric(api: &Api, series: &str) -> f64 {
    let text = api.text(api.call(Operation::Metrics, &[])).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in {text}")).parse().unwrap()
}

/// What works for a signed-in person, and for the operator, while many incomplete requests are open.
fn works_beside(from: impl Iterator<Item = Ipv4Addr>) {
    if !may_open_many() {
        return;
    }
    let installation = Installation::new().with_open_files(1024);
    let server = installation.serve(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = open_half_requests(&runtime, place_of(&server), from);
    assert_eq!(open.len(), MANY as usize);
    for _ in 0..3 {
        let newcomer = Api::new(&server.address, installation.token().as_deref());
        newcomer.text(newcomer.call(Operation::Health, &[])).unwrap();
        newcomer.resources().unwrap();
        newcomer.last_event();
    }
    assert!(server.api.resources().is_ok(), "and who was there before");
    assert!(metric(&server.api, "windlass_connections_open") <= 768.0);
    assert!(metric(&server.api, "windlass_connections_closed_total{reason=\"replaced\"}") >= 1000.0);
    drop(open);
    server.stop();
}

#[test]
fn two_thousand_half_requests_from_one_address_block_nobody_at_1024_files() {
    works_beside((0..MANY).map(|_| Ipv4Addr::LOCALHOST));
}

#[test]
fn two_thousand_half_requests_from_many_addresses_block_nobody_at_1024_files() {
    let base = u32::from(Ipv4Addr::new(127, 1, 0, 1));
    works_beside((0..MANY).map(|number| Ipv4Addr::from(base + number)));
}

/// A raw TCP connection.
struct Raw(TcpStream);

impl Raw {
    fn open(server: &Server) -> Raw {
        let stream = TcpStream::connect(place_of(server)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Raw(stream)
    }

    fn send(mut self, text: &str) -> Raw {
        // The server may have closed it; reading shows that.
        let _ = self.0.write_all(text.as_bytes());
        self
    }

    /// Reads until there is enough, or until the server closes.
    fn read_until(&mut self, is_enough: impl Fn(&str) -> bool) -> String {
        let (mut text, mut bytes) = (String::new(), [0; 4096]);
        while !is_enough(&text) {
            match self.0.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(error) => panic!("the server neither answers nor closes: {error}"),
            }
        }
        text
    }

    fn read_to_end(mut self) -> String {
        self.read_until(|_| false)
    }
}

#[test]
fn heads_and_bodies_that_do_not_come_are_not_waited_for() {
    let installation = Installation::new();
    let server = installation.serve(&["--header-timeout", "3s", "--body-timeout", "2s"]);
    assert_eq!(Raw::open(&server).read_to_end(), "", "nothing at all");
    assert_eq!(Raw::open(&server).send("GET /healthz HTTP/1.1\r\nhost:").read_to_end(), "", "half a head");
    let mut again = Raw::open(&server).send("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(again.read_until(|text| text.contains("alive")).starts_with("HTTP/1.1 200"));
    assert_eq!(again.send("GET /healthz HT").read_to_end(), "", "half of a second head");
    let slow = "POST /api/v1/auth/login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                content-length: 100\r\n\r\n{\"email\":";
    let answer = Raw::open(&server).send(slow).read_to_end();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("body-too-slow"), "{answer}");
    assert!(metric(&server.api, "windlass_connections_closed_total{reason=\"late\"}") >= 3.0);
    server.stop();
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let long = format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx-long: {}\r\n\r\n", "a".repeat(200_000));
    let answer = Raw::open(&server).send(&long).read_to_end();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let twice = "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
    let answer = Raw::open(&server).send(twice).read_to_end();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    server.stop();
}

#[test]
fn an_address_whose_connections_are_all_busy_is_told_to_come_back_and_others_are_served() {
    let installation = Installation::new();
    // A quarter of these for each address.
    let server = installation.serve(&["--max-connections", "16"]);
    let token = installation.token().unwrap();
    let listen = format!(
        "GET /api/v1/system/fleet_events/stream?after=0 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut streams: Vec<Raw> = (0..4)
        .map(|_| {
            let mut stream = Raw::open(&server).send(&listen);
            assert!(stream.read_until(|text| text.contains("\r\n\r\n")).starts_with("HTTP/1.1 200"));
            stream
        })
        .collect();
    let answer = Raw::open(&server).send("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").read_to_end();
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: "), "{answer}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let elsewhere = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).unwrap();
        let mut stream = socket.connect(place_of(&server)).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
        text
    });
    assert!(elsewhere.starts_with("HTTP/1.1 200"), "{elsewhere}");
    streams.clear();
    let deadline = std::time::Instant::now() + TIMEOUT;
    // The server notices the closed connections at once or when it next sends.
    while !Raw::open(&server)
        .send("GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .read_to_end()
        .starts_with("HTTP/1.1 200")
    {
        assert!(std::time::Instant::now() < deadline, "the places of streams that ended are not free again");
    }
    server.stop();
}
