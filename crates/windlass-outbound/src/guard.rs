//! Resolves host names to addresses that the server may connect to.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use tokio::sync::Semaphore;
use windlass_core::address_guard::{AddressClass, AddressRules};

/// Why the server does not connect to a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name has no address.
    #[error("could not resolve the host name `{host}`")]
    NotFound {
        /// Which host.
        host: String,
    },
    /// The rules refuse one of the host's addresses.
    #[error("`{host}` resolves to {class}, which this server does not connect to")]
    Refused {
        /// Which host.
        host: String,
        /// The class of the refused address.
        class: AddressClass,
    },
}

impl ResolveError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            ResolveError::NotFound { .. } => "dns",
            ResolveError::Refused { .. } => "address-refused",
        }
    }

    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            ResolveError::NotFound { .. } => "check the host name and this server's DNS",
            ResolveError::Refused { .. } => {
                "use another host; an operator can allow this one with --allow-address HOST"
            }
        }
    }
}

/// Resolves a name: the system's resolver, or a function in tests.
pub type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Resolves names and refuses those with an address that the rules refuse.
#[derive(Clone)]
pub struct AddressGuard {
    rules: Arc<AddressRules>,
    lookup: Lookup,
}

impl std::fmt::Debug for AddressGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Guard").field(&self.rules).finish()
    }
}

impl AddressGuard {
    /// A guard with the system's resolver.
    pub fn new(rules: AddressRules) -> AddressGuard {
        AddressGuard::with_lookup(rules, Arc::new(system_lookup))
    }

    /// A guard with a resolver of the caller's choice.
    pub fn with_lookup(rules: AddressRules, lookup: Lookup) -> AddressGuard {
        AddressGuard { rules: Arc::new(rules), lookup }
    }

    /// The rules that addresses are checked against.
    pub fn rules(&self) -> &AddressRules {
        &self.rules
    }

    /// The same resolver with other rules.
    pub fn with_rules(&self, rules: AddressRules) -> AddressGuard {
        AddressGuard::with_lookup(rules, Arc::clone(&self.lookup))
    }

    /// Every address of a host; fails if the rules refuse one of them. Blocks while the name is resolved.
    pub fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
        let found = self.addresses(host, Some(port))?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// [`AddressGuard::resolve`] on a thread that may block.
    pub async fn resolve_async(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
        let (guard, name) = (self.clone(), host.to_owned());
        let resolved = run_lookup(move || guard.resolve(&name, port)).await;
        resolved.unwrap_or_else(|| Err(ResolveError::NotFound { host: host.to_owned() }))
    }

    /// Checks an IP address that was written in a URL, so that no name is resolved.
    pub(crate) fn check(&self, host: &str, port: Option<u16>, address: IpAddr) -> Result<(), ResolveError> {
        self.rules
            .check(host, port, address)
            .map_err(|class| ResolveError::Refused { host: host.to_owned(), class })
    }

    /// One refused address refuses the whole host: a name with both public and refused addresses is an attempt to
    /// bypass the check.
    pub(crate) fn addresses(&self, host: &str, port: Option<u16>) -> Result<Vec<IpAddr>, ResolveError> {
        let not_found = || ResolveError::NotFound { host: host.to_owned() };
        let found = (self.lookup)(host).map_err(|_| not_found())?;
        if found.is_empty() {
            return Err(not_found());
        }
        found.iter().try_for_each(|address| self.check(host, port, *address))?;
        Ok(found)
    }
}

/// How many names are resolved at the same time. The owner of a name can make its resolution slow; slow lookups must
/// not take all the threads that password hashing and git also need.
const MAX_LOOKUPS: usize = 64;

static LOOKUP_PERMITS: Semaphore = Semaphore::const_new(MAX_LOOKUPS);

/// Runs a lookup on a thread that may block. The lookup holds its permit until it ends, even if the caller stopped
/// waiting. Returns `None` if the thread panicked.
pub(crate) async fn run_lookup<T: Send + 'static>(lookup: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let room = LOOKUP_PERMITS.acquire().await.ok()?;
    let task = tokio::task::spawn_blocking(move || {
        let _room = room;
        lookup()
    });
    task.await.ok()
}

