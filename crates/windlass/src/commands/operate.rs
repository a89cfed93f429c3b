//! `windlass backup`, `restore` and `doctor`: looking after a server's data.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_core::display::error_chain;
use windlass_server::TlsFiles;
use windlass_store::{Address, InstallationCheck, Store, StoreError};

use super::data::{address_of, open_existing, require_existing, source_of, store_error};
use super::serve::runtime;
use super::vault;
use crate::args::operate::{BackupOptions, DoctorOptions, RestoreOptions};
use crate::args::vault::VaultOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(crate) fn backup(options: &BackupOptions) -> Result<Exit, CommandError> {
    let address = address_of(&options.data)?;
    runtime()?.block_on(async {
        require_existing(&address)?;
        // A backup before an upgrade is made with the schema that the database has.
        let store = Store::open_unmigrated(&address).await.map_err(store_error)?;
        let written = store.backup(&options.file).await;
        store.close().await;
        written.map_err(|error| CommandError::failed(error.to_string(), "choose another file").because(error))
    })?;
    make_private(&options.file)?;
    let size = fs::metadata(&options.file).map_or(0, |metadata| metadata.len());
    view::line(&format!("wrote {} ({} KiB)", options.file.display(), size / 1024))?;
    Ok(Exit::Fine)
}

/// A backup holds everything the database does.
fn make_private(path: &Path) -> Result<(), CommandError> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(|error| {
        CommandError::failed(
            format!("cannot restrict access to {}", path.display()),
            "check the file system's \
            permissions",
        )
        .because(error)
    })
}

pub(crate) fn restore(options: &RestoreOptions) -> Result<Exit, CommandError> {
    let Address::Sqlite(database) = address_of(&options.data)? else {
        let help = "restore PostgreSQL with pg_restore or psql";
        return Err(CommandError::failed("only the embedded database is restored from a file", help));
    };
    let told =
        |what: &str, error: std::io::Error| CommandError::failed(what, "nothing was changed").because(error);
    let directory = database.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    if !directory.exists() {
        windlass_server::make_private(&directory)
            .map_err(|error| told("cannot create the data directory", error))?;
    }
    let lock = windlass_server::open_lock(&directory).map_err(|error| told("cannot lock", error))?;
    if lock.try_lock().is_err() {
        return Err(CommandError::failed("a running server uses this data", "stop it first"));
    }
    let copy = directory.join("windlass.restoring");
    copy_privately(&options.file, &copy).map_err(|error| told("cannot copy the backup", error))?;
    let checked = check_copy(&copy);
    if let Err(error) = checked {
        let _ = fs::remove_file(&copy);
        return Err(error);
    }
    let aside =
        put_in_place(&database, &copy).map_err(|error| told("cannot move the backup into place", error))?;
    // What was signed since the backup is not in it: from here the server signs anew.
    put_aside(&options.data.data_dir.join("audit-heads.json"))
        .map_err(|error| told("cannot move the signed heads aside", error))?;
    match aside {
        Some(aside) => view::line(&format!("restored; the previous database is now {}", aside.display()))?,
        None => view::line("restored")?,
    }
    tell_key(options)?;
    Ok(Exit::Fine)
}

/// Renames a file that is in the way, if it is there.
fn put_aside(path: &Path) -> std::io::Result<()> {
    match fs::rename(path, format!("{}.before-restore", path.display())) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies a file into one that nobody else could read at any time.
fn copy_privately(from: &Path, to: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut from = File::open(from)?;
    let mut made = fs::OpenOptions::new();
    let mut to = made.write(true).create(true).truncate(true).mode(0o600).open(to)?;
    std::io::copy(&mut from, &mut to)?;
    to.sync_all()
}

/// A backup does not hold the secret key: says what to do if the one at hand is not the backup's.
fn tell_key(options: &RestoreOptions) -> Result<(), CommandError> {
    let (source, address) = (source_of(&options.key)?, address_of(&options.data)?);
    let checked = runtime()?.block_on(async {
        let store = open_existing(&address).await?;
        let checked = windlass_server::check_key(&store, &source, &options.data.data_dir).await;
        store.close().await;
        Ok::<_, CommandError>(checked)
    })?;
    if let Err(error) = checked {
        view::note(&format!("before you start the server: {}", error_chain(&error)))?;
        view::note(error.help())?;
    }
    Ok(())
}

/// A backup is put in place only if it is whole.
fn check_copy(copy: &Path) -> Result<(), CommandError> {
    runtime()?.block_on(async {
        let bad = |message: &str| CommandError::failed(message, "nothing was changed; use another backup");
        let no_backup = |error: StoreError| bad("this is not a backup").because(error);
        let store = Store::open(&Address::Sqlite(copy.to_path_buf())).await.map_err(no_backup)?;
        let checked = store.check().await.map_err(no_backup)?;
        store.close().await;
        match checked.into_iter().find_map(|checked| checked.fault) {
            Some(fault) => Err(bad(&format!("the backup is damaged: {fault}"))),
            None => Ok(()),
        }
    })
}

/// Moves what is there aside, its journal included, and the copy to its place.
fn put_in_place(database: &Path, copy: &Path) -> std::io::Result<Option<PathBuf>> {
    let mut aside = None;
    for suffix in ["", "-wal", "-shm"] {
        let with = |base: &Path, middle: &str| PathBuf::from(format!("{}{middle}{suffix}", base.display()));
        let from = with(database, "");
        if from.exists() {
            let to = with(database, ".before-restore");
            fs::rename(&from, &to)?;
            aside.get_or_insert(to);
        }
    }
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", copy.display()));
    }
    fs::rename(copy, database)?;
    Ok(aside)
}

