//! Options of a server to which people sign in through a provider of identities. The client's secret itself is never an
//! argument: others can see command lines.

use std::path::PathBuf;

use clap::Args;
use windlass_server::GroupGrantSetting;

/// Which provider, and what its groups give.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Single sign-on with OpenID Connect")]
pub(crate) struct OidcOptions {
    /// Let people sign in through this provider, given by its issuer URL, such as `https://id.example.com/realms/acme`.
    #[arg(long, env = "WINDLASS_OIDC_ISSUER", value_name = "URL")]
    pub(crate) oidc_issuer: Option<String>,

    /// The client id of this server at the provider.
    #[arg(long, env = "WINDLASS_OIDC_CLIENT_ID", value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,

    /// The file with the client's secret, read at each sign-in. Without it, this server is a public client.
    #[arg(long, env = "WINDLASS_OIDC_CLIENT_SECRET_FILE", value_name = "FILE")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,

    /// The provider's display name: the button reads `Sign in with NAME`.
    #[arg(long, env = "WINDLASS_OIDC_NAME", value_name = "NAME", default_value = "single sign-on")]
    pub(crate) oidc_name: String,

    /// The claim of the ID token that lists someone's groups.
    #[arg(long, env = "WINDLASS_OIDC_GROUPS_CLAIM", value_name = "CLAIM", default_value = "groups")]
    pub(crate) oidc_groups_claim: String,

    /// A scope to request in addition to openid, profile and email. May be given more than once.
    #[arg(long, env = "WINDLASS_OIDC_SCOPE", value_name = "SCOPE", value_delimiter = ' ')]
    pub(crate) oidc_scope: Vec<String>,

    /// The role of a group's members: `GROUP=ROLE` or `GROUP=ROLE@ACCOUNT`, with viewer, operator, approver or admin.
    /// May be given more than once; in the environment variable, one per line. Default account: the first one.
    #[arg(long, env = "WINDLASS_OIDC_GRANT", value_name = "GRANT", value_delimiter = '\n')]
    pub(crate) oidc_grant: Vec<GroupGrantSetting>,

    /// Trust only the certificate authorities in this PEM file, not the system's.
    #[arg(long, env = "WINDLASS_OIDC_CA_FILE", value_name = "FILE")]
    pub(crate) oidc_ca_file: Option<PathBuf>,

    /// Refuse passwords, except from administrators of the installation, who need them when the provider is down.
    #[arg(long, env = "WINDLASS_OIDC_ONLY")]
    pub(crate) oidc_only: bool,
}
