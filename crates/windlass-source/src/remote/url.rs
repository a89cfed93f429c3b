//! The address of a remote, parsed and checked before it is used.
//!
//! An address must not be interpretable as an option or as a transport that runs programs, and must not contain
//! credentials; each of these has caused vulnerabilities in git. So there are only four schemes, and each part allows
//! few characters.

use std::fmt;

/// A longer address is a mistake or an attack.
const MAX_CHARS: usize = 512;

/// The scheme of a remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteScheme {
    /// `https://`
    Https,
    /// `ssh://` or `user@host:path`
    Ssh,
    /// `http://`, only where insecure addresses are allowed.
    Http,
    /// `file://`, only where insecure addresses are allowed.
    File,
}

impl RemoteScheme {
    /// The text before `://`.
    pub fn as_str(self) -> &'static str {
        match self {
            RemoteScheme::Https => "https",
            RemoteScheme::Ssh => "ssh",
            RemoteScheme::Http => "http",
            RemoteScheme::File => "file",
        }
    }
}

/// Whether `http://` and `file://` are accepted. For tests and demonstrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsecureUrls {
    /// Only https and ssh.
    Refused,
    /// Also plain http and local directories.
    Allowed,
}

/// Why a text is not the address of a remote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteUrlError {
    /// The text is empty.
    #[error("the repository URL is empty")]
    Empty,
    /// The text is too long.
    #[error("the repository URL has more than {MAX_CHARS} characters")]
    TooLong,
    /// It contains a control character, a space or a character that is not ASCII.
    #[error("the repository URL contains a character that is not printable ASCII")]
    Unprintable,
    /// The scheme is never accepted.
    #[error("the scheme of the repository URL is not supported")]
    Scheme,
    /// The scheme is accepted only where insecure addresses are allowed.
    #[error("{0}:// is not allowed for repositories")]
    Insecure(&'static str),
    /// It contains a password, a token, or a user where none is allowed.
    #[error("the repository URL contains credentials")]
    Credentials,
    /// The host is missing or not valid.
    #[error("the host of the repository URL is missing or not a host name")]
    Host,
    /// The user is not valid.
    #[error("the user in the repository URL is not a user name")]
    User,
    /// The port is not a number between 1 and 65535.
    #[error("the port of the repository URL is not a port")]
    Port,
    /// The path is missing, or could be taken for an option.
    #[error("the path of the repository URL is missing or not a path of a repository")]
    Path,
}

impl RemoteUrlError {
    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            RemoteUrlError::Empty | RemoteUrlError::Scheme => {
                "use https://host/path.git, ssh://git@host/path.git or git@host:path.git"
            }
            RemoteUrlError::TooLong => "check for text pasted by mistake",
            RemoteUrlError::Unprintable => {
                "remove spaces and line breaks; write other characters percent-encoded"
            }
            RemoteUrlError::Insecure(_) => {
                "use https or ssh; a server for tests accepts it when started with --allow-insecure-git"
            }
            RemoteUrlError::Credentials => {
                "remove them from the URL, store them in Vault and set the Vault path as the repository's credential"
            }
            RemoteUrlError::Host => {
                "a host name consists of letters, digits, dots and dashes, and does not begin \
                with a dash"
            }
            RemoteUrlError::User => {
                "a user name consists of letters, digits, dots, dashes and underscores, and does not begin with a \
                    dash"
            }
            RemoteUrlError::Port => "a port is a number between 1 and 65535",
            RemoteUrlError::Path => {
                "write the repository's path on the host, without a leading `-` and without `?` and `#`"
            }
        }
    }
}

/// The address of a remote. It contains no password, and it is displayed without its user.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    text: String,
    scheme: RemoteScheme,
    user: Option<String>,
    host: String,
    port: Option<u16>,
    path: String,
}

impl RemoteUrl {
    /// Parses and checks an address.
    pub fn parse(text: &str, insecure: InsecureUrls) -> Result<RemoteUrl, RemoteUrlError> {
        if text.is_empty() {
            return Err(RemoteUrlError::Empty);
        }
        if text.chars().count() > MAX_CHARS {
            return Err(RemoteUrlError::TooLong);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RemoteUrlError::Unprintable);
        }
        let Some((scheme, rest)) = text.split_once("://") else { return parse_scp(text) };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => RemoteScheme::Https,
            "ssh" => RemoteScheme::Ssh,
            "http" => RemoteScheme::Http,
            "file" => RemoteScheme::File,
            _ => return Err(RemoteUrlError::Scheme),
        };
        if insecure == InsecureUrls::Refused && matches!(scheme, RemoteScheme::Http | RemoteScheme::File) {
            return Err(RemoteUrlError::Insecure(scheme.as_str()));
        }
        parse_rest(text, scheme, rest)
    }

    /// The address as it was written, with the user of an ssh address. For storage, not for display.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The scheme.
    pub fn scheme(&self) -> RemoteScheme {
        self.scheme
    }

    /// The user of an ssh address.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host, an IPv6 address without its brackets; empty for `file://`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if the address has one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The port of the address, or the default port of its scheme.
    pub fn effective_port(&self) -> u16 {
        self.port.unwrap_or(match self.scheme {
            RemoteScheme::Https => 443,
            RemoteScheme::Http => 80,
            RemoteScheme::Ssh | RemoteScheme::File => 22,
        })
    }

    /// The repository's path on the host: percent-decoded for ssh and file, unchanged for https and http.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.as_str())?;
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let separator = if self.path.starts_with('/') { "" } else { "/" };
        write!(f, "{separator}{}", self.path)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({self})")
    }
}

