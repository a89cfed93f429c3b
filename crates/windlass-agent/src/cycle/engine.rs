//! The engine: everything that the agent does on its host, one step after the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_api::agent::{AgentEventKind, IssuedCertificate, SecretText, TrustBundle};
use windlass_core::host::HostState;
use windlass_core::time::Timestamp;

use super::compose::{ComposeProblem, WantedBlob, compose};
use super::held::{ASSIGNMENT, Held, LastGood};
use crate::cache::{BlobCache, PartialBlob};
use crate::confirm::OwnPaths;
use crate::error::AgentError;
use crate::identity::{IDENTITY, StoredIdentity, read_identity};
use crate::options::AgentTarget;
use crate::report::{ApplyFailures, Outbox};
use crate::state::{AgentLock, StateError, StateFiles, Stored};
use crate::surroundings::Surroundings;
use crate::target::host::{HostError, HostTarget, MachineServices};

/// The file in the state directory.
pub(crate) const OUTBOX: &str = "outbox.json";
/// What the host target keeps.
const HOST: &str = "host";
/// The cache.
const BLOBS: &str = "blobs";

/// How long a trouble that goes on is not reported again.
const TROUBLE_AGAIN: Duration = Duration::from_secs(3600);
/// The most troubles that are reported in that time.
const MAX_TROUBLES: usize = 32;

/// Where the engine works.
#[derive(Clone, Debug)]
pub(crate) struct EngineOptions {
    pub(crate) state_dir: PathBuf,
    pub(crate) target: AgentTarget,
    /// How many bytes of unused blobs stay.
    pub(crate) cache_bytes: u64,
    /// The agent's own binary, as the host names it.
    pub(crate) executable: Option<PathBuf>,
}

/// Whether what the agent holds is the newest that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldCertainty {
    Certain,
    /// The newest state file was lost. Until the server says that this is the right generation, the agent looks and changes
    /// nothing: what it takes for drift may be a newer assignment.
    Uncertain,
}

/// Everything that the agent does on its host.
pub(crate) struct Engine {
    pub(super) options: EngineOptions,
    pub(super) files: StateFiles,
    pub(super) cache: BlobCache,
    pub(super) identity: StoredIdentity,
    pub(super) held: Held,
    pub(super) outbox: Outbox,
    /// What could not be applied at the last attempt.
    pub(super) failures: ApplyFailures,
    /// What could not be corrected at the last look, by module.
    pub(super) correction_failures: BTreeMap<String, String>,
    /// The newest assignment that was refused: its generation and why.
    pub(super) refused: Option<(u64, String)>,
    pub(super) certainty: HeldCertainty,
    /// Blobs of the current document that are missing or damaged.
    pub(super) missing: Vec<WantedBlob>,
    /// The current state, once it is composed.
    pub(super) state: Option<Arc<HostState>>,
    last_refusal: Option<(String, u64)>,
    /// What runs the services of the machine, for as long as the agent runs; none in a tree.
    services: Option<MachineServices>,
    /// When each trouble was reported last.
    troubles: BTreeMap<String, Timestamp>,
    surroundings: Surroundings,
    _lock: AgentLock,
}

impl Engine {
    /// Opens the state directory of an enrolled agent.
    pub(crate) fn open(options: EngineOptions, surroundings: Surroundings) -> Result<Engine, AgentError> {
        let files = StateFiles::open(&options.state_dir, surroundings.disk.clone())?;
        let lock = AgentLock::take(&options.state_dir)?;
        let identity = read_identity(&files)?;
        let cache = BlobCache::open(&files.path(BLOBS), options.cache_bytes, surroundings.disk.clone())?;
        let now = (surroundings.clock)();
        let mut troubles = Vec::new();
        let services = match &options.target {
            AgentTarget::Machine(kind) => MachineServices::open(*kind, &files.path(HOST))
                .map_err(|error| troubles.push(error.to_string()))
                .ok(),
            AgentTarget::Tree(_) => None,
        };
        let (held, certainty) = read_held(&files, &identity, &mut troubles)?;
        let outbox = read_outbox(&files, &identity, now, &mut troubles)?;
        let mut engine = Engine {
            options,
            files,
            cache,
            identity,
            held,
            outbox,
            failures: ApplyFailures::default(),
            correction_failures: BTreeMap::new(),
            refused: None,
            certainty,
            missing: Vec::new(),
            state: None,
            last_refusal: None,
            services,
            troubles: BTreeMap::new(),
            surroundings,
            _lock: lock,
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        engine.outbox.push(now, AgentEventKind::Started { version }, "the agent started");
        for trouble in troubles {
            engine.trouble(&trouble);
        }
        engine.count_start();
        Ok(engine)
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.surroundings.clock)()
    }

