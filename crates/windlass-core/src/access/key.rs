//! Checks whether a server's secret key belongs to its database.

/// How a server's secret key relates to its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAdmission {
    /// The database has no key yet: this is the first.
    First,
    /// It is the database's key.
    Same,
    /// The database's key is this server's previous key: the key was rotated.
    Rotated,
    /// The database belongs to another key.
    Foreign,
}

/// Compares the fingerprint in the database with those of the server's current and previous key.
pub fn admit_key(known: Option<&str>, current: &str, previous: Option<&str>) -> KeyAdmission {
    match known {
        None => KeyAdmission::First,
        Some(known) if known == current => KeyAdmission::Same,
        Some(known) if Some(known) == previous => KeyAdmission::Rotated,
        Some(_) => KeyAdmission::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_admitted_if_it_is_the_first_the_same_or_follows_the_one_before() {
        assert_eq!(admit_key(None, "a", None), KeyAdmission::First);
        assert_eq!(admit_key(Some("a"), "a", Some("z")), KeyAdmission::Same);
        assert_eq!(admit_key(Some("a"), "b", Some("a")), KeyAdmission::Rotated);
        assert_eq!(admit_key(Some("b"), "a", None), KeyAdmission::Foreign);
        assert_eq!(admit_key(Some("c"), "b", Some("a")), KeyAdmission::Foreign);
    }
}
