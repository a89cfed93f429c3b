//! Devices on which people signed in before. The browser keeps a signed text with the device's id, so that failures of
//! others behind the same address do not delay its owner. The text authenticates nobody.

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use windlass_control::clock::now;
use windlass_core::id::{DeviceId, UserId};
use windlass_core::redacted::Redacted;
use windlass_store::new_id;

use crate::state::Server;

/// How long a device is known after someone signed in on it: as long as the address block is.
pub(crate) const DEVICE: Duration = Duration::from_secs(90 * 24 * 3600);

/// The audience of a device's text. The server rejects such a text as a session.
const AUDIENCE: &str = "windlass-device";

#[derive(Serialize, Deserialize)]
struct DeviceClaims {
    aud: String,
    /// The person who signed in on the device.
    sub: UserId,
    /// The device.
    device: DeviceId,
    exp: i64,
}

/// The signed text that the browser keeps after a sign-in. A device that was already theirs keeps its id.
pub(super) fn sign_device(
    server: &Server,
    user_id: &UserId,
    device: Option<DeviceId>,
) -> Option<Redacted<String>> {
    let claims = DeviceClaims {
        aud: AUDIENCE.to_owned(),
        sub: user_id.clone(),
        device: device.unwrap_or_else(new_id),
        exp: now().plus(DEVICE).as_millis() / 1000,
    };
    let key = EncodingKey::from_secret(server.keys().signing_key());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).ok().map(Redacted::new)
}

/// The id of a device on which this person signed in; `None` if the signature is not valid or it is another person's.
pub(super) fn read_device(server: &Server, text: &str, user_id: &UserId) -> Option<DeviceId> {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["exp", "aud", "sub"]);
    let read = |key: &[u8]| {
        jsonwebtoken::decode::<DeviceClaims>(text, &DecodingKey::from_secret(key), &validation).ok()
    };
    let claims = server.keys().accepted_keys(now()).find_map(read)?.claims;
    (claims.sub == *user_id).then_some(claims.device)
}
