//! Whether a server's secret key is the one its database is used with.

/// What a database says to a server's secret key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAdmission {
    /// The database has seen no key: this one is its first.
    First,
    /// It is the key the database is used with.
    Same,
    /// The key the database was used with is this server's previous one: the key was rotated.
    Rotated,
    /// The database is used with another key.
    Foreign,
}

/// Compares fingerprints: the one in the database with the server's current and previous key's.
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
