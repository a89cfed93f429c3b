//! Directories, links, and removing what is at a path.

use rustix::fs::{self, AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::resolve::{OpenError, open_directory};
use super::{Attributes, HostTree, Ownership, PathType};
use crate::target::host::error::HostError;

/// Directories that the agent creates on the way to a path.
const PARENT_MODE: u32 = 0o755;

impl HostTree {
    /// The directories that do not exist yet, of this one and those above it, from the top.
    pub(crate) fn missing_directories(&self, directory: &str) -> Result<Vec<String>, HostError> {
        let mut missing = Vec::new();
        let ends = directory.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        for end in ends.chain((directory.len() > 1).then_some(directory.len())) {
            let above = &directory[..end];
            if !missing.is_empty() {
                missing.push(above.to_owned());
                continue;
            }
            match open_directory(&self.root, above) {
                Ok(_) => {}
                Err(OpenError::System(Errno::NOENT)) if self.metadata(above)?.is_none() => {
                    missing.push(above.to_owned());
                }
                Err(OpenError::System(Errno::NOENT)) => {
                    return Err(HostError::LinkLeadsNowhere { path: above.to_owned() });
                }
                Err(OpenError::System(Errno::NOTDIR)) => {
                    let found = self.metadata(above)?.map_or(PathType::Special, |found| found.path_type);
                    return Err(found.refuse(above));
                }
                Err(error) => return Err(error.into_host_error("open", above)),
            }
        }
        Ok(missing)
    }

    /// Creates a directory and those above it.
    pub(crate) fn create_directories(&self, directory: &str) -> Result<(), HostError> {
        for missing in self.missing_directories(directory)? {
            self.steps.reached("before creating a directory");
            let (parent, name) = self.existing_parent(&missing)?;
            let failed = |error: Errno| HostError::io("create", missing.as_str(), error);
            fs::mkdirat(&parent, name, Mode::from_raw_mode(PARENT_MODE)).map_err(failed)?;
            fs::fsync(&parent).map_err(failed)?;
            self.set_attributes(&missing, &Attributes { mode: PARENT_MODE, uid: 0, gid: 0, label: None })?;
            self.steps.reached("after creating a directory");
        }
        Ok(())
    }

    /// Creates the directories above a path.
    pub(crate) fn create_parents(&self, path: &str) -> Result<(), HostError> {
        self.create_directories(parent_of(path))
    }

    /// Sets mode and owner of a file or a directory in place.
    pub(crate) fn set_attributes(&self, path: &str, attributes: &Attributes) -> Result<(), HostError> {
        self.steps.reached("before setting attributes");
        let (directory, name) = self.existing_parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let failed = |error: Errno| HostError::io("set the attributes of", path, error);
        let opened = fs::openat(&directory, name, flags, Mode::empty()).map_err(failed)?;
        self.set_attributes_of(&opened, attributes).map_err(failed)?;
        self.steps.reached("after setting attributes");
        Ok(())
    }

    /// Sets the owner before the mode, because a change of the owner clears the set-user-id bit.
    pub(super) fn set_attributes_of(
        &self,
        opened: &impl std::os::fd::AsFd,
        attributes: &Attributes,
    ) -> Result<(), Errno> {
        if self.ownership == Ownership::Managed {
            let (uid, gid) = (Uid::from_raw(attributes.uid), Gid::from_raw(attributes.gid));
            fs::fchown(opened, Some(uid), Some(gid))?;
        }
        fs::fchmod(opened, Mode::from_raw_mode(attributes.mode))
    }

    /// Puts a symbolic link in the place of a file or a link, or where nothing is.
    pub(crate) fn replace_with_link(&self, path: &str, target: &[u8]) -> Result<(), HostError> {
        self.refuse_unless_replaceable(path)?;
        let (directory, name) = self.existing_parent(path)?;
        let temporary = Self::temporary_name(path);
        let failed = |error: Errno| HostError::io("create the link", path, error);
        self.steps.reached("before creating a link");
        remove_if_there(&directory, &temporary).map_err(failed)?;
        fs::symlinkat(target, &directory, temporary.as_str()).map_err(failed)?;
        self.steps.reached("before renaming a link");
        fs::renameat(&directory, temporary.as_str(), &directory, name).map_err(failed)?;
        fs::fsync(&directory).map_err(failed)?;
        self.steps.reached("after renaming a link");
        Ok(())
    }

    /// Refuses to replace a directory or a device.
    pub(super) fn refuse_unless_replaceable(&self, path: &str) -> Result<(), HostError> {
        match self.metadata(path)?.map(|found| found.path_type) {
            Some(found @ (PathType::Directory | PathType::Special)) => Err(found.refuse(path)),
            _ => Ok(()),
        }
    }

    /// Removes a file or a link, if it exists.
    pub(crate) fn remove_file(&self, path: &str) -> Result<(), HostError> {
        self.refuse_unless_replaceable(path)?;
        let Some((directory, name)) = self.parent(path)? else { return Ok(()) };
        let failed = |error: Errno| HostError::io("remove", path, error);
        self.steps.reached("before removing a file");
        remove_if_there(&directory, name).map_err(failed)?;
        fs::fsync(&directory).map_err(failed)?;
        self.steps.reached("after removing a file");
        Ok(())
    }

    /// Removes a directory if it is empty. Returns whether it is gone.
    pub(crate) fn remove_empty_directory(&self, path: &str) -> Result<bool, HostError> {
        // On a read-only disk, removing what does not exist is an error too.
        if self.metadata(path)?.is_none() {
            return Ok(true);
        }
        let Some((directory, name)) = self.parent(path)? else { return Ok(true) };
        self.steps.reached("before removing a directory");
        match fs::unlinkat(&directory, name, AtFlags::REMOVEDIR) {
            Ok(()) => fs::fsync(&directory).map_err(|error| HostError::io("remove", path, error))?,
            Err(Errno::NOENT) => return Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => return Ok(false),
            Err(error) => return Err(HostError::io("remove", path, error)),
        }
        self.steps.reached("after removing a directory");
        Ok(true)
    }

    /// Removes what an interrupted replacement of a path left behind.
    pub(crate) fn remove_temporary(&self, path: &str) -> Result<(), HostError> {
        let Some((directory, _)) = self.parent(path)? else { return Ok(()) };
        let removed = remove_if_there(&directory, &Self::temporary_name(path));
        removed.map_err(|error| HostError::io("remove the temporary file of", path, error))
    }

    /// The name of the temporary file next to a path: always the same, so that the next run finds it.
    pub(super) fn temporary_name(path: &str) -> String {
        let digest = blake3::hash(path.as_bytes()).to_hex();
        format!(".windlass-{}.tmp", &digest[..16])
    }
}

pub(super) fn remove_if_there(directory: &impl std::os::fd::AsFd, name: &str) -> Result<(), Errno> {
    match fs::unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        result => result,
    }
}

/// The directory that contains a path.
pub(crate) fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}
