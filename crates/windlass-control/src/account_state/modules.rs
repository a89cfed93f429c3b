//! The modules of an account and their versions, for pins that select among them.

use windlass_core::catalogue::KnownModules;
use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_store::{Reading, ResourceFilter, StoreError};

/// The kinds that decide which versions there are.
const KINDS: [Kind; 2] = [Kind::Module, Kind::ModuleVersion];

/// Every module version of an account: accepted ones, and those of the catalogue.
pub(crate) async fn load_known_modules(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<KnownModules, StoreError> {
    let mut found = Vec::new();
    for kind in KINDS {
        let filter = ResourceFilter { kind: Some(kind), ..ResourceFilter::default() };
        found.extend(reading.resources_page(account_id, &filter, None, i32::MAX as usize).await?);
    }
    let resources = found.iter().map(|resource| (resource.key.name.as_str(), resource.spec.as_ref()));
    Ok(KnownModules::of_accepted(resources))
}

/// A digest that changes whenever pins may select other versions. Reads no specs.
pub(crate) async fn modules_digest(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<Digest, StoreError> {
    let heads = reading.resource_heads_of_kinds(account_id, &KINDS).await?;
    let mut parts: Vec<&[u8]> = Vec::new();
    for head in &heads {
        parts.extend([head.key.kind.slug().as_bytes(), head.key.name.as_bytes(), head.digest.as_bytes()]);
    }
    Ok(Digest::of_parts(parts))
}

/// A spec that someone wrote, with the versions that its pins select: those of `before` for the same pins, else those that
/// exist now. A request cannot set versions, nor the content of a module version.
pub(crate) async fn with_known_versions(
    reading: &mut Reading,
    account_id: &AccountId,
    key: &ResourceKey,
    spec: Spec,
    before: &[&Spec],
) -> Result<Spec, StoreError> {
    let mut has_pins = key.kind == Kind::ModuleVersion;
    spec.pins(&key.name, &mut |pin| has_pins |= pin.is_floating());
    if !has_pins {
        return Ok(spec);
    }
    let known = load_known_modules(reading, account_id).await?;
    Ok(spec.with_versions_of(&key.name, before, &known))
}
