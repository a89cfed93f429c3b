//! The note of an upgrade, start by start. Upgrades of a running agent are in `crate::tests`.

use super::*;
use crate::surroundings::DiskHooks;

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

fn host() -> (tempfile::TempDir, StateFiles, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let files = StateFiles::open(&directory.path().join("state"), DiskHooks::default()).unwrap();
    let executable = directory.path().join("windlass-agent");
    script(&executable, "echo old");
    (directory, files, executable)
}

#[test]
fn a_binary_that_does_not_reach_its_server_within_three_starts_is_replaced_by_the_one_before() {
    let (_directory, files, executable) = host();
    assert_eq!(on_start(&files, Some(&executable)).unwrap(), StartDecision::Continue);
    prepare(&files, &executable, 7).unwrap();
    script(&executable, "echo new");
    for _ in 0..3 {
        assert_eq!(on_start(&files, Some(&executable)).unwrap(), StartDecision::Continue);
    }
    assert_eq!(on_start(&files, Some(&executable)).unwrap(), StartDecision::Restart);
    assert_eq!(fs::read_to_string(&executable).unwrap(), "#!/bin/sh\necho old\n");
    assert_eq!(fs::metadata(&executable).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(on_start(&files, Some(&executable)).unwrap(), StartDecision::TakeBack(7));
    finish(&files).unwrap();
    assert_eq!(on_start(&files, Some(&executable)).unwrap(), StartDecision::Continue);
}

#[test]
fn a_binary_that_reached_its_server_stays() {
    let (_directory, files, executable) = host();
    prepare(&files, &executable, 7).unwrap();
    script(&executable, "echo new");
    on_start(&files, Some(&executable)).unwrap();
    finish(&files).unwrap();
    for _ in 0..9 {
        assert_eq!(on_start(&files, Some(&executable)).unwrap(), StartDecision::Continue);
    }
    assert_eq!(fs::read_to_string(&executable).unwrap(), "#!/bin/sh\necho new\n");
}

#[test]
fn a_binary_is_checked_by_running_it() {
    let (directory, _files, executable) = host();
    assert_eq!(check::runs(&executable, directory.path()), Ok(()));
    script(&executable, "test \"$1\" = --version");
    assert!(check::runs(&executable, directory.path()).unwrap_err().contains("self-check"));
    fs::write(&executable, "not a program").unwrap();
    assert!(check::runs(&executable, directory.path()).is_err());
}
