//! Agents without hosts, for simulators: a process can have tens of thousands of them.
//!
//! A simulated agent has a key and a certificate of its own, trusts what it was told at enrolment, and verifies and reports
//! with the code of the real agent. It keeps everything in memory, and the host that it reports on is always what it shall
//! be. It does not renew its certificate and does not connect again: whoever simulates decides what happens when.

mod connection;
mod error;

use std::collections::BTreeSet;

use windlass_api::agent::{AgentEventKind, HostFacts};
use windlass_core::host::{BlobDigest, BlobRef, MAX_PACKAGE_BYTES, ModulePackage, NodeDocument};
use windlass_core::time::Timestamp;

pub use connection::SimulatedConnection;
pub use error::SimulationError;

use crate::connection::{Dial, ServerAddress, open};
use crate::enroll::{enroll_request, request, stored};
use crate::error::AgentError;
use crate::identity::{NewKey, StoredIdentity, parse_enrolment_key};
use crate::report::{ApplyFailures, LookResult, Outbox, ReportOccasion};

/// An enrolled agent without a host.
#[derive(Debug)]
pub struct SimulatedAgent {
    dial: Dial,
    identity: StoredIdentity,
    hostname: String,
    /// The generation and the document that it accepted last.
    accepted: Option<(u64, BlobDigest)>,
    document: Option<NodeDocument>,
    /// The content that it fetched.
    blobs: BTreeSet<BlobDigest>,
    outbox: Outbox,
}

impl SimulatedAgent {
    /// Enrols with a key that the server made, as the host of this name.
    pub async fn enroll(key: &str, hostname: &str, at: Timestamp) -> Result<SimulatedAgent, AgentError> {
        SimulatedAgent::enroll_over(Dial::tcp(), key, hostname, at).await
    }

    pub(crate) async fn enroll_over(
        dial: Dial,
        key: &str,
        hostname: &str,
        at: Timestamp,
    ) -> Result<SimulatedAgent, AgentError> {
        let key = parse_enrolment_key(key)?;
        let new_key = NewKey::generate()?;
        let body = enroll_request(&key, new_key.request, Some(hostname.to_owned()));
        let response = request(&key.server, &key, &body, &dial)
            .await
            .map_err(|source| AgentError::Server { server: key.server.clone(), source })?;
        let identity = stored(key.server, new_key.private, response)?;
        let mut outbox = Outbox::new(identity.identity.agent_id.clone(), at);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        outbox.push(at, AgentEventKind::Started { version }, "the agent started");
        let hostname = hostname.to_owned();
        Ok(SimulatedAgent {
            dial,
            identity,
            hostname,
            accepted: None,
            document: None,
            blobs: BTreeSet::new(),
            outbox,
        })
    }

    /// Opens a connection and the stream of news on it.
    pub async fn connect(&self) -> Result<SimulatedConnection, AgentError> {
        let failed = |source| AgentError::Server { server: self.identity.server.clone(), source };
        let address = ServerAddress::parse(&self.identity.server)?;
        let config = self.identity.client_config()?;
        let (requests, work) = open(&self.dial, &address, config).await.map_err(failed)?;
        SimulatedConnection::new(requests, work).await.map_err(failed)
    }

    /// The generation that it accepted last; 0 before the first.
    pub fn generation(&self) -> u64 {
        self.accepted.map_or(0, |(generation, _)| generation)
    }

    /// Fetches the assignment, verifies it as every agent does, and accepts it.
    pub async fn accept_assignment(
        &mut self,
        connection: &SimulatedConnection,
    ) -> Result<(), SimulationError> {
        let response = connection.assignment().await?.ok_or(SimulationError::NothingAssigned)?;
        let opened = self.identity.open_assignment(&response, self.accepted);
        let (assignment, document) = opened.map_err(|(refusal, _)| SimulationError::Refused(refusal))?;
        self.accepted = Some((assignment.generation, assignment.document));
        self.document = Some(document);
        Ok(())
    }

    /// Fetches the content of the accepted assignment that it lacks: packages, then the files that they name. Nothing is
    /// shared between agents. Returns the number of blobs.
    pub async fn fetch_content(
        &mut self,
        connection: &SimulatedConnection,
    ) -> Result<usize, SimulationError> {
        let modules = self.document.iter().flat_map(|document| &document.modules);
        let packages: BTreeSet<BlobDigest> = modules.map(|module| module.package).collect();
        let mut fetched = 0;
        for package in packages {
            if !self.blobs.contains(&package) {
                let bytes = connection.blob(package, MAX_PACKAGE_BYTES as u64).await?;
                let read = ModulePackage::from_bytes(&bytes);
                let files = read.map_err(|_| SimulationError::Tampered(package))?.files;
                fetched += 1 + self.fetch_files(connection, files.into_values()).await?;
                self.blobs.insert(package);
            }
        }
        Ok(fetched)
    }

    async fn fetch_files(
        &mut self,
        connection: &SimulatedConnection,
        files: impl Iterator<Item = BlobRef>,
    ) -> Result<usize, SimulationError> {
        let mut fetched = 0;
        for file in files {
            if !self.blobs.contains(&file.digest) {
                connection.blob(file.digest, file.size).await?;
                self.blobs.insert(file.digest);
                fetched += 1;
            }
        }
        Ok(fetched)
    }

    /// From now on it reports that it changes its host.
    pub fn begin_changes(&mut self, at: Timestamp) {
        let Some(document) = &self.document else { return };
        let view = self.outbox.view().while_changing(document.modules.iter(), at);
        self.outbox.show(view, self.generation());
    }

    /// From now on it reports that its host is what the assignment says.
    pub fn finish_changes(&mut self, at: Timestamp) {
        let generation = self.generation();
        let Some(document) = &self.document else { return };
        let what = AgentEventKind::Applied { generation, changed: 1 };
        self.outbox.push(at, what, &format!("applied generation {generation}, 1 items changed"));
        let failures = ApplyFailures { generation, ..ApplyFailures::default() };
        let look = LookResult { document, generation, drift: Vec::new(), failures, at };
        let view = self.outbox.view().after_look(look);
        self.outbox.show(view, generation);
        self.outbox.request_complete();
    }

    /// Sends one report, if the server does not know everything. Returns whether there was one.
    pub async fn report(
        &mut self,
        connection: &SimulatedConnection,
        at: Timestamp,
    ) -> Result<bool, SimulationError> {
        let facts = || HostFacts {
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            hostname: Some(self.hostname.clone()),
            os: Some("simulated".to_owned()),
            ..HostFacts::default()
        };
        let Some(report) = self.outbox.prepare(ReportOccasion::Change, facts) else { return Ok(false) };
        let receipt = connection.report(report).await?;
        self.outbox.acknowledge(&receipt, at);
        Ok(true)
    }
}
