//! `windlass repo`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use windlass_core::shape::TextValue as _;
use windlass_core::value::Timeout;

#[derive(Debug, Subcommand)]
pub(crate) enum RepoCommand {
    /// Register a repository and sync it for the first time.
    Add {
        /// Its name, unique in the account.
        name: String,

        /// Where it is: https://…, ssh://… or git@host:path, without credentials.
        url: String,

        #[command(flatten)]
        settings: Box<RepositorySettingsArgs>,

        /// Register it disabled: it syncs only on request.
        #[arg(long)]
        disabled: bool,

        /// Do not wait for the first sync.
        #[arg(long)]
        no_wait: bool,
    },
    /// List repositories with the result of their last sync.
    List,
    /// Show one repository.
    Show {
        /// Its name or id.
        repo: String,
    },
    /// Test the connection to a repository step by step. Exits with 1 if a step failed.
    Test {
        /// A registered repository, by name or id.
        #[arg(required_unless_present = "url", conflicts_with = "url")]
        repo: Option<String>,

        /// The address of one that is not registered; nothing is stored.
        #[arg(long)]
        url: Option<String>,

        #[command(flatten)]
        settings: Box<RepositorySettingsArgs>,
    },
    /// Show what a reference or a commit would change, without proposing it. Exit codes are those of `plan`.
    Preview(PreviewOptions),
    /// Change a repository. Options not given stay unchanged; an empty value removes an optional setting.
    Set {
        /// Its name or id.
        repo: String,

        /// Its new name.
        #[arg(long)]
        name: Option<String>,

        /// Its new address.
        #[arg(long)]
        url: Option<String>,

        #[command(flatten)]
        settings: Box<RepositorySettingsArgs>,

        /// Whether it syncs automatically.
        #[arg(long, action = ArgAction::Set, value_name = "true|false")]
        enabled: Option<bool>,
    },
    /// Remove a repository. Its resources stay, without an owner.
    Remove {
        /// Its name or id.
        repo: String,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
    /// Move a repository to another account. Its fleet.yaml must name the new account first.
    Move {
        /// Its name or id.
        repo: String,

        /// The new account, by name or id.
        #[arg(long, value_name = "ACCOUNT")]
        account: String,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
    /// Show the webhook of a repository: where a forge sends deliveries, and the secret it signs them with.
    Webhook {
        /// Its name or id.
        repo: String,

        /// Replace the secret. The server rejects deliveries signed with the old secret immediately.
        #[arg(long)]
        rotate: bool,

        /// Skip the confirmation prompt.
        #[arg(long, short, requires = "rotate")]
        yes: bool,
    },
    /// Release work that is quarantined because the server crashed on it twice. It runs again: first check who pushed
    /// what.
    Release {
        /// Its name or id.
        repo: String,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
    /// Forget the pinned SSH host keys. The next sync pins the keys it receives: verify them afterwards.
    ForgetHostKeys {
        /// Its name or id.
        repo: String,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
}

/// What to look at.
#[derive(Args, Debug)]
pub(crate) struct PreviewOptions {
    /// Its name or id.
    pub(crate) repo: String,

    /// A branch, or a whole reference such as `refs/pull/7/head`.
    #[arg(long = "ref", value_name = "REF", required_unless_present = "commit")]
    pub(crate) reference: Option<String>,

    /// A commit, by its full id. With --ref: the commit that the reference must point to.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,

    /// Plan even if it destroys most of the existing resources.
    #[arg(long)]
    pub(crate) confirm_mass_destroy: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CredentialCommand {
    /// List the paths of the credentials in the server's Vault, for `repo add --credential`.
    List,
    /// List the hosts that credentials are bound to. The server sends a credential to no other host.
    Bindings,
    /// Bind a credential to a host, so that it may be sent there.
    ///
    /// A credential with a `hosts` or `url` field needs no binding. Any other is bound to the first host that an admin
    /// uses it with; bind further hosts with this command.
    Bind {
        /// The credential's path, as repositories name it.
        path: String,

        /// The host and port, such as `git.example.com:22`; without a port, 443.
        host: String,
    },
    /// Unbind a credential from a host.
    Unbind {
        /// The credential's path, as repositories name it.
        path: String,

        /// The host and port, as `credential bindings` lists them.
        host: String,
    },
}

/// What can be configured of a repository.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RepositorySettingsArgs {
    /// The branch to follow. Default: main.
    #[arg(long)]
    pub(crate) branch: Option<String>,

    /// The directory of fleet.yaml in the repository. Default: its root.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) path_prefix: Option<String>,

    /// The credential's path on the server, for example `secret/data/gitops/fleet`.
    #[arg(long, value_name = "PATH")]
    pub(crate) credential: Option<String>,

    /// A certificate authority (PEM) to trust for this repository, in addition to the server's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Allowed signers: public keys (OpenSSH lines or armoured OpenPGP), one of which must have signed each commit.
    #[arg(long, value_name = "FILE")]
    pub(crate) signers_file: Option<PathBuf>,

    /// Time between syncs, 10s to 24h. Default: 5m.
    #[arg(long, value_name = "DURATION", value_parser = parse_interval)]
    pub(crate) interval: Option<u64>,

    /// Apply creates and updates without approval; destroys still need one.
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true,
          value_name = "true|false")]
    pub(crate) auto_apply: Option<bool>,

    #[command(flatten)]
    pub(crate) forge: ForgeSettingsArgs,
}

/// What the forge of a repository is told.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Forge")]
pub(crate) struct ForgeSettingsArgs {
    /// Report commit statuses and pull request plans to this kind of forge; `none` turns reporting off. Detected for
    /// github.com and gitlab.com.
    #[arg(long, value_name = "KIND", value_parser = ["github", "gitea", "forgejo", "gitlab", "none"])]
    pub(crate) forge: Option<String>,

    /// The forge's API address. Default: on the repository's host.
    #[arg(long, value_name = "URL")]
    pub(crate) forge_api_url: Option<String>,

    /// The repository's name on the forge. Default: taken from the address.
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) forge_project: Option<String>,

    /// The path of the credential with the forge's token, under the key `token`. Default: the repository's credential.
    #[arg(long, value_name = "PATH")]
    pub(crate) forge_credential: Option<String>,

    /// Report a status for each commit. Default: true.
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) forge_status: Option<bool>,

    /// Comment on pull requests with the plan. Default: true.
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) forge_comment: Option<bool>,

    /// Also plan pull requests from forks, which anyone can open. Default: false.
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) forge_previews_of_forks: Option<bool>,
}

fn parse_interval(text: &str) -> Result<u64, String> {
    match Timeout::read(text) {
        Ok(interval) if interval.seconds >= 10 => Ok(u64::from(interval.seconds)),
        _ => Err("write it like `90s`, `5m` or `1h30m`, from 10s to 24h".to_owned()),
    }
}
