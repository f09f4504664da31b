#!/usr/bin/env bash
# services_test.sh ROOT PROGRAM: the units of packaging/systemd under a systemd of their own: the first process of
# namespaces whose root is this machine's with a throw-away layer above it. Cloud, edge and client are set up as
# docs/deploy.md says ("As services"), run in the sandbox that their units describe, and must end with the signature of
# the simulation. Nothing of this machine's systemd, files or network is touched. PROGRAM is muster-net.
# Exit status 77: skipped, and the line says why.
set -u
root=$(readlink -f -- "$1")
program=$(readlink -f -- "$2")
systemd=/lib/systemd/systemd

me=services_test
source "$(dirname -- "${BASH_SOURCE[0]}")/steps.sh"
(($(id -u) == 0)) || skip "needs root, for namespaces"
[[ -x $systemd ]] || skip "systemd is not installed"
for command in ip pivot_root unshare nsenter chroot; do command -v "$command" >/dev/null || skip "$command is not installed (iproute2, util-linux)"; done
unshare --pid --fork --mount --uts --ipc --net --cgroup true 2>/dev/null || skip "unshare cannot make namespaces here"

[[ -n ${3-} ]] || folder=$(mktemp -d /tmp/muster-services.XXXXXX)
power= # the first process of the namespaces; all others end with it
cleanup() {
  [[ -z $power ]] || { kill -9 "$power" && wait "$power"; } 2>/dev/null
  rm -rf -- "$folder"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
inside() { nsenter -t "$machine" --mount --pid --net --uts --ipc --root --wdns=/ "$@"; }
fail() {
  echo "$me: FAILED: $*"
  cat "$folder/boot.log"
  [[ -z ${machine-} ]] || inside sh -c 'systemctl --no-pager --failed; tail -n 25 /run/muster-*.log' 2>&1
  exit 1
}

# What happens inside, up to systemd. First the file systems of a machine.
make_root() {
  set -e
  mount -t tmpfs none "$folder"
  mkdir "$folder"/{upper,work,root}
  new=$folder/root
  mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$new"
  mount -t proc proc "$new/proc"
  mount -o bind,ro "$new/proc/sys" "$new/proc/sys" # settings of the kernel are everybody's
  mount -t sysfs -o ro sysfs "$new/sys"
  mount -t cgroup2 none "$new/sys/fs/cgroup" 2>/dev/null || {
    mount -t tmpfs -o mode=755 none "$new/sys/fs/cgroup"
    mkdir "$new"/sys/fs/cgroup/{unified,systemd}
    mount -t cgroup2 none "$new/sys/fs/cgroup/unified"
    mount -t cgroup -o none,name=systemd none "$new/sys/fs/cgroup/systemd"
  }
  for mounted in run tmp dev; do mount -t tmpfs -o mode=755 none "$new/$mounted"; done
  chmod 1777 "$new/tmp"
  for file in null zero full random urandom tty; do
    touch "$new/dev/$file"
    mount --bind "/dev/$file" "$new/dev/$file"
  done
  mkdir -m 1777 "$new/dev/shm"
  mkdir "$new/dev/pts"
  mount -t devpts -o newinstance,mode=620,ptmxmode=666 none "$new/dev/pts"
  ln -s pts/ptmx "$new/dev/ptmx"
}
boot() {
  make_root
  # Of this machine's own units none is started.
  rm -rf "$new"/etc/systemd/system "$new"/{usr/lib,etc,lib}/systemd/system/*.wants
  mkdir -p "$new"/etc/systemd/system "$new"/usr/lib/muster
  cp "$program" "$new/usr/bin/muster-net"
  cp "$root/packaging/systemd/cloud-service" "$new/usr/lib/muster/"
  cp "$root"/packaging/systemd/*.service "$new/usr/lib/systemd/system/"
  cp "$root/packaging/debian/postinst" "$new/tmp/"
  # Without the journal: what services say goes to files.
  for mounted in muster-cloud muster-edge@ muster-client@; do
    mkdir "$new/etc/systemd/system/$mounted.service.d"
    printf '[Service]\nStandardOutput=append:/run/%s.log\nStandardError=append:/run/%s.log\n' "$mounted" "$mounted" \
      >"$new/etc/systemd/system/$mounted.service.d/log.conf"
  done
  printf '[Unit]\nDescription=test\nAllowIsolate=yes\nWants=muster-cloud.service muster-edge@north.service muster-client@sim-0.service\n' \
    >"$new/etc/systemd/system/test.target"
  ip link set lo up
  chroot "$new" sh -ec '
    sh /tmp/postinst configure
    cd /root
    muster-net pki init pki
    muster-net pki issue pki --role cloud --name main --out /etc/muster/pki/cloud
    muster-net pki issue pki --role edge --name north --out /etc/muster/pki/edge-north
    muster-net pki issue pki --role client --name sim-0 --clients 0-49 --out /etc/muster/pki/client-sim-0
    chown -R muster: /etc/muster/pki
    echo MUSTER_RECIPE=demo >/etc/muster/cloud.env
    echo MUSTER_CLOUD=localhost:7400 >/etc/muster/edge-north.env
    echo MUSTER_TO=localhost:7401,localhost:7400 >/etc/muster/client-sim-0.env'
  # Not chroot: systemd makes file systems of their own for the services.
  mkdir "$new/before"
  cd "$new"
  pivot_root . before
  cd /
  umount -l /before
  exec env -i container=muster PATH=/usr/sbin:/usr/bin:/sbin:/bin "$systemd" --unit=test.target --log-target=console
}
if [[ -n ${3-} ]]; then
  folder=$4
  trap - EXIT
  "$3"
  exit
fi

mkdir "$folder/layer"
# in_namespaces WHAT: one of the two functions above.
in_namespaces() {
  exec unshare --kill-child --pid --fork --mount --uts --ipc --net --cgroup --propagation private \
    bash "${BASH_SOURCE[0]}" "$root" "$program" "$1" "$folder/layer" >"$folder/boot.log" 2>&1 </dev/null
}
(in_namespaces make_root) || skip "the file systems of another machine cannot be made here: $(tail -n 1 "$folder/boot.log")"
in_namespaces boot &
power=$!
machine=
for ((i = 0; i < 200; ++i)); do
  kill -0 "$power" 2>/dev/null || fail "the machine did not start"
  machine=$(xargs <"/proc/$power/task/$power/children") && [[ -n $machine ]] && inside systemctl is-active -q test.target 2>/dev/null && break
  machine=
  sleep 0.1
done
[[ -n $machine ]] || fail "systemd did not start within 20 s"
say "systemd is up, with the three services"

(cd "$folder" && "$program" run demo --quiet --json --out alone) >"$folder/simulation" || fail "the simulation"
signature() { grep -oP '(?<="signature":")[0-9a-f]{16}'; }
wanted=$(signature <"$folder/simulation")
services=(muster-cloud.service muster-edge@north.service muster-client@sim-0.service)
for ((i = 0; i < 600; ++i)); do
  states=$(inside systemctl show -P ActiveState "${services[@]}" | xargs)
  [[ $states != *activ* || $states == 'inactive inactive inactive' ]] && break
  sleep 0.1
done
[[ $states == 'inactive inactive inactive' ]] || fail "the services are $states, want all of them to have ended"
results=$(inside systemctl show -P Result "${services[@]}" | xargs)
[[ $results == 'success success success' ]] || fail "the services ended with $results"
told=$(inside sh -c 'cat /run/muster-client@.log' | grep -o 'the run is over: [0-9a-f]*')
[[ -n $wanted && $told == "the run is over: $wanted" ]] || fail "the client says '$told', want signature $wanted"
owners=$(inside sh -c 'stat -c %U:%a /var/lib/muster/cloud /var/lib/muster/client-sim-0 /var/lib/muster/cloud/demo-*' | xargs)
[[ $owners == 'muster:700 muster:700 muster:700' ]] || fail "the folders are of $owners"
say "cloud, edge and client ran in their sandboxes and ended: signature $wanted"
