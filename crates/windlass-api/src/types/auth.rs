//! Signing in, people and tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Permission, Role};
use crate::word::Word;

/// A sign-in.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: String,
    /// The account, by id or name. Default: the user's first account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// A new session.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The JWT for `Authorization: Bearer`.
    pub token: String,
    /// When it expires.
    pub expires_at: String,
    /// The user, their account and permissions.
    pub me: Me,
}

/// The caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    /// The person's id.
    pub user_id: String,
    /// Their e-mail address.
    pub email: String,
    /// The account's id.
    pub account_id: String,
    /// The account's name.
    pub account_name: String,
    /// Their role there.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
    /// The permissions of this request: the role's, or fewer with an API token.
    #[schemars(with = "Vec<Word<Permission>>")]
    pub permissions: Vec<Permission>,
    /// The API token used.
    pub token_name: Option<String>,
    /// Whether they are an administrator of the installation.
    pub is_root: bool,
    /// Whether they must change their one-time password first.
    pub must_change_password: bool,
    /// Other accounts they are in, by name.
    pub accounts: Vec<String>,
}

/// A change of the caller's password.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordBody {
    /// The current password.
    pub current_password: String,
    /// The new password, at least 12 characters.
    pub new_password: String,
}

/// A person to add to the account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserBody {
    /// Their e-mail address.
    pub email: String,
    /// Their name.
    #[serde(default)]
    pub name: String,
    /// Their role.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
}

/// What to change about a person.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    /// Their role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Word<Role>>")]
    pub role: Option<Role>,
    /// Whether their sign-in is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Set a new one-time password. Ends their sessions and API tokens.
    #[serde(default)]
    pub reset_password: bool,
    /// With `reset_password`: keep their API tokens valid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_tokens: bool,
}

/// A person in the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserInfo {
    /// Their id.
    pub id: String,
    /// Their e-mail address.
    pub email: String,
    /// Their name.
    pub name: String,
    /// Their role.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
    /// Whether their sign-in is disabled.
    pub disabled: bool,
    /// When they were added.
    pub created_at: String,
    /// How they sign in.
    #[serde(default)]
    pub signs_in_with: SignsInWith,
}

/// How someone signs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignsInWith {
    /// With a password on this server.
    #[default]
    Password,
    /// Through the single sign-on provider.
    Sso,
}

/// A person under their name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserEnvelope {
    /// The person.
    pub user: UserInfo,
}

/// A person who was added, or whose password was reset.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct UserCreated {
    /// The person.
    pub user: UserInfo,
    /// The one-time password, shown only once; null if they have a password already.
    pub one_time_password: Option<String>,
}

/// A user who was added or invited to the account.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct UserAdded {
    /// The user, if they are now in the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserInfo>,
    /// The one-time password, shown only once; null if they have none or were invited.
    pub one_time_password: Option<String>,
    /// The invitation, if they have to accept first. It is the same whether or not the e-mail address is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationInfo>,
}

/// An invitation to the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvitationInfo {
    /// Its id.
    pub id: String,
    /// The invited person's e-mail address.
    pub email: String,
    /// The role they would have.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
    /// Who invited them.
    pub invited_by: String,
    /// When it was created.
    pub created_at: String,
    /// When it expires.
    pub expires_at: String,
}

/// The account's open invitations.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InvitationList {
    /// By e-mail address.
    pub invitations: Vec<InvitationInfo>,
}

/// An invitation as the invited person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedInvitation {
    /// Its id.
    pub id: String,
    /// The account's name.
    pub account: String,
    /// The role you would have there.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
    /// Who invited them.
    pub invited_by: String,
    /// When it was created.
    pub created_at: String,
    /// When it expires.
    pub expires_at: String,
}

/// The invitations you can accept or decline.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedInvitationList {
    /// Newest first.
    pub invitations: Vec<ReceivedInvitation>,
}

/// An account that was joined.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JoinedAccount {
    /// The account's name. Sign in to it to use it.
    pub account: String,
    /// Your role there.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
}

/// The account's users.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserList {
    /// By e-mail address.
    pub users: Vec<UserInfo>,
}

/// An API token to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// Its name.
    pub name: String,
    /// Its permissions; at most your own. Default: read.
    #[serde(default)]
    #[schemars(with = "Vec<Word<Permission>>")]
    pub permissions: Vec<Permission>,
    /// Days until it expires, 1 to 365. Default 90.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<u32>,
}

/// An API token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its permissions.
    #[schemars(with = "Vec<Word<Permission>>")]
    pub permissions: Vec<Permission>,
    /// Who created it.
    pub created_by: String,
    /// When.
    pub created_at: String,
    /// When it expires.
    pub expires_at: Option<String>,
    /// When it was last used, roughly.
    pub last_used_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

/// A token that was created.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenCreated {
    /// The token.
    pub token: TokenInfo,
    /// The secret, shown only once.
    pub secret: String,
}

/// The tokens of the account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// Newest first.
    pub tokens: Vec<TokenInfo>,
}