pub(crate) fn doctor(options: &DoctorOptions) -> Result<Exit, CommandError> {
    let address = address_of(&options.data)?;
    let mut checked = programs();
    checked.extend(directory(&options.data.data_dir));
    checked.extend(options.tls.files().map(|files| certificate_check(&files)));
    checked.extend(vault_check(&options.vault)?);
    checked.extend(runtime()?.block_on(async {
        let store = open_existing(&address).await?;
        let checked = store.check().await.map_err(store_error);
        let source = source_of(&options.key)?;
        let key = windlass_server::check_key(&store, &source, &options.data.data_dir).await;
        let signed = windlass_server::check_checkpoints(&store, &source, &options.data.data_dir).await;
        store.close().await;
        let mut checked = checked?;
        let fault = signed.unwrap_or_else(|error| Some(format!("{}: {}", error_chain(&error), error.help())));
        let what = "the audit logs continue the signed heads".to_owned();
        checked.push(InstallationCheck { what, fault });
        let fault = key.err().map(|error| format!("{}: {}", error_chain(&error), error.help()));
        let what = "the secret key is private and matches this database".to_owned();
        checked.push(InstallationCheck { what, fault });
        Ok::<_, CommandError>(checked)
    })?);
    let mut faults = 0;
    for check in &checked {
        match &check.fault {
            None => view::line(&format!("  ok    {}", check.what))?,
            Some(fault) => {
                faults += 1;
                view::line(&format!("  FAULT {}: {fault}", check.what))?;
            }
        }
    }
    view::line(&match faults {
        0 => "all checks passed".to_owned(),
        count => view::pluralize(count, "fault"),
    })?;
    Ok(if faults == 0 { Exit::Fine } else { Exit::Problems })
}

/// Whether the server could use its certificate and key, as they are now.
fn certificate_check(files: &TlsFiles) -> InstallationCheck {
    let fault = files.check().err().map(|error| error_chain(&error));
    InstallationCheck { what: "the TLS certificate and key are valid".to_owned(), fault }
}

/// Whether Vault, if it is configured, answers and lets the server in.
fn vault_check(options: &VaultOptions) -> Result<Option<InstallationCheck>, CommandError> {
    let Some(credentials) = vault::credentials(options)? else { return Ok(None) };
    let fault = runtime()?.block_on(credentials.keep_alive()).err();
    let fault = fault.map(|error| format!("{}: {}", error_chain(&error), error.help()));
    Ok(Some(InstallationCheck { what: "Vault responds and accepts the login".to_owned(), fault }))
}

/// Programs that some repositories need.
fn programs() -> Vec<InstallationCheck> {
    let check = |program: &str, argument: &str, what: &str| {
        let found = Command::new(program).arg(argument).output().is_ok();
        let fault = (!found).then(|| format!("`{program}` is not installed"));
        InstallationCheck { what: what.to_owned(), fault }
    };
    vec![
        check("git", "--version", "git is installed, for pushing adopted changes and file:// repositories"),
        check("ssh", "-V", "ssh is installed, for repositories over ssh"),
    ]
}

fn directory(path: &Path) -> Vec<InstallationCheck> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(metadata) = fs::metadata(path) else { return Vec::new() };
    let is_open = metadata.permissions().mode() & 0o077 != 0;
    let fault = is_open.then(|| format!("other users can read {}: run chmod 700 on it", path.display()));
    vec![InstallationCheck { what: "the data directory is private".to_owned(), fault }]
}
