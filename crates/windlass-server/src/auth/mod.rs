//! Who is asking, and may they?

mod device;
mod identity;
mod login;
mod password;
mod secret;
mod sso;
mod throttle;
mod turns;

pub(crate) use device::DEVICE;
pub(crate) use identity::{AuthError, Identity, identify, role_holds, standing_role};
pub(crate) use login::{LoginError, PasswordSignIn, SignedIn, login};
pub(crate) use password::{check_strength, hash_password, one_time_password, verify_password};
pub(crate) use secret::{hash_of_secret, new_token_secret};
pub(crate) use sso::{Entry, SsoError, record_refusal, sign_in_stranger};
pub(crate) use throttle::{count_provider_answer, count_session_attempt, forget_failures};
pub(crate) use turns::PasswordTurns;
