//! Who the agent is, and whom it trusts.
//!
//! An operator pastes an enrolment key; the agent makes its own key, which never leaves the host, and asks the server for a
//! certificate. Everything is one file, so a renewal either happened or did not. Other modules connect.

mod enrolment_key;
mod key_pair;
mod signatures;
mod stored;

pub(crate) use enrolment_key::parse as parse_enrolment_key;
pub(crate) use key_pair::NewKey;
pub(crate) use stored::{IDENTITY, StoredIdentity, read as read_identity};

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Base64 as the protocol writes it, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes URL-safe base64.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}
