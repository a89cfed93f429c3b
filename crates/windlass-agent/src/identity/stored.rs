//! The identity on the disk: one file, so that key, certificate and trust always belong together.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::ClientConfig;
use windlass_api::agent::{AgentIdentity, AssignmentResponse, IssuedCertificate, SecretText, TrustBundle};
use windlass_core::host::{BlobDigest, NodeDocument};
use windlass_core::target_assignment::{AgentPosition, AssignmentRefusal, TargetAssignment};

use super::signatures::AssignmentKeys;
use crate::connection::{ClientCertificate, KeyError, TrustedServer, client_config};
use crate::error::AgentError;
use crate::state::{StateFiles, Stored};

/// The file in the state directory.
pub(crate) const IDENTITY: &str = "identity.json";

/// Who the agent is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredIdentity {
    /// The origin of the server.
    pub(crate) server: String,
    /// Who the agent is.
    pub(crate) identity: AgentIdentity,
    /// The certificate chain as PEM.
    pub(crate) certificate: String,
    /// The private key as PEM.
    pub(crate) key: SecretText,
    /// What the agent trusts.
    pub(crate) trust: TrustBundle,
}

impl StoredIdentity {
    /// The settings of a connection of this agent to the servers that it trusts.
    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>, KeyError> {
        let trusted = TrustedServer::Authorities(self.trust.authorities.clone());
        let certificate = ClientCertificate { chain: &self.certificate, key: &self.key };
        client_config(trusted, Some(certificate))
    }

    /// The same agent with a new key and certificate.
    pub(crate) fn renewed(
        &self,
        key: SecretText,
        certificate: IssuedCertificate,
        trust: TrustBundle,
    ) -> StoredIdentity {
        let (server, identity) = (self.server.clone(), self.identity.clone());
        StoredIdentity { server, identity, certificate: certificate.pem, key, trust }
    }

    /// Who the agent is for an assignment, with what it accepted last.
    fn position(&self, accepted: Option<(u64, BlobDigest)>) -> AgentPosition {
        AgentPosition {
            account: self.identity.account_id.to_string(),
            target: self.identity.target.clone(),
            enrolment: self.identity.enrolment,
            accepted,
        }
    }

    /// The assignment of a response and its document, if this agent may apply them. A refusal comes with the generation that
    /// was offered, if it is known.
    pub(crate) fn open_assignment(
        &self,
        response: &AssignmentResponse,
        accepted: Option<(u64, BlobDigest)>,
    ) -> Result<(TargetAssignment, NodeDocument), (AssignmentRefusal, Option<u64>)> {
        let keys = AssignmentKeys::of(&self.trust);
        let assignment = response.assignment.open(&self.position(accepted), &keys).map_err(|refusal| {
            let offered = match &refusal {
                AssignmentRefusal::OlderGeneration { offered, .. } => Some(*offered),
                AssignmentRefusal::OtherDocument { generation } => Some(*generation),
                _ => None,
            };
            (refusal, offered)
        })?;
        let document = assignment
            .open_document(response.document.as_bytes())
            .map_err(|refusal| (refusal, Some(assignment.generation)))?;
        Ok((assignment, document))
    }
}

/// Reads the identity. The version before of a damaged file is an identity too: its certificate is older, and can be renewed.
pub(crate) fn read(files: &StateFiles) -> Result<StoredIdentity, AgentError> {
    match files.read(IDENTITY)? {
        Stored::Newest(identity) | Stored::VersionBefore(identity) => Ok(identity),
        Stored::Nothing => Err(AgentError::NotEnrolled),
        Stored::Damaged(problem) => Err(AgentError::IdentityDamaged { problem }),
    }
}
