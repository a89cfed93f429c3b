//! Signatures made by the real programs, and signatures that are rejected.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Remote, TestMirror};
use windlass_source::{CommitId, Signers};
use windlass_testkit::servers::{WorkTree, are_installed};

/// A repository, a mirror of it, and keys to sign with.
struct SigningRepository {
    work: WorkTree,
    keys: tempfile::TempDir,
}

impl SigningRepository {
    fn new() -> SigningRepository {
        let work = WorkTree::new();
        work.commit("fleet.yaml", "version: 1\n");
        SigningRepository { work, keys: tempfile::tempdir().unwrap() }
    }

    /// The result of verifying the checked-out commit through a mirror.
    fn verify(&self, signers: &str) -> Result<String, &'static str> {
        let root = tempfile::tempdir().unwrap();
        let bare = self.work.publish(root.path(), "fleet.git");
        let scratch = TestMirror::new();
        let commit = scratch.fetch(&Remote::file(&bare)).unwrap().commit;
        let signers = Signers::parse(signers).unwrap();
        scratch.mirror.verify(&commit, &signers).map(|by| by.fingerprint).map_err(|problem| problem.code())
    }

    fn make_ssh_key(&self, name: &str, kind: &str) -> String {
        let path = self.keys.path().join(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", kind, "-N", "", "-C", name, "-f"])
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
        fs::read_to_string(path.with_extension("pub")).unwrap()
    }

    fn sign_with_ssh(&self, name: &str) {
        let key = self.keys.path().join(name);
        self.work.git(&[
            "-c",
            "gpg.format=ssh",
            "-c",
            &format!("user.signingKey={}", key.display()),
            "commit",
            "--quiet",
            "--amend",
            "--no-edit",
            "--gpg-sign",
        ]);
    }

    fn gpg(&self) -> Command {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(self.keys.path()).args(["--batch", "--quiet", "--no-tty"]);
        command.args(["--pinentry-mode", "loopback", "--passphrase", ""]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn make_pgp_key(&self, user: &str, usage: &str, arguments: &[&str]) -> String {
        private(self.keys.path());
        let mut command = self.gpg();
        command.args(arguments).args(["--quick-generate-key", user, "ed25519", usage, "1y"]);
        assert!(command.status().unwrap().success());
        self.export_pgp_key(user)
    }

    fn export_pgp_key(&self, user: &str) -> String {
        let exported = self.gpg().args(["--armor", "--export", user]).output().unwrap();
        String::from_utf8(exported.stdout).unwrap()
    }

    /// The fingerprint of the first key.
    fn fingerprint(&self) -> String {
        let listed = self.gpg().args(["--list-keys", "--with-colons"]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let line = listed.lines().find_map(|line| line.strip_prefix("fpr:::::::::")).unwrap();
        line.trim_end_matches(':').to_owned()
    }

    fn sign_with_pgp(&self, user: &str) {
        let program = self.keys.path().join("gpg-here");
        let script = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' --batch --pinentry-mode loopback --passphrase '' \"$@\"\n",
            self.keys.path().display()
        );
        fs::write(&program, script).unwrap();
        private(&program);
        self.work.git(&[
            "-c",
            &format!("gpg.program={}", program.display()),
            "-c",
            &format!("user.signingKey={user}"),
            "commit",
            "--quiet",
            "--amend",
            "--no-edit",
            "--gpg-sign",
        ]);
    }

    /// Replaces the checked-out commit by one with the same signature over another content.
    fn tamper(&self) {
        let raw = self.work.git(&["cat-file", "commit", "HEAD"]);
        let tampered = format!("{}\n", raw.replace("change fleet.yaml", "change of mind"));
        assert!(tampered.contains("change of mind"));
        let file = self.keys.path().join("tampered");
        fs::write(&file, tampered).unwrap();
        let id = self.work.git(&["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
        self.work.git(&["reset", "--quiet", "--hard", &id]);
    }
}

impl Drop for SigningRepository {
    fn drop(&mut self) {
        // gpg leaves an agent process that watches its directory.
        let mut stop = Command::new("gpgconf");
        let _ = stop
            .arg("--homedir")
            .arg(self.keys.path())
            .args(["--kill", "all"])
            .stderr(Stdio::null())
            .status();
    }
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_commit_without_a_signature_is_unsigned() {
    let signing = SigningRepository::new();
    assert_eq!(signing.verify(""), Err("unsigned"));
}

#[test]
fn ssh_signatures_count_if_the_key_is_listed_and_the_commit_is_as_signed() {
    if !are_installed(&["ssh-keygen", "git"]) {
        return;
    }
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let signing = SigningRepository::new();
        let (ours, other) = (signing.make_ssh_key("ours", kind), signing.make_ssh_key("other", kind));
        signing.sign_with_ssh("ours");
        assert!(signing.verify(&format!("{other}{ours}")).unwrap().starts_with("SHA256:"), "{kind}");
        assert_eq!(signing.verify(&other), Err("unknown-key"));
        assert_eq!(signing.verify(""), Err("unknown-key"));
        let dated = |validity: &str| format!("ana@example.com {validity} {ours}");
        assert!(signing.verify(&dated("valid-after=20200101")).is_ok());
        assert_eq!(signing.verify(&dated("valid-before=20200101")), Err("expired-key"));
        assert_eq!(signing.verify(&dated("valid-after=29990101")), Err("expired-key"));
        signing.tamper();
        assert_eq!(signing.verify(&ours), Err("invalid-signature"));
    }
}

#[test]
fn pgp_signatures_count_if_the_key_is_listed_and_the_commit_is_as_signed() {
    if !are_installed(&["gpg", "gpgconf", "git"]) {
        return;
    }
    let signing = SigningRepository::new();
    let ours = signing.make_pgp_key("ours@example.com", "sign", &[]);
    let other = signing.make_pgp_key("other@example.com", "sign", &[]);
    signing.sign_with_pgp("ours@example.com");
    assert_eq!(signing.verify(&format!("# people\n{other}\n{ours}")).map(|by| by.len()), Ok(40));
    assert_eq!(signing.verify(&other), Err("unknown-key"));
    signing.tamper();
    assert_eq!(signing.verify(&ours), Err("invalid-signature"));
}

#[test]
fn a_pgp_subkey_signs_for_its_key() {
    if !are_installed(&["gpg", "gpgconf", "git"]) {
        return;
    }
    let signing = SigningRepository::new();
    signing.make_pgp_key("ours@example.com", "cert", &[]);
    let fingerprint = signing.fingerprint();
    assert!(
        signing
            .gpg()
            .args(["--quick-add-key", &fingerprint, "ed25519", "sign", "1y"])
            .status()
            .unwrap()
            .success()
    );
    signing.sign_with_pgp("ours@example.com");
    let by = signing.verify(&signing.export_pgp_key("ours@example.com")).unwrap();
    assert_ne!(by, fingerprint, "the subkey signed");
}

#[test]
fn a_pgp_key_that_had_expired_when_it_signed_does_not_count() {
    if !are_installed(&["gpg", "gpgconf", "git"]) {
        return;
    }
    let signing = SigningRepository::new();
    let then = ["--faked-system-time", "20200101T000000!"];
    let short_lived = signing.make_pgp_key("ours@example.com", "sign", &then);
    let fingerprint = signing.fingerprint();
    assert!(signing.gpg().args(["--quick-set-expire", &fingerprint, "0"]).status().unwrap().success());
    signing.sign_with_pgp("ours@example.com");
    assert!(signing.verify(&signing.export_pgp_key("ours@example.com")).is_ok(), "renewed");
    assert_eq!(signing.verify(&short_lived), Err("expired-key"), "as it was before it was renewed");
}

#[test]
fn a_commit_that_is_not_there_is_told_so() {
    let signing = SigningRepository::new();
    let scratch = TestMirror::new();
    let commit = CommitId::parse(&signing.work.head()).unwrap();
    let problem = scratch.mirror.verify(&commit, &Signers::parse("").unwrap()).unwrap_err();
    assert_eq!(problem.code(), "unreadable");
}
