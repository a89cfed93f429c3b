//! Fetches the tip of a branch, or another revision, into a mirror and reports how the tip moved.
//!
//! The first fetch takes only the tip. Later fetches stop after the list of references if the tip is unchanged, and
//! otherwise take the commits in between. Movement is reported relative to the commit that the caller last synced and
//! not to the last one fetched: a server that crashed between fetching and using a commit gets the same answer again.
//! That commit is searched among the ancestors of the new tip. After a history rewrite a server may send much more than
//! after a fast-forward; if that exceeds the limits, only the tip is fetched and the movement is reported as a rewrite,
//! because the old commit is not in the new history.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use gix::protocol::transport::client::blocking_io::Transport;
use gix::remote::fetch::{Shallow, Tags};
use gix::remote::{Direction, ref_map};
pub use windlass_core::run::Movement;

use super::commit_id::CommitId;
use super::connect::OpenTransport;
use super::error::{FetchError, RemoteProblem, classify_gix_error, classify_io_error, error_chain};
use super::fetch_options::FetchOptions;
use super::limits::{FetchGuard, run_with_watchdog};
use super::mirror::{HeldTip, Mirror, TIP_REFERENCE};
use super::progress::ObjectCount;
use super::revision::Revision;
use crate::remote::HostKeys;

/// How many commits are fetched to find the last synced commit after a mirror was damaged or lost.
const RECENT_DEPTH: NonZeroU32 = NonZeroU32::new(50).expect("not zero");
/// gix needs a URL for its messages. It never connects to it, because it gets an open transport.
const PLACEHOLDER: &str = "https://remote.invalid/";

/// The result of a successful fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchResult {
    /// The commit that the branch or revision points to.
    pub commit: CommitId,
    /// How it moved since [`FetchOptions::since`].
    pub movement: Movement,
    /// Host keys that were learned because none was pinned. The caller stores them.
    pub new_host_keys: Option<HostKeys>,
    /// The number of bytes that the remote sent.
    pub received_bytes: u64,
}

/// How much history to ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FetchDepth {
    /// Only the tip.
    Tip,
    /// The tip and some commits before it.
    Recent,
    /// Everything since the tip that the mirror has.
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

/// The result of one connection.
struct ReceivedPack {
    tip: gix::ObjectId,
    new_host_keys: Option<HostKeys>,
    bytes: u64,
}

impl Mirror {
    /// Fetches a revision into the mirror as its tip. If the fetch fails, the mirror keeps its tip. Only one fetch may
    /// run at a time.
    ///
    /// The limits apply to each connection; a rewrite that is too large, or a damaged mirror, causes a second one.
    pub fn fetch(&self, options: &FetchOptions<'_>) -> Result<FetchResult, FetchError> {
        self.fetch_since(self.held_tip(), options)
            .map_err(|problem| FetchError { remote: options.url.to_string(), problem })
    }

    fn fetch_since(
        &self,
        held_tip: Option<HeldTip>,
        options: &FetchOptions<'_>,
    ) -> Result<FetchResult, RemoteProblem> {
        self.remove_leftovers()
            .map_err(|error| classify_io_error("clearing away an earlier fetch", &error))?;
        let origin = format!("{}\n{}\n", options.url, options.revision);
        let received = match held_tip {
            None => self.receive_into_empty(options)?,
            Some(held_tip) => match self.prune(held_tip, options)? {
                None => self.receive_into_empty(options)?,
                Some(held_tip) if held_tip.origin == origin => self.receive_since(&held_tip, options)?,
                Some(held_tip) => self.receive(FetchDepth::Tip, held_tip.commit.object(), options)?,
            },
        };
        // Also after the mirror was created again without the file.
        self.write_origin(&origin).map_err(|error| classify_io_error("writing to the mirror", &error))?;
        Ok(FetchResult {
            commit: CommitId::of(&received.tip),
            movement: self.movement(options, received.tip)?,
            new_host_keys: received.new_host_keys,
            received_bytes: received.bytes,
        })
    }

    /// Fetches into a mirror that has nothing usable.
    fn receive_into_empty(&self, options: &FetchOptions<'_>) -> Result<ReceivedPack, RemoteProblem> {
        if self.open().is_err() || self.has_tip() {
            self.recreate().map_err(|error| RemoteProblem::Local { reason: error_chain(&error) })?;
        }
        let depth = if options.since.is_some() { FetchDepth::Recent } else { FetchDepth::Tip };
        match self.receive(depth, None, options) {
            Err(RemoteProblem::TooLarge { .. }) if depth != FetchDepth::Tip => {
                self.receive(FetchDepth::Tip, None, options)
            }
            other => other,
        }
    }

