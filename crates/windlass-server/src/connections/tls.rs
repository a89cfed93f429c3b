//! TLS that the server terminates itself: a certificate and its key from files, which may be replaced while it runs.
//!
//! The server uses a new pair as soon as it is valid. If it is not, the server logs that and keeps the old pair. Files are
//! often replaced one after the other, so an invalid pair is logged only when the next check finds it unchanged.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use windlass_control::metrics::{self, MetricOutcome};
use windlass_core::digest::Digest;
use windlass_core::redacted::Redacted;

/// The largest file that the server reads: a chain of certificates has a few kilobytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The paths of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by its intermediate certificates, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// Why TLS cannot be used as configured.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is too large for a certificate or a key.
    #[error("{path} is too large for a certificate or a key")]
    TooLarge {
        /// Its path.
        path: PathBuf,
    },
    /// There is no certificate in the file.
    #[error("{path} contains no PEM certificate")]
    NoCertificate {
        /// Its path.
        path: PathBuf,
    },
    /// There is no private key in the file.
    #[error("{path} contains no PEM private key")]
    NoKey {
        /// Its path.
        path: PathBuf,
    },
    /// They do not match, or have a type that is not supported.
    #[error("the certificate {certificate} and the key {key} cannot be used together: {source}")]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
}

impl TlsFiles {
    /// Checks that the server could use both files.
    pub fn check(&self) -> Result<(), TlsError> {
        self.read().and_then(|pair| pair.config(self)).map(drop)
    }

    fn read(&self) -> Result<PemPair, TlsError> {
        Ok(PemPair { certificate: read_file(&self.certificate)?, key: Redacted::new(read_file(&self.key)?) })
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::File { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MAX_FILE => Ok(bytes),
        _ => Err(TlsError::TooLarge { path: path.to_path_buf() }),
    }
}

/// The contents of both files.
struct PemPair {
    certificate: Vec<u8>,
    key: Redacted<Vec<u8>>,
}

impl PemPair {
    fn digest(&self) -> Digest {
        Digest::of_parts([self.certificate.as_slice(), self.key.expose().as_slice()])
    }

    fn config(&self, files: &TlsFiles) -> Result<ServerConfig, TlsError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .ok()
            .filter(|chain: &Vec<_>| !chain.is_empty())
            .ok_or_else(|| TlsError::NoCertificate { path: files.certificate.clone() })?;
        let key = PrivateKeyDer::from_pem_slice(self.key.expose())
            .map_err(|_| TlsError::NoKey { path: files.key.clone() })?;
        let unusable = |source| TlsError::Pair {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            source,
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// The certificate and key in use.
#[derive(Debug)]
pub(crate) struct TlsKeys {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
    seen: Mutex<SeenFiles>,
}

/// What the last check found in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeenFiles {
    /// The pair that is in use.
    InUse(Digest),
    /// Something that cannot be used, found once: the files may be in the middle of a replacement.
    Unusable(Option<Digest>),
    /// The same, found twice and reported.
    Reported(Option<Digest>),
}

impl TlsKeys {
    pub(crate) fn load(files: TlsFiles) -> Result<TlsKeys, TlsError> {
        let pair = files.read()?;
        let config = Arc::new(pair.config(&files)?);
        let seen = Mutex::new(SeenFiles::InUse(pair.digest()));
        Ok(TlsKeys { files, current: RwLock::new(config), seen })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current))
    }

    /// Reads the files again, and uses them if they are new and valid.
    fn reload(&self) {
        let read = self.files.read();
        let digest = read.as_ref().ok().map(PemPair::digest);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if digest.is_some_and(|digest| *seen == SeenFiles::InUse(digest))
            || *seen == SeenFiles::Reported(digest)
        {
            return;
        }
        let error = match (read.and_then(|pair| pair.config(&self.files)), digest) {
            (Ok(config), Some(digest)) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                *seen = SeenFiles::InUse(digest);
                metrics::tls_reload(MetricOutcome::Done);
                tracing::info!("reloaded the TLS certificate");
                return;
            }
            (Ok(_), None) => return,
            (Err(error), _) => error,
        };
        if *seen != SeenFiles::Unusable(digest) {
            *seen = SeenFiles::Unusable(digest);
            return;
        }
        *seen = SeenFiles::Reported(digest);
        metrics::tls_reload(MetricOutcome::Failed);
        tracing::error!(%error, "cannot use the new TLS certificate; keeping the old one");
    }
}

/// Checks the files periodically until the server stops.
pub(crate) async fn reload_loop(
    keys: Arc<TlsKeys>,
    every: std::time::Duration,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(every) => {}
        }
        let keys = Arc::clone(&keys);
        // Reading files can block.
        let _ = tokio::task::spawn_blocking(move || keys.reload()).await;
    }
}
