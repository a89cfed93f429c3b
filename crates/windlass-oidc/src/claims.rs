//! Reads the claims of an ID token. They are untrusted input: their content comes from a directory that Windlass does
//! not control.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::OidcError;

/// More groups are rejected: no configuration maps that many, and each is compared.
const MAX_GROUPS: usize = 2000;

/// The longest group name in bytes. Some directories write whole paths.
const MAX_GROUP: usize = 1024;

/// The longest subject in characters, as the standard says.
const MAX_SUBJECT: usize = 255;

/// A person as the provider identifies them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// The permanent id of the person at this issuer.
    pub subject: String,
    /// Their e-mail address, as the provider spells it.
    pub email: String,
    /// Whether the provider verified the address.
    pub email_verification: EmailVerification,
    /// The display name.
    pub name: String,
    /// The groups, exactly as spelled.
    pub groups: BTreeSet<String>,
}

/// Whether an e-mail address was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmailVerification {
    /// The provider says that the address belongs to the person.
    Verified,
    /// Nobody verified it.
    Unverified,
}

/// Reads the claims of a verified token.
pub(crate) fn read(claims: &Map<String, Value>, groups_claim: &str) -> Result<ProviderIdentity, OidcError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
    let subject = text("sub");
    let is_plain = |text: &str| !text.chars().any(char::is_control);
    if subject.trim().is_empty() || subject.chars().count() > MAX_SUBJECT || !is_plain(subject) {
        return Err(OidcError::MissingClaim { claim: "sub" });
    }
    let email = text("email").trim();
    if email.is_empty() {
        return Err(OidcError::MissingClaim { claim: "email" });
    }
    Ok(ProviderIdentity {
        subject: subject.to_owned(),
        email: email.to_owned(),
        // Only the JSON value `true` counts: a text "true" may have been typed by the user.
        email_verification: match claims.get("email_verified") {
            Some(Value::Bool(true)) => EmailVerification::Verified,
            _ => EmailVerification::Unverified,
        },
        name: text("name").trim().chars().filter(|c| !c.is_control()).take(100).collect(),
        groups: read_groups(claims, groups_claim)?,
    })
}

fn read_groups(claims: &Map<String, Value>, name: &str) -> Result<BTreeSet<String>, OidcError> {
    let refused = |reason| OidcError::Groups { reason };
    let listed: Vec<&Value> = match claims.get(name) {
        None | Some(Value::Null) => {
            // Entra ID omits the groups if there are too many, and names an endpoint to ask instead.
            let elsewhere = claims.get("_claim_names").and_then(Value::as_object);
            return match elsewhere.is_some_and(|names| names.contains_key(name)) {
                true => Err(refused("there are too many, and the provider left them out")),
                false => Ok(BTreeSet::new()),
            };
        }
        Some(Value::Array(listed)) => listed.iter().collect(),
        // Some providers write a single group as a text.
        Some(one @ Value::String(_)) => vec![one],
        Some(_) => return Err(refused("they are not a list")),
    };
    if listed.len() > MAX_GROUPS {
        return Err(refused("there are too many"));
    }
    let names = listed.into_iter().map(|group| match group {
        Value::String(group) if group.len() <= MAX_GROUP => Ok(group.clone()),
        Value::String(_) => Err(refused("a name is too long")),
        _ => Err(refused("one of them is not a name")),
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(claims: Value) -> Result<ProviderIdentity, String> {
        let Value::Object(claims) = claims else { unreachable!("an object was written") };
        read(&claims, "groups").map_err(|error| error.to_string())
    }

    #[test]
    fn who_has_no_subject_or_no_address_is_nobody() {
        for subject in
            [json!(""), json!("  "), json!(7), json!(null), json!("a\u{0}b"), json!("x".repeat(256))]
        {
            let told = read_json(json!({"sub": subject, "email": "ada@example.com"}));
            assert_eq!(told, Err("the ID token has no usable `sub`".to_owned()), "{subject}");
        }
        for email in [json!(""), json!(" "), json!(["ada@example.com"]), json!(null)] {
            let told = read_json(json!({"sub": "1", "email": email}));
            assert_eq!(told, Err("the ID token has no usable `email`".to_owned()), "{email}");
        }
    }

    #[test]
    fn an_address_is_verified_only_if_that_is_literally_true() {
        for (said, expected) in [
            (json!(true), EmailVerification::Verified),
            (json!("true"), EmailVerification::Unverified),
            (json!(1), EmailVerification::Unverified),
            (json!(false), EmailVerification::Unverified),
            (json!(null), EmailVerification::Unverified),
        ] {
            let read = read_json(json!({"sub": "1", "email": "a@b", "email_verified": said}));
            assert_eq!(read.expect("someone").email_verification, expected, "{said}");
        }
    }

    #[test]
    fn groups_are_a_bounded_list_of_names_as_they_are_spelled() {
        let groups = |value: Value| {
            read_json(json!({"sub": "1", "email": "a@b", "groups": value}))
                .map(|stranger| stranger.groups.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(groups(json!(["ops", "Ops", "ops"])).expect("groups"), ["Ops", "ops"]);
        assert_eq!(groups(json!("ops")).expect("groups"), ["ops"]);
        assert_eq!(groups(json!(null)).expect("none"), Vec::<String>::new());
        let many: Vec<String> = (0..=MAX_GROUPS).map(|n| n.to_string()).collect();
        for hostile in [json!({"ops": true}), json!([["ops"]]), json!([1]), json!(7), json!(many)] {
            assert!(groups(hostile).is_err());
        }
        assert!(groups(json!(["x".repeat(MAX_GROUP + 1)])).is_err());
        let overage = json!({"sub": "1", "email": "a@b", "_claim_names": {"groups": "src1"}});
        assert!(read_json(overage).is_err_and(|told| told.contains("left them out")));
    }
}
