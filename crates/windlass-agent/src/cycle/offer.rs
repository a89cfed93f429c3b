//! What the server offers, and whether the agent takes it.

use windlass_api::agent::AssignmentResponse;
use windlass_core::host::{BlobDigest, NodeDocument};
use windlass_core::target_assignment::TargetAssignment;

use super::compose::{ComposeProblem, WantedBlob, compose, missing_blobs};
use super::engine::{Engine, HeldCertainty};

/// An assignment that the agent may apply, once every blob of it is there.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) generation: u64,
    digest: BlobDigest,
    document: NodeDocument,
}

/// What the agent says to an assignment.
#[derive(Debug)]
pub(crate) enum Offer {
    /// It is new.
    New(Box<Candidate>),
    /// The agent has it already.
    Known,
    /// The agent refused it, and says so in its next report.
    Refused,
}

impl Engine {
    /// Verifies an assignment. `announced` is the generation that the server named on the stream.
    pub(crate) fn offer(&mut self, response: &AssignmentResponse, announced: u64) -> Offer {
        match self.identity.open_assignment(response, self.held.accepted) {
            Ok((assignment, _)) if assignment.generation <= self.held.accepted_generation() => {
                self.note_announced(assignment.generation);
                Offer::Known
            }
            Ok((assignment, document)) => {
                let TargetAssignment { generation, document: digest, .. } = assignment;
                Offer::New(Box::new(Candidate { generation, digest, document }))
            }
            Err((refusal, offered)) => {
                self.refuse(refusal.slug(), offered.unwrap_or(announced), &refusal.to_string());
                Offer::Refused
            }
        }
    }

    /// The blobs that an assignment needs and the cache lacks; first packages, then the files that they name.
    pub(crate) fn missing_of(&mut self, candidate: &Candidate) -> Option<Vec<WantedBlob>> {
        match missing_blobs(&self.cache, &candidate.document) {
            Ok(missing) => Some(missing),
            Err(problem) => {
                self.cannot_use(candidate, &problem);
                None
            }
        }
    }

    /// Accepts an assignment whose blobs are all there. From here on the node shall be what it says.
    pub(crate) fn accept(&mut self, candidate: &Candidate) -> bool {
        let state = match compose(&self.cache, &candidate.document) {
            Ok(state) => state,
            Err(problem) => {
                self.cannot_use(candidate, &problem);
                return false;
            }
        };
        let before = self.held.clone();
        self.held.accept(candidate.generation, candidate.digest, candidate.document.clone());
        if let Err(error) = self.save_held() {
            self.held = before;
            self.trouble(&error.with_cause());
            return false;
        }
        tracing::info!(generation = candidate.generation, "accepted an assignment");
        self.state = Some(state.into());
        self.failures = Default::default();
        self.certainty = HeldCertainty::Certain;
        self.forget_refusal();
        true
    }

    fn cannot_use(&mut self, candidate: &Candidate, problem: &ComposeProblem) {
        match problem {
            ComposeProblem::State(_) => self.trouble(&problem.to_string()),
            ComposeProblem::BadPackage(..) => {
                self.refuse("malformed_package", candidate.generation, &problem.to_string());
            }
            ComposeProblem::Host(_) | ComposeProblem::Missing(_) => {
                self.refuse("not_composable", candidate.generation, &problem.to_string());
            }
        }
    }
}
