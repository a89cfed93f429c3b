//! A git repository for tests, changed with the real `git`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::run;

/// A work tree with a branch `main`, on which tests commit.
pub struct WorkTree {
    directory: TempDir,
}

impl Default for WorkTree {
    fn default() -> WorkTree {
        WorkTree::new()
    }
}

impl WorkTree {
    /// An empty repository.
    pub fn new() -> WorkTree {
        let work = WorkTree { directory: tempfile::tempdir().expect("a temporary directory") };
        work.git(&["init", "--quiet", "--initial-branch=main"]);
        work
    }

    /// An empty repository with SHA-256 object ids.
    pub fn with_sha256() -> WorkTree {
        let work = WorkTree { directory: tempfile::tempdir().expect("a temporary directory") };
        work.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
        work
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs git in it, without the user's own configuration.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(self.path()).args(arguments);
        for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(key);
        }
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "Ana"), ("GIT_AUTHOR_EMAIL", "ana@example.com")])
            .envs([("GIT_COMMITTER_NAME", "Ana"), ("GIT_COMMITTER_EMAIL", "ana@example.com")]);
        run(&mut command).trim().to_owned()
    }

    /// Writes a file and commits it. Returns the commit's id.
    pub fn commit(&self, path: &str, content: &str) -> String {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().expect("a file lies in a directory")).expect("a directory");
        fs::write(file, content).expect("a file");
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", &format!("change {path}")]);
        self.head()
    }

    /// The id of the commit that is checked out.
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Creates a bare clone of this repository below `root`.
    pub fn publish(&self, root: &Path, name: &str) -> PathBuf {
        let bare = root.join(name);
        let bare_text = bare.to_str().expect("temporary directories have plain names");
        let format = format!("--object-format={}", self.git(&["rev-parse", "--show-object-format"]));
        self.git(&["init", "--quiet", "--bare", "--initial-branch=main", &format, bare_text]);
        self.git(&["push", "--quiet", bare_text, "--all"]);
        bare
    }

    /// Force-pushes the current commit to a branch of a bare repository.
    pub fn push(&self, bare: &Path, branch: &str) {
        let bare = bare.to_str().expect("temporary directories have plain names");
        self.git(&["push", "--quiet", "--force", bare, &format!("HEAD:refs/heads/{branch}")]);
    }
}
