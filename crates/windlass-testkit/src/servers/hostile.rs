//! Repositories for attacks: small to transfer, and very expensive to read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::WorkTree;

/// A fleet that includes everything below `bomb`.
const FLEET: &str = "version: 1\naccount: acme\ninclude: ['bomb/**/*.yaml']\n";

/// A fleet that includes nothing.
const VALID_FLEET: &str = "version: 1\naccount: acme\n";

impl WorkTree {
    /// Commits directories in which each level refers to the next `width` times: ten levels of ten are 10^10 paths, in
    /// about a kilobyte.
    pub fn commit_path_bomb(&self, levels: usize, width: usize) -> String {
        let leaf = self.git_blob(VALID_FLEET);
        let mut trees = TreeWriter::start(self);
        let mut below = trees.make(&[("100644 blob", &leaf, "a.txt".to_owned())]);
        for _ in 0..levels {
            let entries: Vec<_> =
                (0..width).map(|nth| ("040000 tree", below.as_str(), format!("d{nth}"))).collect();
            below = trees.make(&entries);
        }
        self.commit_bomb(trees, &below)
    }

    /// Commits a directory with one entry whose name has `name_bytes` bytes, with `files` files in it: each of their
    /// paths is that long.
    pub fn commit_long_name(&self, name_bytes: usize, files: usize) -> String {
        let leaf = self.git_blob(VALID_FLEET);
        let mut trees = TreeWriter::start(self);
        let entries: Vec<_> =
            (0..files).map(|nth| ("100644 blob", leaf.as_str(), format!("{nth}.yaml"))).collect();
        let below = trees.make(&entries);
        let long = trees.make(&[("040000 tree", &below, "n".repeat(name_bytes))]);
        self.commit_bomb(trees, &long)
    }

    /// Commits a directory with `wide` entries for the same directory, which has one file with a name of `name_bytes`
    /// bytes.
    pub fn commit_wide_to_long(&self, wide: usize, name_bytes: usize) -> String {
        let leaf = self.git_blob(VALID_FLEET);
        let mut trees = TreeWriter::start(self);
        let below = trees.make(&[("100644 blob", &leaf, "n".repeat(name_bytes))]);
        let entries: Vec<_> =
            (0..wide).map(|nth| ("040000 tree", below.as_str(), format!("d{nth}"))).collect();
        let wide = trees.make(&entries);
        self.commit_bomb(trees, &wide)
    }

    /// Creates a bare repository below `root` with directories nested `depth` levels deep.
    pub fn publish_nested_trees(root: &Path, name: &str, depth: usize) -> PathBuf {
        let work = WorkTree::new();
        work.commit("fleet.yaml", VALID_FLEET);
        let bare = work.publish(root, name);
        let path = format!("bomb/{}a.yaml", "d/".repeat(depth));
        let file = |path: &str, text: &str| format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        let commit = "reset refs/heads/main\n\ncommit refs/heads/main\ncommitter Ana <ana@example.com> 0 +0000\ndata 6\na bomb\n";
        let script = format!("{commit}{}{}", file("fleet.yaml", FLEET), file(&path, VALID_FLEET));
        // The search for similar objects would compare all of them.
        for arguments in [&["config", "pack.window", "0"][..], &["fast-import", "--quiet", "--force"]] {
            let mut git = Command::new("git")
                .current_dir(&bare)
                .args(arguments)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .stdin(Stdio::piped())
                .spawn()
                .expect("git is installed");
            // `git config` reads no input and may exit before it is written.
            let _ = git.stdin.take().expect("a pipe").write_all(script.as_bytes());
            assert!(git.wait().expect("git ends").success());
        }
        bare
    }

    /// Commits a file of zero bytes, which compresses to almost nothing.
    pub fn commit_zeros(&self, path: &str, bytes: u64) -> String {
        let file = std::fs::File::create(self.path().join(path)).expect("a file");
        file.set_len(bytes).expect("a file with a hole");
        self.git(&["add", path]);
        self.git(&["commit", "--quiet", "--message", "zeros"]);
        self.head()
    }

    fn commit_bomb(&self, mut trees: TreeWriter, bomb: &str) -> String {
        let fleet = self.git_blob(FLEET);
        let root = trees.make(&[
            ("040000 tree", bomb, "bomb".to_owned()),
            ("100644 blob", &fleet, "fleet.yaml".to_owned()),
        ]);
        trees.end();
        let commit = self.git(&["commit-tree", "-m", "a bomb", &root]);
        self.git(&["update-ref", "refs/heads/main", &commit]);
        commit
    }

    fn git_blob(&self, content: &str) -> String {
        let path = self.path().join(".git/blob.txt");
        std::fs::write(&path, content).expect("a file");
        self.git(&["hash-object", "-w", path.to_str().expect("temporary directories have plain names")])
    }
}

/// One `git mktree` process for all trees: a process for each would take minutes.
struct TreeWriter {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl TreeWriter {
    fn start(work: &WorkTree) -> TreeWriter {
        let mut child = Command::new("git")
            .current_dir(work.path())
            .args(["mktree", "--batch", "--missing"])
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git is installed");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        TreeWriter { child, answers }
    }

    /// Writes a tree of entries: mode and kind, id, name.
    fn make(&mut self, entries: &[(&str, &str, String)]) -> String {
        let mut text: String =
            entries.iter().map(|(mode, id, name)| format!("{mode} {id}\t{name}\n")).collect();
        text.push('\n');
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("git reads");
        let mut id = String::new();
        self.answers.read_line(&mut id).expect("git answers");
        id.trim().to_owned()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("git ends");
    }
}
