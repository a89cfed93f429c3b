//! Single sign-on with OpenID Connect: the authorization code flow with PKCE.
//!
//! The result is a [`ProviderIdentity`]: a person whose identity the provider has proved. `auth::sso` decides which
//! user that is and what they may do. No text of a provider is shown to users unchanged.

pub mod attempt;
pub mod claims;
pub mod client;
pub mod error;
pub mod keys;
pub mod provider;
pub mod settings;
pub mod token;

use crate::attempt::SignInAttempt;
use crate::claims::ProviderIdentity;
use crate::error::{OidcError, TokenFault, error_code_word};
use crate::keys::KeyCache;
use crate::provider::{ClientAuthMethod, IssuerInResponse, Provider};

use crate::client::ProviderClient;
use crate::settings::OidcSettings;
use crate::settings::OidcSettingsError;
use crate::settings::ProviderLocation;
use crate::token::ExpectedClaims;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;
use tokio::sync::Mutex;
use url::Url;
use url::form_urlencoded::Serializer;
use windlass_core::access::Role;
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;

/// The callback path.
pub(crate) const CALLBACK: &str = "/app/sign-in/oidc/callback";

/// The discovery document is fetched no more often than this.
const DISCOVERY_TTL: Duration = Duration::from_secs(3600);

/// How long to wait after a failed discovery.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(2);

/// A longer authorization code is rejected.
const MAX_CODE: usize = 4096;

/// The role that members of a group get in an account.
#[derive(Clone, Debug)]
pub struct GroupGrant {
    /// The group at the provider.
    pub group: String,
    /// The role it grants.
    pub role: Role,
    /// The account.
    pub account_id: AccountId,
}

/// The query of the callback request.
#[derive(Debug, Default)]
pub struct CallbackQuery {
    state: Option<String>,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

impl CallbackQuery {
    /// Reads a query string. `None` if a parameter occurs twice.
    pub fn read(query: &str) -> Option<CallbackQuery> {
        let mut answer = CallbackQuery::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let place = match name.as_ref() {
                "state" => &mut answer.state,
                "code" => &mut answer.code,
                "iss" => &mut answer.iss,
                "error" => &mut answer.error,
                _ => continue,
            };
            if place.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        Some(answer)
    }
}

type DiscoveredProvider = Result<Arc<Provider>, OidcError>;

/// The result of the last discovery, with its time.
type CachedProvider = Option<(Instant, DiscoveredProvider)>;

/// A single sign-on provider.
#[derive(Debug)]
pub struct Oidc {
    settings: OidcSettings,
    grants: Vec<GroupGrant>,
    redirect_uri: String,
    location: ProviderLocation,
    client: ProviderClient,
    cached: Mutex<CachedProvider>,
    keys: Mutex<KeyCache>,
}

impl Oidc {
    /// Creates a provider without sending a request. `origin` is the URL at which browsers reach this server.
    pub fn new(
        settings: OidcSettings,
        grants: Vec<GroupGrant>,
        origin: &str,
    ) -> Result<Oidc, OidcSettingsError> {
        let location = settings.check()?;
        let client = ProviderClient::new(&settings, location)?;
        let redirect_uri = format!("{origin}{CALLBACK}");
        let (cached, keys) = (Mutex::default(), Mutex::default());
        Ok(Oidc { settings, grants, redirect_uri, location, client, cached, keys })
    }

    /// The settings.
    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// The roles that groups grant.
    pub fn grants(&self) -> &[GroupGrant] {
        &self.grants
    }

    /// Begins a sign-in: returns the URL to send the browser to, and the cookie value it must keep.
    pub async fn begin(
        &self,
        key: &[u8],
        next: &str,
        account: Option<&str>,
        now: Timestamp,
    ) -> Result<(Url, String), OidcError> {
        let provider = self.provider().await?;
        let attempt = SignInAttempt::new(&self.settings.issuer, next, account, now);
        let mut url = provider.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", &self.settings.scope())
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok((url, attempt.to_cookie(key)))
    }

    /// The sign-in in a cookie that was signed with one of these keys.
    pub fn open_attempt<'k>(
        &self,
        cookie: Option<&str>,
        mut keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<SignInAttempt, OidcError> {
        let open = |value| keys.find_map(|key| SignInAttempt::open(value, key, &self.settings.issuer));
        cookie.and_then(open).ok_or(OidcError::NoAttempt)
    }

