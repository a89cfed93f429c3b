//! `windlass key` and `windlass recover-admin`: on the server's machine.

use windlass_server::{Recovery, RecoveryError, TokenHandling};

use super::confirm::{ConfirmAnswer, Preconfirmed, confirm};
use super::data::{address_of, key_error, open_existing, source_of};
use super::serve::runtime;
use crate::args::keys::{KeyCommand, KeyLocation, RecoverAdminOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(crate) fn run(command: &KeyCommand) -> Result<Exit, CommandError> {
    match command {
        KeyCommand::Show { at } => show(at),
        KeyCommand::Rotate { overlap, at } => {
            let source = source_of(&at.key)?;
            let rotated = windlass_server::rotate_key(&source, &at.data.data_dir, *overlap);
            let rotated = rotated.map_err(key_error)?;
            if let Some(text) = &rotated.text {
                view::note("Give every server this value, and keep it secret:")?;
                // The only place it can be had from: the environment cannot be changed from here.
                view::line(text.expose())?;
            }
            let (key, until) = (&rotated.fingerprint, rotated.until);
            view::note(&format!("the secret key is now {key}; the old key is valid until {until}"))?;
            view::note("Restart every server, and replace each webhook's secret at its forge by then.")?;
            Ok(Exit::Fine)
        }
        KeyCommand::Reset { yes, at } => reset(at, (*yes).into()),
    }
}

fn show(at: &KeyLocation) -> Result<Exit, CommandError> {
    let source = source_of(&at.key)?;
    let found = windlass_server::fingerprint_of(&source, &at.data.data_dir);
    let found = found.map_err(key_error)?;
    view::line(found.as_deref().unwrap_or("no secret key exists yet"))?;
    let address = address_of(&at.data)?;
    runtime()?.block_on(async {
        let store = open_existing(&address).await?;
        let checked = windlass_server::check_key(&store, &source, &at.data.data_dir).await;
        store.close().await;
        checked.map_err(key_error)
    })?;
    Ok(Exit::Fine)
}

fn reset(at: &KeyLocation, asked: Preconfirmed) -> Result<Exit, CommandError> {
    let question = "All sessions end and every webhook needs a new secret. Replace the secret key?";
    if confirm(question, asked)? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let source = source_of(&at.key)?;
    let address = address_of(&at.data)?;
    let directory = &at.data.data_dir;
    let fingerprint = runtime()?.block_on(async {
        let store = open_existing(&address).await?;
        let reset = windlass_server::reset_key(&store, &source, directory).await;
        store.close().await;
        reset.map_err(key_error)
    })?;
    view::line(&format!("the secret key is now {fingerprint}"))?;
    view::note("Start the servers with it, and replace each webhook's secret at its forge.")?;
    Ok(Exit::Fine)
}

/// Makes or repairs the administrator's login and prints it.
pub(crate) fn recover_admin(options: &RecoverAdminOptions) -> Result<Exit, CommandError> {
    let address = address_of(&options.data)?;
    let wanted = Recovery {
        email: options.email.clone(),
        account: options.in_account.clone(),
        tokens: if options.keep_tokens { TokenHandling::Keep } else { TokenHandling::End },
    };
    let login = runtime()?.block_on(async {
        let store = open_existing(&address).await?;
        let recovered = windlass_server::recover_admin(&store, &wanted).await;
        store.close().await;
        recovered
            .map_err(|error| CommandError::failed(error.to_string(), recovery_help(&error)).because(error))
    })?;
    view::line("Sign in once with this password and choose your own:")?;
    view::line(&format!("  account   {}", login.account))?;
    view::line(&format!("  email     {}", login.email))?;
    // Printed here and never again: it works once and is stored nowhere.
    view::line(&format!("  password  {}", login.password.expose()))?;
    Ok(Exit::Fine)
}

fn recovery_help(error: &RecoveryError) -> &'static str {
    match error {
        RecoveryError::Sso { .. } => {
            "choose another address with --email; a new address creates a new administrator"
        }
        RecoveryError::Email { .. } => "write for example ada@example.com",
        RecoveryError::Account { .. } => "choose one with --in-account; `windlass serve` creates the first",
        RecoveryError::Password => "the system's random number generator failed",
        RecoveryError::Store(_) => "check --data-dir and --database",
    }
}
