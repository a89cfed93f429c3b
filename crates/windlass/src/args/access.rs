//! Signing in, people, tokens, accounts, the policy and the audit log.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use windlass_api::permission::{Permission, Role};
use windlass_core::time::Timestamp;

use super::gitops::Paging;
use super::keys::KeyLocation;
use super::word::word;

#[derive(Args, Debug)]
pub(crate) struct NoOptions {}

#[derive(Args, Debug)]
pub(crate) struct LoginOptions {
    /// The server's address, for example http://127.0.0.1:3000.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Your e-mail address. Asked for when left out.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: Option<String>,

    /// Trust the certificates in this PEM file, too: for a server whose authority is not among this machine's. Remembered
    /// with the sign-in. Default: WINDLASS_CA_FILE, which other commands read as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Read the password from standard input. If it is a one-time password, a second line is the new one.
    #[arg(long)]
    pub(crate) password_stdin: bool,
}

#[derive(Args, Debug)]
pub(crate) struct HaltOptions {
    /// Why, for those who wonder why nothing happens.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    pub(crate) reason: String,

    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print the approval policy as YAML, ready to be edited and set.
    Show,
    /// Replace the approval policy.
    Set {
        /// The policy, YAML or JSON; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Check a policy without a server and tell every problem.
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
        /// Only what was done to this, for example `node/edge-tokyo-01` or `repository/fleet`.
        #[arg(long, value_name = "KIND/NAME")]
        target: Option<String>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Check every entry against its hash, and the log against its signed checkpoints. Exits with 1 if the log was
    /// tampered with.
    ///
    /// Keep the printed hash of the last entry elsewhere, and the public key that `windlass audit key` prints: they tell
    /// whether a log was cut short or written anew.
    Verify(VerifyOptions),
    /// Move the first entries of a log from the database to a file, on the server's machine.
    ///
    /// Stop the server first. Entries up to the newest signed checkpoint within the limit go to the file, with the
    /// checkpoint and the public keys. Log and file are verified before anything is deleted. What stays in the database
    /// continues the file: `windlass audit verify --archive FILE` verifies both. It is on the audit record. The same
    /// command again finishes what was interrupted.
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
    /// A head that was printed or sent earlier: the log, or an archive that is given, must still hold an entry with this
    /// hash.
    #[arg(long, value_name = "HEAD")]
    pub(crate) expect: Option<String>,

    /// Verify the signatures of all checkpoints here, with this public key instead of trusting the server's.
    // Keys may begin with a hyphen.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) public_key: Option<String>,

    /// Also verify these archive files, here, and that the log continues them. Give all of the log's archives.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) archive: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) chain: ChainOptions,
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("limit").required(true).args(["before", "up_to"]))]
pub(crate) struct ArchiveOptions {
    /// Archive what was signed before this day or moment: 2026-01-31, or 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "DATE", value_parser = read_moment)]
    pub(crate) before: Option<Timestamp>,

    /// Archive up to this entry, or the last signed one before it.
    #[arg(long, value_name = "SEQ")]
    pub(crate) up_to: Option<i64>,

    /// The file to write. If it is there, it must be the archive that an interrupted command left.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// The account whose log is archived. Left out: the only account there is.
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
    /// Make an API token and print its secret, this once.
    Create {
        /// What it is for.
        name: String,

        /// What it may do, for example `system.gitops.sync`. May be given more than once. Left out: read.
        #[arg(long = "permission", value_name = "PERMISSION", value_parser = word::<Permission>())]
        permissions: Vec<Permission>,

        /// Give it what this takes, as far as you may it yourself; more with --permission.
        #[arg(long = "for", value_enum, value_name = "PURPOSE")]
        purpose: Option<Purpose>,

        /// Days until it ends, 1 to 365.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=365))]
        days: Option<u32>,
    },
    /// List API tokens.
    List,
    /// Take an API token back.
    Revoke {
        /// Its id or name.
        #[arg(value_name = "ID|NAME")]
        which: String,
    },
}

/// What a token is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    /// An MCP client: it looks, registers repositories and syncs, so that changes are proposed. It does not approve.
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
    /// List the accounts that ask you to join.
    List,
    /// Join an account that asks you to.
    Accept {
        /// The account, by name, or the invitation, by id.
        #[arg(value_name = "ACCOUNT")]
        which: String,
    },
    /// Decline to join an account, which does not learn of it.
    Decline {
        /// The account, by name, or the invitation, by id.
        #[arg(value_name = "ACCOUNT")]
        which: String,
    },
    /// List the people whom the account asks to join.
    Sent,
    /// Take an invitation back.
    Revoke {
        /// Who was invited, by e-mail address.
        email: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add someone to the account and print their one-time password, or invite them.
    ///
    /// Someone who is in another account is invited, and joins when they accept. Where there are several accounts, only an
    /// administrator of the installation makes new people; an account's admins invite.
    Add {
        /// Their e-mail address.
        email: String,

        /// Their name.
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,

        /// What they may do: viewer, operator, approver or admin.
        #[arg(long, default_value = "viewer", value_parser = word::<Role>())]
        role: Role,
    },
    /// List the people of the account.
    List,
    /// Change what someone may do.
    SetRole {
        /// Who, by e-mail address.
        email: String,

        /// What they may do: viewer, operator, approver or admin.
        #[arg(value_parser = word::<Role>())]
        role: Role,
    },
    /// Let someone in no longer.
    Disable {
        /// Who, by e-mail address.
        email: String,
    },
    /// Let someone in again.
    Enable {
        /// Who, by e-mail address.
        email: String,
    },
    /// Give someone a new one-time password. Ends their sessions and API tokens.
    ResetPassword {
        /// Who, by e-mail address.
        email: String,

        /// Leave their API tokens good. Their sessions end in any case.
        #[arg(long)]
        keep_tokens: bool,
    },
    /// Take someone out of the account.
    Remove {
        /// Who, by e-mail address.
        email: String,

        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// List every account of the installation.
    List,
    /// Make an account; you become its admin.
    Create {
        /// Its name: letters, digits, `.`, `_` and `-`.
        name: String,
    },
}
