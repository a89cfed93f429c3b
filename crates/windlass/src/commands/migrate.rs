//! `windlass migrate`: brings the schema of a database up to date without starting a server, or says what that would do.

use windlass_store::{PendingMigration, Store};

use super::data::{address_of, lock_embedded, require_existing, store_error};
use super::serve::runtime;
use crate::args::operate::MigrateOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(crate) fn run(options: &MigrateOptions) -> Result<Exit, CommandError> {
    let address = address_of(&options.data)?;
    require_existing(&address)?;
    let runtime = runtime()?;
    let state = runtime.block_on(Store::schema_state(&address)).map_err(store_error)?;
    if state.pending.is_empty() {
        let applied = view::pluralize(state.applied, "migration");
        view::line(&format!("up to date: {applied} applied, checksums match"))?;
        return Ok(Exit::Fine);
    }
    if options.check {
        print_all("pending", &state.pending)?;
        view::line(&format!("{} pending", view::pluralize(state.pending.len(), "migration")))?;
        view::note("Back up the database, stop every server on it, then run `windlass migrate`.")?;
        return Ok(Exit::Changes);
    }
    let _lock = lock_embedded(&options.data, &address)?;
    runtime.block_on(async {
        Store::open(&address).await.map_err(store_error)?.close().await;
        Ok::<_, CommandError>(())
    })?;
    print_all("applied", &state.pending)?;
    Ok(Exit::Fine)
}

fn print_all(word: &str, migrations: &[PendingMigration]) -> std::io::Result<()> {
    for migration in migrations {
        view::line(&format!("  {word}  {:04} {}", migration.number, migration.name))?;
    }
    Ok(())
}