    /// Fetches the commits since the tip that the mirror has.
    fn receive_since(
        &self,
        held_tip: &HeldTip,
        options: &FetchOptions<'_>,
    ) -> Result<ReceivedPack, RemoteProblem> {
        let old = held_tip.commit.object();
        match self.receive(FetchDepth::SinceHeld, old, options) {
            Err(RemoteProblem::TooLarge { .. }) => self.receive(FetchDepth::Tip, old, options),
            // A faulty server fails again in the same way; if the mirror is damaged instead, a fresh fetch repairs it.
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
        // Whoever pushes decides the length of the history, so the search has a time limit.
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

    /// Opens one connection to the remote. Stops after the list of references if the tip is `known`.
    fn receive(
        &self,
        depth: FetchDepth,
        known: Option<gix::ObjectId>,
        options: &FetchOptions<'_>,
    ) -> Result<ReceivedPack, RemoteProblem> {
        let fetch_guard = FetchGuard::start(options.limits);
        run_with_watchdog(&fetch_guard, options.interrupt, || {
            if let Some(problem) = fetch_guard.stop_reason() {
                return Err(problem);
            }
            let (line, transport) = OpenTransport::open(options, &fetch_guard).map_err(|problem| {
                let problem = fetch_guard.stop_reason().unwrap_or(problem);
                problem.no_bytes_received(options.url.host(), fetch_guard.received())
            })?;
            let new_host_keys = line.new_host_keys().cloned();
            match self.negotiate(transport, depth, known, options.revision, &fetch_guard) {
                Ok(Some(tip)) => {
                    line.close();
                    Ok(ReceivedPack { tip, new_host_keys, bytes: fetch_guard.received() })
                }
                Ok(None) => {
                    line.close();
                    Err(RemoteProblem::BranchMissing { branch: options.revision.to_string() })
                }
                Err(error) => {
                    let why = fetch_guard.stop_reason().or_else(|| line.explain(options.url, &fetch_guard));
                    let problem = why.unwrap_or_else(|| classify_gix_error(&error));
                    let problem = problem.no_bytes_received(options.url.host(), fetch_guard.received());
                    Err(classify_answer(problem, options.revision))
                }
            }
        })
    }

    /// The tip after the transfer; `None` if the branch does not exist.
    fn negotiate(
        &self,
        transport: Box<dyn Transport>,
        depth: FetchDepth,
        known: Option<gix::ObjectId>,
        revision: &Revision,
        fetch_guard: &Arc<FetchGuard>,
    ) -> gix::Result<Option<gix::ObjectId>> {
        let repository = self.open().map_err(|error| gix::Error::from_error(error))?;
        let spec = format!("+{}:{TIP_REFERENCE}", revision.source());
        let remote = repository
            .remote_at_without_url_rewrite(PLACEHOLDER)?
            .with_refspecs([spec.as_str()], Direction::Fetch)?
            .with_fetch_tags(Tags::None);
        let connection = remote
            .to_connection_with_transport(transport)
            .with_credentials(|_| Ok(None))
            .with_transport_options(Box::new(()));
        let prepared =
            connection.prepare_fetch(ObjectCount::new(fetch_guard), ref_map::Options::default())?;
        let offered = prepared.ref_map().mappings.iter().find_map(|mapping| mapping.remote.as_id());
        let Some(offered) = offered.map(ToOwned::to_owned) else { return Ok(None) };
        if known != Some(offered) {
            fetch_guard.expect_pack();
            prepared
                .with_shallow(depth.shallow())
                .receive(ObjectCount::new(fetch_guard), fetch_guard.stop_flag())?;
        }
        Ok(Some(offered))
    }
}

/// Recognises an invalid response that means "commit not available": servers report it in different ways.
fn classify_answer(problem: RemoteProblem, revision: &Revision) -> RemoteProblem {
    match (problem, revision) {
        (RemoteProblem::Protocol { reason }, Revision::Commit(id)) if reason.contains("not our ref") => {
            RemoteProblem::CommitMissing { commit: id.to_string() }
        }
        (problem, _) => problem,
    }
}
