//! Enrolment: from the key that an operator pasted to an identity on the disk.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_api::agent::{
    AgentIdentity, ENROLL, EnrollRequest, EnrollResponse, EnrolmentKey, JOIN_PENDING, SecretText,
};

use crate::connection::{Dial, RequestError, ServerAddress, TrustedServer, client_config, open};
use crate::error::AgentError;
use crate::identity::{IDENTITY, NewKey, StoredIdentity, parse_enrolment_key};
use crate::options::AgentOptions;
use crate::report::host_facts;
use crate::state::{AgentLock, StateFiles, Stored};
use crate::surroundings::Surroundings;

/// The largest response: certificates and keys.
const MAX_RESPONSE: usize = 256 * 1024;

/// How long the agent waits for a person to approve that the host joins: as long as a token is valid.
const APPROVED_WITHIN: Duration = Duration::from_secs(3600);
/// How long it waits between two questions, if the server does not say, and at least.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Whether a host may be enrolled that is enrolled already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enrolment {
    /// Only a host that is not.
    First,
    /// Again, with a new key. The host then waits for an assignment, and stays as it is until one comes.
    Again,
}

/// Enrols the host with the key that an operator pasted. Returns who the agent is from now on.
pub async fn enroll(
    options: &AgentOptions,
    key: &str,
    enrolment: Enrolment,
) -> Result<AgentIdentity, AgentError> {
    enroll_in(options, key, enrolment, &Surroundings::default()).await
}

pub(crate) async fn enroll_in(
    options: &AgentOptions,
    key: &str,
    enrolment: Enrolment,
    surroundings: &Surroundings,
) -> Result<AgentIdentity, AgentError> {
    let key = parse_enrolment_key(key)?;
    let files = StateFiles::open(&options.state_dir, surroundings.disk.clone())?;
    let _lock = AgentLock::take(&options.state_dir)?;
    if enrolment == Enrolment::First {
        match files.read::<StoredIdentity>(IDENTITY)? {
            Stored::Nothing => {}
            Stored::Newest(known) | Stored::VersionBefore(known) => {
                return Err(AgentError::AlreadyEnrolled { target: known.identity.target.to_string() });
            }
            Stored::Damaged(problem) => return Err(AgentError::IdentityDamaged { problem }),
        }
    }
    let new_key = NewKey::generate()?;
    let server = options.server.clone().unwrap_or_else(|| key.server.clone());
    let response = request_until_approved(&server, &key, &new_key, &surroundings.dial)
        .await
        .map_err(|source| AgentError::Server { server: server.clone(), source })?;
    let identity = stored(server, new_key.private, response)?;
    surroundings.disk.reached("before storing the identity");
    files.write(IDENTITY, &identity)?;
    Ok(identity.identity)
}

/// Asks until a person has approved that the host joins, if the token needs that.
async fn request_until_approved(
    server: &str,
    key: &EnrolmentKey,
    new_key: &NewKey,
    dial: &Dial,
) -> Result<EnrollResponse, RequestError> {
    let facts = host_facts(std::path::Path::new("/"));
    let body = enroll_request(key, new_key.request.clone(), facts.hostname);
    let began = Instant::now();
    loop {
        let error = match request(server, key, &body, dial).await {
            Err(error) if error.has_code(JOIN_PENDING) => error,
            result => return result,
        };
        let delay = match &error {
            RequestError::Refused { retry_after: Some(delay), .. } => (*delay).max(SHORTEST_WAIT),
            _ => DEFAULT_WAIT,
        };
        if began.elapsed() + delay > APPROVED_WITHIN {
            return Err(error);
        }
        let public_key = &new_key.fingerprint;
        tracing::info!(public_key, ask_again_in = ?delay, "a person has to approve that this host joins");
        sleep(delay).await;
    }
}

/// What an agent sends to enrol.
pub(crate) fn enroll_request(
    key: &EnrolmentKey,
    certificate_request: String,
    hostname: Option<String>,
) -> EnrollRequest {
    let agent_version = env!("CARGO_PKG_VERSION").to_owned();
    EnrollRequest { token: key.token.clone(), certificate_request, agent_version, hostname }
}

/// Asks once.
pub(crate) async fn request(
    server: &str,
    key: &EnrolmentKey,
    body: &EnrollRequest,
    dial: &Dial,
) -> Result<EnrollResponse, RequestError> {
    let address = ServerAddress::parse(server).map_err(|error| RequestError::Malformed(error.to_string()))?;
    let config = client_config(TrustedServer::Pinned(key.authority.clone()), None)
        .map_err(|error| RequestError::Malformed(error.to_string()))?;
    let (requests, work) = open(dial, &address, config).await?;
    tokio::select! {
        response = requests.post(ENROLL, body, MAX_RESPONSE) => response,
        () = work => Err(RequestError::Unreachable("the connection was closed".to_owned())),
    }
}

/// The identity, if everything that the server sent can be used.
pub(crate) fn stored(
    server: String,
    key: SecretText,
    response: EnrollResponse,
) -> Result<StoredIdentity, AgentError> {
    let EnrollResponse { identity, certificate, trust } = response;
    if trust.authorities.is_empty() || trust.assignment_keys.is_empty() {
        let source = RequestError::Malformed("it names nobody to trust".to_owned());
        return Err(AgentError::Server { server, source });
    }
    let identity = StoredIdentity { server, identity, certificate: certificate.pem, key, trust };
    identity.client_config()?;
    Ok(identity)
}
