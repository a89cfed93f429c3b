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
    /// Which account, by id or name; left out, the first one of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// A session that began.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The JWT for `Authorization: Bearer`.
    pub token: String,
    /// When it ends.
    pub expires_at: String,
    /// Who signed in, where, and what they may do.
    pub me: Me,
}

/// Who is asking.
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
    /// What this request may do: the role's permissions, or fewer with an API token.
    #[schemars(with = "Vec<Word<Permission>>")]
    pub permissions: Vec<Permission>,
    /// The API token used.
    pub token_name: Option<String>,
    /// Whether they administer the installation.
    pub is_root: bool,
    /// Whether they must choose a password of their own first.
    pub must_change_password: bool,
    /// Other accounts they are in, by name.
    pub accounts: Vec<String>,
}

/// A change of one's own password.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordBody {
    /// The password until now.
    pub current_password: String,
    /// The password from now on, at least 12 characters.
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
    /// Whether they may not sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Make a new one-time password. Ends their sessions and API tokens.
    #[serde(default)]
    pub reset_password: bool,
    /// With `reset_password`: their API tokens stay good.
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
    /// Whether they may not sign in.
    pub disabled: bool,
    /// Since when they are known.
    pub created_at: String,
    /// How they sign in.
    #[serde(default)]
    pub signs_in_with: SignsInWith,
}

/// How someone signs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignsInWith {
    /// With a password of this server.
    #[default]
    Password,
    /// Through the provider of single sign-on.
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
    /// Shown this once, to be changed at the first sign-in; null if they were known already.
    pub one_time_password: Option<String>,
}

/// Someone who was added to the account, or asked to join it.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct UserAdded {
    /// The person, if they are in the account now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserInfo>,
    /// Shown this once, to be changed at the first sign-in; null if they have none or were invited.
    pub one_time_password: Option<String>,
    /// The invitation, if they have to accept first. Whether anyone has the e-mail address makes no difference to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationInfo>,
}

/// Someone who is asked to join the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvitationInfo {
    /// Its id.
    pub id: String,
    /// Who is asked.
    pub email: String,
    /// The role they would have.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
    /// Who asks.
    pub invited_by: String,
    /// Since when.
    pub created_at: String,
    /// Until when it can be accepted.
    pub expires_at: String,
}

/// The invitations of the account that nobody accepted yet.
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
    /// Who asks.
    pub invited_by: String,
    /// Since when.
    pub created_at: String,
    /// Until when you can accept.
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
    /// The account's name: sign in to it to work there.
    pub account: String,
    /// Your role there.
    #[schemars(with = "Word<Role>")]
    pub role: Role,
}

/// The people of the account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserList {
    /// By e-mail address.
    pub users: Vec<UserInfo>,
}

/// An API token to make.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// What it is for.
    pub name: String,
    /// What it may do; never more than you. Left out: read.
    #[serde(default)]
    #[schemars(with = "Vec<Word<Permission>>")]
    pub permissions: Vec<Permission>,
    /// Days until it ends, 1 to 365. Default 90.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<u32>,
}

/// An API token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenInfo {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// What it may do.
    #[schemars(with = "Vec<Word<Permission>>")]
    pub permissions: Vec<Permission>,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: String,
    /// When it ends.
    pub expires_at: Option<String>,
    /// When it was last used, roughly.
    pub last_used_at: Option<String>,
    /// When someone took it back.
    pub revoked_at: Option<String>,
}

/// A token that was made.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenCreated {
    /// The token.
    pub token: TokenInfo,
    /// The secret, shown this once.
    pub secret: String,
}

/// The tokens of the account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// Newest first.
    pub tokens: Vec<TokenInfo>,
}
