# Makes the root that hosts start from. Arguments: an empty directory, and packages whose files the root has at hand.
#
# The packages come from where this machine's apt gets its own.
set -eu
root=$1
shift
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' | sed -n "s/^$suite //p" | head -n 1)
: "${mirror:?apt has no lists of $suite: run apt-get update}"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -f "$keyring" ]; then set -- "--keyring=$keyring" "$@"; else set -- "--no-check-gpg" "$@"; fi
check=$1
shift
debootstrap "$check" --variant=minbase --include=ca-certificates,cron,dbus,iproute2,procps,systemd,systemd-sysv \
  "$suite" "$root" "$mirror"

rm -f "$root/etc/apt/sources.list"
for file in sources.list sources.list.d keyrings trusted.gpg trusted.gpg.d; do
  [ ! -e "/etc/apt/$file" ] || cp -a "/etc/apt/$file" "$root/etc/apt/"
done
apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/50machine"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

# Two versions of a package that needs nothing, in a repository of its own: for pins and holds.
for version in 1.0 1.1 2.0; do
  package=$root/opt/packages/windlass-test_$version
  mkdir -p "$package/DEBIAN" "$package/usr/share/windlass-test"
  echo "$version" >"$package/usr/share/windlass-test/version"
  printf 'Package: windlass-test\nVersion: %s\nArchitecture: all\nMaintainer: tests <tests@example.com>\nDescription: test\n' \
    "$version" >"$package/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$package" "$package.deb" >/dev/null
  rm -r "$package"
  {
    dpkg-deb --field "$package.deb"
    echo "Filename: ./$(basename "$package.deb")"
    echo "Size: $(stat -c %s "$package.deb")"
    echo "SHA256: $(sha256sum "$package.deb" | cut -d ' ' -f 1)"
    echo
  } >>"$root/opt/packages/Packages"
done
echo 'deb [trusted=yes] file:/opt/packages ./' >"$root/etc/apt/sources.list.d/windlass-test.list"

chroot "$root" apt-get update --quiet
chroot "$root" apt-get install --yes --quiet --no-install-recommends --download-only "$@"
# A host has its own identity, and no use for a console.
: >"$root/etc/machine-id"
rm -f "$root/etc/hostname"
chroot "$root" systemctl mask --quiet console-getty.service systemd-resolved.service systemd-networkd.service
