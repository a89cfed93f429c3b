//! Remote → mirror: the tip of one branch, or another revision, and how it moved.
//!
//! The first fetch takes the tip alone. Later ones stop after the list of references if the tip is the one that is
//! held, and otherwise take what lies between. How the tip moved is told from the commit that the caller last made use
//! of, not from the one that was fetched last: whoever dies between fetching and using it must be told the same again.
//! That commit is looked for among the ancestors of the new one. A rewrite can make a server send much more than a
//! fast-forward; if it is more than the limits allow, the tip alone is taken and the move is called a rewrite, because
//! the old commit was not found in the new one's history.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use gix::protocol::transport::client::blocking_io::Transport;
use gix::remote::fetch::{Shallow, Tags};
use gix::remote::{Direction, ref_map};
pub use windlass_core::run::Movement;

use super::commit_id::CommitId;
use super::connect::TransportLine;
use super::error::{FetchError, RemoteProblem, classify_gix_error, classify_io_error, error_chain};
use super::fetch_options::FetchOptions;
use super::limits::{FetchGuard, run_with_watchdog};
use super::mirror::{HeldTip, Mirror, TIP};
use super::progress::ObjectCount;
use super::revision::Revision;
use crate::remote::HostKeys;

/// How far back a mirror that was damaged or lost looks for the commit that was last made use of.
const RECENT_DEPTH: NonZeroU32 = NonZeroU32::new(50).expect("not zero");
/// gix wants an address for its messages; it never connects to it, because it is handed an open line.
const PLACEHOLDER: &str = "https://remote.invalid/";

/// A fetch that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchResult {
    /// The branch's tip, or where else the revision leads.
    pub commit: CommitId,
    /// How it moved since [`FetchOptions::since`].
    pub movement: Movement,
    /// Host keys that were learned because none was pinned. The caller keeps them.
    pub new_host_keys: Option<HostKeys>,
    /// How many bytes the remote sent.
    pub received_bytes: u64,
}

/// How much history to ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FetchDepth {
    /// The tip alone.
    Tip,
    /// The tip and some commits before it.
    Recent,
    /// All that is new since what is held.
    SinceHeld,
}

impl FetchDepth {
    fn shallow(self) -> Shallow {
        match self {
            FetchDepth::Tip => Shallow::DepthAtRemote(NonZeroU32::MIN),
            FetchDepth::Recent => Shallow::DepthAtRemote(RECENT_DEPTH),
            FetchDepth::SinceHeld => Shallow::NoChange,
        }
    }
}

/// What a conversation brought.
struct ReceivedPack {
    tip: gix::ObjectId,
    learned: Option<HostKeys>,
    bytes: u64,
}

impl Mirror {
    /// Brings a revision into the mirror, as its tip. A fetch that fails leaves the tip that was held. One fetch at a time.
    ///
    /// The limits hold for each conversation; a rewrite that is too large, or a damaged mirror, makes a second one.
    pub fn fetch(&self, options: &FetchOptions<'_>) -> Result<FetchResult, FetchError> {
        self.fetch_since(self.held(), options)
            .map_err(|problem| FetchError { remote: options.url.to_string(), problem })
    }

    fn fetch_since(
        &self,
        held: Option<HeldTip>,
        options: &FetchOptions<'_>,
    ) -> Result<FetchResult, RemoteProblem> {
        self.remove_leftovers()
            .map_err(|error| classify_io_error("clearing away an earlier fetch", &error))?;
        let origin = format!("{}\n{}\n", options.url, options.revision);
        let received = match held {
            None => self.receive_anew(options)?,
            Some(held) => match self.prune(held, options)? {
                None => self.receive_anew(options)?,
                Some(held) if held.origin == origin => self.receive_since(&held, options)?,
                Some(held) => self.receive(FetchDepth::Tip, held.commit.object(), options)?,
            },
        };
        // Also after a mirror was made anew, which has forgotten it.
        self.write_origin(&origin).map_err(|error| classify_io_error("writing to the mirror", &error))?;
        Ok(FetchResult {
            commit: CommitId::of(&received.tip),
            movement: self.movement(options, received.tip)?,
            new_host_keys: received.learned,
            received_bytes: received.bytes,
        })
    }

    /// Fetches into a mirror that holds nothing of use.
    fn receive_anew(&self, options: &FetchOptions<'_>) -> Result<ReceivedPack, RemoteProblem> {
        if self.open().is_err() || self.has_tip() {
            self.recreate().map_err(|error| RemoteProblem::Local { reason: error_chain(&error) })?;
        }
        let reach = if options.since.is_some() { FetchDepth::Recent } else { FetchDepth::Tip };
        match self.receive(reach, None, options) {
            Err(RemoteProblem::TooLarge { .. }) if reach != FetchDepth::Tip => {
                self.receive(FetchDepth::Tip, None, options)
            }
            other => other,
        }
    }

