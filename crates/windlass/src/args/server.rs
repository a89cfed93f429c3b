//! The commands that ask a server, and the options they share.
//!
//! Commands that work without a server do not have these options, so their help stays short.

use clap::{Args, Subcommand, ValueEnum};
use windlass_core::redacted::Redacted;

use super::access::{
    AccountCommand, AuditCommand, HaltOptions, InvitationCommand, LoginOptions, NoOptions, PolicyCommand,
    TokenCommand, UserCommand,
};
use super::gitops::{ApplyOptions, DriftOptions, ProposalCommand, RunCommand, SyncOptions};
use super::module::ModuleCommand;
use super::node::NodeCommand;
use super::notify::NotifyCommand;
use super::repository::{CredentialCommand, RepoCommand};
use super::resource::{DeleteOptions, DescribeOptions, EventsOptions, ExportOptions, GetOptions, SetOptions};
use super::rollout::RolloutCommand;

/// Which server, as whom, and how to print its answers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerOptions {
    /// The server's address. Default: WINDLASS_SERVER, then the server of the last `windlass login`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// An API token to use instead of the stored session. Prefer WINDLASS_TOKEN: other users can see command lines.
    #[arg(long, global = true, value_name = "TOKEN", value_parser = parse_secret)]
    pub(crate) token: Option<Redacted<String>>,

    /// The account to work in, by name or id. The command fails if you are signed in to another one.
    #[arg(long, global = true, value_name = "ACCOUNT")]
    pub(crate) account: Option<String>,

    /// How to print the response.
    #[arg(long, short, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Output>,
}

/// The same options before the command. They are not global there: commands without a server do not take them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server (for commands that call one)")]
pub(crate) struct RootServerOptions {
    /// The server's address. Default: WINDLASS_SERVER, then the server of the last `windlass login`.
    #[arg(id = "root-server", long = "server", value_name = "URL")]
    server: Option<String>,

    /// An API token to use instead of the stored session. Prefer WINDLASS_TOKEN: other users can see command lines.
    #[arg(id = "root-token", long = "token", value_name = "TOKEN", value_parser = parse_secret)]
    token: Option<Redacted<String>>,

    /// The account to work in, by name or id. The command fails if you are signed in to another one.
    #[arg(id = "root-account", long = "account", value_name = "ACCOUNT")]
    account: Option<String>,

    /// How to print the response.
    #[arg(id = "root-output", long = "output", short = 'o', value_enum, value_name = "FORMAT")]
    output: Option<Output>,
}

impl RootServerOptions {
    /// Whether any was given.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_some() || self.token.is_some() || self.account.is_some() || self.output.is_some()
    }
}

impl ServerOptions {
    /// What was given here, else before the command.
    pub(crate) fn or(self, root: RootServerOptions) -> ServerOptions {
        ServerOptions {
            server: self.server.or(root.server),
            token: self.token.or(root.token),
            account: self.account.or(root.account),
            output: self.output.or(root.output),
        }
    }
}

/// Infallible, and typed so that no debug output can show it.
fn parse_secret(text: &str) -> Result<Redacted<String>, std::convert::Infallible> {
    Ok(Redacted::new(text.to_owned()))
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people. The default.
    #[default]
    Human,
    /// The server's response as JSON.
    Json,
    /// The server's response as YAML.
    Yaml,
}