    pub(super) fn reached(&self, step: &str) {
        self.surroundings.disk.reached(step);
    }

    pub(crate) fn identity(&self) -> &StoredIdentity {
        &self.identity
    }

    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Stores a renewed identity. Until it is on the disk, the old one stays.
    pub(crate) fn renew(
        &mut self,
        key: SecretText,
        certificate: IssuedCertificate,
        trust: TrustBundle,
    ) -> Result<StoredIdentity, StateError> {
        let identity = self.identity.renewed(key, certificate, trust);
        self.files.write(IDENTITY, &identity)?;
        self.identity = identity.clone();
        Ok(identity)
    }

    /// The newest generation that the agent accepted or refused.
    pub(crate) fn considered_generation(&self) -> u64 {
        let refused = self.refused.as_ref().map_or(0, |(generation, _)| *generation);
        self.held.accepted_generation().max(refused)
    }

    /// The server named its generation. If it is not higher than what the agent holds, that is up to date.
    pub(crate) fn note_announced(&mut self, generation: u64) {
        if generation <= self.held.accepted_generation() {
            self.certainty = HeldCertainty::Certain;
        }
    }

    /// The download of a blob.
    pub(crate) fn download(&self, blob: WantedBlob) -> PartialBlob {
        self.cache.partial(blob.digest, blob.limit)
    }

    /// Blobs of the current document that turned out to be missing or damaged since the last call.
    pub(crate) fn take_missing(&mut self) -> Vec<WantedBlob> {
        std::mem::take(&mut self.missing)
    }

    /// The root of the host.
    pub(crate) fn root(&self) -> &Path {
        match &self.options.target {
            AgentTarget::Machine(_) => Path::new("/"),
            AgentTarget::Tree(root) => root,
        }
    }

    /// Where the agent's own binary is on this disk.
    pub(crate) fn executable_on_disk(&self) -> Option<PathBuf> {
        let executable = self.options.executable.as_deref()?;
        Some(self.root().join(executable.strip_prefix("/").unwrap_or(executable)))
    }

    pub(crate) fn files(&self) -> &StateFiles {
        &self.files
    }

