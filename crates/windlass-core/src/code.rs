//! The codes of everything Windlass can complain about, each with the explanation `windlass explain CODE` prints.
//!
//! A code is a promise to scripts: its spelling never changes and it is never used for something else. The table is
//! the only place where a code, its severity and its explanation are written; the reference page is made from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::states::states;

states! {
    /// How much a problem matters.
    ProblemSeverity {
        /// Nothing is planned until this is fixed.
        Error "error",
        /// Worth a look; the fleet is still usable.
        Warning "warning",
    }
}

macro_rules! codes {
    ($($variant:ident $slug:literal $severity:ident: $explanation:literal;)*) => {
        /// What kind of problem this is. The text form (`unknown-key`) is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $explanation] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the reference page.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The stable spelling used in output and on the command line.
            pub const fn slug(self) -> &'static str {
                match self { $(Code::$variant => $slug),* }
            }

            /// Whether the code stops a plan.
            pub const fn severity(self) -> ProblemSeverity {
                match self { $(Code::$variant => ProblemSeverity::$severity),* }
            }

            /// What the code means and what to do about it.
            pub const fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation),* }
            }
        }
    };
}

codes! {
    FileMissing "file-missing" Error:
        "There is no fleet.yaml where one was expected. Windlass reads `fleet.yaml` at the root of the repository or under the repository's path prefix.";
    FileUnreadable "file-unreadable" Error:
        "The file exists but could not be read: permissions, a directory of that name, or a disk error.";
    FileNotRegular "file-not-regular" Error:
        "Symbolic links and submodules are refused, because they can point outside the repository. Put the content itself there.";
    FileTooLarge "file-too-large" Error:
        "A file may hold 1 MiB. A larger one is almost always an accident (binary data was committed); a fleet that really is larger is split with `include`.";
    FilesTooLarge "files-too-large" Error:
        "fleet.yaml and everything it includes may hold 64 MiB together.";
    FilesTooMany "files-too-many" Error:
        "fleet.yaml may include 512 files, by at most as many patterns. Use fewer, larger files.";
    ResourcesTooMany "resources-too-many" Error:
        "One repository may declare 100,000 resources, in files of 4,000,000 values together. Split the fleet over several repositories.";
    TreeTooLarge "tree-too-large" Error:
        "Looking for the files of the fleet costs more than it may: too many directories, directories nested too deep, paths too long, or too much time. Let `include` name the directories that hold the fleet; a repository whose directories repeat or nest without end is an attack.";
    YamlEncoding "yaml-encoding" Error:
        "The file is not valid UTF-8. Save it as UTF-8, without a legacy encoding.";
    YamlControlCharacter "yaml-control-character" Error:
        "The file contains a NUL byte or another control character, which no YAML file needs and which can hide text in a terminal.";
    YamlSyntax "yaml-syntax" Error:
        "The text is not YAML. The place is where the parser could not go on; the mistake is there or on the line before.";
    YamlDepth "yaml-depth" Error:
        "Values may be nested 64 deep.";
    YamlAlias "yaml-alias" Error:
        "An alias refers to itself, to an unknown anchor, or expands into more than a million values.";
    YamlTag "yaml-tag" Error:
        "Only plain YAML types are read: text, numbers, true/false, null, lists and maps. Custom tags are refused; dates need no tag, they stay text.";
    YamlDocuments "yaml-documents" Error:
        "A file holds exactly one YAML document. Split further documents into files of their own and `include` them.";
    YamlDuplicateKey "yaml-duplicate-key" Error:
        "The same key stands twice in one map. Other parsers silently keep the last one; Windlass refuses to guess.";
    YamlKey "yaml-key" Error:
        "A key must be plain text, not a list or a map.";
    UnknownKey "unknown-key" Error:
        "This key is not part of the format here. Unknown keys are errors so that a typing mistake never silently does nothing.";
    MissingKey "missing-key" Error:
        "A key that must be given is not there.";
    WrongType "wrong-type" Error:
        "The value has another type than the field takes: text where a list belongs, a number where a map belongs.";
    BadValue "bad-value" Error:
        "The value has the right type, but not an allowed content.";
    BadName "bad-name" Error:
        "Names are 1 to 64 letters, digits, `.`, `_` and `-`, beginning and ending with a letter or digit. Hostnames are lower-case DNS names.";
    ConflictingKeys "conflicting-keys" Error:
        "Two keys that exclude each other are both given.";
    VersionUnsupported "version-unsupported" Error:
        "`version` names the format of the file. This Windlass reads version 1.";
    AccountMismatch "account-mismatch" Error:
        "Resource constraint: account_id mismatch. The file's `account:` is not the account of the repository that registered it; nothing is ever applied across accounts.";
    NameMismatch "name-mismatch" Error:
        "In the map form the key is the name. `name` may be repeated inside, but must then be the same.";
    DuplicateName "duplicate-name" Error:
        "The same resource is declared twice, in one file or in two. Each resource has exactly one declaration.";
    IncludePattern "include-pattern" Error:
        "Include patterns are relative globs inside the repository's prefix: no leading `/`, no `..`, and a pattern the glob syntax accepts.";
    IncludeNested "include-nested" Error:
        "Only fleet.yaml itself may include files.";
    IncludeEmpty "include-empty" Warning:
        "An include pattern matches no file. Usually a typing mistake or a file that was moved.";
    ReferenceUnresolved "reference-unresolved" Warning:
        "The name is declared nowhere in these files, so it must already exist in Windlass. On the server such a change waits, blocked, until the name appears.";
    ReferenceCycle "reference-cycle" Error:
        "Resources refer to one another in a circle, so there is no order in which they could be created. The message spells the circle out.";
    ReferenceDestroyed "reference-destroyed" Error:
        "The resource refers to something that this very change removes. Keep the one or drop the other.";
    PinMissing "pin-missing" Warning:
        "The module is not pinned to a version, so the newest `live` one is used and may change without a commit. Write `name@1.26.0`, or `name@live` to say that this is intended.";
    PinUnknown "pin-unknown" Error:
        "The pinned version does not exist.";
    PinState "pin-state" Warning:
        "No version in that lifecycle state is known from these files, so one must already exist in Windlass.";
    PlatformMissing "platform-missing" Error:
        "A template needs `node_platform` or `node_platform_id`, its own or inherited through `extends`.";
    PlatformUnresolved "platform-unresolved" Warning:
        "The node platform is not in the built-in catalogue. On a server, a template with such a platform is proposed and blocked until Windlass knows it.";
    HolderNotPeer "holder-not-peer" Error:
        "A virtual IP can only be held by a peer of its own network.";
    AddressOutsideNetwork "address-outside-network" Error:
        "The address does not lie inside the network's `cidr`.";
    AddressTaken "address-taken" Error:
        "Two virtual IPs of one network have the same address.";
    SubnetOverlap "subnet-overlap" Error:
        "Two peers of one network claim overlapping `lan_subnets`, so traffic to them would have two ways to go.";
    NetworkOverlap "network-overlap" Error:
        "Two networks have overlapping `cidr`s. A node that joins both could not tell them apart.";
    NetworkWithoutHub "network-without-hub" Warning:
        "No peer of the network is publicly reachable, so its peers cannot find each other.";
    EndpointUnused "endpoint-unused" Warning:
        "`endpoint` is only used when the peer is `publicly_reachable`.";
    SelectorEmpty "selector-empty" Warning:
        "The selector matches none of the clusters in these files.";
    PathMissing "path-missing" Error:
        "The path does not exist in the repository.";
    SecretInline "secret-inline" Error:
        "A secret must not be in git. Keep it in Vault and refer to it by path. If it was ever pushed, rotate it.";
    SecretSuspected "secret-suspected" Warning:
        "The key's name suggests a secret. If it is one, keep it in Vault and refer to it by path; values like `vault:…` and `sops:…` are not reported.";
    MaskedValue "masked-value" Error:
        "The value is `(hidden)`, which exports and answers show instead of a secret. Write the value itself, or a reference to where it is kept.";
    VersionReused "version-reused" Warning:
        "The module's content changes while its version stays, so that the version no longer says what a machine has. Give it a new version.";
    OwnedElsewhere "owned-elsewhere" Error:
        "Another repository owns this resource. It is proposed and blocked, with what depends on it, until that repository gives it up; the rest of the fleet goes on. Remove it there first, or keep it only there.";
    MassDestroy "mass-destroy" Error:
        "The change would destroy more than half of what this repository owns (and more than 10 resources). That is usually an emptied or wrong file; confirm it explicitly if it is meant.";
}

impl Code {
    /// The code of this spelling.
    pub fn from_slug(slug: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.slug() == slug)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.slug())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
        let slug = String::deserialize(deserializer)?;
        Code::from_slug(&slug)
            .ok_or_else(|| serde::de::Error::custom("not a problem code that this version knows"))
    }
}
