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
use super::notify::NotifyCommand;
use super::repository::{CredentialCommand, RepoCommand};
use super::resource::{DeleteOptions, DescribeOptions, EventsOptions, ExportOptions, GetOptions, SetOptions};

/// Which server, as whom, and how to print its answers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerOptions {
    /// The server's address. Default: WINDLASS_SERVER, then the server of the last `windlass login`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// An API token to use instead of the stored sign-in. Better given as WINDLASS_TOKEN: others can see command lines.
    #[arg(long, global = true, value_name = "TOKEN", value_parser = parse_secret)]
    pub(crate) token: Option<Redacted<String>>,

    /// The account that is meant, by name or id: nothing is done if you are signed in to another one.
    #[arg(long, global = true, value_name = "ACCOUNT")]
    pub(crate) account: Option<String>,

    /// How to print the answer.
    #[arg(long, short, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Output>,
}

/// The same options before the command. They are not global there: commands without a server do not take them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server (for commands that ask one)")]
pub(crate) struct RootServerOptions {
    /// The server's address. Default: WINDLASS_SERVER, then the server of the last `windlass login`.
    #[arg(id = "root-server", long = "server", value_name = "URL")]
    server: Option<String>,

    /// An API token to use instead of the stored sign-in. Better given as WINDLASS_TOKEN: others can see command lines.
    #[arg(id = "root-token", long = "token", value_name = "TOKEN", value_parser = parse_secret)]
    token: Option<Redacted<String>>,

    /// The account that is meant, by name or id: nothing is done if you are signed in to another one.
    #[arg(id = "root-account", long = "account", value_name = "ACCOUNT")]
    account: Option<String>,

    /// How to print the answer.
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
    /// The server's answer as JSON.
    Json,
    /// The server's answer as YAML.
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
    /// The session is kept in $XDG_CONFIG_HOME/windlass/credentials.json, readable by you alone, one per server. The
    /// server you signed in to last is the one other commands ask. For scripts, make an API token with `windlass token
    /// create` and set WINDLASS_SERVER and WINDLASS_TOKEN instead.
    Login(ServerCommand<LoginOptions>),
    /// End the session and forget it.
    Logout(ServerCommand<NoOptions>),
    /// Tell who you are and what you may do.
    Whoami(ServerCommand<NoOptions>),
    /// Show the account at a glance, and what is waited for.
    Status(ServerCommand<NoOptions>),
    /// Register, test and change repositories.
    Repo(ServerCommandGroup<RepoCommand>),
    /// See which credentials repositories can use. What is kept there is never shown.
    Credential(ServerCommandGroup<CredentialCommand>),
    /// Sync a repository now and show what it proposes.
    Sync(ServerCommand<SyncOptions>),
    /// Look at sync runs.
    Run(ServerCommandGroup<RunCommand>),
    /// Review, approve, reject and edit proposals.
    Proposal(ServerCommandGroup<ProposalCommand>),
    /// Apply what is approved, now.
    ///
    /// Approved proposals are applied by themselves; this does not wait for their turn and tells what came of each.
    Apply(ServerCommand<ApplyOptions>),
    /// Show what was changed by hand, and decide what becomes of it.
    ///
    /// Exits with 2 when something drifted. Each drifted resource can be reverted (a proposal makes it what git says),
    /// adopted (the accepted state is written into git) or accepted (it is meant, until a date).
    Drift(ServerCommand<DriftOptions>),
    /// Write accepted state as fleet.yaml.
    Export(ServerCommand<ExportOptions>),
    /// Test where notifications go, see what became of them, and send them again.
    ///
    /// Where they go and which events they tell are resources: notification_providers and alerts, in fleet.yaml or by
    /// `windlass set`.
    Notify(ServerCommandGroup<NotifyCommand>),
    /// Show what happened, or follow what happens.
    Events(ServerCommand<EventsOptions>),
    /// List accepted resources of a kind, or show one.
    Get(ServerCommand<GetOptions>),
    /// Tell everything about one accepted resource.
    Describe(ServerCommand<DescribeOptions>),
    /// Change an accepted resource by hand. It will show as drift.
    Set(ServerCommand<SetOptions>),
    /// End an accepted resource by hand. It will show as drift.
    Delete(ServerCommand<DeleteOptions>),
    /// Show, check and replace the approval policy.
    Policy(ServerCommandGroup<PolicyCommand>),
    /// Read and verify the audit log.
    Audit(ServerCommandGroup<AuditCommand>),
    /// Make and revoke API tokens.
    Token(ServerCommandGroup<TokenCommand>),
    /// Add people and say what they may do.
    User(ServerCommandGroup<UserCommand>),
    /// See, accept and decline invitations to accounts; see and take back those of the account.
    Invitation(ServerCommandGroup<InvitationCommand>),
    /// List and make accounts.
    Account(ServerCommandGroup<AccountCommand>),
    /// Offer the server's tools to an MCP client, over standard input and output.
    ///
    /// For clients that start their servers themselves. Asks the server as you, or with WINDLASS_TOKEN: better a token of
    /// its own, made with `windlass token create NAME --for mcp`. Clients that speak HTTP need none of this: the server
    /// answers them at /mcp.
    Mcp(ServerCommand<NoOptions>),
    /// Pull the kill switch: nothing is applied until someone resumes.
    Halt(ServerCommand<HaltOptions>),
    /// Apply again after a halt.
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