    /// Completes a sign-in and returns who signed in.
    pub async fn finish(
        &self,
        attempt: &SignInAttempt,
        answer: &CallbackQuery,
    ) -> Result<ProviderIdentity, OidcError> {
        if !attempt.has_state(answer.state.as_deref().unwrap_or_default()) {
            return Err(OidcError::State);
        }
        if answer.iss.as_ref().is_some_and(|iss| *iss != self.settings.issuer) {
            return Err(OidcError::CallbackIssuer);
        }
        if let Some(error) = &answer.error {
            return Err(OidcError::Denied { code: error_code_word(error) });
        }
        let provider = self.provider().await?;
        if provider.issuer_in_response == IssuerInResponse::Always && answer.iss.is_none() {
            return Err(OidcError::CallbackIssuer);
        }
        let code = answer.code.as_deref().filter(|code| !code.is_empty() && code.len() <= MAX_CODE);
        let code = code.ok_or(OidcError::State)?;
        let token = self.exchange(&provider, code, &attempt.verifier).await?;
        let claims = self.verify(&provider, &token, &attempt.nonce).await?;
        claims::read(&claims, &self.settings.groups_claim)
    }

    /// The provider, discovered if it is not cached or the cache has expired. Only one task at a time asks it.
    async fn provider(&self) -> DiscoveredProvider {
        let mut cached = self.cached.lock().await;
        if let Some((at, found)) = &*cached {
            let good_for = if found.is_ok() { DISCOVERY_TTL } else { RETRY_AFTER_FAILURE };
            if at.elapsed() < good_for {
                return found.clone();
            }
        }
        let found = self.discover().await;
        *cached = Some((Instant::now(), found.clone()));
        found
    }

    async fn discover(&self) -> DiscoveredProvider {
        let url = provider::discovery_url(&self.settings.issuer)?;
        let document = self.client.get("discovery document", &url).await?;
        provider::read(document, &self.settings.issuer, self.location).map(Arc::new)
    }

    /// Exchanges an authorization code for the ID token.
    async fn exchange(&self, provider: &Provider, code: &str, verifier: &str) -> Result<String, OidcError> {
        let what = "token endpoint";
        let secret = self.settings.client_secret().map_err(|error| OidcError::Secret(error.to_string()))?;
        let id = self.settings.client_id.as_str();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", verifier),
        ];
        let mut login = None;
        match (&secret, provider.client_auth) {
            (None, _) => fields.push(("client_id", id)),
            (Some(secret), ClientAuthMethod::Form) => {
                fields.extend([("client_id", id), ("client_secret", secret.expose().as_str())]);
            }
            // The standard requires both to be form-encoded before they are joined.
            (Some(secret), ClientAuthMethod::Header) => {
                login = Some((form_encoded(id), form_encoded(secret.expose())));
            }
        }
        let login = login.as_ref().map(|(name, password)| (name.as_str(), password.as_str()));
        let form = Serializer::new(String::new()).extend_pairs(fields).finish();
        let answer = self.client.post(what, &provider.token, form, login).await?;
        let json = answer.json.unwrap_or_default();
        let text = |name: &str| json.get(name).and_then(Value::as_str);
        match (answer.status, text("id_token"), text("error")) {
            (200, Some(token), _) => Ok(token.to_owned()),
            (200, None, _) => Err(OidcError::Unreadable { what }),
            (_, _, Some(code @ ("invalid_client" | "unauthorized_client"))) => {
                Err(OidcError::Client { code: error_code_word(code) })
            }
            (400..=499, _, Some(code)) => Err(OidcError::Code { code: error_code_word(code) }),
            (status, ..) => Err(OidcError::Status { what, status }),
        }
    }

    /// Verifies an ID token. If its key is unknown, the keys are fetched once more.
    async fn verify(
        &self,
        provider: &Provider,
        token: &str,
        nonce: &str,
    ) -> Result<serde_json::Map<String, Value>, OidcError> {
        let expected =
            ExpectedClaims { issuer: &self.settings.issuer, client_id: &self.settings.client_id, nonce };
        let mut key_cache = self.keys.lock().await;
        let keys = key_cache.keys(&self.client, &provider.jwks).await?;
        match token::verify(token, &keys, expected) {
            Err(TokenFault::Key) => match key_cache.fresh_keys(&self.client, &provider.jwks).await? {
                Some(keys) => Ok(token::verify(token, &keys, expected)?),
                None => Err(TokenFault::Key.into()),
            },
            verified => Ok(verified?),
        }
    }
}

fn form_encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
