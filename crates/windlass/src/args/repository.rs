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

        /// Register it switched off: it is synced only when asked to.
        #[arg(long)]
        disabled: bool,

        /// Do not wait for the first sync.
        #[arg(long)]
        no_wait: bool,
    },
    /// List repositories and how their last sync went.
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
    /// Show what a reference or a commit would change, and propose nothing. Exits as `plan` does.
    Preview(PreviewOptions),
    /// Change a repository. What is left out stays as it is; an empty text takes an optional setting away.
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

        /// Whether it is synced on its own.
        #[arg(long, action = ArgAction::Set, value_name = "true|false")]
        enabled: Option<bool>,
    },
    /// Remove a repository. What it owned stays as it is, owned by nobody.
    Remove {
        /// Its name or id.
        repo: String,

        /// Do not ask.
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

        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Show the webhook of a repository: where a forge sends deliveries, and the secret it signs them with.
    Webhook {
        /// Its name or id.
        repo: String,

        /// Replace the secret. What is signed with the one before is refused at once.
        #[arg(long)]
        rotate: bool,

        /// Do not ask.
        #[arg(long, short, requires = "rotate")]
        yes: bool,
    },
    /// Release what is quarantined because the server died of it twice. It is tried again, so look first who pushed what.
    Release {
        /// Its name or id.
        repo: String,

        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Forget the pinned SSH host keys. The next sync pins the keys it sees, so make sure that they are the right ones.
    ForgetHostKeys {
        /// Its name or id.
        repo: String,

        /// Do not ask.
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

    /// A commit, by its whole id. Beside --ref: where that must lead.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,

    /// Plan even if most of what is there would be destroyed.
    #[arg(long)]
    pub(crate) confirm_mass_destroy: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CredentialCommand {
    /// List the paths of the credentials in the server's Vault, for `repo add --credential`.
    List,
    /// List the hosts that credentials are bound to. A credential is told to no other host.
    Bindings,
    /// Let a credential be told to a host.
    ///
    /// A credential that names its hosts itself, in a field `hosts` or `url`, needs no binding. One that does not is bound
    /// to the first host that an admin uses it with, and after that only by this command.
    Bind {
        /// Where the credential is kept, as repositories name it.
        path: String,

        /// The host and port, such as `git.example.com:22`; without a port, 443.
        host: String,
    },
    /// Let a credential be told to a host no more.
    Unbind {
        /// Where the credential is kept, as repositories name it.
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

    /// Where the server finds the credential, for example `secret/data/gitops/fleet`.
    #[arg(long, value_name = "PATH")]
    pub(crate) credential: Option<String>,

    /// A certificate authority (PEM) to trust for this repository, beside the server's own.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Public keys (OpenSSH lines or armoured OpenPGP) one of which must have signed each commit.
    #[arg(long, value_name = "FILE")]
    pub(crate) signers_file: Option<PathBuf>,

    /// Time between syncs, 10s to 24h. Default: 5m.
    #[arg(long, value_name = "DURATION", value_parser = parse_interval)]
    pub(crate) interval: Option<u64>,

    /// Apply creates and updates without approval; destroys still wait for someone.
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
    /// Tell the forge about commits and pull requests; `none` to tell it nothing any more. Known by itself for github.com
    /// and gitlab.com.
    #[arg(long, value_name = "KIND", value_parser = ["github", "gitea", "forgejo", "gitlab", "none"])]
    pub(crate) forge: Option<String>,

    /// Where the API of the forge is. Default: on the repository's host.
    #[arg(long, value_name = "URL")]
    pub(crate) forge_api_url: Option<String>,

    /// The repository on the forge. Default: what the address says.
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) forge_project: Option<String>,

    /// Where the server finds the token of the forge, under the key `token`. Default: the repository's credential.
    #[arg(long, value_name = "PATH")]
    pub(crate) forge_credential: Option<String>,

    /// Show a status beside each commit. Default: true.
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) forge_status: Option<bool>,

    /// Comment on pull requests with the plan. Default: true.
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) forge_comment: Option<bool>,

    /// Plan pull requests from forks, too: anybody can open one. Default: false.
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) forge_previews_of_forks: Option<bool>,
}

fn parse_interval(text: &str) -> Result<u64, String> {
    match Timeout::read(text) {
        Ok(interval) if interval.seconds >= 10 => Ok(u64::from(interval.seconds)),
        _ => Err("write it like `90s`, `5m` or `1h30m`, from 10s to 24h".to_owned()),
    }
}
