//! Addresses that are accepted, and addresses used in attacks.

use super::*;

#[test]
fn addresses_of_repositories_are_read_in_parts() {
    type Parts<'a> = (&'a str, RemoteScheme, Option<&'a str>, &'a str, Option<u16>, &'a str);
    let table: &[Parts] = &[
        (
            "https://example.com/org/fleet.git",
            RemoteScheme::Https,
            None,
            "example.com",
            None,
            "/org/fleet.git",
        ),
        ("HTTPS://Example.com:8443/fleet", RemoteScheme::Https, None, "example.com", Some(8443), "/fleet"),
        ("https://[2001:db8::1]:8443/fleet", RemoteScheme::Https, None, "2001:db8::1", Some(8443), "/fleet"),
        ("https://example.com/a%20b.git", RemoteScheme::Https, None, "example.com", None, "/a%20b.git"),
        (
            "ssh://git@example.com/fleet.git",
            RemoteScheme::Ssh,
            Some("git"),
            "example.com",
            None,
            "/fleet.git",
        ),
        ("ssh://example.com:2222/a%20b", RemoteScheme::Ssh, None, "example.com", Some(2222), "/a b"),
        (
            "ssh://git@example.com/~ops/fleet",
            RemoteScheme::Ssh,
            Some("git"),
            "example.com",
            None,
            "~ops/fleet",
        ),
        (
            "git@example.com:org/fleet.git",
            RemoteScheme::Ssh,
            Some("git"),
            "example.com",
            None,
            "org/fleet.git",
        ),
        ("git@[::1]:/srv/fleet.git", RemoteScheme::Ssh, Some("git"), "::1", None, "/srv/fleet.git"),
        ("http://localhost:3001/fleet.git", RemoteScheme::Http, None, "localhost", Some(3001), "/fleet.git"),
        ("file:///srv/fleet.git", RemoteScheme::File, None, "", None, "/srv/fleet.git"),
    ];
    for (text, scheme, user, host, port, path) in table {
        let url =
            RemoteUrl::parse(text, InsecureUrls::Allowed).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(
            (url.scheme(), url.user(), url.host(), url.port(), url.path()),
            (*scheme, *user, *host, *port, *path),
            "{text}"
        );
        assert_eq!(url.as_str(), *text);
    }
}

#[test]
fn malicious_repository_urls_are_rejected() {
    let long = format!("https://example.com/{}", "a".repeat(500));
    let table: &[(&str, RemoteUrlError)] = &[
        ("", RemoteUrlError::Empty),
        (&long, RemoteUrlError::TooLong),
        ("https://example.com/a\nb", RemoteUrlError::Unprintable),
        ("https://example.com/a b", RemoteUrlError::Unprintable),
        ("https://ex\u{430}mple.com/a", RemoteUrlError::Unprintable),
        ("https://example.com/\u{1b}[31m", RemoteUrlError::Unprintable),
        ("https://example.com/a%0ahost=evil", RemoteUrlError::Path),
        ("ssh://git@example.com/a%0ab", RemoteUrlError::Path),
        ("https://example.com/%zz", RemoteUrlError::Path),
        ("https://user:password@example.com/a", RemoteUrlError::Credentials),
        ("https://token@example.com/a", RemoteUrlError::Credentials),
        ("ssh://git:password@example.com/a", RemoteUrlError::Credentials),
        ("git:password@example.com:a", RemoteUrlError::Credentials),
        ("ssh://-oProxyCommand=touch%20x/a", RemoteUrlError::Host),
        ("ssh://-oProxyCommand=x@example.com/a", RemoteUrlError::User),
        ("ssh://git@-oProxyCommand=x/a", RemoteUrlError::Host),
        ("-oProxyCommand=x:a", RemoteUrlError::Host),
        ("-u@example.com:a", RemoteUrlError::User),
        ("git@example.com:-a", RemoteUrlError::Path),
        ("git@example.com:--upload-pack=touch", RemoteUrlError::Path),
        ("ssh://git@example.com/--upload-pack=touch", RemoteUrlError::Path),
        ("https://-example.com/a", RemoteUrlError::Host),
        ("https:///a", RemoteUrlError::Host),
        ("https://exa$(x)mple.com/a", RemoteUrlError::Host),
        ("https://example.com", RemoteUrlError::Path),
        ("https://example.com/", RemoteUrlError::Path),
        ("https://example.com/a?b=c", RemoteUrlError::Path),
        ("https://example.com/a#b", RemoteUrlError::Path),
        ("https://example.com:0/a", RemoteUrlError::Port),
        ("https://example.com:99999/a", RemoteUrlError::Port),
        ("https://example.com:+22/a", RemoteUrlError::Port),
        ("ext::sh -c touch", RemoteUrlError::Unprintable),
        ("ext::sh", RemoteUrlError::Scheme),
        ("fd::17", RemoteUrlError::Scheme),
        ("git://example.com/a", RemoteUrlError::Scheme),
        ("ftp://example.com/a", RemoteUrlError::Scheme),
        ("ssh+git://example.com/a", RemoteUrlError::Scheme),
        ("/srv/fleet.git", RemoteUrlError::Scheme),
        ("./a:b", RemoteUrlError::Scheme),
        ("--upload-pack=touch", RemoteUrlError::Scheme),
        ("http://example.com/a", RemoteUrlError::Insecure("http")),
        ("file:///srv/fleet.git", RemoteUrlError::Insecure("file")),
    ];
    for (text, expected) in table {
        let error = RemoteUrl::parse(text, InsecureUrls::Refused).expect_err(text);
        assert_eq!(&error, expected, "{text:?}");
        assert!(!error.help().is_empty());
        assert!(!error.to_string().contains("password"), "{error}");
    }
    assert_eq!(RemoteUrl::parse("file://host/a", InsecureUrls::Allowed), Err(RemoteUrlError::Host));
}

#[test]
fn an_address_prints_without_its_user() {
    let url = RemoteUrl::parse("someone@example.com:org/fleet.git", InsecureUrls::Refused).expect("valid");
    assert_eq!(url.to_string(), "ssh://example.com/org/fleet.git");
    assert_eq!(format!("{url:?}"), "RemoteUrl(ssh://example.com/org/fleet.git)");
}
