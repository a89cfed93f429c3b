//! Servers that accept a connection and never answer: an account with such repositories does not delay others.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use windlass_api::endpoint::Operation;
use windlass_api::types::{RepositoryFields, RunList};

use crate::api::Api;
use crate::fleet::{fields, nodes, register, repository_with};
use crate::installation::{ACCOUNT, Installation, TIMEOUT};

/// A server that accepts connections, reads requests, and answers nothing.
struct Tarpit {
    port: u16,
    held: Arc<(Mutex<Vec<TcpStream>>, Condvar)>,
}

impl Tarpit {
    fn new() -> Tarpit {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let held: Arc<(Mutex<Vec<TcpStream>>, Condvar)> = Arc::default();
        let holding = Arc::clone(&held);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(std::result::Result::ok) {
                // A connection counts as held only after it has sent a request.
                let _ = stream.read(&mut [0; 1024]);
                holding.0.lock().unwrap().push(stream);
                holding.1.notify_all();
            }
        });
        Tarpit { port, held }
    }

    /// Waits until it holds this many connections.
    fn wait_for(&self, count: usize) {
        let (held, changed) = &*self.held;
        let waited = changed.wait_timeout_while(held.lock().unwrap(), TIMEOUT, |held| held.len() < count);
        assert!(!waited.unwrap().1.timed_out(), "nobody came");
    }

    fn fields(&self, number: usize) -> RepositoryFields {
        RepositoryFields {
            name: Some(format!("tarpit-{number}")),
            repo_url: Some(format!("http://127.0.0.1:{}/{number}.git", self.port)),
            reconcile_interval_seconds: Some(3600),
            ..RepositoryFields::default()
        }
    }
}

fn in_progress(api: &Api) -> usize {
    let runs: RunList = api.send(api.call(Operation::RunList, &[])).unwrap();
    runs.sync_runs.iter().filter(|run| run.status.slug() == "in_progress").count()
}

#[test]
fn slow_remotes_of_one_account_delay_no_other_repositories() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let acme = &server.api;
    let globex = server.add_account("globex");
    let good_work = repository_with(&nodes("web", "web", 0..1));
    let good = register(acme, "good", &good_work).id;
    assert_eq!(acme.sync(&good).unwrap().status.slug(), "diff_ready");

    let tarpit = Tarpit::new();
    for number in 0..8 {
        acme.register(tarpit.fields(number)).unwrap();
    }
    tarpit.wait_for(2);

    let text = nodes("web", "web", 0..1).replace(&format!("account: {ACCOUNT}"), "account: globex");
    let work = repository_with(&text);
    let theirs = globex.register(fields("fleet", &work)).unwrap().id;
    assert_eq!(globex.sync(&theirs).unwrap().status.slug(), "diff_ready");
    assert_eq!(acme.sync(&good).unwrap().status.slug(), "diff_ready");
    assert_eq!(in_progress(acme), 8, "the tarpits still hold");
    server.killer().kill();
}
