//! Package managers: what is installed and held, and changing it.

mod apt;
mod dnf;
mod recorded;

use windlass_core::value::PackagePin;

use super::error::HostError;
pub use apt::Apt;
pub use dnf::Dnf;
pub use recorded::RecordedPackages;

/// Installs and removes packages.
pub trait PackageManager {
    /// Forgets what it has read about the host. The agent calls this at the start of each run.
    fn forget_observations(&self);
    /// The installed version of a package; `None` if it is not installed.
    fn installed(&self, name: &str) -> Result<Option<String>, HostError>;
    /// Installs packages in one transaction.
    fn install(&self, pins: &[&PackagePin]) -> Result<(), HostError>;
    /// Removes packages in one transaction. It is an error if others would have to go too.
    fn remove(&self, names: &[&str]) -> Result<(), HostError>;
    /// Whether upgrades leave a package as it is.
    fn is_held(&self, name: &str) -> Result<bool, HostError>;
    /// Keeps upgrades from changing a package.
    fn hold(&self, name: &str) -> Result<(), HostError>;
    /// Lets upgrades change a package again.
    fn unhold(&self, name: &str) -> Result<(), HostError>;
}

/// Whether an installed version is what a pin asks for.
pub(crate) fn satisfies(version: &str, pin: &PackagePin) -> bool {
    match pin.version.as_deref() {
        None => true,
        Some(wanted) => match wanted.strip_suffix('*') {
            Some(beginning) => version.starts_with(beginning),
            None => version == wanted,
        },
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::shape::TextValue;

    use super::*;

    #[test]
    fn a_pin_with_a_star_matches_the_beginning_of_a_version() {
        for (version, pin, expected) in [
            ("1.26.3-1", "nginx", true),
            ("1.26.3-1", "nginx=1.26.*", true),
            ("1.27.0-1", "nginx=1.26.*", false),
            ("1.26.3-1", "nginx=1.26.3-1", true),
            ("1.26.3-10", "nginx=1.26.3-1", false),
        ] {
            assert_eq!(satisfies(version, &PackagePin::read(pin).unwrap()), expected, "{version} {pin}");
        }
    }
}
