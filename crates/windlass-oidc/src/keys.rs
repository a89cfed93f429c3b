//! The provider's signing keys. A token that names an unknown key causes one more fetch, limited in rate so that such
//! tokens cannot cause many requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use url::Url;

use crate::client::ProviderClient;
use crate::error::OidcError;

/// A provider revokes a key by no longer listing it, so the list is fetched again after this time.
const KEYS_TTL: Duration = Duration::from_secs(3600);

/// Unknown keys cause a new fetch no more often than this.
const MIN_REFETCH_INTERVAL: Duration = Duration::from_secs(30);

/// More than any provider has. A token that names no key is checked against each.
const MAX_KEYS: usize = 64;

/// The keys that sign ID tokens.
#[derive(Debug, Default)]
pub(crate) struct JsonWebKeys(Vec<Jwk>);

impl JsonWebKeys {
    /// Reads a key set. Keys that are not for signing, or of an unknown type, are skipped.
    pub(crate) fn read(set: &Value) -> Option<JsonWebKeys> {
        let listed = set.get("keys")?.as_array()?.iter().take(MAX_KEYS);
        let keys = listed.filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
        let signs = |key: &Jwk| {
            let purpose = key.common.public_key_use.as_ref();
            purpose.is_none_or(|purpose| *purpose == PublicKeyUse::Signature)
        };
        Some(JsonWebKeys(keys.filter(signs).collect()))
    }

    /// The keys that can have made a signature with this algorithm; only the named key, if the token names one.
    pub(crate) fn matching_keys(&self, name: Option<&str>, algorithm: Algorithm) -> Vec<DecodingKey> {
        let is_named = |key: &&Jwk| name.is_none_or(|name| key.common.key_id.as_deref() == Some(name));
        let is_for =
            |key: &&Jwk| key.common.key_algorithm.is_none_or(|named| named == KeyAlgorithm::from(algorithm));
        // A symmetric key in a public list is not secret, so a signature with it proves nothing.
        let is_public = |key: &&Jwk| !matches!(key.algorithm, AlgorithmParameters::OctetKey(_));
        let keys = self.0.iter().filter(is_named).filter(is_for).filter(is_public);
        keys.filter_map(|key| DecodingKey::from_jwk(key).ok())
            .filter(|key| key.family().algorithms().contains(&algorithm))
            .collect()
    }
}

/// The keys of the last fetch.
#[derive(Debug, Default)]
pub(crate) struct KeyCache {
    cached: Option<(Instant, Arc<JsonWebKeys>)>,
    last_refetch: Option<Instant>,
}

impl KeyCache {
    /// The keys, fetched if none are cached or the cache has expired.
    pub(crate) async fn keys(
        &mut self,
        client: &ProviderClient,
        url: &Url,
    ) -> Result<Arc<JsonWebKeys>, OidcError> {
        match &self.cached {
            Some((at, keys)) if at.elapsed() < KEYS_TTL => Ok(Arc::clone(keys)),
            _ => self.fetch(client, url).await,
        }
    }

    /// The keys, fetched again unless a fetch was just attempted.
    pub(crate) async fn fresh_keys(
        &mut self,
        client: &ProviderClient,
        url: &Url,
    ) -> Result<Option<Arc<JsonWebKeys>>, OidcError> {
        if self.last_refetch.is_some_and(|at| at.elapsed() < MIN_REFETCH_INTERVAL) {
            return Ok(None);
        }
        self.last_refetch = Some(Instant::now());
        self.fetch(client, url).await.map(Some)
    }

    async fn fetch(&mut self, client: &ProviderClient, url: &Url) -> Result<Arc<JsonWebKeys>, OidcError> {
        let what = "key set";
        let set = client.get(what, url).await?;
        let keys = Arc::new(JsonWebKeys::read(&set).ok_or(OidcError::Unreadable { what })?);
        self.cached = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }
}
