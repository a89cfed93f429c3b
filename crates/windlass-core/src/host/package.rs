//! The content of a module version: its spec and the files of the repository that it names, by digest.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::digest::write_hex;
use crate::resource::{Kind, ModuleSpec, Spec};

/// The largest package: a module of text files is far below it.
pub const MAX_PACKAGE_BYTES: usize = 4 * 1024 * 1024;

/// The BLAKE3 digest of a blob, written `blake3:<64 hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobDigest([u8; 32]);

impl BlobDigest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> BlobDigest {
        BlobDigest(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of bytes that were hashed piece by piece.
    pub fn from_hasher(hasher: &blake3::Hasher) -> BlobDigest {
        BlobDigest(*hasher.finalize().as_bytes())
    }

    /// Parses the written form.
    pub fn parse(text: &str) -> Option<BlobDigest> {
        let hex = text.strip_prefix("blake3:")?;
        let is_lower = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let hash = blake3::Hash::from_hex(hex).ok().filter(|_| is_lower)?;
        Some(BlobDigest(*hash.as_bytes()))
    }
}

impl fmt::Display for BlobDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("blake3:")?;
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for BlobDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for BlobDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BlobDigest, D::Error> {
        let text = String::deserialize(deserializer)?;
        BlobDigest::parse(&text).ok_or_else(|| serde::de::Error::custom("not a BLAKE3 digest"))
    }
}

/// A blob: its digest and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// The digest of its bytes.
    pub digest: BlobDigest,
    /// How many bytes it has.
    pub size: u64,
}

/// The content of a module version.
#[derive(Clone, Debug, PartialEq)]
pub struct ModulePackage {
    /// The module's name.
    pub name: String,
    /// What it makes of a machine.
    pub spec: ModuleSpec,
    /// The files of the repository that the spec names, by their paths.
    pub files: BTreeMap<String, BlobRef>,
}

/// Why bytes are not a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageProblem {
    /// They are longer than [`MAX_PACKAGE_BYTES`].
    TooLong,
    /// They are not what [`ModulePackage::to_bytes`] writes.
    Malformed,
    /// The spec names a file of the repository that the package does not have.
    FileMissing,
}

impl fmt::Display for PackageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PackageProblem::TooLong => "the module package is longer than 4 MiB",
            PackageProblem::Malformed => "this is not a module package",
            PackageProblem::FileMissing => "the module package lacks a file that its spec names",
        })
    }
}

impl ModulePackage {
    /// The bytes whose digest names the package.
    pub fn to_bytes(&self) -> Vec<u8> {
        let spec = Spec::Module(self.spec.clone()).to_json(crate::shape::Defaults::Omit);
        let mut package = json!({"name": self.name, "spec": spec});
        if !self.files.is_empty() {
            package["files"] = json!(self.files);
        }
        package.to_string().into_bytes()
    }

    /// Reads what [`ModulePackage::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<ModulePackage, PackageProblem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Stored {
            name: String,
            spec: Value,
            #[serde(default)]
            files: BTreeMap<String, BlobRef>,
        }
        if bytes.len() > MAX_PACKAGE_BYTES {
            return Err(PackageProblem::TooLong);
        }
        let stored: Stored = serde_json::from_slice(bytes).map_err(|_| PackageProblem::Malformed)?;
        let spec = Spec::read_stored(Kind::Module, &stored.spec.to_string());
        let Some(Spec::Module(spec)) = spec else { return Err(PackageProblem::Malformed) };
        let package = ModulePackage { name: stored.name, spec, files: stored.files };
        let sources = package.spec.host.iter().flat_map(|host| host.files.values());
        let mut named = sources.filter_map(|file| file.source.as_ref());
        match named.all(|path| package.files.contains_key(path.as_str())) {
            true => Ok(package),
            false => Err(PackageProblem::FileMissing),
        }
    }

    /// The digest of the package.
    pub fn digest(&self) -> BlobDigest {
        BlobDigest::of(&self.to_bytes())
    }
}