    /// Fetches what is new since what is held.
    fn receive_since(
        &self,
        held: &HeldTip,
        options: &FetchOptions<'_>,
    ) -> Result<ReceivedPack, RemoteProblem> {
        let old = held.commit.object();
        match self.receive(FetchDepth::SinceHeld, old, options) {
            Err(RemoteProblem::TooLarge { .. }) => self.receive(FetchDepth::Tip, old, options),
            // A server that answers nonsense does so again; a mirror that is damaged inside is healed by this.
            Err(RemoteProblem::Protocol { .. }) if self.is_damaged() => {
                self.recreate().map_err(|error| RemoteProblem::Local { reason: error_chain(&error) })?;
                self.receive(FetchDepth::Recent, None, options)
            }
            other => other,
        }
    }

    fn movement(&self, options: &FetchOptions<'_>, tip: gix::ObjectId) -> Result<Movement, RemoteProblem> {
        let Some(since) = options.since else { return Ok(Movement::First) };
        let old = since.object();
        if old == Some(tip) {
            return Ok(Movement::Unchanged);
        }
        let local = |error: String| RemoteProblem::Local { reason: error };
        let repository = self.open().map_err(|error| local(error.to_string()))?;
        let ancestors = repository.rev_walk([tip]).all().map_err(|error| local(error.to_string()))?;
        // History is as long as whoever pushes wants it to be.
        let ends = Instant::now() + options.limits.time;
        for ancestor in ancestors {
            if Instant::now() >= ends {
                return Err(RemoteProblem::Timeout { after: options.limits.time });
            }
            if options.interrupt.load(Ordering::SeqCst) {
                return Err(RemoteProblem::Interrupted);
            }
            if Some(ancestor.map_err(|error| local(error.to_string()))?.id) == old {
                return Ok(Movement::FastForward);
            }
        }
        Ok(Movement::Rewritten)
    }

    /// One conversation with the remote. Stops after the list of references if the tip is `known`.
    fn receive(
        &self,
        reach: FetchDepth,
        known: Option<gix::ObjectId>,
        options: &FetchOptions<'_>,
    ) -> Result<ReceivedPack, RemoteProblem> {
        let bounds = FetchGuard::start(options.limits);
        run_with_watchdog(&bounds, options.interrupt, || {
            if let Some(problem) = bounds.stop_reason() {
                return Err(problem);
            }
            let (line, transport) = TransportLine::open(options, &bounds).map_err(|problem| {
                let problem = bounds.stop_reason().unwrap_or(problem);
                problem.no_bytes_received(options.url.host(), bounds.received())
            })?;
            let learned = line.new_host_keys().cloned();
            match self.negotiate(transport, reach, known, options.revision, &bounds) {
                Ok(Some(tip)) => {
                    line.close();
                    Ok(ReceivedPack { tip, learned, bytes: bounds.received() })
                }
                Ok(None) => {
                    line.close();
                    Err(RemoteProblem::BranchMissing { branch: options.revision.to_string() })
                }
                Err(error) => {
                    let why = bounds.stop_reason().or_else(|| line.explain(options.url, &bounds));
                    let problem = why.unwrap_or_else(|| classify_gix_error(&error));
                    let problem = problem.no_bytes_received(options.url.host(), bounds.received());
                    Err(classify_answer(problem, options.revision))
                }
            }
        })
    }

    /// The tip after it was received, or nothing if there is no such branch.
    fn negotiate(
        &self,
        transport: Box<dyn Transport>,
        reach: FetchDepth,
        known: Option<gix::ObjectId>,
        revision: &Revision,
        bounds: &Arc<FetchGuard>,
    ) -> gix::Result<Option<gix::ObjectId>> {
        let repository = self.open().map_err(|error| gix::Error::from_error(error))?;
        let spec = format!("+{}:{TIP}", revision.source());
        let remote = repository
            .remote_at_without_url_rewrite(PLACEHOLDER)?
            .with_refspecs([spec.as_str()], Direction::Fetch)?
            .with_fetch_tags(Tags::None);
        let connection = remote
            .to_connection_with_transport(transport)
            .with_credentials(|_| Ok(None))
            .with_transport_options(Box::new(()));
        let prepared = connection.prepare_fetch(ObjectCount::new(bounds), ref_map::Options::default())?;
        let offered = prepared.ref_map().mappings.iter().find_map(|mapping| mapping.remote.as_id());
        let Some(offered) = offered.map(ToOwned::to_owned) else { return Ok(None) };
        if known != Some(offered) {
            bounds.expect_pack();
            prepared.with_shallow(reach.shallow()).receive(ObjectCount::new(bounds), bounds.stop_flag())?;
        }
        Ok(Some(offered))
    }
}

/// What an answer means that makes no sense: servers say in many words that they do not send a commit.
fn classify_answer(problem: RemoteProblem, revision: &Revision) -> RemoteProblem {
    match (problem, revision) {
        (RemoteProblem::Protocol { reason }, Revision::Commit(id)) if reason.contains("not our ref") => {
            RemoteProblem::CommitMissing { commit: id.to_string() }
        }
        (problem, _) => problem,
    }
}
