//! Builds the packages of modules: reads the files that a module names from the mirror of its repository, by git's ids of
//! their content, and stores them as blobs.
//!
//! Each module content is built once. A module whose files cannot be read has no package: its nodes keep what they have,
//! with the reason, and Windlass retries.

use std::collections::BTreeMap;
use std::path::PathBuf;

use windlass_core::assign::ApprovedFleet;
use windlass_core::content::{ContentId, ContentKind, FileSide};
use windlass_core::host::{BlobDigest, BlobRef, MAX_PACKAGE_BYTES, ModulePackage};
use windlass_core::id::AccountId;
use windlass_core::value::RepositoryPath;
use windlass_source::{Mirror, Objects as _};
use windlass_store::{ModulePackageRow, NewBlob, PackageContent, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::assign::fleet::LoadedFleet;
use crate::flow::assign::versions::{ModuleContent, add_unavailable, add_version};

/// The largest file of a module.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The largest size of all files of a module together.
const MAX_FILES_BYTES: u64 = 256 << 20;

/// zstd's default: higher levels cost far more time than they save.
const COMPRESSION_LEVEL: i32 = 3;

/// The fleet with the content of its modules. Builds and stores the packages that are missing.
pub(crate) async fn build_packages(
    server: &Control,
    account_id: &AccountId,
    loaded: LoadedFleet,
) -> Result<ApprovedFleet, StoreError> {
    let LoadedFleet { mut fleet, modules, .. } = loaded;
    for version in modules.add_to(&mut fleet) {
        match build_package(server, account_id, &version).await? {
            Ok(package) => add_version(&mut fleet, &version, package),
            Err(reason) => {
                let module = version.module.as_str();
                tracing::warn!(
                    account_id = account_id.as_str(),
                    module,
                    reason,
                    "cannot build a module's package"
                );
                add_unavailable(&mut fleet, &version, reason);
            }
        }
    }
    Ok(fleet)
}

/// The fleet with the content of its modules, for showing: nothing is stored. Modules whose files cannot be read say so.
pub(crate) fn fleet_to_show(loaded: LoadedFleet) -> ApprovedFleet {
    let LoadedFleet { mut fleet, modules, .. } = loaded;
    for version in modules.add_to(&mut fleet) {
        match package_to_show(&version) {
            Ok(package) => add_version(&mut fleet, &version, package),
            Err(reason) => add_unavailable(&mut fleet, &version, reason),
        }
    }
    fleet
}

/// Builds one package and stores its blobs, each in a transaction of its own. The error is the reason for people.
async fn build_package(
    server: &Control,
    account_id: &AccountId,
    version: &ModuleContent,
) -> Result<Result<ModulePackage, String>, StoreError> {
    let mut files = BTreeMap::new();
    let mut room = MAX_FILES_BYTES;
    for wanted in wanted_files(version) {
        let path = wanted.path.clone();
        let file = match read_on_blocking_thread(version.mirrors.clone(), wanted, room).await {
            Ok(file) => file,
            Err(reason) => return Ok(Err(unreadable(version, &path, &reason))),
        };
        room = room.saturating_sub(file.size);
        files.insert(path, BlobRef { digest: file.digest, size: file.size });
        store_blob(server, file).await?;
    }
    let package = version.package(files.clone());
    let bytes = package.to_bytes();
    if bytes.len() > MAX_PACKAGE_BYTES {
        let reason = format!("module {} is longer than {} MiB", version.module, MAX_PACKAGE_BYTES >> 20);
        return Ok(Err(reason));
    }
    let Some(blob) = compressed(&bytes) else {
        return Ok(Err(format!("cannot compress the content of module {}", version.module)));
    };
    let row = ModulePackageRow {
        module: version.module.clone(),
        digest: version.digest,
        content: PackageContent { package: blob.digest, files },
    };
    let mut writing = server.store().write().await?;
    writing.blob_put(blob).await?;
    writing.module_package_put(account_id, &row, now()).await?;
    writing.commit().await?;
    Ok(Ok(package))
}

async fn store_blob(server: &Control, blob: NewBlob) -> Result<(), StoreError> {
    let mut writing = server.store().write().await?;
    writing.blob_put(blob).await?;
    writing.commit().await
}

fn package_to_show(version: &ModuleContent) -> Result<ModulePackage, String> {
    let mut files = BTreeMap::new();
    let mut room = MAX_FILES_BYTES;
    for wanted in wanted_files(version) {
        let bytes = read_file(&version.mirrors, &wanted, room)
            .map_err(|reason| unreadable(version, &wanted.path, &reason))?;
        let size = bytes.len() as u64;
        room = room.saturating_sub(size);
        files.insert(wanted.path, BlobRef { digest: BlobDigest::of(&bytes), size });
    }
    Ok(version.package(files))
}

fn unreadable(version: &ModuleContent, path: &str, reason: &str) -> String {
    format!("cannot read {path} of module {}: {reason}", version.module)
}

/// A file that a module names.
struct WantedFile {
    path: String,
    content: Option<ContentId>,
}

fn wanted_files(version: &ModuleContent) -> Vec<WantedFile> {
    let sources = version.spec.host.iter().flat_map(|host| host.files.values());
    let sources = sources.filter_map(|file| file.source.as_ref());
    let wanted: BTreeMap<&str, &RepositoryPath> = sources.map(|path| (path.as_str(), path)).collect();
    wanted
        .into_iter()
        .map(|(path, named)| WantedFile { path: path.to_owned(), content: named.content() })
        .collect()
}

async fn read_on_blocking_thread(
    mirrors: Vec<PathBuf>,
    wanted: WantedFile,
    room: u64,
) -> Result<NewBlob, String> {
    let task = tokio::task::spawn_blocking(move || {
        let bytes = read_file(&mirrors, &wanted, room)?;
        compressed(&bytes).ok_or_else(|| "it cannot be compressed".to_owned())
    });
    task.await.unwrap_or_else(|panic| {
        tracing::error!(error = %panic, "a task panicked");
        Err("see the server's log".to_owned())
    })
}

/// The bytes of a file, from the first mirror that has them.
fn read_file(mirrors: &[PathBuf], wanted: &WantedFile, room: u64) -> Result<Vec<u8>, String> {
    let content = wanted.content.ok_or("its content was not known when the module was accepted")?;
    if content.kind() == ContentKind::Tree {
        return Err("it is a directory".to_owned());
    }
    let limit = MAX_FILE_BYTES.min(room);
    for objects in mirrors.iter().filter_map(|directory| Mirror::objects_in(directory)) {
        match objects.file(content.as_bytes(), limit) {
            Ok(Some(FileSide::Bytes(bytes))) => return Ok(bytes),
            Ok(Some(FileSide::Large(_))) if limit < MAX_FILE_BYTES => {
                return Err(format!("the files of the module are larger than {} MiB", MAX_FILES_BYTES >> 20));
            }
            Ok(Some(FileSide::Large(_))) => {
                return Err(format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20));
            }
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("no copy of a repository has this content; the next sync may fetch it again".to_owned())
}

fn compressed(bytes: &[u8]) -> Option<NewBlob> {
    let stored = zstd::bulk::compress(bytes, COMPRESSION_LEVEL).ok()?;
    Some(NewBlob { digest: BlobDigest::of(bytes), size: bytes.len() as u64, stored })
}