/// A command that asks a server.
#[derive(Args, Debug)]
pub(crate) struct ServerCommand<T: Args> {
    #[command(flatten)]
    pub(crate) options: T,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

/// Commands about one noun that ask a server.
#[derive(Args, Debug)]
pub(crate) struct ServerCommandGroup<T: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: T,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Sign in to a server and remember it.
    ///
    /// The session is stored in $XDG_CONFIG_HOME/windlass/credentials.json, readable only by you, one per server. Other
    /// commands use the server you last signed in to. For scripts, create an API token with `windlass token create` and
    /// set WINDLASS_SERVER and WINDLASS_TOKEN instead.
    Login(ServerCommand<LoginOptions>),
    /// Sign out and delete the stored session.
    Logout(ServerCommand<NoOptions>),
    /// Show who you are and your permissions.
    Whoami(ServerCommand<NoOptions>),
    /// Show the account's status and what blocks changes.
    Status(ServerCommand<NoOptions>),
    /// Register, test and change repositories.
    Repo(ServerCommandGroup<RepoCommand>),
    /// List the credentials that repositories can use, and bind them to hosts. Secret values are never shown.
    Credential(ServerCommandGroup<CredentialCommand>),
    /// Sync a repository now and show what it proposes.
    Sync(ServerCommand<SyncOptions>),
    /// List and inspect sync runs.
    Run(ServerCommandGroup<RunCommand>),
    /// List rollouts, show how far they are, and pause, resume, abort or promote them.
    ///
    /// A change that reaches many nodes moves over them in waves, as `rollout` of their template or module says.
    Rollout(ServerCommandGroup<RolloutCommand>),
    /// Review, approve, reject and edit proposals.
    Proposal(ServerCommandGroup<ProposalCommand>),
    /// List nodes with their status, show what they shall be and what their agents report; enrol and revoke agents.
    Node(ServerCommandGroup<NodeCommand>),
    /// Apply approved proposals now.
    ///
    /// The server applies approved proposals automatically. This command applies them at once and prints each result.
    Apply(ServerCommand<ApplyOptions>),
    /// Show drift, and revert, adopt or accept it.
    ///
    /// Exits with 2 if there is drift. You can revert a drifted resource (a proposal restores the state in git), adopt
    /// it (writes the accepted state into git) or accept the difference (until a date). `drift node` does the same for
    /// items of a node that differ from what is assigned to it.
    Drift(ServerCommand<DriftOptions>),
    /// Export the accepted state as fleet.yaml.
    Export(ServerCommand<ExportOptions>),
    /// Test notification providers, list notifications and resend them.
    ///
    /// Providers and alerts are resources: declare notification_providers and alerts in fleet.yaml, or use `windlass
    /// set`.
    Notify(ServerCommandGroup<NotifyCommand>),
    /// List, promote and retire versions of modules.
    Module(ServerCommandGroup<ModuleCommand>),
    /// Show past events, or follow new ones.
    Events(ServerCommand<EventsOptions>),
    /// List accepted resources of a kind, or show one.
    Get(ServerCommand<GetOptions>),
    /// Show one accepted resource with its proposals, audit entries and events.
    Describe(ServerCommand<DescribeOptions>),
    /// Change a resource directly in Windlass (causes drift).
    Set(ServerCommand<SetOptions>),
    /// Delete a resource directly in Windlass (causes drift).
    Delete(ServerCommand<DeleteOptions>),
    /// Show, check and replace the approval policy.
    Policy(ServerCommandGroup<PolicyCommand>),
    /// Read and verify the audit log.
    Audit(ServerCommandGroup<AuditCommand>),
    /// Create and revoke API tokens.
    Token(ServerCommandGroup<TokenCommand>),
    /// Add people and set their roles.
    User(ServerCommandGroup<UserCommand>),
    /// Accept and decline invitations to accounts; list and revoke the account's own.
    Invitation(ServerCommandGroup<InvitationCommand>),
    /// List and create accounts.
    Account(ServerCommandGroup<AccountCommand>),
    /// Serve the server's tools to an MCP client, over standard input and output.
    ///
    /// For clients that start their own servers. Uses your session or WINDLASS_TOKEN; prefer a separate token, created
    /// with `windlass token create NAME --for mcp`. Clients that support HTTP do not need this command: they connect to
    /// the server at /mcp.
    Mcp(ServerCommand<NoOptions>),
    /// Stop applying in the account until `windlass resume`.
    Halt(ServerCommand<HaltOptions>),
    /// Resume applying after a halt.
    Resume(ServerCommand<NoOptions>),
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    /// Arguments of a command and all below it that take the name of a shared option.
    fn taken(command: &Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        let shared = ["server", "token", "account", "output"];
        let own = command.get_arguments().filter(|argument| !argument.is_global_set());
        found.extend(
            own.filter(|argument| shared.contains(&argument.get_id().as_str()))
                .map(|argument| format!("{path} {}", argument.get_id())),
        );
        command.get_subcommands().for_each(|inner| taken(inner, &path, found));
    }

    #[test]
    fn no_command_takes_the_name_of_a_shared_option_by_accident() {
        let mut command = crate::args::Arguments::command();
        command.build();
        let mut found = Vec::new();
        taken(&command, "", &mut found);
        // `validate` asks no server, `plan` only if it is told to, and `repo move` means the account it moves to.
        assert_eq!(
            found,
            [
                " windlass validate account",
                " windlass plan server",
                " windlass plan account",
                " windlass repo move account"
            ]
        );
    }
}
