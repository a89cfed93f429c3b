//! Deletes packages of modules and blobs that nothing refers to any more.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::Notify;
use windlass_core::host::{BlobDigest, NodeDocument};
use windlass_core::id::AccountId;
use windlass_core::resource::ResourceKey;
use windlass_store::{ModulePackageRow, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::assign::versions::catalogue_versions;
use crate::pace::run_periodically;

/// How often Windlass searches for them. Each search reads the document of every assignment.
const INTERVAL: Duration = Duration::from_secs(6 * 3600);

/// A package that was made less than this ago may be about to be assigned.
const KEPT_NEW: Duration = Duration::from_secs(24 * 3600);

/// Documents that are read at once.
const PAGE: usize = 500;

/// Blobs that are marked or deleted in one transaction.
const AT_ONCE: usize = 1_000;

pub(crate) async fn run_loop(server: Control) {
    run_periodically(&server, "blobs", &Notify::new(), INTERVAL, sweep).await;
}

/// Deletes packages of content that is neither accepted nor assigned, and blobs of no package.
pub async fn sweep(server: &Control) -> Result<(), StoreError> {
    let now = now();
    let assigned = assigned_packages(server).await?;
    let SearchedPackages { blobs: kept, unused } = search_packages(server, &assigned).await?;
    let mut writing = server.store().write().await?;
    writing.module_packages_remove(&unused, now.minus(KEPT_NEW)).await?;
    writing.commit().await?;
    // Blobs of packages that are removed now are marked by the next search: if one of these packages is accepted at this
    // moment, it is built again long before its blobs are deleted.
    let mut marks = server.store().read().await?.blob_marks().await?;
    marks.retain(|mark| !kept.contains(&mark.digest));
    for chunk in marks.chunks(AT_ONCE) {
        let mut writing = server.store().write().await?;
        writing.blobs_sweep(chunk, now).await?;
        writing.commit().await?;
    }
    Ok(())
}

/// The packages in the documents of all assignments: targets that cannot get a new one keep their earlier packages.
async fn assigned_packages(server: &Control) -> Result<BTreeSet<BlobDigest>, StoreError> {
    let mut packages = BTreeSet::new();
    let mut after: Option<(AccountId, ResourceKey)> = None;
    loop {
        let page = server.store().read().await?.assignment_documents(after.as_ref(), PAGE).await?;
        let Some((account_id, target, _)) = page.last() else { return Ok(packages) };
        after = Some((account_id.clone(), target.clone()));
        for (_, _, document) in &page {
            let document = NodeDocument::from_bytes(document.as_bytes());
            packages
                .extend(document.iter().flat_map(|document| &document.modules).map(|module| module.package));
        }
    }
}

/// What a search found.
struct SearchedPackages {
    /// The blobs of all packages.
    blobs: BTreeSet<BlobDigest>,
    /// The packages that nothing refers to.
    unused: Vec<(AccountId, ModulePackageRow)>,
}

async fn search_packages(
    server: &Control,
    assigned: &BTreeSet<BlobDigest>,
) -> Result<SearchedPackages, StoreError> {
    let catalogue = catalogue_versions(&BTreeSet::new());
    let is_built_in = |row: &ModulePackageRow| {
        catalogue.iter().any(|version| version.module == row.module && version.digest == row.digest)
    };
    let mut found = SearchedPackages { blobs: BTreeSet::new(), unused: Vec::new() };
    for (account_id, row, is_accepted) in server.store().read().await?.module_packages_all().await? {
        found.blobs.insert(row.content.package);
        found.blobs.extend(row.content.files.values().map(|blob| blob.digest));
        if !(is_accepted || assigned.contains(&row.content.package) || is_built_in(&row)) {
            found.unused.push((account_id, row));
        }
    }
    Ok(found)
}
