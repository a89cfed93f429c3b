//! Devices on which people signed in before: a signed text that a browser keeps, so that its owner does not stand in one
//! line with everybody behind the same address. It proves nothing about who is there, and lets nobody in.

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use windlass_control::clock::now;
use windlass_core::id::{DeviceId, UserId};
use windlass_core::redacted::Redacted;
use windlass_store::new_id;

use crate::state::Server;

/// How long a device is known after someone signed in on it: as long as a place is.
pub(crate) const DEVICE: Duration = Duration::from_secs(90 * 24 * 3600);

/// What it is made for. As a session it is refused.
const AUDIENCE: &str = "windlass-device";

#[derive(Serialize, Deserialize)]
struct DeviceClaims {
    aud: String,
    /// Whose it is.
    sub: UserId,
    /// Which one.
    device: DeviceId,
    exp: i64,
}

/// What a browser keeps from now on, after someone signed in. A device that was theirs stays the same one.
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
    let key = EncodingKey::from_secret(server.keys().signing());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).ok().map(Redacted::new)
}

/// The id of a device on which this person signed in. What others signed, and what is someone else's, is none.
pub(super) fn read_device(server: &Server, text: &str, user_id: &UserId) -> Option<DeviceId> {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["exp", "aud", "sub"]);
    let read = |key: &[u8]| {
        jsonwebtoken::decode::<DeviceClaims>(text, &DecodingKey::from_secret(key), &validation).ok()
    };
    let claims = server.keys().accepted(now()).find_map(read)?.claims;
    (claims.sub == *user_id).then_some(claims.device)
}
