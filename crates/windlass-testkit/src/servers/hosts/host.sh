# One host, in a mount namespace of its own. Arguments: the kind of host (systemd or plain), the root that it starts from, an
# empty directory, and programs to show inside (FILE:PATH).
#
# The host ends when standard input ends, so that it never outlives the tests. What it writes is in memory and disappears
# with the namespace; the rest is cleaned up at the end.
set -eu
trap '' HUP INT QUIT TERM
kind=$1 lower=$2 directory=$3
shift 3
group=$(basename "$directory")
exec 3<&0

# Empty control groups stay until they are removed, the innermost first.
remove_groups() {
  for hierarchy in systemd unified .; do
    path=/sys/fs/cgroup/$hierarchy/$group
    [ ! -d "$path" ] || find "$path" -depth -type d -exec rmdir {} + 2>/dev/null
    [ ! -d "$path" ] || return 1
  done
}

clean_up() {
  set +e
  trap - EXIT
  exec 1>&-
  # All processes of the host end with its first one.
  for process in $leader $runner $watch; do
    kill -KILL "$process" 2>/dev/null
  done
  wait "$runner" 2>/dev/null
  # The processes of the host end a moment after the first one.
  for _ in $(seq 200); do
    remove_groups && break
    sleep 0.05
  done
  umount -l "$directory"
  rmdir "$directory"
}
runner='' watch='' leader=''
trap clean_up EXIT

mount -t tmpfs -o mode=0755 tmpfs "$directory"
mkdir "$directory/upper" "$directory/work" "$directory/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$directory/upper,workdir=$directory/work" "$directory/root"
root=$directory/root
for program in "$@"; do
  : >"$root/${program#*:}"
  mount --bind "${program%%:*}" "$root/${program#*:}"
done
# The machine's own systemd, if there is one, must not see the host.
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd

case $kind in
systemd)
  (
    for hierarchy in systemd unified .; do
      path=/sys/fs/cgroup/$hierarchy
      [ -w "$path/cgroup.procs" ] || continue
      mkdir "$path/$group"
      echo 0 >"$path/$group/cgroup.procs"
    done
    exec systemd-nspawn --boot --directory "$root" --machine "$group" --hostname "$group" --register=no --keep-unit \
      --private-network --link-journal=no --console=pipe --quiet
  ) 3<&- </dev/null >"$directory/console" 2>&1 &
  first=systemd
  ;;
plain)
  (
    mount -t tmpfs -o mode=0755 tmpfs "$root/run"
    mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
    for device in null zero full random urandom tty; do
      : >"$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    # The first process waits for all others that have lost their parent.
    exec unshare --pid --fork --kill-child --net --uts --ipc --mount-proc="$root/proc" -- \
      chroot "$root" /bin/sh -c "hostname $group; while :; do sleep 100000 & wait; done"
  ) 3<&- </dev/null >"$directory/console" 2>&1 &
  first=sh
  ;;
esac
runner=$!

# The first process of the host.
for _ in $(seq 600); do
  for child in $(cat "/proc/$runner/task/$runner/children" 2>/dev/null); do
    [ "$(cat "/proc/$child/comm" 2>/dev/null)" != "$first" ] || leader=$child
  done
  [ -z "$leader" ] || break
  if ! kill -0 "$runner" 2>/dev/null; then
    break
  fi
  sleep 0.05
done
if [ -z "$leader" ]; then
  cat "$directory/console" >&2
  echo "the host does not start" >&2
  exit 1
fi

# A network between the machine and the host alone. It disappears with the host.
for _ in $(seq 50); do
  n=$(($(od -An -N2 -tu2 /dev/urandom) % 32768))
  ! ip link add "wl$n" type veth peer name "wlh$n" || break
done
base=198.$((18 + n / 16384)).$((n / 64 % 256))
machine=$base.$((n % 64 * 4 + 1)) host=$base.$((n % 64 * 4 + 2))
ip link set "wlh$n" netns "$leader" name host0
ip address add "$machine/30" dev "wl$n"
ip link set "wl$n" up
nsenter --target "$leader" --net sh -c "ip link set lo up; ip address add $host/30 dev host0; ip link set host0 up"

{
  # Nothing is ever written; the end is what counts.
  read -r _ <&3 || :
  kill -KILL "$leader" "$runner"
} &
watch=$!
exec 3<&-
# Nobody may be there any more to hear it: that is an error, and cleaned up after.
trap '' PIPE
echo "ready $leader $host $machine"
wait "$runner" || :
