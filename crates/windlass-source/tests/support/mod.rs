//! Remotes with three transports that tests use alike.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;
use windlass_core::address_guard::AddressRules;
use windlass_core::redacted::Redacted;
use windlass_outbound::AddressGuard;
use windlass_source::{
    CommitId, Credential, FetchError, FetchLimits, FetchOptions, FetchResult, HostKeys, InsecureUrls, Mirror,
    RemoteUrl, Revision,
};
use windlass_testkit::servers::{GitHttps, GitSsh};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Everything that a fetch needs; tests may change it before use.
pub struct Remote {
    pub url: RemoteUrl,
    pub revision: Revision,
    pub credential: Credential,
    pub host_keys: Option<HostKeys>,
    pub ca: Option<String>,
    pub limits: FetchLimits,
    pub guard: AddressGuard,
}

impl Remote {
    pub fn at(url: &str) -> Remote {
        Remote {
            url: RemoteUrl::parse(url, InsecureUrls::Allowed).unwrap(),
            revision: Revision::parse("main").unwrap(),
            credential: Credential::None,
            host_keys: None,
            ca: None,
            limits: FetchLimits::default(),
            guard: AddressGuard::new(AddressRules::default().with_loopback()),
        }
    }

    pub fn file(path: &Path) -> Remote {
        Remote::at(&format!("file://{}", path.display()))
    }

    pub fn ssh(server: &GitSsh, name: &str) -> Remote {
        let key = Redacted::new(server.key());
        Remote { credential: Credential::SshKey { key, known_hosts: None }, ..Remote::at(&server.url(name)) }
    }

    pub fn https(server: &GitHttps, path: &str) -> Remote {
        Remote {
            credential: password(GitHttps::PASSWORD),
            ca: Some(server.ca()),
            ..Remote::at(&server.url(path))
        }
    }

    pub fn on(self, branch: &str) -> Remote {
        Remote { revision: Revision::parse(branch).unwrap(), ..self }
    }

    pub fn options(&self) -> FetchOptions<'_> {
        FetchOptions {
            url: &self.url,
            revision: &self.revision,
            credential: &self.credential,
            host_keys: self.host_keys.as_ref(),
            extra_ca_pem: self.ca.as_deref(),
            guard: &self.guard,
            since: None,
            limits: self.limits,
            interrupt: &NEVER,
        }
    }
}

pub fn password(password: &str) -> Credential {
    Credential::Basic { username: GitHttps::USER.to_owned(), password: Redacted::new(password.to_owned()) }
}

/// A mirror in a directory of its own.
pub struct TestMirror {
    pub mirror: Mirror,
    directory: TempDir,
}

impl TestMirror {
    pub fn new() -> TestMirror {
        let directory = tempfile::tempdir().unwrap();
        let mirror = Mirror::open_or_create(&directory.path().join("mirror")).unwrap();
        TestMirror { mirror, directory }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("mirror")
    }

    pub fn fetch(&self, remote: &Remote) -> Result<FetchResult, FetchError> {
        self.mirror.fetch(&remote.options())
    }

    /// Fetches as a caller that last synced `since`.
    pub fn fetch_since(&self, remote: &Remote, since: &CommitId) -> Result<FetchResult, FetchError> {
        self.mirror.fetch(&FetchOptions { since: Some(since), ..remote.options() })
    }

    /// The packs of the mirror.
    pub fn packs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join("objects/pack")).unwrap();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }
}
