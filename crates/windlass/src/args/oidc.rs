//! Options of a server to which people sign in through a provider of identities. The client's secret itself is never an
//! argument: others can see command lines.

use std::path::PathBuf;

use clap::Args;
use windlass_server::GroupGrantSetting;

/// Which provider, and what its groups give.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Single sign-on with OpenID Connect")]
pub(crate) struct OidcOptions {
    /// Let people sign in through this provider, written as it calls itself, such as `https://id.example.com/realms/acme`.
    #[arg(long, env = "WINDLASS_OIDC_ISSUER", value_name = "URL")]
    pub(crate) oidc_issuer: Option<String>,

    /// What the provider knows this server by.
    #[arg(long, env = "WINDLASS_OIDC_CLIENT_ID", value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,

    /// The file with the client's secret, which is read anew at each sign-in. Without one this is a public client.
    #[arg(long, env = "WINDLASS_OIDC_CLIENT_SECRET_FILE", value_name = "FILE")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,

    /// What people call the provider: the button says `Sign in with NAME`.
    #[arg(long, env = "WINDLASS_OIDC_NAME", value_name = "NAME", default_value = "single sign-on")]
    pub(crate) oidc_name: String,

    /// The claim of the ID token that lists someone's groups.
    #[arg(long, env = "WINDLASS_OIDC_GROUPS_CLAIM", value_name = "CLAIM", default_value = "groups")]
    pub(crate) oidc_groups_claim: String,

    /// A scope to ask for besides openid, profile and email. Can be given several times.
    #[arg(long, env = "WINDLASS_OIDC_SCOPE", value_name = "SCOPE", value_delimiter = ' ')]
    pub(crate) oidc_scope: Vec<String>,

    /// What members of a group may do: `GROUP=ROLE` or `GROUP=ROLE@ACCOUNT`, with viewer, operator, approver or admin.
    /// Can be given several times; in the variable one on each line. Without an account the first one is meant.
    #[arg(long, env = "WINDLASS_OIDC_GRANT", value_name = "GRANT", value_delimiter = '\n')]
    pub(crate) oidc_grant: Vec<GroupGrantSetting>,

    /// Trust only the authorities in this PEM file, instead of the system's.
    #[arg(long, env = "WINDLASS_OIDC_CA_FILE", value_name = "FILE")]
    pub(crate) oidc_ca_file: Option<PathBuf>,

    /// Refuse passwords, but for administrators of the installation, who need them when the provider is down.
    #[arg(long, env = "WINDLASS_OIDC_ONLY")]
    pub(crate) oidc_only: bool,
}