    /// The host.
    pub(super) fn host(&self) -> Result<HostTarget<'_>, HostError> {
        let state_dir = self.files.path(HOST);
        match (&self.options.target, &self.services) {
            (AgentTarget::Machine(_), Some(services)) => {
                HostTarget::machine(&state_dir, &self.cache, services.clone())
            }
            (AgentTarget::Machine(kind), None) => {
                HostTarget::machine(&state_dir, &self.cache, MachineServices::open(*kind, &state_dir)?)
            }
            (AgentTarget::Tree(root), _) => HostTarget::tree_with_steps(
                root,
                &state_dir,
                &self.cache,
                self.surroundings.disk.steps.clone(),
            ),
        }
    }

    pub(super) fn own_paths(&self) -> OwnPaths {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        OwnPaths {
            state_dir: text(&self.options.state_dir),
            executable: self.options.executable.as_deref().and_then(text),
        }
    }

    /// The state of the current document, from memory or from the cache.
    pub(super) fn composed(&mut self) -> Result<Option<Arc<HostState>>, ComposeProblem> {
        let Some(current) = &self.held.current else { return Ok(None) };
        if self.state.is_none() {
            self.state = Some(Arc::new(compose(&self.cache, &current.document)?));
        }
        Ok(self.state.clone())
    }

    /// The state of the current document, if it can be composed.
    pub(crate) fn state(&mut self) -> Option<Arc<HostState>> {
        self.composed().ok().flatten()
    }

    pub(super) fn save_held(&mut self) -> Result<(), StateError> {
        self.files.write(ASSIGNMENT, &self.held)
    }

    /// Saves the outbox. If that fails, it is saved with the next change.
    pub(super) fn save_outbox(&mut self) -> Result<(), StateError> {
        self.files.write(OUTBOX, &self.outbox)
    }

    /// Saves the outbox, or notes why that failed.
    pub(super) fn try_save_outbox(&mut self) {
        if let Err(error) = self.save_outbox() {
            self.trouble(&error.with_cause());
        }
    }

    /// Notes that the agent cannot work as it should: the same trouble once an hour.
    pub(super) fn trouble(&mut self, problem: &str) {
        let now = self.now();
        self.troubles.retain(|_, at| now.elapsed_since(*at).max(at.elapsed_since(now)) < TROUBLE_AGAIN);
        if self.troubles.len() < MAX_TROUBLES && !self.troubles.contains_key(problem) {
            tracing::error!(problem, "the agent cannot work as it should");
            self.troubles.insert(problem.to_owned(), now);
            self.outbox.push(now, AgentEventKind::Trouble, problem);
        }
    }

    /// Notes a problem that was found outside of the engine.
    pub(crate) fn note_trouble(&mut self, problem: &str) {
        self.trouble(problem);
        self.try_save_outbox();
    }

    /// Notes that the agent refused something: once for each reason and generation.
    pub(crate) fn refuse(&mut self, reason: &str, generation: u64, message: &str) {
        let refusal = (reason.to_owned(), generation);
        if self.last_refusal.as_ref() == Some(&refusal) {
            return;
        }
        tracing::error!(reason, generation, message, "refused");
        self.last_refusal = Some(refusal);
        let now = self.now();
        let what = AgentEventKind::Refused { reason: reason.to_owned(), generation: Some(generation) };
        self.outbox.push(now, what, message);
        if generation > self.held.accepted_generation() {
            self.refused = Some((generation, format!("refused: {message}")));
            let view = self.outbox.view().with_failure(generation, &format!("refused: {message}"), now);
            self.outbox.show(view, self.held.accepted_generation());
        }
        self.try_save_outbox();
    }

    pub(super) fn forget_refusal(&mut self) {
        self.last_refusal = None;
        self.refused = None;
    }
}

/// Reads what the agent holds. A damaged file never counts as an empty assignment: the agent then waits for its server.
fn read_held(
    files: &StateFiles,
    identity: &StoredIdentity,
    troubles: &mut Vec<String>,
) -> Result<(Held, HeldCertainty), StateError> {
    let agent = &identity.identity.agent_id;
    let nothing = |last_good| Held::nothing(agent.clone(), last_good);
    let (held, certainty) = match files.read::<Held>(ASSIGNMENT)? {
        Stored::Nothing => (nothing(LastGood::Nothing), HeldCertainty::Certain),
        Stored::Newest(held) => (held, HeldCertainty::Certain),
        Stored::VersionBefore(mut held) => {
            troubles.push(format!(
                "{ASSIGNMENT} is damaged; the agent uses the version before, and changes nothing until its server confirms it"
            ));
            // The lost version may have had the confirmation.
            held.unconfirmed = None;
            (held, HeldCertainty::Uncertain)
        }
        Stored::Damaged(problem) => {
            troubles.push(format!("{problem}; the agent waits for its server to assign a state"));
            (nothing(LastGood::Lost), HeldCertainty::Uncertain)
        }
    };
    // What another enrolment left is not gone back to either: it belonged to another node.
    Ok(match held.agent == *agent {
        true => (held, certainty),
        false => (nothing(LastGood::Lost), HeldCertainty::Certain),
    })
}

fn read_outbox(
    files: &StateFiles,
    identity: &StoredIdentity,
    now: Timestamp,
    troubles: &mut Vec<String>,
) -> Result<Outbox, StateError> {
    let agent = &identity.identity.agent_id;
    let outbox = match files.read::<Outbox>(OUTBOX)? {
        Stored::Nothing => Outbox::new(agent.clone(), now),
        Stored::Newest(outbox) => outbox.resumed(),
        Stored::VersionBefore(outbox) => {
            troubles.push(format!("{OUTBOX} is damaged; some events may be lost"));
            outbox.resumed_after_loss()
        }
        Stored::Damaged(problem) => {
            troubles.push(format!("{problem}; what was to be reported is lost"));
            Outbox::new(agent.clone(), now)
        }
    };
    Ok(match outbox.agent() == agent {
        true => outbox,
        false => Outbox::new(agent.clone(), now),
    })
}
