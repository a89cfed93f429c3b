//! People, tokens, accounts, the overview and the audit log, for people.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use windlass_api::types::{
    AccountInfo, AuditInfo, AuditVerdict, CheckpointInfo, InvitationInfo, JoinedAccount, Me,
    ReceivedInvitation, Status, TokenCreated, TokenInfo, UserAdded, UserCreated, UserInfo,
};

use super::table::Table;
use super::time::{relative, relative_or_never};
use super::{Terminal, facts, pluralize, sanitize_for_terminal, short};

const BOLD: Style = Style::new().bold();

/// Prints who signed in.
pub(crate) fn welcome(me: &Me, server: &str, expires_at: &str) -> io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(
        out,
        "Signed in to {} until {}.",
        sanitize_for_terminal(server),
        sanitize_for_terminal(expires_at)
    )?;
    write_me(&mut out, me)?;
    writeln!(out, "\nTry `windlass status`.")
}

/// Prints who is asking.
pub(crate) fn me(me: &Me, server: &str) -> io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{BOLD}{}{BOLD:#} at {}", sanitize_for_terminal(&me.email), sanitize_for_terminal(server))?;
    write_me(&mut out, me)
}

fn write_me(out: &mut impl io::Write, me: &Me) -> io::Result<()> {
    let others: Vec<&str> =
        me.accounts.iter().map(String::as_str).filter(|name| *name != me.account_name).collect();
    let may: Vec<&str> = me.permissions.iter().map(|permission| permission.slug()).collect();
    facts(
        out,
        &[
            ("account", format!("{} ({})", me.account_name, me.account_id)),
            ("role", me.role.to_string()),
            ("token", me.token_name.clone().unwrap_or_default()),
            ("permissions", if may.is_empty() { "none".to_owned() } else { may.join(", ") }),
            ("installation", if me.is_root { "administrator".to_owned() } else { String::new() }),
            ("other accounts", others.join(", ")),
        ],
    )
}

/// Prints the account at a glance.
pub(crate) fn status(status: &Status, server: &str) -> io::Result<()> {
    let mut out = anstream::stdout();
    let (account, server, version) = (
        sanitize_for_terminal(&status.account.name),
        sanitize_for_terminal(server),
        sanitize_for_terminal(&status.version),
    );
    writeln!(out, "{BOLD}{account}{BOLD:#} at {server}, version {version}")?;
    if let Some(halt) = &status.account.halted {
        let red = AnsiColor::Red.on_default().bold();
        let (by, reason) = (sanitize_for_terminal(&halt.by), sanitize_for_terminal(&halt.reason));
        writeln!(out, "{red}HALTED{red:#} by {by} {}: {reason}", relative(&halt.at))?;
    }
    let counted = |counts: &std::collections::BTreeMap<String, usize>| {
        let parts: Vec<String> = counts.iter().map(|(name, number)| format!("{number} {name}")).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    };
    let repositories = match status.repositories_failed.as_slice() {
        [] => pluralize(status.repositories, "repository").replace("repositorys", "repositories"),
        failed => format!("{}, last sync failed: {}", status.repositories, failed.join(", ")),
    };
    facts(
        &mut out,
        &[
            ("repositories", repositories),
            ("resources", counted(&status.resources)),
            ("open proposals", counted(&status.proposals)),
            ("drifted", status.drifted.to_string()),
        ],
    )?;
    if status.waiting_for.is_empty() {
        return writeln!(out, "\nNothing is blocked.");
    }
    writeln!(out, "\n{BOLD}Blocked on{BOLD:#}")?;
    status.waiting_for.iter().try_for_each(|reason| writeln!(out, "  - {}", sanitize_for_terminal(reason)))
}

/// Prints whether an account is halted.
pub(crate) fn halted(account: &AccountInfo) -> io::Result<()> {
    let name = sanitize_for_terminal(&account.name);
    match &account.halted {
        Some(halt) => {
            let red = AnsiColor::Red.on_default().bold();
            let mut out = anstream::stdout();
            writeln!(
                out,
                "{red}{name} is halted{red:#} by {}: {}",
                sanitize_for_terminal(&halt.by),
                sanitize_for_terminal(&halt.reason)
            )?;
            writeln!(out, "Windlass applies nothing until `windlass resume`.")
        }
        None => super::line(&format!("{name}: applying resumed")),
    }
}

