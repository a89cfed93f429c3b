//! Names and texts with a meaning for a machine's operating system: packages, accounts, keys, commands.

use std::fmt;

use super::checked_text;
use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

checked_text! {
    /// A package, as apt or dnf know it: `nginx`, `libstdc++6`, `libc6:amd64`.
    PackageName: "a package", Some("^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}(:[a-z0-9]{1,16})?$"), check_package
}

checked_text! {
    /// A user or a group of a machine.
    AccountName: "a user or group", Some("^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$"), check_account
}

checked_text! {
    /// A public key as it stands in `authorized_keys`, without options.
    SshPublicKey: "an SSH public key",
    Some("^(ssh-[a-z0-9-]+|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9-]+@openssh\\.com) [A-Za-z0-9+/]+={0,2}( [^\\n]*)?$"),
    check_public_key
}

checked_text! {
    /// A command that checks a file before it is put in place. `{}` stands for the path of the new file.
    CheckCommand: "a command with `{}` for the file", Some("^[^\\n]*\\{\\}[^\\n]*$"), check_command
}

/// A package and, if it is pinned, its version: `nginx=1.26.3-1`, or `nginx=1.26.*` for the newest that begins so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackagePin {
    /// The package.
    pub name: PackageName,
    /// The version, which may end with `*`.
    pub version: Option<String>,
}

impl fmt::Display for PackagePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}={version}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl TextValue for PackagePin {
    const WHAT: &'static str = "a package, as name or name=version";
    const PATTERN: Option<&'static str> = Some(
        "^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}(:[a-z0-9]{1,16})?(=[A-Za-z0-9][A-Za-z0-9.+:~_-]{0,127}\\*?)?$",
    );

    fn read(text: &str) -> Result<Self, InvalidText> {
        let Some((name, version)) = text.split_once('=') else {
            return Ok(PackagePin { name: PackageName::read(text)?, version: None });
        };
        let name = PackageName::read(name)?;
        let fixed = version.strip_suffix('*').unwrap_or(version);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".+:~_-".contains(&byte);
        let begins_well = fixed.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins_well || fixed.len() > 128 || !fixed.bytes().all(allowed) {
            let message = format!("{} is not the version of a package", quoted(version));
            let help = format!("write it like `{name}=1.26.3-1`, or `{name}=1.26.*`");
            return Err(InvalidText::value(message).help(help));
        }
        Ok(PackagePin { name, version: Some(version.to_owned()) })
    }
}

fn check_package(text: &str) -> Result<(), InvalidText> {
    let (name, architecture) =
        text.split_once(':').map_or((text, None), |(name, architecture)| (name, Some(architecture)));
    let name_is_valid = name.len() <= 128
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+_-".contains(&byte));
    let architecture_is_valid = architecture.is_none_or(|architecture| {
        (1..=16).contains(&architecture.len())
            && architecture.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    if name_is_valid && architecture_is_valid {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a package", quoted(text)))
        .help("write its name as apt or dnf show it, such as `nginx`, or `nginx=1.26.*` to pin its version"))
}

fn check_account(text: &str) -> Result<(), InvalidText> {
    let mut bytes = text.bytes();
    let begins_well = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if begins_well && text.len() <= 64 && bytes.all(allowed) {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a user or group", quoted(text)))
        .help("use at most 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`"))
}

fn check_public_key(text: &str) -> Result<(), InvalidText> {
    let mut parts = text.splitn(3, ' ');
    let (kind, data) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let kind_is_known = kind.starts_with("ssh-")
        || kind.starts_with("ecdsa-sha2-")
        || (kind.starts_with("sk-") && kind.ends_with("@openssh.com"));
    let kind_is_plain = kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-@.".contains(&byte));
    let data_is_base64 = data.len() >= 16
        && data
            .trim_end_matches('=')
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    let one_line = !text.chars().any(char::is_control);
    if kind_is_known && kind_is_plain && data_is_base64 && one_line && text.len() <= 8192 {
        return Ok(());
    }
    Err(InvalidText::value("this is not an SSH public key").help(
        "write one line of a `.pub` file: its type, the key and a comment; options are not allowed here",
    ))
}

fn check_command(text: &str) -> Result<(), InvalidText> {
    let complaint = |message: &str| {
        Err(InvalidText::value(message).help("write a command with `{}` for the file: `nginx -t -c {}`"))
    };
    if text.len() > 1024 || text.chars().any(char::is_control) {
        return complaint("a command is one line of at most 1024 characters");
    }
    if !text.contains("{}") {
        return complaint("the command does not say where the path of the file goes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_pins_read_and_print_the_same() {
        for text in ["nginx", "libstdc++6", "libc6:amd64", "nginx=1.26.3-1", "nginx=1:1.26~rc1*", "a=1.*"] {
            assert_eq!(PackagePin::read(text).unwrap().to_string(), text);
        }
        for text in ["", "-y", "nginx=", "nginx=-o", "a b", "nginx=*", "a=1 b", "nginx:", "../x"] {
            assert!(PackagePin::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_public_key_is_one_line_without_options() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB1kTqJd8Xk2 me@example.com";
        assert!(SshPublicKey::read(key).is_ok());
        for text in [
            "command=\"sh\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA x\nssh-rsa AAAAB3NzaC1yc2EAAAADAQAB",
            "ssh-ed25519",
        ] {
            assert!(SshPublicKey::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn accounts_and_commands_cannot_carry_options() {
        assert!(AccountName::read("deploy").is_ok() && AccountName::read("_apt").is_ok());
        assert!(AccountName::read("-r").is_err() && AccountName::read("a:b").is_err());
        assert!(CheckCommand::read("nginx -t -c {}").is_ok());
        assert!(CheckCommand::read("nginx -t").is_err() && CheckCommand::read("a {}\nb").is_err());
    }
}
