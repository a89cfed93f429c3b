//! Signing in, people, tokens, accounts, the policy and the audit log.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use windlass_api::permission::{Permission, Role};
use windlass_core::time::Timestamp;

use super::keys::KeyLocation;
use super::paging::Paging;
use super::word::word;

#[derive(Args, Debug)]
pub(crate) struct NoOptions {}

#[derive(Args, Debug)]
pub(crate) struct LoginOptions {
    /// The server's address, for example http://127.0.0.1:3000.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Your e-mail address. Default: prompts for it.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: Option<String>,

    /// Also trust the certificate authorities in this PEM file. Stored with the session. Default: WINDLASS_CA_FILE,
    /// which other commands also read.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Read the password from standard input. If it is a one-time password, a second line is the new one.
    #[arg(long)]
    pub(crate) password_stdin: bool,
}

#[derive(Args, Debug)]
pub(crate) struct HaltOptions {
    /// The reason, shown to everyone in the account.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    pub(crate) reason: String,

    /// Skip the confirmation prompt.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print the approval policy as YAML, ready to edit and set.
    Show,
    /// Replace the approval policy.
    Set {
        /// The policy, YAML or JSON; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Check a policy without a server and report all problems.
    Check {
        /// The policy, YAML or JSON; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List entries, newest first.
    List {
        /// Only entries about this target, for example `node/edge-tokyo-01` or `repository/fleet`.
        #[arg(long, value_name = "KIND/NAME")]
        target: Option<String>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Check every entry against its hash, and the log against its signed checkpoints. Exits with 1 if the log was
    /// tampered with.
    ///
    /// Store the printed hash of the last entry and the public key from `windlass audit key` elsewhere: with them you
    /// can detect a truncated or rewritten log.
    Verify(VerifyOptions),
    /// Move the first entries of a log from the database to a file, on the server's machine.
    ///
    /// Stop the server first. The command writes the entries up to the newest signed checkpoint within the limit, the
    /// checkpoint and the public keys to the file, and verifies log and file before it deletes anything. `windlass
    /// audit verify --archive FILE` verifies the file together with the rest of the log. Recorded in the audit log. To
    /// finish an interrupted archive, run the same command again.
    Archive(ArchiveOptions),
    /// Print the public key that signs checkpoints.
    Key,
    /// List signed checkpoints, newest first.
    Checkpoints {
        #[command(flatten)]
        chain: ChainOptions,

        #[command(flatten)]
        paging: Paging,
    },
    /// Sign the head of the log now.
    Checkpoint {
        #[command(flatten)]
        chain: ChainOptions,
    },
}

#[derive(Args, Debug)]
pub(crate) struct VerifyOptions {
    /// A hash printed or sent earlier: the log, or a given archive, must still have an entry with it.
    #[arg(long, value_name = "HEAD")]
    pub(crate) expect: Option<String>,

    /// Verify all checkpoint signatures locally, with this public key, instead of trusting the server.
    // Keys may begin with a hyphen.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) public_key: Option<String>,

    /// Also verify these archive files locally, and that the log continues them. Give all archives of the log.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) archive: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) chain: ChainOptions,
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("limit").required(true).args(["before", "up_to"]))]
pub(crate) struct ArchiveOptions {
    /// Archive entries signed before this date or time: 2026-01-31, or 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "DATE", value_parser = read_moment)]
    pub(crate) before: Option<Timestamp>,

    /// Archive entries up to this one, or up to the last signed one before it.
    #[arg(long, value_name = "SEQ")]
    pub(crate) up_to: Option<i64>,

    /// The file to write. An existing file must be the archive of an interrupted run of this command.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// The account whose log to archive. Default: the only account.
    #[arg(long = "in-account", value_name = "NAME", conflicts_with = "installation")]
    pub(crate) in_account: Option<String>,

    #[command(flatten)]
    pub(crate) chain: ChainOptions,

    #[command(flatten)]
    pub(crate) at: KeyLocation,
}

/// Reads a day, which begins at midnight UTC, or a moment.
fn read_moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z"))).ok_or_else(|| {
        format!("`{text}` is neither a day nor a moment: write 2026-01-31 or 2026-01-31T12:00:00Z")
    })
}