fn system_lookup(host: &str) -> io::Result<Vec<IpAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![address]);
    }
    let mut found: Vec<IpAddr> = Vec::new();
    for address in (host, 0).to_socket_addrs()? {
        if !found.contains(&address.ip()) {
            found.push(address.ip());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use std::sync::atomic::{AtomicUsize, Ordering};

    use windlass_core::address_guard::{AllowedAddress, PrivateAddresses};

    use super::*;

    #[tokio::test]
    async fn slow_name_resolution_takes_no_more_threads_than_its_limit() {
        let running = Arc::new(AtomicUsize::new(0));
        let (finish, finished) = std::sync::mpsc::channel::<()>();
        let finished = std::sync::Mutex::new(finished);
        let lookup = {
            let running = Arc::clone(&running);
            move |_: &str| {
                running.fetch_add(1, Ordering::SeqCst);
                // Blocks until the sender is dropped.
                let _ = finished.lock().unwrap().recv();
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(vec![IpAddr::from([192, 0, 2, 1])])
            }
        };
        let guard = AddressGuard::with_lookup(
            AddressRules::new(Vec::new(), PrivateAddresses::default()),
            Arc::new(lookup),
        );
        let asked: Vec<_> = (0..MAX_LOOKUPS + 20)
            .map(|number| {
                let guard = guard.clone();
                tokio::spawn(async move { guard.resolve_async(&format!("{number}.example.com"), 443).await })
            })
            .collect();
        while running.load(Ordering::SeqCst) < MAX_LOOKUPS {
            tokio::task::yield_now().await;
        }
        assert_eq!(LOOKUP_PERMITS.available_permits(), 0);
        assert_eq!(running.load(Ordering::SeqCst), MAX_LOOKUPS);
        drop(finish);
        for asked in asked {
            assert!(asked.await.unwrap().is_ok());
        }
    }

    #[test]
    fn numbers_that_the_system_takes_for_an_address_are_refused_like_the_address() {
        let guard = AddressGuard::new(AddressRules::default());
        for host in [
            "localhost",
            "LOCALHOST",
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0x7f000001",
            "0177.0.0.1",
            "017700000001",
            "2130706433",
            "0",
            "0.0.0.0",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "0:0:0:0:0:0:0:1",
            "169.254.169.254",
            "2852039166",
            "0xa9fea9fe",
            "0251.0376.0251.0376",
            "fd00:ec2::254",
        ] {
            let refused = guard.resolve(host, 443).unwrap_err();
            assert_eq!(refused.code(), "address-refused", "{host}: {refused}");
        }
    }

    #[test]
    fn a_name_with_one_refused_address_is_refused() {
        let lookup: Lookup =
            Arc::new(|_| Ok(vec!["203.0.113.7".parse().unwrap(), "127.0.0.1".parse().unwrap()]));
        let guard = AddressGuard::with_lookup(AddressRules::default(), lookup);
        assert_eq!(guard.resolve("both.example", 443).unwrap_err().code(), "address-refused");
        let nothing: Lookup = Arc::new(|_| Ok(Vec::new()));
        let guard = AddressGuard::with_lookup(AddressRules::default(), nothing);
        assert_eq!(guard.resolve("none.example", 443).unwrap_err().code(), "dns");
    }

    #[test]
    fn a_name_that_leads_here_the_second_time_is_refused_the_second_time() {
        let asked = AtomicUsize::new(0);
        let lookup: Lookup = Arc::new(move |_| {
            let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
            Ok(vec![if is_first { "203.0.113.7".parse().unwrap() } else { "127.0.0.1".parse().unwrap() }])
        });
        let guard = AddressGuard::with_lookup(AddressRules::default(), lookup);
        assert_eq!(guard.resolve("rebinding.example", 443).unwrap()[0].to_string(), "203.0.113.7:443");
        assert_eq!(guard.resolve("rebinding.example", 443).unwrap_err().code(), "address-refused");
    }

    #[test]
    fn what_the_operator_allows_is_resolved() {
        let allowed = vec![AllowedAddress::parse("localhost:3000").unwrap()];
        let guard = AddressGuard::new(AddressRules::new(allowed, PrivateAddresses::Allowed));
        assert!(!guard.resolve("localhost", 3000).unwrap().is_empty());
        assert_eq!(guard.resolve("localhost", 3001).unwrap_err().code(), "address-refused");
        assert_eq!(guard.resolve("127.0.0.1", 3000).unwrap_err().code(), "address-refused");
    }
}
