//! Options of a server about forges. Tokens are never arguments: others can see command lines.

use std::path::PathBuf;

use clap::Args;

/// Which forges a server speaks to beside those its repositories are on.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Forges")]
pub(crate) struct ForgeOptions {
    /// A further host (HOST or HOST:PORT) that repositories may use as the API of their forge. The server sends forge
    /// tokens to no other host. May be given more than once.
    #[arg(long, env = "WINDLASS_FORGE_API_HOSTS", value_name = "HOST", value_delimiter = ',', value_parser = read_host)]
    pub(crate) forge_api_host: Vec<String>,

    /// The Gitea or Forgejo where Windlass creates repositories on request, such as `https://gitea.example.com`.
    #[arg(long, env = "WINDLASS_GITEA_URL", value_name = "URL", requires = "gitea_credential")]
    pub(crate) gitea_url: Option<String>,

    /// The path of the credential with its token, under the key `token`. `{account}` stands for the account's name.
    #[arg(long, env = "WINDLASS_GITEA_CREDENTIAL", value_name = "PATH", requires = "gitea_url")]
    pub(crate) gitea_credential: Option<String>,

    /// Also trust the certificate authorities in this PEM file for it.
    #[arg(long, env = "WINDLASS_GITEA_CACERT", value_name = "FILE", requires = "gitea_url")]
    pub(crate) gitea_ca_file: Option<PathBuf>,
}

/// Reads `host` or `host:port`.
fn read_host(text: &str) -> Result<String, String> {
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    match !text.is_empty() && text.chars().all(is_host) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(format!("`{text}` is not a host: write api.example.com or api.example.com:8443")),
    }
}