/// Which audit log.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ChainOptions {
    /// The installation's own log instead of the account's; for administrators of the installation.
    #[arg(long)]
    pub(crate) installation: bool,
}

impl ChainOptions {
    /// The value of `chain`, if there is one.
    pub(crate) fn word(self) -> Option<&'static str> {
        self.installation.then_some("installation")
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create an API token and print its secret. The secret is shown only once.
    Create {
        /// The token's name, for example its purpose.
        name: String,

        /// A permission, for example `system.gitops.sync`. May be given more than once. Default: read.
        #[arg(long = "permission", value_name = "PERMISSION", value_parser = word::<Permission>())]
        permissions: Vec<Permission>,

        /// Grant the permissions for this use, limited to your own. Add more with --permission.
        #[arg(long = "for", value_enum, value_name = "PURPOSE")]
        purpose: Option<Purpose>,

        /// Days until it expires, 1 to 365.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=365))]
        days: Option<u32>,
    },
    /// List API tokens.
    List,
    /// Revoke an API token.
    Revoke {
        /// Its id or name.
        #[arg(value_name = "ID|NAME")]
        which: String,
    },
}

/// What a token is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    /// An MCP client: may read, register repositories and sync, which proposes changes. May not approve.
    Mcp,
}

impl Purpose {
    /// What it takes.
    pub(crate) const fn permissions(self) -> &'static [Permission] {
        match self {
            Purpose::Mcp => &[
                Permission::GitopsRead,
                Permission::GitopsWrite,
                Permission::GitopsSync,
                Permission::FleetRead,
            ],
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum InvitationCommand {
    /// List invitations you received.
    List,
    /// Accept an invitation and join the account.
    Accept {
        /// The account, by name, or the invitation, by id.
        #[arg(value_name = "ACCOUNT")]
        which: String,
    },
    /// Decline an invitation. The account is not notified.
    Decline {
        /// The account, by name, or the invitation, by id.
        #[arg(value_name = "ACCOUNT")]
        which: String,
    },
    /// List the account's open invitations.
    Sent,
    /// Revoke an invitation.
    Revoke {
        /// The invited person's e-mail address.
        email: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user to the account and print their one-time password, or invite them.
    ///
    /// A user of another account is invited, and joins by accepting. If the installation has several accounts, only its
    /// administrators create users; an account's admins invite.
    Add {
        /// Their e-mail address.
        email: String,

        /// Their name.
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,

        /// Their role: viewer, operator, approver or admin.
        #[arg(long, default_value = "viewer", value_parser = word::<Role>())]
        role: Role,
    },
    /// List the people of the account.
    List,
    /// Change a user's role.
    SetRole {
        /// The user's e-mail address.
        email: String,

        /// Their role: viewer, operator, approver or admin.
        #[arg(value_parser = word::<Role>())]
        role: Role,
    },
    /// Disable a user.
    Disable {
        /// The user's e-mail address.
        email: String,
    },
    /// Enable a disabled user.
    Enable {
        /// The user's e-mail address.
        email: String,
    },
    /// Set a new one-time password. Ends the user's sessions and API tokens.
    ResetPassword {
        /// The user's e-mail address.
        email: String,

        /// Keep their API tokens valid. Their sessions end in any case.
        #[arg(long)]
        keep_tokens: bool,
    },
    /// Remove a user from the account.
    Remove {
        /// The user's e-mail address.
        email: String,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// List every account of the installation.
    List,
    /// Create an account; you become its admin.
    Create {
        /// Its name: letters, digits, `.`, `_` and `-`.
        name: String,
    },
}
