//! The location of a repository on its forge, from its clone URL.

use std::fmt;

use super::ForgeKind;

/// A longer name is a mistake or an attack.
const MAX_CHARS: usize = 255;

/// Host and path of a repository, from its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryLocation {
    /// The host, in lower case, an IPv6 address in brackets.
    pub host: String,
    /// The scheme of its web pages: `http` if the repository's URL is http, otherwise `https`.
    pub web_scheme: &'static str,
    /// The port of an http address, if it was written.
    pub web_port: Option<u16>,
    /// The owner: a person, an organisation, or a group with its subgroups.
    pub owner: String,
    /// The name of the repository, without `.git`.
    pub name: String,
}

/// A repository on a forge: `owner/name`, where GitLab's owner may have several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    owner: String,
    name: String,
}

/// Finds host, owner and name in an `https`, `http`, `ssh` or `user@host:path` address.
pub fn repository_location(repo_url: &str) -> Option<RepositoryLocation> {
    let (host, web_scheme, web_port, path) = match repo_url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/')?;
            let (host, port) = split_port(authority.rsplit('@').next()?)?;
            match scheme.to_ascii_lowercase().as_str() {
                "https" => (host, "https", port, path),
                "http" => (host, "http", port, path),
                "ssh" => (host, "https", None, path),
                _ => return None,
            }
        }
        None => {
            let rest = repo_url.rsplit_once('@').map_or(repo_url, |(_, rest)| rest);
            let (host, path) = match rest.starts_with('[') {
                true => rest.split_once("]:").map(|(host, path)| (rest.get(..=host.len()), path))?,
                false => rest.split_once(':').map(|(host, path)| (Some(host), path))?,
            };
            (host?, "https", None, path)
        }
    };
    let project = Project::parse(path.trim_matches('/').trim_end_matches(".git"))?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if host.is_empty() || !host.chars().all(is_host) {
        return None;
    }
    let host = host.to_ascii_lowercase();
    Some(RepositoryLocation { host, web_scheme, web_port, owner: project.owner, name: project.name })
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[after..].split_once(':') {
        Some((rest, port)) => Some((&authority[..after + rest.len()], Some(port.parse().ok()?))),
        None => Some((authority, None)),
    }
}

impl Project {
    /// Reads `owner/name`, or `group/subgroup/name`.
    pub fn parse(text: &str) -> Option<Project> {
        let (owner, name) = text.rsplit_once('/')?;
        let fits = |part: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '~');
            !part.is_empty() && part != "." && part != ".." && part.chars().all(is_plain)
        };
        let is_short = text.chars().count() <= MAX_CHARS;
        (is_short && owner.split('/').all(fits) && fits(name))
            .then(|| Project { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// The project at a location. On forges whose owners have one part, further parts before it are the path where the
    /// forge is installed: `https://example.com/gitea/acme/fleet`.
    pub fn at(kind: ForgeKind, repository: &RepositoryLocation) -> Project {
        let owner = match kind {
            ForgeKind::GitLab => repository.owner.as_str(),
            ForgeKind::GitHub | ForgeKind::Gitea => repository.owner.rsplit('/').next().unwrap_or_default(),
        };
        Project { owner: owner.to_owned(), name: repository.name.clone() }
    }

    /// The owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name of the repository.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_owner_and_name_are_found_in_every_way_to_write_an_address() {
        for (url, host, port, owner, name) in [
            ("https://github.com/acme/fleet.git", "github.com", None, "acme", "fleet"),
            ("https://github.com/acme/fleet/", "github.com", None, "acme", "fleet"),
            ("https://Git.Example.com:8443/acme/fleet", "git.example.com", Some(8443), "acme", "fleet"),
            ("ssh://git@git.example.com:2222/acme/fleet.git", "git.example.com", None, "acme", "fleet"),
            (
                "git@gitea.example.com:acme/fleet-config.git",
                "gitea.example.com",
                None,
                "acme",
                "fleet-config",
            ),
            ("git@gitlab.com:group/sub/deep/fleet.git", "gitlab.com", None, "group/sub/deep", "fleet"),
            ("https://[2001:db8::1]:3000/a/b", "[2001:db8::1]", Some(3000), "a", "b"),
            ("git@[2001:db8::1]:a/b.git", "[2001:db8::1]", None, "a", "b"),
        ] {
            let repository = repository_location(url).expect(url);
            assert_eq!(
                (repository.host.as_str(), repository.web_port, repository.web_scheme),
                (host, port, "https"),
                "{url}"
            );
            assert_eq!((repository.owner.as_str(), repository.name.as_str()), (owner, name), "{url}");
        }
    }

    #[test]
    fn what_is_on_no_forge_or_could_lead_elsewhere_has_no_place() {
        for url in [
            "file:///srv/fleet",
            "https://github.com/fleet",
            "https://github.com/",
            "https://github.com/acme/../fleet",
            "https://github.com/acme/%2e%2e",
            "https://github.com/acme/fleet?x=1",
            "https://ho st/acme/fleet",
            "https://host:port/acme/fleet",
            "nonsense",
            "",
        ] {
            assert_eq!(repository_location(url), None, "{url}");
        }
    }

    #[test]
    fn only_gitlab_has_groups_in_groups() {
        let repository = repository_location("https://example.com/gitea/acme/fleet.git").expect("a place");
        assert_eq!(Project::at(ForgeKind::Gitea, &repository).to_string(), "acme/fleet");
        assert_eq!(Project::at(ForgeKind::GitLab, &repository).to_string(), "gitea/acme/fleet");
    }
}
