//! Spans that a server sends to a collector.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use windlass_testkit::servers::free_port;

use crate::fleet::{nodes, register, repository_with};
use crate::installation::{Installation, Server};

/// The recorded requests: head and body.
type Taken = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector that accepts and records everything.
struct Collector {
    address: String,
    taken: Taken,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let taken = Taken::default();
        let kept = Arc::clone(&taken);
        // Ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                thread::spawn(move || {
                    while let Some(request) = read_request(&stream) {
                        kept.lock().unwrap().push(request);
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                    }
                });
            }
        });
        Collector { address, taken }
    }

    fn spans(&self) -> Vec<Span> {
        let taken = self.taken.lock().unwrap();
        taken.iter().flat_map(|(_, body)| spans_of(body)).collect()
    }
}

fn read_request(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// The relevant fields of a span.
#[derive(Clone, Debug)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
}

/// The length-delimited fields of a protobuf message: number and content.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        match key & 7 {
            0 => drop(number(&mut bytes)),
            1 => bytes = &bytes[8..],
            2 => {
                let length = usize::try_from(number(&mut bytes)).unwrap();
                found.push((key >> 3, &bytes[..length]));
                bytes = &bytes[length..];
            }
            5 => bytes = &bytes[4..],
            other => panic!("wire type {other}"),
        }
    }
    found
}

fn within(bytes: &[u8], wanted: u64) -> impl Iterator<Item = &[u8]> {
    fields(bytes).into_iter().filter(move |(number, _)| *number == wanted).map(|(_, content)| content)
}

/// ExportTraceServiceRequest, resource spans, scope spans, spans.
fn spans_of(body: &[u8]) -> Vec<Span> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let first = |span: &[u8], wanted| within(span, wanted).next().map(<[u8]>::to_vec).unwrap_or_default();
    let spans = within(body, 1).flat_map(|resource| within(resource, 2).collect::<Vec<_>>());
    let spans = spans.flat_map(|scope| within(scope, 2).collect::<Vec<_>>());
    spans
        .map(|span| Span {
            trace: hex(&first(span, 1)),
            id: hex(&first(span, 2)),
            parent: hex(&first(span, 4)),
            name: String::from_utf8(first(span, 5)).unwrap(),
        })
        .collect()
}

/// Sends a request with a trace context.
fn ask_as_part_of(server: &Server, trace: &str, parent: &str) {
    let host = server.address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "GET /api/v1/system/nodes?q=planted-query HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
         authorization: Bearer planted-token\r\ntraceparent: 00-{trace}-{parent}-01\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
}

#[test]
fn traces_contain_spans_of_syncs_and_requests_but_no_content() {
    let collector = Collector::start();
    let installation = Installation::new();
    let server = installation.serve(&["--otlp-endpoint", &collector.address]);
    let work = repository_with(&nodes("web", "planted-node", 0..2));
    let repository = register(&server.api, "planted-repository", &work);
    server.api.apply_all(&repository.id).unwrap();
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    ask_as_part_of(&server, trace, parent);
    server.stop();

    let spans = collector.spans();
    let named = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {spans:?}"))
    };
    let sync = named("sync");
    for stage in ["sync.fetch", "sync.read", "sync.compare"] {
        let stage = named(stage);
        assert_eq!((&stage.trace, &stage.parent), (&sync.trace, &sync.id), "{stage:?}");
    }
    named("apply");
    named("drift");
    let asked = named("GET /api/v1/system/nodes");
    assert_eq!((asked.trace.as_str(), asked.parent.as_str()), (trace, parent), "the caller's trace goes on");
    let taken = collector.taken.lock().unwrap();
    for (head, body) in taken.iter() {
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        let text = String::from_utf8_lossy(body);
        for told in ["service.name", "windlass", "service.version", env!("CARGO_PKG_VERSION")] {
            assert!(text.contains(told), "{told}");
        }
        for secret in ["planted", "admin@localhost", "fleet.yaml", "Bearer"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn a_collector_that_is_down_harms_nothing_and_is_told_once() {
    let gone = format!("http://127.0.0.1:{}", free_port());
    let installation = Installation::new();
    let server = installation.serve(&["--otlp-endpoint", &gone]);
    let work = repository_with(&nodes("web", "web", 0..1));
    let repository = register(&server.api, "fleet-config", &work);
    server.api.apply_all(&repository.id).unwrap();
    server.stop();
    assert_eq!(
        installation.log().matches("the collector does not accept spans").count(),
        1,
        "{}",
        installation.log()
    );
}

#[test]
fn an_address_that_is_none_is_told_at_the_start() {
    let installation = Installation::new();
    for address in ["collector", "ftp://collector", "http://collector/?x=1"] {
        let output = installation.command("serve").args(["--otlp-endpoint", address]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains("not a collector address"), "{told}");
    }
}
