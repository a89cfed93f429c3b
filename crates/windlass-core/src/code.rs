//! The codes of all problems that Windlass reports, each with the explanation of `windlass explain CODE`.
//!
//! Scripts depend on codes: a spelling never changes and is never reused. This table is the only place where a code,
//! its severity and its explanation are defined; the reference page is generated from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::states::states;

states! {
    /// How severe a problem is.
    ProblemSeverity {
        /// Windlass makes no plan until this is fixed.
        Error "error",
        /// Review it; the fleet is still usable.
        Warning "warning",
    }
}

macro_rules! codes {
    ($($variant:ident $slug:literal $severity:ident: $explanation:literal;)*) => {
        /// The kind of a problem. Its spelling (`unknown-key`) is stable.
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

            /// What the code means and how to fix the problem.
            pub const fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation),* }
            }
        }
    };
}

codes! {
    FileMissing "file-missing" Error:
        "fleet.yaml does not exist. Windlass reads `fleet.yaml` at the root of the repository or under the \
            repository's path prefix.";
    FileUnreadable "file-unreadable" Error:
        "The file exists but could not be read: permissions, a directory of that name, or a disk error.";
    FileNotRegular "file-not-regular" Error:
        "Windlass refuses symbolic links and submodules, because they can point outside the repository. Commit the \
            content itself.";
    FileTooLarge "file-too-large" Error:
        "A file may have at most 1 MiB. A larger one is usually an accident (committed binary data). Split a larger \
            fleet with `include`.";
    FilesTooLarge "files-too-large" Error:
        "fleet.yaml and all files it includes may have at most 64 MiB together.";
    FilesTooMany "files-too-many" Error:
        "fleet.yaml may include at most 512 files, with at most 512 patterns. Use fewer, larger files.";
    ResourcesTooMany "resources-too-many" Error:
        "One repository may declare at most 100,000 resources, in files of at most 4,000,000 values together. Split \
            the fleet over several repositories.";
    TreeTooLarge "tree-too-large" Error:
        "Searching the fleet's files exceeds a limit: too many directories, too deep nesting, too long paths, or too \
            much time. Name only the directories with fleet files in `include`. A repository whose directories repeat or nest without end may be an attack.";
    YamlEncoding "yaml-encoding" Error:
        "The file is not valid UTF-8. Save it as UTF-8, without a legacy encoding.";
    YamlControlCharacter "yaml-control-character" Error:
        "The file contains a NUL byte or another control character, which can hide text in a terminal. Remove it.";
    YamlSyntax "yaml-syntax" Error:
        "The text is not valid YAML. The position is where the parser stopped; the mistake is there or on the line \
            before.";
    YamlDepth "yaml-depth" Error:
        "Values may be nested at most 64 levels deep.";
    YamlAlias "yaml-alias" Error:
        "An alias refers to itself, to an unknown anchor, or expands into more than a million values.";
    YamlTag "yaml-tag" Error:
        "Only plain YAML types are read: text, numbers, true/false, null, lists and maps. Custom tags are errors. \
            Dates need no tag; they are read as text.";
    YamlDocuments "yaml-documents" Error:
        "A file must contain exactly one YAML document. Move further documents into separate files and `include` \
            them.";
    YamlDuplicateKey "yaml-duplicate-key" Error:
        "A map contains the same key twice. Other parsers silently use the last one. Remove one of them.";
    YamlKey "yaml-key" Error:
        "A key must be plain text, not a list or a map.";
    UnknownKey "unknown-key" Error:
        "This key is not part of the format here. Unknown keys are errors, so that a typo is not silently ignored.";
    MissingKey "missing-key" Error:
        "A required key is missing.";
    WrongType "wrong-type" Error:
        "The value has the wrong type for the field, for example text instead of a list.";
    BadValue "bad-value" Error:
        "The value has the right type, but is not allowed.";
    BadName "bad-name" Error:
        "Names are 1 to 64 letters, digits, `.`, `_` and `-`, beginning and ending with a letter or digit. Hostnames are lower-case DNS names.";
    ConflictingKeys "conflicting-keys" Error:
        "Two keys that cannot be used together are both given.";
    VersionUnsupported "version-unsupported" Error:
        "`version` is the file format's version. This Windlass reads version 1.";
    AccountMismatch "account-mismatch" Error:
        "Resource constraint: account_id mismatch. The file's `account:` is not the account in which the repository \
            is registered. Windlass never applies changes across accounts.";
    NameMismatch "name-mismatch" Error:
        "In the map form, the key is the name. If `name` is also given, it must be the same.";
    DuplicateName "duplicate-name" Error:
        "The same resource is declared twice, in one file or in two. Each resource has exactly one declaration.";
    IncludePattern "include-pattern" Error:
        "Include patterns are relative globs inside the repository's prefix: no leading `/`, no `..`, and a pattern the glob syntax accepts.";
    IncludeNested "include-nested" Error:
        "Only fleet.yaml itself may include files.";
    IncludeEmpty "include-empty" Warning:
        "An include pattern matches no file. Usually a typo or a moved file.";
    ReferenceUnresolved "reference-unresolved" Warning:
        "These files do not declare the name, so it must already exist in Windlass. On the server, the change is \
            blocked until the resource exists.";
    ReferenceCycle "reference-cycle" Error:
        "Resources refer to one another in a circle, so there is no order in which they could be created. The \
            message lists the circle.";
    ReferenceDestroyed "reference-destroyed" Error:
        "The resource refers to a resource that the same change removes. Keep that resource, or remove the \
            reference.";
    PinMissing "pin-missing" Warning:
        "The module is not pinned to a version, so the newest `live` one is used and may change without a commit. \
            Write `name@1.26.0`, or `name@live` if this is intended.";
    PinUnknown "pin-unknown" Warning:
        "The pinned version does not exist. The change is blocked until it does: a version exists once a module with \
            that `version` was applied.";
    PinState "pin-state" Warning:
        "These files declare no version in that lifecycle state, so one must already exist in Windlass.";
    PlatformMissing "platform-missing" Error:
        "A template needs `node_platform` or `node_platform_id`, its own or inherited through `extends`.";
    PlatformUnresolved "platform-unresolved" Warning:
        "The node platform is not in the built-in catalogue. On a server, Windlass proposes a template with such a \
            platform and blocks it until the platform exists.";
    HolderNotPeer "holder-not-peer" Error:
        "A virtual IP can only be held by a peer of its own network.";
    AddressOutsideNetwork "address-outside-network" Error:
        "The address is outside the network's `cidr`.";
    AddressTaken "address-taken" Error:
        "Two virtual IPs of one network have the same address.";
    SubnetOverlap "subnet-overlap" Error:
        "Two peers of one network claim overlapping `lan_subnets`, so traffic to them would have two routes.";
    NetworkOverlap "network-overlap" Error:
        "Two networks have overlapping `cidr`s. A node in both could not route between them.";
    NetworkWithoutHub "network-without-hub" Warning:
        "No peer of the network is publicly reachable, so its peers cannot find each other.";
    EndpointUnused "endpoint-unused" Warning:
        "`endpoint` is only used when the peer is `publicly_reachable`.";
    SelectorEmpty "selector-empty" Warning:
        "The selector matches none of the clusters in these files.";
    PathMissing "path-missing" Error:
        "The path does not exist in the repository.";
    SecretInline "secret-inline" Error:
        "A secret must not be in git. Store it in Vault and refer to it by path. If it was ever pushed, rotate it.";
    SecretSuspected "secret-suspected" Warning:
        "The key's name suggests a secret. If it is one, store it in Vault and refer to it by path. Values such as \
            `vault:…` and `sops:…` are not reported.";
    MaskedValue "masked-value" Error:
        "The value is `(hidden)`, the mask that exports and responses show instead of a secret. Write the value \
            itself, or a reference such as `vault:path#field`.";
    VersionReused "version-reused" Warning:
        "The module's content changes but its version does not. The content of a version never changes, so Windlass \
            blocks the change. Give the module a new version.";
    OwnedElsewhere "owned-elsewhere" Error:
        "Another repository owns this resource. Windlass proposes it and blocks it, with everything that depends on \
            it, until that repository no longer declares it. Other changes are not affected. Remove it there first, or declare it only there.";
    MassDestroy "mass-destroy" Error:
        "The change would destroy more than half of what this repository owns (and more than 10 resources). Usually \
            the cause is an emptied or wrong file. If it is intended, confirm it explicitly.";
}

impl Code {
    /// The code with this spelling.
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
        Code::from_slug(&slug).ok_or_else(|| serde::de::Error::custom("unknown problem code"))
    }
}