/// Prints the policy alone: what is printed can be edited and set.
pub(crate) fn policy(policy: &Value) -> io::Result<()> {
    let has_rules = policy["rules"].as_array().is_some_and(|rules| !rules.is_empty());
    if has_rules {
        return super::yaml::document(policy);
    }
    super::note("No rules: every change needs one approval.")?;
    super::line("rules: []")
}

/// Prints API tokens.
pub(crate) fn tokens(tokens: &[TokenInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ID", "NAME", "STATUS", "MAY", "CREATED BY", "EXPIRES", "LAST USED"]);
    for token in tokens {
        let state = if token.revoked_at.is_some() { "revoked" } else { "active" };
        let may: Vec<&str> = token.permissions.iter().map(|permission| permission.slug()).collect();
        table.row([
            short(&token.id),
            token.name.clone(),
            state.to_owned(),
            may.join(" "),
            token.created_by.clone(),
            relative_or_never(token.expires_at.as_ref()),
            relative_or_never(token.last_used_at.as_ref()),
        ]);
    }
    table.print(terminal, "no tokens; create one with `windlass token create NAME`")
}

/// Prints a token that was made, with its secret.
pub(crate) fn token_created(created: &TokenCreated) -> io::Result<()> {
    let may: Vec<&str> = created.token.permissions.iter().map(|permission| permission.slug()).collect();
    let expires = relative_or_never(created.token.expires_at.as_ref());
    super::note(&format!("{}: {}; expires {expires}", created.token.name, may.join(", ")))?;
    super::note("The secret is shown only once:")?;
    super::line(&created.secret)
}

/// Prints someone who was added, or invited.
pub(crate) fn user_added(added: &UserAdded) -> io::Result<()> {
    match (&added.user, &added.invitation) {
        (Some(user), _) => {
            let one_time_password = added.one_time_password.clone();
            user_changed(&UserCreated { user: user.clone(), one_time_password })
        }
        (None, Some(invitation)) => {
            let (email, role) = (sanitize_for_terminal(&invitation.email), invitation.role);
            let expires = relative(&invitation.expires_at);
            super::line(&format!("invited {email} as {role}; the invitation expires {expires}"))?;
            super::note("To accept, they sign in to their own account and run `windlass invitation list`.")
        }
        (None, None) => Ok(()),
    }
}

/// Prints the invitations of the account.
pub(crate) fn invitations(invitations: &[InvitationInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["EMAIL", "ROLE", "INVITED BY", "EXPIRES"]);
    for invitation in invitations {
        table.row([
            invitation.email.clone(),
            invitation.role.to_string(),
            invitation.invited_by.clone(),
            relative(&invitation.expires_at),
        ]);
    }
    table.print(
        terminal,
        "no open invitations; invite a user of another account with `windlass user add EMAIL`",
    )
}

/// Prints the accounts that ask someone to join.
pub(crate) fn received_invitations(received: &[ReceivedInvitation], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ACCOUNT", "ROLE", "INVITED BY", "EXPIRES"]);
    for invitation in received {
        table.row([
            invitation.account.clone(),
            invitation.role.to_string(),
            invitation.invited_by.clone(),
            relative(&invitation.expires_at),
        ]);
    }
    table.print(terminal, "no invitations")
}

/// Prints an account that was joined.
pub(crate) fn joined(joined: &JoinedAccount) -> io::Result<()> {
    super::line(&format!("you are now {} in {}", joined.role, sanitize_for_terminal(&joined.account)))?;
    super::note("Sign in to that account to use it.")
}

/// Prints people.
pub(crate) fn users(users: &[UserInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["EMAIL", "NAME", "ROLE", "STATUS", "SINCE"]);
    for user in users {
        let state = if user.disabled { "disabled" } else { "active" };
        table.row([
            user.email.clone(),
            user.name.clone(),
            user.role.to_string(),
            state.to_owned(),
            relative(&user.created_at),
        ]);
    }
    table.print(terminal, "no users")
}

/// Prints someone who was added or changed, with their one-time password if there is one.
pub(crate) fn user_changed(changed: &UserCreated) -> io::Result<()> {
    let user = &changed.user;
    let state = if user.disabled { ", disabled" } else { "" };
    super::note(&format!("{} is {}{state}", user.email, user.role))?;
    match &changed.one_time_password {
        Some(password) => {
            super::note(
                "The one-time password is shown only once and must be changed at the first sign-in:",
            )?;
            super::line(password)
        }
        None => Ok(()),
    }
}

/// Prints accounts.
pub(crate) fn accounts(accounts: &[AccountInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["NAME", "ID", "STATUS", "SINCE"]);
    for account in accounts {
        let state = if account.halted.is_some() { "halted" } else { "active" };
        table.row([
            account.name.clone(),
            account.id.clone(),
            state.to_owned(),
            relative(&account.created_at),
        ]);
    }
    table.print(terminal, "no accounts")
}

/// Prints an account that was made.
pub(crate) fn account_created(account: &AccountInfo, server: &str) -> io::Result<()> {
    super::line(&format!("created account {} ({})", account.name, account.id))?;
    super::note(&format!("Sign in to it with `windlass login {server} --account {}`.", account.name))
}

/// Prints entries of the audit log.
pub(crate) fn audit(entries: &[AuditInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["NUMBER", "WHEN", "WHO", "ACTION", "TARGET", "OUTCOME", "FROM"]);
    for entry in entries {
        table.row([
            entry.seq.to_string(),
            relative(&entry.at),
            entry.actor.clone(),
            entry.action.clone(),
            format!("{}/{}", entry.target_kind, entry.target),
            entry.outcome.clone(),
            entry.address.clone().unwrap_or_default(),
        ]);
    }
    table.print(terminal, "no entries")
}

/// Prints what checking the audit log found.
pub(crate) fn audit_verdict(verdict: &AuditVerdict) -> io::Result<()> {
    let mut out = anstream::stdout();
    if verdict.intact {
        let green = AnsiColor::Green.on_default().bold();
        writeln!(out, "{green}✓{green:#} {} entries, all unchanged", verdict.entries)?;
    } else {
        let red = AnsiColor::Red.on_default().bold();
        let at = verdict.broken_at.map_or_else(|| "an unknown entry".to_owned(), |at| format!("entry {at}"));
        let reason = verdict.reason.clone().unwrap_or_default();
        writeln!(out, "{red}✗{red:#} the log is invalid at {at}: {}", sanitize_for_terminal(&reason))?;
    }
    if verdict.intact {
        let signed = match verdict.signed_to {
            Some(seq) => {
                format!("{}, the last at entry {seq}", pluralize(verdict.checkpoints, "signed checkpoint"))
            }
            None => "no signed checkpoint yet".to_owned(),
        };
        writeln!(out, "  {signed}")?;
    }
    if let Some(seq) = verdict.archived_to {
        writeln!(out, "  entries up to {seq} are archived: verify the archives with --archive")?;
    }
    match &verdict.head {
        Some(head) => writeln!(out, "  last entry {}", sanitize_for_terminal(head)),
        None => Ok(()),
    }
}

/// Prints signed checkpoints.
pub(crate) fn checkpoints(checkpoints: &[CheckpointInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ENTRY", "HEAD", "SIGNED", "KEY"]);
    for checkpoint in checkpoints {
        table.row([
            checkpoint.seq.to_string(),
            checkpoint.head.clone(),
            relative(&checkpoint.at),
            checkpoint.key_id.clone(),
        ]);
    }
    table.print(terminal, "no checkpoints; create one with `windlass audit checkpoint`")
}

/// Prints a checkpoint to keep elsewhere.
pub(crate) fn checkpoint(checkpoint: &CheckpointInfo) -> io::Result<()> {
    super::note(&format!("entry {} is signed with key {}", checkpoint.seq, checkpoint.key_id))?;
    super::note("Store its hash elsewhere; `windlass audit verify --expect HASH` checks for it:")?;
    super::line(&checkpoint.head)
}