/// `user@host:path`, as git writes ssh addresses.
fn parse_scp(text: &str) -> Result<RemoteUrl, RemoteUrlError> {
    let (login, rest) = text.rsplit_once('@').map_or((None, text), |(user, rest)| (Some(user), rest));
    let (host, path) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]:").ok_or(RemoteUrlError::Scheme)?,
        None => rest.split_once(':').ok_or(RemoteUrlError::Scheme)?,
    };
    // `ext::…` and `fd::…` name transports that run programs; `C:\…` and `./a:b` are paths.
    if path.starts_with(':') || host.contains(['/', '\\']) {
        return Err(RemoteUrlError::Scheme);
    }
    let user = login.map(check_user).transpose()?;
    Ok(RemoteUrl {
        text: text.to_owned(),
        scheme: RemoteScheme::Ssh,
        user,
        host: check_host(host)?,
        port: None,
        path: check_path(path)?,
    })
}

fn parse_rest(text: &str, scheme: RemoteScheme, rest: &str) -> Result<RemoteUrl, RemoteUrlError> {
    let slash = rest.find('/').ok_or(RemoteUrlError::Path)?;
    let (authority, path) = rest.split_at(slash);
    let (login, place) =
        authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
    let user = match (scheme, login) {
        (_, None) => None,
        (RemoteScheme::Ssh, Some(user)) if !user.contains(':') => Some(check_user(user)?),
        _ => return Err(RemoteUrlError::Credentials),
    };
    if scheme == RemoteScheme::File {
        if !authority.is_empty() {
            return Err(RemoteUrlError::Host);
        }
        let path = check_path(&decode_percent(path).ok_or(RemoteUrlError::Path)?)?;
        return Ok(RemoteUrl { text: text.to_owned(), scheme, user, host: String::new(), port: None, path });
    }
    let (host, port) = split_port(place)?;
    let path = match scheme {
        RemoteScheme::Ssh => {
            let decoded = decode_percent(path).ok_or(RemoteUrlError::Path)?;
            // As in git: `ssh://host/~user/repo` is below that user's home directory.
            check_path(decoded.strip_prefix('/').filter(|rest| rest.starts_with('~')).unwrap_or(&decoded))?
        }
        _ => check_web_path(path)?,
    };
    Ok(RemoteUrl { text: text.to_owned(), scheme, user, host: check_host(host)?, port, path })
}

fn split_port(place: &str) -> Result<(&str, Option<u16>), RemoteUrlError> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(RemoteUrlError::Host)?;
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return Err(RemoteUrlError::Host),
            }
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        None => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().ok().filter(|port| *port != 0).ok_or(RemoteUrlError::Port)?)
        }
        Some(_) => return Err(RemoteUrlError::Port),
    };
    Ok((host, port))
}

fn check_host(host: &str) -> Result<String, RemoteUrlError> {
    let is_address = host.contains(':') && host.parse::<std::net::Ipv6Addr>().is_ok();
    let is_name = !host.is_empty()
        && host.len() <= 253
        && !host.starts_with(['-', '.'])
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if is_address || is_name { Ok(host.to_ascii_lowercase()) } else { Err(RemoteUrlError::Host) }
}

fn check_user(user: &str) -> Result<String, RemoteUrlError> {
    if user.contains(':') {
        return Err(RemoteUrlError::Credentials);
    }
    let is_name = !user.is_empty()
        && !user.starts_with('-')
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte));
    if is_name { Ok(user.to_owned()) } else { Err(RemoteUrlError::User) }
}

fn check_path(path: &str) -> Result<String, RemoteUrlError> {
    let is_name = path.trim_matches('/').starts_with(|first| first != '-')
        && !path.starts_with('-')
        && !path.chars().any(char::is_control);
    if is_name { Ok(path.to_owned()) } else { Err(RemoteUrlError::Path) }
}

fn check_web_path(path: &str) -> Result<String, RemoteUrlError> {
    let hides_control =
        decode_percent(path).ok_or(RemoteUrlError::Path)?.chars().any(|char| char.is_control());
    if path.contains(['?', '#', '\\', '@']) || hides_control {
        return Err(RemoteUrlError::Path);
    }
    check_path(path)
}

/// `None` if an escape is incomplete or the result is not UTF-8.
fn decode_percent(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        decoded.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
